"""A GPU of this process: its primary context, which other libraries share, and what it has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from threading import RLock
from typing import Any

from girih.lazy_dataclass import dataclass
from girih.runtime.cuda.driver import CudaFault, call, driver

_LOCK = RLock()
_OPENED: dict[int, CudaDevice] = {}


@dataclass(eq=False)
class CudaDevice:
    """A GPU by its number."""

    number: int
    handle: Any
    context: Any
    name: str
    capability: tuple[int, int]
    process: int
    lock: RLock = field(default_factory=RLock)
    functions: dict[bytes, Any] = field(default_factory=dict)
    """The functions that are loaded, by the code and the entry that they are of."""

    @contextmanager
    def current(self) -> Iterator[None]:
        """A context in which the device is the calling thread's."""
        call("cuCtxPushCurrent", self.context)
        try:
            yield
        finally:
            call("cuCtxPopCurrent")

    def attribute(self, name: str) -> int:
        """An attribute of the device, such as `MAX_THREADS_PER_BLOCK`."""
        attribute = getattr(driver().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(call("cuDeviceGetAttribute", attribute, self.handle))

    def function(self, cubin: bytes, entry: str, shared_bytes: int) -> Any:
        """A function of machine code, loaded now or before. The device is the thread's current one."""
        key = cubin + entry.encode()
        with self.lock:
            found = self.functions.get(key)
            if found is None:
                module = call("cuModuleLoadData", cubin)
                found = call("cuModuleGetFunction", module, entry.encode())
                if shared_bytes > _FREE_SHARED_BYTES:
                    wanted = driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                    call("cuFuncSetAttribute", found, wanted, shared_bytes)
                self.functions[key] = found
            return found


_FREE_SHARED_BYTES = 48 * 1024
"""The dynamic shared memory that a function may have without asking."""


def device_count() -> int:
    """The number of GPUs. Raises `NoCudaError`."""
    return int(call("cuDeviceGetCount"))


def opened(number: int) -> CudaDevice:
    """A GPU by its number. Raises `NoCudaError` and `CudaFault`."""
    with _LOCK:
        found = _OPENED.get(number)
        if found is None or found.process != os.getpid():
            handle = call("cuDeviceGet", number)
            context = call("cuDevicePrimaryCtxRetain", handle)
            name = call("cuDeviceGetName", 256, handle).split(b"\0")[0].decode()
            found = CudaDevice(number, handle, context, name, (0, 0), os.getpid())
            found.capability = (
                found.attribute("COMPUTE_CAPABILITY_MAJOR"),
                found.attribute("COMPUTE_CAPABILITY_MINOR"),
            )
            _OPENED[number] = found
        return found


def current_number() -> int:
    """The number of the calling thread's current GPU, 0 where it has none."""
    driver()
    try:
        return int(call("cuCtxGetDevice"))
    except CudaFault:
        return 0
