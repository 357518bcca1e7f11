"""The memory that a launch executes on: private copies of what is written, read-only views of what is not.

Until `commit` the caller's arrays are untouched, and `commit` changes only their elements: the gaps between the
elements of a strided array are neither read nor written. Arrays that share memory, whatever their element types, share
their private copy byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from girih.arguments.bound import BoundMemRef, Memory
from girih.arguments.report import ArgumentPlace
from girih.arguments.views import address

_PHASE = 128
"""A private copy starts at the same address modulo this many bytes as what it stands for (the default alignment)."""


@dataclass(slots=True, eq=False)
class Claim:
    """An accepted array (None: a null pointer) that asks for memory. Strides and offset count elements."""

    place: ArgumentPlace
    dtype: np.dtype[Any]
    array: NDArray[Any] | None
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    written: bool
    uninitialized: bool
    memory: Memory | None = None

    @property
    def extent(self) -> int:
        """Elements from the first to the last, gaps included."""
        if 0 in self.shape:
            return 0
        return 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))

    def elements_of(self, flat: NDArray[Any]) -> NDArray[Any]:
        """Of one entry per element of the extent, those of the array's elements, in the array's shape."""
        return as_strided(flat, self.shape, tuple(stride * flat.itemsize for stride in self.strides))

    def bound(self) -> BoundMemRef:
        """What the interpreter sees of it."""
        return BoundMemRef(self.memory, self.offset, self.shape, self.strides)


@dataclass(slots=True, eq=False)
class Cluster:
    """Arrays whose address ranges [start, end) overlap, directly or through others."""

    start: int
    end: int
    claims: list[Claim]

    def unlike(self) -> tuple[Claim, Claim] | None:
        """A claim marked uninitialized and one whose elements are not the same units of memory."""
        marked = next((claim for claim in self.claims if claim.uninitialized), None)
        if marked is None:
            return None
        unit = self._unit(marked)
        other = next((claim for claim in self.claims if self._unit(claim) != unit), None)
        return None if other is None else (marked, other)

    def _unit(self, claim: Claim) -> tuple[int, int]:
        size = claim.dtype.itemsize
        return size, start(claim) % size


def start(claim: Claim) -> int:
    """The address of the first element in the caller's memory; 0 for a null pointer."""
    return 0 if claim.array is None else address(claim.array)


def clusters(claims: Iterable[Claim]) -> list[Cluster]:
    """The arrays that have elements, grouped by the memory they share."""
    ranges = [(start(claim), claim) for claim in claims if claim.array is not None and claim.extent]
    found: list[Cluster] = []
    for begin, claim in sorted(ranges, key=lambda pair: pair[0]):
        end = begin + claim.extent * claim.dtype.itemsize
        if found and begin < found[-1].end:
            found[-1].claims.append(claim)
            found[-1].end = max(found[-1].end, end)
        else:
            found.append(Cluster(begin, end, [claim]))
    return found


def allocate(claims: Sequence[Claim], shared: Iterable[Cluster]) -> None:
    """Give every claim its memory; `shared` are its clusters."""
    for claim in claims:
        if claim.array is not None and not claim.extent:
            claim.memory = Memory(np.empty(0, claim.dtype), None, claim.place.name)
    for cluster in shared:
        if any(claim.written for claim in cluster.claims):
            _copy(cluster)
        else:
            _view(cluster)
        if any(claim.uninitialized for claim in cluster.claims):
            _track(cluster)
        for claim in cluster.claims:
            _mark_elements(claim)


def commit(claims: Sequence[Claim]) -> None:
    """Put the elements of all written arrays back into the caller's memory; an interrupt comes after all of them."""
    try:
        _write_back(claims)
    except KeyboardInterrupt:
        _write_back(claims)
        raise


def _write_back(claims: Sequence[Claim]) -> None:
    for claim, array, memory in _placed(claims):
        if claim.written and claim.extent:
            np.copyto(array, claim.elements_of(memory.data))


def _placed(claims: Iterable[Claim]) -> Iterator[tuple[Claim, NDArray[Any], Memory]]:
    for claim in claims:
        if claim.array is not None and claim.memory is not None:
            yield claim, claim.array, claim.memory


def _copy(cluster: Cluster) -> None:
    """One private buffer for the cluster, every array at its own place in it."""
    size = cluster.end - cluster.start
    # Zeros rather than empty: pages that lie in gaps are then never touched.
    room = np.zeros(size + _PHASE, np.uint8)
    skip = (cluster.start - address(room)) % _PHASE
    for claim in cluster.claims:
        begin = skip + start(claim) - cluster.start
        data: NDArray[Any] = np.ndarray((claim.extent,), claim.dtype, buffer=room, offset=begin)
        claim.memory = Memory(data, None, claim.place.name)
    for claim, array, memory in _placed(cluster.claims):
        np.copyto(claim.elements_of(memory.data), array)


def _view(cluster: Cluster) -> None:
    """The caller's memory itself, read-only."""
    for claim in cluster.claims:
        if claim.array is not None:
            flat = as_strided(claim.array, (claim.extent,), (claim.dtype.itemsize,), writeable=False)
            claim.memory = Memory(flat, None, claim.place.name)


def _track(cluster: Cluster) -> None:
    """One bool per element of the cluster, false where an array marked uninitialized has an element."""
    size = cluster.claims[0].dtype.itemsize
    written = np.ones((cluster.end - cluster.start) // size, np.bool_)
    for claim, _, memory in _placed(cluster.claims):
        begin = (start(claim) - cluster.start) // size
        memory.written = written[begin : begin + claim.extent]
        if claim.uninitialized:
            claim.elements_of(memory.written)[...] = False


def _mark_elements(claim: Claim) -> None:
    if claim.memory is None or claim.offset == 0 or claim.extent == prod(claim.shape):
        return
    claim.memory.elements = np.zeros(claim.extent, np.bool_)
    claim.elements_of(claim.memory.elements)[...] = True
