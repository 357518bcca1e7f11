"""The remainder of floats, exact and with the sign of the dividend, as LLVM values of `float` or `double`.

It is what C's `fmod` gives, by long division of the mantissas in integers of 64 bits: of a `float`, 40 bits of the
quotient at a time, of a `double` 11.
"""

from __future__ import annotations

import math

from girih.back.llvm.emit.text import Val, bits, floating, integer, mangled
from girih.back.llvm.emit.writer import Writer

_DIGITS = {"float": 23, "double": 52}
"""The bits of a fraction, by the type."""
_WORD = 64


def remainder(w: Writer, a: Val, b: Val) -> Val:
    """The remainder of two scalars, by a function of the module: NaN for a divisor 0 and an infinite dividend."""
    name = f"girih.remainder.{mangled(a.type)}"
    if name not in w.module.helpers:
        w.module.helpers.add(name)
        inlined = "noinline" if w.module.calls else "alwaysinline"
        header = f"define internal {a.type} @{name}({a.type} %a, {a.type} %b) {inlined} nounwind"
        _define(Writer(w.module, header), Val("%a", a.type), Val("%b", a.type))
    return w.pure(a.type, f"call {a.type} @{name}({a}, {b})", (a, b))


def _define(w: Writer, a: Val, b: Val) -> None:
    digits, width = _DIGITS[a.type], bits(a.type)
    word = f"i{width}"
    most = integer((1 << width - 1) - 1, word)
    endless = integer(((1 << width - 1 - digits) - 1) << digits, word)
    dividend = w.convert("bitcast", a, word)
    x, y = w.binary("and", dividend, most), w.binary("and", w.convert("bitcast", b, word), most)
    sign = w.binary("xor", dividend, x)
    undefined = w.binary("or", w.compare("uge", x, endless), w.compare("ugt", y, endless))
    undefined = w.binary("or", undefined, w.compare("eq", y, integer(0, word)))

    def divided() -> list[Val]:
        return [w.binary("or", _divided(w, x, y, digits), sign)]

    smaller = w.compare("ult", x, y)
    (found,) = w.either(w.binary("or", undefined, smaller), lambda: [dividend], divided)
    w.ret(w.select(undefined, floating(math.nan, a.type), w.convert("bitcast", found, a.type)))
    w.finish()


def _divided(w: Writer, x: Val, y: Val, digits: int) -> Val:
    """The bits of the remainder of positive finite numbers, given by theirs, where the first is not the smaller one."""
    word = x.type
    (r, high), (m, low) = _parts(w, x, digits), _parts(w, y, digits)
    at_once = _WORD - digits - 1
    first = w.binary("urem", r, m)

    def step(values: tuple[Val, ...]) -> list[Val]:
        rest, left = values
        count = w.smaller(left, integer(at_once))
        return [w.binary("urem", w.binary("shl", rest, count), m), w.sub(left, count)]

    rest, _ = w.repeat([first, w.sub(high, low)], lambda values: w.compare("sgt", values[1], integer(0)), step)
    # Normalised, as far as the exponent of the divisor allows.
    zeros = w.intrinsic("llvm.ctlz.i64", "i64", rest, integer(0, "i1"))
    moved = w.smaller(w.sub(zeros, integer(_WORD - 1 - digits)), w.sub(low, 1))
    held = w.add(w.binary("shl", rest, moved), w.binary("shl", w.sub(w.sub(low, 1), moved), integer(digits)))
    held = w.select(w.compare("eq", rest, integer(0)), integer(0), held)
    return held if word == "i64" else w.convert("trunc", held, word)


def _parts(w: Writer, held: Val, digits: int) -> tuple[Val, Val]:
    """The mantissa of a number as an integer, and its exponent from 1 on, both `i64`."""
    wide = held if held.type == "i64" else w.convert("zext", held, "i64")
    exponent = w.binary("lshr", wide, integer(digits))
    fraction = w.binary("and", wide, integer((1 << digits) - 1))
    normal = w.compare("ne", exponent, integer(0))
    mantissa = w.select(normal, w.binary("or", fraction, integer(1 << digits)), fraction)
    return mantissa, w.larger(exponent, integer(1))
