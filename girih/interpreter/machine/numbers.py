"""The numbers of the tensor language as NumPy arrays: arithmetic, comparison, casts, sums, products.

Guarantees:
- Every function takes arrays with at least one axis, broadcasts as NumPy does, keeps no state and changes no operand;
  a result may be an operand itself where the operation is a no-op.
- The dtype of a result is `dtype(type)` of its type in the language; both operands of an operation have one type.
- Every operation rounds once to its type, f16 and bf16 included; integers are two's complement and wrap around.
- f8e4m3 and f8e5m2 take part in casts and as factors of products alone.
- Nothing here sets NumPy's error state, because that costs more than the operation on one element. The caller holds
  `with quiet():` around a run of calls; outside of it the results are the same, but NumPy may warn.
- Integer division by zero and shifts by a negative or too large width give 0; finding them is the caller's work.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from girih.diagnostics import InternalError
from girih.ir import types
from girih.ir.floats import FORMATS, eight_bits
from girih.ir.types import Boolean, Number

Array = npt.NDArray[Any]
Scalar = Number | Boolean

DTYPES: dict[Scalar, np.dtype[Any]] = {
    types.BOOL: np.dtype(np.bool_),
    types.I8: np.dtype(np.int8),
    types.I16: np.dtype(np.int16),
    types.I32: np.dtype(np.int32),
    types.I64: np.dtype(np.int64),
    types.INDEX: np.dtype(np.int64),
    types.F8E4M3: np.dtype(ml_dtypes.float8_e4m3fn),
    types.F8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    types.BF16: np.dtype(ml_dtypes.bfloat16),
    types.F16: np.dtype(np.float16),
    types.F32: np.dtype(np.float32),
    types.F64: np.dtype(np.float64),
    types.C32: np.dtype(np.complex64),
    types.C64: np.dtype(np.complex128),
}
"""The NumPy type of every scalar type (003 "Scalar types")."""

# Looking up by name is five times as fast as by type, whose hash Python computes anew each time.
_DTYPES_BY_NAME = {str(type): found for type, found in DTYPES.items()}
_BFLOAT16 = DTYPES[types.BF16]
_EIGHT_BITS = frozenset(DTYPES[type] for type in types.EIGHT_BIT_FLOATS)
_THROUGH_SINGLE = _EIGHT_BITS | {_BFLOAT16}
_INT64 = DTYPES[types.I64]
_FLOAT32 = DTYPES[types.F32]
_FLOAT64 = DTYPES[types.F64]
_COMPLEX128 = DTYPES[types.C64]

quiet = functools.partial(np.errstate, all="ignore")
"""The error state in which the functions of this module are called: `with quiet(): ...`."""


def dtype(type: Scalar) -> np.dtype[Any]:
    """The NumPy type for values of `type`."""
    return _DTYPES_BY_NAME[type.name if isinstance(type, Number) else "bool"]


def limits(type: Number) -> tuple[int, int] | tuple[float, float]:
    """The identity of max and the identity of min: the smallest and largest integer, or -inf and inf.

    Raises InternalError for complex types, which have no order.
    """
    if type.family == "integer":
        return _INTEGER_LIMITS[type.size]
    if type.family == "floating":
        return -math.inf, math.inf
    raise InternalError(f"limits of the unordered type {type}")


_INTEGER_LIMITS = {size: (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1) for size in (1, 2, 4, 8)}


# Arithmetic: 003 "Arithmetic (binary)", "Arithmetic (unary)", "Comparison".


def _any_type(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array, Scalar], Array]:
    """An operation that is one NumPy function for all of its types."""

    def operation(a: Array, b: Array, type: Scalar) -> Array:
        return function(a, b)

    return operation


def _by_family(
    integer: Callable[[Array, Array], Array], floating: Callable[[Array, Array], Array]
) -> Callable[[Array, Array, Scalar], Array]:
    """An operation that differs between integers and the other numbers."""

    def operation(a: Array, b: Array, type: Scalar) -> Array:
        return integer(a, b) if isinstance(type, Number) and type.family == "integer" else floating(a, b)

    return operation


def _truncated_quotient(a: Array, b: Array) -> Array:
    # Without its remainder the dividend is a multiple of the divisor, so that rounding down does not round at all.
    quotient: Array = np.floor_divide(np.subtract(a, np.fmod(a, b)), b)
    return quotient


def _shifted(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def shift(a: Array, b: Array) -> Array:
        result = function(a, b)
        # Seen as unsigned, a negative width is too large as well.
        np.copyto(result, 0, where=b.view(_UNSIGNED[b.itemsize]) >= 8 * b.itemsize)
        return result

    return shift


_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def _product(a: Array, b: Array, type: Scalar) -> Array:
    return _complex_product(a, b) if _is_complex(type) else np.multiply(a, b)


def _complex_product(a: Array, b: Array) -> Array:
    # NumPy's own loop may fuse products with sums; then a number times its conjugate is not real.
    real = a.real * b.real - a.imag * b.imag
    return _complex(real, a.real * b.imag + a.imag * b.real, a.dtype)


def _quotient(a: Array, b: Array, type: Scalar) -> Array:
    if _is_complex(type):
        return _complex_quotient(a, b)
    return _truncated_quotient(a, b) if isinstance(type, Number) and type.family == "integer" else np.divide(a, b)


def _complex_quotient(a: Array, b: Array) -> Array:
    """Smith's division (1962); by zero it gives infinities or NaN."""
    real_larger = np.absolute(b.real) >= np.absolute(b.imag)
    large, small = np.where(real_larger, b.real, b.imag), np.where(real_larger, b.imag, b.real)
    first, second = np.where(real_larger, a.real, a.imag), np.where(real_larger, a.imag, a.real)
    ratio = small / large
    scale = 1 / (large + small * ratio)
    turned = first * ratio
    real, imaginary = first + second * ratio, np.where(real_larger, second - turned, turned - second)
    zero, magnitude = real_larger & (large == 0), np.absolute(large)
    real = np.where(zero, a.real / magnitude, real * scale)
    return _complex(real, np.where(zero, a.imag / magnitude, imaginary * scale), a.dtype)


