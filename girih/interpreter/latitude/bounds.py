"""How far results may be from the exact ones (Vulkan "Precision of Individual Operations").

A function's bound is a number of ulps, an absolute error, or what is inherited from a formula: then the formula is
evaluated on ranges of f64, in which each step goes as far as its own bound. Doubles are at least as precise as singles:
they have the bounds of singles. What is out of the range for which a bound is given has that bound as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from girih.interpreter.machine.values import Array
from girih.ir.types import F16, F32, F64, Number
from girih.lazy_dataclass import dataclass


class Range(NamedTuple):
    """Numbers of f64 between which a result lies."""

    low: Array
    high: Array


@dataclass(frozen=True, slots=True)
class Precision:
    """What Vulkan's tables say of one type: the bits of its fractions and its smallest exponent, and its bounds."""

    bits: int
    least: int
    exponential: float
    near_one: float
    angle: float
    arc: float


_SINGLE = Precision(24, -126, 3.0, 2.0**-21, 2.0**-11, 4096.0)
PRECISIONS: Mapping[Number, Precision] = {
    F16: Precision(11, -14, 1.0, 2.0**-7, 2.0**-7, 5.0),
    F32: _SINGLE,
    F64: Precision(24, -1022, 3.0, 2.0**-21, 2.0**-11, 4096.0),
}
"""By type; Vulkan says nothing of bf16, whose operations are those of f32."""


def ulp(x: Array, type: Number) -> Array:
    """The distance of the floats between which a number lies, in a type's precision; of a float the smaller one."""
    precision = PRECISIONS[type]
    fraction, exponent = np.frexp(x)
    exponent = np.where(np.absolute(fraction) == 0.5, exponent - 2, exponent - 1)
    units: Array = np.ldexp(1.0, np.maximum(exponent, precision.least) - (precision.bits - 1))
    return units


@dataclass(frozen=True, slots=True)
class Formulas:
    """The operations of formulas on ranges, in the precision of a type."""

    type: Number

    @property
    def precision(self) -> Precision:
        return PRECISIONS[self.type]

    def wider(self, x: Range, ulps: Array | float) -> Range:
        return Range(x.low - ulps * ulp(x.low, self.type), x.high + ulps * ulp(x.high, self.type))

    def number(self, x: float) -> Range:
        return Range(np.asarray(x), np.asarray(x))

    def add(self, x: Range, y: Range) -> Range:
        """A sum rounded to either neighbour, which is less than one ulp off."""
        return self.wider(Range(x.low + y.low, x.high + y.high), 1.0)

    def negative(self, x: Range) -> Range:
        return Range(-x.high, -x.low)

    def sub(self, x: Range, y: Range) -> Range:
        return self.add(x, self.negative(y))

    def mul(self, x: Range, y: Range) -> Range:
        return self.wider(_of_corners(np.multiply, x, y), 1.0)

    def div(self, x: Range, y: Range) -> Range:
        """A quotient; NaN where the divisor may be 0, for then the result may be anything."""
        corners = _of_corners(np.divide, x, y)
        nothing = (y.low <= 0) & (y.high >= 0)
        found = Range(np.where(nothing, np.nan, corners.low), np.where(nothing, np.nan, corners.high))
        return self.wider(found, 2.5)

    def rsqrt(self, x: Range) -> Range:
        return self.wider(Range(1.0 / np.sqrt(x.high), 1.0 / np.sqrt(x.low)), 2.0)

    def sqrt(self, x: Range) -> Range:
        return self.div(self.number(1.0), self.rsqrt(x))

    def exp(self, x: Range) -> Range:
        return self._exponential(np.exp, x)

    def exp2(self, x: Range) -> Range:
        return self._exponential(np.exp2, x)

    def _exponential(self, function: Callable[[Array], Array], x: Range) -> Range:
        ulps = self.precision.exponential + 2.0 * np.maximum(np.absolute(x.low), np.absolute(x.high))
        return self.wider(Range(function(x.low), function(x.high)), ulps)

    def log(self, x: Range) -> Range:
        return self._logarithm(np.log, x)

    def log2(self, x: Range) -> Range:
        return self._logarithm(np.log2, x)

    def _logarithm(self, function: Callable[[Array], Array], x: Range) -> Range:
        """3 ulp, and around 1 less than an absolute error."""
        low, high = function(x.low), function(x.high)
        # Less than the bound, which no float of the precision comes nearer to than this.
        near = self.precision.near_one * (1.0 - 2.0**-24)
        errors = [
            np.where((end >= 0.5) & (end <= 2.0), near, 3.0 * ulp(value, self.type))
            for end, value in ((x.low, low), (x.high, high))
        ]
        return Range(low - errors[0], high + errors[1])

    def power(self, x: Range, y: Range) -> Range:
        return self.exp2(self.mul(y, self.log2(x)))

    def sin(self, x: Range) -> Range:
        return self._angle(np.sin, x)

    def cos(self, x: Range) -> Range:
        return self._angle(np.cos, x)

    def _angle(self, function: Callable[[Array], Array], x: Range) -> Range:
        """The function of a number; no formula takes it of a range."""
        value = function(x.low)
        return Range(value - self.precision.angle, value + self.precision.angle)

    def tan(self, x: Range) -> Range:
        return self.div(self.sin(x), self.cos(x))

    def atan(self, x: Range) -> Range:
        return self.wider(Range(np.arctan(x.low), np.arctan(x.high)), self.precision.arc)

    def atan2(self, y: Range, x: Range) -> Range:
        return self.wider(_of_corners(np.arctan2, y, x), self.precision.arc)

    def leg(self, x: Range) -> Range:
        """The root of 1 - x x."""
        return self.sqrt(self.sub(self.number(1.0), self.mul(x, x)))

    def asin(self, x: Range) -> Range:
        return self.atan2(x, self.leg(x))

    def acos(self, x: Range) -> Range:
        return self.atan2(self.leg(x), x)

    def sinh(self, x: Range) -> Range:
        return self.mul(self.sub(self.exp(x), self.exp(self.negative(x))), self.number(0.5))

    def cosh(self, x: Range) -> Range:
        return self.mul(self.add(self.exp(x), self.exp(self.negative(x))), self.number(0.5))

    def tanh(self, x: Range) -> Range:
        return self.div(self.sinh(x), self.cosh(x))

    def asinh(self, x: Range) -> Range:
        return self.log(self.add(x, self.sqrt(self.add(self.mul(x, x), self.number(1.0)))))

    def acosh(self, x: Range) -> Range:
        return self.log(self.add(x, self.sqrt(self.sub(self.mul(x, x), self.number(1.0)))))

    def atanh(self, x: Range) -> Range:
        ratio = self.div(self.add(self.number(1.0), x), self.sub(self.number(1.0), x))
        return self.mul(self.log(ratio), self.number(0.5))

    def rem(self, x: Range, y: Range) -> Range:
        quotient = self.div(x, y)
        return self.sub(x, self.mul(y, Range(np.trunc(quotient.low), np.trunc(quotient.high))))


