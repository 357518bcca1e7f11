"""Panels of a tensor's coordinates: its innermost two dimensions as a grid, one panel for each plane that is touched.

What lies outside the tensor is drawn around it, so that fills, clamps and padding are seen where they were asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from girih.draw.grid import Cells, Lines, axis, left_out, shown_lines
from girih.draw.options import RING, Limits
from girih.draw.picture import FREE, OUTSIDE, Panel, PictureFrame, plural, times
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Space:
    """The places of numbered things (elements, pixels, slices) in a tensor; outermost dimension first throughout.

    - `place`: int64 `[things, dimensions]`, coordinates, which may lie outside; `code`: uint8, the class of each;
      `number`: int64, the number of each.
    - `drawn`: bool `[things]`, those that the picture is about; the others are drawn where they happen to be near.
    - `size`, `names`: those of each dimension; `block`: the number of elements after which a rule parts blocks.
    - `box`: a name and, for the two innermost dimensions, first and last coordinate of a dashed frame.
    """

    place: NDArray[np.int64]
    number: NDArray[np.int64]
    code: NDArray[np.uint8]
    drawn: NDArray[np.int64]
    size: tuple[int, ...]
    names: tuple[str, ...]
    block: tuple[int, ...] = ()
    box: tuple[str, tuple[int, int], tuple[int, int]] | None = None

    def in_two_dimensions(self) -> Space:
        """The space with at least two dimensions, so that it has a plane: a single one gets one of size 1 around it."""
        if len(self.size) > 1:
            return self
        block = (1, *self.block) if self.block else ()
        place = np.pad(self.place, ((0, 0), (1, 0)))
        return replace(self, place=place, size=(1, *self.size), names=("", *self.names), block=block)


def planes(space: Space, limits: Limits) -> tuple[Panel, ...]:
    """The panels of the planes of the two innermost dimensions that the drawn things lie in."""
    space = space.in_two_dimensions()
    every = np.unique(space.place[:, :-2], axis=0)
    wanted = np.unique(space.place[space.drawn][:, :-2], axis=0)[: limits.planes]
    panels = [_plane(space, plane, limits) for plane in wanted]
    if panels and len(every) > len(wanted):
        note = f"{plural(len(every) - len(wanted), 'more plane')} not drawn"
        panels[-1] = replace(panels[-1], notes=(*panels[-1].notes, note))
    return tuple(panels)


def _plane(space: Space, plane: NDArray[np.int64], limits: Limits) -> Panel:
    here = (space.place[:, :-2] == plane).all(axis=1)
    row, column = space.place[here, -2], space.place[here, -1]
    drawn = space.drawn[here[space.drawn]]
    down, across = (space.box[1], space.box[2]) if space.box else ((0, 0), (0, 0))
    height, breadth = _range(row, space.size[-2], down), _range(column, space.size[-1], across)
    rows = shown_lines(space.place[drawn, -2], *height, limits.rows + RING)
    columns = shown_lines(space.place[drawn, -1], *breadth, limits.columns + RING)
    cells = Cells(rows, columns, OUTSIDE)
    exists = all(0 <= at < size for at, size in zip(plane.tolist(), space.size[:-2], strict=True))
    if exists:
        _inside(cells, space.size)
    cells.put(row, column, space.number[here], space.code[here])
    block = space.block[-2:] if space.block else (1, 1)
    return Panel(
        _title(space, plane.tolist(), exists),
        axis(space.names[-2], rows, every=block[0] if block[0] > 1 else 0),
        axis(space.names[-1], columns, every=block[1] if block[1] > 1 else 0),
        cells.code,
        cells.labels,
        frames=_frames(space, rows, columns, exists),
        notes=(
            *left_out(_what(space.names[-2]), rows, *height),
            *left_out(_what(space.names[-1]), columns, *breadth),
            *cells.notes(),
        ),
    )


def _range(place: NDArray[np.int64], size: int, box: tuple[int, int]) -> tuple[int, int]:
    """The first coordinate, and the one after the last, of the tensor, the things outside it, and the box together."""
    return min(0, box[0], int(place.min(initial=0))), max(size, box[1] + 1, int(place.max(initial=0)) + 1)


def _inside(cells: Cells, size: Sequence[int]) -> None:
    """Mark the cells of the tensor, as opposed to those around it."""
    down = (cells.rows >= 0) & (cells.rows < size[-2])
    across = (cells.columns >= 0) & (cells.columns < size[-1])
    cells.code[np.ix_(down, across)] = FREE


def _title(space: Space, plane: list[int], exists: bool) -> str:
    shape = f"tensor: {times(space.size[-2:] if space.names[0] else space.size[-1:])}"
    if not plane:
        return shape
    where = ", ".join(f"{name} = {at}" for name, at in zip(space.names, plane, strict=False))
    return where if exists else f"{where}: outside the tensor"


def _what(name: str) -> str:
    return f"{name}: line" if name else "line"


def _frames(space: Space, rows: Lines, columns: Lines, exists: bool) -> tuple[PictureFrame, ...]:
    """The edge of the tensor, where something outside is drawn too, and the box."""
    frames = []
    ring = rows[0] < 0 or columns[0] < 0 or rows[-1] >= space.size[-2] or columns[-1] >= space.size[-1]
    if exists and ring:
        frames.append(_frame(rows, columns, (0, space.size[-2] - 1), (0, space.size[-1] - 1), "edge of the tensor"))
    if space.box is not None:
        name, down, across = space.box
        frames.append(replace(_frame(rows, columns, down, across, name), is_dashed=True))
    return tuple(frame for frame in frames if frame.bottom > frame.top and frame.right > frame.left)


def _frame(rows: Lines, columns: Lines, down: tuple[int, int], across: tuple[int, int], name: str) -> PictureFrame:
    top, bottom = np.searchsorted(rows, down[0]), np.searchsorted(rows, down[1], side="right")
    left, right = np.searchsorted(columns, across[0]), np.searchsorted(columns, across[1], side="right")
    sides = (down[0] in rows, across[0] in columns, down[1] in rows, across[1] in columns)
    return PictureFrame(int(top), int(left), int(bottom), int(right), name, sides=sides)
