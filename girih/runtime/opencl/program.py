"""A module in SPIR-V as a kernel of a device: built by the driver, given arguments, and run."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_size_t, c_void_p

from girih.runtime.opencl.api import BUILD_LOG, SHARED_POINTERS, OpenClError
from girih.runtime.opencl.session import OpenClSession, SharedMemory

_EXACT = b"-cl-fp32-correctly-rounded-divide-sqrt"
"""The option for exact quotients and roots of f32 (OpenCL 3.0, 5.8.6.3); drivers without them refuse it."""


class OpenClProgram:
    """A kernel that the driver has built from a module.

    Raises `OpenClError`, with the driver's own words in `log`, for a module that it does not take.
    """

    def __init__(self, session: OpenClSession, module: bytes, entry: str) -> None:
        self.session = session
        api, device = session.api, session.device
        self._program = api.make("read the module", "clCreateProgramWithIL", session.context, module, len(module))
        self._kernel = c_void_p()
        options = _EXACT if device.exact_division else b""
        handles = (c_void_p * 1)(device.handle)
        try:
            api.call("build the module", "clBuildProgram", self._program, 1, handles, options, None, None)
        except OpenClError as error:
            log = api.info("clGetProgramBuildInfo", self._program, device.handle, BUILD_LOG)
            raise OpenClError("build the module", error.status, _cut(log)) from None
        self._kernel = api.make(f"find the kernel {entry}", "clCreateKernel", self._program, entry.encode())

    def run(
        self,
        grid: tuple[int, int, int],
        local_size: int,
        arguments: Sequence[int | bytes],
        reached: Sequence[SharedMemory],
    ) -> None:
        """Run the kernel on a grid of work-groups of `local_size` work-items, and wait for it.

        `arguments` are addresses in memory of the device, 0 for none, and the bytes of what is passed by value;
        `reached` is the memory that the kernel reaches by addresses that it loads. Raises `OpenClError`.
        """
        session, api = self.session, self.session.api
        for number, value in enumerate(arguments):
            if isinstance(value, int):
                api.call(f"pass argument {number}", "clSetKernelArgSVMPointer", self._kernel, number, value)
            else:
                api.call(f"pass argument {number}", "clSetKernelArg", self._kernel, number, len(value), value)
        if reached:
            pointers = (c_void_p * len(reached))(*[memory.address for memory in reached])
            size = ctypes.sizeof(pointers)
            api.call("pass addresses", "clSetKernelExecInfo", self._kernel, SHARED_POINTERS, size, pointers)
        items = (c_size_t * 3)(grid[0] * local_size, grid[1], grid[2])
        local = (c_size_t * 3)(local_size, 1, 1)
        api.call(
            "start the kernel",
            "clEnqueueNDRangeKernel",
            session.queue,
            self._kernel,
            3,
            None,
            items,
            local,
            0,
            None,
            None,
        )
        session.finish()

    def __del__(self) -> None:
        api = self.session.api
        if getattr(self, "_kernel", None):
            api.plain("clReleaseKernel", self._kernel)
        if getattr(self, "_program", None):
            api.plain("clReleaseProgram", self._program)


def _cut(log: bytes, most: int = 2000) -> str:
    """What the driver said, without what is behind `most` characters."""
    words = log.split(b"\0")[0].decode(errors="replace").strip()
    return words if len(words) <= most else f"{words[:most]} ..."
