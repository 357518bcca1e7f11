"""The lowerings that machines share on which each work-item is a thread."""

from __future__ import annotations

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane import sharing, subgroup
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.table import GENERIC
from girih.ops.tile.control import Print

NO_OUTPUT = "its threads have no standard output"

_REFUSED = Lowerings[OneLaneCode]()
_REFUSED.refuse(NO_OUTPUT, Print)

ONE_LANE = Lowerings[OneLaneCode]().joined(GENERIC, sharing.LOWERINGS, subgroup.LOWERINGS, _REFUSED)
"""How everything but matrices and collective linear algebra is lowered; these are each target's own."""
