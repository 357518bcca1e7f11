"""The bytes of one box row in both memories, for whole-byte and for sub-byte element types (004 5.5.1.1).

Sixteen 4-bit elements are 8 bytes, sixteen 6-bit elements 12. In shared memory `b4x16` stays packed, `b4x16_p64` and
`b6x16_p32` put 8 and 4 bytes of undefined padding after every sixteen, and `b6p2x16` holds one element in the low six
bits of every byte.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from girih.addressing.tensor_map.element_type import ElementType

GROUP = 16
"""Elements of one container of a sub-byte type."""


@dataclass(frozen=True, eq=False)
class RowBytes:
    """The bytes of one row of a box.

    - `in_global`: int64, byte offsets from element 0 of the tensor's row, in order.
    - `in_shared`: int64, byte offsets from the start of the row in shared memory; as many, but for `b6p2x16`, where
      sixteen shared bytes make twelve global ones.
    - `pitch`: bytes of the row in shared memory, padding included.
    """

    in_global: NDArray[np.int64]
    in_shared: NDArray[np.int64]
    pitch: int


def row_bytes(element: ElementType, start: int | NDArray[np.int64], count: int) -> RowBytes:
    """The bytes of `count` elements from coordinate `start` on; both are whole containers of a sub-byte type.

    Several starts give `in_global` a first axis.

    Source: 004 5.5.1.1.1.
    """
    size = element.bytes_of(count)
    first = np.asarray(start, np.int64)[..., None] * element.bits // 8
    in_global = first + np.arange(size, dtype=np.int64)
    pitch = count * element.shared_bits // 8
    if element.name == "b6p2x16":
        return RowBytes(in_global, np.arange(pitch, dtype=np.int64), pitch)
    if not element.is_padded:
        return RowBytes(in_global, np.arange(size, dtype=np.int64), pitch)
    container = element.bytes_of(GROUP)
    groups = GROUP * np.arange(count // GROUP, dtype=np.int64)
    in_shared = (groups[:, None] + np.arange(container)).reshape(-1)
    return RowBytes(in_global, in_shared, pitch)


def pack_six_bits(elements: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The low six bits of every byte, packed, lowest first: `[..., 4 n]` to `[..., 3 n]` bytes (004 5.5.1.1.1)."""
    low = (elements & 0x3F).astype(np.uint32).reshape(*elements.shape[:-1], -1, 4)
    word = low[..., 0] | low[..., 1] << 6 | low[..., 2] << 12 | low[..., 3] << 18
    packed = np.stack([word, word >> 8, word >> 16], axis=-1) & 0xFF
    return packed.astype(np.uint8).reshape(*elements.shape[:-1], -1)


def unpack(element: ElementType, row: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The elements of packed bytes as one byte each, lowest first: the last axis grows by 8 / bits."""
    bits = np.unpackbits(row, axis=-1, bitorder="little")
    weights = (1 << np.arange(element.bits)).astype(np.uint8)
    grouped = bits.reshape(*row.shape[:-1], -1, element.bits)
    elements: NDArray[np.uint8] = (grouped * weights).sum(axis=-1, dtype=np.uint8)
    return elements
