"""The floats of eight bits, `f8e4m3` and `f8e5m2`: from their bits to `float`, and back.

Guarantees:
- In registers and in memory a number is its bits, an `i8`, so that moving it changes nothing, NaN included.
- `decoded` is exact. `encoded` rounds to nearest even and then saturates: what is too large, infinities included,
  becomes the largest finite number, NaN stays NaN and keeps its sign.
- Subnormal numbers are made and read without subnormal floats, which processors are slow with.
- Everything works on scalars and on vectors of any length, without calls and tables.
"""

from __future__ import annotations

from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import Val, floating, integer, lanes, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.floats import as_float, magnitude, pattern
from girih.ir.floats import EIGHT_BIT_NAN, FORMATS, eight_bits
from girih.ir.types import F8E4M3, Boolean, Number

_FRACTION, _BIAS = 23, 127
"""Bits of the fraction of a `float`, and what its exponent is raised by."""

_NO_HARDWARE = Features(f16=False, fma=False)


def decoded(w: Writer, type: Number | Boolean, held: Val, features: Features = _NO_HARDWARE) -> Val:
    """The `float` of some bits."""
    if not isinstance(type, Number):
        raise TypeError(f"{type} is no float of eight bits")
    if features.f16:
        return _through_half(w, type, held)
    format = FORMATS[type]
    shift = _FRACTION + 1 - format.precision
    word = w.convert("sext", held, "i32")
    size = w.binary("and", word, _word(0x7F, held))
    exponent = _BIAS + format.least_exponent
    moved = w.add(w.binary("shl", size, _word(shift, held)), _word(exponent - 1 << _FRACTION, held))
    # Below the smallest normal number, the same fraction behind it is that number more.
    above = as_float(w, w.add(moved, _word(1 << _FRACTION, held)), "float")
    small = w.binary("fsub", above, _real(2.0**format.least_exponent, held))
    is_small = w.compare("ult", size, _word(1 << format.precision - 1, held))
    finite = w.select(is_small, pattern(w, small), moved)
    infinity = 0x7F800000
    special = w.binary("or", finite, _word(infinity, held))
    largest = eight_bits(format.largest, type)
    known = w.select(w.compare("ugt", size, _word(largest, held)), special, finite)
    sign = w.binary("and", word, _word(-0x80000000, held))
    return as_float(w, w.binary("or", known, sign), "float")


def _through_half(w: Writer, type: Number, held: Val) -> Val:
    """The same by the conversion of `half`, whose exponent has five bits too."""
    if type != F8E4M3:
        return _widened(w, w.binary("shl", w.convert("zext", held, "i16"), _short(8, held)))
    moved = w.binary("shl", w.convert("sext", held, "i16"), _short(7, held))
    size = w.binary("and", moved, _short(0x3F80, held))
    # Of NaN alone all bits are set, so that one more is carried into the exponent, which says NaN then.
    nan = w.binary("and", w.add(size, _short(0x80, held)), _short(0x4000, held))
    half = w.binary("or", w.binary("and", moved, _short(-0x4080, held)), nan)
    return w.binary("fmul", _widened(w, half), _real(2.0**8, held))


def _widened(w: Writer, half: Val) -> Val:
    return w.convert("fpext", w.convert("bitcast", half, wide("half", lanes(half.type))), "float")


def encoded(w: Writer, type: Number, x: Val) -> Val:
    """The bits of a `float`, rounded to nearest even and saturated."""
    format = FORMATS[type]
    shift = _FRACTION + 1 - format.precision
    held = pattern(w, x)
    size = w.binary("and", held, _word(0x7FFFFFFF, x))
    last = w.binary("and", w.binary("lshr", size, _word(shift, x)), _word(1, x))
    raised = w.add(w.add(size, last), _word((1 << shift - 1) - 1, x))
    exponent = _BIAS + format.least_exponent
    normal = w.sub(w.binary("lshr", raised, _word(shift, x)), _word(exponent - 1 << format.precision - 1, x))
    # Next to this number neighbouring floats are as far apart as subnormal numbers, so that the sum rounds.
    step = shift + format.least_exponent
    total = w.binary("fadd", magnitude(w, x), _real(2.0**step, x))
    small = w.sub(pattern(w, total), _word(_BIAS + step << _FRACTION, x))
    is_small = w.compare("ult", size, _word(exponent << _FRACTION, x))
    finite = w.select(is_small, small, normal)
    largest = _word(eight_bits(format.largest, type), x)
    saturated = w.select(w.compare("ult", finite, largest), finite, largest)
    is_nan = w.compare("ugt", size, _word(0x7F800000, x))
    known = w.select(is_nan, _word(EIGHT_BIT_NAN[type], x), saturated)
    sign = w.binary("and", w.binary("lshr", held, _word(24, x)), _word(0x80, x))
    return w.convert("trunc", w.binary("or", known, sign), "i8")


def _word(value: int, like: Val) -> Val:
    """An `i32` constant for every lane of a value."""
    return integer(value, wide("i32", lanes(like.type)))


def _short(value: int, like: Val) -> Val:
    """An `i16` constant for every lane of a value."""
    return integer(value, wide("i16", lanes(like.type)))


def _real(value: float, like: Val) -> Val:
    """A `float` constant for every lane of a value."""
    return floating(value, wide("float", lanes(like.type)))