def _complex(real: Array, imaginary: Array, dtype: np.dtype[Any]) -> Array:
    result: Array = np.empty(real.shape, dtype)
    result.real, result.imag = real, imaginary
    return result


def _is_complex(type: Scalar) -> bool:
    return isinstance(type, Number) and type.family == "complex"


BINARY: dict[str, Callable[[Array, Array, Scalar], Array]] = {
    "add": _any_type(np.add),
    "sub": _any_type(np.subtract),
    "mul": _product,
    "div": _quotient,
    "rem": _any_type(np.fmod),
    "max": _by_family(np.maximum, np.fmax),
    "min": _by_family(np.minimum, np.fmin),
    "shl": _any_type(_shifted(np.left_shift)),
    "shr": _any_type(_shifted(np.right_shift)),
    "and": _any_type(np.bitwise_and),
    "or": _any_type(np.bitwise_or),
    "xor": _any_type(np.bitwise_xor),
}
"""Mnemonic to function of two arrays and their type (003 "Arithmetic (binary)").

div truncates and rem takes the sign of the dividend; the smallest integer by -1 is itself, remainder 0. On floats, max
and min prefer a number over NaN, and rem is C's fmod. shr is arithmetic. On complex numbers mul is ac - bd and ad + bc.
"""


def _of_one(function: Callable[[Array], Array]) -> Callable[[Array, Scalar], Array]:
    def operation(a: Array, type: Scalar) -> Array:
        return function(a)

    return operation


def _absolute(a: Array, type: Scalar) -> Array:
    if not _is_complex(type):
        return np.absolute(a)
    x, y = np.absolute(a.real), np.absolute(a.imag)
    if a.dtype == _COMPLEX128:
        length = _length(np.maximum(x, y), np.minimum(x, y))
    else:
        # The squares of f32 fit f64, where their sum and its root are rounded far behind the last place of f32.
        length = np.sqrt(np.square(x, dtype=_FLOAT64) + np.square(y, dtype=_FLOAT64)).astype(x.dtype)
    length[np.isinf(x) | np.isinf(y)] = np.inf
    return length


