"""Powers x^y as LLVM values of `float` or `double`, scalars or vectors, with the special cases of IEEE 754.

The size of a power is 2^(y log2 |x|). The product is as large as the largest exponent, and what it loses is an error
of the result: so it is computed in `double` for f32, and in two doubles for f64, together more than 64 bits. Numbers of
f16 and bf16 are short enough for `float`.
"""

from __future__ import annotations

import math

from girih.back.llvm.emit.text import Val, bits, integer, scalar
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.exponentials import exponential, power_of_two
from girih.back.llvm.numbers.floats import as_float, at_least, at_most, magnitude, negative, pattern, polynomial, real
from girih.back.llvm.numbers.logarithms import logarithm, split, split_normal
from girih.ir.types import BF16, F16, Number

_ENOUGH = 2.0**64
"""A larger exponent changes no power: those of all numbers but 1 are 0 or infinite here."""

# log2((1 + s) / (1 - s)) / s in powers of s^2, by Remez' algorithm for the relative error.
_LOGARITHM = (2.885390081790111, 0.9617966733083014, 0.5770835917927785, 0.41167228434339387, 0.34073857952225683)

# (2^r - 1) / r in powers of r, likewise.
_EXPONENTIAL = (
    0.6931472040553263,
    0.24022636440748737,
    0.0555032674187948,
    0.009619940287004828,
    0.0013401443163658724,
    0.00014915584217434392,
)

# The first two coefficients of the logarithm, each as a sum of doubles, and then
# (log2((1 + s) / (1 - s)) - 2 log2(e) (s + s^3 / 3)) / s^5 in powers of s^2, likewise.
_FIRST = (2.8853900817779268, 4.0710547481862066e-17)
_SECOND = (0.9617966939259756, 5.0577616648125907e-17)
_OTHERS = (
    0.5770780163556181,
    0.4121985830918832,
    0.32059890228434,
    0.26230770012976484,
    0.22198404590689302,
    0.1912539899768415,
    0.19039672992098705,
)


def power(w: Writer, type: Number, x: Val, y: Val) -> Val:
    """x to the power of y; of f16 and bf16 it is not yet rounded."""
    size = magnitude(w, x)
    some = at_most(w, _ENOUGH, at_least(w, -_ENOUGH, y))
    if type in (F16, BF16):
        ordinary = _narrow(w, size, some)
    else:
        ordinary = (_double if scalar(x.type) == "double" else _single)(w, size, some)
    return _with_special(w, x, y, size, ordinary)


def _with_special(w: Writer, x: Val, y: Val, size: Val, result: Val) -> Val:
    """The power for any operands, from that of the size of x where that is positive and finite, and y is a number."""
    zero, one, infinity = (real(value, x) for value in (0.0, 1.0, math.inf))
    none, endless = w.compare("oeq", size, zero), w.compare("oeq", size, infinity)
    # Of zeros and infinities: infinite for 0 to a negative power, and for infinity to a positive one.
    grows = w.select(w.binary("xor", none, w.compare("olt", y, zero)), zero, infinity)
    result = w.select(w.binary("or", none, endless), grows, result)
    whole, odd = _parity(w, y)
    word = pattern(w, x)
    minus = w.compare("slt", word, integer(0, word.type))
    result = w.select(w.binary("and", minus, odd), negative(w, result), result)
    below = w.binary("and", w.compare("olt", x, zero), w.negated(endless))
    nowhere = w.binary("or", w.binary("and", below, w.negated(whole)), w.compare("uno", x, y))
    result = w.select(nowhere, real(math.nan, x), result)
    return w.select(w.binary("or", w.compare("oeq", y, zero), w.compare("oeq", x, one)), one, result)


def _parity(w: Writer, y: Val) -> tuple[Val, Val]:
    """Whether numbers are whole, and whether they are odd."""
    size = magnitude(w, y)
    # From here on neighbours are a whole number apart, and the sum with this number is a whole number.
    step = real(2.0 ** (23 if bits(y.type) == 32 else 52), y)
    moved = w.binary("fadd", size, step)
    large = w.compare("oge", size, step)
    whole = w.binary("or", large, w.compare("oeq", w.binary("fsub", moved, step), size))
    units = w.select(large, pattern(w, size), pattern(w, moved))
    last = w.compare("ne", w.binary("and", units, integer(1, units.type)), integer(0, units.type))
    small = w.compare("olt", size, w.binary("fadd", step, step))
    return whole, w.binary("and", w.binary("and", whole, small), last)


