"""The functions of OpenCL that are called, with their types, and its errors in words.

Numbers are those of CL/cl.h and CL/cl_ext.h of the OpenCL 3.0 headers (KhronosGroup/OpenCL-Headers, v2024.10.24).
OpenCL's functions take numbers and pointers only, no structures, so that ctypes alone is enough: a binding library
would be a second way to say the same, and another package to install.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

_COUNT, _STATUS = POINTER(c_uint32), POINTER(c_int32)
_SIZES = POINTER(c_size_t)

# name: (result, parameters); a c_int32 as result is a status.
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "clGetPlatformIDs": (c_int32, (c_uint32, c_void_p, _COUNT)),
    "clGetPlatformInfo": (c_int32, (c_void_p, c_uint32, c_size_t, c_void_p, _SIZES)),
    "clGetDeviceIDs": (c_int32, (c_void_p, c_uint64, c_uint32, c_void_p, _COUNT)),
    "clGetDeviceInfo": (c_int32, (c_void_p, c_uint32, c_size_t, c_void_p, _SIZES)),
    "clCreateContext": (c_void_p, (c_void_p, c_uint32, c_void_p, c_void_p, c_void_p, _STATUS)),
    "clReleaseContext": (c_int32, (c_void_p,)),
    "clCreateCommandQueue": (c_void_p, (c_void_p, c_void_p, c_uint64, _STATUS)),
    "clReleaseCommandQueue": (c_int32, (c_void_p,)),
    "clCreateProgramWithIL": (c_void_p, (c_void_p, c_char_p, c_size_t, _STATUS)),
    "clBuildProgram": (c_int32, (c_void_p, c_uint32, c_void_p, c_char_p, c_void_p, c_void_p)),
    "clGetProgramBuildInfo": (c_int32, (c_void_p, c_void_p, c_uint32, c_size_t, c_void_p, _SIZES)),
    "clReleaseProgram": (c_int32, (c_void_p,)),
    "clCreateKernel": (c_void_p, (c_void_p, c_char_p, _STATUS)),
    "clSetKernelArg": (c_int32, (c_void_p, c_uint32, c_size_t, c_void_p)),
    "clSetKernelArgSVMPointer": (c_int32, (c_void_p, c_uint32, c_void_p)),
    "clSetKernelExecInfo": (c_int32, (c_void_p, c_uint32, c_size_t, c_void_p)),
    "clReleaseKernel": (c_int32, (c_void_p,)),
    "clSVMAlloc": (c_void_p, (c_void_p, c_uint64, c_size_t, c_uint32)),
    "clSVMFree": (None, (c_void_p, c_void_p)),
    "clEnqueueSVMMemcpy": (
        c_int32,
        (c_void_p, c_uint32, c_void_p, c_void_p, c_size_t, c_uint32, c_void_p, c_void_p),
    ),
    "clEnqueueNDRangeKernel": (
        c_int32,
        (c_void_p, c_void_p, c_uint32, _SIZES, _SIZES, _SIZES, c_uint32, c_void_p, c_void_p),
    ),
    "clFinish": (c_int32, (c_void_p,)),
}

BUILD_LOG = 0x1183
"""CL_PROGRAM_BUILD_LOG."""
ALL_DEVICES = 0xFFFFFFFF
"""CL_DEVICE_TYPE_ALL."""
READ_AND_WRITTEN = 1 << 0
"""CL_MEM_READ_WRITE."""
SHARED_POINTERS = 0x11B6
"""CL_KERNEL_EXEC_INFO_SVM_PTRS."""

_ERRORS = {
    -1: ("CL_DEVICE_NOT_FOUND", "there is no device"),
    -2: ("CL_DEVICE_NOT_AVAILABLE", "the device is not available"),
    -3: ("CL_COMPILER_NOT_AVAILABLE", "the driver has no compiler"),
    -4: ("CL_MEM_OBJECT_ALLOCATION_FAILURE", "the device has not enough memory"),
    -5: ("CL_OUT_OF_RESOURCES", "the device has not enough resources, or a kernel ended it"),
    -6: ("CL_OUT_OF_HOST_MEMORY", "this machine has not enough memory"),
    -11: ("CL_BUILD_PROGRAM_FAILURE", "the driver cannot build the module"),
    -14: ("CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", "an earlier command failed"),
    -17: ("CL_LINK_PROGRAM_FAILURE", "the driver cannot link the module"),
    -30: ("CL_INVALID_VALUE", "a value that the driver does not take"),
    -42: ("CL_INVALID_BINARY", "the driver does not take the module"),
    -44: ("CL_INVALID_PROGRAM", "the module is not a program for the driver"),
    -45: ("CL_INVALID_PROGRAM_EXECUTABLE", "the module has not been built"),
    -46: ("CL_INVALID_KERNEL_NAME", "the module has no kernel of this name"),
    -49: ("CL_INVALID_ARG_INDEX", "the kernel has fewer arguments"),
    -50: ("CL_INVALID_ARG_VALUE", "an argument that the kernel does not take"),
    -51: ("CL_INVALID_ARG_SIZE", "an argument of another size than the kernel's"),
    -52: ("CL_INVALID_KERNEL_ARGS", "an argument is missing"),
    -54: ("CL_INVALID_WORK_GROUP_SIZE", "a work-group of another size than the kernel's or the device's"),
    -55: ("CL_INVALID_WORK_ITEM_SIZE", "a work-group with more work-items than the device has"),
    -59: ("CL_INVALID_OPERATION", "the driver cannot do this"),
    -61: ("CL_INVALID_BUFFER_SIZE", "a buffer larger than the device takes"),
    -63: ("CL_INVALID_GLOBAL_WORK_SIZE", "a grid larger than the device takes"),
    -1001: ("CL_PLATFORM_NOT_FOUND_KHR", "no driver is installed"),
}
"""The errors by number: CL/cl.h's name, and words."""

