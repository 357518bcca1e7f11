"""Copies between tensor maps and local memory, a box of a tensor at a time (004 5.5).

The work-group makes a copy as one: it stands outside of `gl.foreach`. What it moves is there after the next barrier, or
the next collective word that is no copy. Coordinates are in elements, innermost first; local memory is an array of i8
with one axis, or of the map's element type with the sizes of the box, in order F, at a multiple of 128 bytes.
"""

from __future__ import annotations

from typing import Any, Literal, SupportsIndex

from girih.language.types import Array, Im2colMap, TensorMap
from girih.language.words import outside, word

_Map = TensorMap[Any, Any] | Im2colMap[Any, Any]
_Coordinates = SupportsIndex | tuple[SupportsIndex, ...]


@word
def tensor_copy_load(
    map: _Map,
    coordinates: _Coordinates,
    array: Array[Any, Any],
    *,
    offsets: _Coordinates | None = None,
    mode: Literal["tiled", "im2col", "gather4"] | None = None,
) -> None:
    """Copy a box to local memory; elements outside of the tensor are filled (004 5.5.3).

    Through an `Im2colMap` it is a column of pixels, whose `offsets` in W, H and D count from the base of the filter
    (004 5.5.4). With the mode "gather4" it is four rows of a matrix: coordinates are a column and four row numbers.
    """
    outside("gl.tensor_copy_load")


@word
def tensor_copy_store(
    array: Array[Any, Any],
    map: _Map,
    coordinates: _Coordinates,
    *,
    mode: Literal["tiled", "im2col", "scatter4"] | None = None,
) -> None:
    """Copy a box from local memory; what lies outside of the tensor is dropped (004 5.5.3).

    Through an `Im2colMap` it is a column of pixels. With the mode "scatter4" it is four rows of a matrix.
    """
    outside("gl.tensor_copy_store")


@word
def tensor_copy_reduce(
    reduction: Literal["add", "min", "max", "inc", "dec", "and", "or", "xor"],
    array: Array[Any, Any],
    map: _Map,
    coordinates: _Coordinates,
    *,
    mode: Literal["tiled", "im2col"] | None = None,
) -> None:
    """Combine each element of a box with that of local memory, atomically (PTX ISA, cp.reduce.async.bulk.tensor)."""
    outside("gl.tensor_copy_reduce")
