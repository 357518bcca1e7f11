"""Square roots as LLVM values, scalars or vectors, real and complex.

The root of f16 or bf16 through that of `float` is correctly rounded: `float` has more than twice the bits.
"""

from __future__ import annotations

import math

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.floats import as_float, magnitude, pattern, real, with_sign


def root(w: Writer, x: Val) -> Val:
    """The square root, correctly rounded; NaN below zero."""
    return w.overloaded("sqrt", x)


def reciprocal_root(w: Writer, x: Val) -> Val:
    """1 divided by the square root, within 2 ulp: both operations are rounded."""
    return w.binary("fdiv", real(1.0, x), root(w, x))


def complex_root(w: Writer, x: Val, y: Val) -> tuple[Val, Val]:
    """The square root of x + iy, of doubles, with C's special values (C11 G.6.4.2).

    With both parts scaled by a power of 4, so that the larger one is about 1, one part of the root of a number to the
    right is sqrt((|z| + |x|) / 2) = r, and the other y / 2 r. To the left they are swapped.
    """
    width, height = magnitude(w, x), magnitude(w, y)
    up, back, halfway = _scales(w, width, height)
    across, along = w.binary("fmul", width, up), w.binary("fmul", height, up)
    length = root(w, w.fma(across, across, w.binary("fmul", along, along)))
    short = root(w, w.binary("fmul", w.binary("fadd", length, across), real(0.5, x)))
    first = w.binary("fmul", short, back)
    # The power of 2 goes to the dividend, which may be far smaller than the other part.
    second = w.binary("fdiv", w.binary("fmul", height, halfway), w.binary("fadd", short, short))
    infinity, zero = real(math.inf, x), real(0.0, x)
    wide, high = w.compare("oeq", width, infinity), w.compare("oeq", height, infinity)
    first = w.select(w.binary("or", wide, high), infinity, first)
    second = w.select(high, infinity, w.select(w.compare("oeq", short, zero), zero, second))
    left = w.compare("olt", x, zero)
    return w.select(left, second, first), with_sign(w, w.select(left, first, second), y)


def _scales(w: Writer, width: Val, height: Val) -> tuple[Val, Val, Val]:
    """The power 2^-2k that makes the larger one of two sizes about 1, and 2^k and 2^-k."""
    larger = w.larger(pattern(w, width), pattern(w, height))
    exponent = w.binary("lshr", larger, integer(52, larger.type))
    exponent = w.smaller(w.larger(exponent, integer(1, larger.type)), integer(2045, larger.type))
    bias, one = integer(1023, larger.type), integer(1, larger.type)
    half = w.binary("ashr", w.sub(exponent, bias), one)
    powers = (w.sub(bias, w.add(half, half)), w.add(bias, half), w.sub(bias, half))
    up, back, halfway = (as_float(w, w.binary("shl", p, integer(52, p.type)), "double") for p in powers)
    return up, back, halfway
