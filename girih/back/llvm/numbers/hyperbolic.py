"""The hyperbolic tangent as LLVM values of `float` or `double`, scalars or vectors, real and complex.

With E = e^(2 |x|) - 1, which is exact to its last bits also where it is small, tanh |x| = E / (E + 2): never beyond 1,
and odd, since the sign is put back last. Far out, where E would be too large, x is cut off.
"""

from __future__ import annotations

import math

from girih.back.llvm.emit.text import Val, scalar
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.angles import sine_cosine
from girih.back.llvm.numbers.exponentials import exponential, exponential_minus_one
from girih.back.llvm.numbers.floats import at_most, magnitude, real, with_sign

_ONE_FROM = {"float": 10.0, "double": 20.0}
"""From here on the hyperbolic tangent rounds to 1."""

_APART = 25.0
"""From here on the hyperbolic sine and cosine do not differ, and outgrow any cosine."""


def hyperbolic_tangent(w: Writer, x: Val) -> Val:
    """The hyperbolic tangent of a real number."""
    size = at_most(w, _ONE_FROM[scalar(x.type)], magnitude(w, x))
    grown = exponential_minus_one(w, w.binary("fadd", size, size))
    return with_sign(w, w.binary("fdiv", grown, w.binary("fadd", grown, real(2.0, x))), x)


def complex_tangent(w: Writer, x: Val, y: Val) -> tuple[Val, Val]:
    """The hyperbolic tangent of x + iy, of doubles, with C's special values (C11 G.6.2.6).

    It is (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y), where nothing cancels.
    """
    size = magnitude(w, x)
    near = at_most(w, _APART, size)
    sine, cosine = _hyperbolic(w, near)
    turned_cosine, turned_sine = sine_cosine(w, y, ("cos", "sin"), native=False)
    divisor = w.fma(turned_cosine, turned_cosine, w.binary("fmul", sine, sine))
    first = w.binary("fdiv", w.binary("fmul", sine, cosine), divisor)
    second = w.binary("fdiv", w.binary("fmul", turned_sine, turned_cosine), divisor)
    beyond = w.binary("fmul", w.binary("fsub", near, size), real(2.0, x))
    second = w.binary("fmul", second, exponential(w, "exp", beyond, native=False))
    return _with_special(w, x, y, size, first, second)


def _hyperbolic(w: Writer, x: Val) -> tuple[Val, Val]:
    """Hyperbolic sine and cosine of a number that is not negative."""
    grown = exponential_minus_one(w, x)
    power = w.binary("fadd", grown, real(1.0, x))
    inverse = w.binary("fdiv", real(1.0, x), power)
    half = real(0.5, x)
    sine = w.fma(w.binary("fmul", grown, inverse), half, w.binary("fmul", grown, half))
    return sine, w.fma(inverse, half, w.binary("fmul", power, half))


def _with_special(w: Writer, x: Val, y: Val, size: Val, first: Val, second: Val) -> tuple[Val, Val]:
    """The parts of a result, where they are not what the formula gives, and with their signs."""
    zero, one, infinity = real(0.0, x), real(1.0, x), real(math.inf, x)
    # The difference is 0 where y is finite, otherwise NaN.
    calm = w.binary("fsub", y, y)
    endless = w.compare("oeq", size, infinity)
    first = w.select(w.compare("oge", size, real(_ONE_FROM["double"], x)), w.binary("fadd", one, calm), first)
    first = w.select(endless, one, w.select(w.compare("oeq", x, zero), zero, first))
    lost = w.binary("and", endless, w.compare("uno", calm, calm))
    second = w.select(lost, with_sign(w, zero, y), second)
    return with_sign(w, first, x), w.select(w.compare("oeq", y, zero), y, second)
