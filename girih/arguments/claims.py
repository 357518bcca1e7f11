"""Arrays that were accepted, and the memory that a launch works on: copies of what is written, views of what is not.

Until `commit` the caller's arrays are untouched, and `commit` changes only their elements: the gaps between the
elements of a strided array are neither read nor written. Arrays that share memory, whatever their element types, share
the bytes of a private copy, and the marks of what was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.arguments.bound import BoundMemRef
from girih.arguments.devices import ArrayOnDevice
from girih.arguments.memory import ByteMarks, ElementView, Mask, Memory, bytes_of, elements_of, strided
from girih.arguments.report import ArgumentPlace
from girih.arguments.views import address
from girih.lazy_dataclass import dataclass

_PHASE = 128
"""The alignment in bytes modulo which a private copy starts at the address of its original (the default alignment)."""


@dataclass(slots=True, eq=False)
class Claim:
    """An accepted array (None: a null pointer) that asks for memory. Strides count elements.

    `extent` counts elements from the first to the last, gaps included. In the caller's memory they lie at the addresses
    from `start` to before `end`; both are 0 for a null pointer.
    """

    place: ArgumentPlace
    dtype: np.dtype[Any]
    array: NDArray[Any] | None
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    written: bool
    uninitialized: bool
    elements: ElementView | None = None
    extent: int = field(init=False)
    start: int = field(init=False)
    end: int = field(init=False)

    def __post_init__(self) -> None:
        span = 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))
        self.extent = 0 if 0 in self.shape else span
        self.start = 0 if self.array is None else address(self.array)
        self.end = self.start + (0 if self.array is None else self.extent * self.dtype.itemsize)

    @property
    def on_device(self) -> bool:
        """Whether the array is in the memory of a device, and `start` its address there: nothing here may read it."""
        return isinstance(self.array, ArrayOnDevice)

    def of_array(self, flat: NDArray[Any]) -> NDArray[Any]:
        """The entries of the array's elements, in its shape, out of one entry per element of the extent."""
        return elements_of(flat, self.shape, self.strides)

    def bytes_of_array(self, marks: ByteMarks) -> Mask:
        """The marks of the bytes of the array's elements, in its shape with one axis more, out of those of a memory."""
        return bytes_of(marks.flags, self.shape, self.strides, self.dtype.itemsize)

    def untouched(self) -> tuple[int, tuple[int, ...]] | None:
        """The number of elements that the launch has not written, and the index of the first; None for none."""
        view = self.elements
        if view is None or view.touched is None or not self.written or not self.extent:
            return None
        missing = view.incomplete(self.of_array(view.touched))
        if missing is None:
            return None
        first = np.unravel_index(int(missing.T.argmax()), self.shape[::-1])
        return int(np.count_nonzero(missing)), tuple(int(i) for i in first[::-1])

    def bound(self) -> BoundMemRef:
        """The memref argument that the interpreter works on."""
        return BoundMemRef(self.elements, self.shape, self.strides)


@dataclass(slots=True, eq=False)
class Cluster:
    """Arrays whose address ranges [start, end) overlap, directly or through others."""

    start: int
    end: int
    claims: list[Claim]


def clusters(claims: Iterable[Claim]) -> list[Cluster]:
    """The arrays that have elements, grouped by the memory they share."""
    result: list[Cluster] = []
    for claim in sorted((claim for claim in claims if claim.extent and claim.array is not None), key=lambda c: c.start):
        if result and claim.start < result[-1].end:
            result[-1].claims.append(claim)
            result[-1].end = max(result[-1].end, claim.end)
        else:
            result.append(Cluster(claim.start, claim.end, [claim]))
    return result


def allocate(claims: Sequence[Claim]) -> None:
    """Give every claim its memory: private copies of what is written, views of what is not."""
    for claim in claims:
        if claim.array is not None and not claim.extent:
            claim.elements = Memory(np.empty(0, np.uint8), None, claim.place.name).view(claim.dtype)
    for cluster in clusters(claims):
        _allocate(cluster)


def _allocate(cluster: Cluster) -> None:
    """Place every array in one private buffer, or, where nothing is written, in the caller's memory."""
    size = cluster.end - cluster.start
    copied = _private(cluster) if any(claim.written for claim in cluster.claims) else None
    marks = np.ones(size, np.bool_) if any(claim.uninitialized for claim in cluster.claims) else None
    touched = None if copied is None else np.ones(size, np.bool_)
    for claim in cluster.claims:
        part = slice(claim.start - cluster.start, claim.end - cluster.start)
        content = _read_only(claim) if copied is None else copied[part]
        kept = [None if flags is None else flags[part] for flags in (marks, touched)]
        memory = Memory(content, kept[0], claim.place.name, kept[1])
        claim.elements = view = memory.view(claim.dtype)
        if copied is not None and claim.array is not None:
            np.copyto(claim.of_array(view.data), claim.array)
        # What lies between the elements counts as written, so that all can be.
        if claim.uninitialized and memory.readable is not None:
            claim.bytes_of_array(memory.readable)[...] = False
        if claim.written and memory.written is not None:
            claim.bytes_of_array(memory.written)[...] = False


def commit(claims: Sequence[Claim]) -> None:
    """Put the elements of all written arrays back into the caller's memory; an interrupt comes after all of them."""
    try:
        _write_back(claims)
    except KeyboardInterrupt:
        _write_back(claims)
        raise


def _write_back(claims: Sequence[Claim]) -> None:
    for claim in claims:
        if claim.written and claim.extent and claim.array is not None and claim.elements is not None:
            np.copyto(claim.array, claim.of_array(claim.elements.data))


def _private(cluster: Cluster) -> NDArray[np.uint8]:
    """A buffer for the bytes of a cluster, aligned as they are in the caller's memory."""
    size = cluster.end - cluster.start
    # Zeros rather than empty: pages that lie in gaps are then never touched.
    room = np.zeros(size + _PHASE, np.uint8)
    skip = (cluster.start - address(room)) % _PHASE
    return room[skip : skip + size]


def _read_only(claim: Claim) -> NDArray[np.uint8]:
    """The bytes of an array in the caller's memory."""
    assert claim.array is not None
    return strided(claim.array, (claim.extent,), (claim.dtype.itemsize,), writeable=False).view(np.uint8)
