"""The place of a work-item in the launch, and the sizes of the launch (003 "Builtin (mixed)", "Builtin (SPMD)")."""

from __future__ import annotations

from girih.language.types import i32, index
from girih.language.words import outside, word


@word
def group_id(axis: int) -> index:
    """The number of the work-group along an axis of the grid (0, 1 or 2), from 0 to `num_groups(axis) - 1`."""
    outside("gl.group_id")


@word
def num_groups(axis: int) -> index:
    """The number of work-groups along an axis of the grid: 0, 1 or 2."""
    outside("gl.num_groups")


@word
def num_subgroups(axis: int) -> i32:
    """The number of subgroups along an axis of the work-group.

    That is `work_group_size[0] / subgroup_size` along 0, `work_group_size[1]` along 1, and 1 along 2.
    """
    outside("gl.num_subgroups")


@word
def subgroup_size() -> i32:
    """The number of work-items in a subgroup."""
    outside("gl.subgroup_size")


@word
def subgroup_id(axis: int) -> i32:
    """The number of the subgroup along an axis of the work-group, from 0 to `num_subgroups(axis) - 1`.

    It differs between work-items: it stands in `gl.parallel`, `gl.foreach` or `gl.foreach_tile`.
    """
    outside("gl.subgroup_id")


@word
def subgroup_linear_id() -> i32:
    """The number of the subgroup in the work-group: `subgroup_id(0) + subgroup_id(1) * num_subgroups(0)`."""
    outside("gl.subgroup_linear_id")


@word
def subgroup_local_id() -> i32:
    """The number of the work-item in its subgroup, from 0 to `subgroup_size() - 1`."""
    outside("gl.subgroup_local_id")
