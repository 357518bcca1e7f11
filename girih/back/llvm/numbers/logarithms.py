"""log and log2 as LLVM values of `float` or `double`, scalars or vectors.

An argument is 2^k (1 + f) with 1 + f between the roots of 1/2 and 2, so that near 1, where the result is small, k is 0
and nothing cancels. Subnormal arguments are scaled first.
"""

from __future__ import annotations

import math

from girih.back.llvm.emit.text import Val, bits, integer, scalar
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.floats import as_float, pattern, polynomial, real
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Format:
    """The bits of a floating type."""

    shift: int
    """Bits of the fraction."""
    root: int
    """The bits of the root of 1/2."""
    smallest: float
    """The smallest normal number."""

    @property
    def up(self) -> int:
        """The power of 2 that makes subnormal numbers normal."""
        return self.shift + 2


_FORMATS = {
    "float": _Format(23, 0x3F3504F3, 2.0**-126),
    "double": _Format(52, 0x3FE6A09E667F3BCD, 2.0**-1022),
}

# (log(1 + f) - f + f^2 / 2) / f^3 in powers of f, by Remez' algorithm for the relative error of the logarithm.
_SINGLE = (
    0.333333135,
    -0.250000089,
    0.200021192,
    -0.166679963,
    0.142195523,
    -0.1240559,
    0.118881628,
    -0.116756506,
    0.0674663782,
)
# With s = f / (2 + f): (log(1 + f) - 2 s) / s^3 in powers of s^2, likewise.
_DOUBLE = (
    0.6666666666666734,
    0.39999999999414687,
    0.28571428742386473,
    0.22222198573278898,
    0.1818356432179074,
    0.15314050651414476,
    0.14795948827546962,
)
# (log(1 + f) - f) / f^2 in powers of f, likewise.
_NATIVE = (-0.499535948, 0.335707366, -0.26991424, 0.178404868)

_LN2 = {
    "float": (float.fromhex("0x1.62e4p-1"), float.fromhex("0x1.7f7d1cf79abcap-20")),
    "double": (float.fromhex("0x1.62e42fefa3p-1"), float.fromhex("0x1.3de6af278ece6p-42")),
}
"""ln 2 as a sum; an exponent times the first part is exact."""

_LOG2E = (float.fromhex("0x1.71547652p+0"), float.fromhex("0x1.705fc2eefa2p-33"))
"""log2(e) as a sum; the first part has 31 bits."""


def logarithm(w: Writer, name: str, x: Val, native: bool) -> Val:
    """The natural logarithm or that to base 2, for the `name` `log` or `log2`."""
    exponent, fraction = split(w, x)
    method = _native if native else _single if scalar(x.type) == "float" else _double
    return _with_special(w, x, method(w, name, exponent, fraction))


def split_normal(w: Writer, x: Val) -> tuple[Val, Val]:
    """The k and f of a positive argument 2^k (1 + f) that is no subnormal number."""
    held = _FORMATS[scalar(x.type)]
    return _parts(w, held, pattern(w, x), x)


def split(w: Writer, x: Val) -> tuple[Val, Val]:
    """The k and f of a positive argument 2^k (1 + f)."""
    held = _FORMATS[scalar(x.type)]
    small = w.compare("olt", x, real(held.smallest, x))
    word = pattern(w, w.select(small, w.binary("fmul", x, real(2.0**held.up, x)), x))
    exponent, fraction = _parts(w, held, word, x)
    lowered = w.binary("fsub", exponent, real(float(held.up), x))
    return w.select(small, lowered, exponent), fraction


def _parts(w: Writer, held: _Format, word: Val, x: Val) -> tuple[Val, Val]:
    root = integer(held.root, word.type)
    moved = w.sub(word, root)
    low = w.add(w.binary("and", moved, integer((1 << held.shift) - 1, word.type)), root)
    fraction = w.binary("fsub", as_float(w, low, scalar(x.type)), real(1.0, x))
    return _as_real(w, w.binary("ashr", moved, integer(held.shift, word.type)), x), fraction


