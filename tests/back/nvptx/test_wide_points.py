"""Points of a `foreach` that a thread computes several at a time: from any start, to any end, however far apart."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from tests.back.harness import Failed
from tests.back.nvptx.launch import PtxMachineKernel
from tests.cases import every_case

SHIFTED = """
func @shifted(%first: index, %end: index, %X: memref<f32x?>, %Y: memref<f32x?>)
        attributes {subgroup_size=32, work_group_size=[64,1]} {
    %two = constant 2.0 : f32
    foreach (%i) = (%first), (%end) {
        %x = load %X[%i] : f32
        %y = mul %two, %x : f32
        store %y, %Y[%i]
    }
}
"""
COUNT = 700
FAR = 2**62 + 2**61
"""The distance from this to its opposite is beyond the largest number."""

ENDS = ((0, COUNT), (1, COUNT), (4, COUNT - 1), (8, 264), (3, 4), (5, 5), (7, 3), (FAR, -FAR), (2**63 - 1, -(2**63)))


@pytest.mark.parametrize("checks", [True, False])
def test_points_from_any_start_to_any_end(checks: bool) -> None:
    (function,) = girih.parse(SHIFTED).functions
    kernel = PtxMachineKernel(function, checks=checks)
    room = np.zeros(2 * COUNT + 8, np.float32)
    begin = -room.ctypes.data // 4 % 4
    with every_case() as case:
        for first, end in ENDS:
            # Arrays that begin at a multiple of 16 bytes, one that does not, and both not.
            for shift_x, shift_y in ((0, 0), (1, 0), (1, 1)):
                with case(f"{first} to {end}, {shift_x} and {shift_y} elements on"):
                    x = room[begin + shift_x :][:COUNT]
                    y = np.full(COUNT + 4 + shift_y, -1, np.float32)
                    y = y[-y.ctypes.data // 4 % 4 + shift_y :][:COUNT]
                    x[:] = np.arange(COUNT)
                    wanted = np.full(COUNT, -1, np.float32)
                    if first < end:
                        wanted[first:end] = 2 * x[first:end]
                    kernel((1, 1, 1), first, end, x, y)
                    np.testing.assert_array_equal(y, wanted)


ENDLESS = """
func @endless(%first: index, %end: index, %X: memref<f32x4x4>) attributes {subgroup_size=32, work_group_size=[64,1]} {
    %zero = constant 0 : index
    %many = constant 64 : index
    %one = constant 1.0 : f32
    LOOP {
        store %one, %X[%i, %j]
    }
}
"""
LOOPS = {
    "foreach": "foreach (%i, %j) = (%zero, %first), (%many, %end)",
    "for": "%i = mul %zero, %many : index\n    for %j = %first, %end",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_more_points_than_can_be_counted_begin_all_the_same(loop: str) -> None:
    """The first one of each thread is outside, which is found."""
    (function,) = girih.parse(ENDLESS.replace("LOOP", LOOPS[loop])).functions
    x = np.zeros((4, 4), np.float32, order="F")
    with pytest.raises(Failed) as raised:
        PtxMachineKernel(function)((1, 1, 1), -(2**63), 2**63 - 1, x)
    assert raised.value.code == "run.out_of_bounds"


def test_the_middle_is_computed_in_pieces_of_16_bytes() -> None:
    (function,) = girih.parse(SHIFTED).functions
    kernel = PtxMachineKernel(function, checks=False)
    ptx = next(iter(kernel._made.values()))[0].ptx
    assert "ld.global.nc.v4.b32" in ptx
    assert "st.global.v4.b32" in ptx
