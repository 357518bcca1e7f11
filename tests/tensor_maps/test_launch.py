"""Tensor maps as arguments: what a launch refuses, and in which words, on every target alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import girih
from girih.addressing import AddressingError, BoundTensorMap, TensorMap
from girih.addressing.tensor_map.bound import tensor_bytes
from girih.arguments.report import BIND_CODES
from tests.cases import every_case

TEXT = """
func @load(%A: tensor_map<f32,2,tiled>) {
    %t = alloca : memref<i8x1024,local>
    tensor_copy_load %A[0, 0], %t
}
func @box(%A: tensor_map<f32,2,tiled>) {
    %t = alloca {alignment=1024} : memref<f32x16x8,local>
    tensor_copy_load %A[0, 0], %t
}
func @store(%A: tensor_map<f32,2,tiled>) {
    %t = alloca {alignment=1024} : memref<i8x1024,local>
    %one = constant 1 : i8
    axpby %one, %t, %one, %t
    tensor_copy_store %t, %A[0, 0]
}
func @rows(%A: tensor_map<f32,2,tiled>) {
    %t = alloca {alignment=1024} : memref<i8x1024,local>
    tensor_copy_load.gather4 %A[0, 0, 0, 0, 0], %t
}
func @sum(%A: tensor_map<f32,2,tiled>) {
    %t = alloca {alignment=1024} : memref<i8x1024,local>
    tensor_copy_reduce.add %t, %A[0, 0]
}
func @column(%A: tensor_map<f32,3,im2col>) {
    %t = alloca {alignment=1024} : memref<i8x1024,local>
    tensor_copy_store.im2col %t, %A[0, 0, 0]
}
"""
PROGRAMS = {target: girih.loads(TEXT, target) for target in ("interpreter", "cpu")}


def matrix(columns: int = 16, rows: int = 8) -> np.ndarray[Any, Any]:
    return np.zeros((rows, columns), np.float32)


def bound(array: np.ndarray[Any, Any], box: tuple[int, ...] = (16, 8), **options: Any) -> BoundTensorMap:
    return TensorMap.of(array, box, **options).bind(array)


def column(lower: int = 0) -> BoundTensorMap:
    array = np.zeros((2, 8, 16), np.float32)
    given = TensorMap.im2col(
        dtype="f32",
        global_dim=(16, 8, 2),
        global_strides=(64, 512),
        lower_corner=[lower],
        upper_corner=[0],
        channels_per_pixel=16,
        pixels_per_column=4,
    )
    return given.bind(array)


def resized() -> BoundTensorMap:
    array = np.zeros(128, np.float32)
    made = TensorMap.of(matrix(), (16, 8)).bind(array)
    array.resize(16, refcheck=False)
    return made


READ_ONLY = matrix()
READ_ONLY.flags.writeable = False
# A row of 20 bytes in a pitch of 32: stores touch 32 of the last row, and the array ends before.
SHORT = np.lib.stride_tricks.as_strided(np.zeros(61, np.float32), (8, 5), (32, 4), writeable=True)

Argument = Callable[[], object]
REFUSED: dict[str, tuple[str, str, Argument, tuple[str, ...]]] = {
    "unbound": ("load", "bind.map", lambda: TensorMap.of(matrix(), (16, 8)), ("A.bind(array)",)),
    "array": ("load", "bind.map", matrix, ("TensorMap.of(A, box).bind(A)",)),
    "other": ("load", "bind.map", lambda: 3, ("got int", "TensorMap.of(array, box).bind(array)")),
    "none": ("load", "bind.null", lambda: None, ("bound tensor map",)),
    "mode": ("column", "bind.map_mode", lambda: bound(np.zeros((2, 8, 16), np.float32), (16, 8, 1)), ("im2col mode",)),
    "rank": (
        "load",
        "bind.map_rank",
        lambda: bound(np.zeros((2, 8, 16), np.float32), (16, 8, 1)),
        ("tensor_map<f32,3,tiled>",),
    ),
    "type": (
        "load",
        "bind.map_type",
        lambda: bound(np.zeros((8, 16), np.int32)),
        ("s32", "declare the parameter with i32"),
    ),
    "read-only": ("store", "bind.read_only", lambda: bound(READ_ONLY), ("read-only",)),
    "resized": ("load", "bind.map_memory", lambda: resized(), ("reaches over 512 bytes", "holds only 64", "bind")),
    "padding": ("store", "bind.map_memory", lambda: bound(SHORT, (8, 8)), ("256 bytes", "holds 244")),
    "reduction": ("sum", "bind.map_copy", lambda: bound(matrix(), dtype="tf32"), ("no add of tf32", "reduction_type")),
    "gather": (
        "rows",
        "bind.map_copy",
        lambda: bound(matrix(), architecture="sm_100a"),
        ("rows are taken one by one", "gather_box"),
    ),
    "corner": ("column", "bind.map_copy", lambda: column(-1), ("pixel box leaves the tensor",)),
    "small": (
        "load",
        "bind.map_local",
        lambda: bound(np.zeros((16, 32), np.float32), (32, 16)),
        ("2048 bytes", "i8x2048"),
    ),
    "shape": ("box", "bind.map_local", lambda: bound(matrix(), (8, 8)), ("8x8 elements", "memref<f32x8x8,local>")),
    "gaps": ("box", "bind.map_local", lambda: bound(matrix(), (8, 8), swizzle="64B"), ("gaps", "memref<i8x512,local>")),
    "swizzle": (
        "load",
        "bind.map_alignment",
        lambda: bound(matrix(), (8, 8), swizzle="128B"),
        ("modulo 1024", "alignment=1024"),
    ),
}
"""The function, the code, the argument, and words of the message and hint, of launches that are refused."""


def test_what_is_rejected_says_what_to_write() -> None:
    bytes_or_box = "use bytes, memref<i8xBYTES,local>, or a memref of f32 with the sizes of the box"
    cases = {
        ("f32,2,tiled", "%A[0, 0], %h"): bytes_or_box,
        ("f32,2,tiled", "%A[0, 0], %g"): bytes_or_box,
        ("f32,3,tiled", ".gather4 %A[0, 0, 0, 0, 0], %t"): "declare the map as tensor_map<f32,2,tiled>",
        ("f8e4m3,2,tiled", "%A[0, 0], %g"): "i8 has the width of f8e4m3",
    }
    with every_case() as case:
        for (type, copy), hint in cases.items():
            with case(copy):
                text = f"""func @f(%A: tensor_map<{type}>) {{
    %t = alloca : memref<f32x4x4,local>
    %h = alloca : memref<f16x4x2,local>
    %g = alloca : memref<i8x4x2,local>
    tensor_copy_load{copy if copy[0] == "." else " " + copy}
}}"""
                with pytest.raises(girih.CompileError) as caught:
                    girih.loads(text)
                assert hint in str(caught.value.diagnostics[0].hint)


@pytest.mark.parametrize("target", PROGRAMS)
def test_what_is_refused(target: str) -> None:
    with every_case() as case:
        for name, (function, code, argument, words) in REFUSED.items():
            with case(name):
                with pytest.raises(girih.LaunchError) as caught:
                    PROGRAMS[target][function](argument())
                (found,) = {d.code: d for d in caught.value.diagnostics}.values()
                assert found.code == code, found.render()
                assert all(word in f"{found.message} {found.hint}" for word in words), found.render()
                in_program = code in ("bind.map_copy", "bind.map_local", "bind.map_alignment")
                assert found.span.text.startswith("tensor_copy" if in_program else "%A"), found.span.text
    assert {code for _, code, _, _ in REFUSED.values()} >= {code for code in BIND_CODES if code.startswith("bind.map")}


def test_what_does_not_bind() -> None:
    given = TensorMap.of(matrix(), (16, 8))
    cases: dict[str, Any] = {
        "tensor_map.bound_array": [[[0.0]]],
        "tensor_map.bound_type": np.zeros((8, 16), np.float64),
        "tensor_map.bound_layout": matrix(32)[:, ::2],
        "tensor_map.bound_layout 2": np.asfortranarray(matrix()),
        "tensor_map.bound_array 2": np.ma.array(matrix()),
        "tensor_map.bound_size": matrix(rows=7),
        "tensor_map.address_aligned": np.zeros(129, np.float32)[1:],
    }
    with every_case() as case:
        for rule, array in cases.items():
            with case(rule):
                with pytest.raises(AddressingError) as caught:
                    given.bind(array)
                assert [v.rule for v in caught.value.violations] == [rule.partition(" ")[0]]


def test_what_binds() -> None:
    """Rows with gaps, bytes in place of elements, and what stores touch behind the last row."""
    wide = matrix(32)
    given = TensorMap.of(wide[:, :5], (8, 8))
    assert tensor_bytes(given) == 7 * 128 + 20
    assert tensor_bytes(given, store=True) == 7 * 128 + 32
    made = given.bind(wide[:, :5])
    assert made.memory().size == 916 and not made.memory().flags.writeable
    made.memory(store=True)[-1] = 255
    assert wide.view(np.uint8)[7, 31] == 255
    assert given.bind(wide.view(np.uint8).reshape(-1)).writable
    modes = np.zeros((16, 8), np.float32, order="F")
    assert TensorMap.of(matrix(), (16, 8)).bind(modes).memory().size == modes.nbytes
    assert "bound to an array of float32, shape (8, 5)" in repr(made)