def _as_real(w: Writer, small: Val, like: Val) -> Val:
    """A small integer as a float. Below AVX-512 there is no conversion from i64, but this sum has its bits in it."""
    if bits(like.type) == 32:
        return w.convert("sitofp", small, "float")
    magic = real(1.5 * 2**52, like)
    return w.binary("fsub", as_float(w, w.add(small, pattern(w, magic)), "double"), magic)


def _with_special(w: Writer, x: Val, result: Val) -> Val:
    """The result for a positive finite argument; -inf at 0, inf at inf, and NaN for the others."""
    word = pattern(w, x)
    infinity = 0x7F800000 if bits(x.type) == 32 else 0x7FF << 52
    one = integer(1, word.type)
    ordinary = w.compare("ult", w.sub(word, one), integer(infinity - 1, word.type))
    zero = real(0.0, x)
    special = w.select(w.compare("ogt", x, zero), x, real(math.nan, x))
    special = w.select(w.compare("oeq", x, zero), real(-math.inf, x), special)
    return w.select(ordinary, result, special)


def _native(w: Writer, name: str, exponent: Val, fraction: Val) -> Val:
    square = w.binary("fmul", fraction, fraction)
    natural = w.fma(square, polynomial(w, fraction, _NATIVE), fraction)
    if name == "log":
        return w.fma(exponent, real(math.log(2.0), natural), natural)
    return w.fma(natural, real(math.log2(math.e), natural), exponent)


def _single(w: Writer, name: str, exponent: Val, fraction: Val) -> Val:
    high, low = (real(part, fraction) for part in _LN2["float"])
    square = w.binary("fmul", fraction, fraction)
    beyond = w.binary("fmul", w.binary("fmul", fraction, square), polynomial(w, fraction, _SINGLE))
    half = real(-0.5, fraction)
    if name == "log":
        tail = w.fma(half, square, w.fma(exponent, low, beyond))
        return w.fma(exponent, high, w.binary("fadd", fraction, tail))
    tail = w.fma(half, square, beyond)
    # log2(e) is 1 and this, which loses fewer bits.
    more = real(0.4426950408889634, fraction)
    scaled = w.fma(fraction, more, w.binary("fmul", tail, more))
    return w.binary("fadd", exponent, w.binary("fadd", fraction, w.binary("fadd", tail, scaled)))


def _double(w: Writer, name: str, exponent: Val, fraction: Val) -> Val:
    s = w.binary("fdiv", fraction, w.binary("fadd", fraction, real(2.0, fraction)))
    square = w.binary("fmul", s, s)
    half = w.binary("fmul", w.binary("fmul", fraction, fraction), real(0.5, fraction))
    terms = w.fma(square, polynomial(w, square, _DOUBLE), half)
    if name == "log":
        high, low = (real(part, fraction) for part in _LN2["double"])
        tail = w.binary("fsub", half, w.fma(s, terms, w.binary("fmul", exponent, low)))
        return w.fma(exponent, high, w.binary("fsub", fraction, tail))
    return _double_log2(w, exponent, fraction, half, w.binary("fmul", s, terms))


def _double_log2(w: Writer, exponent: Val, fraction: Val, half: Val, rest: Val) -> Val:
    """The value of k + log2(e) (f - half + rest), with the product in two doubles."""
    difference = w.binary("fsub", fraction, half)
    word = pattern(w, difference)
    first = as_float(w, w.binary("and", word, integer(-1 << 32, word.type)), "double")
    second = w.binary("fadd", w.binary("fsub", w.binary("fsub", fraction, first), half), rest)
    high, low = (real(part, fraction) for part in _LOG2E)
    product = w.binary("fmul", first, high)
    lost = w.fma(second, high, w.binary("fmul", w.binary("fadd", first, second), low))
    sum = w.binary("fadd", exponent, product)
    rounding = w.binary("fadd", w.binary("fsub", exponent, sum), product)
    return w.binary("fadd", sum, w.binary("fadd", lost, rounding))
