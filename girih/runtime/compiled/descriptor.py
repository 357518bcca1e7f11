"""Accepted tensor maps as the descriptors that compiled kernels read (`girih.back.llvm.lower.launch.descriptor`)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from girih.addressing.access import read_only
from girih.addressing.tensor_map.copies import inner_extent
from girih.addressing.tensor_map.element_type import ROUNDED_TO_TF32
from girih.addressing.tensor_map.im2col import corners
from girih.addressing.tensor_map.model import TensorMap
from girih.addressing.tensor_map.operands import start_multiple
from girih.addressing.tensor_map.shared_image import OOB_NAN
from girih.back.llvm.lower.launch import descriptor as layout
from girih.back.llvm.lower.launch.descriptor import DIMENSIONS, NO_OPERAND, SPATIAL, MapField, Packing


def descriptor(given: TensorMap, address: int) -> NDArray[np.int64]:
    """The descriptor of a tensor map whose tensor is at an address."""
    words = _described(given).copy()
    words[MapField.ADDRESS] = address
    return words


@lru_cache(maxsize=64)
def _described(given: TensorMap) -> NDArray[np.int64]:
    """The descriptor of a tensor map without its address; kernels are launched with the same maps again and again."""
    words = np.zeros(layout.WORDS, np.int64)
    fields = {
        MapField.ROWS: given.rows,
        MapField.ROW_BYTES: given.slice_bytes or given.element.bytes_of(given.inner_elements),
        MapField.PITCH: given.row_pitch,
        MapField.START_BITS: 0 if given.slice_bytes else given.element.bits,
        MapField.START_MULTIPLE: start_multiple(given),
        MapField.LOAD_EXTENT: inner_extent(given, store=False),
        MapField.STORE_EXTENT: inner_extent(given, store=True),
        MapField.FILL: int.from_bytes(bytes(OOB_NAN) * 4, "little") if given.oob_fill == "nan" else 0,
        MapField.TF32: int(given.dtype in ROUNDED_TO_TF32),
        MapField.PACKING: PACKINGS.get(given.dtype, Packing.NONE),
        MapField.SIGNED: int(given.element.family == "signed"),
    }
    for field, value in fields.items():
        words[field] = value
    _swizzle(given, words)
    if given.mode == "tiled":
        _tiled(given, words)
    else:
        _im2col(given, words)
    return read_only(words)


PACKINGS = {
    "b4x16_p64": Packing.EIGHT_BYTES,
    "b6x16_p32": Packing.TWELVE_BYTES,
    "b6p2x16": Packing.SIX_BITS,
}
"""The containers of the element types that take more room in shared than in global memory."""


def _swizzle(given: TensorMap, words: NDArray[np.int64]) -> None:
    for mask, shift in given.swizzling.mode.steps:
        if shift == layout.FLIP_SHIFT:
            words[MapField.FLIP] = mask
        else:
            words[MapField.SWIZZLE_MASK], words[MapField.SWIZZLE_SHIFT] = mask, shift


def _tiled(given: TensorMap, words: NDArray[np.int64]) -> None:
    """The dimensions of rows, innermost first; those that there are not have one position at coordinate 0.

    The first one has the rows side by side, which routines copy in one loop, fetching ahead.
    """
    first = 0 if given.slice_bytes else 1
    for place in range(DIMENSIONS):
        base, number = layout.dimension(place), place + first
        there = number < given.rank
        words[base + layout.OPERAND] = number if there else NO_OPERAND
        words[base + layout.SIZE] = given.global_dim[number] if there else 1
        words[base + layout.STRIDE] = given.strides[number] if there else 0
        words[base + layout.COUNT] = given.counts[number] if there else 1
        words[base + layout.STEP] = given.element_strides[number] if there else 0
    words[MapField.START_OPERAND] = NO_OPERAND if given.slice_bytes else 0


def _im2col(given: TensorMap, words: NDArray[np.int64]) -> None:
    """W, H, D, then the image, then the channel slice; spatial dimensions that there are not have one position."""
    spatial = given.spatial
    numbers = list(range(spatial.start, spatial.stop))
    box = corners(given.global_dim[spatial], given.lower_corner, given.upper_corner)
    chosen: list[int | None] = [*numbers, *[None] * (SPATIAL - len(numbers)), given.rank - 1]
    chosen.append(given.rank - 2 if given.slice_bytes else None)
    for number, dimension in enumerate(chosen):
        base = layout.dimension(number)
        words[base + layout.OPERAND] = NO_OPERAND if dimension is None else dimension
        words[base + layout.SIZE] = 1 if dimension is None else given.global_dim[dimension]
        words[base + layout.STRIDE] = 0 if dimension is None else given.strides[dimension]
        words[base + layout.STEP] = 1 if dimension is None else given.element_strides[dimension]
        if dimension is not None and number < SPATIAL:
            words[base + layout.LOW], words[base + layout.HIGH] = box[number]
    words[MapField.START_OPERAND] = NO_OPERAND if given.slice_bytes else 0
