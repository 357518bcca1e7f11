"""Python objects as NumPy arrays over the same memory: the caller's object shows what a kernel writes.

Nothing is copied, with one exception that cannot lose a result: an object whose DLPack cannot be used but that has
`__array__` is taken as a read-only array, which binding refuses where the kernel writes.
"""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from girih.arguments.devices import CUDA, ArrayOnDevice, device_array, device_of
from girih.arguments.report import ArgumentPlace, ArgumentReport
from girih.arguments.scalars import is_masked

_HOST_DEVICES = frozenset((1, 3, 11, 13))  # kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged of dlpack.h, version 1.0
_FOREIGN_ERRORS = (BufferError, RuntimeError, TypeError, ValueError)


_EIGHT_BITS = (np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2))
"""The floats of eight bits of the language, which NumPy's DLPack does not have."""


def as_array(
    value: object, place: ArgumentPlace, report: ArgumentReport, wanted: np.dtype[Any] | None = None
) -> NDArray[Any] | None:
    """An array over the memory of `value`; None after a problem was reported.

    Takes NumPy arrays, DLPack exporters in host memory, and anything with the buffer protocol (untyped bytes count as
    int8); for a launch on a device also arrays there (`girih.arguments.devices`). Reports bind.type and bind.device;
    `wanted` is the dtype of the memref's elements, for the hint.
    """
    if isinstance(value, ArrayOnDevice):
        return value
    if report.reach is not None:
        device = device_of(value)
        if device is not None and device[0] == CUDA:
            return device_array(value, device, report.reach, place, report)
    if is_masked(value):
        hint = f"{place.name}.data is the array without its mask, over the same memory"
        report.add("bind.type", place, "a memref has no room for the mask of a masked array", hint)
        return None
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    if isinstance(value, np.generic | bool | int | float | complex):
        hint = "pass an array; for a memref of order 0 a 0-d array: np.zeros((), dtype)"
        kind = value.__class__.__name__
        report.add(
            "bind.type", place, f"a memref takes an array; what is written to a number ({kind}) would be lost", hint
        )
        return None
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _from_dlpack(value, place, report, wanted)
    array = _from_buffer(value)
    if array is None:
        hint = "pass a NumPy array, or an object with the buffer protocol or DLPack"
        report.add("bind.type", place, f"a memref takes an array; got {value.__class__.__name__}", hint)
    return array


def address(array: NDArray[Any]) -> int:
    """The address of the first element, in bytes."""
    return int(array.__array_interface__["data"][0])


def _from_buffer(value: object) -> NDArray[Any] | None:
    exporter: Any = value
    try:
        array = np.asarray(memoryview(exporter))
    except _FOREIGN_ERRORS:
        return None
    return array.view(np.int8) if array.dtype == np.uint8 else array


def _from_dlpack(
    exporter: Any, place: ArgumentPlace, report: ArgumentReport, wanted: np.dtype[Any] | None
) -> NDArray[Any] | None:
    kind = exporter.__class__.__name__
    try:
        device = int(exporter.__dlpack_device__()[0])
        if device in _HOST_DEVICES:
            return _shared_array(exporter)
    except _FOREIGN_ERRORS as error:
        if wanted in _EIGHT_BITS:
            bytes_of = f"{place.name}.view(np.uint8)"
            hint = f"pass np.from_dlpack(B).view(ml_dtypes.{wanted}), where B is {bytes_of}, the same memory as bytes"
            report.add("bind.type", place, f"{kind} does not share floats of eight bits with NumPy", hint)
        else:
            report.add("bind.type", place, f"{kind} does not give access to its memory: {error}")
        return None
    hint = "allocate it in host memory; the memory of a device cannot be reached from here"
    report.add("bind.device", place, f"{kind} lies on a device (DLPack device type {device})", hint)
    return None


def _shared_array(exporter: Any) -> NDArray[Any]:
    bits = _bits_of_torch(exporter)
    if bits is not None:
        tensor, dtype = bits
        return _writable(tensor, np.from_dlpack(tensor)).view(dtype)
    try:
        array: NDArray[Any] = np.from_dlpack(exporter)
    except _FOREIGN_ERRORS:
        if not hasattr(exporter, "__array__"):
            raise
        array = np.asarray(exporter).view()
        array.flags.writeable = False
        return array
    return _writable(exporter, array)


_OF_TORCH = {
    "bfloat16": ("int16", np.dtype(ml_dtypes.bfloat16)),
    "float8_e4m3fn": ("int8", np.dtype(ml_dtypes.float8_e4m3fn)),
    "float8_e4m3fnuz": ("int8", np.dtype(ml_dtypes.float8_e4m3fnuz)),
    "float8_e5m2": ("int8", np.dtype(ml_dtypes.float8_e5m2)),
    "float8_e5m2fnuz": ("int8", np.dtype(ml_dtypes.float8_e5m2fnuz)),
}
"""Types of torch that NumPy's DLPack does not have: an integer type of the same size, and the dtype for NumPy."""


def _bits_of_torch(exporter: Any) -> tuple[Any, np.dtype[Any]] | None:
    """A tensor of torch as integers over its memory, and its dtype, where NumPy's DLPack lacks that; else None."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(exporter, torch.Tensor):
        return None
    integer, dtype = _OF_TORCH.get(str(exporter.dtype).removeprefix("torch."), (None, None))
    return None if integer is None or dtype is None else (exporter.view(getattr(torch, integer)), dtype)


def _writable(exporter: Any, array: NDArray[Any]) -> NDArray[Any]:
    """An array over the memory of `array`, writeable where the exporter allows it.

    NumPy takes DLPack without a version as read-only; `__array__` of the same object tells whether it is, provided
    that it is the same memory.
    """
    if array.flags.writeable or not hasattr(exporter, "__array__"):
        return array
    same: NDArray[Any] = np.asarray(exporter)
    shared = (same.strides, same.shape, same.dtype) == (array.strides, array.shape, array.dtype)
    return same if shared and address(same) == address(array) else array
