"""Pictures of accesses by themselves, and of strided memrefs (003)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from girih.addressing import Access, Kind, Strided
from girih.draw.options import Limits, Options
from girih.draw.picture import ACCESS_LOOKS, DrawingError, Panel, Picture, counts_of, times
from girih.draw.tile import (
    MOST_ELEMENTS,
    TilePicture,
    as_matrix,
    chosen,
    drawn_lines,
    memory_panel,
    memory_width,
    tile_panel,
)


def access_picture(access: Access, options: Options, limits: Limits) -> Picture:
    """The tile of an access, and the memory that it touches, in rows as long as the tile's row pitch."""
    if not access.element.size:
        raise DrawingError(f"an access of {times(access.shape)} elements has nothing to draw")
    tile = TilePicture.of(access, options.window, limits)
    fill = (f"fill {access.fill:#x}",) if access.is_kind(Kind.FILLED).any() else ()
    groups = _tile_and_memory(tile, memory_width(tile), 0, options, limits)
    return Picture(f"Access of a tile, {times(access.shape)}", fill, groups, counts_of(access))


def strided_picture(memref: Strided, options: Options, limits: Limits) -> Picture:
    """The elements of a memref, its last mode along the columns, and their places in memory."""
    rows, columns = as_matrix(memref.shape)
    down, across = drawn_lines(options.window, limits, (rows, columns))
    is_part = rows * columns > MOST_ELEMENTS
    corner = (int(down[0]), int(across[0])) if is_part else (0, 0)
    part = (down, across) if is_part else (np.arange(rows), np.arange(columns))
    element = _elements(memref, *part)
    code = np.full(element.shape, Kind.IN_BOUNDS, np.uint8)
    tile = TilePicture(element, code, down, across, memref.shape, corner)
    pitches = [step for step, size in zip(memref.steps, memref.shape, strict=True) if size > 1 and step > 1]
    width = min(pitches) if pitches else min(limits.columns, memref.last + 1)
    groups = _tile_and_memory(tile, width, memref.last + 1, options, limits)
    facts = f"shape {memref.shape}, strides {memref.steps}, offset {memref.offset}"
    counts = {ACCESS_LOOKS[Kind.IN_BOUNDS].name: rows * columns}
    return Picture(f"Strided memref, {times(memref.shape)}", (facts,), groups, counts)


def _elements(memref: Strided, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The index of the elements at some rows and columns of a memref that is drawn as a matrix."""
    if not memref.shape:
        return np.full((1, 1), memref.offset, np.int64)
    first = np.full(rows.shape, memref.offset, np.int64)
    for mode in reversed(range(len(memref.shape) - 1)):
        rows, place = np.divmod(rows, memref.shape[mode])
        first = first + place * memref.steps[mode]
    return first[:, None] + columns * memref.steps[-1]


def _tile_and_memory(
    tile: TilePicture, width: int, extent: int, options: Options, limits: Limits
) -> tuple[tuple[Panel, ...], ...]:
    made = {
        "tile": lambda: tile_panel(tile),
        "memory": lambda: memory_panel(tile, options.memory_columns or width, extent, limits),
    }
    return tuple((made[name](),) for name in chosen(options.panels or tuple(made), tuple(made)))
