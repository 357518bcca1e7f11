"""Which memory a work-group goes over several times, so that a cache should keep it in between."""

from __future__ import annotations

from collections import Counter

from girih.analysis.effects import roots_of
from girih.ir.core import Function
from girih.ir.types import MemRef
from girih.ops.tile.control import For, Parallel
from girih.ops.tile.memory import Load, Store


def gone_over_again(function: Function) -> tuple[int, ...]:
    """The numbers of the parameters through which several loops of a `parallel` go, each by its own counter."""
    roots, found = roots_of(function), Counter[object]()
    for parallel in (op for op in function.body.ops if isinstance(op, Parallel)):
        for loop in (op for op in parallel.body.ops if isinstance(op, For)):
            accesses = (op for op in loop.body.walk() if isinstance(op, Load | Store) and loop.variable in op.indices)
            found.update({roots[op.tensor] for op in accesses if isinstance(op.tensor.type, MemRef)})
    return tuple(number for number, one in enumerate(function.parameters) if found[one.value] > 1)
