"""The effects of instructions on memory: whether one writes, and the reads and writes of a kernel through all views."""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from girih.ir.core import Function, Op, Value
from girih.ir.define import Operand
from girih.ir.types import GroupType, MemRef, PrivateArrayType, TensorMapType
from girih.lazy_dataclass import dataclass

_IN_MEMORY = MemRef | GroupType | TensorMapType
"""The types of parameters that have memory behind them."""


def writes_itself(op: Op) -> bool:
    """Whether an instruction by itself writes to memory that others see, which an array of a work-item is not."""
    return bool(op.spec.writes) and not any(isinstance(v.type, PrivateArrayType) for v in op.operands)


def writes(op: Op) -> bool:
    """Whether an instruction writes to memory that others see, itself or in a region."""
    return writes_itself(op) or any(writes(inner) for region in op.regions for inner in region.ops)


@dataclass(slots=True)
class MemoryCounts:
    """The static counts of instructions that read a value's memory, write it, or name the value at all."""

    reads: int = 0
    writes: int = 0


@dataclass(slots=True)
class MemoryUse:
    """The uses of memory by value, for parameters and allocations, and the number of times each value is named."""

    memory: dict[Value, MemoryCounts] = field(default_factory=dict)
    uses: Counter[Value] = field(default_factory=Counter)


def memory_use(function: Function) -> MemoryUse:
    """The reads and writes of every parameter and allocation of a function."""
    roots = roots_of(function)
    usage = MemoryUse({root: MemoryCounts() for root in roots.values()})
    for op in function.walk():
        usage.uses.update(op.operands)
        _count(op, roots, usage)
    return usage


def roots_of(function: Function) -> dict[Value, Value]:
    """The parameter or allocation whose memory each memref, group or tensor map shows, through all views."""
    roots = {p.value: p.value for p in function.parameters if isinstance(p.type, _IN_MEMORY)}
    for op in function.walk():
        for result in op.results:
            if isinstance(result.type, MemRef | GroupType):
                source = next((roots[v] for v in op.operands if v in roots), None)
                roots[result] = result if source is None else source
    return roots


def written_parameters(function: Function) -> set[Value]:
    """The parameters whose memory the kernel may write, also through views and groups."""
    memory = memory_use(function).memory
    return {p.value for p in function.parameters if p.value in memory and memory[p.value].writes}


def _count(op: Op, roots: dict[Value, Value], usage: MemoryUse) -> None:
    # Loading a memref out of a group reads a pointer, not the memory behind it.
    pointer = any(isinstance(result.type, MemRef) for result in op.results)
    for name, role in op.spec.roles.items():
        value = getattr(op, name) if isinstance(role, Operand) else None
        if not isinstance(role, Operand) or not isinstance(value, Value) or value not in roots:
            continue
        use = usage.memory[roots[value]]
        use.reads += role.reads and not pointer
        use.writes += role.writes
