"""The page of a picture, with all its places: panels from left to right, then below; title above, legend below.

A page is a list of marks: cells, lines and words with their places, which `girih.draw.vector` writes as SVG and
`girih.draw.paper` draws with matplotlib. Lengths are in inches, y points down. Cells are equally large, words never
overlap, and a picture is no wider than a column of text wherever its cells allow it, so that its words can be read
there.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from girih.draw.picture import INK, Axis, Look, Panel, Picture, PictureFrame
from girih.lazy_dataclass import dataclass

CELL_HEIGHT, CELL_WIDTH, GAP = 0.26, 0.30, 0.16
"""The height and the width of a cell, and the space where lines are left out, in inches."""
NARROW_CELL = 0.19
"""The width of the narrowest cell in inches, where many are side by side."""
MARGIN, BETWEEN = 0.2, 0.45
"""The space around the picture, and between panels, in inches."""
WIDEST, NARROWEST = 7.66 - 2 * MARGIN, 3.0
"""The inches after which panels continue below, so that a page has 736 pixels; and those of the smallest panel."""
LEAST = 5.5
"""The width of the narrowest picture in inches; a long title widens it."""
GLYPH, LINE = 0.6 / 72, 1.45 / 72
"""The width of a character (DejaVu Sans, a generous average), and the step of lines, in inches at a size of 1 point."""
DIGIT = 0.65 / 72
"""The width of a digit in inches at a size of 1 point; digits are wider than the average."""
BOLD = 0.95
"""The share of a width that words in bold may use, since they are wider."""
TITLE, FACT, HEAD, NOTE, LABEL, TICK = 12.0, 9.0, 10.0, 8.0, 7.5, 7.5
"""Sizes of words in points; the smallest are 10 pixels."""
SOFT, EDGE, RULE, FRAME = "#5b6876", "#b4bcc5", "#3d4a57", "#c0392b"
"""Colours of minor words, edges of cells, rules between blocks, and frames."""

BRACKETS, HARD_SPACE = re.compile(r"\([^()]*\)"), "\N{NO-BREAK SPACE}"

Box = tuple[float, float, float, float]
"""The left side, the top, the width and the height, in inches."""
Segment = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class FilledCells:
    """Boxes of one class."""

    look: Look
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Outlines:
    """The thin edges of boxes."""

    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Strokes:
    """Lines of one colour; `width` in points."""

    segments: tuple[Segment, ...]
    colour: str
    width: float
    is_dashed: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """A line of text; y is its middle, x the side of `align`: left, center or right. `size` in points."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    align: str = "left"
    is_bold: bool = False
    is_italic: bool = False


Mark = FilledCells | Outlines | Strokes | Words


@dataclass(frozen=True, slots=True)
class Page:
    """A picture with every place decided."""

    width: float
    height: float
    marks: tuple[Mark, ...]


def page_of(picture: Picture) -> Page:
    """The page of a picture, as large as it needs to be."""
    plan = _PagePlan(picture)
    return Page(plan.width, plan.height, tuple(plan.marks()))


