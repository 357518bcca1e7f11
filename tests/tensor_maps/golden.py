"""The tensor copies that were measured on an NVIDIA H200, as programs: the same map, operands and memory."""

from __future__ import annotations

from collections.abc import Callable
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


Launch = Callable[..., object]
Make = Callable[[str], Launch]
"""What makes a text with one kernel ready to be launched with the kernel's arguments."""


def target(name: str, checks: str = "bounds") -> Make:
    """Kernels for a target of the table."""
    return lambda text: _loaded(name, checks, text)


@cache
def _loaded(name: str, checks: str, text: str) -> Kernel:
    return girih.loads(text, name, checks=checks)["copy"]


@cache
def program(operation: str, type: str, rank: int, mode: str, offset: int, size: int) -> str:
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
    return f"""
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


def program_of(case: Case, given: TensorMap) -> str:
    """The program of a case."""
    asked = case["instruction"]
    offset, size = asked["sharedOffset"], window_bytes(case, given)
    return program(asked["operation"], number_type(given), given.rank, given.mode, offset, size)


def window_bytes(case: Case, given: TensorMap) -> int:
    """The bytes of local memory, of which the measured window is the beginning: a power of two."""
    measured = case["expect"].get("windowBytes", 0) if case["instruction"]["operation"] == "load" else 0
    needed = max(measured, case["instruction"]["sharedOffset"] + given.image_bytes + 128)
    return 1 << int(needed - 1).bit_length()


def launch(made: Launch, case: Case, given: TensorMap, memory: Bytes, window: Bytes) -> None:
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


def check_load(make: Make, case: Case, given: TensorMap) -> None:
    expected = case["expect"]
    memory = placed(global_memory(case["memory"]["globalPattern"], given.dtype), given)
    window = np.full(window_bytes(case, given), 0xCD, np.uint8)
    launch(make(program_of(case, given)), case, given, memory, window)
    size = expected["windowBytes"]
    assert np.array_equal(window[:size], arrays()[expected["imageKey"]])
    untouched = arrays()[expected["maskKey"]] == 0
    assert (window[:size][untouched] == 0xCD).all()


def check_store(make: Make, case: Case, given: TensorMap) -> None:
    """As it was measured: a byte counts as written if it is the same over two backgrounds."""
    expected = case["expect"]
    window = shared_memory(case["memory"]["sharedPattern"], given.dtype)[: window_bytes(case, given)]
    memory = placed(global_memory(case["memory"]["globalPattern"], given.dtype), given)
    launch(make(program_of(case, given)), case, given, memory, window)
    size = expected["windowBytes"]
    assert np.array_equal(memory[:size], arrays()[expected["imageKey"]])
    if case["instruction"]["operation"] == "store":
        other = placed(np.full(len(memory), 0x32, np.uint8), given)
        launch(make(program_of(case, given)), case, given, other, window)
        assert np.array_equal((memory == other)[:size], arrays()[expected["maskKey"]] != 0)


def check(make: Make, case: Case) -> None:
    """Whether a copy that succeeded was the same on a target."""
    given = map_of(case["tensorMap"])
    copy = check_load if case["instruction"]["operation"] == "load" else check_store
    copy(make, case, given)


def cases(status: str) -> list[Case]:
    return [case for case in CASES if case["expect"]["status"] == status]
