"""A GPU of this process: its primary context, which other libraries share, the code loaded there, and its memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from threading import RLock
from typing import Any

from girih.back.llvm.nvptx.machine.kernel import PtxKernel
from girih.lazy_dataclass import dataclass
from girih.runtime.cuda.code.kept import MachineCode
from girih.runtime.cuda.driver import CudaFault, call, driver
from girih.runtime.cuda.memory import DeviceBlocks, KeptTables, PinnedRecords
from girih.runtime.cuda.report import refuse
from girih.source import NOWHERE, Span

FREE_SHARED_BYTES = 48 * 1024
"""The dynamic shared memory that a kernel may have without asking (CUDA programming guide, "Shared Memory")."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedKernel:
    """A kernel whose machine code is on a device, where it stays until the process ends: a CUDA graph may have it."""

    kernel: PtxKernel
    code: MachineCode
    handle: int


@dataclass(slots=True, eq=False)
class CudaDevice:
    """A GPU by its number."""

    number: int
    handle: Any
    context: int
    name: str
    capability: tuple[int, int]
    multiprocessors: int
    blocks: DeviceBlocks = field(default_factory=DeviceBlocks)
    tables: KeptTables = field(default_factory=KeptTables)
    records: PinnedRecords = field(default_factory=PinnedRecords)

    @staticmethod
    def open(number: int) -> CudaDevice:
        """The GPU of a number, which there is. Raises `CudaFault`."""
        handle = call("cuDeviceGet", number)
        context = int(call("cuDevicePrimaryCtxRetain", handle))
        name = call("cuDeviceGetName", 256, handle).split(b"\0")[0].decode(errors="replace")
        major, minor = (attribute_of(handle, f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
        return CudaDevice(number, handle, context, name, (major, minor), attribute_of(handle, "MULTIPROCESSOR_COUNT"))

    def __str__(self) -> str:
        return f"cuda:{self.number} ({self.name})"

    @contextmanager
    def current(self) -> Iterator[None]:
        """A context in which the device is the calling thread's."""
        if int(call("cuCtxGetCurrent")) == self.context:
            yield
            return
        call("cuCtxPushCurrent", self.context)
        try:
            yield
        finally:
            call("cuCtxPopCurrent")

    def attribute(self, name: str) -> int:
        """An attribute of the device, such as `MULTIPROCESSOR_COUNT`."""
        return attribute_of(self.handle, name)

    def has(self, address: int) -> bool:
        """Whether the driver knows memory at an address; the device is the thread's current one."""
        try:
            call("cuPointerGetAttribute", driver().CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)
        except CudaFault as fault:
            if fault.error == "CUDA_ERROR_INVALID_VALUE":
                return False
            raise
        return True

    def load(self, kernel: PtxKernel, code: MachineCode, span: Span = NOWHERE) -> LoadedKernel:
        """A kernel whose code is put on the device, which is the thread's current one.

        Raises `LaunchError` where the device has too little for a work-group, and `CudaFault`.
        """
        self._refuse_too_large(kernel, span)
        module = call("cuModuleLoadData", code.cubin)
        function = call("cuModuleGetFunction", module, kernel.entry.encode())
        attributes = driver().CUfunction_attribute
        most = int(call("cuFuncGetAttribute", attributes.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function))
        if kernel.threads > most:
            registers = int(call("cuFuncGetAttribute", attributes.CU_FUNC_ATTRIBUTE_NUM_REGS, function))
            message = (
                f"a work-group of @{kernel.name} has {kernel.threads} work-items of {registers} registers each; "
                f"{self} has registers for {most}"
            )
            refuse("bind.cuda_resources", message, "give the kernel a smaller work_group_size", span)
        if kernel.shared_bytes > FREE_SHARED_BYTES:
            wanted = attributes.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            call("cuFuncSetAttribute", function, wanted, kernel.shared_bytes)
        return LoadedKernel(kernel, code, int(function))

    def _refuse_too_large(self, kernel: PtxKernel, span: Span) -> None:
        shared = self.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        if kernel.shared_bytes > shared:
            message = (
                f"a work-group of @{kernel.name} needs {kernel.shared_bytes} bytes of local memory; {self} has {shared}"
            )
            refuse("bind.cuda_resources", message, "give it smaller tiles, or use local memory for less time", span)


def attribute_of(handle: Any, name: str) -> int:
    """An attribute of a device by its handle. Raises `CudaFault`."""
    attribute = getattr(driver().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(call("cuDeviceGetAttribute", attribute, handle))


_LOCK = RLock()
_OPENED: dict[tuple[int, int], CudaDevice] = {}
"""The devices in use by process and number."""


def device_count() -> int:
    """The number of GPUs. Raises `NoCudaError` and `CudaFault`."""
    return int(call("cuDeviceGetCount"))


def opened(number: int, span: Span = NOWHERE) -> CudaDevice:
    """A GPU by its number. Raises `LaunchError` where there is none, `NoCudaError` and `CudaFault`."""
    found = _OPENED.get((os.getpid(), number))
    if found is not None:
        return found
    count = device_count()
    if number >= count:
        there = ", ".join(f"cuda:{one}" for one in range(count)) or "none"
        refuse("bind.cuda_device", f"there is no GPU cuda:{number}; there is {there}", "`nvidia-smi` lists them", span)
    with _LOCK:
        key = (os.getpid(), number)
        if key not in _OPENED:
            _OPENED[key] = CudaDevice.open(number)
        return _OPENED[key]


def current_number() -> int:
    """The number of the calling thread's current GPU, 0 where it has none. Raises `NoCudaError` and `CudaFault`."""
    # A thread without a context is asked nothing that the driver refuses: tools that watch it report refusals.
    return int(call("cuCtxGetDevice")) if int(call("cuCtxGetCurrent")) else 0