@dataclass(frozen=True)
class _SizedPanel:
    """A panel with its measures: the beginning and end of each line, in inches from the corner of its cells."""

    panel: Panel
    rows: tuple[tuple[float, float], ...]
    columns: tuple[tuple[float, float], ...]
    left: float
    title: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, panel: Panel, left: float, width: float) -> _SizedPanel:
        """The measures of a panel whose cells begin at `left` inches and are `width` wide."""
        rows, columns = _ends(panel.rows, CELL_HEIGHT), _ends(panel.columns, width)
        wide = max(left + columns[-1][1], NARROWEST)
        return cls(panel, rows, columns, left, _wrapped((panel.title,), HEAD, wide), _wrapped(panel.notes, NOTE, wide))

    @property
    def top(self) -> float:
        """The inches from the top of the title to the cells."""
        return len(self.title) * HEAD * LINE + 2 * TICK * LINE + 0.12

    @property
    def width(self) -> float:
        words = max((len(line) * GLYPH * HEAD for line in self.title), default=0.0)
        return max(self.left + self.columns[-1][1], min(words, NARROWEST))

    @property
    def height(self) -> float:
        return self.top + self.rows[-1][1] + 0.08 + len(self.notes) * NOTE * LINE

    def marks(self, x: float, y: float) -> Iterator[Mark]:
        """The marks of the panel, its corner at (x, y)."""
        yield from _lines(x, y, self.title, HEAD, is_bold=True)
        left, top = x + self.left, y + self.top
        boxes = [[_box(row, column, left, top) for column in self.columns] for row in self.rows]
        for number, look in enumerate(self.panel.looks):
            cells = np.argwhere(self.panel.code == number).tolist()
            if cells:
                yield FilledCells(look, tuple(boxes[row][column] for row, column in cells))
        yield Outlines(tuple(box for row in boxes for box in row))
        yield from self._rules(left, top)
        for row, texts in enumerate(self.panel.labels):
            for column, text in enumerate(texts):
                if text:
                    x0, y0, wide, high = boxes[row][column]
                    ink = self.panel.looks[self.panel.code[row, column]].ink
                    yield Words(x0 + wide / 2, y0 + high / 2, text, LABEL, ink, "center")
        yield from self._ticks(left, top)
        for frame in self.panel.frames:
            yield _frame(frame, self._around(frame, left, top))
        yield from _lines(x, top + self.rows[-1][1] + 0.08, self.notes, NOTE, SOFT, is_italic=True)

    def _around(self, frame: PictureFrame, left: float, top: float) -> Box:
        """The box of a frame."""
        rows = (self.rows[frame.top][0], self.rows[frame.bottom - 1][1])
        return _box(rows, (self.columns[frame.left][0], self.columns[frame.right - 1][1]), left, top)

    def _rules(self, left: float, top: float) -> Iterator[Mark]:
        """The thick lines between blocks."""
        bottom, right = top + self.rows[-1][1], left + self.columns[-1][1]
        across = [top + self.rows[at][0] for at in sorted(self.panel.rows.rules)]
        down = [left + self.columns[at][0] for at in sorted(self.panel.columns.rules)]
        segments = [((left, y), (right, y)) for y in across] + [((x, top), (x, bottom)) for x in down]
        if segments:
            yield Strokes(tuple(segments), RULE, 1.3)

    def _ticks(self, left: float, top: float) -> Iterator[Words]:
        """The labels and the names of both axes."""
        panel, before, above = self.panel, left - 0.05, top - 0.08
        for label, (y0, y1) in zip(panel.rows.labels, self.rows, strict=True):
            yield Words(before, top + (y0 + y1) / 2, label, TICK, SOFT, "right")
        for label, (x0, x1) in zip(panel.columns.labels, self.columns, strict=True):
            yield Words(left + (x0 + x1) / 2, above, label, TICK, SOFT, "center")
        for at in sorted(panel.rows.gaps):
            yield Words(before, top + self.rows[at][0] - GAP / 2, "⋮", TICK, SOFT, "right")
        for at in sorted(panel.columns.gaps):
            yield Words(left + self.columns[at][0] - GAP / 2, above, "…", TICK, SOFT, "center")
        if panel.rows.name:
            yield Words(before, above, f"{panel.rows.name} ↓", TICK, INK, "right")
        if panel.columns.name:
            yield Words(left, above - TICK * LINE, f"{panel.columns.name} →", TICK, INK)


def _cell_width(panel: Panel, left: float) -> float:
    """The width of a column in inches: the usual one, less to keep the panel in the column of text, more for labels."""
    longest = max((len(label) for row in panel.labels for label in row), default=0)
    heads = max((len(label) for label in panel.columns.labels), default=0)
    fitting = max(longest * DIGIT * LABEL + 0.04, heads * DIGIT * TICK + 0.04, NARROW_CELL)
    room = (WIDEST - left - GAP * len(panel.columns.gaps)) / max(len(panel.columns), 1)
    usual = (panel.column_width or 1.0) * CELL_WIDTH
    return max(fitting, min(usual, room))


def _ends(axis: Axis, size: float) -> tuple[tuple[float, float], ...]:
    ends, at = [], 0.0
    for position in range(len(axis)):
        at += GAP if position in axis.gaps else 0.0
        ends.append((at, at + size))
        at += size
    return tuple(ends)


def _box(row: tuple[float, float], column: tuple[float, float], left: float, top: float) -> Box:
    """The box between two heights and two sides, measured from a corner."""
    return left + column[0], top + row[0], column[1] - column[0], row[1] - row[0]


def _wrapped(texts: Sequence[str], size: float, width: float) -> tuple[str, ...]:
    """The texts broken into lines; words in brackets stay together."""
    most = max(int(width / (GLYPH * size) + 1e-6), 20)  # rounded up: a width that was made for a text holds it
    whole = [BRACKETS.sub(lambda match: match[0].replace(" ", HARD_SPACE), text) for text in texts]
    return tuple(line.replace(HARD_SPACE, " ") for text in whole for line in textwrap.wrap(text, most))


def _lines(
    x: float, y: float, lines: Sequence[str], size: float, colour: str = INK, *,
    is_bold: bool = False, is_italic: bool = False,
) -> Iterator[Words]:  # fmt: skip
    """The lines of text, the first just below the height `y`."""
    for number, line in enumerate(lines):
        yield Words(x, y + (number + 0.5) * size * LINE, line, size, colour, "left", is_bold, is_italic)


