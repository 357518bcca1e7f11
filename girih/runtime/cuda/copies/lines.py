"""Copies of arrays whose lines begin where no tensor map has them: line after line to where one has.

A map wants its base and its strides to be multiples of 16 bytes. The copies live for one launch, in memory of a pool of
the device's own that is taken and given back in the order of the stream: nothing waits, and a CUDA graph has them.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

from girih.lazy_dataclass import dataclass
from girih.runtime.cuda.driver import CudaFault, call, driver

ALIGNMENT = 128
"""What lines of copies begin at multiples of: the bytes of a cache line, and more than maps want."""
_PIECE, _THREADS, _AT_ONCE, _WORDS = 16, 256, 4, 10
"""The bytes of a thread, the threads of a CTA, the copies of a launch and the words of one, as in `lines.ptx`."""
_MOST_PIECES = 2**28
"""The pieces of a copy that is made by threads: four of them have fewer than 2^31."""
_NO_CTA = 2**32 - 1
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

    @property
    def pieces(self) -> int:
        """How many pieces of 16 bytes, and of what is left at the ends of lines, threads copy."""
        return -(-self.width // _PIECE) * self.lines * self.count

    def words(self, source: int, target: int, first: int) -> list[int]:
        """The copy of the array at an address as `lines.ptx` has it, from a CTA on."""
        return [
            source + self.begin, target, self.width, self.pitch, self.between * self.pitch, self.target_pitch,
            self.lines, -(-self.width // _PIECE), self.pieces, first,
        ]  # fmt: skip

    def ask(self, source: int, target: int, stream: Any) -> None:
        """Ask a stream for the copy, of the array at an address, by the driver's own. Raises `CudaFault`."""
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
    try:
        taken = int(call("cuMemAllocFromPoolAsync", sum(one.bytes for _, one in sources), pool_of(device), stream))
    except CudaFault as fault:
        if fault.error in ("CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_NOT_SUPPORTED"):
            raise NoRoomError(str(fault)) from None
        raise
    places = dict(zip(sources, accumulate((one.bytes for _, one in sources), initial=taken), strict=False))
    try:
        ask_for_copies(device, stream, [(one, source, places[n, one]) for (n, one), source in sources.items()])
        yield places
    finally:
        call("cuMemFreeAsync", taken, stream)


def ask_for_copies(device: int, stream: Any, copies: Sequence[tuple[LineCopy, int, int]]) -> None:
    """Ask a stream for copies, each of the array at an address to another one: one launch for all of them.

    Very large ones are the driver's, and all where it does not assemble PTX. Raises `CudaFault`.
    """
    copier = _copier(device)
    most = -1 if copier is None else _MOST_PIECES
    for one, source, target in copies:
        if one.pieces > most:
            one.ask(source, target, stream)
    rest = [copy for copy in copies if copy[0].pieces <= most]
    for begin in range(0, len(rest), _AT_ONCE):
        _launch(copier, stream, rest[begin : begin + _AT_ONCE])


def _launch(copier: Any, stream: Any, copies: Sequence[tuple[LineCopy, int, int]]) -> None:
    words: list[int] = []
    first = 0
    for one, source, target in copies:
        words += one.words(source, target, first)
        first += -(-one.pieces // _THREADS)
    unused = [0] * (_WORDS - 1) + [_NO_CTA]
    words += unused * (_AT_ONCE - len(copies))
    content = (ctypes.c_int64 * len(words))(*words)
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(content))
    call("cuLaunchKernel", copier, first, 1, 1, _THREADS, 1, 1, 0, stream, ctypes.addressof(parameters), 0)


_LOCK = Lock()
_POOLS: dict[tuple[int, int], Any] = {}
"""The pools by process and device."""


_COPIERS: dict[tuple[int, int], Any] = {}
"""The kernels that copy lines, by process and device."""


def _copier(device: int) -> Any:
    """The kernel of `lines.ptx` on a device, which is the thread's current one; None where it does not load."""
    key = (os.getpid(), device)
    with _LOCK:
        if key not in _COPIERS:
            _COPIERS[key] = None
            with suppress(CudaFault):
                module = call("cuModuleLoadData", (Path(__file__).parent / "lines.ptx").read_bytes())
                _COPIERS[key] = call("cuModuleGetFunction", module, b"girih_copy_lines")
        return _COPIERS[key]


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
