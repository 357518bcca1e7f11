"""Tensor maps as arguments of launches on a driver made of Python: encoded, passed, copied there and back."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from girih.addressing import TensorMap
from tests.runtime.cuda.conftest import install
from tests.runtime.cuda.fake import FakeDriver, FakeGpu
from tests.runtime.cuda.test_cuda_launch import kernel

MOVE = """
func @move(%A: tensor_map<f32,2,tiled>, %scale: f32, %B: tensor_map<f32,2,tiled>, %C: memref<f32x?x?>)
        attributes {work_group_size=[32,1], subgroup_size=32, grid=[4,1,1]} {
    %zero = constant 0.0 : f32
    %rows = constant 4 : index
    %group = group_id.x : index
    %row = mul %group, %rows : index
    %box = alloca : memref<f32x8x4,local>
    %out = alloca : memref<f32x8x4,local>
    tensor_copy_load %A[8,%row], %box
    axpby %scale, %box, %zero, %out
    tensor_copy_store %out, %B[0,%row]
}
"""

COLUMN = """
func @column(%A: tensor_map<f32,3,im2col>, %B: tensor_map<f32,3,im2col>)
        attributes {work_group_size=[32,1], subgroup_size=32} {
    %box = alloca : memref<f32x4x2,local>
    tensor_copy_load.im2col %A[0,0,0], [1], %box
    barrier.local
    tensor_copy_store.im2col %box, %B[0,0,0]
}
"""

ROWS = """
func @rows(%A: tensor_map<f32,2,tiled>, %B: tensor_map<f32,2,tiled>)
        attributes {work_group_size=[32,1], subgroup_size=32} {
    %box = alloca {alignment=1024} : memref<i8x512,local>
    tensor_copy_load %A[0,4], %box
    barrier.local
    tensor_copy_store %box, %B[8,0]
}
"""


def matrix() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.arange(256, dtype=np.float32).reshape(16, 16)


def test_boxes_of_arrays_of_the_host(fake: FakeDriver) -> None:
    """Two maps of one array: what lies between boxes stays, and the launch needs no memory for maps."""
    array, other = matrix(), np.zeros((3, 5), np.float32, order="F")
    given = TensorMap.of(array, (8, 4)).bind(array)
    kernel(MOVE)(given, 2.0, given, other)
    assert np.array_equal(array[:, :8], 2 * matrix()[:, 8:]) and np.array_equal(array[:, 8:], matrix()[:, 8:])
    assert len(fake.maps) == 2
    assert [one.tensor_map for one in fake.maps.values()] == [given.tensor_map] * 2


def test_columns_of_pixels(fake: FakeDriver) -> None:
    pixels, out = np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.zeros((2, 3, 4), np.float32)

    def bound(array: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> object:
        made = TensorMap.im2col(
            dtype="f32",
            global_dim=(4, 3, 2),
            global_strides=(16, 48),
            lower_corner=[0],
            upper_corner=[0],
            channels_per_pixel=4,
            pixels_per_column=2,
        )
        return made.bind(array)

    kernel(COLUMN)(bound(pixels), bound(out))
    assert np.array_equal(out[0, :2], pixels[0, 1:])
    assert not out[0, 2].any() and not out[1].any()


@pytest.mark.parametrize(("capability", "count"), [((9, 0), 0), ((8, 0), 0), ((10, 0), 2)])
def test_maps_that_the_engine_does_not_know_are_computed(
    capability: tuple[int, int], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A swizzle of Blackwell: its driver encodes the map, elsewhere all threads make the copies."""
    fake = install(FakeDriver(FakeGpu(capability=capability)), monkeypatch)
    array = matrix()
    given = TensorMap.of(array, (8, 4), swizzle="128B_atom_32B", architecture="sm_100a").bind(array)
    kernel(ROWS)(given, given)
    expected = matrix()
    expected[:4, 8:] = matrix()[4:8, :8]
    assert np.array_equal(array, expected)
    assert len(fake.maps) == count


def test_a_finding_leaves_the_tensor_as_it_was(fake: FakeDriver) -> None:
    array = matrix()
    given = TensorMap.of(array, (8, 4)).bind(array)
    for checks in ("bounds", "off"):
        one = girih.loads(MOVE.replace("%A[8,", "%A[9,"), "cuda", checks=checks)["move"]
        with pytest.raises(girih.KernelError) as caught:
            one(given, 2.0, given, np.zeros((1, 1), np.float32))
        assert {found.code for found in caught.value.findings} == {"run.tensor_copy"}
        assert np.array_equal(array, matrix())


def test_a_map_that_the_driver_refuses(fake: FakeDriver) -> None:
    array = matrix()
    given = TensorMap.of(array, (8, 4)).bind(array)
    one = kernel(MOVE)
    fake.failing["cuGetProcAddress"] = fake.CUresult.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(girih.LaunchError) as caught:
        one(given, 2.0, given, np.zeros((1, 1), np.float32))
    assert {problem.code for problem in caught.value.diagnostics} == {"run.cuda_refused"}
