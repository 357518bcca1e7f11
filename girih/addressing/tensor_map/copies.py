"""The bytes that one tensor copy moves: rows of global memory, their bytes, and the place of each in shared memory.

A row is what is contiguous in both memories: the inner dimension of the box, the channels of a pixel, or one channel
slice. Rows come in the order in which they lie in shared memory.

Operands are numbers, or arrays of as many numbers as there are copies: then results have a first axis of copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from girih.addressing.tensor_map.im2col import corners, walk
from girih.addressing.tensor_map.parameters import MapParameters, round_up
from girih.addressing.tensor_map.sub_byte import RowBytes, row_bytes

STORE_GRANULE = 16
"""A store clips dimension 0 at its extent rounded up to these bytes (measured)."""
ADDRESS_LIMIT = 2**59
"""A byte that no memory reaches; numbers of bits up to it stay below 2^62."""

Operand = int | NDArray[np.int64]
"""An operand of one copy, or of several."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one copy, or of several.

    - `offset`: int64 `[rows]` or `[copies, rows]`, the byte of global memory where element 0 of dimension 0 lies.
    - `inside`: bool, as many, whether every coordinate but the inner one lies in the tensor.
    - `reach`: an upper bound of every offset, as it may pass 64 bits.
    """

    offset: NDArray[np.int64]
    inside: NDArray[np.bool_]
    reach: int

    def __len__(self) -> int:
        return int(self.offset.shape[-1])


def place(given: MapParameters, indices: dict[int, NDArray[np.int64]], copies: tuple[int, ...]) -> Rows:
    """The rows at these coordinates; `indices` maps a dimension to an array, and the arrays broadcast together.

    `copies` is the shape of what comes before the rows: () for one copy.
    """
    shape = np.broadcast_shapes(*(index.shape for index in indices.values())) if indices else (*copies, 1)
    offset, inside, reach = np.zeros(shape, np.int64), np.ones(shape, np.bool_), 0
    for dimension, index in indices.items():
        here = (index >= 0) & (index < given.global_dim[dimension])
        kept = np.where(here, index, 0)
        stride = given.strides[dimension]
        reach += int(kept.max(initial=0)) * stride
        if reach >= ADDRESS_LIMIT:
            break
        offset = offset + kept * stride
        inside = inside & here
    return Rows(offset.reshape(*copies, -1), inside.reshape(*copies, -1), reach)


def _column(operand: Operand) -> NDArray[np.int64]:
    """An operand with a last axis of size 1, along which rows or bytes can be counted."""
    return np.asarray(operand, np.int64)[..., None]


def tiled_rows(given: MapParameters, coordinates: Sequence[Operand]) -> Rows:
    """The rows of a box that starts at `coordinates`, innermost dimension first (004 5.5.3)."""
    first = 0 if given.slice_bytes else 1
    outer, copies = given.rank - first, np.shape(coordinates[0])
    indices = {}
    for dimension in range(first, given.rank):
        steps = np.arange(given.counts[dimension], dtype=np.int64) * given.element_strides[dimension]
        shape = [1] * outer
        shape[given.rank - 1 - dimension] = -1
        indices[dimension] = (_column(coordinates[dimension]) + steps).reshape(*copies, *shape)
    return place(given, indices, copies)


def im2col_rows(given: MapParameters, coordinates: Sequence[Operand], offsets: Sequence[Operand]) -> Rows:
    """The pixels of a column, one row each (004 5.5.4); `offsets` in W, H, D order."""
    spatial = given.spatial
    box = corners(given.global_dim[spatial], given.lower_corner, given.upper_corner)
    cursor = walk(
        given.pixels_per_column,
        [_column(coordinate) for coordinate in coordinates[spatial]],
        box,
        given.element_strides[spatial],
        _column(coordinates[-1]),
        given.element_strides[-1],
    )
    indices = {
        dimension: cursor[..., position] + _column(offsets[position])
        for position, dimension in enumerate(range(spatial.start, spatial.stop))
    }
    indices[given.rank - 1] = cursor[..., -1]
    if given.slice_bytes:
        indices[given.rank - 2] = _column(coordinates[given.rank - 2])
    return place(given, indices, np.shape(coordinates[0]))


def gathered_rows(given: MapParameters, rows: Sequence[Operand]) -> Rows:
    """Four rows of a matrix (004 5.5.3.4)."""
    return place(given, {1: np.stack([np.asarray(row, np.int64) for row in rows], axis=-1)}, np.shape(rows[0]))


def inner_bytes(given: MapParameters, start: Operand) -> RowBytes:
    """The bytes of one row whose inner coordinate is `start`; a slice is always whole."""
    if not given.slice_bytes:
        return row_bytes(given.element, start, given.inner_elements)
    steps = np.arange(given.slice_bytes, dtype=np.int64)
    return RowBytes(steps, steps, given.slice_bytes)


def inner_extent(given: MapParameters, store: bool) -> int:
    """The bytes of dimension 0 that a copy may touch: a store goes to the next multiple of 16 (measured)."""
    if given.slice_bytes:
        return given.slice_bytes
    return round_up(given.row_extent, STORE_GRANULE) if store else given.row_extent


def global_bytes(given: MapParameters, rows: Rows, inner: RowBytes, store: bool = False) -> NDArray[np.int64]:
    """The byte of global memory of each payload byte, int64 `[rows, bytes]`; -1, a fill, outside the tensor."""
    in_global = inner.in_global[..., None, :]
    touched: NDArray[np.int64] = rows.offset[..., None] + in_global
    here = (in_global >= 0) & (in_global < inner_extent(given, store))
    if not here.all() or not rows.inside.all():
        touched[~(here & rows.inside[..., None])] = -1
    return touched


def shared_bytes(given: MapParameters, rows: int, inner: RowBytes, shared_address: Operand) -> NDArray[np.int64]:
    """The place in shared memory of each byte of the rows, from `shared_address` on; int64 `[rows, bytes]`."""
    pitch = inner.pitch if given.slice_bytes else given.swizzling.span or inner.pitch
    begin = _column(shared_address)
    linear = (begin + pitch * np.arange(rows, dtype=np.int64))[..., None] + inner.in_shared
    return given.swizzling.move(linear) - begin[..., None]
