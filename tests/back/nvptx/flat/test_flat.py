"""Matrices of the work-group that no product takes: executed as PTX, against the interpreter, and what is remarked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import girih
from girih.back.llvm.nvptx.compile import compile_kernel
from girih.back.llvm.nvptx.flat.layout import Rectangle, rectangle_for
from girih.back.llvm.nvptx.machine.architecture import architecture_named
from girih.back.llvm.nvptx.machine.kernel import PtxKernel
from girih.ir.types import BF16, F32, CoopMatrix, MatrixScope, Use
from tests.back.harness import Failed, copy_of, same
from tests.back.nvptx.assembling import needs_ptxas, ptxas
from tests.back.nvptx.launch import PtxMachineKernel
from tests.kernels.arrays import random

SCHEDULES = ("together", "by_warp", "by_warp_reversed")
M, N = 24, 20
"""Rows and columns of the arrays, which are larger than tiles so that tiles may begin anywhere."""


def matrix(component: str, rows: int, columns: int) -> str:
    return f"coopmatrix<{component}x{rows}x{columns},matrix_acc,work_group>"


def program(
    body: str, *, items: int = 64, component: str = "f32", rows: int = M, columns: int = N, row: int = 0
) -> str:
    """A kernel that loads a tile %a of A, from `row` on, and stores %r, a tile like it, to B."""
    tile = matrix(component, rows, columns)
    memory = f"memref<{component}x?x?>"
    return f"""
