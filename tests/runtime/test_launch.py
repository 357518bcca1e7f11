"""What a launch refuses as a whole, beyond its arguments one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import girih
from girih.api import Kernel
from girih.arguments import arrays
from girih.arguments.brackets import normalized_grid
from girih.interpreter.machine import machine

COPY = "func @f(%A: memref<f32x?>) attributes {subgroup_size=8, work_group_size=[8, 1]} {}"
WRITES_GROUP = """
func @f(%G: group<memref<f32x4>x?>, %A: memref<f32x4>) {
  %zero = constant 0 : index
  %one = constant 1.0 : f32
  %m = load %G[%zero] : memref<f32x4>
  axpby %one, %A, %one, %m
}"""
NO_SIZE = """
func @f() {
  parallel {
    %m = constant 1.0 : coopmatrix<f32x12x4,matrix_acc>
    %r = cooperative_matrix_reduce_add.row %m : coopmatrix<f32x12x1,matrix_acc>
  }
}"""


def compiled(text: str) -> Kernel:
    return girih.loads(text, target="interpreter")["f"]


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(girih.LaunchError) as caught:
        call()
    (found,) = caught.value.diagnostics
    return found.code


@pytest.mark.parametrize("grid", [-1, (1, -2), (), (1, 2, 3, 4), 2**31, True, 1.5, "3", (1, None)])
def test_a_grid_that_is_none(grid: Any) -> None:
    kernel = compiled(COPY)
    assert code_of(lambda: kernel[grid]) == "bind.grid"


def test_grids_as_they_are_given() -> None:
    sizes: Any = (np.int32(2), np.uint8(3))
    assert normalized_grid(sizes) == (2, 3, 1)
    assert normalized_grid(5) == (5, 1, 1)
    assert normalized_grid((1, 2, 0)) == (1, 2, 0)


def test_no_subgroup_size_suits() -> None:
    assert code_of(compiled(NO_SIZE)) == "bind.subgroup_size"


def test_memory_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise MemoryError

    kernel, array = compiled(COPY), np.ones(4, np.float32)
    with monkeypatch.context() as patch:
        patch.setattr(machine.Machine, "run", full)
        assert code_of(lambda: kernel(array)) == "bind.memory"
    with monkeypatch.context() as patch:
        patch.setattr(arrays, "allocate", full)
        assert code_of(lambda: kernel(array)) == "bind.memory"
    assert array.tolist() == [1] * 4


def test_local_memory_that_no_machine_has() -> None:
    kernel = compiled("func @f() {\n %t = alloca : memref<f16x4x4,strided<1,4611686018427387904>,local>\n}")
    assert code_of(kernel) == "bind.memory"


def test_a_defect_of_the_machine_is_called_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(machine.Machine, "run", broken)
    with pytest.raises(girih.InternalError, match="oops"):
        compiled(COPY)(np.ones(4, np.float32))


def test_members_that_overlap_what_is_written() -> None:
    kernel, room = compiled(WRITES_GROUP), np.zeros(12, np.float32)
    assert code_of(lambda: kernel([room[:4], room[2:6]], np.ones(4, np.float32))) == "bind.overlap"
    assert code_of(lambda: kernel([room[:4], room[:4]], np.ones(4, np.float32))) == "bind.overlap"
    assert code_of(lambda: kernel([room[:4], room[4:8]], room[3:7])) == "bind.overlap"
    assert not room.any()
    kernel([room[:4], room[4:8]], room[8:])
    kernel([room[:4]], np.ones(4, np.float32))
    assert room.tolist() == [1] * 4 + [0] * 8


def test_arguments_that_overlap_beside_a_group_that_does_not() -> None:
    text = WRITES_GROUP.replace("%A: memref<f32x4>", "%A: memref<f32x4>, %B: memref<f32x4>").replace(
        "axpby %one, %A, %one, %m",
        "axpby %one, %A, %one, %m\n  store %one, %B[0]\n  %x = load %A[2] : f32\n  store %x, %B[3]",
    )
    member, room = np.zeros(4, np.float32), np.arange(6, dtype=np.float32)
    compiled(text)([member], room[:4], room[2:])
    assert member.tolist() == [0, 1, 2, 3]
    assert room.tolist() == [0, 1, 1, 3, 4, 1]


def test_an_array_may_be_several_members_that_are_only_read() -> None:
    text = WRITES_GROUP.replace("axpby %one, %A, %one, %m", "axpby %one, %m, %one, %A")
    member, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    compiled(text)([member, member, member[:]], out)
    assert out.tolist() == [0, 1, 2, 3]
    assert code_of(lambda: compiled(text)([out, member], out)) == "bind.overlap"
