"""exp and exp2, real and complex, as LLVM values of `float` or `double`, scalars or vectors.

With n the integer next to x / ln 2 and r = x - n ln 2, exp(x) is 2^(n/2) times 2^(n/2) exp(r), n/2 rounded down in
one and up in the other. Both are far from the ends of the range, so that their product rounds to subnormal numbers, to
0 and to infinity as it should, and powers of 2 are shifts: there is no other place where such results would need care.

The native functions take n next to x / (2 ln 2) and square 2^n exp(r / 2), r = x - 2 n ln 2. That is six instructions
less, but it doubles the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Val, integer, scalar
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.angles import sine_cosine
from girih.back.llvm.numbers.floats import as_float, at_least, at_most, magnitude, pattern, polynomial, real
from girih.back.llvm.numbers.turns import turned_by_ln2
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Base:
    """The constants of one function in one type.

    `period` is ln 2 (or 1) and `rest` what it lacks, or twice that for the native functions; `coefficients` are those
    of (e^r - 1) / r, (2^r - 1) / r, or with r / 2 for r in the exponent, found by Remez' algorithm for the relative
    error of the whole.
    """

    factor: float
    period: float
    rest: float
    coefficients: Sequence[float]


_LOG2E = math.log2(math.e)
_ACCURATE = {
    ("exp", "float"): _Base(
        _LOG2E,
        float.fromhex("0x1.62e430p-1"),
        float.fromhex("-0x1.05c610ca86c39p-29"),
        (0.999999702, 0.499991417, 0.166676432, 0.0418988504, 0.00829015113),
    ),
    ("exp", "double"): _Base(
        _LOG2E,
        math.log(2.0),
        float.fromhex("0x1.abc9e3b39803fp-56"),
        (
            1.0,
            0.5000000000000012,
            0.16666666666666208,
            0.04166666666651544,
            0.008333333333553196,
            0.0013888888947044074,
            0.00019841269431891283,
            2.4801489862305124e-05,
            2.755762918465843e-06,
            2.7631328842117483e-07,
            2.4991184322311608e-08,
        ),
    ),
    ("exp2", "float"): _Base(1.0, 1.0, 0.0, (0.693147004, 0.240222394, 0.0555073619, 0.00967172533, 0.00132644642)),
    ("exp2", "double"): _Base(
        1.0,
        1.0,
        0.0,
        (
            0.6931471805599453,
            0.24022650695910133,
            0.05550410866482005,
            0.009618129107593567,
            0.0013333558146780228,
            0.0001540353045787886,
            1.5252733489355075e-05,
            1.3215434869776035e-06,
            1.0178200490853784e-07,
            7.0738587219601206e-09,
            4.43472719560706e-10,
        ),
    ),
}
_NATIVE = {
    "exp": _Base(0.5 * _LOG2E, 2 * math.log(2.0), 0.0, (0.500098705, 0.126036748, 0.0206467863)),
    "exp2": _Base(0.5, 2.0, 0.0, (0.346641988, 0.0605547316, 0.00687588844)),
}

# Below the first bound every result is 0, above the second infinite; in between, roots are normal numbers.
_BOUNDS = {
    ("exp", "float"): (-105.0, 89.0),
    ("exp2", "float"): (-151.0, 129.0),
    ("exp", "double"): (-746.0, 710.0),
    ("exp2", "double"): (-1076.0, 1025.0),
}

# At these, and so at minus infinity, the power of 2 in a factor is 0. Were it a number, and only the product too small
# for one, processors would take tens of cycles for it: on Zen 4 softmax of short, masked columns took twice as long.
_LEAST = {
    ("exp", "float"): -254 * math.log(2.0),
    ("exp2", "float"): -254.0,
    ("exp", "double"): -2046 * math.log(2.0),
    ("exp2", "double"): -2046.0,
}

# Adding this rounds to an integer, which the low bits of the sum hold.
_ROUND = {"float": (1.5 * 2**23, 127, 23), "double": (1.5 * 2**52, 1023, 52)}


def exponential(w: Writer, name: str, x: Val, native: bool) -> Val:
    """The value of e^x or 2^x, for the `name` `exp` or `exp2`."""
    near = w.near_power_of_two if scalar(x.type) == "float" else None
    if near is not None:
        if native:
            return near(x if name == "exp2" else w.binary("fmul", x, real(_LOG2E, x)))
        return _by_instruction(w, name, x, near)
    key = name, scalar(x.type)
    return w.binary("fmul", *_factors(w, name, _clamped(w, x, _LEAST[key], _BOUNDS[key][1]), native))


_NORMAL = {"exp": (-87.3, 88.3, _LOG2E, 1.925963033500e-8), "exp2": (-126.0, 127.0, 1.0, 0.0)}
"""Between which arguments the power of 2 next to a result is a normal number; the factor, and what it lacks in f32."""


def _by_instruction(w: Writer, name: str, x: Val, power: Callable[[Val], Val]) -> Val:
    """The value from an instruction for the `power` 2^r, |r| <= 1/2; r is larger only beyond the bounds.

    There it is that of the next power of 2, by which the product gets subnormal, zero or infinite as it should. On an
    H200 the results of all arguments are within 2.5 ulp.
    """
    low, high, factor, lacks = _NORMAL[name]
    magic, bias, _ = _ROUND["float"]
    moved = real(magic + bias, x)
    # Of NaN this is some number: the remainder stays NaN.
    clamped = w.overloaded("minnum", w.overloaded("maxnum", x, real(low, x)), real(high, x))
    scaled = w.binary("fadd", clamped, moved) if factor == 1 else w.fma(clamped, real(factor, x), moved)
    whole = w.binary("fsub", scaled, moved)
    rest = w.binary("fsub", x, whole) if factor == 1 else w.fma(x, real(factor, x), w.negative(whole))
    if lacks:
        rest = w.fma(x, real(lacks, x), rest)
    return w.binary("fmul", power(rest), _power(w, pattern(w, scaled), x))


def exponential_inside(w: Writer, name: str, x: Val) -> Val:
    """The same for arguments that are known to be within the bounds of the type."""
    return w.binary("fmul", *_factors(w, name, x, native=False))


def _clamped(w: Writer, x: Val, low: float, high: float) -> Val:
    return at_most(w, high, at_least(w, low, x))


def _factors(w: Writer, name: str, x: Val, native: bool) -> tuple[Val, Val]:
    """Two numbers about as large as the root of the result, which is their product; for up to twice the bounds."""
    base = _NATIVE[name] if native else _ACCURATE[name, scalar(x.type)]
    # The bias of the exponents is in the sum, too: that of one factor, or of both.
    scaled, rest = _reduced(w, base, x, biases=1 if native else 2)
    held = polynomial(w, rest, (1.0, *base.coefficients))
    if native:
        root = w.binary("fmul", held, _power(w, pattern(w, scaled), x))
        return root, root
    return _halves(w, held, scaled)


def _reduced(w: Writer, base: _Base, x: Val, biases: int) -> tuple[Val, Val]:
    """The number whose low bits are n and so many biases of exponents, and r."""
    magic, bias, _ = _ROUND[scalar(x.type)]
    moved = real(magic + biases * bias, x)
    scaled = w.binary("fadd", x, moved) if base.factor == 1 else w.fma(x, real(base.factor, x), moved)
    whole = w.binary("fsub", scaled, moved)
    rest = w.binary("fsub", x, whole) if base.period == 1 else w.fma(whole, real(-base.period, x), x)
    if base.rest:
        rest = w.fma(whole, real(-base.rest, x), rest)
    return scaled, rest


def _halves(w: Writer, held: Val, scaled: Val) -> tuple[Val, Val]:
    """Two factors of 2^n times a number; n and two biases are in the low bits of `scaled`."""
    word = pattern(w, scaled)
    half = w.binary("lshr", word, integer(1, word.type))
    return w.binary("fmul", held, _power(w, half, held)), _power(w, w.sub(word, half), held)


def power_of_two(w: Writer, high: Val, low: Val) -> Val:
    """2^(high + low), of doubles; the second is far smaller than the first, which is from -1080 to 1030."""
    base = _ACCURATE["exp2", "double"]
    scaled, rest = _reduced(w, base, high, biases=2)
    held = polynomial(w, w.binary("fadd", rest, low), (1.0, *base.coefficients))
    return w.binary("fmul", *_halves(w, held, scaled))


# (e^r - 1 - r) / r^2 in powers of r, likewise for the relative error of e^r - 1.
_BEYOND_LINEAR = {
    "float": (0.5, 0.166665316, 0.0416661724, 0.00836797245, 0.00139706559),
    "double": (
        0.5,
        0.16666666666666677,
        0.04166666666666663,
        0.008333333333321282,
        0.0013888888888919629,
        0.00019841269887867476,
        2.480158731758954e-05,
        2.7557243438746217e-06,
        2.7557201240548353e-07,
        2.510870342510048e-08,
        2.096490540034054e-09,
    ),
}


def exponential_minus_one(w: Writer, x: Val) -> Val:
    """e^x - 1 for 0 <= x <= 60, also where that is small."""
    type = scalar(x.type)
    scaled, rest = _reduced(w, _ACCURATE["exp", type], x, biases=1)
    held = w.fma(w.binary("fmul", rest, rest), polynomial(w, rest, _BEYOND_LINEAR[type]), rest)
    power = _power(w, pattern(w, scaled), x)
    return w.fma(power, held, w.binary("fsub", power, real(1.0, x)))


def _power(w: Writer, biased: Val, like: Val) -> Val:
    """The power of 2 whose biased exponent is in the low bits."""
    shift = _ROUND[scalar(like.type)][2]
    return as_float(w, w.binary("shl", biased, integer(shift, biased.type)), scalar(like.type))


def complex_exponential(w: Writer, name: str, x: Val, y: Val, native: bool) -> tuple[Val, Val]:
    """e^(x + iy) or 2^(x + iy), finite wherever the result is, with C's special values (C11 G.6.3.1)."""
    low, high = _BOUNDS[name, scalar(x.type)]
    # Twice as far up: what overflows by itself may come back by a small cosine or sine.
    one, other = _factors(w, name, _clamped(w, x, 1.01 * low, 1.97 * high), native)
    cosine, sine = sine_cosine(w, y, ("cos", "sin"), native) if name == "exp" else turned_by_ln2(w, y, native)
    parts = [w.binary("fmul", w.binary("fmul", one, turn), other) for turn in (cosine, sine)]
    endless = w.compare("oeq", magnitude(w, x), real(math.inf, x))
    # The difference is 0 where y is finite, otherwise NaN.
    wild = w.binary("and", endless, w.compare("une", w.binary("fsub", y, y), real(0.0, y)))
    vanishing = w.binary("and", wild, w.compare("olt", x, real(0.0, x)))
    on_axis = w.compare("oeq", y, real(0.0, y))
    first = w.select(wild, real(math.inf, x), parts[0])
    first = w.select(vanishing, real(0.0, x), first)
    second = w.select(on_axis, y, w.select(vanishing, real(0.0, x), parts[1]))
    return first, second
