"""Matrices of a work-group as fragments of its warps, against the interpreter: with a model of `mma`, and as PTX."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import girih
from girih.back.llvm.lower.one_lane.matrix import staging
from girih.back.llvm.nvptx.matrix import product as products
from girih.back.llvm.nvptx.matrix import table
from girih.back.llvm.nvptx.matrix.grid import warp_grid
from girih.back.llvm.nvptx.matrix.layout import WarpGrid
from tests.back.harness import copy_of, same
from tests.back.nvptx.launch import PtxMachineKernel
from tests.back.nvptx.test_fragments import GEMM, PRODUCTS, ROOM, WINDOW, agrees, of
from tests.back.one_lane.test_matrices import BODIES, EVERYTHING, loop
from tests.cases import every_case, one_in

SHAPES = [(64, 32, 32), (128, 16, 64), (16, 64, 16), (40, 24, 48), (32, 5, 7), (16, 8, 1), (1, 40, 9), (96, 1, 12)]
"""Sizes m, n, k: that all warps share, that some have twice, with padding, and single rows and columns."""

WARPS = (2, 3, 4, 8)


def of_work_group(text: str, warps: int) -> str:
    """A kernel whose matrices are those of a work-group of so many warps."""
    for name in ("matrix_a", "matrix_b", "matrix_acc"):
        text = text.replace(f"{name}>", f"{name},work_group>")
    for items in ("subgroup_size=8, work_group_size=[8, 1]", "subgroup_size=32, work_group_size=[32, 1]"):
        text = text.replace(items, f"subgroup_size=32, work_group_size=[{32 * warps}, 1]")
    return text


def on_ptx(text: str, schedule: str, *arguments: Any) -> None:
    """Hold the PTX of a kernel, its threads executed in an order, against the interpreter."""
    kernel = girih.loads(text, target="interpreter")["f"]
    expected, found = [copy_of(one) for one in arguments], [copy_of(one) for one in arguments]
    kernel.options(races=False)[1](*expected)
    compiled = PtxMachineKernel(kernel.ir)
    assert not [one for one in compiled.variant_remarks() if one == "cuda.matrix"]
    compiled((1, 1, 1), *found, schedule=schedule)
    for mine, wanted in zip(found, expected, strict=True):
        same(mine, wanted, 1e-5)


@pytest.mark.parametrize(("types", "shape"), one_in(9, product(PRODUCTS, SHAPES)))
def test_products(types: tuple[str, str, str, str], shape: tuple[int, int, int]) -> None:
    (a, b, c, r), (m, n, k) = types, shape
    warps = WARPS[(m + n + k) % len(WARPS)]
    for turned in ("", ".t"):
        text = GEMM.format(a=a, b=b, c=c, r=r, m=m, n=n, k=k, ta=turned, tb=turned, more="")
        shapes = ((k, m), (n, k)) if turned else ((m, k), (k, n))
        given = of(a, *shapes[0]), of(b, *shapes[1]), of(c, m, n), of(r, m, n)
        agrees(of_work_group(text, warps), *given)


@pytest.mark.parametrize(("name", "dtype"), [("c32", "c8"), ("c64", "c16")])
def test_products_of_complex_numbers_are_no_fragments(name: str, dtype: str) -> None:
    """How large fragments of a work-group would be is asked of all matrices, of 16 bytes a component, too."""
    text = GEMM.format(a=name, b=name, c=name, r=name, m=24, n=20, k=9, ta="", tb="", more="")
    kernel = girih.loads(of_work_group(text, 4), target="interpreter")["f"]
    given = [of("f64", *shape).astype(dtype) for shape in ((24, 9), (9, 20), (24, 20), (24, 20))]
    expected, found = [copy_of(one) for one in given], [copy_of(one) for one in given]
    kernel.options(races=False)[1](*expected)
    compiled = PtxMachineKernel(kernel.ir)
    assert "cuda.matrix" in compiled.variant_remarks()
    compiled((1, 1, 1), *found)
    for mine, wanted in zip(found, expected, strict=True):
        same(mine, wanted, 1e-5)


MATRICES = [("i8", (32, 6, 4)), ("f32", (64, 7, 9)), ("i32", (48, 24, 5)), ("f32", (16, 64, 8)), ("i16", (32, 32, 3))]


@pytest.mark.parametrize(("matrices", "room"), one_in(4, product(MATRICES, ROOM)))
def test_everything_in_pieces_of_any_size(matrices: Any, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name, (m, k, n) = matrices
    for module in (staging, products):
        monkeypatch.setattr(module, "MOST_SHARED", room)
    text = EVERYTHING.format(t=name, m=m, k=k, n=n, items=128, scope=",work_group")
    shapes = ((m, k), (k, n), (m, n), (n, m), (m, 1), (1, n), (m, n), (m, n))
    text = text.replace("subgroup_size=8", "subgroup_size=32")
    agrees(text, *(of(name, *shape) for shape in shapes), on_ptx=room == ROOM[0])


@pytest.fixture
def without_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices that no product takes are fragments, too."""
    monkeypatch.setattr(table, "flat_rectangle", lambda *_: None)


