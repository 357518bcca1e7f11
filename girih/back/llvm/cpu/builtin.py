"""Where a work-item finds itself (`girih.ops.builtin`)."""

from __future__ import annotations

from girih.back.llvm.cpu.lowering import Lowering, lowering
from girih.back.llvm.text import Val, integer
from girih.back.llvm.values import Linear, Scalar, index, parts_of, uniform
from girih.ir.core import Op
from girih.ir.types import I32
from girih.ops.builtin import (
    GroupId,
    NumGroups,
    NumSubgroups,
    SubgroupId,
    SubgroupLinearId,
    SubgroupLocalId,
    SubgroupSize,
)


def _subgroups(l: Lowering) -> tuple[int, int, int]:
    """Subgroups along x, y, z (003 "Builtin (mixed)")."""
    rows, columns = l.geometry.work_group_size
    return rows // l.geometry.subgroup_size, columns, 1


def _small(l: Lowering, op: Op, held: Val) -> None:
    l.set(op.results[0], uniform(I32, l.w.convert("trunc", held, "i32")))


@lowering(GroupId)
def group_id(l: Lowering, op: GroupId) -> None:
    """The place of the work-group in the grid."""
    l.set(op.result, index(l.group[op.axis]))


@lowering(NumGroups)
def num_groups(l: Lowering, op: NumGroups) -> None:
    """The size of the grid."""
    l.set(op.result, index(l.grid[op.axis]))


@lowering(NumSubgroups)
def num_subgroups(l: Lowering, op: NumSubgroups) -> None:
    """The number of subgroups along an axis."""
    l.set(op.result, uniform(I32, integer(_subgroups(l)[op.axis], "i32")))


@lowering(SubgroupSize)
def subgroup_size(l: Lowering, op: SubgroupSize) -> None:
    """The number of work-items of a subgroup."""
    l.set(op.result, uniform(I32, integer(l.geometry.subgroup_size, "i32")))


@lowering(SubgroupId)
def subgroup_id(l: Lowering, op: SubgroupId) -> None:
    """The number of the subgroup along an axis."""
    w = l.w
    along_x = _subgroups(l)[0]
    number = w.value(l.place.subgroup)
    if number.literal is not None:
        known = (number.literal % along_x, number.literal // along_x, 0)
        l.set(op.result, uniform(I32, integer(known[op.axis], "i32")))
        return
    divided = {0: "urem", 1: "udiv"}.get(op.axis)
    if divided is None:
        l.set(op.result, uniform(I32, integer(0, "i32")))
        return
    _small(l, op, w.pure("i64", f"{divided} {number}, {along_x}", (number,)))


@lowering(SubgroupLinearId)
def subgroup_linear_id(l: Lowering, op: SubgroupLinearId) -> None:
    """The number of the subgroup."""
    _small(l, op, l.w.value(l.place.subgroup))


@lowering(SubgroupLocalId)
def subgroup_local_id(l: Lowering, op: SubgroupLocalId) -> None:
    """The number of the work-item; in an apply region, of one that holds the component."""
    number = l.place.element_number
    if number is None:
        l.set(op.result, Scalar(I32, (), Linear(integer(0, "i32"), 1, exact=True)))
        return
    held = parts_of(l.w, number, l.lanes)[0]
    size = integer(l.geometry.subgroup_size, held.type)
    l.set(op.result, uniform(I32, l.w.pure(held.type, f"urem {held}, {size.text}", (held,))))
