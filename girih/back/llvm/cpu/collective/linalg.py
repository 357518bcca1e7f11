"""Collective linear algebra (`girih.ops.tile.linalg`), executed by one thread for the whole work-group.

Before anything is computed, it is checked that all memory is there, and that sizes agree that are known at run time
only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from girih.back.llvm.cpu.collective import elementwise, gemm, gemm_shared, sums
from girih.back.llvm.cpu.collective.aliasing import check_apart
from girih.back.llvm.cpu.collective.elements import Elements
from girih.back.llvm.cpu.collective.gemm_product import Product
from girih.back.llvm.cpu.collective.scaling import Scaling, scaling
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower import control
from girih.back.llvm.lower.collective.apart import OPERANDS
from girih.back.llvm.lower.collective.operands import check_shapes, factor, note_tf32, views_of
from girih.back.llvm.lower.collective.views import View, computing, known_extents
from girih.back.llvm.lower.lowerings import Lowerings
from girih.facts import remarks
from girih.ir.core import RegionKind
from girih.ops.tile.control import If, Yield
from girih.ops.tile.linalg import Axpby, Cumsum, Gemm, Gemv, Ger, Hadamard, Sum

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""


def _start(code: CpuCode, op: Any) -> tuple[Elements, Scaling, list[View]]:
    """The memory of the operands, checked, the target last; how to compute for it, and how results reach it."""
    names = OPERANDS[op.__class__]
    views = views_of(code, op, *names)
    target = views[-1]
    contract = code.contract and code.features.fma
    e = Elements(code.w, code.target, computing(target.element), contract, code.remarks.note)
    alpha, beta = (factor(code, op, name) for name in ("alpha", "beta"))
    end = scaling(e, target.element, alpha, beta, atomic=op.atomic, local=target.local)
    if end.one_by_one and target.shape:
        e.note(remarks.atomic(target.name))
    if isinstance(op, Gemm | Gemv | Ger):
        note_tf32(code, views[0].element, views[1].element)
    check_shapes(code, op, views)
    check_apart(code, op, names, views)
    return e, end, views


@LOWERINGS.of(Axpby)
def axpby(code: CpuCode, op: Axpby) -> None:
    """b := alpha op(a) + beta b."""
    e, end, (a, b) = _start(code, op)
    source = a.turned(op.transpose)
    elementwise.axpby(e, end, source, b)


@LOWERINGS.of(Hadamard)
def hadamard(code: CpuCode, op: Hadamard) -> None:
    """c := alpha a * b + beta c, entry by entry."""
    e, end, (a, b, c) = _start(code, op)
    elementwise.hadamard(e, end, a, b, c)


@LOWERINGS.of(Ger)
def ger(code: CpuCode, op: Ger) -> None:
    """c := alpha a b^T + beta c."""
    e, end, (a, b, c) = _start(code, op)
    elementwise.ger(e, end, a, b, c)


@LOWERINGS.of(Sum)
def sum_(code: CpuCode, op: Sum) -> None:
    """b := alpha op(a) 1 + beta b."""
    e, end, (a, b) = _start(code, op)
    if not b.shape:
        sums.total(e, end, a, b)
        return
    source = a.turned(op.transpose)
    with_piece(code, lambda piece: sums.matrix_vector(e, end, source, None, b, piece))


@LOWERINGS.of(Gemv)
def gemv(code: CpuCode, op: Gemv) -> None:
    """c := alpha op1(a) b + beta c."""
    e, end, (a, b, c) = _start(code, op)
    left = a.turned(op.transpose)
    with_piece(code, lambda piece: sums.matrix_vector(e, end, left, b, c, piece))


def with_piece(code: CpuCode, body: Callable[[Val], None]) -> None:
    """Call a body with workspace that is free again afterwards."""
    used = code.frame.used
    body(code.take(sums.PIECE_BYTES))
    code.frame.used = used


@LOWERINGS.of(Cumsum)
def cumsum(code: CpuCode, op: Cumsum) -> None:
    """b := alpha (cumulative sum of a along a mode) + beta b."""
    e, end, (a, b) = _start(code, op)
    sums.running(e, end, a, op.mode, b)


@LOWERINGS.of(Gemm)
def gemm_(code: CpuCode, op: Gemm) -> None:
    """c := alpha op1(a) op2(b) + beta c."""
    product = _product(code, op)
    used = code.frame.used
    if gemm_shared.has_many(code.function):
        gemm_shared.multiply(code, product)
    else:
        gemm.multiply(product)
    code.frame.used = used


def _product(code: CpuCode, op: Gemm) -> Product:
    e, end, (a, b, c) = _start(code, op)
    left, right = a.turned(op.transpose_a), b.turned(op.transpose_b)
    return Product(e, end, *known_extents(left, right, c), code.frame, code.workspace)


# --- products that differ in beta alone --------------------------------------------------------

CHOICES = Lowerings[CpuCode]()
"""The lowering of an `if`, in place of the one for all machines."""


@CHOICES.of(If)
def if_(code: CpuCode, op: If) -> None:
    """Lower an `if`: where both sides are one product, but for beta, straight code has it once, with two ends.

    The checks are those of both sides; what fails is told for the side that would have been executed.
    """
    pair = _alike(code, op)
    if pair is None:
        control.if_(code, op)
        return
    checks, code.checks = code.checks, False
    first, second = (_product(code, side) for side in pair)
    code.checks = checks
    if not gemm.may_end_twice(second):
        control.if_(code, op)
        return
    condition, used = code.scalar(op.condition).part, code.frame.used
    with _lowering(code, pair[1]):
        code.instead = (condition, pair[0])
        second = _product(code, pair[1])
        code.instead = None
        gemm.multiply(replace(second, otherwise=(condition, first.end)))
    code.frame.used = used


def _alike(code: CpuCode, op: If) -> tuple[Gemm, Gemm] | None:
    """The products that the sides of an `if` consist of, if they differ in nothing but beta; None otherwise."""
    if op.otherwise is None or op.results or code.place.kind is not RegionKind.COLLECTIVE:
        return None
    sides = [[inner for inner in region.ops if not isinstance(inner, Yield)] for region in (op.then, op.otherwise)]
    if any(len(side) != 1 for side in sides) or gemm_shared.has_many(code.function):
        return None
    (first,), (second,) = sides
    if not (isinstance(first, Gemm) and isinstance(second, Gemm)) or first.atomic or second.atomic:
        return None
    if first.span.source is not second.span.source:
        return None
    parts = ("alpha", "a", "b", "c", "transpose_a", "transpose_b")
    if any(getattr(first, part) != getattr(second, part) for part in parts):
        return None
    scalars = [code.scalar(held) for held in (op.condition, first.alpha, first.beta, second.beta)]
    memrefs = [code.memref(held) for held in (first.a, first.b, first.c)]
    shared = all(held.uniform for held in scalars) and all(held.uniform for held in memrefs)
    return (first, second) if shared and scalars[0].part.literal is None else None


@contextmanager
def _lowering(code: CpuCode, op: Gemm) -> Iterator[None]:
    """A context for code of an instruction inside of the one that is lowered."""
    before, code.w.location = code.w.location, code.debug.at(op.span)
    code.remarks.ops.append(op)
    yield
    code.remarks.ops.pop()
    code.w.location = before
