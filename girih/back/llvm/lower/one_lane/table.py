"""The lowerings that machines share on which each work-item is a thread."""

from __future__ import annotations

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane import atomics, sharing, subgroup
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.linalg import lowerings as linalg
from girih.back.llvm.lower.table import GENERIC
from girih.ops.tile.control import Print
from girih.ops.tile.tensor_map import TensorCopyLoad, TensorCopyLoadIm2col, TensorCopyReduce, TensorCopyStore

NO_OUTPUT = "its threads have no standard output"
NO_COPY_ENGINE = "a tensor copy is made by an engine of its own, which it does not have"

_REFUSED = Lowerings[OneLaneCode]()
_REFUSED.refuse(NO_OUTPUT, Print)
_REFUSED.refuse(NO_COPY_ENGINE, TensorCopyLoad, TensorCopyLoadIm2col, TensorCopyStore, TensorCopyReduce)

ONE_LANE = (
    Lowerings[OneLaneCode]()
    .joined(GENERIC)
    .replaced(atomics.LOWERINGS)
    .joined(sharing.LOWERINGS, subgroup.LOWERINGS, linalg.LOWERINGS, _REFUSED)
)
"""How everything but matrices is lowered; these are each target's own."""