def _narrow(w: Writer, x: Val, y: Val) -> Val:
    return exponential(w, "exp2", w.binary("fmul", y, logarithm(w, "log2", x, native=False)), native=False)


def _single(w: Writer, x: Val, y: Val) -> Val:
    """A power of floats, through doubles that are exact to about 37 bits."""
    exponent, fraction = split_normal(w, w.convert("fpext", x, "double"))
    s = w.binary("fdiv", fraction, w.binary("fadd", fraction, real(2.0, fraction)))
    found = w.fma(s, polynomial(w, w.binary("fmul", s, s), _LOGARITHM), exponent)
    scaled = w.binary("fmul", w.convert("fpext", y, "double"), found)
    scaled = at_most(w, 140.0, at_least(w, -160.0, scaled))
    moved = real(1.5 * 2**52 + 1023, scaled)
    sum = w.binary("fadd", scaled, moved)
    rest = w.binary("fsub", scaled, w.binary("fsub", sum, moved))
    word = pattern(w, sum)
    whole = as_float(w, w.binary("shl", word, integer(52, word.type)), "double")
    found = w.binary("fmul", polynomial(w, rest, (1.0, *_EXPONENTIAL)), whole)
    return w.convert("fptrunc", found, "float")


Pair = tuple[Val, Val]
"""A number as a sum of two doubles, the second at most half a unit in the last place of the first, or little more."""


def _double(w: Writer, x: Val, y: Val) -> Val:
    """A power of doubles."""
    high, low = _times(w, y, _logarithm(w, x))
    far = w.compare("ogt", magnitude(w, high), real(1080.0, high))
    return power_of_two(w, at_most(w, 1030.0, at_least(w, -1080.0, high)), w.select(far, real(0.0, low), low))


def _logarithm(w: Writer, x: Val) -> Pair:
    """The logarithm to base 2 of a positive number: k + 2 log2(e) artanh s, where s = f / (2 + f)."""
    exponent, fraction = split(w, x)
    s = _ratio(w, fraction)
    square = _product(w, s, s)
    series = w.binary("fmul", square[0], polynomial(w, square[0], _OTHERS))
    first, second = ((real(high, x), real(low, x)) for high, low in (_FIRST, _SECOND))
    coefficient = _sum(w, second[0], series)
    cubic = _product(w, _product(w, square, s), (coefficient[0], w.binary("fadd", coefficient[1], second[1])))
    linear = _product(w, s, first)
    high, lost = _sum(w, linear[0], cubic[0])
    low = w.binary("fadd", lost, w.binary("fadd", linear[1], cubic[1]))
    total, rounding = _sum(w, exponent, high)
    return total, w.binary("fadd", rounding, low)


def _ratio(w: Writer, fraction: Val) -> Pair:
    """f / (2 + f)."""
    divisor, lost = _sum(w, real(2.0, fraction), fraction)
    inverse = w.binary("fdiv", real(1.0, fraction), divisor)
    quotient = w.binary("fmul", fraction, inverse)
    rest = w.fma(negative(w, quotient), divisor, fraction)
    rest = w.fma(negative(w, quotient), lost, rest)
    return quotient, w.binary("fmul", rest, inverse)


def _sum(w: Writer, a: Val, b: Val) -> Pair:
    """The sum of two numbers, of which the first is the larger one or 0 (Dekker 1971)."""
    total = w.binary("fadd", a, b)
    return total, w.binary("fadd", w.binary("fsub", a, total), b)


def _product(w: Writer, a: Pair, b: Pair) -> Pair:
    """The product of two pairs."""
    high, lost = _times(w, a[0], b)
    return high, w.fma(a[1], b[0], lost)


def _times(w: Writer, a: Val, b: Pair) -> Pair:
    """The product of a number and a pair."""
    high = w.binary("fmul", a, b[0])
    return high, w.fma(a, b[1], w.fma(a, b[0], negative(w, high)))
