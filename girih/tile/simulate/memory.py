"""Shared memory byte by byte, with who filled what, and the memory of arguments, with who stored what."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from girih.arguments.memory import Memory
from girih.interpreter.machine.numbers import dtype
from girih.interpreter.machine.values import Array
from girih.tile.budget import layout_of
from girih.tile.form import SharedTile, TileKernel
from girih.tile.simulate.faults import ScheduleFault

_POISON = 0xFF
"""What shared memory has before it is written: NaN in all floating types."""


@lru_cache(maxsize=256)
def places(tile: SharedTile) -> NDArray[np.int64]:
    """The byte of each component of a tile from its begin: an array of the rows and columns of the matrix."""
    lines = np.array([[tile.place(line, k) for k in range(tile.span)] for line in range(tile.lines)], np.int64)
    return lines if tile.by_rows else lines.T


def shape_of(tile: SharedTile) -> tuple[int, int]:
    """The rows and columns of the matrix that a tile is."""
    return (tile.lines, tile.span) if tile.by_rows else (tile.span, tile.lines)


class SharedBytes:
    """The shared memory of a CTA. `filled` has, for each byte, the number of what wrote it last; 0 is nothing."""

    def __init__(self, kernel: TileKernel) -> None:
        self.layout = layout_of(kernel)
        self.bytes = np.full(self.layout.bytes, _POISON, np.uint8)
        self.filled = np.zeros(self.layout.bytes, np.int64)
        self._last = 0

    def mark(self) -> int:
        """A number for what is about to write."""
        self._last += 1
        return self._last

    def read(self, tile: SharedTile, begin: int) -> Array:
        """The matrix of a tile that begins at a byte."""
        elements = self.bytes[begin : begin + tile.bytes].view(dtype(tile.component))
        return np.asarray(elements[places(tile) // tile.component.size])

    def write(self, tile: SharedTile, begin: int, matrix: Array, mark: int) -> None:
        """Write the matrix of a tile that begins at a byte."""
        at = places(tile)
        elements = self.bytes[begin : begin + tile.bytes].view(dtype(tile.component))
        elements[at // tile.component.size] = matrix
        for byte in range(tile.component.size):
            self.filled[begin + at + byte] = mark

    def missing(self, tile: SharedTile, begin: int, mark: int) -> int:
        """How many bytes of a tile were not written last by what has this number."""
        return int(np.count_nonzero(self.filled[begin : begin + tile.bytes] != mark))


NOT_STORED = -1


class StoredBytes:
    """Who stored each byte of the arguments: a number for each work-group, consumer and thread or copy engine."""

    def __init__(self, consumers: int) -> None:
        self._writers: dict[int, NDArray[np.int64]] = {}
        self._consumers = consumers

    def writer(self, work_group: int, consumer: int, lane: Array | int) -> Array:
        """The number of a thread of a consumer; thread 128 is its stores by the copy engine."""
        return np.asarray((work_group * self._consumers + consumer) * 129 + lane, np.int64)

    def check(self, memory: Memory, bytes: Array, work_group: int, by: Array | int, what: str) -> None:
        """Check that bytes are accessed behind what the work-group stored there before.

        That is sure only where the same thread stored them, not the copy engine. Raises `ScheduleFault`.
        """
        writers = self._writers.get(id(memory))
        if writers is None or bytes.size == 0:
            return
        before = writers[bytes]
        of_group = before // (129 * self._consumers) == work_group
        unsure = of_group & (before != NOT_STORED) & ((before != by) | (before % 129 == 128))
        if unsure.any():
            where = int(bytes[np.unravel_index(int(unsure.argmax()), unsure.shape)])
            raise ScheduleFault(
                "order", f"{what} byte {where} of {memory.name}, which the work-group stored without a wait between"
            )

    def note(self, memory: Memory, bytes: Array, by: Array | int) -> None:
        """Note who stores bytes."""
        if id(memory) not in self._writers:
            self._writers[id(memory)] = np.full(memory.bytes.size, NOT_STORED, np.int64)
        self._writers[id(memory)][bytes] = by
        memory.mark_bytes(np.asarray(bytes).ravel())
