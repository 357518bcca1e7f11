"""Loops in which the threads of a subgroup meet, as in scans and reductions: versions of them, and several iterations.

LLVM writes no two iterations of such a loop behind each other, so that each load would be waited for before the next
one is made. So it is done here: of four iterations, what is loaded before threads meet comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from girih.analysis.effects import roots_of
from girih.back.llvm.nvptx.machine.changing import changing_parameters
from girih.ir.core import Function, Op, Region, Value
from girih.ir.types import CoopMatrix, MemRef
from girih.ops.tile.control import Barrier, For, Foreach, Parallel, Yield
from girih.ops.tile.memory import Load
from girih.ops.tile.subgroup import OPERATIONS, SubgroupBroadcast
from girih.ops.tile.tensor_map import TensorCopyLoad, TensorCopyLoadIm2col, TensorCopyReduce, TensorCopyStore

AT_ONCE = 4
"""How many iterations are written together."""

SHORT = 24
"""The instructions of the longest loop that is written so."""

_OF_SUBGROUPS: tuple[type, ...] = (SubgroupBroadcast, *OPERATIONS.values())
_COPIES = (TensorCopyLoad, TensorCopyLoadIm2col, TensorCopyStore, TensorCopyReduce)
_MEETINGS: tuple[type, ...] = (Barrier, *_COPIES, *_OF_SUBGROUPS)


def meets(op: Op) -> bool:
    """Whether work-items execute an instruction together, so that all of a subgroup must come to it."""
    if isinstance(op, _MEETINGS):
        return True
    return any(isinstance(value.type, CoopMatrix) for value in (*op.operands, *op.results))


def have_meetings(loop: Op) -> bool:
    """Whether threads meet in a loop."""
    return any(map(meets, _within(loop.regions)))


def meet_in_subgroups(loop: Op) -> bool:
    """Whether all that threads do together in a loop is operations of subgroups."""
    return all(isinstance(op, _OF_SUBGROUPS) for op in _within(loop.regions) if meets(op))


def all_come_to(function: Function, loop: Op) -> bool:
    """Whether all work-items of a subgroup come to a loop: it stands in a `parallel`, in no branch or loop there."""
    parallels = (op for op in function.body.ops if isinstance(op, Parallel))
    return any(op is loop for parallel in parallels for op in parallel.body.ops)


def early_part(function: Function, loop: For) -> int:
    """How many first instructions of a short loop may stand before those of the iteration before; 0 without a load.

    They need nothing that goes from iteration to iteration, and read only memory that nobody writes.
    """
    ops = loop.body.ops
    inner = list(_within((loop.body,)))
    if len(inner) > SHORT or any(isinstance(op, For | Foreach) for op in inner):
        return 0
    roots, changing = roots_of(function), changing_parameters(function)
    fixed = {parameter.value for parameter in function.parameters} - changing
    late = set(loop.carried)
    count = next((k for k, op in enumerate(ops) if isinstance(op, Yield) or not _is_early(op, late, roots, fixed)), 0)
    return count if any(isinstance(op, Load) for op in _inside(ops[:count])) else 0


def _is_early(op: Op, late: set[Value], roots: dict[Value, Value], fixed: set[Value]) -> bool:
    for one in _inside([op]):
        read = [roots[value] for value in one.operands if isinstance(value.type, MemRef)]
        if meets(one) or one.spec.writes or not fixed.issuperset(read) or not late.isdisjoint(one.operands):
            return False
    return True


def _inside(ops: Sequence[Op]) -> Iterator[Op]:
    for op in ops:
        yield op
        yield from _within(op.regions)


def _within(regions: Sequence[Region]) -> Iterator[Op]:
    for region in regions:
        yield from region.walk()
