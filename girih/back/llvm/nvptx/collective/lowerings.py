"""Collective linear algebra on an NVIDIA GPU, at the speed of its memory (`girih.ops.tile.linalg`).

Checks, the order of accesses and the meaning of factors are those of all machines of one lane
(`girih.back.llvm.lower.one_lane.linalg`), as are the loops for what is not done better here.
"""

from __future__ import annotations

from girih.back.llvm.lower.collective.views import known_extents
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.linalg import products
from girih.back.llvm.lower.one_lane.linalg.lowerings import prepared
from girih.back.llvm.nvptx.collective.gemm import shared_bytes_left, small_product, write_small
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.ops.tile.linalg import Gemm

LOWERINGS = Lowerings[CudaCode]()
"""The lowerings of this file."""


@LOWERINGS.of(Gemm)
def gemm(code: CudaCode, op: Gemm) -> None:
    """c := alpha op1(a) op2(b) + beta c."""
    target, (a, b, c) = prepared(code, op)
    left, right, _ = known_extents(a.turned(op.transpose_a), b.turned(op.transpose_b), c)
    small = small_product(op)
    if small is not None and small.bytes <= shared_bytes_left(code):
        write_small(code, small, target, left, right)
    else:
        products.matrix_product(code, target, left, right)
    code.barrier()
