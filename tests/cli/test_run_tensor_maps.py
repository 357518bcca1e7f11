"""`girih run` with tensor maps as arguments."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.cases import every_case
from tests.cli.helpers import girih, write

TEXT = """
func @mirror(%A: tensor_map<f32,2,tiled>, %B: tensor_map<f32,2,tiled>) {
    %t = alloca {alignment=256} : memref<f32x8x4,local>
    tensor_copy_load %A[0, 2], %t
    barrier.local
    tensor_copy_store %t, %B[8, 0]
}
func @column(%A: tensor_map<i32,3,im2col>, %x: memref<i32x4x2>) {
    %one = constant 1 : i32
    %zero = constant 0 : i32
    %t = alloca : memref<i32x4x2,local>
    tensor_copy_load.im2col %A[0, -1, 0], [0], %t
    axpby %one, %t, %zero, %x
}
"""


def test_a_box_of_an_array_goes_to_another(tmp_path: Path) -> None:
    file = write(tmp_path, TEXT)
    a = np.arange(60, dtype=np.float32).reshape(6, 10)
    np.save(tmp_path / "a.npy", a)
    maps = f"A=tiled:{tmp_path}/a.npy:box=8x4:swizzle=32B", "B=tiled:zeros:f32:5x18:box=8x4:swizzle=32B"
    done = girih("run", file, "mirror", *maps, "--save", f"B={tmp_path}/b.npy")
    assert done.status == 0, done.errors
    wanted = np.zeros((5, 18), np.float32)
    wanted[:4, 8:16] = a[2:6, :8]
    assert np.array_equal(np.load(tmp_path / "b.npy"), wanted)
    assert "tensor_map<f32,2,tiled>  float32 5x18" in done.output


def test_a_column_of_pixels(tmp_path: Path) -> None:
    options = "lower=-1:upper=-1:channels=4:pixels=2"
    x = tmp_path / "x.npy"
    call = "run", write(tmp_path, TEXT), "column", f"A=im2col:ones:i32:1x2x4:{options}", "x=zeros", "--save", f"x={x}"
    assert girih(*call).status == 0
    assert np.load(x).tolist() == [[0, 1]] * 4


def test_wrong_maps_are_told(tmp_path: Path) -> None:
    file = write(tmp_path, TEXT)
    wrong = {
        "A=3": "takes a tensor map, as in A=tiled:A.npy:box=64x16",
        "A=tiled:box=8x4": "an array behind the mode",
        "A=tiled:zeros:f32:box=8x4": "leaves the shape open",
        "A=tiled:zeros:f32:4x8": "needs the options box",
        "A=tiled:zeros:f32:4x8:bx=8x4": "did you mean box?",
        "A=tiled:zeros:f32:4x8:box=8y4": "box=8y4 is not numbers",
        "A=tiled:zeros:f32:4x8:box=": "is not NAME=VALUE",
        "A=tiled:zeros:f32:4x8:box=6x4": "not a multiple of 16",
    }
    with every_case() as case:
        for text, words in wrong.items():
            with case(text):
                done = girih("run", file, "mirror", text, "B=tiled:zeros:f32:4x8:box=8x4")
                assert done.status == 2
                assert words in done.message, done.message
