"""Pictures of blocked-interleaved matrices (002): the blocks of the matrix, and how a group's blocks share memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from girih.addressing import BlockedInterleaved
from girih.addressing.blocked_interleaved import BLOCK_BYTES, BLOCK_ROWS, ROW_BYTES, WORD_BYTES
from girih.draw.options import Limits, Options
from girih.draw.picture import ACCESS_LOOKS, FREE, Look, Panel, Picture, plural, times
from girih.draw.tile import MOST_ELEMENTS, TilePicture, chosen, drawn_lines, memory_panel, tile_panel

_TINTS = (
    ("#a6cfee", ""),
    ("#f7d28b", "////"),
    ("#96d9c0", "...."),
    ("#dcb8dc", "\\\\\\\\"),
    ("#f0b49a", "xxxx"),
    ("#d5d9de", "++++"),
)
"""Colours and hatches of the blocks of a group; of larger groups they repeat."""


def blocked_picture(matrix: BlockedInterleaved, options: Options, limits: Limits) -> Picture:
    """The matrix with its blocks, and memory in rows of one block row of every block of a group."""
    shape = (matrix.rows, matrix.columns)
    rows, columns = drawn_lines(options.window, limits, shape)
    is_part = matrix.rows * matrix.columns > MOST_ELEMENTS
    down, across = (rows, columns) if is_part else (np.arange(matrix.rows), np.arange(matrix.columns))
    parts = range(0, matrix.component_size, matrix.unit_bytes)
    byte = np.stack([matrix.byte(down[:, None], across, part) for part in parts], -1)
    # The words of a group's blocks take turns, so that the number of a word says the block.
    member = byte[..., 0] // WORD_BYTES % matrix.stride if matrix.stride > 1 else byte[..., 0] // BLOCK_BYTES % 2
    corner = (int(rows[0]), int(columns[0])) if is_part else (0, 0)
    element, code = byte // matrix.unit_bytes, (member % len(_TINTS)).astype(np.uint8)
    tile = TilePicture(element, code, rows, columns, shape, corner)
    looks = _looks(matrix.stride)
    natural = ROW_BYTES * matrix.stride // matrix.unit_bytes
    folds = -(-natural // (2 * limits.columns)) if natural % 2 == 0 else 1
    folds = folds if natural % folds == 0 else 1
    width = options.memory_columns or natural // folds
    every = BLOCK_ROWS * folds if options.memory_columns is None else 0
    wide = replace(limits, columns=max(limits.columns, min(width, 2 * limits.columns)))
    unit = "component" if matrix.unit_bytes == matrix.component_size else "word"
    extent = matrix.byte_size // matrix.unit_bytes

    def panel(name: str) -> Panel:
        if name == "tile":
            return tile_panel(tile, looks, (BLOCK_ROWS, matrix.block_columns))
        return memory_panel(tile, width, extent, wide, unit, looks, every)

    names = chosen(options.panels or ("tile", "memory"), ("tile", "memory"))
    title = f"{times(shape)} matrix in interleaved blocks, {matrix.order} order"
    return Picture(title, _facts(matrix), tuple((panel(name),) for name in names), {})


def _looks(stride: int) -> tuple[Look, ...]:
    """The looks of the blocks of a group, and that of memory without drawn elements."""
    names = ["even block", "odd block"] if stride == 1 else [f"block {member} of its group" for member in range(stride)]
    if stride > len(_TINTS):
        names = [f"block {member}, {member + len(_TINTS)}, ... of its group" for member in range(len(_TINTS))]
    names += [""] * (len(_TINTS) - len(names))
    looks = [
        Look(name, colour, chr(ord("a") + member), hatch)
        for member, (name, (colour, hatch)) in enumerate(zip(names, _TINTS, strict=True))
    ]
    return (*looks, ACCESS_LOOKS[FREE])


def _facts(matrix: BlockedInterleaved) -> tuple[str, ...]:
    first = (
        f"components of {plural(matrix.component_size, 'byte')}, blocks of {BLOCK_ROWS} x {matrix.block_columns}, "
        f"groups of {plural(matrix.stride, 'block')} (stride {matrix.stride}), {matrix.byte_size} bytes"
    )
    if matrix.unit_bytes == matrix.component_size:
        return (first,)
    return first, f"each component lies in {matrix.component_size // matrix.unit_bytes} words, which have its number"