def _length(larger: Array, smaller: Array) -> Array:
    """The root of the sum of two squares in f64; a Newton step corrects the rounding of the sum and of its root."""
    _, exponent = np.frexp(larger)
    x, y = np.ldexp(larger, -exponent), np.ldexp(smaller, -exponent)
    x_square, y_square = x * x, y * y
    total = x_square + y_square
    root = np.sqrt(total)
    lost = _lost_by_square(x, x_square) + (_lost_by_square(y, y_square) + (x_square - total + y_square))
    square = root * root
    rest = total - square - _lost_by_square(root, square) + lost
    result: Array = np.ldexp(np.where(root == 0, 0.0, root + rest / (root + root)), exponent)
    return result


def _lost_by_square(x: Array, square: Array) -> Array:
    """The rounding error of `square`, the rounded square of x; exact except for underflow (Dekker 1971)."""
    high = leading_half(x)
    low = x - high
    lost: Array = high * high - square + 2 * high * low + low * low
    return lost


def leading_half(x: Any) -> Any:
    """The leading 26 bits of f64 (Dekker 1971), so that products of halves are exact."""
    shifted = x * 134217729.0
    return shifted - (shifted - x)


UNARY: dict[str, Callable[[Array, Scalar], Array]] = {
    "abs": _absolute,
    "neg": _of_one(np.negative),
    "not": _of_one(np.invert),
    "conj": _of_one(np.conjugate),
    "im": _of_one(lambda a: a.imag.copy()),
    "re": _of_one(lambda a: a.real.copy()),
}
"""Mnemonic to function of an array and its type (003 "Arithmetic (unary)").

abs, im and re of a complex type give its part type; abs is then within 1 ulp, infinite where a part is infinite, even
if the other is NaN. abs and neg of the smallest integer are itself.
"""

COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater_than": np.greater,
    "greater_than_equal": np.greater_equal,
    "less_than": np.less,
    "less_than_equal": np.less_equal,
}
"""Mnemonic to function of two arrays that gives a bool array (003 "Comparison"); NaN compares as in IEEE 754."""


# Casts: 003 "Cast".


def cast(array: Array, source: Number, target: Number) -> Array:
    """The values of `array`, of type `source`, in type `target` (003 "Cast"); equal types give the array itself.

    Integers wrap around; floats become integers by truncation, saturating, NaN giving 0; everything that becomes a
    float or complex rounds once, to nearest even; floats of eight bits saturate then, NaN stays NaN. Raises
    InternalError for complex to real, which 003 forbids.
    """
    if source == target:
        return array
    if source in types.EIGHT_BIT_FLOATS:
        return cast(array.astype(_FLOAT32), types.F32, target)
    conversion = _CONVERSIONS.get((source.family, target.family))
    if conversion is None:
        raise InternalError(f"cast from {source} to {target}")
    return conversion(array, target)


def _convert(array: Array, target: Number) -> Array:
    return array.astype(dtype(target), copy=False)


def _to_integer(array: Array, target: Number) -> Array:
    # f32 holds the bounds of i8 and i16, f64 those of i32; the upper bound of i64 is none, and is put right after.
    low, high = _INTEGER_LIMITS[target.size]
    wide = array.astype(_FLOAT32 if target.size < 4 and array.itemsize < 8 else _FLOAT64, copy=False)
    inside = np.fmax(wide, low)
    np.fmin(inside, high, out=inside)
    result: Array = inside.astype(dtype(target))
    if target.size == 8:
        np.copyto(result, high, where=wide >= 2.0**63)
    np.copyto(result, 0, where=np.isnan(wide))
    return result


def _to_floating(array: Array, target: Number) -> Array:
    """Round integers or floats once to a floating type."""
    if target in types.EIGHT_BIT_FLOATS:
        return _to_eight_bits(array, target)
    if target.name != "bf16":
        return array.astype(dtype(target), copy=False)
    # ml_dtypes goes through f32, which would round f64, i32 and i64 twice.
    if array.dtype == _INT64:
        return _double_to_bfloat16(_round_to_odd(array))
    if array.dtype == _FLOAT64 or array.dtype == np.int32:
        return _double_to_bfloat16(array.astype(_FLOAT64, copy=False))
    return array.astype(_FLOAT32, copy=False).astype(_BFLOAT16)


