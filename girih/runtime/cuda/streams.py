"""The streams of launches, and what kernels found there.

A launch is on the stream that an array names, else on the current stream of the library whose arrays it takes, torch's
or CuPy's, else on that of torch where torch uses the GPU, else on CUDA's default stream. What an asynchronous launch
found is told at the next one on the same stream, when somebody waits for it, or, as a warning, when the process ends.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from threading import Lock
from typing import Any

from girih.arguments.devices import PlacedArray, in_capsule
from girih.back.llvm.lower.launch.record import RECORD_GRID
from girih.diagnostics import Finding, KernelError, plural, warn_user
from girih.ir.core import Function
from girih.lazy_dataclass import dataclass
from girih.runtime.compiled.record import finding_in
from girih.runtime.cuda.device import CudaDevice, LoadedKernel
from girih.runtime.cuda.driver import CudaFault, NoCudaError, call
from girih.runtime.cuda.memory import FailureRecord

MOST_WATCHED = 256
"""The kernels on one stream whose records machine code looks at."""

DEFAULT_STREAM = 0
"""CUDA's default stream, which all blocking streams wait for."""


class CudaFindingWarning(UserWarning):
    """A launch on arrays of a device found something wrong, and nobody looked."""


def current_stream(number: int, arrays: Iterable[object]) -> int:
    """The handle of the stream of a launch on a device that takes some arrays."""
    arrays = list(arrays)
    placed = next((array for array in arrays if isinstance(array, PlacedArray)), None)
    return stream_teller(number, arrays)() if placed is None else placed.stream


def stream_library(arrays: Iterable[object]) -> str:
    """The library whose current stream launches with some arrays are on: `cupy`, or `torch`, also without it."""
    homes = {array.__class__.__module__.partition(".")[0] for array in arrays}
    return "cupy" if "cupy" in homes and "torch" not in homes and "cupy" in sys.modules else "torch"


def stream_teller(number: int, arrays: Iterable[object]) -> Callable[[], int]:
    """What tells the handle of the stream of launches on a device that take some arrays."""
    if stream_library(arrays) == "cupy":
        cupy: Any = sys.modules["cupy"]
        current = cupy.cuda.get_current_stream
        return lambda: int(current(number).ptr)
    return lambda: _torch_stream(number)


def stream_function(number: int, arrays: Iterable[object]) -> int:
    """The address of a C function without arguments that tells the same without Python; 0 where there is none.

    It is CuPy's, which it exports to its own modules; no promise says that it stays, so it must tell the same now.
    """
    arrays = list(arrays)
    if stream_library(arrays) != "cupy":
        return 0
    exported = getattr(sys.modules.get("cupy_backends.cuda.stream"), "__pyx_capi__", {})
    address = in_capsule(exported.get("get_current_stream_ptr"), b"intptr_t (void)") or 0
    if not address or ctypes.PYFUNCTYPE(ctypes.c_ssize_t)(address)() != stream_teller(number, arrays)():
        return 0
    return address


def _torch_stream(number: int) -> int:
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return int(torch.cuda.current_stream(number).cuda_stream)
    return DEFAULT_STREAM


def is_capturing(stream: int) -> bool:
    """Whether launches on a stream become part of a CUDA graph."""
    try:
        return bool(int(call("cuStreamIsCapturing", stream)))
    except CudaFault as fault:
        # Another stream is capturing, and the default stream waits for it.
        if fault.error == "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT":
            return True
        raise


@dataclass(frozen=True, slots=True, eq=False)
class KernelRecord:
    """The failure record of a kernel on a stream, and what makes it a finding."""

    record: FailureRecord
    loaded: LoadedKernel
    function: Function

    def finding(self) -> Finding:
        """The finding of a record that is written."""
        content = self.record.content
        grid = struct.unpack_from("=2q", content, RECORD_GRID)
        kernel = self.loaded.kernel
        return finding_in(content, kernel.sites, self.function, grid, kernel.parts)


