"""How arrays tell machine code about themselves: by DLPack's table of functions, or by a capsule that they export."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from girih.arguments.devices import FOREIGN_ERRORS, in_capsule
from girih.lazy_dataclass import dataclass

TABLE = "__dlpack_c_exchange_api__"
"""The attribute of a type of arrays that has the table."""
EXPORT, WORDS, VERSION = "__dlpack__", ("stream", "max_version"), (1, 1)
"""The method that makes a capsule, its arguments by name, and the version of DLPack that it is asked for."""

_TABLE_CAPSULE = b"dlpack_exchange_api"
# dlpack.h 1.3, DLPackExchangeAPI: version, older table; then five functions, of which these two are used.
_TELL, _STREAM_OF, _MAJOR = 40, 48, 1
# dlpack.h 1.3: the name of a capsule; in what it holds, the places of the DLTensor and of the flags, 0 for no flags.
_CAPSULES = ((b"dltensor_versioned", 32, 24), (b"dltensor", 0, 0))
_TENSOR_BYTES = 48


@dataclass(frozen=True, slots=True)
class ExchangeTable:
    """The functions by which arrays of a type tell about themselves: where they are, and the current stream."""

    tell: int
    stream_of: int


@dataclass(frozen=True, slots=True)
class ToldArray:
    """What an array told: a word with its device's kind and number, one with its number of modes and its type; sizes;
    strides, unless it said none."""

    device: int
    kind: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class ExportedArray:
    """What an array told by a capsule: its name, and where the tensor and the flags are in what it holds.

    `begin` is the address of its first element.
    """

    told: ToldArray
    name: bytes
    tensor: int
    flags: int
    begin: int


def exchange_table(type: type) -> ExchangeTable | None:
    """DLPack's table of a type of arrays; None where it has none that is known here."""
    place = in_capsule(getattr(type, TABLE, None), _TABLE_CAPSULE)
    if place is None:
        return None
    if ctypes.c_uint32.from_address(place).value != _MAJOR:
        return None
    tell, stream_of = (ctypes.c_void_p.from_address(place + offset).value for offset in (_TELL, _STREAM_OF))
    return ExchangeTable(tell, stream_of) if tell and stream_of else None


def told_by(table: ExchangeTable, given: object) -> ToldArray | None:
    """What an array tells by its table; None where it tells nothing."""
    room = ctypes.create_string_buffer(_TENSOR_BYTES)
    tell = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(table.tell)
    try:
        return None if tell(given, ctypes.addressof(room)) else _tensor_at(ctypes.addressof(room))
    except FOREIGN_ERRORS:
        return None


def exported(given: Any, stream: int) -> ExportedArray | None:
    """What an array tells by a capsule for work on a stream; None where it exports none of a known kind."""
    return _opened(lambda: getattr(given, EXPORT)(**dict(zip(WORDS, (stream, VERSION), strict=True))))


def exporter_of_jax(given: Any, stream: int, known: ExportedArray) -> Callable[..., object] | None:
    """The function `(array, *, stream)` behind JAX's method, which is a quarter of its time; None where it is another.

    Its place is no promise of JAX: it is taken where it tells what the method told.
    """
    function = getattr(sys.modules.get("jaxlib._jax"), "buffer_to_dlpack_managed_tensor", None)
    if function is None or given.__class__.__module__.partition(".")[0] not in ("jax", "jaxlib"):
        return None
    return function if _opened(lambda: function(given, stream=stream)) == known else None


def _opened(export: Callable[[], object]) -> ExportedArray | None:
    try:
        capsule = export()
    except FOREIGN_ERRORS:
        return None
    for name, tensor, flags in _CAPSULES:
        place = in_capsule(capsule, name)
        if place is not None:
            begin = ctypes.c_uint64.from_address(place + tensor).value
            begin += ctypes.c_uint64.from_address(place + tensor + 40).value
            return ExportedArray(_tensor_at(place + tensor), name, tensor, flags, begin)
    return None


def _tensor_at(place: int) -> ToldArray:
    """A DLTensor: data, device, number of modes and type, sizes, strides, offset in bytes; all of 8 bytes."""
    device, kind, sizes, strides = (ctypes.c_int64.from_address(place + offset).value for offset in (8, 16, 24, 32))
    modes = kind & 0xFFFFFFFF
    listed = [
        tuple((ctypes.c_int64 * modes).from_address(one)) if one and modes else () if one or not modes else None
        for one in (sizes, strides)
    ]
    return ToldArray(device, kind, listed[0] or (), listed[1] if strides else None)
