"""Shared parts of code for floating-point numbers, scalars or vectors: their bits, constants, polynomials."""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, bits, floating, lanes, wide
from girih.back.llvm.emit.writer import Writer


def pattern(w: Writer, a: Val) -> Val:
    """The bits of floats as integers of their size."""
    return w.convert("bitcast", a, wide(f"i{bits(a.type)}", lanes(a.type)))


def as_float(w: Writer, a: Val, type: str) -> Val:
    """The floats with the bits of integers; `type` names the element type."""
    return w.convert("bitcast", a, wide(type, lanes(a.type)))


def is_nan(w: Writer, a: Val) -> Val:
    """The condition that a float is NaN."""
    return w.compare("uno", a, a)


def magnitude(w: Writer, a: Val) -> Val:
    """The absolute value of floats."""
    return w.overloaded("fabs", a)


def negative(w: Writer, a: Val) -> Val:
    """Floats with the opposite sign."""
    return w.negative(a)


def real(value: float, like: Val) -> Val:
    """A constant of the floating type of a value, rounded to it."""
    return floating(value, like.type)


def polynomial(w: Writer, x: Val, coefficients: Sequence[float]) -> Val:
    """The value of c[0] + c[1] x + c[2] x^2 + ... by Horner's rule, with a fused multiplication for each power."""
    held = real(coefficients[-1], x)
    for one in reversed(coefficients[:-1]):
        held = w.fma(held, x, real(one, x))
    return held
