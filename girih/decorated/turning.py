"""Arrays with their axes in the order of a kernel's modes: other views of the same memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from girih.arguments.arrays import Group, Uninitialized
from girih.arguments.devices import CUDA, device_of
from girih.arguments.report import ArgumentPlace, ArgumentReport
from girih.arguments.views import as_array
from girih.diagnostics import Diagnostic, LaunchError
from girih.source import NOWHERE


def turned(value: Any, axes: Sequence[int]) -> object:
    """An array, or the arrays of a group, whose axis `m` is what axis `axes[m]` is in the array that was given."""
    if isinstance(value, np.ndarray):
        return value.transpose(axes)
    if value is None:
        return None
    if isinstance(value, Uninitialized):
        return Uninitialized(turned(value.array, axes))
    if isinstance(value, Group):
        arrays = [turned(member, axes) for member in value.arrays]
        return replace(value, arrays=arrays, shapes=_turned_shapes(value.shapes, axes))
    if isinstance(value, list | tuple):
        return [turned(member, axes) for member in value]
    if hasattr(value, "permute"):
        return value.permute(*axes)
    if hasattr(value, "__cuda_array_interface__"):
        # CuPy's and Numba's arrays have a view of their own, by which a launch knows the library's stream.
        return value.transpose(axes) if hasattr(value, "transpose") else TurnedInterface(value, axes)
    return _as_numpy(value).transpose(axes)


class TurnedInterface:
    """An array with the CUDA array interface, with its axes in another order; it keeps the array alive."""

    __slots__ = ("_array", "_axes")

    def __init__(self, array: Any, axes: Sequence[int]) -> None:
        self._array, self._axes = array, axes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The interface, version 3, of the array as it is now."""
        given = dict(self._array.__cuda_array_interface__)
        shape, strides = given["shape"], given.get("strides")
        if strides is None:
            # Then the array is in order C, without gaps.
            size = np.dtype(given["typestr"]).itemsize
            strides = [size * prod(shape[axis + 1 :]) for axis in range(len(shape))]
        given["shape"] = tuple(shape[axis] for axis in self._axes)
        given["strides"] = tuple(strides[axis] for axis in self._axes)
        return given


def _turned_shapes(shapes: Any, axes: Sequence[int]) -> Any:
    """The shapes of a group's members, whose sizes are by axes of the arrays that were given."""
    if shapes is None:
        return None
    listed = shapes.tolist() if isinstance(shapes, np.ndarray) else shapes
    return [shape if shape is None or isinstance(shape, int) else [shape[axis] for axis in axes] for shape in listed]


def _as_numpy(value: object) -> Any:
    """An array of another library in the memory of the host, as NumPy's over the same memory. Raises `LaunchError`."""
    report = ArgumentReport()
    device = device_of(value)
    if device is not None and device[0] == CUDA:
        name = type(value).__name__
        message = f"arrays lie in different orders, and {name} of a device has neither `permute` nor the CUDA array "
        message += "interface, by which its axes could be turned without a copy"
        hint = "allocate the arrays of this launch in one order"
        raise LaunchError([Diagnostic("bind.order", message, NOWHERE, hint=hint)])
    array = as_array(value, ArgumentPlace("array", 1, NOWHERE), report)
    if array is None:
        raise LaunchError(report.diagnostics)
    return array
