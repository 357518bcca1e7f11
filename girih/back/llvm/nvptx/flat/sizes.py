"""How many work-items take a column that stays in registers."""

from __future__ import annotations

from girih.back.llvm.nvptx.flat.layout import WARP
from girih.ir.types import Number

_OWN_BYTES = 64
"""The bytes that a work-item has of a column, as numbers of the computation: few enough that two work-groups of 512
with several such columns are on a multiprocessor."""

_MOST_ITEMS = 1024

_ROWS = 16
"""Matrices have a multiple of so many rows: whole pieces of 16 bytes of every type."""


def column_sizes(accumulator: Number, length: int) -> dict[str, int] | None:
    """The definitions of the matrix of a column, by the type of the computation; None for one that is too long."""
    own = _OWN_BYTES // accumulator.size
    if length > own * _MOST_ITEMS:
        return None
    items = 1 << (max(1, -(-length // own)) - 1).bit_length()
    return {"length": length, "rows": -(-length // _ROWS) * _ROWS, "items": max(WARP, items)}
