"""Sine and cosine of angles beyond the reach of `girih.back.llvm.numbers.angles`, in words of 32 bits.

A whole number of turns is taken away first: the angle is a mantissa times a power of two, and the mantissa times (1 /
2 pi shifted by that power) is computed in integers, of which only the fraction is kept (Payne and Hanek 1983). What is
left, at most half a turn, is carried in two parts, since both functions lose what it rounds off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from girih.back.llvm.emit.text import Val, bits, floating, integer
from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from girih.back.spirv.code.recorder import Recorder

WORD = 32
LEAD = 2 * WORD
"""Zeros in front of the tables, so that powers below 2^0 have their place in them."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A floating type: its fraction's bits, the bias of exponents, the words of a mantissa and of the product."""

    digits: int
    bias: int
    mantissa: int
    window: int
    highest: int
    """The largest power of two of a mantissa that is an integer."""


_FORMS = {"float": _Form(23, 127, 1, 4, 104), "double": _Form(52, 1023, 2, 6, 971)}

_TWO_PI = {
    "float": (6.2831854820251464844, -1.7484555314695172e-07),
    "double": (2 * math.pi, 2.4492935982947064e-16),
}
"""2 pi rounded to a type, and what that lacks."""

Turns = tuple[int, int]
"""A number below 1 that one unit is in turns: its first bits as an integer, and how many these are."""


def angle_of(w: Recorder, x: Val, name: str, turns: Turns) -> tuple[Val, Val]:
    """The angle of x units, at most half a turn, in two parts; NaN for infinities and NaN."""
    form = _FORMS[x.type]
    word = f"i{bits(x.type)}"
    held = w.convert("bitcast", x, word)
    exponent = w.convert("trunc", w.binary("and", w.binary("lshr", held, integer(form.digits, word)),
                                           integer(2 * form.bias + 1, word)), "i32")  # fmt: skip
    fraction = w.binary("and", held, integer((1 << form.digits) - 1, word))
    mantissa = w.binary("or", fraction, integer(1 << form.digits, word))
    position = w.add(exponent, integer(LEAD - form.bias - form.digits, "i32"))
    position = w.larger(w.smaller(position, integer(LEAD + form.highest, "i32")), integer(0, "i32"))
    window = _window(w, name, turns, form, position)
    product = _product(w, window, _words(w, mantissa, form.mantissa))
    high, low = _signed_turns(w, product, x.type)
    angle, lost = _in_radians(w, high, low)
    sign = w.binary("and", held, integer(-1 << bits(x.type) - 1, word))
    endless = w.compare("eq", exponent, integer(2 * form.bias + 1, "i32"))
    nothing = floating(math.nan, x.type)
    parts = [
        w.select(endless, nothing, w.convert("bitcast", w.binary("xor", w.convert("bitcast", one, word), sign), x.type))
        for one in (angle, lost)
    ]
    return parts[0], parts[1]


def _window(w: Recorder, name: str, turns: Turns, form: _Form, position: Val) -> list[Val]:
    """The words of the table from a bit on, first word first."""
    value, known = turns
    count = (LEAD + form.highest) // WORD + form.window + 2
    words = [_slice(value, known, LEAD, WORD * k) for k in range(count)]
    table = w.table(f"{name}_{form.window}", tuple(words))
    first = w.binary("lshr", position, integer(5, "i32"))
    by = w.binary("and", position, integer(31, "i32"))
    found = [w.table_word(table, w.add(first, integer(k, "i32"))) for k in range(form.window + 1)]
    return [w.overloaded("fshl", a, b, by) for a, b in pairwise(found)]


def _slice(value: int, known: int, lead: int, start: int) -> int:
    """A word of a fraction of `known` bits behind `lead` zeros."""
    shift = known + lead - start - WORD
    held = value >> shift if shift >= 0 else value << -shift
    return held & 0xFFFFFFFF


def _words(w: Recorder, value: Val, count: int) -> list[Val]:
    """The words of a number, the last one first."""
    if count == 1:
        return [value]
    high = w.convert("trunc", w.binary("lshr", value, integer(WORD, value.type)), "i32")
    return [w.convert("trunc", value, "i32"), high]


def _product(w: Recorder, window: Sequence[Val], mantissa: Sequence[Val]) -> list[Val]:
    """The product without what lies in front of the window, first word first."""
    count = len(window)
    total: list[Val] = [integer(0, "i32")] * count
    for shift, factor in enumerate(mantissa):
        carry = integer(0, "i32")
        for place in range(count - shift):
            word = window[count - 1 - place]
            low = w.mul(word, factor)
            high = w.computed("umulh", (word, factor), "i32") if place + shift + 1 < count else integer(0, "i32")
            at = place + shift
            first = w.add(total[at], low)
            over = w.convert("zext", w.compare("ult", first, low), "i32")
            second = w.add(first, carry)
            more = w.convert("zext", w.compare("ult", second, carry), "i32")
            total[at] = second
            carry = w.add(high, w.add(over, more))
    return total[::-1]


def _signed_turns(w: Recorder, words: Sequence[Val], type: str) -> tuple[Val, Val]:
    """A fraction of a turn as the sum of two floats, from -1/2 to 1/2."""
    negative = w.compare("slt", words[0], integer(0, "i32"))
    mask = w.select(negative, integer(-1, "i32"), integer(0, "i32"))
    # The magnitude, but for the last bit of all, which is far behind.
    size = [w.binary("xor", one, mask) for one in words]
    pieces: list[Val] = []
    step = 16 if type == "float" else 32
    for number, one in enumerate(size):
        parts = (
            [one]
            if step == 32
            else [w.binary("lshr", one, integer(16, "i32")), w.binary("and", one, integer(65535, "i32"))]
        )
        for inner, part in enumerate(parts):
            scale = floating(2.0 ** -(WORD * number + step * (inner + 1)), type)
            pieces.append(w.binary("fmul", w.convert("uitofp", part, type), scale))
    high, low = pieces[0], pieces[1]
    high, low = _sum(w, high, low)
    for piece in pieces[2:7]:
        rest, lost = _sum(w, low, piece)
        high, low = _sum(w, high, rest)
        low = w.binary("fadd", low, lost)
    return w.select(negative, w.negative(high), high), w.select(negative, w.negative(low), low)


def _sum(w: Recorder, a: Val, b: Val) -> tuple[Val, Val]:
    """A sum and what it lost in rounding, where the first is the larger, or anything (Knuth)."""
    total = w.binary("fadd", a, b)
    other = w.binary("fsub", total, a)
    first = w.binary("fsub", a, w.binary("fsub", total, other))
    return total, w.binary("fadd", first, w.binary("fsub", b, other))


def _in_radians(w: Recorder, high: Val, low: Val) -> tuple[Val, Val]:
    whole, rest = (floating(one, high.type) for one in _TWO_PI[high.type])
    angle = w.binary("fmul", high, whole)
    lost = w.fma(high, whole, w.negative(angle))
    lost = w.binary("fadd", lost, w.binary("fadd", w.binary("fmul", high, rest), w.binary("fmul", low, whole)))
    return _sum(w, angle, lost)