@pytest.mark.usefixtures("without_flat")
def test_what_loops_hand_on() -> None:
    with every_case() as case:
        for name, body in BODIES.items():
            with case(name):
                agrees(of_work_group(loop(body), 2), of("i32", 8, 4), of("i32", 8, 4), 3)


@pytest.mark.usefixtures("without_flat")
@pytest.mark.parametrize("use", ["matrix_a", "matrix_b", "matrix_acc"])
def test_tiles_at_any_place(use: str) -> None:
    """Aligned and not, inside and at the edges: what is moved many at a time, and what is not."""
    with every_case() as case:
        for (i, j), turn, rows in product(((0, 0), (16, 8), (1, 0), (-5, 40)), ("", ".t"), (80, 77)):
            with case(f"{i}, {j} of {rows} rows {turn}"):
                text = of_work_group(WINDOW.format(t="f16", m=32, n=32, use=use, turn=turn), 4)
                agrees(text, of("f16", rows, 72), of("f16", rows, 72), i, j, on_ptx=not turn and rows == 80)


TENSOR = """
func @f(%A: memref<{t}x?>, %B: memref<{t}x?>, %h: index, %w: index, %i: index, %j: index)
    attributes {{subgroup_size=32, work_group_size=[32, 1]}} {{
  parallel {{
    %z = constant 0 : index
    %l0 = tensor_layout_create : tensor_layout<2,constant>
    %l1 = tensor_layout_set_dimension %l0[%h, %w] : tensor_layout<2,constant>
    %l2 = tensor_layout_slice %l1[%i:{m}, %j:{n}] : tensor_layout<2,constant>
    %init = constant 1 : coopmatrix<{t}x{m}x{n},{use}>
    %a = cooperative_matrix_load_tensor %init, %A[%z], %l2 : coopmatrix<{t}x{m}x{n},{use}>
    %b = add %a, %a : coopmatrix<{t}x{m}x{n},{use}>
    cooperative_matrix_store_tensor %b, %B[%z], %l2
  }}
}}
"""


@pytest.mark.parametrize("use", ["matrix_a", "matrix_b", "matrix_acc"])
@pytest.mark.parametrize("warps", [1, 4])
def test_tiles_of_tensors_at_any_place(use: str, warps: int) -> None:
    """Windows of memory that are moved many components at a time, where they are aligned, and edges."""
    with every_case() as case:
        for (i, j), across in product(((0, 0), (16, 8), (1, 3), (100, 40)), (72, 75)):
            with case(f"{i}, {j} of {across} columns"):
                text = TENSOR.format(t="i16", m=64, n=32, use=use)
                text = of_work_group(text, warps) if warps > 1 else text
                given = of("i16", 120 * across), of("i16", 120 * across)
                agrees(text, *given, 120, across, i, j, on_ptx=across == 72)


