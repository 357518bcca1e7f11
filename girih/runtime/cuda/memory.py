"""Memory of a device for launches: blocks that are used again, tables that stay, and records that the host sees.

A launch on arrays of the device takes nothing new: its tables and its record are there from the launch before.
"""

from __future__ import annotations

import ctypes
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from threading import Lock
from typing import Any

from girih.back.llvm.lower.launch import record as layout
from girih.lazy_dataclass import dataclass
from girih.runtime.cuda.driver import CudaFault, call, driver

ALIGNMENT = 512
"""Blocks begin at multiples of this (CUDA programming guide, "Device Memory Accesses": at least 256)."""

_LARGEST_KEPT = 64 * 1024 * 1024
_MOST_KEPT = 256 * 1024 * 1024
"""The bytes of blocks that no launch uses and that are kept for the next one."""


@dataclass(slots=True, eq=False)
class DeviceBlocks:
    """Blocks of memory of the current device: what was given back is taken again."""

    free: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    kept: int = 0
    lock: Any = field(default_factory=Lock)

    def take(self, size: int) -> DeviceBlock:
        """A block of at least so many bytes. Raises `CudaFault`."""
        rounded = max(ALIGNMENT, 1 << max(size - 1, 0).bit_length())
        if rounded > _LARGEST_KEPT:
            return DeviceBlock(self._allocated(size), size)
        with self.lock:
            if self.free[rounded]:
                self.kept -= rounded
                return DeviceBlock(self.free[rounded].pop(), rounded)
        return DeviceBlock(self._allocated(rounded), rounded)

    def give(self, block: DeviceBlock) -> None:
        """Give a block back, which nothing uses any more."""
        with self.lock:
            if block.size <= _LARGEST_KEPT and self.kept + block.size <= _MOST_KEPT:
                self.free[block.size].append(block.address)
                self.kept += block.size
                return
        call("cuMemFree", block.address)

    def trim(self) -> None:
        """Free all that nothing uses."""
        with self.lock:
            addresses = [address for listed in self.free.values() for address in listed]
            self.free.clear()
            self.kept = 0
        for address in addresses:
            call("cuMemFree", address)

    def _allocated(self, size: int) -> int:
        try:
            return int(call("cuMemAlloc", size))
        except CudaFault as error:
            if error.error != "CUDA_ERROR_OUT_OF_MEMORY" or not self.kept:
                raise
        self.trim()
        return int(call("cuMemAlloc", size))


@dataclass(frozen=True, slots=True)
class DeviceBlock:
    """Memory of a device."""

    address: int
    size: int


RECORD_STRIDE = 320
"""The bytes from one record to the next; each has cache lines of its own."""
_RECORDS_AT_ONCE = 64


@dataclass(slots=True, eq=False)
class PinnedRecords:
    """Failure records in memory of the host that kernels write, so that looking at one costs a load.

    They stay until the process ends: a CUDA graph may write one at any time.
    """

    free: list[int] = field(default_factory=list)
    lock: Any = field(default_factory=Lock)

    def take(self) -> FailureRecord:
        """A record without a finding. Raises `CudaFault`."""
        with self.lock:
            if not self.free:
                # CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP, cuda.h
                begin = int(call("cuMemHostAlloc", RECORD_STRIDE * _RECORDS_AT_ONCE, 1 | 2))
                ctypes.memset(begin, 0, RECORD_STRIDE * _RECORDS_AT_ONCE)
                self.free = [begin + RECORD_STRIDE * k for k in range(_RECORDS_AT_ONCE)]
            host = self.free.pop()
        return FailureRecord(host, int(call("cuMemHostGetDevicePointer", host, 0)))

    def give(self, record: FailureRecord) -> None:
        """Give a record back, which no kernel writes any more."""
        record.clear()
        with self.lock:
            self.free.append(record.host)


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """A failure record by its addresses, for the host and for the device."""

    host: int
    device: int

    @property
    def is_empty(self) -> bool:
        """Whether no kernel has begun to write it."""
        return ctypes.c_int32.from_address(self.host).value == layout.NO_FAILURE

    @property
    def content(self) -> bytes:
        """The bytes of the record."""
        return ctypes.string_at(self.host, layout.RECORD_BYTES)

    def clear(self) -> None:
        """Make it empty, when no kernel is running that writes it."""
        ctypes.memset(self.host, 0, layout.RECORD_BYTES)