func @f(%A: {memory}, %B: {memory}, %s: {component}, %n: index) attributes {{work_group_size=[{items}, 1]}} {{
    %zero = constant 0 : index
    %one = constant 1 : index
    %two = constant 2 : index
    %from = constant {row} : index
    parallel {{
        %a = cooperative_matrix_load.both_checked %A[%from, %zero] : {tile}
{body.replace("TILE", tile).replace("ROW", matrix(component, 1, columns)).replace("COLUMN", matrix(component, rows, 1))}
        cooperative_matrix_store.both_checked %r, %B[%from, %zero]
    }}
}}
"""


def check(text: str, *arrays: object, schedules: tuple[str, ...] = SCHEDULES, tolerance: float = 1e-6) -> None:
    """Compare what a kernel writes with what the interpreter does."""
    kernel = girih.loads(text, target="interpreter")["f"]
    expected = [copy_of(one) for one in arrays]
    kernel[1](*expected)
    compiled = PtxMachineKernel(kernel.ir)
    assert "cuda.flat" in {one.code for one in compiled.variant(next(iter(compiled._made)))[0].remarks}
    for schedule in schedules:
        found = [copy_of(one) for one in arrays]
        compiled((1, 1, 1), *found, schedule=schedule)
        for mine, wanted in zip(found, expected, strict=True):
            same(mine, wanted, tolerance)


def compiled(text: str, *, checks: bool = True) -> PtxKernel:
    function = girih.loads(text, target="interpreter")["f"].ir
    return compile_kernel(function, architecture_named("sm_90a"), checks=checks)


BODIES = {
    "binary": "%b = add %a, %a : TILE\n %c = mul %b, %a : TILE\n %r = sub %c, %b : TILE",
    "unary": "%r = neg %a : TILE",
    "constant": "%c = constant 2.5 : TILE\n %r = mul %a, %c : TILE",
    "construct": "%c = cooperative_matrix_construct %s : TILE\n %r = max %a, %c : TILE",
    "only equal numbers": "%c = cooperative_matrix_construct %s : TILE\n %r = add %c, %c : TILE",
    "scale": "%r = cooperative_matrix_scale %s, %a : TILE",
    "apply": """%r = cooperative_matrix_apply (%i, %j, %x) = %a -> TILE {
        %f = cast %i : f32
        %g = cast %j : f32
        %h = mul %f, %g : f32
        %y = add %h, %x : f32
        yield (%y)
    }""",
    "sum of columns": """%c = cooperative_matrix_reduce_add.column %a : ROW
    %r = cooperative_matrix_apply (%i, %j, %x, %y) = %a, %c -> TILE {
        %z = add %x, %y : f32
        yield (%z)
    }""",
    "maximum of rows": """%c = cooperative_matrix_reduce_max.row %a : COLUMN
    %r = cooperative_matrix_apply (%i, %j, %x, %y) = %a, %c -> TILE {
        %z = sub %x, %y : f32
        yield (%z)
    }""",
    "minimum of columns": """%c = cooperative_matrix_reduce_min.column %a : ROW
    %r = cooperative_matrix_apply (%i, %j, %x, %y) = %a, %c -> TILE {
        %z = sub %x, %y : f32
        yield (%z)
    }""",
    "loop": """%zeros = constant 0.0 : TILE
    %r = for %k = %zero, %n init (%t=%zeros) -> (TILE) {
        %u = add %t, %a : TILE
        %c = cooperative_matrix_reduce_add.column %u : ROW
        %h = constant 0.03125 : TILE
        %v = cooperative_matrix_apply (%i, %j, %x, %y, %w) = %u, %c, %h -> TILE {
            %g = mul %y, %w : f32
            %z = sub %x, %g : f32
            yield (%z)
        }
        yield (%v)
    }""",
    "branch": """%large = less_than %two, %n : bool
    %r = if %large -> (TILE) {
        %u = add %a, %a : TILE
        yield (%u)
    } else {
        %w = constant 1.0 : TILE
        yield (%w)
    }""",
    "store of a row": """%c = cooperative_matrix_reduce_add.column %a : ROW
    cooperative_matrix_store.cols_checked %c, %B[%zero, %zero]
    %r = neg %a : TILE""",
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("items", [32, 64, 256])
def test_instructions_compute_as_on_the_interpreter(name: str, items: int) -> None:
    row = 1 if name == "store of a row" else 0
    text = program(BODIES[name], items=items, row=row)
    check(text, random("f32", M, N), random("f32", M + 1, N), 1.5, 3, tolerance=1e-5)


COMBINED = {
    "column": "1x64",
    "row": "16x1",
    "all": "16x64",
}


@pytest.mark.parametrize("along", COMBINED)
@pytest.mark.parametrize("items", [32, 64, 256])
def test_combinations_by_a_region(along: str, items: int) -> None:
    shape = COMBINED[along]
    body = f"""%c = cooperative_matrix_combine.{along} (%x, %y) = %a -> coopmatrix<f32x{shape},matrix_acc,work_group> {{
            %z = max %x, %y : f32
            yield (%z)
        }}
        %r = cooperative_matrix_apply (%i, %j, %x, %y) = %a, %c -> TILE {{
            %z = sub %x, %y : f32
            yield (%z)
        }}"""
    check(program(body, items=items, rows=16, columns=64), random("f32", 16, 64), random("f32", 16, 64), 0.0, 0)


@pytest.mark.parametrize("component", ["f16", "bf16", "f64", "i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("shape", [(M, N), (64, 8), (200, 1), (1, 40), (5, 3)])
def test_types_and_shapes(component: str, shape: tuple[int, int]) -> None:
    body = "%c = cooperative_matrix_reduce_add.column %a : ROW\n %r = add %a, %a : TILE"
    number = 1.0 if component.startswith(("f", "b")) else 1
    text = program(body, component=component, rows=shape[0], columns=shape[1])
    check(text, random(component, *shape), random(component, *shape), number, 0)


@pytest.mark.parametrize("rows", [24, 23, 17])
@pytest.mark.parametrize("begin", [0, 1])
@pytest.mark.parametrize("component", ["f32", "bf16"])
def test_lengths_that_are_no_whole_pieces_and_addresses_that_are_misaligned(
    component: str, rows: int, begin: int
) -> None:
    text = program("%r = add %a, %a : TILE", component=component, rows=M, columns=4)
    a, b = random(component, rows + begin, 4), random(component, rows + begin, 4)
    check(text, a[begin:], b[begin:], 1.0, 0)


@pytest.mark.parametrize("row", [-8, -3, 3, 8])
def test_tiles_that_lie_partly_outside(row: int) -> None:
    check(program("%r = neg %a : TILE", row=row), random("f32", M, N), random("f32", M, N), 1.0, 0)


def test_casts_between_types_and_uses_move_nothing() -> None:
    text = f"""
