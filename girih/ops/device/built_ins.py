"""The place of a work-item in a work-group and a grid of three dimensions (SPIR-V 3.21 "BuiltIn").

Work-groups of the ir are rows of subgroups: the work-items of a subgroup follow each other, subgroup after subgroup.
The numbers along x, y and z are counted off from that, x first.
"""

from __future__ import annotations

from girih.ir.core import Op, Value
from girih.ir.define import Where, integers, modifier, node, op, result, results
from girih.ir.kinds import exactly
from girih.ir.surroundings import Subject
from girih.ir.types import I32
from girih.ops.device.language import DEVICE
from girih.rules.predicates import Holds
from girih.rules.row import Row

BUILT_IN = "SPIR-V 3.21"
_AXES = {"x": 0, "y": 1, "z": 2}
LANE_RELATIONS = ("equal", "greater", "greater_equal", "less", "less_equal")
"""What the number of a work-item is, compared with that of the work-item which has a mask."""


@op(DEVICE, "local_index", Where.SPMD, f"{BUILT_IN} LocalInvocationIndex", ": result")
class LocalIndex(Op):
    """The number of the work-item in its work-group: that of its subgroup times subgroup_size, and its own in it."""

    result: Value = result(exactly(I32), "the number")


@node
class InvocationId(Op):
    """The base of the numbers of a work-item along an axis. `sizes` are those of the work-group along x, y and z."""

    axis: int = modifier(_AXES, required=True, doc="the axis")
    sizes: tuple[int, ...] = integers("the numbers of work-items of a work-group along x, y and z")
    result: Value = result(exactly(I32), "the number")


@op(DEVICE, "local_id", Where.SPMD, f"{BUILT_IN} LocalInvocationId", "( sizes ) : result")
class LocalId(InvocationId):
    """The number of the work-item along an axis of its work-group."""


@op(DEVICE, "global_id", Where.SPMD, f"{BUILT_IN} GlobalInvocationId", "( sizes ) : result")
class GlobalId(InvocationId):
    """The number of the work-item along an axis of the grid: group_id times the size, and local_id."""


def _are_sizes(subject: Subject) -> bool:
    sizes: tuple[int, ...] = subject.op.sizes
    return len(sizes) == 3 and all(size > 0 for size in sizes)


for _declared in (LocalId, GlobalId):
    DEVICE.rules(
        _declared,
        Row("sizes", "sizes", Holds("there are three positive sizes", _are_sizes),
            "the work-group has three positive sizes", f"{BUILT_IN} WorkgroupSize"),
    )  # fmt: skip


@op(DEVICE, "subgroup_mask", Where.SPMD, f"{BUILT_IN} SubgroupEqMask", ": results")
class SubgroupMask(Op):
    """The work-items of the subgroup, active or not, whose numbers compare so with one's own: a bit for each.

    The first result has the bits of the work-items 0 to 31, the next ones those that follow. There are no bits for
    numbers from subgroup_size on.
    """

    relation: str = modifier({name: name for name in LANE_RELATIONS}, required=True, doc="how their numbers compare")
    results: tuple[Value, ...] = results(exactly(I32), "four words")
