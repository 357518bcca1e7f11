"""Several copies through one tensor map at a time, as the work-groups of a kernel make them.

Nothing here checks an operand, but memory is never touched outside the tensor: `memory` holds `tensor_bytes` of it.
Arrays have a first axis of copies; shared memory is one array of bytes, in which each copy has an address.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from girih.addressing.tensor_map.copies import (
    Operand,
    Rows,
    gathered_rows,
    global_bytes,
    im2col_rows,
    inner_bytes,
    shared_bytes,
    tiled_rows,
)
from girih.addressing.tensor_map.model import TensorMap
from girih.addressing.tensor_map.reductions import reduce_bytes
from girih.addressing.tensor_map.shared_image import loaded
from girih.addressing.tensor_map.sub_byte import RowBytes, pack_six_bits

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CopyBatch:
    """Copies through one map: their rows, the bytes of a row, and the shared addresses at which boxes begin."""

    given: TensorMap
    rows: Rows
    inner: RowBytes
    addresses: Places

    @staticmethod
    def of(given: TensorMap, coordinates: Places, offsets: Places, addresses: Places, *, by_rows: bool) -> CopyBatch:
        """The copies at `coordinates` `[copies, operands]` with im2col `offsets` `[copies, W H D]`.

        With `by_rows` the operands are a column and four rows (004 5.5.3.4). `addresses` are those of shared memory, in
        bytes `[copies]`.
        """
        start: list[Operand] = list(np.moveaxis(coordinates, -1, 0))
        if by_rows:
            rows = gathered_rows(given, start[1:])
        elif given.mode == "tiled":
            rows = tiled_rows(given, start)
        else:
            rows = im2col_rows(given, start, list(np.moveaxis(offsets, -1, 0)))
        return CopyBatch(given, rows, inner_bytes(given, start[0]), addresses)

    def loaded(self, memory: Bytes) -> tuple[Places, Places, Bytes]:
        """For loads: the byte of `memory` of each byte (-1: a fill), its shared address, and the byte itself."""
        source = global_bytes(self.given, self.rows, self.inner)
        return source, self.shared(), loaded(self.given, memory, source)

    def stored(self) -> tuple[Places, Places]:
        """For stores and reductions: the byte of memory of each byte (-1: nowhere), and its shared address.

        Of a type that is packed by stores there are more shared bytes than bytes of memory.
        """
        return global_bytes(self.given, self.rows, self.inner, store=True), self.shared()

    def shared(self) -> Places:
        """The shared address of each byte of the boxes."""
        return shared_bytes(self.given, len(self.rows), self.inner, self.addresses) + self.addresses[:, None, None]

    def padding(self) -> Places:
        """The shared addresses of the padding that loads of sub-byte types leave undefined (004 5.5.1.1.1)."""
        every = np.arange(self.inner.pitch, dtype=np.int64)
        gaps = RowBytes(self.inner.in_global, np.setdiff1d(every, self.inner.in_shared), self.inner.pitch)
        places = shared_bytes(self.given, len(self.rows), gaps, self.addresses)
        return places + self.addresses[:, None, None]


def store(batch: CopyBatch, memory: Bytes, target: Places, payload: Bytes) -> None:
    """Put the shared bytes of stores into `memory`; of bytes that go to one place the last stays."""
    if batch.given.dtype == "b6p2x16":
        payload = pack_six_bits(payload)
    here = target >= 0
    memory[target[here]] = payload[here]


def reduce(batch: CopyBatch, operation: str, memory: Bytes, target: Places, payload: Bytes) -> None:
    """Combine the elements of `memory` with those of shared memory, one after the other."""
    size = batch.given.element.bits // 8
    whole = target.reshape(-1, size)
    here = whole[:, 0] >= 0
    reduce_bytes(operation, batch.given.element, memory, whole[here], payload.reshape(-1, size)[here])
