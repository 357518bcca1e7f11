"""The mathematical functions of the tensor language on NumPy arrays (003 "Math (unary)"; SPIR-V OpenCL.std).

Guarantees, besides those of `numbers`: functions are computed in f64 and rounded once to a narrower type, where they
are right but for near-ties. `sqrt` and `fma` are correctly rounded in every type.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from girih.facts.turns import LN2_IN_TURNS, TURN_BITS
from girih.interpreter.machine.numbers import DTYPES, Array, cast, dtype, leading_half
from girih.ir.types import C64, F64, Number

_FLOAT64 = DTYPES[F64]
_COMPLEX128 = DTYPES[C64]


def _exp2(a: Array) -> Array:
    return _complex_exp2(a) if a.dtype == _COMPLEX128 else np.exp2(a)


def _complex_exp2(a: Array) -> Array:
    """2^(x + iy) = 2^x (cos(y ln 2) + i sin(y ln 2)) for complex128, right where 2^x alone overflows."""
    # The clip keeps infinities out of the products below; beyond it every result is infinite or zero.
    exponent = np.clip(a.real, -4000.0, 4000.0)
    whole = np.rint(exponent)
    scale = np.exp2(exponent - whole)
    whole = np.nan_to_num(whole).astype(np.int32)
    cosine, sine = _turn_by_ln2(a.imag)
    result: Array = np.empty(a.shape, _COMPLEX128)
    result.real = np.ldexp(scale * cosine, whole)
    result.imag = np.ldexp(scale * sine, whole)
    return result


# ln 2 as an f64 and what that lacks: 106 bits together.
_LN2 = math.log(2.0)
_LN2_REST = float.fromhex("0x1.abc9e3b39803fp-56")


_FAR = 2.0**40
"""Beyond, whole turns are taken from y ln 2 in exact integers: 106 bits of ln 2 are too few."""


def _turn_by_ln2(y: Array) -> tuple[Array, Array]:
    """Cosine and sine of y ln 2; the angle is carried in two f64, since both lose what an angle of f64 rounds off."""
    angle, rest = _angle_by_ln2(y)
    far = np.isfinite(y) & (np.abs(y) > _FAR)
    if far.any():
        angle[far], rest[far] = np.array([_exact_angle(x) for x in y[far].tolist()]).T
    rest = np.where(np.isfinite(rest), rest, 0.0)
    cosine, sine, cosine_rest, sine_rest = np.cos(angle), np.sin(angle), np.cos(rest), np.sin(rest)
    return cosine * cosine_rest - sine * sine_rest, sine * cosine_rest + cosine * sine_rest


def _angle_by_ln2(y: Array) -> tuple[Array, Array]:
    """y ln 2, and what that lacks."""
    angle = y * _LN2
    y_high, ln2_high = leading_half(y), leading_half(_LN2)
    y_low, ln2_low = y - y_high, _LN2 - ln2_high
    lost = y_high * ln2_high - angle + y_high * ln2_low + y_low * ln2_high + y_low * ln2_low
    return angle, lost + y * _LN2_REST


_TWO_PI = 0xC90FDAA22168C234C4C6628B80DC1CD129024E08
"""2 pi times 2^157, rounded down."""


def _exact_angle(y: float) -> tuple[float, float]:
    """y ln 2 for a large y, less all whole turns, at most half a turn; and what that lacks."""
    fraction, exponent = math.frexp(abs(y))
    bits = TURN_BITS - (exponent - 53)
    turn = int(math.ldexp(fraction, 53)) * LN2_IN_TURNS & (1 << bits) - 1
    if turn >> bits - 1:
        turn -= 1 << bits
    # 192 bits of a turn times 157 bits of 2 pi.
    fixed = (turn >> bits - 192) * _TWO_PI
    angle = fixed / (1 << 349)
    rest = (fixed - int(math.ldexp(angle, 349))) / (1 << 349)
    return math.copysign(1.0, y) * angle, math.copysign(1.0, y) * rest


# Functions of one number.


def _through_double(function: Callable[[Array], Array]) -> Callable[[Array, Number], Array]:
    """A function evaluated in f64 or c64 and rounded once: far within the bounds, correct but for near-ties."""

    def evaluate(array: Array, type: Number) -> Array:
        if type.family == "complex":
            return function(array.astype(_COMPLEX128, copy=False)).astype(dtype(type), copy=False)
        return cast(function(array.astype(_FLOAT64, copy=False)), F64, type)

    return evaluate


def _reciprocal_root(a: Array) -> Array:
    result: Array = 1.0 / np.sqrt(a)
    return result


def _error_function(a: Array) -> Array:
    # NumPy has none; the C library's is within 1 ulp.
    return np.fromiter(map(math.erf, a.ravel().tolist()), _FLOAT64, a.size).reshape(a.shape)


_NATIVE: dict[str, Callable[[Array, Number], Array]] = {
    "cos": _through_double(np.cos),
    "sin": _through_double(np.sin),
    "exp": _through_double(np.exp),
    "exp2": _through_double(_exp2),
    "log": _through_double(np.log),
    "log2": _through_double(np.log2),
}
"""The functions that have a native twin."""

MATH: dict[str, Callable[[Array, Number], Array]] = {
    **_NATIVE,
    **{f"native_{name}": function for name, function in _NATIVE.items()},
    "sqrt": _through_double(np.sqrt),
    "rsqrt": _through_double(_reciprocal_root),
    "tanh": _through_double(np.tanh),
    "erf": _through_double(_error_function),
}
"""Mnemonic to function of an array and its type; exp, exp2, sqrt and tanh take complex types, too.

