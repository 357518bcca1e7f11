"""A picture as plain ASCII text without colours: a letter and a number for each cell, no line longer than asked for.

A panel that is too wide is broken: its last columns follow below.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from girih.draw.picture import Axis, Panel, Picture

NARROWEST = 30
"""The characters of a line that a picture needs at least."""


def in_terminal(picture: Picture, width: int) -> str:
    """The picture in lines of at most `width` characters, the last one ended too."""
    lines = [*_wrapped(picture.title, width), *(line for fact in picture.facts for line in _wrapped(fact, width))]
    entries = []
    for look, words in picture.legend():
        entries.append(f"{look.letter or look.mark} {words}".strip())
    lines += _wrapped("; ".join(entries), width) if entries else []
    for panel in picture.panels:
        lines += ["", *_panel(panel, width)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width)


def _panel(panel: Panel, width: int) -> Iterator[str]:
    yield from _wrapped(panel.title, width)
    cells = [[_cell(panel, row, column) for column in range(len(panel.columns))] for row in range(len(panel.rows))]
    longest = max(len(text) for line in [*cells, list(panel.columns.labels)] for text in line)
    margin = max(len(label) for label in panel.rows.labels)
    fitting = max((width - margin - 2 * len(panel.columns.gaps)) // (longest + 2), 1)
    for first in range(0, len(panel.columns), fitting):
        yield from _block(panel, cells, range(first, min(first + fitting, len(panel.columns))), longest, margin)
    if panel.rows.name or panel.columns.name:
        names = [f"down: {panel.rows.name}" * bool(panel.rows.name), f"across: {panel.columns.name}"]
        yield from _wrapped(", ".join(name for name in names if name), width)
    for note in panel.notes:
        yield from _wrapped(note, width)


def _block(panel: Panel, cells: list[list[str]], columns: range, longest: int, margin: int) -> Iterator[str]:
    """The lines of some columns of a panel, with their numbers above and those of the rows on the left."""
    labels = [panel.columns.labels[column] for column in columns]
    yield " " * margin + _line(panel.columns, labels, columns, longest)
    for row, label in enumerate(panel.rows.labels):
        if row in panel.rows.gaps:
            yield ":".rjust(margin)
        yield f"{label:>{margin}}" + _line(panel.columns, [cells[row][column] for column in columns], columns, longest)


def _line(axis: Axis, texts: list[str], columns: range, longest: int) -> str:
    gaps = [" .. " if column in axis.gaps else "  " for column in columns]
    return "".join(f"{gap}{text:>{longest}}" for gap, text in zip(gaps, texts, strict=True))


def _cell(panel: Panel, row: int, column: int) -> str:
    look = panel.looks[panel.code[row, column]]
    label = panel.labels[row][column]
    return f"{look.letter}{label}" if label else look.mark