def _of_corners(function: Callable[[Array, Array], Array], x: Range, y: Range) -> Range:
    """A function that is monotonic in each operand, of two ranges."""
    corners = [function(a, b) for a in x for b in y]
    return Range(np.minimum.reduce(corners), np.maximum.reduce(corners))


Formula = Callable[..., Range]

FORMULAS: Mapping[str, Formula] = {
    "div": Formulas.div,
    "rem": Formulas.rem,
    "sqrt": Formulas.sqrt,
    "rsqrt": Formulas.rsqrt,
    "exp": Formulas.exp,
    "exp2": Formulas.exp2,
    "log": Formulas.log,
    "log2": Formulas.log2,
    "pow": Formulas.power,
    "sin": Formulas.sin,
    "cos": Formulas.cos,
    "tan": Formulas.tan,
    "asin": Formulas.asin,
    "acos": Formulas.acos,
    "atan": Formulas.atan,
    "atan2": Formulas.atan2,
    "sinh": Formulas.sinh,
    "cosh": Formulas.cosh,
    "tanh": Formulas.tanh,
    "asinh": Formulas.asinh,
    "acosh": Formulas.acosh,
    "atanh": Formulas.atanh,
}
"""The bounds of the instructions that are not rounded correctly, by mnemonic."""


def _reciprocal_root(x: Array) -> Array:
    root: Array = 1.0 / np.sqrt(x)
    return root


EXACT: Mapping[str, Callable[..., Array]] = {
    "div": np.divide,
    "rem": np.fmod,
    "sqrt": np.sqrt,
    "rsqrt": _reciprocal_root,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "pow": np.power,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}
"""The same instructions on f64, where they are far more precise than their bounds."""


def largest_errors(mnemonic: str, operands: Sequence[Array], exact: Array, type: Number) -> Array:
    """How far from the exact results, in f64, an instruction's results may be; 0 where nothing is open.

    Exact are results that are 0, infinite or NaN, and those whose formula has no meaning: Vulkan allows anything there.
    """
    ranges = [Range(operand, operand) for operand in operands]
    low, high = FORMULAS[mnemonic](Formulas(type), *ranges)
    error = np.maximum(np.absolute(exact - low), np.absolute(exact - high))
    plain = np.isfinite(exact) & (exact != 0) & np.isfinite(error)
    found: Array = np.where(plain, error, 0.0)
    return found
