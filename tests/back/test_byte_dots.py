"""Rows of bytes times a column, which are dot products, with and without instructions for them."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from girih.back.llvm.assemble.assembler import Cpu
from tests.cases import long

TEXT = """
$rows = 16
$depth = 32

func @product(%A: memref<i8x?x?>, %x: memref<i8x?>, %y: memref<i32x?>, %z: memref<i32x?>)
        attributes {subgroup_size=8, work_group_size=[8, 1]} {
    %zero = constant 0 : index
    %one = constant 1 : index
    %columns = size %x[0] : index
    %rows = size %y[0] : index
    %x_column = expand %x[0 -> %columns x 1] : memref<i8x?x1>
    %y_column = expand %y[0 -> %rows x 1] : memref<i32x?x1>
    %z_column = expand %z[0 -> %rows x 1] : memref<i32x?x1>
    parallel {
        %a = cooperative_matrix_load.t.rows_checked %A[%zero, %one] : coopmatrix<i8 x $rows x $depth, matrix_a>
        %b = cooperative_matrix_load %x_column[%zero, %zero] : coopmatrix<i8 x $depth x 1, matrix_b>
        %c = cooperative_matrix_load.rows_checked %y_column[%zero, %zero] : coopmatrix<i32 x $rows x 1, matrix_acc>
        %sum = cooperative_matrix_mul_add %a, %b, %c : coopmatrix<i32 x $rows x 1, matrix_acc>
        cooperative_matrix_store.rows_checked %sum, %y_column[%zero, %zero]

        %more = cooperative_matrix_load.t.rows_checked %A[%zero, %one] : coopmatrix<i8 x $rows x $depth, matrix_a>
        %mask = constant 90 : coopmatrix<i8 x $rows x $depth, matrix_a>
        %low = and %more, %mask : coopmatrix<i8 x $rows x $depth, matrix_a>
        %stepped = sub %low, %more : coopmatrix<i8 x $rows x $depth, matrix_a>
        %nothing = constant 0 : coopmatrix<i32 x $rows x 1, matrix_acc>
        %other = cooperative_matrix_mul_add %stepped, %b, %nothing : coopmatrix<i32 x $rows x 1, matrix_acc>
        cooperative_matrix_store.rows_checked %other, %z_column[%zero, %zero]
    }
}
"""
PROCESSORS = ["cpu", "cpu:haswell", "cpu:x86-64", "cpu:skylake-avx512"]
SHAPES = [(8, 8, 16), (7, 8, 32), (16, 16, 32), (17, 24, 64), (24, 24, 48), (40, 40, 24), (8, 8, 7)]
LARGE = [(40, 40, 256), (1, 8, 1024), (64, 64, 128)]
"""The rows that there are, those of the matrix, and the depth."""


@pytest.mark.parametrize(("processor", "shapes"), [("cpu", SHAPES), *long((p, SHAPES + LARGE) for p in PROCESSORS)])
def test_rows_of_bytes_times_a_column(processor: str, shapes: list[tuple[int, int, int]]) -> None:
    lacking = Cpu.named(processor.removeprefix("cpu:")).missing_on(Cpu.host()) if processor != "cpu" else ()
    if lacking:
        pytest.skip(f"this machine lacks {', '.join(lacking)}")
    source = np.random.default_rng(0)
    for there, rows, depth in shapes:
        a = np.asfortranarray(source.integers(-128, 128, (depth, there + 1), np.int8))
        x, y = source.integers(-128, 128, depth, np.int8), source.integers(-(2**31), 2**31, there, np.int32)
        # The lowest bytes on both sides.
        a[:, -1] = x[: depth // 2] = -128
        z, wide = np.zeros_like(y), a[:, 1:].astype(np.int64).T
        expected = (y + wide @ x).astype(np.int32)
        girih.loads(TEXT, target=processor, definitions={"rows": rows, "depth": depth})["product"][1](a, x, y, z)
        np.testing.assert_array_equal(y, expected)
        np.testing.assert_array_equal(z, ((wide & 90) - wide).astype(np.int8).astype(np.int64) @ x)


@pytest.mark.parametrize("name", ["neoverse-n1", "cortex-a72", "alderlake", "cascadelake", "x86-64"])
def test_the_instruction_for_bytes_is_used_where_it_is(name: str) -> None:
    words = {"neoverse-n1": "sdot", "cortex-a72": "smull", "alderlake": "{vex}\tvpdpbusd", "cascadelake": "vpdpbusd",
             "x86-64": "pmaddwd"}  # fmt: skip
    assert words[name] in girih.loads(TEXT, target=f"cpu:{name}")["product"].assembly
