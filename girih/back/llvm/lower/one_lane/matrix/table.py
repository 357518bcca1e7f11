"""The lowerings of matrices for machines that have none: each work-item holds its components in private memory."""

from __future__ import annotations

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix import components, elementwise, memory, product, reduce, regions

SOFT_MATRICES = Lowerings[OneLaneCode]().joined(
    components.LOWERINGS,
    elementwise.LOWERINGS,
    memory.LOWERINGS,
    product.LOWERINGS,
    reduce.LOWERINGS,
    regions.LOWERINGS,
)
"""How matrices are lowered without instructions of the machine for them; joined to `ONE_LANE`."""
