"""Collective linear algebra where each work-item is a thread (`girih.ops.tile.linalg`).

The elements of the target go to the threads, which come together before and after: what collective code around the
instruction reads and writes is not overtaken. Sums are computed in one order, whatever else the threads do.
"""

from __future__ import annotations

from typing import Any

from girih.back.llvm.lower.collective.apart import OPERANDS
from girih.back.llvm.lower.collective.operands import check_shapes, note_tf32, views_of
from girih.back.llvm.lower.collective.views import View, known_extents
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.linalg import products, sums
from girih.back.llvm.lower.one_lane.linalg.overlap import check_apart
from girih.back.llvm.lower.one_lane.linalg.target import ScaledTarget, scaled_target
from girih.ops.tile.linalg import Axpby, Cumsum, Gemm, Gemv, Ger, Hadamard, Sum

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""


def prepared(code: OneLaneCode, op: Any) -> tuple[ScaledTarget, list[View]]:
    """The target and the memory of all operands, checked; then the threads come together."""
    names = OPERANDS[op.__class__]
    for name in names:
        code.agree_on_member(op, name)
    views = views_of(code, op, *names)
    target = scaled_target(code, op, views[-1], atomic=op.atomic)
    if isinstance(op, Gemm | Gemv | Ger):
        note_tf32(code, views[0].element, views[1].element)
    check_shapes(code, op, views)
    check_apart(code, op, names, views)
    code.barrier()
    return target, views


@LOWERINGS.of(Axpby)
def axpby(code: OneLaneCode, op: Axpby) -> None:
    """b := alpha op(a) + beta b."""
    target, (a, _) = prepared(code, op)
    products.scaled_copy(code, target, a.turned(op.transpose))
    code.barrier()


@LOWERINGS.of(Hadamard)
def hadamard(code: OneLaneCode, op: Hadamard) -> None:
    """c := alpha a * b + beta c, entry by entry."""
    target, (a, b, _) = prepared(code, op)
    products.entrywise(code, target, a, b)
    code.barrier()


@LOWERINGS.of(Ger)
def ger(code: OneLaneCode, op: Ger) -> None:
    """c := alpha a b^T + beta c."""
    target, (a, b, _) = prepared(code, op)
    products.outer(code, target, a, b)
    code.barrier()


@LOWERINGS.of(Sum)
def sum_(code: OneLaneCode, op: Sum) -> None:
    """b := alpha op(a) 1 + beta b."""
    target, (a, b) = prepared(code, op)
    if b.shape:
        sums.row_sums(code, target, a.turned(op.transpose), None)
    else:
        sums.vector_sum(code, target, a)
    code.barrier()


@LOWERINGS.of(Gemv)
def gemv(code: OneLaneCode, op: Gemv) -> None:
    """c := alpha op1(a) b + beta c."""
    target, (a, b, _) = prepared(code, op)
    sums.row_sums(code, target, a.turned(op.transpose), b)
    code.barrier()


@LOWERINGS.of(Cumsum)
def cumsum(code: OneLaneCode, op: Cumsum) -> None:
    """b := alpha (cumulative sum of a along a mode) + beta b."""
    target, (a, _) = prepared(code, op)
    sums.running_sums(code, target, a, op.mode)
    code.barrier()


@LOWERINGS.of(Gemm)
def gemm(code: OneLaneCode, op: Gemm) -> None:
    """c := alpha op1(a) op2(b) + beta c."""
    target, (a, b, c) = prepared(code, op)
    left, right, _ = known_extents(a.turned(op.transpose_a), b.turned(op.transpose_b), c)
    products.matrix_product(code, target, left, right)
    code.barrier()
