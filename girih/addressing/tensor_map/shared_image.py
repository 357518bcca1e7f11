"""`SharedImage`: shared memory after a tensor load, byte by byte, with where every byte came from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from girih.addressing.access import read_only
from girih.addressing.display import Drawn
from girih.addressing.errors import Violation

FILL = -1
"""`SharedImage.source` of a byte that was filled."""
UNTOUCHED = -2
"""`SharedImage.source` of a byte that was not written."""


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
