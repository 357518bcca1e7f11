"""What differs between the work-items that take part in operations of a subgroup, and by their places.

Whatever all active work-items of a subgroup get alike may differ from what another subgroup gets, whose active ones are
others: none of it is promised to be the same in the work-group.
"""

from __future__ import annotations

from collections.abc import Mapping

from girih.analysis.uniformity import Promises, Uniformity
from girih.ir.core import Op
from girih.ops.device.atomics import ByteAtomicCompareExchange, ByteAtomicLoad, ByteAtomicUpdate
from girih.ops.device.built_ins import GlobalId, InvocationId, LocalId, LocalIndex, SubgroupMask
from girih.ops.device.matrices import MatrixExtract
from girih.ops.device.subgroup import (
    ActiveAll,
    ActiveAllEqual,
    ActiveAny,
    ActiveBallot,
    ActiveBroadcast,
    ActiveBroadcastFirst,
    ActiveElect,
    ActivePartition,
    ActiveQuadBroadcast,
    ActiveReduce,
    ActiveRotate,
    ActiveScan,
    ActiveShuffle,
    BallotCount,
    InverseBallot,
)

_APART = (
    LocalIndex, SubgroupMask, ActiveElect, InverseBallot, ActiveShuffle, ActiveRotate, ActiveQuadBroadcast, ActiveScan,
    ActivePartition, ByteAtomicLoad, ByteAtomicUpdate, ByteAtomicCompareExchange, MatrixExtract,
)  # fmt: skip
_AGREEING = (ActiveAll, ActiveAny, ActiveAllEqual, ActiveBallot, ActiveBroadcast, ActiveBroadcastFirst)

ACTIVE_VISITS: Mapping[type[Op], str] = {
    **dict.fromkeys(_APART, "apart"),
    **dict.fromkeys(_AGREEING, "agreeing"),
    LocalId: "place",
    GlobalId: "place",
    ActiveReduce: "reduction",
    BallotCount: "count",
}
"""The method of `ActivePromises` that visits an instruction."""


class ActivePromises(Promises):
    """The levels of what work-items get from each other, and of their places."""

    def apart(self, op: Op) -> None:
        """Raise what each work-item gets for itself."""
        self.raised(op.results, Uniformity.NONE)

    def agreeing(self, op: Op) -> None:
        """Raise what the active work-items of a subgroup get alike."""
        self.raised(op.results, Uniformity.SUBGROUP)

    def place(self, op: InvocationId) -> None:
        """Raise a number along an axis: a subgroup has one if its work-items are a part of a row, or plane, of it."""
        lanes = self.function.subgroup_size
        x, y, _ = op.sizes
        step = (1, x, x * y)[op.axis]
        same = lanes is not None and step % lanes == 0
        self.raised(op.results, Uniformity.SUBGROUP if same else Uniformity.NONE)

    def reduction(self, op: ActiveReduce) -> None:
        """Raise the combination of all, or of clusters or parts."""
        (self.apart if op.cluster or op.partition else self.agreeing)(op)

    def count(self, op: BallotCount) -> None:
        """Raise a number of bits, of all work-items or of those before each one."""
        (self.derived if op.among == "reduce" else self.apart)(op)
