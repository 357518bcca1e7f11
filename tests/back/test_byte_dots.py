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


HALVES = """
func @halves(%A: memref<i8x16x?>, %x: memref<i8x16x2>, %y: memref<i32x16>)
        attributes {subgroup_size=16, work_group_size=[16, 1]} {
    %zero = constant 0 : index
    %one = constant 1 : index
    %y_column = expand %y[0 -> 16 x 1] : memref<i32x16x1>
    parallel {
        %both = cooperative_matrix_load.t %A[%zero, %zero] : coopmatrix<i8x16x16,matrix_a>
        %mask = constant 15 : coopmatrix<i8x16x16,matrix_a>
        %low = and %both, %mask : coopmatrix<i8x16x16,matrix_a>
        %rest = sub %both, %low : coopmatrix<i8x16x16,matrix_a>
        %first = cooperative_matrix_load %x[%zero, %zero] : coopmatrix<i8x16x1,matrix_b>
        %second = cooperative_matrix_load %x[%zero, %one] : coopmatrix<i8x16x1,matrix_b>
        %nothing = constant 0 : coopmatrix<i32x16x1,matrix_acc>
        %part = cooperative_matrix_mul_add %low, %first, %nothing : coopmatrix<i32x16x1,matrix_acc>
        %sum = cooperative_matrix_mul_add %rest, %second, %part : coopmatrix<i32x16x1,matrix_acc>
        cooperative_matrix_store %sum, %y_column[%zero, %zero]
        USE
    }
}
"""


@pytest.mark.parametrize("processor", ["cpu", *long(PROCESSORS[1:])])
def test_products_that_follow_each_other(processor: str) -> None:
    """The second product goes on with the sums of the first one, whose numbers may be needed, too."""
    source = np.random.default_rng(1)
    a = np.asfortranarray(source.integers(-128, 128, (16, 16), np.int8))
    x = np.asfortranarray(source.integers(-128, 128, (16, 2), np.int8))
    wide, columns = a.astype(np.int32).T, x.astype(np.int32)
    part = (wide & 15) @ columns[:, 0]
    total = part + (wide - (wide & 15)) @ columns[:, 1]
    for use, expected in (("", total), ("cooperative_matrix_store %part, %y_column[%zero, %zero]", part)):
        y = np.zeros(16, np.int32)
        girih.loads(HALVES.replace("USE", use), target=processor)["halves"][1](a, x, y)
        np.testing.assert_array_equal(y, expected)


def test_products_with_a_matrix_read_it_once() -> None:
    """Both halves of the bytes are made of one load of each row, and the lanes of their sums are added up once."""
    assembly = girih.loads(HALVES.replace("USE", ""), target="cpu:cascadelake", checks="off")["halves"].assembly
    assert assembly.count("vpdpbusd") == 2 * (4 + 1)
    assert assembly.count("vshufps") == 6


@pytest.mark.parametrize("name", ["neoverse-n1", "cortex-a72", "alderlake", "cascadelake", "x86-64"])
def test_the_instruction_for_bytes_is_used_where_it_is(name: str) -> None:
    words = {"neoverse-n1": "sdot", "cortex-a72": "smull", "alderlake": "{vex}\tvpdpbusd", "cascadelake": "vpdpbusd",
             "x86-64": "pmaddwd"}  # fmt: skip
    assert words[name] in girih.loads(TEXT, target=f"cpu:{name}")["product"].assembly
