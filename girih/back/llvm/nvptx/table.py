"""The lowerings of a kernel for NVPTX: what machines of one lane share, and what NVIDIA's GPUs do better."""

from __future__ import annotations

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.matrix.table import SOFT_MATRICES
from girih.back.llvm.lower.one_lane.table import ONE_LANE
from girih.back.llvm.nvptx import printing, sharing
from girih.back.llvm.nvptx.collective import lowerings as collective
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.back.llvm.nvptx.tensor_map import lowerings as copies

_SHARED: Lowerings[CudaCode] = ONE_LANE
BUT_MATRICES = _SHARED.replaced(sharing.LOWERINGS.joined(printing.LOWERINGS, collective.LOWERINGS, copies.LOWERINGS))
"""How everything but matrices is lowered for NVPTX; how they are, is chosen for each kernel (`matrix.table`)."""

CUDA = BUT_MATRICES.joined(SOFT_MATRICES)
"""What is lowered for NVPTX."""
