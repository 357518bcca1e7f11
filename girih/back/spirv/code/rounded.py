"""Quotients and roots of f32 rounded once, without doubles: the device's guess, made exact in integers of 32 bits.

What the guess lacks is a difference of two numbers of about 50 bits. It is small, so that its low 32 bits are the whole
of it, and sums and products that wrap give these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.back.llvm.emit.text import Val, floating, integer
from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from girih.back.spirv.code.numbers import NumberRecording

WORD = "i32"
_FRACTION, _BIAS = 23, 127
_SIGN, _INFINITE, _HIDDEN = -1 << 31, 0xFF << _FRACTION, 1 << _FRACTION


def _number(value: int) -> Val:
    return integer(value, WORD)


@dataclass(frozen=True, slots=True)
class _Parts:
    """A number that is neither 0 nor infinite nor NaN, where it is `usual`: mantissa 2^(exponent - 23).

    The mantissa has 24 bits, of which the highest is set.
    """

    sign: Val
    mantissa: Val
    exponent: Val
    usual: Val

    @staticmethod
    def of(w: NumberRecording, x: Val) -> _Parts:
        """The parts of a float."""
        word = w.convert("bitcast", x, WORD)
        size = w.binary("and", word, _number(~_SIGN))
        field = w.binary("lshr", size, _number(_FRACTION))
        tiny = w.compare("eq", field, _number(0))
        fraction = w.binary("and", size, _number(_HIDDEN - 1))
        missing = w.sub(w.computed("ctlz", (fraction,), WORD), _number(31 - _FRACTION))
        missing = w.select(tiny, w.binary("and", missing, _number(31)), _number(0))
        mantissa = w.select(tiny, w.binary("shl", fraction, missing), w.binary("or", fraction, _number(_HIDDEN)))
        exponent = w.sub(w.sub(w.larger(field, _number(1)), _number(_BIAS)), missing)
        usual = w.binary("and", w.compare("sgt", size, _number(0)), w.compare("slt", size, _number(_INFINITE)))
        # What is computed of other numbers is not used; 1 divides.
        return _Parts(
            w.binary("and", word, _number(_SIGN)), w.select(usual, mantissa, _number(_HIDDEN)), exponent, usual
        )


def quotient_in_words(w: NumberRecording, a: Val, b: Val) -> Val:
    """The quotient of two floats."""
    x, y = _Parts.of(w, a), _Parts.of(w, b)
    guess = w.computed("fdiv", (_float(w, x.mantissa), _float(w, y.mantissa)), a.type)
    digits = 25
    held = w.convert("fptosi", w.binary("fmul", guess, floating(2.0**digits, a.type)), WORD)
    left = w.sub(w.binary("shl", x.mantissa, _number(digits)), w.mul(held, y.mantissa))
    more = w.computed("sdiv", (left, y.mantissa), WORD)
    held, left = w.add(held, more), w.sub(left, w.mul(more, y.mantissa))
    below = w.compare("slt", left, _number(0))
    held = w.select(below, w.sub(held, _number(1)), held)
    word = _with_rest(w, held, w.compare("ne", left, _number(0)))
    sign = w.binary("xor", x.sign, y.sign)
    made = _packed(w, word, w.sub(x.exponent, y.exponent), sign)
    plain = w.computed("fdiv", (a, b), a.type)
    return w.select(w.binary("and", x.usual, y.usual), made, plain)


def root_in_words(w: NumberRecording, a: Val) -> Val:
    """The square root of a float."""
    x = _Parts.of(w, a)
    odd = w.binary("and", x.exponent, _number(1))
    # A number of 25 or 26 bits times 2 to an even power.
    mantissa = w.binary("shl", x.mantissa, w.add(odd, _number(1)))
    guess = w.computed("sqrt", (_float(w, mantissa),), a.type)
    held = w.convert("fptosi", w.binary("fmul", guess, floating(2.0**12, a.type)), WORD)
    square = w.binary("shl", mantissa, _number(24))
    for _ in range(2):
        more = w.computed("sdiv", (w.sub(square, w.mul(held, held)), w.add(held, held)), WORD)
        held = w.add(held, more)
    held = w.select(w.compare("slt", w.sub(square, w.mul(held, held)), _number(0)), w.sub(held, _number(1)), held)
    left = w.sub(square, w.mul(held, held))
    more = w.compare("sgt", left, w.add(held, held))
    left = w.select(more, w.sub(left, w.add(w.add(held, held), _number(1))), left)
    held = w.select(more, w.add(held, _number(1)), held)
    word = w.binary("shl", _with_rest(w, held, w.compare("ne", left, _number(0))), _number(1))
    exponent = w.binary("ashr", w.sub(x.exponent, odd), _number(1))
    made = _packed(w, word, exponent, _number(0))
    positive = w.compare("eq", x.sign, _number(0))
    return w.select(w.binary("and", x.usual, positive), made, w.computed("sqrt", (a,), a.type))


def _float(w: NumberRecording, mantissa: Val) -> Val:
    """A number of at most 24 bits before its zeros, which a float holds."""
    return w.convert("sitofp", mantissa, "float")


def _with_rest(w: NumberRecording, held: Val, inexact: Val) -> Val:
    """A number with one more bit, which is set if there is more."""
    return w.binary("or", w.binary("shl", held, _number(1)), w.convert("zext", inexact, WORD))


def _packed(w: NumberRecording, word: Val, exponent: Val, sign: Val) -> Val:
    """The float next to word 2^(exponent - 26), of a word of 26 or 27 bits whose last one stands for all behind it."""
    short = w.compare("slt", word, _number(1 << 26))
    word = w.select(short, w.binary("shl", word, _number(1)), word)
    biased = w.add(w.select(short, w.sub(exponent, _number(1)), exponent), _number(_BIAS))
    field = w.larger(biased, _number(1))
    dropped = w.smaller(w.add(w.sub(field, biased), _number(3)), _number(29))
    kept = w.binary("lshr", word, dropped)
    half = w.binary("shl", _number(1), w.sub(dropped, _number(1)))
    rest = w.sub(word, w.binary("shl", kept, dropped))
    even = w.compare("eq", w.binary("and", kept, _number(1)), _number(0))
    least = w.select(even, w.add(half, _number(1)), half)
    kept = w.add(kept, w.convert("zext", w.compare("sge", rest, least), WORD))
    size = w.add(kept, w.binary("shl", w.sub(field, _number(1)), _number(_FRACTION)))
    size = w.select(w.compare("sgt", field, _number(254)), _number(_INFINITE), size)
    return w.convert("bitcast", w.binary("or", size, sign), "float")
