"""Copies of arrays whose lines begin where no tensor map has them: line after line to where one has.

A map wants its base and its strides to be multiples of 16 bytes. The copies live for one launch, in memory of a pool of
the device's own that is taken and given back in the order of the stream: nothing waits, and a CUDA graph has them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeAlias

from girih.lazy_dataclass import dataclass
from girih.runtime.cuda.driver import CudaFault, call, driver

ALIGNMENT = 128
"""What lines of copies begin at multiples of: the bytes of a cache line, and more than maps want."""
_KEPT = 256 * 2**20
"""The bytes that a pool keeps for the next launches when a stream is waited for."""


class NoRoomError(Exception):
    """The device has no memory for copies, or no pools of memory."""


@dataclass(frozen=True, slots=True)
class LineCopy:
    """A copy of the lines of an array: `count` images of `lines` lines of `width` bytes, from byte `begin` of it.

    Lines are `pitch` bytes apart, and an image begins `between` lines behind the one before.
    """

    begin: int
    width: int
    lines: int
    count: int
    pitch: int
    between: int

    @property
    def target_pitch(self) -> int:
        """The bytes between lines of the copy."""
        return -(-self.width // ALIGNMENT) * ALIGNMENT

    @property
    def bytes(self) -> int:
        """Those of the copy."""
        return self.target_pitch * self.lines * self.count

    def ask(self, source: int, target: int, stream: Any) -> None:
        """Ask a stream for the copy, of the array at an address. Raises `CudaFault`."""
        api = driver()
        described = api.CUDA_MEMCPY2D() if self.count == 1 else api.CUDA_MEMCPY3D()
        described.srcMemoryType = described.dstMemoryType = api.CUmemorytype.CU_MEMORYTYPE_DEVICE
        described.srcDevice, described.srcPitch = source + self.begin, self.pitch
        described.dstDevice, described.dstPitch = target, self.target_pitch
        described.WidthInBytes, described.Height = self.width, self.lines
        if self.count == 1:
            call("cuMemcpy2DAsync", described, stream)
            return
        described.srcHeight, described.dstHeight, described.Depth = self.between, self.lines, self.count
        call("cuMemcpy3DAsync", described, stream)


CopyOf: TypeAlias = tuple[int, LineCopy]
"""A copy of the array of a parameter, by its number."""


@contextmanager
def copied_lines(device: int, stream: Any, sources: Mapping[CopyOf, int]) -> Iterator[Mapping[CopyOf, int]]:
    """The addresses of copies, given those of the arrays; what the block asks the stream for finds the copies there.

    The device is the thread's current one. Raises `NoRoomError` before anything else was asked for, and `CudaFault`.
    """
    taken: dict[CopyOf, int] = {}
    try:
        try:
            for key in sources:
                taken[key] = int(call("cuMemAllocFromPoolAsync", key[1].bytes, pool_of(device), stream))
        except CudaFault as fault:
            if fault.error in ("CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_NOT_SUPPORTED"):
                raise NoRoomError(str(fault)) from None
            raise
        for key, source in sources.items():
            key[1].ask(source, taken[key], stream)
        yield taken
    finally:
        for address in taken.values():
            call("cuMemFreeAsync", address, stream)


_LOCK = Lock()
_POOLS: dict[tuple[int, int], Any] = {}
"""The pools by process and device."""


def pool_of(device: int) -> Any:
    """The pool of a device. Raises `CudaFault`."""
    key = (os.getpid(), device)
    with _LOCK:
        if key not in _POOLS:
            api = driver()
            wanted = api.CUmemPoolProps()
            wanted.allocType = api.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
            wanted.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
            wanted.location.id = device
            made = call("cuMemPoolCreate", wanted)
            kept = api.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
            call("cuMemPoolSetAttribute", made, kept, api.cuuint64_t(_KEPT))
            _POOLS[key] = made
        return _POOLS[key]
