"""Functions of angles and hyperbolas as LLVM values of `float`, scalars or vectors (GLSL.std.450).

They are computed in `double` and rounded once, which leaves an error of little more than half a unit in the last place.
Where a formula in `double` would cancel, near 0, the first terms of the series stand instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.angles import sine_cosine
from girih.back.llvm.numbers.exponentials import exponential
from girih.back.llvm.numbers.floats import at_most, magnitude, pattern, polynomial, real, with_sign
from girih.back.llvm.numbers.logarithms import logarithm
from girih.back.llvm.numbers.rounding import round_to
from girih.ir.types import Number

# (atan(x) - x) / x^3 in powers of x^2 for x up to tan(pi / 8), by interpolation at Chebyshev's points.
_ATAN = (
    -0.33333333333266185,
    0.19999999949849326,
    -0.14285708109938391,
    0.1111081970495165,
    -0.09084101740859032,
    0.07604799026741442,
    -0.06027304220468312,
    0.03295675680311059,
)

# Taylor's series of each function less x, divided by x^3, in powers of x^2.
_SINH = (1 / 6, 1 / 120, 1 / 5040)
_ASINH = (-1 / 6, 3 / 40, -15 / 336)
_ATANH = (1 / 3, 1 / 5, 1 / 7)

_NEAR_ZERO = 2.0**-6
"""Below, the series are exact to 2^-46 or better."""


def function(w: Writer, features: Features, mnemonic: str, type: Number, a: Val) -> Val:
    """A function of one number of f16, bf16 or f32."""
    found = _FUNCTIONS[mnemonic](w, w.convert("fpext", a, "double"))
    return round_to(w, features, type, w.convert("fptrunc", found, "float"))


def arc_tangent_of_point(w: Writer, features: Features, type: Number, y: Val, x: Val) -> Val:
    """The angle of a point of f16, bf16 or f32."""
    found = _atan2(w, w.convert("fpext", y, "double"), w.convert("fpext", x, "double"))
    return round_to(w, features, type, w.convert("fptrunc", found, "float"))


def _tan(w: Writer, x: Val) -> Val:
    sine, cosine = sine_cosine(w, x, ("sin", "cos"), native=False)
    return w.binary("fdiv", sine, cosine)


def _atan2(w: Writer, y: Val, x: Val) -> Val:
    """The angle of a point: that of the smaller coordinate over the larger one, turned to where the point lies."""
    height, width = magnitude(w, y), magnitude(w, x)
    steep = w.compare("ogt", height, width)
    small, large = w.select(steep, width, height), w.select(steep, height, width)
    zero, one, infinity = real(0.0, x), real(1.0, x), real(math.inf, x)
    ratio = w.binary("fdiv", small, large)
    # Infinities are as far as each other, and zeros as near as any height to 0.
    ratio = w.select(w.compare("oeq", small, infinity), one, w.select(w.compare("oeq", large, zero), zero, ratio))
    angle = _short_atan(w, ratio)
    angle = w.select(steep, w.binary("fsub", real(math.pi / 2, x), angle), angle)
    word = pattern(w, x)
    behind = w.compare("slt", word, integer(0, word.type))
    angle = w.select(behind, w.binary("fsub", real(math.pi, x), angle), angle)
    angle = w.select(w.compare("uno", x, y), real(math.nan, x), angle)
    return with_sign(w, angle, y)


def _short_atan(w: Writer, x: Val) -> Val:
    """The arc tangent of a number from 0 to 1."""
    far = w.compare("ogt", x, real(math.tan(math.pi / 8), x))
    one = real(1.0, x)
    moved = w.binary("fdiv", w.binary("fsub", x, one), w.binary("fadd", x, one))
    near = w.select(far, moved, x)
    square = w.binary("fmul", near, near)
    angle = w.fma(w.binary("fmul", near, square), polynomial(w, square, _ATAN), near)
    return w.select(far, w.binary("fadd", angle, real(math.pi / 4, x)), angle)


def _atan(w: Writer, x: Val) -> Val:
    return _atan2(w, x, real(1.0, x))


def _side(w: Writer, x: Val) -> Val:
    """The other side of a right triangle with hypotenuse 1; NaN beyond."""
    one = real(1.0, x)
    return w.overloaded("sqrt", w.binary("fmul", w.binary("fsub", one, x), w.binary("fadd", one, x)))


def _asin(w: Writer, x: Val) -> Val:
    return _atan2(w, x, _side(w, x))


def _acos(w: Writer, x: Val) -> Val:
    return _atan2(w, _side(w, x), x)


def _with_series(w: Writer, x: Val, terms: tuple[float, ...], size: Val, far: Val) -> Val:
    """An odd function: its value for a size, and the series instead near 0."""
    square = w.binary("fmul", size, size)
    near = w.fma(w.binary("fmul", size, square), polynomial(w, square, terms), size)
    return with_sign(w, w.select(w.compare("olt", size, real(_NEAR_ZERO, x)), near, far), x)


def _half_powers(w: Writer, x: Val) -> tuple[Val, Val]:
    """Half of e^|x| and half of e^-|x|; beyond 700 all of them are infinite in `float`."""
    power = exponential(w, "exp", at_most(w, 700.0, magnitude(w, x)), native=False)
    half = real(0.5, x)
    return w.binary("fmul", power, half), w.binary("fdiv", half, power)


def _sinh(w: Writer, x: Val) -> Val:
    grown, shrunk = _half_powers(w, x)
    return _with_series(w, x, _SINH, magnitude(w, x), w.binary("fsub", grown, shrunk))


def _cosh(w: Writer, x: Val) -> Val:
    grown, shrunk = _half_powers(w, x)
    return w.binary("fadd", grown, shrunk)


def _asinh(w: Writer, x: Val) -> Val:
    size = magnitude(w, x)
    hypotenuse = w.overloaded("sqrt", w.fma(size, size, real(1.0, x)))
    return _with_series(w, x, _ASINH, size, logarithm(w, "log", w.binary("fadd", size, hypotenuse), native=False))


def _acosh(w: Writer, x: Val) -> Val:
    one = real(1.0, x)
    side = w.overloaded("sqrt", w.binary("fmul", w.binary("fsub", x, one), w.binary("fadd", x, one)))
    found = logarithm(w, "log", w.binary("fadd", x, side), native=False)
    # Below -1 the side is real again.
    return w.select(w.compare("oge", x, one), found, real(math.nan, x))


def _atanh(w: Writer, x: Val) -> Val:
    size, one = magnitude(w, x), real(1.0, x)
    ratio = w.binary("fdiv", w.binary("fadd", one, size), w.binary("fsub", one, size))
    far = w.binary("fmul", logarithm(w, "log", ratio, native=False), real(0.5, x))
    return _with_series(w, x, _ATANH, size, far)


_FUNCTIONS: dict[str, Callable[[Writer, Val], Val]] = {
    "tan": _tan,
    "asin": _asin,
    "acos": _acos,
    "atan": _atan,
    "sinh": _sinh,
    "cosh": _cosh,
    "asinh": _asinh,
    "acosh": _acosh,
    "atanh": _atanh,
}
