"""The place of a work-item in the launch, and the sizes of the launch (003 "Builtin (mixed)", "Builtin (SPMD)")."""

from __future__ import annotations

from girih.ir.core import Op, Value
from girih.ir.define import Where, modifier, op, result
from girih.ir.kinds import INDEXES, exactly
from girih.ir.types import I32
from girih.ops.tile.language import TILE

MIXED = '003 "Builtin (mixed)"'
SPMD = '003 "Builtin (SPMD)"'
_AXES = {"x": 0, "y": 1, "z": 2}


@op(TILE, "group_id", Where.MIXED, MIXED, ": result")
class GroupId(Op):
    """The number of the work-group along an axis of the grid, from 0 to num_groups - 1."""

    axis: int = modifier(_AXES, required=True, doc="axis of the grid")
    result: Value = result(INDEXES, "the number")


@op(TILE, "num_groups", Where.MIXED, MIXED, ": result")
class NumGroups(Op):
    """The number of work-groups along an axis of the grid."""

    axis: int = modifier(_AXES, required=True, doc="axis of the grid")
    result: Value = result(INDEXES, "the number")


@op(TILE, "num_subgroups", Where.MIXED, MIXED, ": result")
class NumSubgroups(Op):
    """The number of subgroups along an axis of the work-group.

    That is work_group_size[0] / subgroup_size along x, work_group_size[1] along y, and 1 along z.
    """

    axis: int = modifier(_AXES, required=True, doc="axis of the work-group")
    result: Value = result(exactly(I32), "the number")


@op(TILE, "subgroup_size", Where.MIXED, MIXED, ": result")
class SubgroupSize(Op):
    """The number of work-items in a subgroup."""

    result: Value = result(exactly(I32), "the number")


@op(TILE, "subgroup_id", Where.SPMD, SPMD, ": result")
class SubgroupId(Op):
    """The number of the subgroup along an axis of the work-group, from 0 to num_subgroups - 1."""

    axis: int = modifier(_AXES, required=True, doc="axis of the work-group")
    result: Value = result(exactly(I32), "the number")


@op(TILE, "subgroup_linear_id", Where.SPMD, SPMD, ": result")
class SubgroupLinearId(Op):
    """The number of the subgroup in the work-group: subgroup_id.x + subgroup_id.y * num_subgroups.x."""

    result: Value = result(exactly(I32), "the number")


@op(TILE, "subgroup_local_id", Where.SPMD, SPMD, ": result")
class SubgroupLocalId(Op):
    """The number of the work-item in its subgroup, from 0 to subgroup_size - 1."""

    result: Value = result(exactly(I32), "the number")
