"""`SharedImage`: shared memory after a tensor load, byte by byte; and the bytes that loads bring, fills included."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from girih.addressing.access import read_only
from girih.addressing.display import Drawn
from girih.addressing.errors import Violation
from girih.addressing.tensor_map.element_type import ROUNDED_TO_TF32
from girih.addressing.tensor_map.parameters import MapParameters

FILL = -1
"""`SharedImage.source` of a byte that was filled."""
UNTOUCHED = -2
"""`SharedImage.source` of a byte that was not written."""
OOB_NAN = (0xF7, 0x7F)
"""The bytes of the fill NaN, 0x7ff7 in every 16 bits (measured)."""
TF32_NAN = 0x7FFFE000
"""The bit pattern that a load of `tf32` gives for every NaN (measured)."""


@dataclass(frozen=True, eq=False)
class SharedImage(Drawn):
    """The bytes of shared memory that one load wrote: entry i is the byte at `shared_address + i`.

    Arrays have one entry per byte and are read-only; to change the bytes, take `bytes.copy()`.

    - `bytes`: uint8, 0 where nothing was written.
    - `written`: bool; false for gaps between swizzled rows and for the padding of sub-byte types.
    - `source`: int64, the byte of global memory, counted from the map's address; -1 for a fill, -2 where untouched.
    - `transaction_bytes`: the bytes that the copy adds to the barrier: the payload with fills, without gaps.
    - `lints`: the violations of severity `lint`: what is legal about this load and probably not meant.
    """

    bytes: NDArray[np.uint8]
    written: NDArray[np.bool_]
    source: NDArray[np.int64]
    transaction_bytes: int
    shared_address: int = 0
    lints: tuple[Violation, ...] = field(default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "bytes", read_only(self.bytes))
        object.__setattr__(self, "written", read_only(self.written))
        object.__setattr__(self, "source", read_only(self.source))

    def __len__(self) -> int:
        return len(self.bytes)

    def counts(self) -> dict[str, int]:
        """The number of bytes that were `copied`, `filled` and left `untouched`, by these words."""
        return {
            "copied": int((self.source >= 0).sum()),
            "filled": int((self.source == FILL).sum()),
            "untouched": int((self.source == UNTOUCHED).sum()),
        }


def loaded(given: MapParameters, memory: NDArray[np.uint8], source: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The bytes that a load brings, shaped as `source`: the byte of `memory` of each, -1 for a fill.

    The last axis is a row, of whole elements.
    """
    filled = source < 0
    payload = np.zeros(source.shape, np.uint8) if filled.all() else memory[source]
    if filled.any():
        payload = np.where(filled, fill(given, source.shape[-1]), payload)
    if given.dtype in ROUNDED_TO_TF32:
        payload = np.where(filled, payload, rounded_to_tf32(payload))
    return payload


def fill(given: MapParameters, size: int) -> NDArray[np.uint8]:
    """The fill of a row of `size` bytes."""
    if given.oob_fill == "nan":
        return np.resize(np.array(OOB_NAN, np.uint8), size)
    return np.zeros(size, np.uint8)


def rounded_to_tf32(payload: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bytes of float32 values, rounded to nearest even at 10 bits of mantissa; every NaN becomes one (measured)."""
    bits = np.ascontiguousarray(payload).view(np.uint32)
    rounded = (bits + 0xFFF + (bits >> 13 & 1)) & np.uint32(0xFFFFE000)
    rounded[(bits & 0x7FFFFFFF) > 0x7F800000] = TF32_NAN
    return rounded.view(np.uint8)
