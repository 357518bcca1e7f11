"""How many work-items take a column that stays in registers."""

from __future__ import annotations

from girih.back.llvm.nvptx.flat.layout import WARP
from girih.ir.types import Number

_OWN_BYTES = 64
"""The bytes that a work-item has of a column, as numbers of the computation: few enough that two work-groups of 512
with several such columns are on a multiprocessor."""

_FEW_COLUMNS, _HALF, _SEVERAL_ITEMS = 2, 2, 256
"""Where a long column is of numbers of two bytes, and few others are loaded with it, a work-item has twice as many of
them: as many bytes are under way, and fewer warps meet. Measured for 8192 numbers, as a ratio to a copy: softmax 0.86
in the place of 0.69, rms_norm 0.95 and 0.71; but layernorm, with three columns, 0.67 and 0.71."""

_MOST_ITEMS = 1024

_ROWS = 16
"""Matrices have a multiple of so many rows: whole pieces of 16 bytes of every type."""


def column_sizes(type: Number, accumulator: Number, loaded: int, length: int) -> dict[str, int] | None:
    """The definitions of the matrix of a column, by its type and that of the computation.

    `loaded` is how many columns of that length a work-group loads. None for one that is too long.
    """
    own = _OWN_BYTES // accumulator.size
    if length > own * _MOST_ITEMS:
        return None
    if type.size == _HALF and loaded <= _FEW_COLUMNS and length > own * _SEVERAL_ITEMS:
        own *= 2
    items = 1 << (max(1, -(-length // own)) - 1).bit_length()
    return {"length": length, "rows": -(-length // _ROWS) * _ROWS, "items": max(WARP, items)}
