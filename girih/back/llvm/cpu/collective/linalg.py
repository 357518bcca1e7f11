"""Collective linear algebra (`girih.ops.tile.linalg`), executed by one thread for the whole work-group.

Before anything is computed, it is checked that all memory is there, and that sizes agree that are known at run time
only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from girih.back.llvm.cpu.collective import elementwise, gemm, gemm_shared, sums
from girih.back.llvm.cpu.collective.aliasing import check_apart
from girih.back.llvm.cpu.collective.elements import Elements, View, computing, view
from girih.back.llvm.cpu.collective.gemm_product import Product
from girih.back.llvm.cpu.collective.scaling import Scaling, scaling
from girih.back.llvm.cpu.machine.code import CpuCode, note_tf32
from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.lower.access import check_null, shared_memref
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.addresses import as_scalar
from girih.back.llvm.numbers.values import Scalar, index
from girih.facts import findings, remarks
from girih.ir.core import Op
from girih.ops.tile.linalg import Axpby, Cumsum, Gemm, Gemv, Ger, Hadamard, Sum

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""

Shape = tuple[Operand, ...]


def _start(code: CpuCode, op: Any, *names: str) -> tuple[Elements, Scaling, list[View]]:
    """The memory of the operands, checked, the target last; how to compute for it, and how results reach it."""
    views = []
    for name in names:
        held = shared_memref(code, op, name, code.memref(getattr(op, name)))
        check_null(code, op, held)
        views.append(view(code.w, held))
    target = views[-1]
    contract = code.contract and code.features.fma
    e = Elements(code.w, code.target, computing(target.element), contract, code.remarks.note)
    alpha, beta = (_factor(code, op, name) for name in ("alpha", "beta"))
    end = scaling(e, target.element, alpha, beta, atomic=op.atomic, local=target.local)
    if end.one_by_one and target.shape:
        e.note(remarks.atomic(target.name))
    return e, end, views


def _factor(code: CpuCode, op: Any, name: str) -> Scalar:
    """alpha or beta, which the work-items share."""
    held = code.scalar(getattr(op, name))
    return Scalar(held.type, code.agreed(op, name, held))


def _fits(code: CpuCode, op: Op, left: Sequence[Operand], right: Sequence[Operand], differ: str, target: View) -> None:
    """Find sizes that differ, as far as they are not known to agree."""
    w = code.w
    bad = integer(0, "i1")
    for a, b in zip(left, right, strict=True):
        bad = w.binary("or", bad, w.compare("ne", a, b))
    sizes = ([_as_index(n) for n in row] for row in (left, right))
    mine, other = sizes
    code.check(op, bad, findings.shapes(op, differ), argument=target.name, index=mine, shape=other)


def _as_index(held: Operand) -> int | Scalar:
    return held if isinstance(held, int) else as_scalar(index(held))


@LOWERINGS.of(Axpby)
def axpby(code: CpuCode, op: Axpby) -> None:
    """b := alpha op(a) + beta b."""
    e, end, (a, b) = _start(code, op, "a", "b")
    source = a.turned(op.transpose)
    _fits(code, op, source.shape, b.shape, findings.TURNED_A_AND_B, b)
    check_apart(code, op, ("a", "b"), (a, b))
    elementwise.axpby(e, end, source, b)


@LOWERINGS.of(Hadamard)
def hadamard(code: CpuCode, op: Hadamard) -> None:
    """c := alpha a * b + beta c, entry by entry."""
    e, end, (a, b, c) = _start(code, op, "a", "b", "c")
    _fits(code, op, a.shape, b.shape, findings.A_AND_B, c)
    _fits(code, op, a.shape, c.shape, findings.A_AND_C, c)
    check_apart(code, op, ("a", "b", "c"), (a, b, c))
    elementwise.hadamard(e, end, a, b, c)


@LOWERINGS.of(Ger)
def ger(code: CpuCode, op: Ger) -> None:
    """c := alpha a b^T + beta c."""
    e, end, (a, b, c) = _start(code, op, "a", "b", "c")
    note_tf32(code, a.element, b.element)
    _fits(code, op, (*a.shape, *b.shape), c.shape, findings.OUTER_PRODUCT_AND_C, c)
    check_apart(code, op, ("a", "b", "c"), (a, b, c))
    elementwise.ger(e, end, a, b, c)


@LOWERINGS.of(Sum)
def sum_(code: CpuCode, op: Sum) -> None:
    """b := alpha op(a) 1 + beta b."""
    e, end, (a, b) = _start(code, op, "a", "b")
    if not b.shape:
        check_apart(code, op, ("a", "b"), (a, b))
        sums.total(e, end, a, b)
        return
    source = a.turned(op.transpose)
    _fits(code, op, source.shape[:1], b.shape, findings.ROWS_AND_B, b)
    check_apart(code, op, ("a", "b"), (a, b))
    with_piece(code, lambda piece: sums.matrix_vector(e, end, source, None, b, piece))


@LOWERINGS.of(Gemv)
def gemv(code: CpuCode, op: Gemv) -> None:
    """c := alpha op1(a) b + beta c."""
    e, end, (a, b, c) = _start(code, op, "a", "b", "c")
    note_tf32(code, a.element, b.element)
    left = a.turned(op.transpose)
    _fits(code, op, left.shape[1:], b.shape, findings.COLUMNS_AND_B, c)
    _fits(code, op, left.shape[:1], c.shape, findings.ROWS_AND_C, c)
    check_apart(code, op, ("a", "b", "c"), (a, b, c))
    with_piece(code, lambda piece: sums.matrix_vector(e, end, left, b, c, piece))


def with_piece(code: CpuCode, body: Callable[[Val], None]) -> None:
    """Call a body with workspace that is free again afterwards."""
    used = code.frame.used
    body(code.take(sums.PIECE_BYTES))
    code.frame.used = used


@LOWERINGS.of(Cumsum)
def cumsum(code: CpuCode, op: Cumsum) -> None:
    """b := alpha (cumulative sum of a along a mode) + beta b."""
    e, end, (a, b) = _start(code, op, "a", "b")
    _fits(code, op, a.shape, b.shape, findings.A_AND_B, b)
    check_apart(code, op, ("a", "b"), (a, b))
    sums.running(e, end, a, op.mode, b)


@LOWERINGS.of(Gemm)
def gemm_(code: CpuCode, op: Gemm) -> None:
    """c := alpha op1(a) op2(b) + beta c."""
    e, end, (a, b, c) = _start(code, op, "a", "b", "c")
    note_tf32(code, a.element, b.element)
    left, right = a.turned(op.transpose_a), b.turned(op.transpose_b)
    (m, k), (depth, n) = left.shape, right.shape
    _fits(code, op, (k,), (depth,), findings.COLUMNS_AND_ROWS, c)
    _fits(code, op, (m, n), c.shape, findings.PRODUCT_AND_C, c)
    check_apart(code, op, ("a", "b", "c"), (a, b, c))
    used = code.frame.used
    product = Product(e, end, *_known_extents(left, right, c), code.frame, code.workspace)
    if gemm_shared.has_many(code.function):
        gemm_shared.multiply(code, product)
    else:
        gemm.multiply(product)
    code.frame.used = used


def _known_extents(a: View, b: View, c: View) -> tuple[View, View, View]:
    """The factors and the target, each extent as well known as any operand knows it."""
    m = _known(a.shape[0], c.shape[0])
    n = _known(b.shape[1], c.shape[1])
    k = _known(a.shape[1], b.shape[0])
    return (
        View(a.element, a.pointer, (m, k), a.strides, a.name, a.local),
        View(b.element, b.pointer, (k, n), b.strides, b.name, b.local),
        View(c.element, c.pointer, (m, n), c.strides, c.name, c.local),
    )


def _known(a: Operand, b: Operand) -> Operand:
    return a if isinstance(a, int) else b
