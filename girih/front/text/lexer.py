"""The lexer: from characters to tokens, one at a time, on demand (003 "Core rules").

The parser drives: it may ask for the current token to be split, since `f32x4x8` is one word for the lexer and five
tokens where a shape is meant. White space and comments separate tokens and mean nothing else.
"""

from __future__ import annotations

import re

from girih.ir.core import STRING_CHARACTERS
from girih.source import Source, Span

SKIP = re.compile(r"(?:[ \t\r\n\f\v]+|;[^\n]*)+")

BYTE_ORDER_MARK = "\ufeff"
"""What some editors put in front of a text; it means nothing."""

_HEX = r"[0-9A-Fa-f]"
_TOKEN = re.compile(
    rf"""
      (?P<local>   %(?:[A-Za-z][A-Za-z0-9_]*|[0-9]+))
    | (?P<word>    [A-Za-z][A-Za-z0-9_]*)
    | (?P<modifier>\.(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+x[0-9]+)\b)
    | (?P<float>   [+-]?0[xX](?:(?:{_HEX}*\.{_HEX}+|{_HEX}+\.)(?:[pP][+-]?[0-9]+)?|{_HEX}+[pP][+-]?[0-9]+)
                 | [+-]?(?:[0-9]*\.[0-9]+|[0-9]+\.)(?:[eE][+-]?[0-9]+)?
                 | [+-]?[0-9]+[eE][+-]?[0-9]+
                 | [+-](?:inf|nan)\b)
    | (?P<integer> [+-]?[0-9]+)
    | (?P<punctuation> -> | <= | [{{}}()\[\]<>,:=?*/^%+-])
    | (?P<global>  @(?:[A-Za-z][A-Za-z0-9_]*|[0-9]+))
    | (?P<definition> \$(?:[A-Za-z][A-Za-z0-9_]*|[0-9]+))
    | (?P<string>  "{STRING_CHARACTERS}")
    | (?P<calc>    !calc\b)
    """,
    re.VERBOSE | re.ASCII,
)

LOCAL, WORD, FLOAT, INTEGER, MODIFIER, PUNCTUATION, GLOBAL, DEFINITION, STRING, CALC = (
    "local", "word", "float", "integer", "modifier", "punctuation", "global", "definition", "string", "calc",
)  # fmt: skip
END, BAD = "end", "bad"

_FOREIGN_WORD = re.compile(r"\w{1,80}", re.ASCII)
_BAD_RUN = re.compile(r"[^\sA-Za-z0-9%@$;{}()\[\]<>,:=?.]+")


class Lexer:
    """The current token of a source: `kind`, `text`, `start`, `end`; `previous_end` is where the last one ended."""

    __slots__ = ("end", "first", "kind", "previous_end", "source", "start", "string", "text")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.string = source.text
        self.first = self.end = int(self.string.startswith(BYTE_ORDER_MARK))
        self.advance()

    def advance(self) -> None:
        """Go to the next token."""
        self.previous_end = self.end
        self._lex(self.end)

    def _lex(self, position: int) -> None:
        string = self.string
        skipped = SKIP.match(string, position)
        if skipped is not None:
            position = skipped.end()
        match = _TOKEN.match(string, position)
        self.start = position
        if match is not None:
            self.kind = match.lastgroup or BAD
            self.text = match.group()
            self.end = match.end()
        elif position >= len(string):
            self.kind, self.text, self.end = END, "", position
        else:
            run = _BAD_RUN.match(string, position)
            self.end = run.end() if run else position + 1
            self.kind, self.text = BAD, string[position : self.end]

    def split(self, length: int) -> None:
        """Cut the current token to its first `length` characters; the others are read again."""
        self.text = self.text[:length]
        self.end = self.start + length

    def jump(self, end: int) -> None:
        """Treat everything from the current token to a position as one token, and continue after it."""
        self.end = end
        self.advance()

    @property
    def span(self) -> Span:
        return Span(self.source, self.start, self.end)

    def since(self, start: int) -> Span:
        """The span from a position to the end of the last token that was taken."""
        return Span(self.source, start, max(start, self.previous_end))

    @property
    def word(self) -> str:
        """The letters, digits and `_` from the current token on, as other languages read a word."""
        match = _FOREIGN_WORD.match(self.string, self.start)
        return match.group() if match else ""

    @property
    def starts_line(self) -> bool:
        """Whether no other token stands before this one on its line."""
        return self.previous_end == self.first or "\n" in self.string[self.previous_end : self.start]
