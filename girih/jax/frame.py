"""XLA's calls of foreign functions, as its C interface has them: the frame of a call, its buffers, its answer.

The source of all that is here is `xla/ffi/api/c_api.h`, which jaxlib brings along (`jax.ffi.include_dir()`), version
0.3; a frame says which version its library has, and another major one is refused.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from girih.lazy_dataclass import dataclass

__all__ = ["XlaBuffer", "XlaCall", "XlaError", "xla_handler"]

_MAJOR_VERSION = 0
_METADATA = 1
"""XLA_FFI_Extension_Metadata: the call only asks which version the function is made for."""

INVALID_ARGUMENT, INTERNAL = 3, 13
"""Codes of XLA_FFI_Error_Code."""


class MetadataExtension(ctypes.Structure):
    """XLA_FFI_Metadata_Extension, whose first fields are those of every extension."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p),
        ("metadata", ctypes.c_void_p),
    )  # fmt: skip


class XlaVersion(ctypes.Structure):
    """XLA_FFI_Api_Version."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
    )  # fmt: skip


class XlaMetadata(ctypes.Structure):
    """XLA_FFI_Metadata, as far as every version has it."""

    _fields_ = (("struct_size", ctypes.c_size_t), ("version", XlaVersion), ("traits", ctypes.c_uint32))


class XlaApi(ctypes.Structure):
    """XLA_FFI_Api: its version, and the functions that are called here, with those between them."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("version", XlaVersion),
        ("internal", ctypes.c_void_p), ("error_create", ctypes.c_void_p), ("error_get_message", ctypes.c_void_p),
        ("error_destroy", ctypes.c_void_p), ("handler_register", ctypes.c_void_p), ("stream_get", ctypes.c_void_p),
        ("type_register", ctypes.c_void_p), ("context_get", ctypes.c_void_p), ("state_set", ctypes.c_void_p),
        ("state_get", ctypes.c_void_p), ("memory_allocate", ctypes.c_void_p), ("memory_free", ctypes.c_void_p),
        ("pool_schedule", ctypes.c_void_p), ("pool_size", ctypes.c_void_p), ("future_create", ctypes.c_void_p),
        ("future_available", ctypes.c_void_p), ("future_error", ctypes.c_void_p), ("run_id_get", ctypes.c_void_p),
        ("device_ordinal_get", ctypes.c_void_p),
    )  # fmt: skip


class BufferList(ctypes.Structure):
    """XLA_FFI_Args and XLA_FFI_Rets."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("size", ctypes.c_int64),
        ("types", ctypes.c_void_p), ("items", ctypes.POINTER(ctypes.c_void_p)),
    )  # fmt: skip


class AttributeList(ctypes.Structure):
    """XLA_FFI_Attrs."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("size", ctypes.c_int64),
        ("types", ctypes.c_void_p), ("names", ctypes.POINTER(ctypes.c_void_p)),
        ("items", ctypes.POINTER(ctypes.c_void_p)),
    )  # fmt: skip


class CallFrame(ctypes.Structure):
    """XLA_FFI_CallFrame."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("api", ctypes.c_void_p),
        ("context", ctypes.c_void_p), ("stage", ctypes.c_int), ("arguments", BufferList), ("results", BufferList),
        ("attributes", AttributeList),
    )  # fmt: skip


class BufferRecord(ctypes.Structure):
    """XLA_FFI_Buffer."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("dtype", ctypes.c_int),
        ("data", ctypes.c_void_p), ("rank", ctypes.c_int64), ("sizes", ctypes.POINTER(ctypes.c_int64)),
    )  # fmt: skip


class ByteSpan(ctypes.Structure):
    """XLA_FFI_ByteSpan."""

    _fields_ = (("begin", ctypes.c_void_p), ("length", ctypes.c_size_t))


class WordArray(ctypes.Structure):
    """XLA_FFI_Array."""

    _fields_ = (("dtype", ctypes.c_int), ("size", ctypes.c_size_t), ("data", ctypes.c_void_p))


class ErrorArguments(ctypes.Structure):
    """XLA_FFI_Error_Create_Args."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("message", ctypes.c_char_p),
        ("code", ctypes.c_int),
    )  # fmt: skip


class ContextArguments(ctypes.Structure):
    """XLA_FFI_Stream_Get_Args; and XLA_FFI_DeviceOrdinal_Get_Args, whose answer is the first half of the last field."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("context", ctypes.c_void_p),
        ("answer", ctypes.c_uint64),
    )  # fmt: skip


XlaFunction = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
"""A function of the interface: it takes the address of its arguments, and gives that of an error, or null."""

