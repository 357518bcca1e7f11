"""Shared parts of code for floating-point numbers, scalars or vectors: their bits, constants, polynomials."""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, bits, floating, integer, lanes, scalar, wide
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


def at_most(w: Writer, bound: float, x: Val) -> Val:
    """The smaller one of floats and a bound. NaN stays NaN: this is what a single instruction of x86 does."""
    top = real(bound, x)
    return w.select(w.compare("olt", top, x), top, x)


def at_least(w: Writer, bound: float, x: Val) -> Val:
    """The larger one of floats and a bound; NaN stays NaN."""
    bottom = real(bound, x)
    return w.select(w.compare("ogt", bottom, x), bottom, x)


def with_sign(w: Writer, size: Val, x: Val) -> Val:
    """Floats of some sizes with the signs of others."""
    return w.overloaded("copysign", size, x)


def sum_to_odd(w: Writer, a: Val, b: Val) -> Val:
    """The sum whose last bit is set if others were lost, so that rounding again, to fewer bits, is right."""
    total = w.binary("fadd", a, b)
    other = w.binary("fsub", total, a)
    lost = w.binary("fsub", a, w.binary("fsub", total, other))
    lost = w.binary("fadd", lost, w.binary("fsub", b, other))
    word = pattern(w, total)
    # A step towards the true sum, 1 or -1, from an even one.
    apart = w.binary("xor", word, pattern(w, lost))
    step = w.binary("or", w.binary("ashr", apart, integer(bits(a.type) - 1, word.type)), integer(1, word.type))
    even = w.compare("eq", w.binary("and", word, integer(1, word.type)), integer(0, word.type))
    inexact = w.compare("one", lost, real(0.0, lost))
    odd = w.select(w.binary("and", even, inexact), w.add(word, step), word)
    return as_float(w, odd, scalar(a.type))


def polynomial(w: Writer, x: Val, coefficients: Sequence[float]) -> Val:
    """The value of c[0] + c[1] x + c[2] x^2 + ... by Horner's rule, with a fused multiplication for each power."""
    held = real(coefficients[-1], x)
    for one in reversed(coefficients[:-1]):
        held = w.fma(held, x, real(one, x))
    return held
