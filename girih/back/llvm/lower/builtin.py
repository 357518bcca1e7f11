"""Where a work-item finds itself (`girih.ops.tile.builtin`)."""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.code import Lowering, lowering
from girih.back.llvm.numbers.values import Linear, Scalar, index, parts_of, uniform
from girih.ir.core import Op
from girih.ir.types import I32
from girih.ops.tile.builtin import (
    GroupId,
    NumGroups,
    NumSubgroups,
    SubgroupId,
    SubgroupLinearId,
    SubgroupLocalId,
    SubgroupSize,
)


def _subgroups(code: Lowering) -> tuple[int, int, int]:
    """Subgroups along x, y, z (003 "Builtin (mixed)")."""
    rows, columns = code.geometry.work_group_size
    return rows // code.geometry.subgroup_size, columns, 1


def _small(code: Lowering, op: Op, held: Val) -> None:
    code.set(op.results[0], uniform(I32, code.w.convert("trunc", held, "i32")))


@lowering(GroupId)
def group_id(code: Lowering, op: GroupId) -> None:
    """The place of the work-group in the grid."""
    code.set(op.result, index(code.group[op.axis]))


@lowering(NumGroups)
def num_groups(code: Lowering, op: NumGroups) -> None:
    """The size of the grid."""
    code.set(op.result, index(code.grid[op.axis]))


@lowering(NumSubgroups)
def num_subgroups(code: Lowering, op: NumSubgroups) -> None:
    """The number of subgroups along an axis."""
    code.set(op.result, uniform(I32, integer(_subgroups(code)[op.axis], "i32")))


@lowering(SubgroupSize)
def subgroup_size(code: Lowering, op: SubgroupSize) -> None:
    """The number of work-items of a subgroup."""
    code.set(op.result, uniform(I32, integer(code.geometry.subgroup_size, "i32")))


@lowering(SubgroupId)
def subgroup_id(code: Lowering, op: SubgroupId) -> None:
    """The number of the subgroup along an axis."""
    w = code.w
    along_x = _subgroups(code)[0]
    number = w.value(code.place.subgroup)
    if number.literal is not None:
        known = (number.literal % along_x, number.literal // along_x, 0)
        code.set(op.result, uniform(I32, integer(known[op.axis], "i32")))
        return
    divided = {0: "urem", 1: "udiv"}.get(op.axis)
    if divided is None:
        code.set(op.result, uniform(I32, integer(0, "i32")))
        return
    _small(code, op, w.pure("i64", f"{divided} {number}, {along_x}", (number,)))


@lowering(SubgroupLinearId)
def subgroup_linear_id(code: Lowering, op: SubgroupLinearId) -> None:
    """The number of the subgroup."""
    _small(code, op, code.w.value(code.place.subgroup))


@lowering(SubgroupLocalId)
def subgroup_local_id(code: Lowering, op: SubgroupLocalId) -> None:
    """The number of the work-item; in an apply region, of one that holds the component."""
    number = code.place.element_number
    if number is None:
        code.set(op.result, Scalar(I32, (), Linear(integer(0, "i32"), 1, exact=True)))
        return
    held = parts_of(code.w, number, code.lanes)[0]
    size = integer(code.geometry.subgroup_size, held.type)
    code.set(op.result, uniform(I32, code.w.pure(held.type, f"urem {held}, {size.text}", (held,))))
