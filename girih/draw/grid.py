"""Grids of cells for numbered elements: the lines of a large grid that are drawn, and the text of each drawn cell.

Lines (rows or columns) are int64 arrays of line numbers, ascending. Notes always name the lines that are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from girih.draw.picture import Axis, plural

Lines = NDArray[np.int64]

MOST_RANGES = 3
"""The number of ranges of left-out lines that are named; the others are only counted."""


def shown_lines(wanted: NDArray[np.int64], low: int, high: int, limit: int) -> Lines:
    """At most `limit` of the lines `low` to `high - 1`: all of them, or those around the lines wanted."""
    if high - low <= limit:
        return np.arange(low, high)
    lines = np.unique(wanted)
    if not len(lines):
        return np.arange(low, low + limit)
    first, last = int(lines[0]), int(lines[-1])
    if last - first >= limit:
        return lines[:limit]
    margin = min(1, (limit - (last - first + 1)) // 2)
    return np.arange(max(low, first - margin), min(high, last + 1 + margin))


def axis(name: str, lines: Lines, labels: Sequence[str] | None = None, every: int = 0) -> Axis:
    """The axis of these lines, labelled with their numbers; with `every`, a rule stands before its multiples."""
    texts = tuple(str(line) for line in lines.tolist()) if labels is None else tuple(labels)
    steps = np.flatnonzero(np.diff(lines) != 1) + 1
    rules = [place for place, line in enumerate(lines.tolist()) if every and place and line % every == 0]
    return Axis(name, texts, frozenset(steps.tolist()), frozenset(rules))


def left_out(what: str, lines: Lines, low: int, high: int) -> tuple[str, ...]:
    """The words for the lines of `low` to `high - 1` that are not among `lines`; none where all are."""
    if len(lines) == high - low:
        return ()
    edges = [low - 1, *lines.tolist(), high]
    holes = [(left + 1, right - 1) for left, right in pairwise(edges) if right - left > 1]
    named = [str(first) if first == last else f"{first}-{last}" for first, last in holes[:MOST_RANGES]]
    more = ", ..." if len(holes) > MOST_RANGES else ""
    return (f"{what}s {', '.join(named)}{more} of {low}-{high - 1} are not drawn",)


class Cells:
    """A grid under construction: every cell has a class and the numbers of the elements that share it."""

    def __init__(self, rows: Lines, columns: Lines, background: int) -> None:
        self.rows, self.columns = rows, columns
        self.code = np.full((len(rows), len(columns)), background, np.uint8)
        self.texts = [[""] * len(columns) for _ in range(len(rows))]
        self.samples: dict[bool, str] = {}
        """The meanings of the first shared cell with a run of numbers, and of the first with others."""

    def put(
        self, row: NDArray[np.int64], column: NDArray[np.int64], number: NDArray[np.int64], code: NDArray[np.uint8]
    ) -> None:
        """Enter elements at `(row, column)`; those on lines that are not drawn are left out.

        Of a cell with several elements the lowest code counts. Its label is the lowest number, `3-5` for a run,
        `3+2` for 3 and 2 others.
        """
        across, down = _positions(self.columns, column), _positions(self.rows, row)
        here = np.flatnonzero((across >= 0) & (down >= 0))
        cell = down[here] * len(self.columns) + across[here]
        order = np.lexsort((number[here], cell))
        cell, numbers, codes = cell[order], number[here][order], code[here][order]
        places, first, count = np.unique(cell, return_index=True, return_counts=True)
        lowest = np.minimum.reduceat(codes, first) if len(first) else codes
        self.code.reshape(-1)[places] = lowest
        for place, begin, many in zip(places.tolist(), first.tolist(), count.tolist(), strict=True):
            low, high = int(numbers[begin]), int(numbers[begin + many - 1])
            self.texts[place // len(self.columns)][place % len(self.columns)] = _label(low, high, many)
            if many > 1:
                self.samples.setdefault(high - low == many - 1, _meaning(low, high, many))

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The texts of all cells, row by row."""
        return tuple(tuple(row) for row in self.texts)

    def notes(self) -> tuple[str, ...]:
        """The words that explain labels which stand for several elements."""
        return tuple(self.samples.values())


def _positions(lines: Lines, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of each number among the lines, -1 for one that is not drawn."""
    if not len(lines):
        return np.full(wanted.shape, -1, np.int64)
    place = np.minimum(np.searchsorted(lines, wanted), len(lines) - 1)
    return np.where(lines[place] == wanted, place, -1).astype(np.int64)


def _label(low: int, high: int, many: int) -> str:
    if many == 1:
        return str(low)
    return f"{low}-{high}" if high - low == many - 1 else f"{low}+{many - 1}"


def _meaning(low: int, high: int, many: int) -> str:
    """A label that stands for several elements, in words."""
    if high - low == many - 1:
        return f"{_label(low, high, many)}: elements {low} to {high} share a place"
    return f"{_label(low, high, many)}: element {low} and {plural(many - 1, 'other')} share a place"
