"""What a compiled kernel prints: the memory for its records, and the lines that they stand for."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from girih.analysis.prints import HEADER_WORDS, MOST_LINES, PrintSite, prints_of, shown, words_of
from girih.arguments.printed import PrintedLine, PrintedLines, PrintedNumber, PrintedValue, line_of
from girih.arguments.scalars import DTYPES
from girih.back.llvm.lower.launch.slots import PRINT_HEADER_BYTES
from girih.ir.core import Function
from girih.ir.types import EIGHT_BIT_FLOATS, F64, PARTS, Boolean, CoopMatrix, Number, Type

__all__ = ["PrintRecords"]


class PrintRecords:
    """The records of one launch of a kernel, which writes them while it runs (`girih.back.llvm.cpu.printing`).

    They are in memory of this process, `words`, or in other memory of `size` bytes, the first eight of which are 0
    before the launch; then all that was written there goes into `words`. Raises `MemoryError` where there is no memory.
    """

    __slots__ = ("_sites", "_width", "words")

    def __init__(self, function: Function) -> None:
        prints = prints_of(function)
        self._sites = tuple(prints.sites.values())
        self._width = prints.record_words
        # Pages that no record reaches cost nothing.
        self.words: NDArray[np.int64] = np.empty(_FIRST_WORD + MOST_LINES * self._width, np.int64)
        self.words[0] = 0

    @property
    def address(self) -> int:
        """The address of the memory."""
        return int(self.words.ctypes.data)

    @property
    def size(self) -> int:
        """The bytes of the memory."""
        return self.words.nbytes

    @property
    def written(self) -> int:
        """The bytes of the memory that have something in them, which its first word tells."""
        return 8 * (_FIRST_WORD + min(int(self.words[0]), MOST_LINES) * self._width)

    def lines(self, grid: tuple[int, int, int]) -> PrintedLines:
        """The lines of a launch on a grid."""
        asked = int(self.words[0])
        kept = min(asked, MOST_LINES)
        lines = PrintedLines(MOST_LINES, asked - kept)
        for record in self.words[_FIRST_WORD:][: kept * self._width].reshape(kept, self._width).tolist():
            lines.add(_line(self._sites[record[0]], record, grid))
        return lines


_FIRST_WORD = PRINT_HEADER_BYTES // 8
"""The word of the memory at which the first record begins."""


def _line(site: PrintSite, record: list[int], grid: tuple[int, int, int]) -> PrintedLine:
    _, group, step, subgroup, lane = record[:HEADER_WORDS]
    x, y, _ = grid
    words = iter(record[HEADER_WORDS:])
    point = tuple(next(words) for _ in site.point)
    return line_of(
        (group % x, group // x % y, group // (x * y)),
        (group, step),
        site.op.text,
        [(value.type, _value(value.type, words)) for value in site.op.values],
        subgroup=None if site.of_work_group else subgroup,
        lane=lane if site.by_lane else None,
        point=point,
    )


def _value(type: Type, words: Iterator[int]) -> PrintedValue:
    """The value of a type that the next words are."""
    if isinstance(type, CoopMatrix):
        rows, columns = (shown(n) for n in type.shape)
        return [[_number(type.component, words) for _ in columns] for _ in rows]
    assert isinstance(type, Number | Boolean)
    return _number(type, words)


def _number(type: Number | Boolean, words: Iterator[int]) -> PrintedNumber:
    if isinstance(type, Number) and type.family != "integer":
        part = PARTS.get(type, type)
        parts = [_floating(part, next(words)) for _ in range(words_of(type))]
        return complex(*parts) if len(parts) == 2 else parts[0]
    return next(words)


def _floating(type: Number, word: int) -> float:
    """An f64, what a narrower type is computed in, an f32 in the low 4 bytes, or the bits of a float of eight bits."""
    if type in EIGHT_BIT_FLOATS:
        return float(np.array(word & 0xFF, np.uint8).view(DTYPES[type]))
    found: float = struct.unpack_from("=d" if type == F64 else "=f", struct.pack("=q", word))[0]
    return found