@dataclass(slots=True, eq=False)
class LaunchStream:
    """A stream of a device on which kernels were launched, by its handle; 0 is the default stream."""

    device: CudaDevice
    handle: int
    records: dict[LoadedKernel, KernelRecord] = field(default_factory=dict)
    lock: Any = field(default_factory=Lock)
    watch: Any = field(default_factory=lambda: (ctypes.c_int64 * (1 + MOST_WATCHED))())
    """The number of records, then their addresses, for machine code that looks at all; -1 where they are too many."""
    sums: int = 0
    """The address of memory for sums of parts of the depth (girih/runtime/cuda/depth.py); 0 before the first launch
    that needs it. It stays as long as the process."""

    @property
    def watch_address(self) -> int:
        """The address of `watch`, which stays while the stream does."""
        return ctypes.addressof(self.watch)

    def record_of(self, loaded: LoadedKernel, function: Function) -> FailureRecord:
        """The record of a kernel here. Raises `CudaFault`."""
        with self.lock:
            known = self.records.get(loaded)
            if known is None:
                known = KernelRecord(self.device.records.take(), loaded, function)
                self.records = {**self.records, loaded: known}
                self._watch(known.record)
            return known.record

    def _watch(self, record: FailureRecord) -> None:
        count = self.watch[0]
        if 0 <= count < MOST_WATCHED:
            self.watch[1 + count] = record.host
            self.watch[0] = count + 1
        else:
            self.watch[0] = -1

    def raise_found(self, name: str) -> None:
        """Raise `KernelError` with what earlier launches here have found, after the last of them has ended.

        `name` is that of the kernel that is to be launched now.
        """
        if any(not one.record.is_empty for one in self.records.values()) and not is_capturing(self.handle):
            self.wait()
            found = self.take_found()
            # Another thread may have been told.
            if found:
                error = KernelError(found)
                error.add_note(f"An earlier launch on this stream has left this; {name} was not launched.")
                raise error

    def take_found(self) -> list[Finding]:
        """What is in the records, which are empty then."""
        with self.lock:
            written = [one for one in self.records.values() if not one.record.is_empty]
            found = [one.finding() for one in written]
            for one in written:
                one.record.clear()
        return found

    def follow(self, stream: int) -> None:
        """Let what is launched here from now on wait for what another stream was asked for. Raises `CudaFault`."""
        # CU_EVENT_DISABLE_TIMING, cuda.h
        event = call("cuEventCreate", 2)
        try:
            call("cuEventRecord", event, stream)
            call("cuStreamWaitEvent", self.handle, event, 0)
        finally:
            # The driver keeps it as long as a stream waits for it.
            call("cuEventDestroy", event)

    def wait(self) -> None:
        """Wait until all launches here have ended. Raises `CudaFault`."""
        call("cuStreamSynchronize", self.handle)


_LOCK = Lock()
_STREAMS: dict[tuple[int, int, int], LaunchStream] = {}
"""Streams by process, number of the device, and handle."""


def launch_stream(device: CudaDevice, handle: int) -> LaunchStream:
    """A stream of a device by its handle."""
    key = (os.getpid(), device.number, handle)
    found = _STREAMS.get(key)
    if found is None:
        with _LOCK:
            if not _STREAMS:
                atexit.register(_warn_of_unseen)
            found = _STREAMS.setdefault(key, LaunchStream(device, handle))
    return found


def streams_with(loaded: Callable[[LoadedKernel], bool]) -> list[LaunchStream]:
    """The streams of this process on which some kernel was launched."""
    process = os.getpid()
    return [one for key, one in list(_STREAMS.items()) if key[0] == process and any(map(loaded, one.records))]


def _warn_of_unseen() -> None:
    """Warn of what launches have found that nobody has seen."""
    process = os.getpid()
    streams = [one for key, one in _STREAMS.items() if key[0] == process]
    # What is still running may find something; and at the end of a process the driver may be gone already.
    with suppress(CudaFault, NoCudaError):
        for device in {one.device for one in streams}:
            with device.current():
                call("cuCtxSynchronize")
    found = [finding for one in streams for finding in one.take_found()]
    if found:
        warn_user(unseen(found), CudaFindingWarning)


def unseen(found: Sequence[Finding]) -> str:
    """The words for findings that nobody has seen."""
    listed = "\n\n".join(finding.render() for finding in found)
    return f"launches on arrays of a device left {plural(len(found), 'finding')} that nobody looked at:\n{listed}"
