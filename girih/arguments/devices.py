"""Arrays in the memory of a device: torch's tensors, CuPy's and JAX's arrays, and whatever exports DLPack.

Such an array is described as an array of NumPy at the address on the device, so that it is checked like any other; its
bytes are never read or written here, since the host has no access to them. Nothing is copied.
"""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from typing import Any, cast

import ml_dtypes
import numpy as np

from girih.arguments.report import ArgumentPlace, ArgumentReport, DeviceReach
from girih.lazy_dataclass import dataclass

CUDA = 2
"""kDLCUDA of dlpack.h, version 1.0."""
MANAGED = 13
"""kDLCUDAManaged: memory that the host and the devices of CUDA share, which a launch on CUDA takes as its own."""
LEGACY_STREAM = 1
"""The number of CUDA's default stream in DLPack and in the CUDA array interface."""

FOREIGN_ERRORS = (AttributeError, BufferError, KeyError, RuntimeError, TypeError, ValueError)
"""What objects of other libraries raise when they are asked for their memory."""
_NO_ADDRESS = 4096
"""The address that describes an array without elements, whose exporter may have none."""


class ArrayOnDevice(np.ndarray[Any, np.dtype[Any]]):
    """An array in the memory of a device: its address, type, shape and strides are right, its elements out of reach."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class PlacedArray:
    """Memory of a CUDA device by its address, which a launch uses on a stream: for callers that have no array of it.

    `strides` are in bytes, by axes; the memory may be written.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    device: int
    stream: int


def device_of(value: object) -> tuple[int, int] | None:
    """Kind, as DLPack numbers it, and number of the device that an array is on; None for what is no such array.

    The number is -1 where the array does not say it. Managed memory counts as its device's.
    """
    if isinstance(value, np.ndarray):
        return None
    if isinstance(value, PlacedArray):
        return CUDA, value.device
    try:
        exporter: Any = value
        if hasattr(value, "__dlpack_device__"):
            kind, number = exporter.__dlpack_device__()
            return CUDA if kind == MANAGED else int(kind), int(number)
        if hasattr(value, "__cuda_array_interface__"):
            return CUDA, -1
    except FOREIGN_ERRORS:
        return None
    return None


def named_stream(value: object) -> int | None:
    """The stream that an array with the CUDA array interface names, whose work on it comes first; None for no stream.

    It is the `stream` of the interface (Numba's documentation, version 3, "Synchronization"), a handle of the driver.
    """
    exporter: Any = value
    try:
        stream = exporter.__cuda_array_interface__.get("stream")
        return None if stream is None else int(stream)
    except FOREIGN_ERRORS:
        return None


def device_array(
    value: object, device: tuple[int, int], reach: DeviceReach, place: ArgumentPlace, report: ArgumentReport
) -> ArrayOnDevice | None:
    """The description of an array that is on a device; None after a problem was reported."""
    name = value.__class__.__name__
    if device[1] not in (reach.number, -1):
        hint = f"move the array to {reach.name}, or load the program for target='cuda:{device[1]}'"
        report.add("bind.device", place, f"{name} lies on cuda:{device[1]}; the launch is on {reach.name}", hint)
        return None
    try:
        described = _described(value, reach)
    except FOREIGN_ERRORS as error:
        report.add("bind.type", place, f"{name} does not give access to its memory: {error}")
        return None
    if described.size and not described.__array_interface__["data"][0]:
        report.add("bind.device", place, f"{name} has no memory any more: it was freed", "pass an array that has some")
        return None
    return described


class _Description:
    """What NumPy makes an array of, and what keeps the exporter's memory for so long."""

    def __init__(self, interface: dict[str, Any], held: object) -> None:
        self.__array_interface__ = interface
        self.held = held


def _array(
    address: int, shape: tuple[int, ...], steps: tuple[int, ...] | None, dtype: np.dtype[Any], held: object, *,
    read_only: bool,
) -> ArrayOnDevice:  # fmt: skip
    """The description of an array; `steps` are strides in bytes, None for those of order C."""
    # NumPy has no names for the types of `ml_dtypes` here: their bits are of the same size.
    plain = dtype if dtype.type.__module__ == np.__name__ else np.dtype(f"i{dtype.itemsize}")
    empty = 0 in shape
    interface = {
        "version": 3,
        "data": (_NO_ADDRESS if empty else address, read_only),
        "shape": shape,
        "strides": None if empty else steps,
        "typestr": plain.str,
    }
    if not address and not empty:
        raise BufferError("it has no memory, perhaps no longer")
    described = np.asarray(cast(Any, _Description(interface, held)))
    return described.view(dtype).view(ArrayOnDevice)


def _described(value: Any, reach: DeviceReach) -> ArrayOnDevice:
    if isinstance(value, PlacedArray):
        return _array(value.address, value.shape, value.strides, value.dtype, value, read_only=False)
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(value)
    if hasattr(value, "__dlpack__"):
        return _of_dlpack(value, reach)
    return _of_interface(value)


