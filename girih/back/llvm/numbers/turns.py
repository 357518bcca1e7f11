"""Cosine and sine of y ln 2, for any y, as LLVM values of `float` or `double`, scalars or vectors.

The angle is carried in two parts, since both functions lose what it rounds off. Up to `_REACH` it is the product of y
and ln 2 in two parts. Beyond, a whole number of turns is taken away first: y is a mantissa times a power of two, and
mantissa times (ln 2 / 2 pi shifted by that power) is computed in integers, of which only the fraction is kept (Payne
and Hanek 1983). That is a function of its own, called only where there is such a lane.
"""

from __future__ import annotations

import math
from itertools import pairwise

from girih.back.llvm.emit.text import Val, integer, lanes, mangled, poison, scalar
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.angles import reduced
from girih.back.llvm.numbers.floats import as_float, magnitude, negative, pattern, real
from girih.facts.turns import LN2_IN_TURNS, TURN_BITS
from girih.lazy_dataclass import dataclass

_LN2 = {"float": (0.693147182464599609375, -1.904654299957767e-09), "double": (math.log(2.0), 2.3190468138462996e-17)}
"""ln 2 rounded to a type, and what that lacks."""

_REACH = {"float": 2.0**17, "double": 2.0**26}
"""Up to here the square of what the angle rounds off does not count, and `reduced` takes the angle."""


def turned_by_ln2(w: Writer, y: Val, native: bool) -> tuple[Val, Val]:
    """Cosine and sine of y ln 2; NaN for infinities and NaN."""
    high, low = (real(value, y) for value in _LN2[scalar(y.type)])
    beyond = w.compare("ogt", magnitude(w, y), real(_REACH[scalar(y.type)], y))
    angle = w.binary("fmul", y, high)
    lost = w.fma(y, low, w.fma(y, high, negative(w, angle)))
    near = [angle, lost]
    # Lanes within reach keep their angles, so that none depends on its neighbours.
    angle, lost = w.either(
        w.any(beyond),
        lambda: [w.select(beyond, far, held) for far, held in zip(_far(w, y), near, strict=True)],
        lambda: near,
    )
    cosine, sine = reduced(w, angle, magnitude(w, angle), ("cos", "sin"), native)
    return w.fma(negative(w, lost), sine, cosine), w.fma(lost, cosine, sine)


# --- whole turns taken away --------------------------------------------------------------------

_LEAD = 64
"""Zeros in front of the table, so that powers below 2^0 have their place in it."""


def _far(w: Writer, y: Val) -> tuple[Val, Val]:
    """The angles of large numbers, at most half a turn, each in two parts."""
    own = w.far_angle("ln2", LN2_IN_TURNS, TURN_BITS, y)
    return angle_without_turns(w, "ln2", LN2_IN_TURNS, TURN_BITS, y) if own is None else own


def angle_without_turns(w: Writer, name: str, unit: int, known: int, y: Val) -> tuple[Val, Val]:
    """The angles of y units, at most half a turn, each in two parts, by a function of the module.

    `unit` are the first `known` bits of one unit in turns, which has `name`.
    """
    table, called = f"girih.{name}_in_turns", f"girih.turn.{name}.{mangled(y.type)}"
    pair = f"{{ {y.type}, {y.type} }}"
    if called not in w.module.helpers:
        w.module.helpers.add(called)
        count = (_LEAD + known) // 64
        words = [unit >> known - 64 * k & (1 << 64) - 1 for k in range(count)]
        listed = ", ".join(str(integer(word)) for word in words)
        w.module.globals[table] = f"@{table} = internal constant [{count} x i64] [{listed}]"
        header = f"define internal {pair} @{called}({y.type} %y) noinline nounwind"
        _define(Writer(w.module, header), Val("%y", y.type), _Table(Val(f"@{table}", "ptr"), count))
    found = w.effect(pair, f"call {pair} @{called}({y})")
    return w.field(found, 0, y.type), w.field(found, 1, y.type)


@dataclass(frozen=True, slots=True)
class _Table:
    """The first bits of one unit in turns behind `_LEAD` zeros, in 64-bit words."""

    place: Val
    count: int


