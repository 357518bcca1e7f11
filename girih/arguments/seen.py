"""What is seen of an array without touching its elements: its type, shape, strides and device, whosever array it is."""

from __future__ import annotations

import sys
from dataclasses import field
from typing import Any

import numpy as np

from girih.arguments.arrays import Uninitialized
from girih.arguments.devices import CUDA, FOREIGN_ERRORS, device_of
from girih.arguments.report import ArgumentPlace, ArgumentReport
from girih.arguments.scalars import DTYPES, is_masked
from girih.arguments.views import as_array
from girih.ir.types import INDEX
from girih.lazy_dataclass import dataclass

ELEMENTS: dict[str, str] = {str(dtype): str(type) for type, dtype in DTYPES.items() if type != INDEX}
"""The element types by the names that NumPy gives their dtypes; 64-bit integers are `i64`, and count as `index` too."""


@dataclass(frozen=True, slots=True)
class SeenArray:
    """An array: the name of its dtype, its sizes and its strides in elements, by axes.

    `device` is the number of the CUDA device that it is on, None on the host. A stride that is no whole number of
    elements is None.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int | None, ...]
    device: int | None = None

    significant: tuple[int, ...] = field(init=False)
    """The axes whose strides matter: more than one element along them, in an array that has elements."""
    order: tuple[int, ...] = field(init=False)
    """The axes from the one whose elements lie closest together; what is open is as in order C.

    Axes whose strides do not matter stay between their neighbours, so that an array that is in order C, or in order F,
    is so in all axes."""
    unit: bool = field(init=False)
    """Whether elements lie side by side along the first axis of `order`, as far as that matters."""

    def __post_init__(self) -> None:
        shape, strides = self.shape, self.strides
        matter = () if 0 in shape else tuple(axis for axis, size in enumerate(shape) if size > 1)
        order = _order(matter, strides)
        object.__setattr__(self, "significant", matter)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "unit", not order or order[0] not in matter or strides[order[0]] == 1)

    def __str__(self) -> str:
        strides = ", ".join("?" if stride is None else str(stride) for stride in self.strides)
        comma = "," if len(self.strides) == 1 else ""
        return f"{self.dtype} array of shape {self.shape}, strides ({strides}{comma})"


def _order(matter: tuple[int, ...], strides: tuple[int | None, ...]) -> tuple[int, ...]:
    """The axes of an array by their strides, of which only some matter."""
    backwards = tuple(range(len(strides) - 1, -1, -1))
    steps = [abs(strides[axis] or 0) for axis in matter]
    ordered = sorted(steps)
    if steps[::-1] == ordered:
        return backwards
    if steps == ordered:
        return backwards[::-1]
    by_stride = iter(sorted(matter, key=lambda axis: (abs(strides[axis] or 0), -axis)))
    return tuple(next(by_stride) if axis in matter else axis for axis in backwards)


def seen(value: object, place: ArgumentPlace, report: ArgumentReport) -> SeenArray | None:
    """What is seen of an array; None after a problem was reported."""
    while isinstance(value, Uninitialized):
        value = value.array
    if isinstance(value, np.ndarray) and not is_masked(value):
        return _of_numpy(value, None)
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(value, place, report)
    device = device_of(value)
    if device is not None and device[0] == CUDA:
        return _of_device(value, device[1], place, report)
    array = as_array(value, place, report)
    return None if array is None else _of_numpy(array, None)


def _of_numpy(array: Any, device: int | None) -> SeenArray:
    return SeenArray(str(array.dtype), array.shape, _whole(array.strides, array.itemsize), device)


def _whole(strides: tuple[int, ...], itemsize: int) -> tuple[int | None, ...]:
    return tuple(None if not itemsize or stride % itemsize else stride // itemsize for stride in strides)


def _of_torch(tensor: Any, place: ArgumentPlace, report: ArgumentReport) -> SeenArray | None:
    kind = tensor.device.type
    if kind not in ("cpu", "cuda"):
        report.add("bind.device", place, f"Tensor lies on {tensor.device}", "move it to the CPU, or to a CUDA device")
        return None
    dtype = str(tensor.dtype).removeprefix("torch.")
    number = None if kind == "cpu" else int(tensor.device.index or 0)
    return SeenArray(dtype, tuple(tensor.shape), tuple(tensor.stride()), number)


def _of_device(value: Any, number: int, place: ArgumentPlace, report: ArgumentReport) -> SeenArray | None:
    """An array of CuPy or JAX, or another one on a CUDA device."""
    try:
        shape, dtype = tuple(map(int, value.shape)), np.dtype(value.dtype)
        strides = getattr(value, "strides", None)
        if strides is None:
            strides = _packed(shape, dtype.itemsize)
        return SeenArray(str(dtype), shape, _whole(tuple(strides), dtype.itemsize), max(number, 0))
    except FOREIGN_ERRORS as error:
        report.add("bind.type", place, f"{type(value).__name__} does not say its shape and type: {error}")
        return None


def _packed(shape: tuple[int, ...], step: int) -> tuple[int, ...]:
    """The strides in bytes of an array in order C."""
    strides = []
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
