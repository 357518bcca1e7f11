"""Launches on an NVIDIA GPU as something to time: on arrays that are there, without copies, as training code has them.

Times are of the wall, between moments when the GPU has nothing left to do: of many launches one after another they are
those of the kernel, or of launching where that takes longer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.arguments.arrays import Group, Uninitialized
from girih.arguments.devices import CUDA
from girih.bench.measuring.peak import Meter
from girih.bench.measuring.timing import Call
from girih.runtime.cuda.device import CudaDevice, current_number, opened
from girih.runtime.cuda.driver import call

GPU = "cuda"
"""The target, which a number of a device may follow behind a colon."""

COPIED_BYTES = 256 * 2**20
"""The bytes that the meter of the bandwidth reads, far more than a cache holds; it writes as many."""

DEFAULT_STREAM = 0


def is_gpu(target: str) -> bool:
    """Whether a target is a GPU of this machine."""
    return target.partition(":")[0] == GPU


def device_of_target(target: str) -> CudaDevice:
    """The device of a target. Raises `NoCudaError`, `CudaFault`, and `LaunchError` for a number that there is not."""
    _, _, number = target.partition(":")
    return opened(int(number) if number else current_number())


def byte_bounds(array: NDArray[Any]) -> tuple[int, int]:
    """The address of the first byte of an array's elements, and that behind the last one."""
    begin, steps = array.ctypes.data, [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    if not array.size:
        return begin, begin
    return begin + sum(s for s in steps if s < 0), begin + sum(s for s in steps if s > 0) + array.itemsize


class ArrayToTime:
    """An array on a GPU with the contents, type and strides of one of the host, until it is let go."""

    def __init__(self, device: CudaDevice, array: NDArray[Any]) -> None:
        low, high = byte_bounds(array)
        self._device, self._array = device, array
        with device.current():
            self._block = device.blocks.take(max(1, high - low))
            if high > low:
                call("cuMemcpyHtoDAsync", self._block.address, low, high - low, DEFAULT_STREAM)
                call("cuStreamSynchronize", DEFAULT_STREAM)
        self._offset = array.ctypes.data - low

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """As Numba's documentation has it, version 3; with NumPy's type where that has no name."""
        return {
            "version": 3, "shape": self._array.shape, "strides": self._array.strides, "typestr": self._array.dtype,
            "data": (self._block.address + self._offset, False),
        }  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self._device.number

    def __del__(self) -> None:
        if hasattr(self, "_block"):
            with self._device.current():
                self._device.blocks.give(self._block)


def there(device: CudaDevice, value: object) -> object:
    """An argument with its arrays on a device. Raises `RuntimeError` for one that cannot be put there."""
    match value:
        case np.ndarray():
            return ArrayToTime(device, value)
        case Uninitialized(array):
            return there(device, array)
        case Group(arrays, offset, shapes):
            return Group([there(device, one) for one in arrays], offset, shapes)
        case list():
            return [there(device, one) for one in value]
        case _ if hasattr(value, "tensor_map"):
            raise RuntimeError("a tensor map of arrays on the GPU is not measured by girih bench")
        case _:
            return value


@dataclass(frozen=True, slots=True)
class LaunchToTime:
    """A launch that can be timed: `whole` is the same on arrays of the host, which are copied."""

    launch: Call
    whole: Call

    @staticmethod
    def of(kernel: Any, arguments: Sequence[object], on_device: Sequence[object]) -> LaunchToTime:
        """The launch of a kernel on some arguments, and on what they are on the device."""
        return LaunchToTime(partial(kernel, *on_device), partial(kernel, *arguments))

    def __call__(self) -> object:
        return self.launch()


def whole(launch: Call) -> Call:
    """The call of a launch that changes arrays of the host."""
    return launch.whole if isinstance(launch, LaunchToTime) else launch


def clock(device: CudaDevice) -> float:
    """The time at which the device has done everything that was asked for."""
    with device.current():
        call("cuCtxSynchronize")
    return time.perf_counter()


@lru_cache(maxsize=1)
def bandwidth(device: CudaDevice, size: int = COPIED_BYTES) -> Meter:
    """The meter of the bytes that a copy from memory to memory of the device reads and writes."""
    with device.current():
        source, target = device.blocks.take(size), device.blocks.take(size)
        call("cuMemsetD8Async", source.address, 1, size, DEFAULT_STREAM)

    def copy() -> None:
        with device.current():
            call("cuMemcpyDtoDAsync", target.address, source.address, size, DEFAULT_STREAM)

    return Meter(copy, 2.0 * size)


def described(device: CudaDevice) -> str:
    """The words for a device and its driver."""
    version = int(call("cuDriverGetVersion"))
    capability = ".".join(map(str, device.capability))
    return f"{device.name}, compute capability {capability}, CUDA {version // 1000}.{version % 1000 // 10}"
