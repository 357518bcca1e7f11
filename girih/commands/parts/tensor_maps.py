"""The tensor maps of a launch: `tiled:A.npy:box=64x16:swizzle=128B`, an array with a map of it.

The last axis of an array is dimension 0; rows are padded to 32 bytes, so that every map can describe them. With an
interleave layout the last axis is a channel slice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from girih.commands.parts.array_specifications import BoxOf, FromFile
from girih.diagnostics import nearest
from girih.ir.types import TensorMapType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from girih.addressing import BoundTensorMap

_ROW_BYTES = 32


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split("x"))


OPTIONS: dict[str, tuple[str, Callable[[str], object]]] = {
    "box": ("box_dim", _sizes),
    "strides": ("element_strides", _sizes),
    "lower": ("lower_corner", _sizes),
    "upper": ("upper_corner", _sizes),
    "channels": ("channels_per_pixel", int),
    "pixels": ("pixels_per_column", int),
    "type": ("dtype", str),
    "swizzle": ("swizzle", str),
    "interleave": ("interleave", str),
    "fill": ("oob_fill", str),
    "architecture": ("architecture", str),
}
"""The options of a map on the command line: the parameter of `TensorMap` that each is, and how its value is read."""


def bound_map(
    name: str, type: TensorMapType, given: object, array_of: Callable[[FromFile | Any], NDArray[Any]]
) -> BoundTensorMap:
    """The argument for a parameter; `array_of` loads or makes the array. Raises `click.UsageError`."""
    from girih.addressing import AddressingError, TensorMap

    if not isinstance(given, BoxOf):
        example = "tiled:A.npy:box=64x16" if type.mode.value == "tiled" else "im2col:A.npy:lower=0x0:..."
        raise click.UsageError(f"{name}: {type} takes a tensor map, as in {name}={example}")
    options = dict(_option(name, option, value) for option, value in given.options)
    array = _padded(array_of(given.array), sliced="interleave" in options)
    make = TensorMap.tiled if given.mode == "tiled" else TensorMap.im2col
    try:
        return make(**_tensor(array, options), **options).bind(array)
    except AddressingError as error:
        raise click.UsageError("\n".join(f"{name}: {violation}" for violation in error.violations)) from None
    except TypeError:
        needed = "box" if given.mode == "tiled" else "lower, upper, channels and pixels"
        raise click.UsageError(f"{name}: a map in {given.mode} mode needs the options {needed}") from None


def _option(name: str, option: str, value: str) -> tuple[str, Any]:
    if option not in OPTIONS:
        close = nearest(option, OPTIONS)
        hint = f"did you mean {close}?" if close else f"there are {', '.join(OPTIONS)}"
        raise click.UsageError(f"{name}: a tensor map has no option {option!r}; {hint}")
    parameter, read = OPTIONS[option]
    try:
        return parameter, read(value)
    except ValueError:
        wanted = "numbers such as 64x16" if read is _sizes else "a number"
        raise click.UsageError(f"{name}: {option}={value} is not {wanted}") from None


def _padded(array: NDArray[Any], *, sliced: bool) -> NDArray[Any]:
    """A copy of an array in C order, at a multiple of the padding of rows."""
    import numpy as np

    if not array.ndim:
        array = array.reshape(1)
    row = array.shape[-1] * array.itemsize
    pitch = row if sliced else -(-row // _ROW_BYTES) * _ROW_BYTES
    rows = int(np.prod(array.shape[:-1], dtype=np.int64))
    room = np.zeros(rows * pitch + _ROW_BYTES, np.uint8)
    skip = -room.ctypes.data % _ROW_BYTES
    bytes = room[skip : skip + rows * pitch].reshape(*array.shape[:-1], pitch)
    copy = bytes[..., :row].view(array.dtype)
    copy[...] = array
    return copy


def _tensor(array: NDArray[Any], options: dict[str, Any]) -> dict[str, Any]:
    """The element type, the sizes and the strides of an array, innermost first."""
    from girih.addressing.tensor_map.element_type import ELEMENT_TYPES, FROM_NUMPY

    dtype = options.pop("dtype", None) or FROM_NUMPY.get(array.dtype.name, "u8")
    bits = ELEMENT_TYPES[dtype].bits if dtype in ELEMENT_TYPES else 8
    sizes, strides = array.shape[::-1], array.strides[-2::-1]
    if "interleave" in options:
        sizes, strides = sizes[1:], strides[1:]
    else:
        sizes = (sizes[0] * array.itemsize * 8 // bits, *sizes[1:])
    return {"dtype": dtype, "global_dim": sizes, "global_strides": strides}
