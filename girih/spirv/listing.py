"""The text of a module with the places of its instructions and operands, and the words that such a text consists of.

A word of a text ends at a blank, a comma, a parenthesis or a comment; a string in quotes is a part of its word, blanks
and all, and a backslash takes the next character as it is (as spirv-as reads it).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from girih.source import Source, Span
from girih.spirv.grammar import grammar
from girih.spirv.instruction import words_of
from girih.spirv.literals import unquoted

_LEXEME = re.compile(
    r';[^\n]*|(?:[^ \t\r\n;,()"\\]|\\.|"[^"\\]*(?:\\.[^"\\]*)*")+|[,()]|["\\]',
    re.DOTALL,
)

UNKNOWN = "OpUnknown"
"""The name that stands for an instruction given by its opcode and its number of words: `OpUnknown(4711, 3) !1 !2`."""


class Lexeme(NamedTuple):
    """A word of a text and where it begins. A quote or a backslash alone is one that nothing ends."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset of the code point after the last."""
        return self.start + len(self.text)


def lexemes(text: str, start: int = 0, end: int | None = None) -> Iterator[Lexeme]:
    """The words of a text, or of a part of it, without comments. What follows a quote that nothing ends is left out.

    Words go on with the line after such a quote, so that more than the first mistake can be told.
    """
    at, stop = start, len(text) if end is None else end
    while at < stop:
        for found in _LEXEME.finditer(text, at, stop):
            word = found.group()
            if word[0] == ";":
                continue
            yield Lexeme(word, found.start())
            if word in ('"', "\\"):
                break
        else:
            return
        line_end = text.find("\n", found.start(), stop)
        at = stop if line_end < 0 else line_end


def begins_instruction(word: str) -> bool:
    """Whether a word is the name of an opcode by its form: `Op` and a capital letter."""
    return word[:2] == "Op" and "A" <= word[2:3] <= "Z"


class Listing:
    """A text of a module, written by a user or by the disassembler, with the places of the instructions in it.

    `places` has the range of code points of each instruction. Instructions in `wide` have numbers of two words.
    """

    def __init__(self, source: Source, places: Sequence[tuple[int, int]], wide: frozenset[int] = frozenset()) -> None:
        self.source = source
        self._places = places
        self._wide = wide

    def __repr__(self) -> str:
        return f"<listing {self.source.name}: {len(self._places)} instructions>"

    @property
    def text(self) -> str:
        """The text as a whole."""
        return self.source.text

    def span(self, index: int) -> Span:
        """The place of an instruction, from its result or opcode to its last operand."""
        return Span(self.source, *self._places[index])

    def operand_span(self, index: int, word: int) -> Span:
        """The place of the operand with a word of an instruction, counted from 0 after the first word.

        That of the opcode for -1, that of the whole instruction for a word which no operand has.
        """
        start, end = self._places[index]
        for place, first, count in self._operands(list(lexemes(self.text, start, end)), index in self._wide):
            if first <= word < first + count:
                return Span(self.source, place.start, place.end)
        return self.span(index)

    def _operands(self, words: list[Lexeme], is_wide: bool) -> Iterator[tuple[Lexeme, int, int]]:
        """The words of the text of an instruction, each with its first word in the module and their number."""
        at, result = -1, None
        if len(words) > 2 and words[1].text == "=":
            result, words = words[0], words[2:]
        yield words[0], at, 1
        rest = words[6:] if words[0].text == UNKNOWN else words[1:]
        at += 1
        result_word = _result_word(words[0].text) if result else -1
        for place in rest:
            if result and at == result_word:
                yield result, at, 1
                at += 1
            count = _words(place.text, is_wide)
            yield place, at, count
            at += count
        if result and at <= result_word:
            yield result, result_word, 1


def _result_word(opcode: str) -> int:
    known = grammar().codes.get(opcode)
    spec = grammar().opcode(known) if known is not None else None
    return int(spec is not None and spec.has_result_type)


def _words(text: str, is_wide: bool) -> int:
    """The number of words that an operand takes."""
    if text[0] == '"':
        return len(words_of(unquoted(text) or ""))
    return 2 if is_wide and text[0] in "+-.0123456789" else 1