native_* are the accurate functions: 003 leaves their error to the implementation. A root of f64 that is rounded to a
narrower type is the correctly rounded root: f64 has more than twice the bits.
"""


# Functions of several numbers.


def power(a: Array, b: Array, type: Number) -> Array:
    """a to the power of b, with the special cases of IEEE 754."""
    result = np.power(a.astype(_FLOAT64, copy=False), b.astype(_FLOAT64, copy=False))
    return cast(result, F64, type)


def fused_multiply_add(a: Array, b: Array, c: Array, type: Number) -> Array:
    """a b + c, rounded once to `type`."""
    x, y, z = np.broadcast_arrays(*(v.astype(_FLOAT64, copy=False) for v in (a, b, c)))
    if type == F64:
        return _fused_double(x, y, z)
    # The product is exact: a narrower type has at most 24 bits.
    return cast(_odd_sum(x * y, z), F64, type)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The sum, and what rounding it has lost (Knuth); NaN where the sum is not finite."""
    total = a + b
    other = total - a
    lost: Array = (a - (total - other)) + (b - other)
    return total, lost


def _odd_sum(a: Array, b: Array) -> Array:
    """The sum rounded to odd: what f64 does not hold sets the last bit, so that rounding again is right."""
    total, lost = _two_sum(a, b)
    word = total.view(np.int64)
    inexact = (np.abs(lost) > 0) & ((word & 1) == 0)
    # A step towards the true sum, which is even, too, where it was not.
    step = np.where(np.signbit(lost) == np.signbit(total), 1, -1)
    return np.where(inexact, word + step, word).view(_FLOAT64)


_APART = 200
"""Powers of 2 by which product and summand may differ; beyond, only the sign of the smaller one matters."""


def _fused_double(a: Array, b: Array, c: Array) -> Array:
    """a b + c in f64, as by Boldo and Melquiond (2008): with mantissas, so that nothing on the way leaves the range."""
    (x, i), (y, j), (z, k) = np.frexp(a), np.frexp(b), np.frexp(c)
    apart = np.clip(k - (i + j), -_APART, _APART)
    unit = np.where(apart == _APART, k - _APART, i + j)
    product = x * y
    low, lower = _two_sum(np.ldexp(z, apart), _lost_by_product(x, y, product))
    high, middle = _two_sum(product, low)
    rest = _odd_sum(middle, lower)
    total = high + rest
    small = np.frexp(total)[1] + unit < _SMALLEST
    result = np.ldexp(np.where(small, _to_subnormal(high, rest, unit), total), unit)
    # Without a summand the product is rounded once; with an infinity or NaN nothing is.
    np.copyto(result, a * b, where=c == 0)
    finite = np.isfinite(a) & np.isfinite(b)
    return np.where((a == 0) | (b == 0) | ~finite, a * b + c, np.where(np.isfinite(c), result, c))


_SMALLEST = -1021
"""The exponent of the smallest normal number, whose mantissa is 1/2."""


def _to_subnormal(high: Array, rest: Array, unit: Array) -> Array:
    """high + rest rounded to a multiple of 2^(-1074 - unit), for a sum below 2^(-1022 - unit) in size."""
    total = high + rest
    # Next to this number neighbours are as far apart.
    step = np.copysign(np.ldexp(1.0, -1022 - unit), total)
    near, lost = _two_sum(step, high)
    result: Array = np.copysign(near + _odd_sum(lost, rest) - step, total)
    return result


def _lost_by_product(a: Array, b: Array, product: Array) -> Array:
    """The rounding error of a product of numbers below 1 in size; exact (Dekker 1971)."""
    x, y = leading_half(a), leading_half(b)
    u, v = a - x, b - y
    lost: Array = ((x * y - product) + x * v + u * y) + u * v
    return lost
