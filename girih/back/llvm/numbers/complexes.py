"""Complex multiplication, division and absolute value on LLVM values, scalars or vectors.

Guarantees: the formulas of NumPy, each operation rounded. Division is Smith's (1962), and division by zero gives
infinities or NaN; the absolute value neither overflows nor underflows before its result does, and is infinite where a
part is, even if the other one is NaN.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, floating, integer, scalar
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.floats import as_float, magnitude, pattern

Parts = tuple[Val, ...]


def complex_multiply(w: Writer, a: Parts, b: Parts) -> Parts:
    """The product of two complex numbers."""
    real = w.binary("fsub", w.binary("fmul", a[0], b[0]), w.binary("fmul", a[1], b[1]))
    imaginary = w.binary("fadd", w.binary("fmul", a[0], b[1]), w.binary("fmul", a[1], b[0]))
    return real, imaginary


def complex_divide(w: Writer, a: Parts, b: Parts) -> Parts:
    """The quotient of two complex numbers."""
    type = a[0].type
    real_size, imaginary_size = magnitude(w, b[0]), magnitude(w, b[1])
    real_larger = w.compare("oge", real_size, imaginary_size)
    large, small = w.select(real_larger, b[0], b[1]), w.select(real_larger, b[1], b[0])
    first, second = w.select(real_larger, a[0], a[1]), w.select(real_larger, a[1], a[0])
    ratio = w.binary("fdiv", small, large)
    scale = w.binary("fdiv", floating(1.0, type), w.binary("fadd", large, w.binary("fmul", small, ratio)))
    real = w.binary("fadd", first, w.binary("fmul", second, ratio))
    turned = w.binary("fmul", first, ratio)
    imaginary = w.select(real_larger, w.binary("fsub", second, turned), w.binary("fsub", turned, second))
    # By zero: infinity times the dividend is its quotient by +0.
    zero = w.binary("and", real_larger, w.compare("oeq", real_size, floating(0.0, type)))
    infinite = [w.binary("fmul", x, floating(float("inf"), type)) for x in a]
    scaled = [w.binary("fmul", x, scale) for x in (real, imaginary)]
    return tuple(w.select(zero, x, y) for x, y in zip(infinite, scaled, strict=True))


def complex_abs(w: Writer, real: Val, imaginary: Val) -> Val:
    """The absolute value of a complex number."""
    x, y = magnitude(w, real), magnitude(w, imaginary)
    infinity = floating(float("inf"), x.type)
    infinite = w.binary("or", w.compare("oeq", x, infinity), w.compare("oeq", y, infinity))
    if scalar(x.type) == "float":
        # The squares of f32 fit f64.
        length = w.convert("fptrunc", _root(w, *(w.convert("fpext", one, "double") for one in (x, y))), "float")
    else:
        length = _scaled_root(w, x, y)
    return w.select(infinite, infinity, length)


def _root(w: Writer, x: Val, y: Val) -> Val:
    return w.overloaded("sqrt", w.binary("fadd", w.binary("fmul", x, x), w.binary("fmul", y, y)))


def _scaled_root(w: Writer, x: Val, y: Val) -> Val:
    """The length of a vector of doubles, scaled by a power of two that makes the larger one about 1."""
    larger = w.larger(pattern(w, x), pattern(w, y))
    one = integer(1 << 52, larger.type)
    exponent = w.larger(w.binary("and", larger, integer(0x7FF << 52, larger.type)), one)
    exponent = w.smaller(exponent, integer(2045 << 52, larger.type))
    up = as_float(w, w.sub(integer(2046 << 52, larger.type), exponent), "double")
    back = as_float(w, exponent, "double")
    return w.binary("fmul", _root(w, w.binary("fmul", x, up), w.binary("fmul", y, up)), back)
