"""Collective linear algebra on an NVIDIA GPU, at the speed of its memory (`girih.ops.tile.linalg`).

Checks, the order of accesses and the meaning of factors are those of all machines of one lane
(`girih.back.llvm.lower.one_lane.linalg`), as are the loops for what is not done better here.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.collective.views import known_extents
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.linalg import products
from girih.back.llvm.lower.one_lane.linalg import sums as slow_sums
from girih.back.llvm.lower.one_lane.linalg.lowerings import prepared
from girih.back.llvm.lower.one_lane.linalg.target import ScaledTarget
from girih.back.llvm.nvptx.collective import sums
from girih.back.llvm.nvptx.collective.copies import FACTORS
from girih.back.llvm.nvptx.collective.elementwise import PointwiseOperand, Result, pointwise
from girih.back.llvm.nvptx.collective.fragments import FragmentProduct, write_fragments
from girih.back.llvm.nvptx.collective.gemm import (
    block_layout,
    fragment_product,
    shared_bytes_left,
    small_product,
    write_large,
    write_small,
)
from girih.back.llvm.nvptx.collective.running import running_sums
from girih.back.llvm.nvptx.machine.code import WARP, CudaCode
from girih.facts import remarks
from girih.ops.tile.linalg import Axpby, Cumsum, Gemm, Gemv, Ger, Hadamard, Sum

LOWERINGS = Lowerings[CudaCode]()
"""The lowerings of this file."""


@LOWERINGS.of(Axpby)
def axpby(code: CudaCode, op: Axpby) -> None:
    """b := alpha op(a) + beta b."""
    target, (a, _) = prepared(code, op)
    turned = a.turned(op.transpose)
    operands = [PointwiseOperand(turned)]
    pointwise(code, target, operands, lambda held, _: held[0], lambda: products.scaled_copy(code, target, turned))
    code.barrier()


@LOWERINGS.of(Hadamard)
def hadamard(code: CudaCode, op: Hadamard) -> None:
    """c := alpha a * b + beta c, entry by entry."""
    target, (a, b, _) = prepared(code, op)
    operands = [PointwiseOperand(a), PointwiseOperand(b)]
    pointwise(code, target, operands, _multiplied(code, target), lambda: products.entrywise(code, target, a, b))
    code.barrier()


@LOWERINGS.of(Ger)
def ger(code: CudaCode, op: Ger) -> None:
    """c := alpha a b^T + beta c."""
    target, (a, b, _) = prepared(code, op)
    operands = [PointwiseOperand(a, 0), PointwiseOperand(b, 1)]
    pointwise(code, target, operands, _multiplied(code, target), lambda: products.outer(code, target, a, b))
    code.barrier()


def _multiplied(code: CudaCode, target: ScaledTarget) -> Result:
    """The products of numbers; one that several share is the second."""

    def product(held: list[Val], count: int) -> Val:
        a, b = held
        return target.numbers.multiply((a,), (code.w.splat(b, count),), contract=code.contract)[0]

    return product


@LOWERINGS.of(Sum)
def sum_(code: CudaCode, op: Sum) -> None:
    """b := alpha op(a) 1 + beta b."""
    target, (a, b) = prepared(code, op)
    turned = a.turned(op.transpose)
    if b.shape:
        sums.row_sums(code, target, turned, None, lambda: slow_sums.row_sums(code, target, turned, None))
    else:
        sums.vector_sum(code, target, a, lambda: slow_sums.vector_sum(code, target, a))
    code.barrier()


@LOWERINGS.of(Gemv)
def gemv(code: CudaCode, op: Gemv) -> None:
    """c := alpha op1(a) b + beta c."""
    target, (a, b, _) = prepared(code, op)
    turned = a.turned(op.transpose)
    sums.row_sums(code, target, turned, b, lambda: slow_sums.row_sums(code, target, turned, b))
    code.barrier()


@LOWERINGS.of(Cumsum)
def cumsum(code: CudaCode, op: Cumsum) -> None:
    """b := alpha (cumulative sum of a along a mode) + beta b."""
    target, (a, _) = prepared(code, op)
    running_sums(code, target, a, op.mode, lambda: slow_sums.running_sums(code, target, a, op.mode))
    code.barrier()


@LOWERINGS.of(Gemm)
def gemm(code: CudaCode, op: Gemm) -> None:
    """c := alpha op1(a) op2(b) + beta c."""
    target, (a, b, c) = prepared(code, op)
    left, right, c = known_extents(a.turned(op.transpose_a), b.turned(op.transpose_b), c)
    fragments = fragment_product(op)
    if fragments is not None and _fits(code, fragments):
        write_fragments(code, fragments, target, left, right)
        code.barrier()
        return
    small = small_product(op)
    if small is not None and small.bytes <= shared_bytes_left(code, FACTORS):
        write_small(code, small, target, left, right)
        code.barrier()
        return
    blocks = block_layout(code, c, left, right)
    if blocks is None:
        products.matrix_product(code, target, left, right)
    else:
        code.remarks.note(remarks.one_work_group())
        write_large(code, blocks, target, left, right)
    code.barrier()


def _fits(code: CudaCode, product: FragmentProduct) -> bool:
    """Whether the threads are whole warps, or parts of those that are packed, and there is memory."""
    if code.packing is not None:
        return True
    bytes = product.bytes(code.geometry.subgroups)
    return code.geometry.subgroup_size == WARP and bytes <= shared_bytes_left(code, FACTORS)
