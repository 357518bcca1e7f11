"""Sums and products that are rounded once: to nearest in `float64`, or to odd, which may be rounded once more.

Rounded to odd: a result that is not exact is, of the two numbers beside it, the one whose last bit is 1.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests.back.nvptx.ptx_machine.types import Array

_SPLIT = 134217729.0
"""2**27 + 1, which splits a `float64` into halves (Dekker, 1971)."""
_LEAST, _MOST = 2.0**-480, 2.0**480
"""Numbers between these have products whose halves are normal and finite."""


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The sum, rounded to nearest, and what that lacks, exactly (Knuth)."""
    total = a + b
    rest = total - a
    return total, (a - (total - rest)) + (b - rest)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The product, rounded to nearest, and what that lacks, exactly where no part of it is too small."""
    product = a * b
    c, d = _SPLIT * a, _SPLIT * b
    a_high, b_high = c - (c - a), d - (d - b)
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def odd(total: Array, rest: Array) -> Array:
    """The sum of two numbers rounded to odd; `total` is that sum rounded to nearest, `rest` what it lacks."""
    even = (total.view(np.uint64) & 1) == 0
    inexact = even & (rest != 0) & np.isfinite(total)
    if not inexact.any():
        return total
    return np.where(inexact, np.nextafter(total, np.where(rest > 0, np.inf, -np.inf)), total)


def odd_sum(a: Array, b: Array) -> Array:
    """A sum rounded to odd."""
    return odd(*two_sum(a, b))


def odd_fma(a: Array, b: Array, c: Array) -> Array:
    """a b + c rounded to odd, where the product is exact in `float64`: of numbers of at most 26 bits each."""
    return odd_sum(a * b, c)


def odd_quotient(a: Array, b: Array) -> Array:
    """A quotient rounded to odd, of numbers of at most 24 bits whose quotient is neither too large nor too small."""
    quotient = a / b
    product, lost = two_product(quotient, b)
    rest = (a - product) - lost
    return odd(quotient, np.where(np.isfinite(rest) & (b != 0), rest * np.sign(b), 0.0))


def odd_root(a: Array) -> Array:
    """A square root rounded to odd, of numbers of at most 24 bits."""
    root = np.sqrt(a)
    product, lost = two_product(root, root)
    rest = (a - product) - lost
    return odd(root, np.where(np.isfinite(rest), rest, 0.0))


def fma(a: Array, b: Array, c: Array) -> Array:
    """a b + c in `float64`, rounded once to nearest.

    What is neither tiny nor huge: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008. The rest
    by fractions.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    high, low = two_product(a, b)
    first, second = two_sum(c, low)
    total, rest = two_sum(high, first)
    found = total + odd_sum(rest, second)
    sizes = [np.abs(one) for one in (a, b, c)]
    usual = np.ones(a.shape, bool)
    for size in sizes:
        usual &= (size > _LEAST) & (size < _MOST)
    if usual.all():
        return found
    special = ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c)) | (a == 0) | (b == 0)
    found = np.where(special, a * b + c, found)
    for place in np.flatnonzero(~usual & ~special):
        found[place] = _exactly(float(a[place]), float(b[place]), float(c[place]))
    return found


def _exactly(a: float, b: float, c: float) -> float:
    value = Fraction(a) * Fraction(b) + Fraction(c)
    if value == 0:
        # PTX ISA follows IEEE 754: an exact zero is positive, but for the sum of two negative zeros.
        return 0.0
    return nearest(value)


def nearest(value: Fraction) -> float:
    """A number in `float64`, rounded to nearest."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
