"""Sine and cosine as LLVM values of `float` or `double`, scalars or vectors.

The argument's size is reduced to at most pi / 4 by subtracting a multiple of pi / 2 that is held in three parts (Cody
and Waite 1980), with fused multiplication; up to `REACH` what is left is good to its last bits. Lanes beyond get what
the C library's functions give, f32 through f64; they are called only where there is such a lane.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, bits, integer, lanes, mangled, poison, scalar
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.floats import as_float, magnitude, pattern, polynomial, real
from girih.facts.turns import RADIAN_IN_TURNS, TURN_BITS

REACH = {"float": 2.0**17, "double": 2.0**30}
"""The largest size of an argument that is reduced here."""

_HALF_PI = {
    "float": ("0x1.921fb4p+0", "0x1.4442dp-24", "0x1.846988p-48"),
    "double": ("0x1.921fb54442d18p+0", "0x1.1a62633145c06p-54", "0x1.c1cd129024e08p-107"),
}
"""pi / 2 as a sum, largest part first."""

_ROUND = {"float": 1.5 * 2**23, "double": 1.5 * 2**52}
"""Adding this rounds to an integer, which the low bits of the sum hold."""

# (sin(r) - r) / r^3 and (cos(r) - 1 + r^2 / 2) / r^4 in powers of r^2, by Remez' algorithm.
_SINE = {
    "float": (-0.166666538, 0.00833213143, -0.000195108383),
    "double": (
        -0.16666666666666627,
        0.008333333333321286,
        -0.00019841269828870144,
        2.7557313356009343e-06,
        -2.5050704037878726e-08,
        1.5893583780076643e-10,
    ),
}
_COSINE = {
    "float": (0.0416666456, -0.0013887306, 2.4431205e-05),
    "double": (
        0.04166666666666659,
        -0.0013888888888872598,
        2.4801587288491664e-05,
        -2.75573140564407e-07,
        2.0875681859981954e-09,
        -1.1357447611621214e-11,
    ),
}
_SINE_NATIVE = (-0.166633293, 0.00816124864)
_COSINE_NATIVE = (0.0416666456, -0.0013887306)


def sine_cosine(w: Writer, x: Val, wanted: Sequence[str], native: bool) -> tuple[Val, ...]:
    """The functions named in `wanted`, of `sin` and `cos`, of an angle in radians; NaN for infinities and NaN."""
    size = magnitude(w, x)
    beyond = w.compare("ogt", size, real(REACH[scalar(x.type)], x))
    near = reduced(w, x, size, wanted, native)
    # Lanes within reach keep their results, so that none depends on its neighbours.
    found = w.either(
        w.any(beyond),
        lambda: [w.select(beyond, far, y) for far, y in zip(_beyond(w, x, wanted, native), near, strict=True)],
        lambda: near,
    )
    return tuple(found)


def _beyond(w: Writer, x: Val, wanted: Sequence[str], native: bool) -> list[Val]:
    """The functions of an angle of any size."""
    found = w.far_angle("radians", RADIAN_IN_TURNS, TURN_BITS, x)
    if found is None:
        return [_library(w, name, x) for name in wanted]
    angle, lost = found
    cosine, sine = reduced(w, angle, magnitude(w, angle), ("cos", "sin"), native)
    turned = {"cos": w.fma(w.negative(lost), sine, cosine), "sin": w.fma(lost, cosine, sine)}
    return [turned[name] for name in wanted]


def reduced(w: Writer, x: Val, size: Val, wanted: Sequence[str], native: bool) -> list[Val]:
    """The functions of an angle whose `size` is known to be within reach: at most `REACH`."""
    type = scalar(x.type)
    moved = real(_ROUND[type], x)
    rounded = w.fma(size, real(2 / math.pi, x), moved)
    quarters = w.binary("fsub", rounded, moved)
    rest = size
    for part in _HALF_PI[type]:
        rest = w.fma(quarters, real(-float.fromhex(part), x), rest)
    square = w.binary("fmul", rest, rest)
    number = pattern(w, rounded)
    odd = w.compare("ne", w.binary("and", number, integer(1, number.type)), integer(0, number.type))
    sine, cosine = _short_sine(w, rest, square, native), _short_cosine(w, square, native)
    sign_bit = integer(-1 << bits(x.type) - 1, number.type)
    results = []
    for name in wanted:
        value = w.select(odd, cosine, sine) if name == "sin" else w.select(odd, sine, cosine)
        turned = number if name == "sin" else w.add(number, integer(1, number.type))
        negative = w.binary("shl", w.binary("and", turned, integer(2, number.type)), _same(bits(x.type) - 2, number))
        if name == "sin":
            negative = w.binary("xor", negative, w.binary("and", pattern(w, x), sign_bit))
        results.append(as_float(w, w.binary("xor", pattern(w, value), negative), type))
    return results


def _same(value: int, like: Val) -> Val:
    return integer(value, like.type)


def _short_sine(w: Writer, x: Val, square: Val, native: bool) -> Val:
    terms = polynomial(w, square, _SINE_NATIVE if native else _SINE[scalar(x.type)])
    return w.fma(w.binary("fmul", square, x), terms, x)


def _short_cosine(w: Writer, square: Val, native: bool) -> Val:
    terms = polynomial(w, square, _COSINE_NATIVE if native else _COSINE[scalar(square.type)])
    start = w.fma(square, real(-0.5, square), real(1.0, square))
    return w.fma(w.binary("fmul", square, square), terms, start)


def _library(w: Writer, name: str, x: Val) -> Val:
    """A call of the module's own function that calls the C library for each lane."""
    called = f"girih.{name}.{mangled(x.type)}"
    header = f"define internal {x.type} @{called}({x.type} %x) noinline"
    if not any(text.startswith(header) for text in w.module.functions):
        _define(Writer(w.module, header), name, Val("%x", x.type))
    return w.effect(x.type, f"call {x.type} @{called}({x})")


def _define(w: Writer, name: str, x: Val) -> None:
    count = lanes(x.type)
    if count == 1:
        w.ret(_call(w, name, x))
    else:
        with w.loop(0, count, carried=[poison(x.type)]) as lane:
            result = _call(w, name, w.extract(x, lane.index))
            lane.following = [w.insert(lane.values[0], result, lane.index)]
        w.ret(lane.results[0])
    w.finish()


def _call(w: Writer, name: str, x: Val) -> Val:
    w.module.declare(name, "double", ("double",))
    wide = w.convert("fpext", x, "double")
    return w.convert("fptrunc", w.effect("double", f"call double @{name}({wide})"), scalar(x.type))
