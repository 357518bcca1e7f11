"""Operations on floats that Vulkan leaves wider than the language, written out of those that it does not.

Vulkan promises that sums, differences and products of f32 are rounded right ("Precision and Operation of SPIR-V
Instructions"); quotients may be off by 2.5 ulp, roots by more, a fused multiplication and addition need not be fused,
and a remainder follows from the quotient. Quotients and roots are made exact in integers (`rounded`), products in
doubles where the device has them, else in pairs of floats whose sum is exact (Dekker 1971).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from girih.back.llvm.emit.text import Val, bits, floating, integer, zero
from girih.back.spirv.code.rounded import quotient_in_words, root_in_words

if TYPE_CHECKING:
    from girih.back.spirv.code.numbers import NumberRecording

_SIGNIFICANT = {"float": 24, "double": 53}
_EXPONENT_BIAS = {"float": 127, "double": 1023}


def _real(value: float, like: Val) -> Val:
    return floating(value, like.type)


def _pattern(w: NumberRecording, a: Val) -> Val:
    return w.convert("bitcast", a, f"i{bits(a.type)}")


def with_sign(w: NumberRecording, size: Val, x: Val) -> Val:
    """The magnitude of one float with the sign of another."""
    word = f"i{bits(x.type)}"
    sign = integer(-1 << bits(x.type) - 1, word)
    most = integer((1 << bits(x.type) - 1) - 1, word)
    kept = w.binary("and", _pattern(w, size), most)
    return w.convert("bitcast", w.binary("or", kept, w.binary("and", _pattern(w, x), sign)), x.type)


def saturated_sum(w: NumberRecording, a: Val, b: Val) -> Val:
    """The sum of two signed integers, the largest or smallest one where it is beyond that."""
    total = w.add(a, b)
    apart = w.binary("and", w.binary("xor", total, a), w.binary("xor", total, b))
    over = w.compare("slt", apart, integer(0, a.type))
    least, most = integer(-1 << bits(a.type) - 1, a.type), integer((1 << bits(a.type) - 1) - 1, a.type)
    return w.select(over, w.select(w.compare("slt", a, zero(a.type)), least, most), total)


def funnel(w: NumberRecording, high: Val, low: Val, by: Val) -> Val:
    """The high word of two words side by side, shifted left by fewer bits than a word has."""
    width = bits(high.type)
    rest = w.binary(
        "lshr", w.binary("lshr", low, integer(1, low.type)), w.binary("xor", by, integer(width - 1, by.type))
    )
    return w.binary("or", w.binary("shl", high, by), rest)


def quotient(w: NumberRecording, a: Val, b: Val) -> Val:
    """a / b, rounded once. Vulkan promises of doubles what it does of floats: they are of no use here."""
    if a.type == "double" or w.abilities.quotients:
        return w.computed("fdiv", (a, b), a.type)
    return w.routine("divide", (a.type,), (a, b), lambda x, y: quotient_in_words(w, x, y))


def root(w: NumberRecording, x: Val) -> Val:
    """The square root of x, rounded once."""
    if x.type == "double" or w.abilities.roots:
        return w.computed("sqrt", (x,), x.type)
    if w.abilities.double_roots:
        return w.routine("square_root", (x.type,), (x,), lambda y: _root_by_doubles(w, y))
    return w.routine("square_root", (x.type,), (x,), lambda y: root_in_words(w, y))


def _root_by_doubles(w: NumberRecording, x: Val) -> Val:
    """Rounded twice, which is rounding once: a double has more than twice the bits."""
    return w.convert("fptrunc", w.computed("sqrt", (w.convert("fpext", x, "double"),), "double"), x.type)


def fused(w: NumberRecording, a: Val, b: Val, c: Val) -> Val:
    """a b + c. Rounded once where the device can; else through doubles, or with the product as an exact pair."""
    if w.abilities.fused:
        return w.computed("fma", (a, b, c), a.type)
    if a.type == "float" and w.abilities.float64:
        return w.routine("fused", (a.type,), (a, b, c), lambda *xs: _fused_by_doubles(w, *xs))
    return w.routine("fused", (a.type,), (a, b, c), lambda *xs: _fused_by_pairs(w, *xs))


def _fused_by_doubles(w: NumberRecording, a: Val, b: Val, c: Val) -> Val:
    x, y, z = (w.convert("fpext", one, "double") for one in (a, b, c))
    product = w.binary("fmul", x, y)
    total = _sum_to_odd(w, product, z)
    return w.convert("fptrunc", total, a.type)


def _sum_to_odd(w: NumberRecording, a: Val, b: Val) -> Val:
    """The sum whose last bit is set if others were lost, so that rounding it again is right."""
    total = w.binary("fadd", a, b)
    lost = _lost(w, a, b, total)
    word = _pattern(w, total)
    one = integer(1, word.type)
    apart = w.binary("xor", word, _pattern(w, lost))
    step = w.binary("or", w.binary("ashr", apart, integer(bits(a.type) - 1, word.type)), one)
    even = w.compare("eq", w.binary("and", word, one), integer(0, word.type))
    inexact = w.compare("one", lost, _real(0.0, lost))
    odd = w.select(w.binary("and", even, inexact), w.add(word, step), word)
    return w.convert("bitcast", odd, a.type)


def _lost(w: NumberRecording, a: Val, b: Val, total: Val) -> Val:
    """What a sum lost in rounding (Knuth)."""
    other = w.binary("fsub", total, a)
    first = w.binary("fsub", a, w.binary("fsub", total, other))
    return w.binary("fadd", first, w.binary("fsub", b, other))


def _split(w: NumberRecording, a: Val) -> tuple[Val, Val]:
    """Two halves of a number, whose products with other halves are exact."""
    low_bits = _SIGNIFICANT[a.type] // 2 + (1 if a.type == "double" else 0)
    word = _pattern(w, a)
    high = w.convert("bitcast", w.binary("and", word, integer(-1 << low_bits, word.type)), a.type)
    return high, w.binary("fsub", a, high)


def product_pair(w: NumberRecording, a: Val, b: Val) -> tuple[Val, Val]:
    """The product and what it lost in rounding, exact where nothing overflows or becomes subnormal (Dekker)."""
    product = w.binary("fmul", a, b)
    (a1, a2), (b1, b2) = _split(w, a), _split(w, b)
    error = w.binary("fsub", w.binary("fmul", a1, b1), product)
    for x, y in ((a1, b2), (a2, b1), (a2, b2)):
        error = w.binary("fadd", error, w.binary("fmul", x, y))
    return product, error


def _fused_by_pairs(w: NumberRecording, a: Val, b: Val, c: Val) -> Val:
    """a b + c by the exact product; where that overflows or is tiny, plainly."""
    product, lost = product_pair(w, a, b)
    total = w.binary("fadd", product, c)
    rest = w.binary("fadd", _lost(w, product, c, total), lost)
    better = w.binary("fadd", total, rest)
    known = w.compare("oeq", w.binary("fsub", better, better), _real(0.0, better))
    return w.select(known, better, total)


def _normal(w: NumberRecording, x: Val) -> tuple[Val, Val]:
    """The bits of the magnitude, as of a normal number, and what was added to its exponent for that."""
    type, digits = x.type, _SIGNIFICANT[x.type]
    size = w.computed("fabs", (x,), type)
    small = w.compare("olt", size, _real(2.0 ** (2 - _EXPONENT_BIAS[type]), x))
    grown = w.select(small, w.binary("fmul", size, _real(2.0**digits, x)), size)
    return _pattern(w, grown), w.select(small, integer(digits, f"i{bits(type)}"), integer(0, f"i{bits(type)}"))


def _power(w: NumberRecording, exponent: Val, type: str) -> Val:
    """2 to an exponent of normal numbers."""
    biased = w.add(exponent, integer(_EXPONENT_BIAS[type], exponent.type))
    return w.convert("bitcast", w.binary("shl", biased, integer(_SIGNIFICANT[type] - 1, biased.type)), type)


def remainder(w: NumberRecording, a: Val, b: Val) -> Val:
    """What is left of a after b was taken away as often as it fits (C's fmod): exact."""
    return w.routine("remainder", (a.type,), (a, b), lambda x, y: _remainder(w, x, y))


def _remainder(w: NumberRecording, a: Val, b: Val) -> Val:
    """Long division of the mantissas, one bit for each step of the exponents."""
    type = a.type
    digits = _SIGNIFICANT[type] - 1
    size, divisor = (w.computed("fabs", (one,), type) for one in (a, b))
    (x, ax), (y, ay) = _normal(w, a), _normal(w, b)
    whole = x.type
    zeros, one, hidden = integer(0, whole), integer(1, whole), integer(1 << digits, whole)
    below = integer((1 << digits) - 1, whole)

    def parts(word: Val, added: Val) -> tuple[Val, Val]:
        exponent = w.sub(w.binary("lshr", word, integer(digits, whole)), added)
        return w.binary("or", w.binary("and", word, below), hidden), exponent

    (m, e), (n, f) = parts(x, ax), parts(y, ay)
    steps = w.sub(e, f)

    def body(values: tuple[Val, ...]) -> list[Val]:
        left, more = values
        reduced = w.select(w.compare("uge", left, n), w.sub(left, n), left)
        return [w.binary("shl", reduced, one), w.sub(more, one)]

    left, _ = w.repeat([m, steps], lambda values: w.compare("sgt", values[1], zeros), body)
    left = w.select(w.compare("uge", left, n), w.sub(left, n), left)
    # `left` counts units of the last place of b; both are converted exactly.
    unit = w.sub(f, integer(digits + _EXPONENT_BIAS[type], whole))
    number = w.convert("uitofp", left, type)
    half = w.binary("ashr", unit, one)
    scaled = w.binary("fmul", w.binary("fmul", number, _power(w, half, type)), _power(w, w.sub(unit, half), type))
    held = w.select(w.compare("olt", size, divisor), size, scaled)
    bad = w.negated(
        w.binary("and", w.compare("olt", size, _real(math.inf, a)), w.compare("ogt", divisor, _real(0.0, b)))
    )
    bad = w.binary("or", bad, w.compare("uno", b, b))
    held = w.select(bad, _real(math.nan, a), held)
    return with_sign(w, held, a)