REPEATED = """
func @f(%A: memref<f16x{m}x{k}>, %B: memref<f16x{k}x{n}>, %C: memref<f32x{m}x{n}>)
    attributes {{subgroup_size=32, work_group_size=[32, 1]}} {{
  parallel {{
    %z = constant 0 : index
    %n = constant 3 : index
    %one = constant 1.0 : coopmatrix<f16x{m}x{k},matrix_a>
    %two = constant 2.0 : coopmatrix<f16x{k}x{n},matrix_b>
    %none = constant 0.0 : coopmatrix<f32x{m}x{n},matrix_acc>
    %sum = for %i = %z, %n init (%c=%none) -> (coopmatrix<f32x{m}x{n},matrix_acc>) {{
      %a = cooperative_matrix_load %A[%z,%z] : coopmatrix<f16x{m}x{k},matrix_a>
      %b = cooperative_matrix_load %B[%z,%z] : coopmatrix<f16x{k}x{n},matrix_b>
      %d = cooperative_matrix_mul_add %a, %b, %c : coopmatrix<f32x{m}x{n},matrix_acc>
      %x = add %a, %one : coopmatrix<f16x{m}x{k},matrix_a>
      %y = mul %b, %two : coopmatrix<f16x{k}x{n},matrix_b>
      cooperative_matrix_store %x, %A[%z,%z]
      cooperative_matrix_store %y, %B[%z,%z]
      yield (%d)
    }}
    cooperative_matrix_store %sum, %C[%z,%z]
  }}
}}
"""


@pytest.mark.parametrize("schedule", ["together", "by_thread", "by_thread_reversed"])
def test_components_that_several_warps_hold(schedule: str) -> None:
    """Factors that are loaded and stored in turn without a barrier: one work-item does that for each component."""
    with every_case() as case:
        for m, n, k in ((16, 32, 16), (64, 8, 8), (32, 16, 16)):
            with case(f"{m} x {n} x {k}"):
                text = of_work_group(REPEATED.format(m=m, n=n, k=k), 4)
                on_ptx(text, schedule, of("f16", m, k), of("f16", k, n), of("f32", m, n))


ATTENTION = """
func @f(%Q: memref<f16x{m}x16>, %K: memref<f16x{m}x16>, %V: memref<f16x{m}x16>, %O: memref<f32x{m}x16>)
    attributes {{subgroup_size=32, work_group_size=[32, 1]}} {{
  parallel {{
    %z = constant 0 : index
    %q = cooperative_matrix_load %Q[%z,%z] : coopmatrix<f16x{m}x16,matrix_a>
    %k = cooperative_matrix_load.t %K[%z,%z] : coopmatrix<f16x16x{m},matrix_b>
    %v = cooperative_matrix_load %V[%z,%z] : coopmatrix<f16x{m}x16,matrix_b>
    %n = constant 0.0 : coopmatrix<f32x{m}x{m},matrix_acc>
    %o = constant 0.0 : coopmatrix<f32x{m}x16,matrix_acc>
    %s = cooperative_matrix_mul_add %q, %k, %n : coopmatrix<f32x{m}x{m},matrix_acc>
    %most = cooperative_matrix_reduce_max.row %s : coopmatrix<f32x{m}x1,matrix_acc>
    %p = cooperative_matrix_apply (%i, %j, %x, %y) = %s, %most -> coopmatrix<f32x{m}x{m},matrix_acc> {{
      %d = sub %x, %y : f32
      yield (%d)
    }}
    %left = cast %p : coopmatrix<f16x{m}x{m},matrix_a>
    %r = cooperative_matrix_mul_add %left, %v, %o : coopmatrix<f32x{m}x16,matrix_acc>
    cooperative_matrix_store %r, %O[%z,%z]
  }}
}}
"""


