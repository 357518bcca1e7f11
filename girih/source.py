"""Program texts and places in them.

A `Span` is a half-open range of code points in a `Source`; lines and columns are 1-based and counted in code points.
Nothing here knows the language.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple
from unicodedata import east_asian_width

TAB_WIDTH = 4


class Source:
    """A program text, the name that diagnostics report it under, and values that were given for its definitions."""

    def __init__(self, text: str, name: str = "<text>", definitions: Mapping[str, object] | None = None) -> None:
        self.text = text
        self.name = name
        self.definitions: Mapping[str, object] = definitions or {}

    def defined(self, definitions: Mapping[str, object]) -> Source:
        """The source for which values of definitions were given."""
        return Source(self.text, self.name, dict(definitions)) if definitions else self

    def __repr__(self) -> str:
        return f"Source({self.name!r}, {len(self.text)} characters)"

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        find = self.text.find
        newline = find("\n")
        while newline >= 0:
            starts.append(newline + 1)
            newline = find("\n", newline + 1)
        return starts

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """The 1-based line and column of the code point at `offset`, which counts from 0."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def start_of(self, number: int) -> int:
        """The offset of the first code point of line `number`, counted from 1. Raises `IndexError` past the last."""
        return self._line_starts[number - 1]

    def line(self, number: int) -> str:
        """The text of line `number`, counted from 1, without its line break. Raises `IndexError` past the last."""
        start = self.start_of(number)
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")


class Span(NamedTuple):
    """The code points `start` to `end - 1` of a source, counted from 0."""

    source: Source
    start: int
    end: int

    @property
    def file(self) -> str:
        """The name of the source."""
        return self.source.name

    @property
    def line(self) -> int:
        """The line of the first code point, from 1."""
        return self.source.line_and_column(self.start)[0]

    @property
    def column(self) -> int:
        """The column of the first code point, from 1."""
        return self.source.line_and_column(self.start)[1]

    @property
    def end_line(self) -> int:
        """The line of the code point after the last, from 1."""
        return self.source.line_and_column(self.end)[0]

    @property
    def end_column(self) -> int:
        """The column of the code point after the last, from 1."""
        return self.source.line_and_column(self.end)[1]

    @property
    def text(self) -> str:
        """The code points of the span."""
        return self.source.text[self.start : self.end]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def __repr__(self) -> str:
        return f"Span({self})"


NOWHERE = Span(Source("", "<built>"), 0, 0)
"""The span of IR that was built without a text."""


def display_width(text: str) -> int:
    """The terminal columns that a text takes: two for wide East Asian characters, `TAB_WIDTH` for tabs."""
    if text.isascii() and "\t" not in text:
        return len(text)
    return sum(TAB_WIDTH if c == "\t" else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def excerpt(span: Span, around: int = 160) -> tuple[str, str]:
    """The source line of a span and the carets under it; very long lines are cut around the span."""
    line = span.source.line(span.line)
    begin = min(span.column - 1, len(line))
    length = len(line) - begin if span.end_line > span.line else span.end - span.start
    cut = max(0, begin - around)
    before, under = line[cut:begin], line[begin : min(begin + length, cut + 3 * around)]
    shown = line[cut : cut + 3 * around]
    if cut:
        before, shown = "..." + before, "..." + shown
    if cut + 3 * around < len(line):
        shown += "..."
    shown = "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in shown)
    return shown.replace("\t", " " * TAB_WIDTH), " " * display_width(before) + "^" * max(1, display_width(under))
