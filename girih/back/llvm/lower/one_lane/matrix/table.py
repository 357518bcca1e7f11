"""The lowerings of matrices for machines that have none: each work-item holds its components in private memory."""

from __future__ import annotations

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix import (
    blocked,
    components,
    elementwise,
    memory,
    product,
    reduce,
    regions,
    tensor,
)

SOFT_MATRICES = Lowerings[OneLaneCode]().joined(
    blocked.LOWERINGS,
    components.LOWERINGS,
    elementwise.LOWERINGS,
    memory.LOWERINGS,
    product.LOWERINGS,
    reduce.LOWERINGS,
    regions.LOWERINGS,
    tensor.LOWERINGS,
)
"""How matrices are lowered without instructions of the machine for them; joined to `ONE_LANE`."""
