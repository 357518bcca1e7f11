"""When tensor copies are seen, what they leave alone, and what a launch leaves as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.addressing import BoundTensorMap, TensorMap
from girih.arguments.memory import Memory

Array = NDArray[Any]
SEEDS = range(12)

TEXT = """
func @early(%A: tensor_map<i32,1,tiled>, %B: memref<i32>, %wait: bool) {
    %t = alloca : memref<i32x4,local>
    tensor_copy_load %A[0], %t
    if %wait {
        barrier.local
    }
    %x = load %t[2] : i32
    store %x, %B[]
}
func @shared(%A: tensor_map<i32,1,tiled>, %V: memref<i32x?>, %B: memref<i32>) {
    %t = alloca : memref<i32x4,local>
    %seven = constant 7 : i32
    %c0 = constant 0 : index
    %c4 = constant 4 : index
    foreach (%i)=(%c0),(%c4) {
        store %seven, %t[%i]
    }
    tensor_copy_store %t, %A[4]
    barrier.global
    %x = load %V[6] : i32
    store %x, %B[]
}
func @fails(%A: tensor_map<i32,1,tiled>, %i: index) {
    %t = alloca : memref<i32x4,local>
    tensor_copy_load %A[0], %t
    barrier.global.local
    tensor_copy_reduce.add %t, %A[0]
    barrier.global
    tensor_copy_store %t, %A[%i]
}
func @padding(%A: tensor_map<i8,2,tiled>, %k: index, %B: memref<i8>) {
    %t = alloca : memref<i8x128,local>
    %zero = constant 0 : i8
    %c0 = constant 0 : index
    %c128 = constant 128 : index
    foreach (%i)=(%c0),(%c128) {
        store %zero, %t[%i]
    }
    tensor_copy_load %A[0, 0], %t
    barrier.local
    %x = load %t[%k] : i8
    store %x, %B[]
}
func @transposed(%A: tensor_map<f32,2,tiled>, %B: memref<f32x?x?>) {
    %x = group_id.x : index
    %y = group_id.y : index
    %c8 = constant 8 : index
    %i = mul %x, %c8 : index
    %j = mul %y, %c8 : index
    %one = constant 1.0 : f32
    %zero = constant 0.0 : f32
    %t = alloca : memref<f32x8x8,local>
    tensor_copy_load %A[%i, %j], %t
    %part = subview %B[%j:8, %i:8] : memref<f32x8x8,strided<1,?>>
    axpby.t %one, %t, %zero, %part
}
"""
PROGRAMS = {target: girih.loads(TEXT, target) for target in ("interpreter", "cpu")}


def row(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


def bound(array: Array, *box: int) -> BoundTensorMap:
    return TensorMap.of(array, box).bind(array)


def test_a_copy_is_seen_after_the_next_barrier_and_perhaps_not_before() -> None:
    early = set()
    for seed in SEEDS:
        made = PROGRAMS["interpreter"]["early"].options(choices=girih.Choices(seed), races=False)
        result = np.zeros((), np.int32)
        made(bound(row(1, 2, 3, 4), 4), result, True)
        assert result[()] == 3
        try:
            made(bound(row(1, 2, 3, 4), 4), result, False)
            early.add("copied")
        except girih.KernelError as error:
            early.update(found.code for found in error.findings)
    assert early == {"copied", "run.uninitialized"}


@pytest.mark.parametrize("target", PROGRAMS)
def test_a_map_and_a_memref_of_one_array_share_its_memory(target: str) -> None:
    array, result = np.arange(8, dtype=np.int32), np.zeros((), np.int32)
    PROGRAMS[target]["shared"](bound(array, 4), array, result)
    assert result[()] == 7
    assert array.tolist() == [0, 1, 2, 3, 7, 7, 7, 7]


@pytest.mark.parametrize("target", PROGRAMS)
def test_one_map_of_several_arrays(target: str) -> None:
    given, result = TensorMap.of(row(0, 0, 0, 0), (4,)), np.zeros((), np.int32)
    arrays = [row(0, 0, n, 0) for n in (5, 6, 7)]
    for array in (*arrays, arrays[0]):
        PROGRAMS[target]["early"](given.bind(array), result, True)
        assert result[()] == array[2]


def test_a_failed_launch_leaves_the_array_as_it_was() -> None:
    array = row(1, 2, 3, 4)
    with pytest.raises(girih.KernelError):
        PROGRAMS["interpreter"]["fails"](bound(array, 4), -4)
    assert array.tolist() == [1, 2, 3, 4]
    PROGRAMS["interpreter"]["fails"](bound(array, 4), 0)
    assert array.tolist() == [1, 2, 3, 4]


def test_what_was_never_written_is_not_copied() -> None:
    with pytest.raises(girih.KernelError) as caught:
        PROGRAMS["interpreter"]["early"](girih.uninitialized(bound(row(1, 2, 3, 4), 4)), np.zeros((), np.int32), True)
    assert {found.code for found in caught.value.findings} == {"run.uninitialized"}


def test_padding_of_packed_elements_is_undefined() -> None:
    packed = np.arange(64, dtype=np.uint8).reshape(1, 64)
    given = TensorMap.tiled(
        dtype="b4x16_p64", global_dim=(128, 1), global_strides=(64,), box_dim=(128, 1), architecture="sm_100a"
    )
    result = np.zeros((), np.int8)
    PROGRAMS["interpreter"]["padding"](given.bind(aligned(packed)), 16 + 3, result)
    assert result[()] == 8 + 3
    with pytest.raises(girih.KernelError) as caught:
        PROGRAMS["interpreter"]["padding"](given.bind(aligned(packed)), 16 + 8, result)
    assert [found.code for found in caught.value.findings] == ["run.uninitialized"]


def aligned(array: Array) -> Array:
    """The array at a multiple of 32 bytes."""
    room = np.zeros(array.nbytes + 32, np.uint8)
    skip = -room.ctypes.data % 32
    moved = room[skip : skip + array.nbytes].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


@pytest.mark.parametrize("target", PROGRAMS)
def test_many_work_groups_copy_boxes_of_their_own(target: str) -> None:
    array = np.arange(256 * 512, dtype=np.float32).reshape(256, 512)
    result = np.zeros((256, 512), np.float32, order="F")
    PROGRAMS[target]["transposed"][64, 32](bound(array, 8, 8), result)
    assert np.array_equal(result, array)


def test_without_checks_nothing_outside_the_tensor_is_touched() -> None:
    room = np.zeros((3, 64), np.int32)
    unchecked = girih.loads(TEXT, "cpu", checks="off")
    for start in (-4, -3, 2, 2**31, -(2**62)):
        room[...] = 5
        room[1, :4] = (1, 2, 3, 4)
        unchecked["fails"](bound(room[1, :4], 4), start)
        assert (room[[0, 2]] == 5).all() and (room[1, 4:] == 5).all(), start


def test_bytes_that_become_undefined_can_be_written_again() -> None:
    memory = Memory(np.zeros(4, np.uint8), np.zeros(4, np.bool_), "m")
    every = np.arange(4)
    memory.mark_bytes(every)
    assert memory.unwritten_bytes(every) is None
    memory.forget(every[1:2])
    missing = memory.unwritten_bytes(every)
    assert missing is not None and missing.tolist() == [False, True, False, False]
    memory.mark_bytes(every)
    assert memory.unwritten_bytes(every) is None