# --- torch -------------------------------------------------------------------------------------


def _of_torch(tensor: Any) -> ArrayOnDevice:
    """A tensor of torch, which tells all about itself faster than DLPack does."""
    if tensor.requires_grad:
        raise RuntimeError("it requires a gradient, which no kernel records: pass its .detach()")
    if tensor.is_conj() or tensor.is_neg():
        raise RuntimeError("its elements are conjugated or negated when they are read: pass its .resolve_conj()")
    dtype = _torch_dtype(tensor.dtype)
    steps = tuple(stride * dtype.itemsize for stride in tensor.stride())
    return _array(tensor.data_ptr(), tuple(tensor.shape), steps, dtype, tensor, read_only=False)


@lru_cache(maxsize=64)
def _torch_dtype(given: Any) -> np.dtype[Any]:
    name = str(given).removeprefix("torch.")
    found = getattr(ml_dtypes, name, None) or getattr(np, {"bool": "bool_"}.get(name, name), None)
    if found is None:
        raise TypeError(f"NumPy has no numbers such as {given}")
    dtype: np.dtype[Any] = np.dtype(found)
    return dtype


# --- DLPack ------------------------------------------------------------------------------------

# dlpack.h, version 1.1: DLDataTypeCode
_FAMILIES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_BOOLEAN = 6
_EIGHT_BITS = {
    7: "float8_e3m4", 8: "float8_e4m3", 9: "float8_e4m3b11fnuz", 10: "float8_e4m3fn", 11: "float8_e4m3fnuz",
    12: "float8_e5m2", 13: "float8_e5m2fnuz", 14: "float8_e8m0fnu",
}  # fmt: skip
_READ_ONLY = 1


class _Tensor(ctypes.Structure):
    """DLTensor, with which DLManagedTensor begins."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    )  # fmt: skip


def _of_dlpack(exporter: Any, reach: DeviceReach) -> ArrayOnDevice:
    stream = reach.stream or LEGACY_STREAM
    try:
        capsule = exporter.__dlpack__(stream=stream, max_version=(1, 1))
    except TypeError:
        # It is older than versions are.
        capsule = exporter.__dlpack__(stream=stream)
    tensor, flags = _tensor_in(capsule)
    dtype = _dlpack_dtype(tensor.code, tensor.bits, tensor.lanes)
    shape = tuple(tensor.shape[: tensor.ndim])
    steps = tuple(stride * dtype.itemsize for stride in tensor.strides[: tensor.ndim]) if tensor.strides else None
    address = (tensor.data or 0) + tensor.byte_offset
    # Arrays of JAX never change, and older ones do not say so.
    read_only = bool(flags & _READ_ONLY) or exporter.__class__.__module__.startswith("jax")
    return _array(address, shape, steps, dtype, (exporter, capsule), read_only=read_only)


def _tensor_in(capsule: object) -> tuple[_Tensor, int]:
    """The tensor that a capsule holds, and its flags; the capsule keeps both."""
    for name, kind in ((b"dltensor_versioned", _Versioned), (b"dltensor", _Tensor)):
        place = in_capsule(capsule, name)
        if place is not None:
            found: Any = kind.from_address(place)
            return (found.tensor, int(found.flags)) if kind is _Versioned else (found, 0)
    raise TypeError("what it exports is no tensor of DLPack")


def in_capsule(capsule: object, name: bytes) -> int | None:
    """The address in a capsule of a name; None for a capsule of another one, and for what is none."""
    is_valid, pointer = ctypes.pythonapi.PyCapsule_IsValid, ctypes.pythonapi.PyCapsule_GetPointer
    is_valid.argtypes, is_valid.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_int
    pointer.argtypes, pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    return int(pointer(capsule, name)) if is_valid(capsule, name) else None


@lru_cache(maxsize=64)
def _dlpack_dtype(code: int, bits: int, lanes: int) -> np.dtype[Any]:
    name = _EIGHT_BITS.get(code) or f"{_FAMILIES.get(code)}{'' if code == _BOOLEAN else bits}"
    if lanes != 1 or not (hasattr(np, name) or hasattr(ml_dtypes, name)):
        raise TypeError(f"NumPy has no numbers of DLPack's code {code} with {bits} bits and {lanes} lanes")
    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name, name))
    return dtype


# --- the CUDA array interface --------------------------------------------------------------------


def _of_interface(exporter: Any) -> ArrayOnDevice:
    """An array that has only `__cuda_array_interface__` (Numba's documentation, version 3)."""
    found: dict[str, Any] = exporter.__cuda_array_interface__
    address, read_only = found["data"]
    steps = found.get("strides")
    dtype = np.dtype(found["typestr"])
    shape = tuple(found["shape"])
    return _array(int(address or 0), shape, steps and tuple(steps), dtype, exporter, read_only=bool(read_only))
