"""The tensor copies that were measured on an NVIDIA H200, as programs: the same map, operands and memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import girih
from girih.addressing import TensorMap
from girih.addressing.tensor_map.bound import tensor_bytes
from girih.api import Kernel
from tests.addressing.test_tensor_map_golden import CASES, arrays, global_memory, map_of, shared_memory
from tests.tensor_maps.programs import number_type

Bytes = NDArray[np.uint8]
Case = dict[str, Any]


@cache
def kernel(
    target: str, operation: str, type: str, rank: int, mode: str, offset: int, size: int, checks: str = "bounds"
) -> Kernel:
    """A copy at a window's `offset`; the window is `W` before and, after a load, behind it."""
    coordinates = [f"%c{number}" for number in range(rank)]
    offsets = [f"%o{number}" for number in range(rank - 2)] if mode == "im2col" else []
    parameters = "".join(f", {name}: index" for name in (*coordinates, *offsets))
    place = f"%map[{', '.join(coordinates)}]"
    copy = {
        "load": f"tensor_copy_load {place}, %box",
        "store": f"tensor_copy_store %box, {place}",
        "reduce_add": f"tensor_copy_reduce.add %box, {place}",
    }[operation]
    if offsets:
        copy = f"tensor_copy_load.im2col {place}, [{', '.join(offsets)}], %box"
    text = f"""
func @copy(%map: tensor_map<{type},{rank},{mode}>{parameters}, %W: memref<i8x{size}>) {{
    %one = constant 1 : i8
    %zero = constant 0 : i8
    %window = alloca {{alignment=1024}} : memref<i8x{size},local>
    axpby %one, %W, %zero, %window
    %box = subview %window[{offset}:{size - offset}] : memref<i8x{size - offset},local>
    {copy}
    axpby %one, %window, %zero, %W
}}
"""
    return girih.loads(text, target, checks=checks)["copy"]


def kernel_of(target: str, case: Case, given: TensorMap, checks: str = "bounds") -> Kernel:
    asked = case["instruction"]
    offset, size = asked["sharedOffset"], window_bytes(case, given)
    return kernel(target, asked["operation"], number_type(given), given.rank, given.mode, offset, size, checks)


def window_bytes(case: Case, given: TensorMap) -> int:
    """The bytes of local memory, of which the measured window is the beginning: a power of two."""
    measured = case["expect"].get("windowBytes", 0) if case["instruction"]["operation"] == "load" else 0
    needed = max(measured, case["instruction"]["sharedOffset"] + given.image_bytes + 128)
    return 1 << int(needed - 1).bit_length()


def launch(made: Kernel, case: Case, given: TensorMap, memory: Bytes, window: Bytes) -> None:
    """One copy; `memory` holds the bytes from the address of the map on, `window` is local memory."""
    asked = case["instruction"]
    operands = (*asked["coordinates"], *(asked["im2colOffsets"] or ()))
    made(given.bind(memory), *operands, window.view(np.int8))


def placed(content: Bytes, given: TensorMap) -> Bytes:
    """The bytes at an address that suits every map; zeros follow where the tensor is larger, which no copy reached."""
    size = max(len(content), tensor_bytes(given, store=True))
    room = np.zeros(size + 32, np.uint8)
    skip = -room.ctypes.data % 32
    room[skip : skip + len(content)] = content
    return room[skip : skip + size]


def check_load(target: str, case: Case, given: TensorMap, checks: str = "bounds") -> None:
    expected = case["expect"]
    memory = placed(global_memory(case["memory"]["globalPattern"], given.dtype), given)
    window = np.full(window_bytes(case, given), 0xCD, np.uint8)
    launch(kernel_of(target, case, given, checks), case, given, memory, window)
    size = expected["windowBytes"]
    assert np.array_equal(window[:size], arrays()[expected["imageKey"]])
    untouched = arrays()[expected["maskKey"]] == 0
    assert (window[:size][untouched] == 0xCD).all()


def check_store(target: str, case: Case, given: TensorMap, checks: str = "bounds") -> None:
    """As it was measured: a byte counts as written if it is the same over two backgrounds."""
    expected = case["expect"]
    window = shared_memory(case["memory"]["sharedPattern"], given.dtype)[: window_bytes(case, given)]
    memory = placed(global_memory(case["memory"]["globalPattern"], given.dtype), given)
    launch(kernel_of(target, case, given, checks), case, given, memory, window)
    size = expected["windowBytes"]
    assert np.array_equal(memory[:size], arrays()[expected["imageKey"]])
    if case["instruction"]["operation"] == "store":
        other = placed(np.full(len(memory), 0x32, np.uint8), given)
        launch(kernel_of(target, case, given, checks), case, given, other, window)
        assert np.array_equal((memory == other)[:size], arrays()[expected["maskKey"]] != 0)


def check(target: str, case: Case, checks: str = "bounds") -> None:
    """Whether a copy that succeeded was the same on a target."""
    given = map_of(case["tensorMap"])
    copy = check_load if case["instruction"]["operation"] == "load" else check_store
    copy(target, case, given, checks)


def cases(status: str) -> list[Case]:
    return [case for case in CASES if case["expect"]["status"] == status]