# XLA_FFI_DataType
DTYPES = {
    1: np.dtype(np.bool_),
    2: np.dtype(np.int8),
    3: np.dtype(np.int16),
    4: np.dtype(np.int32),
    5: np.dtype(np.int64),
    10: np.dtype(np.float16),
    11: np.dtype(np.float32),
    12: np.dtype(np.float64),
    15: np.dtype(np.complex64),
    16: np.dtype(ml_dtypes.bfloat16),
    18: np.dtype(np.complex128),
    19: np.dtype(ml_dtypes.float8_e5m2),
    20: np.dtype(ml_dtypes.float8_e4m3fn),
}


class XlaError(Exception):
    """What is wrong with a call by XLA itself."""


@dataclass(frozen=True, slots=True)
class XlaBuffer:
    """An array of a call: the address of its first element, its sizes by axes, its type."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True, eq=False)
class XlaCall:
    """A call by XLA, as long as it lasts: arrays that go in and come out, and arrays of whole numbers by name."""

    arguments: tuple[XlaBuffer, ...]
    results: tuple[XlaBuffer, ...]
    attributes: dict[str, tuple[int, ...]]
    _frame: CallFrame

    def stream(self) -> int:
        """The handle of the CUDA stream of the call. Raises `XlaError`."""
        return self._asked("stream_get", 8)

    def device(self) -> int:
        """The number of the device of the call, as XLA counts them. Raises `XlaError`."""
        return self._asked("device_ordinal_get", 4) & 0xFFFFFFFF

    def _asked(self, function: str, answer_bytes: int) -> int:
        api = XlaApi.from_address(self._frame.api)
        if api.struct_size < getattr(XlaApi, function).offset + 8:
            raise XlaError(f"XLA's interface for foreign functions has no {function}: install a newer jaxlib")
        given = ContextArguments(24 + answer_bytes, None, self._frame.context, 0)
        failed = XlaFunction(getattr(api, function))(ctypes.addressof(given))
        if failed:
            raise XlaError(f"{function} of XLA's interface for foreign functions fails")
        return int(given.answer)


def xla_handler(execute: Callable[[XlaCall], None], failure: Callable[[BaseException], tuple[int, str]]) -> Any:
    """A function for `jax.ffi.pycapsule` that carries out calls; it must stay as long as XLA may call it.

    What `execute` raises becomes XLA's error, with the code and the words that `failure` gives it.
    """

    def called(address: int) -> int | None:
        frame = CallFrame.from_address(address)
        try:
            if frame.extension and _answer_metadata(frame):
                return None
            execute(_call(frame))
        except BaseException as error:
            return _failed(frame, *failure(error))
        return None

    return XlaFunction(called)


def _answer_metadata(frame: CallFrame) -> bool:
    """Whether the call only asks what the function is made for, which is answered then."""
    extension = MetadataExtension.from_address(frame.extension)
    if extension.type != _METADATA:
        return False
    version = XlaApi.from_address(frame.api).version
    told = XlaMetadata.from_address(extension.metadata)
    told.version.major, told.version.minor, told.traits = _MAJOR_VERSION, version.minor, 0
    return True


def _call(frame: CallFrame) -> XlaCall:
    return XlaCall(_buffers(frame.arguments), _buffers(frame.results), _attributes(frame.attributes), frame)


def _buffers(listed: BufferList) -> tuple[XlaBuffer, ...]:
    return tuple(_buffer(BufferRecord.from_address(listed.items[k])) for k in range(listed.size))


def _buffer(found: BufferRecord) -> XlaBuffer:
    dtype = DTYPES.get(found.dtype)
    if dtype is None:
        raise XlaError(f"the language has no elements of XLA's type {found.dtype}")
    return XlaBuffer(found.data or 0, tuple(found.sizes[: found.rank]), dtype)


def _attributes(listed: AttributeList) -> dict[str, tuple[int, ...]]:
    """The attributes that are arrays of 64-bit integers, which all of ours are."""
    found = {}
    for k in range(listed.size):
        name = ByteSpan.from_address(listed.names[k])
        words = WordArray.from_address(listed.items[k])
        content = (ctypes.c_int64 * words.size).from_address(words.data) if words.size else ()
        found[ctypes.string_at(name.begin, name.length).decode()] = tuple(content)
    return found


def _failed(frame: CallFrame, code: int, message: str) -> int:
    """The address of an error of XLA, which it takes over."""
    api = XlaApi.from_address(frame.api)
    given = ErrorArguments(36, None, message.encode(), code)
    return int(XlaFunction(api.error_create)(ctypes.addressof(given)))
