"""The formats of the floating types, and Python's numbers rounded to them; nothing here depends on NumPy."""

from __future__ import annotations

import math
from fractions import Fraction

from girih.ir.types import BF16, F8E4M3, F8E5M2, F16, F32, F64, Number
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A floating type: bits of its significand, the exponents of its smallest and largest normal numbers.

    `largest` is its largest finite number; `infinite` says whether there are infinities.
    """

    precision: int
    least_exponent: int
    largest_exponent: int
    largest: float
    infinite: bool = True


def _of_ieee(precision: int, exponent: int) -> FloatFormat:
    return FloatFormat(precision, 1 - exponent, exponent, math.ldexp(2.0 - 2.0 ** (1 - precision), exponent))


FORMATS = {
    # OCP 8-bit Floating Point Specification (OFP8) 1.0, table 1: E4M3 has one NaN of each sign, and no infinity.
    F8E4M3: FloatFormat(4, -6, 8, 448.0, infinite=False),
    F8E5M2: _of_ieee(3, 15),
    BF16: _of_ieee(8, 127),
    F16: _of_ieee(11, 15),
    F32: _of_ieee(24, 127),
    F64: _of_ieee(53, 1023),
}
"""The format of every floating type."""


def rounded(value: int | float, type: Number) -> float:
    """A number rounded once to a floating type, to nearest even; infinity if it is too large, NaN as it is."""
    if isinstance(value, float) and (value == 0 or not math.isfinite(value)):
        return value
    exact = Fraction(value)
    if exact == 0:
        return 0.0
    format = FORMATS[type]
    exponent = max(_exponent(abs(exact)), format.least_exponent)
    unit = Fraction(2) ** (exponent - format.precision + 1)
    # Python rounds fractions half to even.
    nearest = round(exact / unit) * unit
    if abs(nearest) > Fraction(format.largest):
        return math.copysign(math.inf, exact)
    return math.copysign(float(nearest), exact)


def _exponent(positive: Fraction) -> int:
    """The exponent e of a positive x with 2^e <= x < 2^(e + 1)."""
    guess = positive.numerator.bit_length() - positive.denominator.bit_length()
    return guess if positive >= Fraction(2) ** guess else guess - 1


EIGHT_BIT_NAN = {F8E4M3: 0x7F, F8E5M2: 0x7E}
"""The NaN that casts to the types of eight bits give, without its sign."""


def eight_bits(value: float, type: Number, *, saturated: bool = True) -> int:
    """The bits, 0 to 255, of a number in `f8e4m3` or `f8e5m2`, rounded to nearest even.

    What is too large becomes the largest number, as in a cast; unless `saturated`, an infinity if there is one.
    """
    sign = 0x80 if math.copysign(1.0, value) < 0 else 0
    if math.isnan(value):
        return sign | EIGHT_BIT_NAN[type]
    format = FORMATS[type]
    magnitude = abs(rounded(value, type))
    infinite = math.isinf(magnitude)
    if infinite:
        magnitude = format.largest
    exponent = max(_exponent(Fraction(magnitude)), format.least_exponent) if magnitude else format.least_exponent
    steps = int(math.ldexp(magnitude, format.precision - 1 - exponent))
    bits = (exponent - format.least_exponent << format.precision - 1) + steps
    # The infinity comes right after the largest number.
    return sign | bits + (infinite and format.infinite and not saturated)