def _frame(frame: PictureFrame, box: Box) -> Strokes:
    """The lines of the sides that a frame has."""
    x, y, wide, high = box
    northwest, northeast, southeast, southwest = (x, y), (x + wide, y), (x + wide, y + high), (x, y + high)
    lines = [(northwest, northeast), (northwest, southwest), (southwest, southeast), (northeast, southeast)]
    shown = tuple(line for line, is_there in zip(lines, frame.sides, strict=True) if is_there)
    return Strokes(shown, FRAME if frame.is_dashed else RULE, 1.8, frame.is_dashed)


_Group = list[_SizedPanel]


def _aligned(group: Sequence[Panel]) -> _Group:
    """The panels of a group, sized so that their cells begin at one distance from the left."""
    names = [name for panel in group for name in (*panel.rows.labels, panel.rows.name + " ↓")]
    left = max(map(len, names)) * DIGIT * TICK + 0.08
    widths = [_cell_width(panel, left) for panel in group]
    unit = max((width / panel.column_width for width, panel in zip(widths, group, strict=True) if panel.column_width),
               default=0.0)  # fmt: skip
    fitted = [panel.column_width * unit or width for width, panel in zip(widths, group, strict=True)]
    return [_SizedPanel.of(panel, left, width) for panel, width in zip(group, fitted, strict=True)]


def _width(group: _Group) -> float:
    return max(panel.width for panel in group)


def _rows_of(groups: Sequence[_Group]) -> list[list[_Group]]:
    """The groups in rows: side by side as long as the picture is not too wide."""
    rows: list[list[_Group]] = []
    room = 0.0
    for group in groups:
        wide = _width(group)
        if not rows or room < BETWEEN + wide:
            rows.append([])
            room = WIDEST + BETWEEN
        rows[-1].append(group)
        room -= BETWEEN + wide
    return rows


class _PagePlan:
    """The places of the parts of a picture."""

    def __init__(self, picture: Picture) -> None:
        groups = [_aligned(group) for group in picture.groups]
        rows = _rows_of(groups)
        wide = max((sum(map(_width, row)) + BETWEEN * (len(row) - 1) for row in rows), default=0.0)
        title = len(picture.title) * GLYPH * TITLE / BOLD
        room = max(wide, LEAST, min(title, WIDEST))
        self.width = room + 2 * MARGIN
        self.heading = _wrapped((picture.title,), TITLE, room * BOLD)
        self.facts = _wrapped(picture.facts, FACT, room)
        self.facts_top = MARGIN + len(self.heading) * TITLE * LINE
        self.placed: list[tuple[_SizedPanel, float, float]] = []
        y = self.facts_top + len(self.facts) * FACT * LINE + 0.2
        for row in rows:
            x, bottom = MARGIN, y
            for group in row:
                below = y
                for panel in group:
                    self.placed.append((panel, x, below))
                    below += panel.height + BETWEEN / 2
                x, bottom = x + _width(group) + BETWEEN, max(bottom, below)
            y = bottom
        self.legend: list[tuple[Look, str, float, float]] = []
        self.frames: list[tuple[PictureFrame, float, float]] = []
        self._place_legend(picture, y)

    def _place_legend(self, picture: Picture, y: float) -> None:
        frames = {frame.name: frame for panel in picture.panels for frame in panel.frames}
        x = MARGIN
        for look, words in picture.legend():
            x, y = self._advance(x, y, words)
            self.legend.append((look, words, x, y))
            x += _entry(words)
        for name, frame in frames.items():
            x, y = self._advance(x, y, name)
            self.frames.append((frame, x, y))
            x += _entry(name)
        self.height = y + MARGIN + (CELL_HEIGHT if self.legend or self.frames else 0.0)

    def _advance(self, x: float, y: float, words: str) -> tuple[float, float]:
        if x > MARGIN and x + _entry(words) > self.width - MARGIN:
            return MARGIN, y + CELL_HEIGHT * 1.2
        return x, y

    def marks(self) -> Iterator[Mark]:
        """The marks of the picture, in the order in which they are drawn."""
        yield from _lines(MARGIN, MARGIN, self.heading, TITLE, is_bold=True)
        yield from _lines(MARGIN, self.facts_top, self.facts, FACT, SOFT)
        for panel, x, y in self.placed:
            yield from panel.marks(x, y)
        for look, words, x, y in self.legend:
            box = (x, y, 0.26, 0.18)
            yield FilledCells(look, (box,))
            yield Outlines((box,))
            yield Words(x + 0.34, y + 0.09, words, FACT, INK)
        for frame, x, y in self.frames:
            yield _frame(replace(frame, sides=(True, True, True, True)), (x, y, 0.26, 0.18))
            yield Words(x + 0.34, y + 0.09, frame.name, FACT, INK)


def _entry(words: str) -> float:
    return 0.36 + len(words) * GLYPH * FACT + 0.25
