"""Functions to more digits than f64, by which others are judged.

They take and give NumPy's longdouble, whose 64 bits of significand are the least that `needs_more_than_f64` asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

Array = NDArray[Any]

needs_more_than_f64 = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant <= 52, reason="NumPy's longdouble is no wider than f64 here"
)


def error_function(x: Array) -> Array:
    """The error function: e^(-x^2) times a series of positive terms, which loses nothing."""
    size = np.minimum(np.abs(x), np.longdouble(7))
    twice = 2 * size * size
    term, total = size.copy(), size.copy()
    for n in range(1, 200):
        term *= twice / (2 * n + 1)
        total += term
    two_by_root_of_pi = np.longdouble(2) / np.sqrt(np.arccos(np.longdouble(-1)))
    result: Array = np.copysign(np.minimum(two_by_root_of_pi * np.exp(-twice / 2) * total, 1), x)
    return result


def complex_root(x: Array, y: Array) -> tuple[Array, Array]:
    """Real and imaginary part of the square root of x + iy."""
    length = np.sqrt((np.hypot(x, y) + np.abs(x)) / 2)
    other = np.divide(np.abs(y), 2 * length, out=np.zeros_like(length), where=length > 0)
    return np.where(x < 0, other, length), np.copysign(np.where(x < 0, length, other), y)


def complex_tangent(x: Array, y: Array) -> tuple[Array, Array]:
    """Real and imaginary part of the hyperbolic tangent of x + iy, |x| at most 5000."""
    sine, cosine = np.sinh(x), np.cosh(x)
    divisor = sine * sine + np.cos(y) * np.cos(y)
    return sine * cosine / divisor, np.sin(y) * np.cos(y) / divisor


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    **{name: getattr(np, name) for name in ("cos", "sin", "exp", "exp2", "log", "log2", "sqrt", "tanh")},
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": error_function,
}
"""The functions of one real number by mnemonic."""


def fused_multiply_add(a: float, b: float, c: float, bits: int, largest: int) -> float:
    """a b + c of finite numbers, rounded once to so many bits, for exponents up to `largest`."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, 1 - largest) - bits + 1)
    # Python rounds fractions half to even.
    nearest = round(size / unit) * unit
    found = float(nearest) if nearest < Fraction(2) ** (largest + 1) else float("inf")
    return -found if exact < 0 else found
