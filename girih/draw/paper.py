"""A picture as a matplotlib figure, or in a PNG file; all places are in inches on one pair of axes."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from girih.draw.page import EDGE, Box, FilledCells, Mark, Outlines, Strokes, page_of
from girih.draw.picture import PAPER, Picture

# By name: matplotlib is an extra, without which the types are checked too.
_matplotlib = import_module("matplotlib")
_canvas = import_module("matplotlib.backends.backend_agg")
_collections = import_module("matplotlib.collections")
_figure = import_module("matplotlib.figure")

HATCH = 0.75
"""The brightness of the hatch of a cell, relative to the colour of the cell."""

SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "hatch.linewidth": 0.6,
}
DOTS_PER_INCH = 150


def figure(picture: Picture) -> Any:
    """The picture as a `matplotlib.figure.Figure`, as large as it needs to be."""
    page = page_of(picture)
    with _matplotlib.rc_context(SETTINGS):
        made = _figure.Figure(figsize=(page.width, page.height), facecolor=PAPER)
        _canvas.FigureCanvasAgg(made)
        axes = made.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_xlim(0.0, page.width)
        axes.set_ylim(page.height, 0.0)
        axes.axis("off")
        for mark in page.marks:
            _draw(axes, mark)
    return made


def save(picture: Picture, path: Path) -> None:
    """Write the picture to a file as PNG. Raises `OSError` where that fails."""
    with _matplotlib.rc_context(SETTINGS):
        figure(picture).savefig(path, format="png", dpi=DOTS_PER_INCH, metadata={"Software": "girih"})


def _draw(axes: Any, mark: Mark) -> None:
    """Draw one mark on `matplotlib.axes.Axes`."""
    match mark:
        case FilledCells(look, boxes):
            hatch = {"edgecolors": _darker(look.colour), "linewidths": 0.0, "hatch": look.hatch or None}
            _polygons(axes, boxes, facecolors=look.colour, **hatch)
        case Outlines(boxes):
            _polygons(axes, boxes, facecolors="none", edgecolors=EDGE, linewidths=0.6)
        case Strokes(segments, colour, width, is_dashed):
            style = [(0, (3, 2))] if is_dashed else "solid"
            lines = _collections.LineCollection(
                segments, colors=colour, linewidths=width, linestyles=style, capstyle="projecting"
            )
            axes.add_collection(lines, autolim=False)
        case words:
            axes.text(
                words.x, words.y, words.text, fontsize=words.size, color=words.colour, ha=words.align,
                va="center_baseline", parse_math=False, weight="bold" if words.is_bold else "normal",
                style="italic" if words.is_italic else "normal",
            )  # fmt: skip


def _polygons(axes: Any, boxes: tuple[Box, ...], **style: Any) -> None:
    corners = [[(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)] for x, y, wide, high in boxes]
    axes.add_collection(_collections.PolyCollection(corners, **style), autolim=False)


def _darker(colour: str) -> str:
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{int(part * HATCH):02x}" for part in parts)
