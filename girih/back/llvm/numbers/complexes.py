"""Complex multiplication, division and absolute value on LLVM values, scalars or vectors.

Guarantees: the results of the interpreter, to the last bit; each operation is rounded. Division is Smith's (1962), and
division by zero gives infinities or NaN; the absolute value is within 1 ulp, neither overflows nor underflows before
its result does, and is infinite where a part is, even if the other one is NaN.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, floating, integer, scalar
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.floats import as_float, magnitude, negative, pattern

Parts = tuple[Val, ...]


def complex_multiply(w: Writer, a: Parts, b: Parts, flag: str = "") -> Parts:
    """The product of two complex numbers; the flag is that of its products and sums."""
    add, subtract, multiply = (opcode + flag for opcode in ("fadd", "fsub", "fmul"))
    real = w.binary(subtract, w.binary(multiply, a[0], b[0]), w.binary(multiply, a[1], b[1]))
    imaginary = w.binary(add, w.binary(multiply, a[0], b[1]), w.binary(multiply, a[1], b[0]))
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
        length = w.convert("fptrunc", _root(w, *(w.convert("fpext", part, "double") for part in (x, y))), "float")
    else:
        length = _scaled_length(w, x, y)
    return w.select(infinite, infinity, length)


def _root(w: Writer, x: Val, y: Val) -> Val:
    return w.overloaded("sqrt", w.binary("fadd", w.binary("fmul", x, x), w.binary("fmul", y, y)))


def _scaled_length(w: Writer, x: Val, y: Val) -> Val:
    """The length of a vector of doubles, scaled by a power of two that makes the larger one about 1."""
    x_bits, y_bits = pattern(w, x), pattern(w, y)
    larger, smaller = w.larger(x_bits, y_bits), w.smaller(x_bits, y_bits)
    one = integer(1 << 52, larger.type)
    exponent = w.larger(w.binary("and", larger, integer(0x7FF << 52, larger.type)), one)
    exponent = w.smaller(exponent, integer(2045 << 52, larger.type))
    up = as_float(w, w.sub(integer(2046 << 52, larger.type), exponent), "double")
    back = as_float(w, exponent, "double")
    large, small = (w.binary("fmul", as_float(w, part, "double"), up) for part in (larger, smaller))
    return w.binary("fmul", _length(w, large, small), back)


def _length(w: Writer, x: Val, y: Val) -> Val:
    """The length of a vector, x >= y; a Newton step corrects the rounding of the sum and of its root."""
    x_square, y_square = w.binary("fmul", x, x), w.binary("fmul", y, y)
    total = w.binary("fadd", x_square, y_square)
    root = w.overloaded("sqrt", total)
    lost = w.binary("fadd", w.binary("fsub", x_square, total), y_square)
    lost = w.binary("fadd", _lost_by_square(w, x, x_square), w.binary("fadd", _lost_by_square(w, y, y_square), lost))
    rest = w.binary("fadd", w.fma(negative(w, root), root, total), lost)
    zero = w.compare("oeq", root, floating(0.0, root.type))
    step = w.binary("fdiv", rest, w.binary("fadd", root, root))
    return w.select(zero, root, w.binary("fadd", root, step))


def _lost_by_square(w: Writer, x: Val, square: Val) -> Val:
    return w.fma(x, x, negative(w, square))
