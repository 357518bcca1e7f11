"""Arrays with their axes in the order of a kernel's modes: other views of the same memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from girih.arguments.arrays import Group, Uninitialized
from girih.arguments.report import ArgumentPlace, ArgumentReport
from girih.arguments.views import as_array
from girih.diagnostics import LaunchError
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
        return value.transpose(axes)
    return _as_numpy(value).transpose(axes)


def _turned_shapes(shapes: Any, axes: Sequence[int]) -> Any:
    """The shapes of a group's members, whose sizes are by axes of the arrays that were given."""
    if shapes is None:
        return None
    listed = shapes.tolist() if isinstance(shapes, np.ndarray) else shapes
    return [shape if shape is None or isinstance(shape, int) else [shape[axis] for axis in axes] for shape in listed]


def _as_numpy(value: object) -> Any:
    """An array of another library in the memory of the host, as NumPy's over the same memory. Raises `LaunchError`."""
    report = ArgumentReport()
    array = as_array(value, ArgumentPlace("array", 1, NOWHERE), report)
    if array is None:
        raise LaunchError(report.diagnostics)
    return array
