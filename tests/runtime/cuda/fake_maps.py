"""What the driver in Python makes of tensor maps: 128 bytes that stand for what it was asked to encode.

It decodes the arguments of C as cuda.h has them, so that wrong ones are seen, and refuses the maps that NVIDIA's driver
refuses, which are those that `girih.addressing` refuses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from girih.addressing import AddressingError, BoundTensorMap, TensorMap
from girih.addressing.tensor_map.bound import tensor_bytes
from girih.addressing.tensor_map.driver import FILLS, INTERLEAVES, SWIZZLES, TYPES

MAP_BYTES, ALIGNMENT = 128, 64
_OK, _INVALID_VALUE = 0, 1

_WORD, _WIDE, _ADDRESS = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
_LISTS = {"u64": _WIDE, "u32": _WORD, "int": ctypes.c_int}

Encoded = dict[bytes, BoundTensorMap]


def functions(encoded: Encoded, architecture: str, calls: list[str]) -> dict[str, Any]:
    """The driver's functions by their names, which can be called by their addresses.

    Maps are noted in `encoded`, and the names of the functions in `calls`.
    """
    tiled = ctypes.CFUNCTYPE(ctypes.c_int, _ADDRESS, _WORD, _WORD, *[_ADDRESS] * 5, *[_WORD] * 4)
    im2col = ctypes.CFUNCTYPE(
        ctypes.c_int, _ADDRESS, _WORD, _WORD, *[_ADDRESS] * 5, _WORD, _WORD, _ADDRESS, *[_WORD] * 4
    )

    def encode_tiled(target: int, type: int, rank: int, address: int, dim: int, strides: int, box: int, steps: int,
                     *rest: int) -> int:  # fmt: skip
        calls.append("cuTensorMapEncodeTiled")
        box_dim = _values(box, "u32", rank)
        return _noted(encoded, target, address, lambda: TensorMap.tiled(
            box_dim=box_dim, **_common(type, rank, dim, strides, steps, rest, architecture)))  # fmt: skip

    def encode_im2col(target: int, type: int, rank: int, address: int, dim: int, strides: int, lower: int, upper: int,
                      channels: int, pixels: int, steps: int, *rest: int) -> int:  # fmt: skip
        calls.append("cuTensorMapEncodeIm2col")
        given: dict[str, Any] = _common(type, rank, dim, strides, steps, rest, architecture)
        for name, corner in (("lower_corner", lower), ("upper_corner", upper)):
            given[name] = _values(corner, "int", rank - 2)
        return _noted(encoded, target, address, lambda: TensorMap.im2col(
            channels_per_pixel=channels, pixels_per_column=pixels, **given))  # fmt: skip

    def replace_address(target: int, address: int) -> int:
        calls.append("cuTensorMapReplaceAddress")
        known = encoded.get(ctypes.string_at(target, MAP_BYTES))
        return _INVALID_VALUE if known is None else _noted(encoded, target, address, lambda: known.tensor_map)

    return {
        "cuTensorMapEncodeTiled": tiled(encode_tiled),
        "cuTensorMapEncodeIm2col": im2col(encode_im2col),
        "cuTensorMapReplaceAddress": ctypes.CFUNCTYPE(ctypes.c_int, _ADDRESS, _ADDRESS)(replace_address),
    }


def _values(address: int, kind: str, count: int) -> list[int]:
    return [int(value) for value in (_LISTS[kind] * count).from_address(address)] if count else []


def _common(
    type: int, rank: int, dim: int, strides: int, steps: int, rest: tuple[int, ...], architecture: str
) -> dict[str, Any]:
    interleave, swizzle, _, fill = rest
    return {
        "dtype": list(TYPES.values())[type],
        "global_dim": _values(dim, "u64", rank),
        "global_strides": _values(strides, "u64", rank - 1),
        "element_strides": _values(steps, "u32", rank),
        "interleave": list(INTERLEAVES.values())[interleave],
        "swizzle": list(SWIZZLES.values())[swizzle],
        "oob_fill": list(FILLS.values())[fill],
        "architecture": architecture,
    }


def _noted(encoded: Encoded, target: int, address: int, make: Callable[[], TensorMap]) -> int:
    if target % ALIGNMENT:
        return _INVALID_VALUE
    try:
        given = make()
        size = tensor_bytes(given, store=True)
        held = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
        bound = given.bind(held)
    except AddressingError:
        return _INVALID_VALUE
    stands_for = f"tensor map {len(encoded)} of a driver in Python".encode().ljust(MAP_BYTES, b".")
    encoded[stands_for] = bound
    ctypes.memmove(target, stands_for, MAP_BYTES)
    return _OK
