"""The operands of collective linear algebra (`girih.ops.tile.linalg`), checked as far as any machine checks them.

All memory is there, the work-items share it and the factors, and sizes agree that are known at run time only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from girih.back.llvm.emit.text import Operand, integer
from girih.back.llvm.lower.access import check_null, shared_memref
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.collective.views import View, view
from girih.back.llvm.numbers.addresses import as_scalar
from girih.back.llvm.numbers.values import Scalar, index
from girih.facts import findings, remarks
from girih.ir.core import Op
from girih.ir.types import F32, Number, promote
from girih.ops.tile.linalg import Axpby, Cumsum, Gemm, Gemv, Ger, Hadamard, Sum

Extents = Sequence[Operand]
Agreement = tuple[Extents, Extents, str]
"""Two shapes that agree, and the words for the finding that they do not."""


def views_of(code: KernelCode, op: Any, *names: str) -> list[View]:
    """The memory of operands that are memrefs, which must not be missing."""
    views = []
    for name in names:
        held = shared_memref(code, op, name, code.memref(getattr(op, name)))
        check_null(code, op, held)
        views.append(view(code.w, held))
    return views


def factor(code: KernelCode, op: Any, name: str) -> Scalar:
    """The factor alpha or beta, which the work-items share."""
    held = code.scalar(getattr(op, name))
    return Scalar(held.type, code.agreed(op, name, held))


_CONSTANTS = {
    0: frozenset({"0", "0x0000000000000000", "0x8000000000000000"}),
    1: frozenset({"1", "0x3FF0000000000000"}),
}


def is_constantly(held: Scalar, value: int) -> bool:
    """Whether a factor is known to be 0 or 1."""
    real, *imaginary = held.parts
    return real.text in _CONSTANTS[value] and all(p.text in _CONSTANTS[0] for p in imaginary)


def note_tf32(code: KernelCode, a: Number, b: Number) -> None:
    """Remark on a product of factors of these types, which might be computed in tf32 and is not."""
    if "tf32" in code.function.permissions and promote(a, b) == F32 and F32 in (a, b):
        entry = code.function.attributes.entry("allow")
        code.remarks.note(remarks.tf32(), entry.span if entry else None)


# --- shapes ------------------------------------------------------------------------------------


def check_shapes(code: KernelCode, op: Op, views: Sequence[View]) -> None:
    """Find sizes of operands that do not agree, as far as they are not known to; the target is the last one."""
    w = code.w
    for left, right, differ in _AGREEMENTS[op.__class__](op, *views):
        bad = integer(0, "i1")
        for a, b in zip(left, right, strict=True):
            bad = w.binary("or", bad, w.compare("ne", a, b))
        mine, other = ([_as_index(n) for n in row] for row in (left, right))
        code.check(op, bad, findings.shapes(op, differ), argument=views[-1].name, index=mine, shape=other)


def _as_index(held: Operand) -> int | Scalar:
    return held if isinstance(held, int) else as_scalar(index(held))


def _axpby(op: Axpby, a: View, b: View) -> list[Agreement]:
    return [(a.turned(op.transpose).shape, b.shape, findings.TURNED_A_AND_B)]


def _cumsum(op: Cumsum, a: View, b: View) -> list[Agreement]:
    return [(a.shape, b.shape, findings.A_AND_B)]


def _sum(op: Sum, a: View, b: View) -> list[Agreement]:
    if not b.shape:
        return []
    return [(a.turned(op.transpose).shape[:1], b.shape, findings.ROWS_AND_B)]


def _gemm(op: Gemm, a: View, b: View, c: View) -> list[Agreement]:
    (m, k), (depth, n) = a.turned(op.transpose_a).shape, b.turned(op.transpose_b).shape
    return [((k,), (depth,), findings.COLUMNS_AND_ROWS), ((m, n), c.shape, findings.PRODUCT_AND_C)]


def _gemv(op: Gemv, a: View, b: View, c: View) -> list[Agreement]:
    m, k = a.turned(op.transpose).shape
    return [((k,), b.shape, findings.COLUMNS_AND_B), ((m,), c.shape, findings.ROWS_AND_C)]


def _ger(op: Ger, a: View, b: View, c: View) -> list[Agreement]:
    return [((*a.shape, *b.shape), c.shape, findings.OUTER_PRODUCT_AND_C)]


def _hadamard(op: Hadamard, a: View, b: View, c: View) -> list[Agreement]:
    return [(a.shape, b.shape, findings.A_AND_B), (a.shape, c.shape, findings.A_AND_C)]


_AGREEMENTS: dict[type[Op], Callable[..., list[Agreement]]] = {
    Axpby: _axpby,
    Cumsum: _cumsum,
    Sum: _sum,
    Gemm: _gemm,
    Gemv: _gemv,
    Ger: _ger,
    Hadamard: _hadamard,
}
"""The shapes that agree, by instruction."""
