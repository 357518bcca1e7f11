"""A device that is in use: its context, a queue, and memory that kernels reach by addresses."""

from __future__ import annotations

import ctypes
from ctypes import c_void_p
from functools import lru_cache
from threading import Lock

from girih.runtime.opencl.api import READ_AND_WRITTEN, Api, OpenClError
from girih.runtime.opencl.devices import OpenClDevice


class OpenClSession:
    """A device with its context and a queue of commands, one at a time: whoever launches holds `lock`.

    Raises `OpenClError` where the driver makes no context.
    """

    def __init__(self, device: OpenClDevice) -> None:
        self.device = device
        self.api: Api = device.api
        self.lock = Lock()
        self.lost = False
        """Whether a kernel has not come to its end; then nothing else is known to work."""
        handles = (c_void_p * 1)(device.handle)
        self.context = self.api.make("open the device", "clCreateContext", None, 1, handles, None, None)
        self.queue = self.api.make("open the device", "clCreateCommandQueue", self.context, device.handle, 0)

    def allocate(self, size: int) -> SharedMemory:
        """Memory of the device, of at least a byte. Raises `OpenClError` where there is not enough."""
        return SharedMemory(self, size)

    def finish(self) -> None:
        """Wait for all commands. Raises `OpenClError` where the device did not survive them."""
        try:
            self.api.call("run the kernel", "clFinish", self.queue)
        except OpenClError:
            self.lost = True
            raise


class SharedMemory:
    """Memory of a device with an address, coarse-grained shared virtual memory (OpenCL 3.0, 5.6.1).

    A memref is a pointer to somewhere in it: arrays that share memory share it here too, and groups have addresses.
    It is freed by `free`, or with this object.
    """

    __slots__ = ("address", "session", "size")

    def __init__(self, session: OpenClSession, size: int) -> None:
        self.session, self.size = session, max(size, 1)
        self.address: int = session.api.plain("clSVMAlloc", session.context, READ_AND_WRITTEN, self.size, 0) or 0
        if not self.address:
            raise OpenClError(f"allocate {self.size} bytes", -4)

    def put(self, source: int, size: int, offset: int = 0) -> None:
        """Copy bytes from an address of this process to an offset."""
        self._copy("copy arguments to the device", self.address + offset, source, size)

    def get(self, target: int, size: int, offset: int = 0) -> None:
        """Copy bytes from an offset to an address of this process."""
        self._copy("copy results from the device", target, self.address + offset, size)

    def put_bytes(self, content: bytes) -> None:
        """Copy bytes to the beginning."""
        kept = ctypes.create_string_buffer(content, len(content))
        self.put(ctypes.addressof(kept), len(content))

    def get_bytes(self, size: int) -> bytes:
        """The bytes at the beginning."""
        kept = ctypes.create_string_buffer(size)
        self.get(ctypes.addressof(kept), size)
        return kept.raw

    def free(self) -> None:
        """Give the memory back; a second time changes nothing."""
        if self.address:
            self.session.api.plain("clSVMFree", self.session.context, self.address)
            self.address = 0

    def __del__(self) -> None:
        if getattr(self, "address", 0):
            self.free()

    def _copy(self, doing: str, target: int, source: int, size: int) -> None:
        if size:
            queue = self.session.queue
            self.session.api.call(doing, "clEnqueueSVMMemcpy", queue, 1, target, source, size, 0, None, None)


class _Sessions:
    """The sessions of a process, one for each device; a device that was lost is opened anew."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: dict[OpenClDevice, OpenClSession] = {}

    def of(self, device: OpenClDevice) -> OpenClSession:
        """The session of a device."""
        with self._lock:
            known = self._open.get(device)
            if known is None or known.lost:
                known = self._open[device] = OpenClSession(device)
            return known


@lru_cache(maxsize=1)
def _sessions() -> _Sessions:
    return _Sessions()


def session_of(device: OpenClDevice) -> OpenClSession:
    """The session of a device, one for all launches until one loses it. Raises `OpenClError` as its making does."""
    return _sessions().of(device)
