"""The place of a work-item in the launch, and the sizes of the launch (`girih.ops.tile.builtin`)."""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.values import index, parts_of, uniform
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

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""


def _subgroups(code: KernelCode) -> tuple[int, int, int]:
    """The numbers of subgroups in a work-group along x, y and z (003 "Builtin (mixed)")."""
    rows, columns = code.geometry.work_group_size
    return rows // code.geometry.subgroup_size, columns, 1


def _small(code: KernelCode, op: Op, held: Val) -> None:
    code.set(op.results[0], uniform(I32, code.w.convert("trunc", held, "i32")))


@LOWERINGS.of(GroupId)
def group_id(code: KernelCode, op: GroupId) -> None:
    """Lower the number of the work-group along an axis of the grid."""
    code.set(op.result, index(code.group[op.axis]))


@LOWERINGS.of(NumGroups)
def num_groups(code: KernelCode, op: NumGroups) -> None:
    """Lower the number of work-groups along an axis of the grid."""
    code.set(op.result, index(code.grid[op.axis]))


@LOWERINGS.of(NumSubgroups)
def num_subgroups(code: KernelCode, op: NumSubgroups) -> None:
    """Lower the number of subgroups along an axis of the work-group."""
    code.set(op.result, uniform(I32, integer(_subgroups(code)[op.axis], "i32")))


@LOWERINGS.of(SubgroupSize)
def subgroup_size(code: KernelCode, op: SubgroupSize) -> None:
    """Lower the number of work-items in a subgroup."""
    code.set(op.result, uniform(I32, integer(code.geometry.subgroup_size, "i32")))


@LOWERINGS.of(SubgroupId)
def subgroup_id(code: KernelCode, op: SubgroupId) -> None:
    """Lower the number of the subgroup along an axis of the work-group."""
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
    _small(code, op, w.binary(divided, number, along_x))


@LOWERINGS.of(SubgroupLinearId)
def subgroup_linear_id(code: KernelCode, op: SubgroupLinearId) -> None:
    """Lower the number of the subgroup in the work-group."""
    _small(code, op, code.w.value(code.place.subgroup))


@LOWERINGS.of(SubgroupLocalId)
def subgroup_local_id(code: KernelCode, op: SubgroupLocalId) -> None:
    """Lower the number of the work-item in its subgroup; in an apply region, of one that holds the component."""
    number = code.place.element_number
    if number is None:
        code.set(op.result, code.work_item())
        return
    held = parts_of(code.w, number, code.lanes)[0]
    size = integer(code.geometry.subgroup_size, held.type)
    code.set(op.result, uniform(I32, code.w.binary("urem", held, size)))
