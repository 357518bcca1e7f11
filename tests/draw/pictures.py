"""Reading pictures in tests: cells by their labels, colours by class, memory places by the numbers on the axes."""

from __future__ import annotations

from girih.draw.models import picture
from girih.draw.options import PAPER_LIMITS
from girih.draw.picture import Panel, Picture


def picture_of(model: object, **options: object) -> Picture:
    """The picture of a model as `girih.draw.figure` draws it."""
    return picture(model, options, PAPER_LIMITS)


def labels(panel: Panel) -> list[str]:
    """The texts of the cells, a row in each string; `.` for a cell without one."""
    return [" ".join(text or "." for text in row) for row in panel.labels]


def classes(panel: Panel) -> dict[str, int]:
    """How many cells there are of each class that has a name."""
    found: dict[str, int] = {}
    for code in panel.code.reshape(-1).tolist():
        name = panel.looks[code].name
        if name:
            found[name] = found.get(name, 0) + 1
    return found


def memory_places(panel: Panel) -> dict[int, str]:
    """The text of every cell of a panel of memory that has one, by the memory element that the axes name."""
    return {
        int(first) + int(column): text
        for first, row in zip(panel.rows.labels, panel.labels, strict=True)
        for column, text in zip(panel.columns.labels, row, strict=True)
        if text
    }
