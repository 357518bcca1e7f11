"""Rounding to bf16 and f16, and their form in memory.

Guarantees:
- In registers `bf16` and `f16` are `float`s that hold a number of the narrow type exactly; `round_to` makes such a
  float of any other one, to nearest even, with subnormal results, overflow to infinity and NaN kept.
- bf16 needs nothing but integer instructions; f16 needs nothing else where `Features.f16` is false.
- Everything works on scalars and on vectors of any length.
"""

from __future__ import annotations

from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.instructions import ROUND_F16
from girih.back.llvm.emit.text import Val, floating, integer, lanes, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.floats import as_float, is_nan, magnitude, pattern
from girih.ir.types import BF16, F16, Boolean, Number

_IN_REGISTER = 8
"""The numbers of f16 in the shortest vector register."""


def round_to(w: Writer, features: Features, type: Number, x: Val) -> Val:
    """A `float` rounded to nearest even to `bf16` or `f16`; a number of another type is unchanged."""
    if type == BF16:
        return _round_bf16(w, features, x)
    if type == F16:
        return _round_f16(w, features, x)
    return x


def to_memory(w: Writer, features: Features, type: Number | Boolean, part: Val) -> Val:
    """A part in its form in memory: `i16` for a number that is exact in `bf16` or `f16`; other types are unchanged."""
    if type == BF16:
        high = w.binary("lshr", pattern(w, part), _same(16, part))
        return w.convert("trunc", high, "i16")
    if type == F16:
        return _f16_to_memory(w, features, part)
    return part


def from_memory(w: Writer, features: Features, type: Number | Boolean, part: Val) -> Val:
    """A part in its form in registers, from that in memory; the inverse of `to_memory`."""
    if type == BF16:
        shifted = w.binary("shl", w.convert("zext", part, "i32"), _same(16, part))
        return as_float(w, shifted, "float")
    if type == F16:
        return _f16_from_memory(w, features, part)
    return part


def _same(value: int, like: Val) -> Val:
    """An `i32` constant for every lane of a value."""
    return integer(value, wide("i32", lanes(like.type)))


def _real(value: float, like: Val) -> Val:
    """A `float` constant for every lane of a value."""
    return floating(value, wide("float", lanes(like.type)))


def _round_bf16(w: Writer, features: Features, x: Val) -> Val:
    if features.bf16:
        word = w.convert("bitcast", w.convert("fptrunc", x, "bfloat"), wide("i16", lanes(x.type)))
        return from_memory(w, features, BF16, word)
    held = pattern(w, x)
    last = w.binary("and", w.binary("lshr", held, _same(16, x)), _same(1, x))
    rounded = w.add(w.add(held, last), _same(0x7FFF, x))
    # A NaN may have its only bits in the half that goes away.
    kept = w.select(is_nan(w, x), w.binary("or", held, _same(0x400000, x)), rounded)
    return as_float(w, w.binary("and", kept, _same(-0x10000, x)), "float")


def _round_f16(w: Writer, features: Features, x: Val) -> Val:
    if features.f16 and features.narrows:
        return w.convert("fpext", w.convert("fptrunc", x, "half"), "float")
    return w.once_written(ROUND_F16, x, lambda y: _rounded_by_sums(w, y))


def _rounded_by_sums(w: Writer, x: Val) -> Val:
    size = magnitude(w, x)
    small = _larger_or_nan(w, _real(2.0**-14, x), size)
    exponent = w.binary("and", pattern(w, small), _same(0x7F800000, x))
    # Next to this number neighbouring floats are as far apart as f16 numbers next to x, so that the sum rounds.
    step = as_float(w, w.add(exponent, _same(13 << 23, x)), "float")
    rounded = w.binary("fsub", w.binary("fadd", size, step), step)
    fits = w.compare("olt", size, _real(65520.0, x))
    infinite = w.binary("fmul", size, _real(float("inf"), x))
    magnitude_rounded = w.select(fits, rounded, infinite)
    return w.overloaded("copysign", magnitude_rounded, x)


def _larger_or_nan(w: Writer, bound: Val, x: Val) -> Val:
    return w.select(w.compare("ogt", bound, x), bound, x)


def _f16_to_memory(w: Writer, features: Features, part: Val) -> Val:
    if features.f16:
        return w.convert("bitcast", w.convert("fptrunc", part, "half"), wide("i16", lanes(part.type)))
    # The product has the exponent's bits that f16 has, subnormal numbers included; it is exact.
    scaled = pattern(w, w.binary("fmul", magnitude(w, part), _real(2.0**-112, part)))
    low = w.binary("and", w.binary("lshr", scaled, _same(13, part)), _same(0x7FFF, part))
    sign = w.binary("and", w.binary("lshr", pattern(w, part), _same(16, part)), _same(0x8000, part))
    return w.convert("trunc", w.binary("or", low, sign), "i16")


def _f16_from_memory(w: Writer, features: Features, part: Val) -> Val:
    if features.f16_in_vectors and lanes(part.type) == 1 and part.text.startswith("%"):
        # LLVM 22 would leave the other elements as some register has them, and wait for what was last written to it.
        whole = w.insert(zero(wide("i16", _IN_REGISTER)), part, 0)
        return w.extract(w.convert("fpext", w.convert("bitcast", whole, wide("half", _IN_REGISTER)), "float"), 0)
    if features.f16:
        return w.convert("fpext", w.convert("bitcast", part, wide("half", lanes(part.type))), "float")
    word = w.convert("zext", part, "i32")
    low = w.binary("and", word, _same(0x7FFF, part))
    moved = as_float(w, w.binary("shl", low, _same(13, part)), "float")
    finite = pattern(w, w.binary("fmul", moved, _real(2.0**112, part)))
    special = w.binary("or", finite, _same(0x7F800000, part))
    held = w.select(w.compare("ugt", low, _same(0x7BFF, part)), special, finite)
    sign = w.binary("shl", w.binary("and", word, _same(0x8000, part)), _same(16, part))
    return as_float(w, w.binary("or", held, sign), "float")