_CHUNK = 1024 * 1024
_MOST_TABLES = 64 * 1024 * 1024


@dataclass(slots=True, eq=False)
class KeptTables:
    """Tables of groups in memory of the current device, by their contents: a launch with the same group finds its own.

    They are written by a stream of their own, which is waited for, and not for kernels. When they are too many, the
    device is waited for once, and all go but those that last: a CUDA graph has seen them, or machine code uses them,
    some plans of it (`planned`).
    """

    known: dict[bytes, int] = field(default_factory=dict)
    lasting: set[bytes] = field(default_factory=set)
    planned: Counter[bytes] = field(default_factory=Counter)
    chunks: list[int] = field(default_factory=list)
    used: int = _CHUNK
    bytes_of_all: int = 0
    stream: Any = None
    lock: Any = field(default_factory=Lock)

    def address(self, content: bytes, *, capturing: bool) -> int:
        """The address of a table. Raises `CudaFault`."""
        with self.lock:
            found = self.known.get(content)
            if found is None:
                found = self._written(content, capturing=capturing)
            if capturing:
                self.lasting.add(content)
            return found

    def keep(self, places: Container[int]) -> list[bytes]:
        """The contents of the tables at some addresses, which are kept for a plan of machine code until `let_go`."""
        with self.lock:
            kept = [content for content, place in self.known.items() if place in places]
            self.planned.update(kept)
        return kept

    def let_go(self, kept: Iterable[bytes]) -> None:
        """Keep tables no longer for a plan that is gone."""
        with self.lock:
            self.planned -= Counter(kept)

    def _written(self, content: bytes, *, capturing: bool) -> int:
        if self.bytes_of_all > _MOST_TABLES and not capturing:
            self._forget()
        size = -(-max(len(content), 8) // 16) * 16
        place = self._room(size)
        if self.stream is None:
            # CU_STREAM_NON_BLOCKING, cuda.h
            self.stream = call("cuStreamCreate", 1)
        if content:
            held = ctypes.create_string_buffer(content, len(content))
            call("cuMemcpyHtoDAsync", place, ctypes.addressof(held), len(content), self.stream)
            call("cuStreamSynchronize", self.stream)
        self.known[content] = place
        self.bytes_of_all += size
        return place

    def _room(self, size: int) -> int:
        if size > _CHUNK:
            made = int(call("cuMemAlloc", size))
            self.chunks.insert(0, made)
            return made
        if self.used + size > _CHUNK:
            self.chunks.append(int(call("cuMemAlloc", _CHUNK)))
            self.used = 0
        self.used += size
        return self.chunks[-1] + self.used - size

    def _forget(self) -> None:
        """Forget all tables, which nothing reads after the device was waited for; graphs keep the memory of theirs."""
        call("cuCtxSynchronize")
        if self.lasting or self.planned:
            lasting = self.lasting | self.planned.keys()
            self.known = {content: place for content, place in self.known.items() if content in lasting}
        else:
            for chunk in self.chunks:
                call("cuMemFree", chunk)
            self.known.clear()
        self.chunks = []
        self.used, self.bytes_of_all = _CHUNK, 0


@contextmanager
def relaxed_capture() -> Iterator[None]:
    """A context in which the thread may allocate and load code while a stream of it, or in the driver's usual mode that
    of any thread, is being captured (driver API, "CUstreamCaptureMode")."""
    relaxed = driver().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    before = call("cuThreadExchangeStreamCaptureMode", relaxed)
    try:
        yield
    finally:
        call("cuThreadExchangeStreamCaptureMode", before)