def _to_eight_bits(array: Array, target: Number) -> Array:
    """Round integers or floats once to a float of eight bits, and saturate."""
    if array.dtype != _FLOAT32:
        # f32 holds bf16, f16 and narrow integers exactly; the last bit of what it does not hold stands for the rest.
        wide = _round_to_odd(array) if array.dtype == _INT64 else array
        array = _single_to_odd(wide.astype(_FLOAT64)) if wide.itemsize > 2 else wide.astype(_FLOAT32)
    largest = _FLOAT32.type(FORMATS[target].largest)
    # ml_dtypes makes infinities or NaN of what is too large; this keeps NaN.
    result: Array = np.clip(array, -largest, largest).astype(dtype(target))
    return result


def _single_to_odd(array: Array) -> Array:
    """f64 to f32, where what does not fit sets the last bit, so that rounding again to fewer bits is right."""
    single = array.astype(_FLOAT32)
    back = single.astype(_FLOAT64)
    away = np.nextafter(single, _FLOAT32.type(0))
    towards_zero = np.where(np.absolute(back) > np.absolute(array), away, single)
    bits = np.ascontiguousarray(towards_zero).view(np.uint32)
    bits |= (back != array) & ~np.isnan(array)
    return bits.view(_FLOAT32)


def _double_to_bfloat16(array: Array) -> Array:
    single = array.astype(_FLOAT32)
    bits = single.view(np.uint32)
    midway = (bits & 0xFFFF) == 0x8000
    if midway.any():
        # Rounding to f32 hit the middle of two bf16 numbers: a step back to the side of the true value decides.
        exact, rounded = np.absolute(array), np.absolute(single.astype(_FLOAT64))
        bits += midway & (exact > rounded)
        bits -= midway & (exact < rounded)
    return single.astype(_BFLOAT16)


def _round_to_odd(array: Array) -> Array:
    """i64 to f64, where what does not fit sets the last bit, so that rounding again to fewer bits is right."""
    top = array >> 53
    large = (top != 0) & (top != -1)
    if not large.any():
        return array.astype(_FLOAT64)
    odd = ((array >> 11) | ((array & 0x7FF) != 0)) << 11
    return np.where(large, odd, array).astype(_FLOAT64)


def _to_complex(array: Array, target: Number) -> Array:
    return _to_floating(array, types.PARTS[target]).astype(dtype(target))


_CONVERSIONS: dict[tuple[str, str], Callable[[Array, Number], Array]] = {
    ("integer", "integer"): _convert,
    ("integer", "floating"): _to_floating,
    ("integer", "complex"): _to_complex,
    ("floating", "integer"): _to_integer,
    ("floating", "floating"): _to_floating,
    ("floating", "complex"): _to_complex,
    ("complex", "complex"): _convert,
}


def constant(value: bool | int | float | complex, type: Scalar) -> Array:
    """A constant as an array of shape (1, 1, 1), rounded once to `type` (003 "Constant").

    Raises InternalError where the checker should have refused the constant: its kind does not go with the type, or an
    integer is out of the range of the type.
    """
    if isinstance(type, Boolean) and isinstance(value, bool):
        return np.full((1, 1, 1), value)
    source = None if isinstance(value, bool) else _LITERAL_TYPES.get(value.__class__)
    if source is None or isinstance(type, Boolean) or (source.family, type.family) not in _CONSTANTS:
        raise InternalError(f"the constant {value!r} for the type {type}")
    if type.family == "integer" and not _INTEGER_LIMITS[type.size][0] <= value.real <= _INTEGER_LIMITS[type.size][1]:
        raise InternalError(f"the constant {value!r} out of the range of {type}")
    if type in types.EIGHT_BIT_FLOATS:
        return np.full((1, 1, 1), eight_bits(value.real, type, saturated=False), np.uint8).view(dtype(type))
    return cast(np.full((1, 1, 1), value, dtype(source)), source, type)


_LITERAL_TYPES: dict[type, Number] = {int: types.I64, float: types.F64, complex: types.C64}
_CONSTANTS = frozenset(_CONVERSIONS) - {("floating", "integer")}


