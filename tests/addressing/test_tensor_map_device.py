"""What `TensorMap.code` writes, on a device: random copies, encoded by the Python text and made by the PTX text.

The bytes are those of the model. It needs an NVIDIA GPU of compute capability 9.0, its driver, and cuda-bindings.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from girih.addressing import TensorMap
from girih.addressing.tensor_map.code_ptx import instruction_of
from tests.addressing import random_tensor_maps as maps

COUNT = 60
"""Random maps of each kind."""
THREADS = 64


class Device:
    """The first device with its primary context."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.done(driver.cuInit(0))
        device = self.done(driver.cuDeviceGet(0))
        attributes = driver.CUdevice_attribute
        major = attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
        self.capability = self.done(driver.cuDeviceGetAttribute(major, device))
        self.done(driver.cuCtxSetCurrent(self.done(driver.cuDevicePrimaryCtxRetain(device))))

    def done(self, answer: tuple[Any, ...]) -> Any:
        error, *values = answer
        assert error == self.driver.CUresult.CUDA_SUCCESS, error
        return values[0] if values else None

    def memory(self, data: NDArray[np.uint8]) -> int:
        address = int(self.done(self.driver.cuMemAlloc(data.size)))
        self.done(self.driver.cuMemcpyHtoD(address, data.ctypes.data, data.size))
        return address

    def bytes_of(self, address: int, size: int) -> NDArray[np.uint8]:
        data = np.zeros(size, np.uint8)
        self.done(self.driver.cuMemcpyDtoH(data.ctypes.data, address, size))
        self.done(self.driver.cuMemFree(address))
        return data

    def launch(self, text: str, kernel: str, shared: int, tensor_map: Any, arguments: list[Any]) -> None:
        module = self.done(self.driver.cuModuleLoadData(text.encode() + b"\0"))
        function = self.done(self.driver.cuModuleGetFunction(module, kernel.encode()))
        attribute = self.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.done(self.driver.cuFuncSetAttribute(function, attribute, shared))
        addresses = [int(tensor_map.getPtr()), *(ctypes.addressof(one) for one in arguments)]
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        given = ctypes.addressof(pointers)
        self.done(self.driver.cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, shared, 0, given, 0))
        self.done(self.driver.cuCtxSynchronize())
        self.done(self.driver.cuModuleUnload(module))


@pytest.fixture(scope="module")
def device() -> Device:
    try:
        driver = import_module("cuda.bindings.driver")
        device = Device(driver)
    except Exception as error:
        pytest.skip(f"no NVIDIA GPU can be used here: {error}")
    if device.capability != 9:
        pytest.skip(f"the device has compute capability {device.capability}, the kernels are for 9.0")
    return device


def copies() -> Iterator[tuple[TensorMap, str, list[int], list[int]]]:
    """Random maps of Hopper's, with a copy and its operands."""
    for kind in ("load", "store", "reduce", "im2col load", "im2col store"):
        for number in range(COUNT):
            random = np.random.default_rng([number, *kind.encode()])
            dtype = maps.chosen(random, maps.PLAIN)
            stores = not kind.endswith("load")
            offsets: list[int] = []
            if kind.startswith("im2col"):
                given, start, offsets = maps.im2col(random, dtype, stores)
            else:
                dtype = dtype if kind != "reduce" else maps.chosen(random, ("u32", "u64"))
                given, start = maps.tiled(random, dtype, stores)
            if given.swizzle in ("none", "32B", "64B", "128B"):
                copy = "reduce.add" if kind == "reduce" else kind.split()[-1]
                yield replace(given, architecture="sm_90a"), copy, start, offsets if kind == "im2col load" else []


def test_a_device_moves_the_bytes_of_the_model(device: Device) -> None:
    random, tried = np.random.default_rng(1), 0
    for given, copy, start, offsets in copies():
        memory, instruction = maps.memory_of(random, given), instruction_of(given, copy)
        box = maps.NOISE[: instruction.shared_bytes].copy()
        tensor, image = device.memory(memory), device.memory(box)
        names: dict[str, Any] = {}
        exec(given.code("python", copy), names)
        arguments = [*map(ctypes.c_int32, start), *map(ctypes.c_uint16, offsets), ctypes.c_uint64(image)]
        kernel = f"tensor_{copy.replace('.', '_')}"
        encoded = names["encode_tensor"](tensor)
        device.launch(given.code("ptx", copy), kernel, instruction.shared_bytes, encoded, arguments)
        after, moved = device.bytes_of(tensor, memory.size), device.bytes_of(image, box.size)
        if copy == "load":
            expected = given.load(memory, start, offsets or None)
            here = np.flatnonzero(expected.written)
            assert np.array_equal(moved[here], expected.bytes[here]), (given, start, offsets)
        elif copy == "store":
            given.store(box, memory, start)
        else:
            given.reduce("add", box, memory, start)
        assert np.array_equal(after, memory), (given, copy, start)
        tried += 1
    assert tried > 3 * COUNT