func @f(%A: memref<f32x?x?>, %B: memref<bf16x?x?>) attributes {{work_group_size=[64, 1]}} {{
    %zero = constant 0 : index
    parallel {{
        %a = cooperative_matrix_load %A[%zero, %zero] : {matrix("f32", 32, 8)}
        %h = cast %a : coopmatrix<bf16x32x8,matrix_a,work_group>
        cooperative_matrix_store %h, %B[%zero, %zero]
    }}
}}
"""
    check(text, random("f32", 32, 8), random("bf16", 32, 8))
    assert "bar.sync" not in compiled(text).ptx and "shfl" not in compiled(text).ptx


def test_what_lies_outside_is_found() -> None:
    text = f"""
func @f(%A: memref<f32x?x?>, %B: memref<f32x?x?>) attributes {{work_group_size=[64, 1]}} {{
    %zero = constant 0 : index
    parallel {{
        %a = cooperative_matrix_load %A[%zero, %zero] : {matrix("f32", 16, 8)}
        cooperative_matrix_store %a, %B[%zero, %zero]
    }}
}}
"""
    kernel = PtxMachineKernel(girih.loads(text, target="interpreter")["f"].ir)
    with pytest.raises(Failed, match="outside"):
        kernel((1, 1, 1), random("f32", 16, 7), random("f32", 16, 8))


@pytest.mark.parametrize(
    ("rows", "columns", "threads", "wanted"),
    [
        (8192, 1, 256, (256, 1)),
        (1024, 8, 256, (32, 8)),
        (64, 64, 128, (8, 16)),
        (1, 64, 64, (1, 64)),
        (16, 1, 64, (2, 32)),
    ],
)
def test_threads_stand_where_memory_is_contiguous(
    rows: int, columns: int, threads: int, wanted: tuple[int, int]
) -> None:
    types = [CoopMatrix(one, rows, columns, Use.ACC, MatrixScope.WORK_GROUP) for one in (BF16, F32)]
    assert rectangle_for(types, threads) == Rectangle(*wanted, 8)


def long_columns(component: str) -> str:
    return program("%c = cooperative_matrix_reduce_add.column %a : ROW\n %r = neg %a : TILE", items=256,
                   component=component, rows=8192, columns=1)  # fmt: skip


def test_columns_move_16_bytes_a_thread() -> None:
    ptx = compiled(long_columns("bf16")).ptx
    assert len(re.findall(r"ld\.global(\.nc)?\.v4", ptx)) == len(re.findall(r"st\.global\.v4", ptx)) == 4


@needs_ptxas
@pytest.mark.parametrize("component", ["bf16", "f32"])
@pytest.mark.parametrize("checks", [True, False])
def test_long_columns_stay_in_registers(tmp_path: Path, component: str, checks: bool) -> None:
    made = compiled(long_columns(component), checks=checks)
    assembled = ptxas(made.ptx, "sm_90a", tmp_path)
    assert not assembled.problems and not assembled.spilled and "0 bytes stack frame" in assembled.log


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (program("%r = neg %a : TILE", items=96), None),
        (program("%r = neg %a : TILE", items=32, rows=8192, columns=1), "takes 1024 registers of a work-item"),
        (
            program(
                """%h = cast %a : coopmatrix<f32x16x16,matrix_a,work_group>
                %k = cast %a : coopmatrix<f32x16x16,matrix_b,work_group>
                %r = cooperative_matrix_mul_add %h, %k, %a : TILE""",
                rows=16,
                columns=16,
            ),
            None,
        ),
        (
            program("""%c = cooperative_matrix_combine.column (%x, %y) = %a -> ROW {
                %z = add %x, %y : f32
                yield (%z)
            }
            %r = neg %a : TILE"""),
            None,
        ),
    ],
)
def test_what_is_not_flat_is_fragments_that_fit_or_arrays(text: str, reason: str | None) -> None:
    remarks = compiled(text).remarks
    assert "cuda.flat" not in {one.code for one in remarks}
    arrays = [one.message for one in remarks if one.code == "cuda.matrix"]
    assert len(arrays) == (reason is not None) and all(reason in message for message in arrays if reason)


def test_a_kernel_without_products_is_not_blamed_for_being_no_tile_program() -> None:
    assert "cuda.tile" not in {one.code for one in compiled(program("%r = neg %a : TILE")).remarks}
