"""`Picture`: the contents of a picture, apart from how it is drawn: grids of cells with numbers, classes and frames.

A picture holds words and numbers only. `girih.draw.vector` writes it as SVG, `girih.draw.paper` makes a matplotlib
figure of it, `girih.draw.terminal` text.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from girih.addressing import Access, Kind
from girih.lazy_dataclass import dataclass

INK, PAPER = "#1b2733", "#ffffff"


class DrawingError(ValueError):
    """The refusal of a picture, in words: what was expected, what came, and the fix."""


@dataclass(frozen=True, slots=True)
class Look:
    """The look of the cells of one class: `colour` and `hatch` on paper, `letter` before the number in a terminal.

    `mark` is what a terminal shows for a cell of this class without a number. A legend says `name`; a class without
    one is not in the legend.
    """

    name: str
    colour: str
    letter: str = ""
    hatch: str = ""
    ink: str = INK
    mark: str = ""


IN_BOUNDS, FILLED, CLAMPED, SKIPPED, DISCARDED, UNDEFINED, FREE, OUTSIDE = range(8)
"""Codes of classes in `ACCESS_LOOKS`; the first six are those of `Kind`."""

# Tints of the colours of Okabe and Ito, which readers of every kind of colour vision tell apart; the hatches and
# letters say the same without colour.
ACCESS_LOOKS = (
    Look("in bounds", "#a6cfee"),
    Look("filled", "#f7d28b", "F", "////"),
    Look("clamped", "#96d9c0", "C", "...."),
    Look("skipped", "#d5d9de", "S", "\\\\\\\\"),
    Look("discarded", "#f0b49a", "D", "xxxx"),
    Look("undefined", "#7a4a7d", "U", "++++", ink="#fdf7ff"),
    Look("", PAPER, mark="."),
    Look("", "#f1f3f5"),
)
"""The looks of the cells of a tile and of its memory: `Kind`, then memory that is not touched, then no memory."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The lines of cells in one direction, one label each.

    `gaps` and `rules` are positions: before those of `gaps`, lines are left out; before those of `rules`, a thick line
    parts blocks.
    """

    name: str
    labels: tuple[str, ...]
    gaps: frozenset[int] = frozenset()
    rules: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class PictureFrame:
    """A frame around cells `top` to `bottom - 1`, `left` to `right - 1`, with its meaning for the legend.

    `sides` says whether it has a top, left, bottom and right; a frame that continues beyond the cells has none there.
    """

    top: int
    left: int
    bottom: int
    right: int
    name: str
    is_dashed: bool = False
    sides: tuple[bool, bool, bool, bool] = (True, True, True, True)


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """A grid of cells: `code` uint8 `[rows, columns]` is the class of each, an index into `looks`; `labels` its text.

    `notes` say what is left out and how to read the labels. `column_width` is the width of a cell in units of the
    usual one; 0 fits it to the labels.
    """

    title: str
    rows: Axis
    columns: Axis
    code: NDArray[np.uint8]
    labels: tuple[tuple[str, ...], ...]
    looks: tuple[Look, ...] = ACCESS_LOOKS
    frames: tuple[PictureFrame, ...] = ()
    notes: tuple[str, ...] = ()
    column_width: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """Groups of panels side by side, the panels of a group one below the other; `counts` goes into the legend.

    `counts` maps the name of a look to the number of units of the whole tile that have it, drawn or not.
    """

    title: str
    facts: tuple[str, ...]
    groups: tuple[tuple[Panel, ...], ...]
    counts: dict[str, int]
    unit: str = "element"

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels, in reading order."""
        return tuple(panel for group in self.groups for panel in group)

    def legend(self) -> list[tuple[Look, str]]:
        """The looks that the reader has to know, each once, with its words, in the order of the tables."""
        words = {}
        for panel in self.panels:
            used = np.bincount(panel.code.reshape(-1), minlength=len(panel.looks))
            for look, number in zip(panel.looks, used, strict=True):
                if look.name and (number or look.name in self.counts):
                    words[look.name] = look
        return [(look, self.in_words(look)) for look in words.values()]

    def in_words(self, look: Look) -> str:
        """The name of a look and the number of elements that have it: `filled: 9 elements`."""
        return f"{look.name}: {plural(self.counts[look.name], self.unit)}" if look.name in self.counts else look.name


def counts_of(access: Access) -> dict[str, int]:
    """The number of elements of each kind that occurs, by the names of the looks."""
    return {ACCESS_LOOKS[Kind[word.upper()]].name: number for word, number in access.counts().items()}


def times(sizes: tuple[int, ...]) -> str:
    """The sizes in words: `4 x 6`."""
    return " x ".join(str(size) for size in sizes) or "1"


def plural(number: int, word: str) -> str:
    """A number of things: `1 element`, `2 elements`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
