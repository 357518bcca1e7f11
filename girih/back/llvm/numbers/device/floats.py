"""Whole numbers, exponents and conversions of floats as LLVM values, scalars or vectors (SPIR-V 3.52.11).

Guarantees: everything rounds once. Results are those of the interpreter; of NaN only that it is one.
"""

from __future__ import annotations

import math

from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import Val, integer, scalar, wide, zero
from girih.back.llvm.emit.text import lanes as lanes_of
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers import casts
from girih.back.llvm.numbers.floats import as_float, magnitude, pattern, real
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import memory_type, register
from girih.ir.floats import EIGHT_BIT_NAN, FORMATS, eight_bits
from girih.ir.types import BF16, EIGHT_BIT_FLOATS, F16, F32, F64, I32, I64, Number

WHOLE = {"floor": "floor", "ceil": "ceil", "truncate": "trunc", "round_even": "roundeven"}
"""Mnemonic to LLVM's intrinsic."""


# --- to and from integers ----------------------------------------------------------------------


def _plain(w: Writer, features: Features, type: Number, a: Val) -> Val:
    """A number as `float` or `double`."""
    return casts.cast(w, features, type, F32, (a,))[0] if type in EIGHT_BIT_FLOATS else a


def no_integer(w: Writer, features: Features, source: Number, target: Number, a: Val, *, unsigned: bool) -> Val:
    """Whether a number without its fraction is outside the range of an integer type, or NaN."""
    whole = w.overloaded("trunc", _plain(w, features, source, a))
    bits = 8 * target.size
    low, above = (0.0, 2.0**bits) if unsigned else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1))
    inside = w.binary("and", w.compare("oge", whole, real(low, whole)), w.compare("olt", whole, real(above, whole)))
    return w.negated(inside)


def to_signed(w: Writer, features: Features, source: Number, target: Number, a: Val) -> Val:
    """Floats truncated to signed integers; the nearest end of the range outside of it, and 0 for NaN."""
    return casts.cast(w, features, source, target, (a,))[0]


def to_unsigned(w: Writer, features: Features, source: Number, target: Number, a: Val) -> Val:
    """Floats truncated to unsigned integers; the nearest end of the range outside of it, and 0 for NaN."""
    x, width = _plain(w, features, source, a), 8 * target.size
    positive = w.select(w.compare("ogt", x, real(0.0, x)), x, real(0.0, x))
    precision = {"float": 24, "double": 53}[scalar(x.type)]
    most = float(((1 << min(width, precision)) - 1) << max(0, width - precision))
    inside = w.select(w.compare("olt", positive, real(most, x)), positive, real(most, x))
    if width < 32:
        return w.convert("trunc", w.convert("fptosi", inside, "i32"), register(target))
    found = w.convert("fptoui", inside, register(target))
    if width <= precision:
        return found
    return w.select(w.compare("oge", x, real(2.0**width, x)), integer(-1, found.type), found)


def from_unsigned(w: Writer, features: Features, source: Number, target: Number, a: Val) -> Val:
    """Unsigned integers as floats, rounded once."""
    width = 8 * source.size
    if width < 32:
        return casts.cast(w, features, I32, target, (w.convert("zext", a, "i32"),))[0]
    if target in (F32, F64):
        return w.convert("uitofp", a, register(target))
    if target != BF16:
        far = integer(casts.FAR_OUT, a.type)
        small = w.convert("trunc", w.select(w.compare("ult", a, far), a, far), "i32")
        return casts.cast(w, features, I32, target, (small,))[0]
    if width == 32:
        return casts.cast(w, features, F64, target, (w.convert("uitofp", a, "double"),))[0]
    # Half of a number so large, with its last bits in one, rounds as the number does.
    upper = w.compare("slt", a, zero(a.type))
    last = w.binary("and", a, integer(1, a.type))
    halved = w.binary("or", w.binary("lshr", a, integer(1, a.type)), last)
    found = casts.cast(w, features, I64, target, (w.select(upper, halved, a),))[0]
    return w.select(upper, w.binary("fadd", found, found), found)


# --- between floats ----------------------------------------------------------------------------


def float_cast(
    w: Writer, features: Features, source: Number, target: Number, a: Val, *, toward_zero: bool, saturated: bool
) -> Val:
    """A float in another type, rounded once; what is too large is infinite or NaN, unless it saturates."""
    (found,) = casts.cast(w, features, source, target, (a,))
    x = _plain(w, features, source, a)
    if toward_zero and FORMATS[target].precision < FORMATS[source].precision:
        found = _towards_zero(w, features, target, found, x)
    if target in EIGHT_BIT_FLOATS and not saturated:
        found = _overflowing(w, target, found, x, toward_zero)
    return found


def _towards_zero(w: Writer, features: Features, target: Number, found: Val, x: Val) -> Val:
    """The number itself, or the next one towards zero where it was rounded away from that."""
    back = _plain(w, features, target, found)
    size = magnitude(w, x)
    away = w.compare("ogt", magnitude(w, w.convert("fpext", back, scalar(x.type))), size)
    away = w.binary("and", away, w.compare("olt", size, real(math.inf, x)))
    # One less in the bits of a float is the next number towards zero, also of an infinity.
    held = to_memory(w, features, target, found)
    held = held if target in (BF16, F16) or target in EIGHT_BIT_FLOATS else pattern(w, held)
    stepped = w.sub(held, w.convert("zext", away, scalar(held.type)))
    if target in EIGHT_BIT_FLOATS:
        return stepped
    if target in (BF16, F16):
        return from_memory(w, features, target, stepped)
    return as_float(w, stepped, memory_type(target))


