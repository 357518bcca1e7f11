"""A picture as a matplotlib figure, as SVG text, or in a file.

Everything is placed in inches on one pair of axes, so that cells are equally large and texts never meet. The same
picture always gives the same bytes of SVG: no date, no version, fixed ids, texts as text.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from girih.draw.compact import compact
from girih.draw.picture import INK, PAPER, Axis, Look, Panel, Picture, PictureFrame

# By name: matplotlib is an extra, without which the types are checked too.
_matplotlib = import_module("matplotlib")
_canvas = import_module("matplotlib.backends.backend_agg")
_collections = import_module("matplotlib.collections")
_figure = import_module("matplotlib.figure")
_patches = import_module("matplotlib.patches")

Axes = Any
"""matplotlib.axes.Axes"""

CELL_HEIGHT, CELL_WIDTH, GAP = 0.26, 0.30, 0.16
"""Inches of a cell, and of the space where lines are left out."""
MARGIN, BETWEEN = 0.25, 0.45
"""Inches around the picture, and between panels."""
WIDEST, NARROWEST = 13.0, 3.0
"""Inches after which panels go on below, and of the smallest panel with its texts."""
LEAST = 5.5
"""Inches of the narrowest picture; a long title widens it."""
GLYPH, LINE = 0.6 / 72, 1.45 / 72
"""Inches of the width of a character (DejaVu Sans, a generous average) and from line to line, at a size of 1 point."""
DIGIT = 0.65 / 72
"""The same for digits, which are wide."""
BOLD = 0.95
"""How much of a width texts in bold may use."""
TITLE, FACT, HEAD, NOTE, LABEL, TICK = 13.0, 9.0, 10.0, 8.0, 8.0, 7.0
"""Sizes of texts in points."""
SOFT, EDGE, RULE, FRAME = "#5b6876", "#b4bcc5", "#3d4a57", "#c0392b"
"""Colours of minor texts, edges of cells, rules between blocks, and frames."""
HATCH = 0.75
"""Brightness of the hatch of a cell against its own colour."""

SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "girih",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "hatch.linewidth": 0.6,
}
DOTS_PER_INCH = 150

Box = tuple[float, float, float, float]


def figure(picture: Picture) -> Any:
    """The picture as a figure, as large as it needs to be."""
    plan = _PagePlan(picture)
    with _matplotlib.rc_context(SETTINGS):
        made = _figure.Figure(figsize=(plan.width, plan.height), facecolor=PAPER)
        _canvas.FigureCanvasAgg(made)
        axes = made.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(0.0, plan.width)
        axes.set_ylim(plan.height, 0.0)
        axes.axis("off")
        _write(axes, MARGIN, MARGIN, plan.heading, TITLE, weight="bold")
        _write(axes, MARGIN, plan.facts_top, plan.facts, FACT, SOFT)
        for panel, x, y in plan.placed:
            _draw_panel(axes, panel, x, y)
        _draw_legend(axes, plan)
    return made


def svg(picture: Picture) -> str:
    """The picture as SVG, from `<svg` on; the same text for the same picture."""
    buffer = io.StringIO()
    with _matplotlib.rc_context(SETTINGS):
        figure(picture).savefig(buffer, format="svg", metadata={"Date": None, "Creator": "girih"})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    head = text.index(">") + 1
    words = ". ".join((picture.title, *picture.facts))
    return compact(f'{text[: head - 1]} role="img">\n <title>{escape(words)}</title>{text[head:]}')


def save(picture: Picture, path: Path) -> None:
    """Write the picture as the ending of the path says, `.svg` or `.png`; raises `OSError` where that fails."""
    if path.suffix.lower() == ".svg":
        path.write_text(svg(picture), encoding="utf-8")
        return
    with _matplotlib.rc_context(SETTINGS):
        figure(picture).savefig(path, format="png", dpi=DOTS_PER_INCH, metadata={"Software": "girih"})


@dataclass(frozen=True)
class _Sized:
    """A panel with its measures: where lines begin and end, in inches from the corner of its cells."""

    panel: Panel
    rows: tuple[tuple[float, float], ...]
    columns: tuple[tuple[float, float], ...]
    left: float
    title: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, panel: Panel) -> _Sized:
        longest = max((len(label) for row in panel.labels for label in row), default=0)
        heads = max((len(label) for label in panel.columns.labels), default=0)
        fitting = max(CELL_WIDTH, longest * DIGIT * LABEL + 0.1, heads * DIGIT * TICK + 0.08)
        width = panel.column_width * CELL_WIDTH if panel.column_width else fitting
        names = [*panel.rows.labels, panel.rows.name + " ↓"]
        left = max(len(name) for name in names) * DIGIT * TICK + 0.08
        rows, columns = _ends(panel.rows, CELL_HEIGHT), _ends(panel.columns, width)
        wide = max(left + columns[-1][1], NARROWEST)
        return cls(panel, rows, columns, left, _wrapped((panel.title,), HEAD, wide), _wrapped(panel.notes, NOTE, wide))

    @property
    def top(self) -> float:
        """Inches from the top of the title to the cells."""
        return len(self.title) * HEAD * LINE + 2 * TICK * LINE + 0.12

    @property
    def width(self) -> float:
        texts = max((len(line) * GLYPH * HEAD for line in self.title), default=0.0)
        return max(self.left + self.columns[-1][1], min(texts, NARROWEST))

    @property
    def height(self) -> float:
        return self.top + self.rows[-1][1] + 0.08 + len(self.notes) * NOTE * LINE


def _ends(axis: Axis, size: float) -> tuple[tuple[float, float], ...]:
    found, at = [], 0.0
    for position in range(len(axis)):
        at += GAP if position in axis.gaps else 0.0
        found.append((at, at + size))
        at += size
    return tuple(found)


def _wrapped(texts: Sequence[str], size: float, width: float) -> tuple[str, ...]:
    most = max(int(width / (GLYPH * size)), 20)
    return tuple(line for text in texts for line in textwrap.wrap(text, most))


_Group = list[_Sized]


def _aligned(group: _Group) -> _Group:
    """Panels below each other with their cells below each other."""
    left = max(panel.left for panel in group)
    return [replace(panel, left=left) for panel in group]


def _width(group: _Group) -> float:
    return max(panel.width for panel in group)


def _rows_of(groups: Sequence[_Group]) -> list[list[_Group]]:
    """Groups side by side as long as the picture is not too wide."""
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
    """Where everything stands: panels from left to right, then below; title above, legend below."""

    def __init__(self, picture: Picture) -> None:
        groups = [_aligned([_Sized.of(panel) for panel in group]) for group in picture.groups]
        rows = _rows_of(groups)
        wide = max((sum(map(_width, row)) + BETWEEN * (len(row) - 1) for row in rows), default=0.0)
        title = len(picture.title) * GLYPH * TITLE / BOLD
        room = max(wide, LEAST, min(title, WIDEST))
        self.width = room + 2 * MARGIN
        self.heading = _wrapped((picture.title,), TITLE, room * BOLD)
        self.facts = _wrapped(picture.facts, FACT, room)
        self.facts_top = MARGIN + len(self.heading) * TITLE * LINE
        self.placed: list[tuple[_Sized, float, float]] = []
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


def _entry(words: str) -> float:
    return 0.36 + len(words) * GLYPH * FACT + 0.25


def _draw_panel(axes: Axes, sized: _Sized, x: float, y: float) -> None:
    panel = sized.panel
    _write(axes, x, y, sized.title, HEAD, weight="bold")
    left, top = x + sized.left, y + sized.top
    for number, look in enumerate(panel.looks):
        cells = np.argwhere(panel.code == number).tolist()
        _fill(axes, look, [_box(sized, row, column, left, top) for row, column in cells])
    _edges(axes, sized, left, top)
    for row, texts in enumerate(panel.labels):
        for column, text in enumerate(texts):
            if text:
                x0, y0, wide, high = _box(sized, row, column, left, top)
                ink = panel.looks[panel.code[row, column]].ink
                _text(axes, x0 + wide / 2, y0 + high / 2, text, LABEL, ink, "center")
    _ticks(axes, sized, left, top)
    for frame in panel.frames:
        _frame(axes, frame, _around(sized, frame, left, top))
    _write(axes, x, top + sized.rows[-1][1] + 0.08, sized.notes, NOTE, SOFT, style="italic")


def _box(sized: _Sized, row: int, column: int, left: float, top: float) -> Box:
    (y0, y1), (x0, x1) = sized.rows[row], sized.columns[column]
    return left + x0, top + y0, x1 - x0, y1 - y0


def _around(sized: _Sized, frame: PictureFrame, left: float, top: float) -> Box:
    y0, y1 = sized.rows[frame.top][0], sized.rows[frame.bottom - 1][1]
    x0, x1 = sized.columns[frame.left][0], sized.columns[frame.right - 1][1]
    return left + x0, top + y0, x1 - x0, y1 - y0


def _corners(box: Box) -> list[tuple[float, float]]:
    x, y, wide, high = box
    return [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)]


def _fill(axes: Axes, look: Look, boxes: Sequence[Box]) -> None:
    """Cells of one class; the edge colour is that of the hatch."""
    if boxes:
        axes.add_collection(
            _collections.PolyCollection(
                [_corners(box) for box in boxes],
                facecolors=look.colour,
                edgecolors=_darker(look.colour),
                linewidths=0.0,
                hatch=look.hatch or None,
            ),
            autolim=False,
        )


def _edges(axes: Axes, sized: _Sized, left: float, top: float) -> None:
    panel = sized.panel
    boxes = [
        _corners(_box(sized, row, column, left, top))
        for row in range(len(panel.rows))
        for column in range(len(panel.columns))
    ]
    axes.add_collection(
        _collections.PolyCollection(boxes, facecolors="none", edgecolors=EDGE, linewidths=0.6), autolim=False
    )
    bottom, right = top + sized.rows[-1][1], left + sized.columns[-1][1]
    lines = [[(left, top + sized.rows[at][0]), (right, top + sized.rows[at][0])] for at in sorted(panel.rows.rules)]
    lines += [
        [(left + sized.columns[at][0], top), (left + sized.columns[at][0], bottom)]
        for at in sorted(panel.columns.rules)
    ]
    axes.add_collection(_collections.LineCollection(lines, colors=RULE, linewidths=1.3), autolim=False)


def _ticks(axes: Axes, sized: _Sized, left: float, top: float) -> None:
    panel = sized.panel
    for label, (y0, y1) in zip(panel.rows.labels, sized.rows, strict=True):
        _text(axes, left - 0.05, top + (y0 + y1) / 2, label, TICK, SOFT, "right")
    for label, (x0, x1) in zip(panel.columns.labels, sized.columns, strict=True):
        _text(axes, left + (x0 + x1) / 2, top - 0.08, label, TICK, SOFT, "center")
    for at in sorted(panel.rows.gaps):
        _text(axes, left - 0.05, top + sized.rows[at][0] - GAP / 2, "⋮", TICK, SOFT, "right")
    for at in sorted(panel.columns.gaps):
        _text(axes, left + sized.columns[at][0] - GAP / 2, top - 0.08, "…", TICK, SOFT, "center")
    if panel.rows.name:
        _text(axes, left - 0.05, top - 0.08, f"{panel.rows.name} ↓", TICK, INK, "right")
    if panel.columns.name:
        _text(axes, left, top - 0.08 - TICK * LINE, f"{panel.columns.name} →", TICK, INK, "left")


def _frame(axes: Axes, frame: PictureFrame, box: Box) -> None:
    """The sides of a frame that there are."""
    northwest, northeast, southeast, southwest = _corners(box)
    lines = [(northwest, northeast), (northwest, southwest), (southwest, southeast), (northeast, southeast)]
    axes.add_collection(
        _collections.LineCollection(
            [line for line, is_there in zip(lines, frame.sides, strict=True) if is_there],
            colors=FRAME if frame.is_dashed else RULE,
            linewidths=1.8,
            linestyles=[(0, (3, 2))] if frame.is_dashed else "solid",
            capstyle="projecting",
        ),
        autolim=False,
    )


def _draw_legend(axes: Axes, plan: _PagePlan) -> None:
    for look, words, x, y in plan.legend:
        box = (x, y, 0.26, 0.18)
        _fill(axes, look, [box])
        axes.add_patch(_patches.Rectangle(box[:2], *box[2:], fill=False, edgecolor=EDGE, linewidth=0.6))
        _text(axes, x + 0.34, y + 0.09, words, FACT, INK, "left")
    for frame, x, y in plan.frames:
        _frame(axes, replace(frame, sides=(True, True, True, True)), (x, y, 0.26, 0.18))
        _text(axes, x + 0.34, y + 0.09, frame.name, FACT, INK, "left")


def _write(axes: Axes, x: float, y: float, lines: Sequence[str], size: float, colour: str = INK, **style: Any) -> None:
    """Lines of text below a height."""
    for number, line in enumerate(lines):
        _text(axes, x, y + (number + 0.5) * size * LINE, line, size, colour, "left", **style)


def _text(axes: Axes, x: float, y: float, text: str, size: float, colour: str, align: str, **style: Any) -> None:
    axes.text(x, y, text, fontsize=size, color=colour, ha=align, va="center_baseline", parse_math=False, **style)


def _darker(colour: str) -> str:
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{int(part * HATCH):02x}" for part in parts)
