"""Panels of an `Access`: the tile with its elements numbered in order, and memory as rows of elements.

A tile of any shape is drawn as a matrix: its last axis along the columns, all others along the rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.addressing import Access
from girih.draw.grid import Cells, Lines, axis, left_out, shown_lines
from girih.draw.options import RING, Limits, Window
from girih.draw.picture import ACCESS_LOOKS, FREE, DrawingError, Look, Panel, plural, times
from girih.lazy_dataclass import dataclass

MOST_ELEMENTS = 1 << 20
"""The elements of the largest tile that is worked out whole."""
PART = 1 << 16
"""The elements that are worked out of a larger tile; more where a window asks for them."""
FOLD = 16
"""The elements in a row of memory where nothing suggests a number."""


@dataclass(frozen=True, eq=False)
class TilePicture:
    """A tile as a matrix, the part of it that was worked out, and the part that is drawn.

    - `element`: memory element, -1 for none, `[rows, columns]` from `corner` on; `[rows, columns, units]` where an
      element lies in several places. `code`: uint8 `[rows, columns]`, the class. Both are of the part worked out.
    - `rows`, `columns`: the lines that are drawn, all of them worked out.
    - `shape`: the shape of the whole tile.
    """

    element: NDArray[np.int64]
    code: NDArray[np.uint8]
    rows: Lines
    columns: Lines
    shape: tuple[int, ...]
    corner: tuple[int, int] = (0, 0)

    @classmethod
    def of(
        cls, access: Access, window: Window | None, limits: Limits, shape: tuple[int, ...] | None = None
    ) -> TilePicture:
        """The tile of an access. `shape` is that of the whole tile, of which `access` may be the first part only.

        That part holds the window. Raises `DrawingError` for a window that leaves the tile.
        """
        whole = access.shape if shape is None else shape
        element, code = _as_matrix(access.element), _as_matrix(access.kind)
        rows, columns = drawn_lines(window, limits, as_matrix(whole), code)
        return cls(element, code, rows[rows < code.shape[0]], columns[columns < code.shape[1]], whole)

    @property
    def number(self) -> NDArray[np.int64]:
        """The number in the order of the tile of each element that was worked out, one after the other."""
        rows, columns = self.code.shape
        first = np.arange(self.corner[0], self.corner[0] + rows, dtype=np.int64) * as_matrix(self.shape)[1]
        return (first[:, None] + np.arange(self.corner[1], self.corner[1] + columns)).reshape(-1)

    def drawn(self, values: NDArray[Any]) -> NDArray[Any]:
        """Of `values`, one for each element that was worked out, those of the elements that are drawn."""
        lines = np.ix_(self.rows - self.corner[0], self.columns - self.corner[1])
        return values.reshape(self.code.shape)[lines].reshape(-1)


def as_matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """The rows and columns of a tile of any shape as a matrix."""
    return math.prod(shape[:-1]), shape[-1] if shape else 1


def chosen(asked: tuple[str, ...], there: tuple[str, ...]) -> tuple[str, ...]:
    """The panels asked for. Raises `DrawingError` for one that this model does not have."""
    for name in asked:
        if name not in there:
            raise DrawingError(f"there is no panel {name!r} of this model; choose among {', '.join(there)}")
    return asked


def drawn_lines(
    window: Window | None, limits: Limits, shape: tuple[int, int], code: NDArray[np.uint8] | None = None
) -> tuple[Lines, Lines]:
    """The rows and columns of a matrix that are drawn: the window, or as many as are legible.

    Of a large matrix the first lines are drawn, and those around the places where classes change, if `code` says any.
    Raises `DrawingError` for a window that leaves the matrix.
    """
    if window is None:
        whole = np.zeros((1, 1), np.uint8) if code is None else code
        differs = (whole[1:] != whole[:-1]).any(axis=1), (whole[:, 1:] != whole[:, :-1]).any(axis=0)
        return _legible(shape[0], limits.rows, differs[0]), _legible(shape[1], limits.columns, differs[1])
    for (first, size), whole_size, what in zip(window, shape, ("row", "column"), strict=True):
        if first + size > whole_size:
            raise DrawingError(
                f"window: {what}s {first} to {first + size - 1} of a tile that has {plural(whole_size, what)}; "
                f"end at {what} {whole_size - 1}"
            )
    (row, rows), (column, columns) = window
    return np.arange(row, row + rows), np.arange(column, column + columns)


def _legible(size: int, limit: int, differs: NDArray[np.bool_]) -> Lines:
    """At most `limit` of `size` lines: the first, and those near changes; `differs[i]` is line i + 1 unlike line i."""
    if size <= limit:
        return np.arange(size)
    edges = np.flatnonzero(differs)
    if 4 * len(edges) > limit:
        return np.arange(limit)
    around = np.clip((edges[:, None] + np.array([-1, 0, 1, 2])).reshape(-1), 0, size - 1)
    first = np.setdiff1d(np.arange(limit), around)
    return np.sort(np.concatenate([np.unique(around), first])[:limit])


def tile_panel(tile: TilePicture, looks: tuple[Look, ...] = ACCESS_LOOKS, block: tuple[int, int] = (0, 0)) -> Panel:
    """The panel of the tile, numbered in order; `block` is the rows and the columns after which a rule is drawn."""
    cells = Cells(tile.rows, tile.columns, FREE)
    rows, width = as_matrix(tile.shape)
    number = tile.drawn(tile.number)
    cells.put(number // width, number % width, number, tile.drawn(tile.code))
    outer = tile.shape[:-1]
    every = outer[-1] if len(outer) > 1 else block[0]
    return Panel(
        f"tile: {times(tile.shape)}",
        axis(_name("row", outer), tile.rows, _outer_labels(tile.rows, outer), every),
        axis(f"i{len(outer)}" if len(outer) > 1 else "column", tile.columns, every=block[1]),
        cells.code,
        cells.labels,
        looks,
        notes=(*left_out("row", tile.rows, 0, rows), *left_out("column", tile.columns, 0, width)),
    )


def memory_panel(
    tile: TilePicture,
    width: int,
    extent: int,
    limits: Limits,
    unit: str = "element",
    looks: tuple[Look, ...] = ACCESS_LOOKS,
    every: int = 0,
) -> Panel:
    """The panel of memory in rows of `width` units, with the numbers of the tile's elements in their places.

    `extent` is the number of units that the memory has, as far as is known; a rule is drawn after `every` rows.
    """
    places = tile.element.reshape(tile.code.size, -1)
    touched = places >= 0
    element = places[touched]
    wanted = places[tile.drawn(np.arange(len(places)))]
    wanted = wanted[wanted >= 0]
    height = -(-max(int(element.max(initial=0)) + 1, extent) // width)
    rows = shown_lines(wanted // width, 0, height, max(limits.rows, len(tile.rows)) + RING)
    columns = shown_lines(wanted % width, 0, width, max(limits.columns, len(tile.columns)) + RING)
    cells = Cells(rows, columns, FREE)
    number = np.broadcast_to(tile.number[:, None], places.shape)[touched]
    code = np.broadcast_to(tile.code.reshape(-1, 1), places.shape)[touched]
    cells.put(element // width, element % width, number, code)
    is_part = tile.code.size < math.prod(tile.shape)
    return Panel(
        f"memory: rows of {plural(width, unit)}",
        axis(f"first {unit}", rows, [str(row * width) for row in rows.tolist()], every),
        axis(f"{unit} of the row", columns),
        cells.code,
        cells.labels,
        looks,
        notes=(
            *left_out("row", rows, 0, height),
            *left_out("column", columns, 0, width),
            *(("only the first elements of the tile, and those drawn, are looked for",) if is_part else ()),
            *cells.notes(),
        ),
    )


def moved(access: Access, base: int) -> Access:
    """The access with its elements counted from `base` elements earlier."""
    return Access(np.where(access.element >= 0, access.element + base, -1), access.kind, access.fill)


def memory_width(tile: TilePicture) -> int:
    """The elements in a row of memory that keep the tile's shape: the most usual step from row to row of the tile.

    In column-major order that is 1, and the step from column to column counts.
    """
    element = tile.drawn(tile.element).reshape(len(tile.rows), len(tile.columns))
    return _usual_step(element) or _usual_step(element.T) or FOLD


def _usual_step(element: NDArray[np.int64]) -> int:
    """The most usual step from an element in memory to one in the next row; 0 where it is 1 or there is none."""
    steps = np.diff(element, axis=0)[(element[1:] >= 0) & (element[:-1] >= 0)]
    values, counts = np.unique(steps[steps > 0], return_counts=True)
    usual = int(values[counts.argmax()]) if len(values) else 0
    return usual if usual > 1 else 0


def _as_matrix(values: NDArray[Any]) -> NDArray[Any]:
    return values.reshape(-1, values.shape[-1] if values.ndim else 1)


def _name(word: str, outer: tuple[int, ...]) -> str:
    return word if len(outer) <= 1 else ", ".join(f"i{position}" for position in range(len(outer)))


def _outer_labels(rows: Lines, outer: tuple[int, ...]) -> list[str] | None:
    """The coordinates of the rows of a tile of more than two dimensions."""
    if len(outer) <= 1:
        return None
    return [",".join(str(int(index)) for index in np.unravel_index(row, outer)) for row in rows.tolist()]
