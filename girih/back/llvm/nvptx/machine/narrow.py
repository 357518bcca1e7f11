"""Integers of 8 and 16 bits as floats, by arithmetic: a GPU has more units for that than for conversions.

A whole number from 0 on, put below the leading bit of a power of two, is a float that is larger than it by that power,
exactly. What was added to a number before is then taken from that power, where it cannot have wrapped around: weights
of a few bits are masked, and moved around zero. Where a number is known to be some bits of a word, these stay where
they are in it, and the power is the one whose bits count as much there: one instruction then takes them out.
"""

from __future__ import annotations

from dataclasses import field

from girih.back.llvm.emit.text import Val, bits, floating, integer, lanes
from girih.back.llvm.emit.writer import Writer
from girih.lazy_dataclass import dataclass

_FRACTION, _BIAS = 23, 127
"""The bits of a float below its leading one, and the bias of its exponent."""
_HALF_WORD = 16
_MASKED_AND_FLIPPED = "lop3.b32 $0, $1, $2, $3, 0x6A;"
"""(a and b) xor c (PTX ISA "lop3")."""


@dataclass(frozen=True, slots=True)
class BitsOfWord:
    """The `count` bits of an i32 from bit `first` on, which are the low bits of a number."""

    word: Val
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class MovedNumber:
    """A number that is `base`, from 0 to `most`, plus `distance`; `source` has the bits of the base, where known."""

    base: Val
    most: int
    distance: int
    source: BitsOfWord | None = None


@dataclass(slots=True)
class NarrowNumbers:
    """What is known of integers of 8 and 16 bits of a function, by their names."""

    moved: dict[str, MovedNumber] = field(default_factory=dict)
    sources: dict[str, BitsOfWord] = field(default_factory=dict)

    def byte(self, w: Writer, word: Val, number: int) -> Val:
        """A byte of an i32, the lowest one being number 0."""
        made = w.convert("trunc", w.binary("lshr", word, integer(8 * number, "i32")), "i8")
        if made.literal is None:
            self.sources[made.text] = BitsOfWord(word, 8 * number, 8)
        return made

    def note(self, opcode: str, a: Val, b: Val, made: Val) -> None:
        """Note what an instruction makes of two numbers: a shift, a mask, or a distance from what was masked."""
        if made.literal is not None:
            return
        source, number = (b, a.literal) if b.literal is None and opcode in ("and", "add") else (a, b.literal)
        if number is None:
            return
        bits_ = self.sources.get(source.text)
        if opcode in ("lshr", "ashr") and bits_ is not None and 0 <= number < bits_.count:
            self.sources[made.text] = BitsOfWord(bits_.word, bits_.first + number, bits_.count - number)
        elif opcode == "and" and number >= 0:
            whole = bits_ is not None and number & (number + 1) == 0 and number.bit_length() <= bits_.count
            self.moved[made.text] = MovedNumber(made, number, 0, bits_ if whole else None)
        elif opcode in ("add", "sub") and source.text in self.moved:
            before, half = self.moved[source.text], 1 << bits(made.type) - 1
            distance = before.distance + (number if opcode == "add" else -number)
            if -half <= distance and before.most + distance < half:
                self.moved[made.text] = MovedNumber(before.base, before.most, distance, before.source)

    def as_float(self, w: Writer, a: Val) -> Val:
        """A number as a `float`."""
        half = 1 << bits(a.type) - 1
        moved, source = self.moved.get(a.text), self.sources.get(a.text)
        if moved is not None and moved.source is not None:
            return _taken_out(w, moved.source, moved.most, 0, moved.distance)
        if source is not None and source.count == bits(a.type):
            return _taken_out(w, source, 2 * half - 1, half, -half)
        if moved is None:
            moved = MovedNumber(w.binary("xor", a, integer(-half, a.type)), 2 * half - 1, -half)
        wide = w.binary("or", w.convert("zext", moved.base, "i32"), _power(_FRACTION))
        return _without(w, wide, _FRACTION, moved.distance)


def is_narrow(type: str) -> bool:
    """Whether a type is that of one integer of 8 or 16 bits."""
    return type in ("i8", "i16") and lanes(type) == 1


def _power(exponent: int) -> Val:
    """The bits of a power of two as a float."""
    return integer((_BIAS + exponent) << _FRACTION, "i32")


def _taken_out(w: Writer, source: BitsOfWord, mask: int, flipped: int, distance: int) -> Val:
    """Some bits of a word, of which some are flipped, as a float that is so far from them."""
    word, first = source.word, source.first
    if first + mask.bit_length() > _FRACTION:
        word, first = w.binary("lshr", word, integer(_HALF_WORD, "i32")), first - _HALF_WORD
    exponent = _FRACTION - first
    power = integer((_power(exponent).literal or 0) ^ flipped << first, "i32")
    operands = word, integer(mask << first, "i32"), power
    held = w.pure("i32", f'call i32 asm "{_MASKED_AND_FLIPPED}", "=r,r,n,r"({", ".join(map(str, operands))})', operands)
    return _without(w, held, exponent, distance)


def _without(w: Writer, held: Val, exponent: int, distance: int) -> Val:
    """The bits of a float, less a power of two, and so far from there."""
    return w.binary("fsub", w.convert("bitcast", held, "float"), floating(float(2**exponent - distance), "float"))