WANT_OF_MEMORY = (-4, -5, -6, -61)
"""The errors that a smaller launch would not have met."""


class OpenClError(Exception):
    """A call of OpenCL that failed: what was done, the number of the error, and the driver's own words."""

    def __init__(self, doing: str, status: int, log: str = "") -> None:
        name, words = _ERRORS.get(status, (f"error {status}", "no description is known"))
        super().__init__(f"OpenCL failed to {doing}: {words} ({name})")
        self.status, self.log = status, log


class Api:
    """OpenCL's functions of a library: the loader, or a runtime that exports them.

    `call` is for functions that return a status, `make` for those that return a new object, both raise `OpenClError`.
    Raises `OSError` for a library that lacks one of the functions.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self._functions: dict[str, Any] = {}
        for name, (result, parameters) in _FUNCTIONS.items():
            try:
                function = getattr(library, name)
            except AttributeError:
                raise OSError(f"{library._name} has no function {name}") from None
            function.restype, function.argtypes = result, parameters
            self._functions[name] = function

    def call(self, doing: str, name: str, *arguments: Any) -> None:
        """Call a function that returns a status."""
        status = self._functions[name](*arguments)
        if status != 0:
            raise OpenClError(doing, status)

    def make(self, doing: str, name: str, *arguments: Any) -> c_void_p:
        """Call a function that returns an object, and a status through its last parameter."""
        status = c_int32()
        made = self._functions[name](*arguments, ctypes.byref(status))
        if status.value != 0 or not made:
            raise OpenClError(doing, status.value)
        return c_void_p(made)

    def plain(self, name: str, *arguments: Any) -> Any:
        """Call a function and return its result as it is."""
        return self._functions[name](*arguments)

    def info(self, name: str, *asked: Any) -> bytes:
        """What one of the functions that give information says; no bytes where the driver does not know what is asked.

        `asked` are the arguments up to the number of what is asked for.
        """
        size = c_size_t()
        if self._functions[name](*asked, 0, None, ctypes.byref(size)) != 0 or not size.value:
            return b""
        content = ctypes.create_string_buffer(size.value)
        return content.raw if self._functions[name](*asked, size, content, None) == 0 else b""

    def listed(self, name: str, *before: Any) -> list[c_void_p]:
        """The platforms or the devices; none where the driver says that there are none."""
        count = c_uint32()
        if self._functions[name](*before, 0, None, ctypes.byref(count)) != 0 or not count.value:
            return []
        found = (c_void_p * count.value)()
        self.call("list devices", name, *before, count.value, found, None)
        return [c_void_p(one) for one in found]