# Sums and products: 003 "GEMM", "Sum", "Cumsum", "Cooperative matrix mul add", "Cooperative matrix reduce".


def total(a: Array, axis: int | tuple[int, ...], accumulator: Number) -> Array:
    """The sum of `a` along `axis`, which is removed, in the accumulator's dtype; integers wrap around."""
    result: Array = np.add.reduce(_accumulated(a, accumulator), axis=axis, dtype=dtype(accumulator))
    return result


def cumulative(a: Array, axis: int, accumulator: Number) -> Array:
    """The running sums of `a` along `axis`, of the shape of `a`, in the accumulator's dtype (003 "Cumsum")."""
    result: Array = np.add.accumulate(_accumulated(a, accumulator), axis=axis, dtype=dtype(accumulator))
    return result


def _accumulated(a: Array, accumulator: Number) -> Array:
    # f32 takes bf16 and f16 exactly; NumPy's reductions convert other types block by block, without a copy.
    return a.astype(_FLOAT32) if a.dtype == _BFLOAT16 else a


def matmul(a: Array, b: Array, accumulator: Number) -> Array:
    """a[..., m, k] times b[..., k, n] in the accumulator's dtype, of shape [..., m, n]; k of 0 gives zeros.

    Products and sums of floats are of the accumulator's type, in the order and with the fused operations of the BLAS;
    complex ones are put together in the end from four sums of products of parts. Integers wrap around. Views of real
    numbers with one contiguous matrix axis, such as transposes, are not copied.
    """
    if accumulator.family == "integer":
        return _integer_matmul(a, b, dtype(accumulator))
    if accumulator.family == "complex":
        return _complex_matmul(a, b, accumulator)
    result: Array = np.matmul(_operand(a, accumulator), _operand(b, accumulator))
    return result


def _complex_matmul(a: Array, b: Array, accumulator: Number) -> Array:
    part, wanted = types.PARTS[accumulator], dtype(accumulator)
    left, right = ([_operand(x, part) for x in (c.real, c.imag)] for c in (a, b))
    real = np.matmul(left[0], right[0]) - np.matmul(left[1], right[1])
    return _complex(real, np.matmul(left[0], right[1]) + np.matmul(left[1], right[0]), wanted)


def _operand(a: Array, accumulator: Number) -> Array:
    wanted = dtype(accumulator)
    if a.dtype != wanted:
        real = a.astype(_FLOAT32) if a.dtype in _THROUGH_SINGLE else a
        return real.astype(wanted, copy=False)
    # Without a contiguous axis NumPy may multiply by plain loops, far slower than copying first.
    row, column = a.strides[-2:]
    return a if column == a.itemsize or row == a.itemsize else np.ascontiguousarray(a)


def _integer_matmul(a: Array, b: Array, wanted: np.dtype[Any]) -> Array:
    """A product of integer matrices that wraps around.

    It is computed in floating point if no sum can exceed the integers that are exact there, else by NumPy's loops.
    """
    terms = a.shape[-1]
    small = terms == 0 or a.size == 0 or b.size == 0 or a.shape[-2] * terms * b.shape[-1] < _SMALL_PRODUCT
    bound = 0 if small else terms * _largest(a) * _largest(b)
    if small or bound > _EXACT_DOUBLE:
        result: Array = np.matmul(a.astype(wanted, copy=False), b.astype(wanted, copy=False))
        return result
    unit = _FLOAT32 if bound <= _EXACT_SINGLE else _FLOAT64
    # The sum may exceed a narrow result type: through i64, so that it wraps instead of being undefined.
    exact: Array = np.matmul(a.astype(unit), b.astype(unit)).astype(_INT64)
    return exact.astype(wanted, copy=False)


def _largest(a: Array) -> int:
    """A bound on the magnitudes in `a`: that of its type if it is narrow, otherwise the largest magnitude."""
    return 1 << 8 * a.itemsize - 1 if a.itemsize < 4 else max(int(a.max()), -int(a.min()))


_SMALL_PRODUCT = 2048
_EXACT_SINGLE = 1 << 24
_EXACT_DOUBLE = 1 << 53
