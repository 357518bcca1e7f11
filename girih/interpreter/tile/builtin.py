"""The meaning of the instructions that tell a work-item its place in the launch (`girih.ops.tile.builtin`)."""

from __future__ import annotations

import numpy as np

from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import Array
from girih.ops.tile.builtin import (
    GroupId,
    NumGroups,
    NumSubgroups,
    SubgroupId,
    SubgroupLinearId,
    SubgroupLocalId,
    SubgroupSize,
)


def single(value: int, dtype: type[np.signedinteger] = np.int32) -> Array:
    """The scalar value that is the same number for all work-items."""
    return np.full((1, 1, 1), value, dtype)


def num_subgroups(machine: Machine) -> tuple[int, int, int]:
    """The numbers of subgroups in a work-group along x, y and z (003 "Builtin (mixed)")."""
    rows, columns = machine.geometry.work_group_size
    return rows // machine.geometry.subgroup_size, columns, 1


@meaning(GroupId)
def group_id(machine: Machine, op: GroupId) -> None:
    """Set the result to the number of the work-group along an axis of the grid."""
    machine.set(op.result, machine.group_ids[op.axis])


@meaning(NumGroups)
def num_groups(machine: Machine, op: NumGroups) -> None:
    """Set the result to the number of work-groups along an axis of the grid."""
    machine.set(op.result, single(machine.geometry.grid[op.axis], np.int64))


@meaning(NumSubgroups)
def subgroups(machine: Machine, op: NumSubgroups) -> None:
    """Set the result to the number of subgroups along an axis of the work-group."""
    machine.set(op.result, single(num_subgroups(machine)[op.axis]))


@meaning(SubgroupSize)
def subgroup_size(machine: Machine, op: SubgroupSize) -> None:
    """Set the result to the number of work-items in a subgroup."""
    machine.set(op.result, single(machine.geometry.subgroup_size))


def _linear(machine: Machine) -> Array:
    return np.arange(machine.subgroups, dtype=np.int32)[None, :, None]


@meaning(SubgroupId)
def subgroup_id(machine: Machine, op: SubgroupId) -> None:
    """Set the result to the number of the subgroup along an axis of the work-group."""
    along_x = num_subgroups(machine)[0]
    linear = _linear(machine)
    ids = (linear % along_x, linear // along_x, np.zeros_like(linear))
    machine.set(op.result, ids[op.axis].astype(np.int32))


@meaning(SubgroupLinearId)
def subgroup_linear_id(machine: Machine, op: SubgroupLinearId) -> None:
    """Set the result to the number of the subgroup in the work-group."""
    machine.set(op.result, _linear(machine))


@meaning(SubgroupLocalId)
def subgroup_local_id(machine: Machine, op: SubgroupLocalId) -> None:
    """Set the result to the number of the work-item in its subgroup.

    In the region of an apply that is the work-item which holds the component.
    """
    ids = np.arange(machine.lanes, dtype=np.int32) % machine.geometry.subgroup_size
    machine.set(op.result, ids[None, None, :].astype(np.int32))
