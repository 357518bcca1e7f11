"""XLA's side of a call, made in Python: frames, and the functions of its interface that answer."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from girih.jax import frame

DTYPES = {dtype: number for number, dtype in frame.DTYPES.items()}
Buffer = tuple[int, tuple[int, ...], Any]
"""The address, the sizes and the type of an array."""


class FakeXla:
    """An XLA that calls functions with a stream and a device, and keeps the errors that they make."""

    def __init__(self, stream: int = 0, device: int = 0, minor: int = 3) -> None:
        self.stream, self.device = stream, device
        self.errors: list[tuple[int, str]] = []
        self.api = frame.XlaApi()
        self.api.struct_size = ctypes.sizeof(self.api)
        self.api.version.minor = minor
        self.functions = {name: frame.XlaFunction(getattr(self, name))
                          for name in ("error_create", "stream_get", "device_ordinal_get")}  # fmt: skip
        for name, function in self.functions.items():
            setattr(self.api, name, ctypes.cast(function, ctypes.c_void_p))

    def error_create(self, address: int) -> int:
        given = frame.ErrorArguments.from_address(address)
        self.errors.append((given.code, given.message.decode()))
        return 4711

    def stream_get(self, address: int) -> int | None:
        given = frame.ContextArguments.from_address(address)
        assert given.struct_size == 32
        given.answer = self.stream
        return None if self.stream else 1

    def device_ordinal_get(self, address: int) -> None:
        given = frame.ContextArguments.from_address(address)
        assert given.struct_size == 28
        ctypes.c_int32.from_buffer(given, frame.ContextArguments.answer.offset).value = self.device

    def call(
        self, handler: Any, arguments: Sequence[Buffer], results: Sequence[Buffer], words: Mapping[str, Sequence[int]]
    ) -> Any:
        """What a function answers: None, or the number that stands for an error."""
        held: list[Any] = []
        made = frame.CallFrame()
        made.struct_size, made.api = ctypes.sizeof(made), ctypes.addressof(self.api)
        for listed, buffers in ((made.arguments, arguments), (made.results, results)):
            listed.size = len(buffers)
            listed.items = addresses([_buffer(buffer, held) for buffer in buffers], held)
        made.attributes.size = len(words)
        made.attributes.names = addresses([_span(name, held) for name in words], held)
        made.attributes.items = addresses([_words(values, held) for values in words.values()], held)
        return handler(ctypes.addressof(made))

    def metadata(self, handler: Any) -> tuple[int, int]:
        """The version that a function says that it is made for."""
        told, extension, made = frame.XlaMetadata(), frame.MetadataExtension(), frame.CallFrame()
        told.version.major, told.version.minor = 99, 99
        extension.type, extension.metadata = 1, ctypes.addressof(told)
        made.api, made.extension = ctypes.addressof(self.api), ctypes.addressof(extension)
        assert handler(ctypes.addressof(made)) is None
        return told.version.major, told.version.minor


def addresses(values: Sequence[Any], held: list[Any]) -> Any:
    room = (ctypes.c_void_p * max(len(values), 1))(*map(ctypes.addressof, values))
    held += [room, *values]
    return ctypes.cast(room, ctypes.POINTER(ctypes.c_void_p))


def _buffer(given: Buffer, held: list[Any]) -> Any:
    address, shape, dtype = given
    sizes = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    held.append(sizes)
    made = frame.BufferRecord()
    made.dtype, made.data, made.rank = DTYPES.get(np.dtype(dtype), 99), address, len(shape)
    made.sizes = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64))
    return made


def _span(name: str, held: list[Any]) -> Any:
    text = ctypes.create_string_buffer(name.encode())
    held.append(text)
    return frame.ByteSpan(ctypes.addressof(text), len(name))


def _words(values: Sequence[int], held: list[Any]) -> Any:
    content = (ctypes.c_int64 * max(len(values), 1))(*values)
    held.append(content)
    return frame.WordArray(5, len(values), ctypes.addressof(content))