def _overflowing(w: Writer, target: Number, found: Val, x: Val, toward_zero: bool) -> Val:
    """A float of eight bits, infinite or NaN where the number is too large."""
    format = FORMATS[target]
    step = 2.0 ** (format.largest_exponent - (format.precision - 1))
    odd = int(format.largest / step) % 2 == 1
    limit, predicate = (math.inf, "oeq") if toward_zero else (format.largest + step / 2, "oge" if odd else "ogt")
    beyond = w.compare(predicate, magnitude(w, x), real(limit, x))
    special = eight_bits(math.inf, target, saturated=False) if format.infinite else EIGHT_BIT_NAN[target]
    sign = w.binary("and", found, integer(-0x80, found.type))
    return w.select(beyond, w.binary("or", sign, integer(special, found.type)), found)


def float4_decode(w: Writer, a: Val) -> Val:
    """The `float` of a float of four bits."""
    word = w.convert("zext", a, "i32")
    size = w.binary("and", word, integer(7, word.type))
    moved = w.add(w.binary("shl", size, integer(22, word.type)), integer(126 << 23, word.type))
    # Below 1, the same fraction behind 1 is 1 more.
    above = as_float(w, w.add(moved, integer(1 << 23, word.type)), "float")
    small = w.binary("fsub", above, real(1.0, above))
    is_small = w.compare("ult", size, integer(2, word.type))
    finite = w.select(is_small, pattern(w, small), moved)
    sign = w.binary("shl", w.binary("and", word, integer(8, word.type)), integer(28, word.type))
    return as_float(w, w.binary("or", finite, sign), "float")


_BETWEEN = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
"""The middles between neighbours; a number in the middle goes to the even one, below or above in turn."""


def float4_encode(w: Writer, a: Val) -> Val:
    """The float of four bits next to a `float`: the number of middles that it is beyond."""
    size = magnitude(w, a)
    sign = w.binary("lshr", pattern(w, a), integer(31, pattern(w, a).type))
    held = w.convert("trunc", w.binary("shl", sign, integer(3, sign.type)), "i8")
    for number, middle in enumerate(_BETWEEN):
        beyond = w.compare("uge" if number % 2 else "ugt", size, real(middle, size))
        held = w.add(held, w.convert("zext", beyond, "i8"))
    return held


# --- exponents ---------------------------------------------------------------------------------

_BIAS, _FRACTION = 1023, 52


def load_exponent(w: Writer, features: Features, type: Number, a: Val, exponent: Val) -> Val:
    """The number times a power of 2, rounded once."""
    if type == F64:
        return _scaled_double(w, a, exponent)
    most = 300
    clamped = w.smaller(w.larger(exponent, integer(-most, exponent.type)), integer(most, exponent.type))
    product = w.binary("fmul", w.convert("fpext", a, "double"), _power(w, clamped))
    return casts.cast(w, features, F64, type, (product,))[0]


def _power(w: Writer, exponent: Val) -> Val:
    """2 to the power of an i32 from -1022 to 1023."""
    word = w.convert("sext", exponent, "i64")
    return as_float(w, w.binary("shl", w.add(word, integer(_BIAS, word.type)), integer(_FRACTION, word.type)), "double")


def _scaled_double(w: Writer, a: Val, exponent: Val) -> Val:
    """A double scaled in steps, of which only the last one rounds."""
    for _ in range(2):
        large = w.compare("sgt", exponent, integer(1023, exponent.type))
        # 2^53 above the smallest normal number, so that no step but the last gives a subnormal one.
        small = w.compare("slt", exponent, integer(-1022, exponent.type))
        factor = w.select(large, real(2.0**1023, a), w.select(small, real(2.0**-969, a), real(1.0, a)))
        taken = w.select(large, _same(1023, exponent), w.select(small, _same(-969, exponent), _same(0, exponent)))
        a, exponent = w.binary("fmul", a, factor), w.sub(exponent, taken)
    rest = w.smaller(w.larger(exponent, _same(-1022, exponent)), _same(1023, exponent))
    return w.binary("fmul", a, _power(w, rest))


def _same(value: int, like: Val) -> Val:
    return integer(value, like.type)


def fraction_exponent(w: Writer, type: Number, a: Val) -> tuple[Val, Val]:
    """A number from 0.5 to 1, and the exponent of the power of 2 that it is multiplied by, as i32."""
    x = a if type == F64 else w.convert("fpext", a, "double")
    small = w.compare("olt", magnitude(w, x), real(2.0**-1022, x))
    word = pattern(w, w.select(small, w.binary("fmul", x, real(2.0**54, x)), x))
    field = w.binary("and", w.binary("lshr", word, integer(_FRACTION, word.type)), integer(0x7FF, word.type))
    exponent = w.sub(field, w.select(small, _same(_BIAS - 1 + 54, word), _same(_BIAS - 1, word)))
    fraction = w.binary("and", word, integer(~(0x7FF << _FRACTION), word.type))
    fraction = w.binary("or", fraction, integer(_BIAS - 1 << _FRACTION, word.type))
    size = magnitude(w, x)
    finite = w.compare("olt", size, real(math.inf, x))
    ordinary = w.binary("and", finite, w.compare("one", x, real(0.0, x)))
    found = w.select(ordinary, as_float(w, fraction, "double"), x)
    exponent = w.select(ordinary, exponent, zero(exponent.type))
    significand = found if type == F64 else w.convert("fptrunc", found, "float")
    return significand, w.convert("trunc", exponent, wide("i32", lanes_of(exponent.type)))