def test_sums_become_factors() -> None:
    """Where warps stand below each other, each has the rows it needs."""
    text = of_work_group(ATTENTION.format(m=64), 4)
    agrees(text, of("f16", 64, 16), of("f16", 64, 16), of("f16", 64, 16), of("f32", 64, 16))
    assert warp_grid(girih.loads(text, target="interpreter")["f"].ir, 4) == WarpGrid(4, 1)


def test_warps_stand_where_they_load_least() -> None:
    def grid(m: int, n: int, warps: int) -> WarpGrid:
        text = GEMM.format(a="f16", b="f16", c="f32", r="f32", m=m, n=n, k=32, ta="", tb="", more="")
        return warp_grid(girih.loads(of_work_group(text, warps), target="interpreter")["f"].ir, warps)

    assert grid(128, 128, 4) == WarpGrid(2, 2)
    assert grid(128, 64, 8) == WarpGrid(4, 2)
    assert grid(16, 128, 4) == WarpGrid(1, 4)
    assert grid(128, 8, 4) == WarpGrid(4, 1)


def test_a_work_group_has_larger_matrices_than_a_subgroup() -> None:
    """Fragments have limits for a thread: what four warps hold, one does not."""
    text = GEMM.format(a="f16", b="f16", c="f32", r="f32", m=128, n=128, k=16, ta="", tb="", more="")
    for source, arrays in ((of_work_group(text, 4), False), (text, True)):
        made = PtxMachineKernel(girih.loads(source, target="interpreter")["f"].ir)
        assert ("cuda.matrix" in made.variant_remarks()) is arrays


PRINTED = """
func @f(%A: memref<i32x32x12>)
    attributes {subgroup_size=32, work_group_size=[32, 1]} {
  parallel {
    %z = constant 0 : index
    %a = cooperative_matrix_load %A[%z,%z] : coopmatrix<i32x32x12,matrix_acc>
    print "a", %a
  }
}
"""


@pytest.mark.parametrize("warps", [1, 2])
def test_components_are_printed_in_rows_and_columns(warps: int, capsys: pytest.CaptureFixture[str]) -> None:
    text = of_work_group(PRINTED, warps) if warps > 1 else PRINTED
    kernel, given = girih.loads(text, target="interpreter")["f"], of("i32", 32, 12)
    kernel[1](given)
    wanted = capsys.readouterr()
    PtxMachineKernel(kernel.ir)((1, 1, 1), given)
    assert wanted == capsys.readouterr()
    assert str(given[0, 1]) in wanted.out + wanted.err


CLEARED = """
func @f(%A: memref<f16x32x16>, %B: memref<f16x16x32>, %C: memref<f32x32x32>)
    attributes {subgroup_size=32, work_group_size=[64, 1]} {
  parallel {
    %z = constant 0 : index
    %none = constant 1.0 : coopmatrix<f32x32x32,matrix_acc,work_group>
    cooperative_matrix_store %none, %C[%z,%z]
    %c = cooperative_matrix_load %C[%z,%z] : coopmatrix<f32x32x32,matrix_acc,work_group>
    %a = cooperative_matrix_load %A[%z,%z] : coopmatrix<f16x32x16,matrix_a,work_group>
    %b = cooperative_matrix_load %B[%z,%z] : coopmatrix<f16x16x32,matrix_b,work_group>
    %d = cooperative_matrix_mul_add %a, %b, %c : coopmatrix<f32x32x32,matrix_acc,work_group>
    cooperative_matrix_store %d, %C[%z,%z]
  }
}
"""


@pytest.mark.parametrize("schedule", ["by_thread", "by_thread_reversed"])
def test_matrices_of_one_type_are_held_alike(schedule: str) -> None:
    """What no product takes has the form of its type, so that a work-item loads what it has stored."""
    on_ptx(CLEARED, schedule, of("f16", 32, 16), of("f16", 16, 32), of("f32", 32, 32))
