"""The types that sums are kept in (003 "GEMM", "Sum", "Cumsum", "Cooperative matrix mul add", "... reduce")."""

from __future__ import annotations

from girih.ir.types import BF16, F16, F32, Number


def accumulator(type: Number) -> Number:
    """The type in which numbers of a type are summed: f32 for f16 and bf16, otherwise the type itself."""
    return F32 if type in (F16, BF16) else type


def product_accumulator(source: Number, target: Number) -> Number:
    """The type of the sums in a b + c: that of c, or of the result where it holds more of the same family."""
    c, result = accumulator(source), accumulator(target)
    return result if c.family == result.family and result.size > c.size else c
