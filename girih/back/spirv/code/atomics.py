"""Atomic accesses to elements of 8 and 16 bits, which SPIR-V has not: by the word of 32 bits around them.

Memory is whole words: launches give buffers a size that is a multiple of 4 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from girih.back.llvm.emit.text import Val, bits, integer
from girih.back.spirv.code.memory import MemoryKind
from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from girih.back.spirv.code.recorder import Recorder

WORD = "i32"
_COMPARED = {"smin": "slt", "smax": "sgt", "umin": "ult", "umax": "ugt"}
_ANY_ORDER = ("add", "and", "or", "xor")


@dataclass(frozen=True, slots=True)
class WordAround:
    """The word around an element: where it is, and the number of bits below the element."""

    pointer: Val
    below: Val
    type: str

    @staticmethod
    def of(w: Recorder, pointer: Val, type: str) -> WordAround:
        """The word around the element at a place."""
        place = w.place(pointer)
        begin = place.offset
        if place.memory.kind is MemoryKind.ADDRESS:
            assert place.address is not None
            begin = w.add(place.address, place.offset)
        within = w.binary("and", w.convert("trunc", begin, WORD), integer(3, WORD))
        word = w.binary("and", begin, integer(-4, begin.type))
        moved = replace(place, offset=word)
        if place.memory.kind is MemoryKind.ADDRESS:
            moved = replace(place, offset=integer(0), address=word)
        return WordAround(w.pointer(moved), w.binary("shl", within, integer(3, WORD)), type)

    def element(self, w: Recorder, word: Val) -> Val:
        """The element in a word."""
        return w.convert("trunc", w.binary("lshr", word, self.below), self.type)

    def with_element(self, w: Recorder, word: Val, element: Val) -> Val:
        """A word with another element."""
        mask = w.binary("shl", integer((1 << bits(self.type)) - 1, WORD), self.below)
        others = w.binary("and", word, w.binary("xor", mask, integer(-1, WORD)))
        return w.binary("or", others, w.binary("shl", w.convert("zext", element, WORD), self.below))


def access_in_word(
    w: Recorder, operation: str, pointer: Val, type: str, values: Sequence[Val], scope: str, ordering: str
) -> Val:
    """The value from before of an atomic access, for a store nothing of use.

    `compare_exchange` may fail though the value was as expected, when another element of the word has changed.
    """
    around = WordAround.of(w, pointer, type)
    first = w.atomic("load", around.pointer, WORD, (), scope, ordering if operation == "load" else "")
    if operation == "load":
        return around.element(w, first)
    if operation == "compare_exchange":
        expected, new = (around.with_element(w, first, one) for one in values)
        old = w.atomic("compare_exchange", around.pointer, WORD, (expected, new), scope, ordering)
        found = around.element(w, old)
        w.replaced(found, w.compare("eq", old, expected))
        return found

    def again(carried: tuple[Val, ...]) -> list[Val]:
        guess, _ = carried
        new = around.with_element(w, guess, _combined(w, operation, around.element(w, guess), values[0]))
        old = w.atomic("compare_exchange", around.pointer, WORD, (guess, new), scope, ordering)
        return [old, w.compare("ne", old, guess)]

    last, _ = w.repeat([first, integer(1, "i1")], lambda carried: carried[1], again)
    return around.element(w, last)


def _combined(w: Recorder, operation: str, old: Val, value: Val) -> Val:
    """What stands in place of an old value after an operation."""
    if operation in _COMPARED:
        return w.select(w.compare(_COMPARED[operation], value, old), value, old)
    return w.binary(operation, old, value) if operation in _ANY_ORDER else value