def _define(w: Writer, y: Val, table: _Table) -> None:
    """Write the body of the function that `_far` calls, which computes the angles lane after lane."""
    count, type = lanes(y.type), y.type
    parts: tuple[Val, ...]
    if count == 1:
        parts = _angle(w, y, table)
    else:
        with w.loop(0, count, carried=[poison(type)] * 2) as lane:
            angle = _angle(w, w.extract(y, lane.index), table)
            lane.following = [w.insert(v, a, lane.index) for v, a in zip(lane.values, angle, strict=True)]
        parts = lane.results
    pair = f"{{ {type}, {type} }}"
    one = w.effect(pair, f"insertvalue {pair} poison, {parts[0]}, 0")
    w.ret(w.effect(pair, f"insertvalue {one}, {parts[1]}, 1"))
    w.finish()


def _angle(w: Writer, y: Val, table: _Table) -> tuple[Val, Val]:
    """The angle of one number, at most half a turn, in two parts."""
    double = w.convert("fpext", y, "double")
    word = pattern(w, double)
    exponent = w.binary("and", w.binary("lshr", word, integer(52)), integer(0x7FF))
    mantissa = w.binary("or", w.binary("and", word, integer((1 << 52) - 1)), integer(1 << 52))
    high, low = _fraction(w, mantissa, exponent, table)
    # Each part of the fraction is exact in 53 bits, but for the last bits of the second.
    turns = w.binary("fmul", w.convert("sitofp", w.binary("and", high, integer(-2048)), "double"), _power(-64, double))
    left = w.binary("or", w.binary("shl", w.binary("and", high, integer(2047)), integer(53)), w.binary("lshr", low, 11))
    more = w.binary("fmul", w.convert("uitofp", left, "double"), _power(-117, double))
    whole, rest = real(2 * math.pi, double), real(2.4492935982947064e-16, double)
    angle = w.binary("fmul", turns, whole)
    lost = w.fma(turns, whole, negative(w, angle))
    lost = w.fma(turns, rest, w.fma(more, whole, lost))
    sign = w.binary("and", word, integer(-1 << 63))
    endless = w.compare("eq", exponent, integer(0x7FF))
    parts = (as_float(w, w.binary("xor", pattern(w, part), sign), "double") for part in (angle, lost))
    angle, lost = (w.select(endless, real(math.nan, double), part) for part in parts)
    if y.type == "double":
        return angle, lost
    short = w.convert("fptrunc", angle, y.type)
    lacking = w.binary("fsub", angle, w.convert("fpext", short, "double"))
    return short, w.convert("fptrunc", w.binary("fadd", lacking, lost), y.type)


def _power(exponent: int, like: Val) -> Val:
    return real(2.0**exponent, like)


def _fraction(w: Writer, mantissa: Val, exponent: Val, table: _Table) -> tuple[Val, Val]:
    """128 bits of the turns behind the point, as two words; the first is signed: the fraction is at most a half.

    The mantissa is multiplied by 192 bits of the table. What lies in front of these makes whole turns; what lies behind
    is less than 2^-139 turns.
    """
    position = w.larger(w.add(w.sub(exponent, 1075), _LEAD), integer(0))
    first, by = w.binary("lshr", position, integer(6)), w.binary("and", position, integer(63))
    place = w.at(table.place, w.mul(w.smaller(first, table.count - 4), 8))
    words = [w.load("i64", w.at(place, 8 * k), 8) for k in range(4)]
    tops = [w.overloaded("fshl", a, b, by) for a, b in pairwise(words)]
    low = _product(w, mantissa, tops[2])
    middle = w.binary("add", _product(w, mantissa, tops[1]), w.binary("lshr", low, integer(64, "i128")))
    high = w.binary("mul", mantissa, tops[0])
    high = w.add(high, w.convert("trunc", w.binary("lshr", middle, integer(64, "i128")), "i64"))
    return high, w.convert("trunc", middle, "i64")


def _product(w: Writer, a: Val, b: Val) -> Val:
    return w.binary("mul", w.convert("zext", a, "i128"), w.convert("zext", b, "i128"))
