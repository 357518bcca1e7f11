"""What is printed reads back to the same module, and is canonical: printing that again changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from girih import parse
from girih.ir.core import Module
from girih.ops.tile import TILE_LANGUAGE
from tests.cases import long
from tests.ir.modules import modules

HERE = Path(__file__).resolve().parent
RUN, ACCEPTED = (sorted(HERE.parent.glob(f"ops/*/{name}")) for name in ("run.tl", "ok.tl"))
KERNELS = sorted((HERE.parents[1] / "girih" / "kernels").glob("*.tl"))


@pytest.mark.parametrize("path", [*RUN, *KERNELS, *long(ACCEPTED)], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_program_reads_back(path: Path) -> None:
    module = parse(path.read_text(encoding="utf-8"))
    text = str(module)
    again = parse(text)
    assert again == module, text
    assert str(again) == text


@pytest.mark.parametrize("examples", [12, *long([200])])
def test_made_modules_read_back(examples: int) -> None:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings(max_examples=examples, suppress_health_check=checks)(given(modules(TILE_LANGUAGE))(reads_back))()


def reads_back(module: Module) -> None:
    """A module is printed so that it can be read, in one way."""
    text = str(module)
    again = parse(text)
    assert again == module
    assert str(again) == text


GOLDENS = {
    "print_names.tl": """
func @names(%007: f32, %x: memref<f32 x ? x 4, strided<1, ?>> {"note" = "a b", alignment=64})
    attributes {subgroup_size=16} {
  ; comments go
  %8 = neg %7 : f32   %9=add %8,%7:f32
  parallel { %inner = constant 0x1.8p1 : f32 }
  parallel { %inner = constant -0.0 : f64 %b = constant [inf,-nan] : c32 }
}
func @empty() { }
""",
    "print_regions.tl": """
func @regions(%n: index, %A: memref<f32x?>, %c: bool) {
  %z = constant 0 : index
  %s, %t = for %i = %z, %n, %n init(%p=%z, %q=%c) -> (index, bool) {
    %v = if %q -> (index) { yield (%p) } else { yield (%i) }
    if %c { } else { barrier.global }
    yield (%v, %q)
  } attributes {unroll=4}
  for %i=%z,%n { }
  foreach_tile (%i,%j)=(%z,%z),(%n,%n) as (%si,%sj) <= (16,8) { }
  foreach (%i) = (%z),(%n) { %a = load %A[%i] : f32 store %a, %A[0] }
}
""",
    "print_instructions.tl": """
func @instructions(%a: f32, %A: memref<f32x8x8>, %G: group<memref<f32x8x8>x?,offset:?>, %i: index) {
  gemm %a, %A, %A, %a, %A   gemm.t %a, %A, %A, %a, %A   gemm.n.t %a, %A, %A, %a, %A   gemm.atomic.n.n %a,%A,%A,%a,%A
  %B = load %G[%i] : memref<f32x8x8>
  %V = subview %B[0:%i, 3] : memref<f32x?>
  %W = subview %B[%i:4, 0:0] : memref<f32x4>
  %E = expand %A[0 -> %i x 2] : memref<f32x?x2x8>
  %F = fuse %A[0,1] : memref<f32x64>
  %m = alloca {alignment=16} : memref<f32x8,local>
  lifetime_stop %m
  parallel {
    %x = atomic_add.device.acquire_release %a, %A[%i,%i] : f32
    %y = atomic_load.acquire %A[%i,%i] : f32
    %t = cooperative_matrix_load.t.both_checked %A[%i,%i] : coopmatrix<f32x8x8,matrix_a>
    %u = cooperative_matrix_apply (%r,%c,%e)=%t -> coopmatrix<f32x8x8,matrix_a> { yield (%e) }
    %w = cooperative_matrix_reduce_add.row %u : coopmatrix<f32x8x1,matrix_acc>
    %id = group_id.y : index
    barrier.global.local
  }
}
""",
    "print_tensors.tl": """
func @tensors(%A: memref<i8x?>, %n: index, %v: i32) {
  %t0 = tensor_layout_create : tensor_layout< 2 , constant >
  %u0 = tensor_layout_create : tensor_layout<3,undefined>
  %t1 = tensor_layout_set_block_size %t0[1,18] : tensor_layout<2,constant>
  %t2 = tensor_layout_set_dimension %t1[%n , 36] : tensor_layout<2,constant>
  %t3 = tensor_layout_slice %t2[-1:%n,%n : 4] : tensor_layout<2,constant>
  %t4 = tensor_layout_set_clamp_value %t3,%v : tensor_layout<2,constant>
  %v0 = tensor_view_create : tensor_view<2>
  %w0 = tensor_view_create : tensor_view<2,false,0,1>
  %x0 = tensor_view_create : tensor_view<2,true>
  %x1 = tensor_view_set_clip %x0[0:4,%n:%n] : tensor_view<2,true,0,1>
  parallel {
    %m = constant 0 : coopmatrix<i8x4x32,matrix_acc,subgroup>
    %w = constant 0 : coopmatrix<i8x4x32,matrix_acc,work_group>
    %a = cooperative_matrix_load_tensor %m,%A[%n],%t4 : coopmatrix<i8x4x32,matrix_acc>
    %b = cooperative_matrix_load_tensor %m,%A[%n],%t4,%w0 : coopmatrix<i8x4x32,matrix_acc>
    %c = cooperative_matrix_load_tensor %m,%A[%n],%t4 decode(%bytes: memref<i8x18>,%i,%j,%k,%l) {
      %z = load %bytes[0] : i8 yield (%z) } : coopmatrix<i8x4x32,matrix_acc>
    %d = cooperative_matrix_load_tensor %w,%A[%n],%t4,%v0 decode (%bytes : memref<i8x2x9>,%i,%j,%k,%l) {
      %z = load %bytes[0,0] : i8 yield (%z) } : coopmatrix<i8x4x32,matrix_acc,work_group>
    cooperative_matrix_store_tensor %a,%A[%n],%t4
    cooperative_matrix_store_tensor %a,%A[%n],%t4,%x1
    %e = cooperative_matrix_load.row_blocked_interleaved %A[%n],2 : coopmatrix<i8x4x32,matrix_acc>
    cooperative_matrix_store.column_blocked_interleaved %e,%A[%n],1
    %f = cooperative_matrix_combine.2x2 (%x,%y)=%a -> coopmatrix<i8x2x16,matrix_acc> { yield (%x) }
    %g = cooperative_matrix_apply (%i,%j,%x,%y)=%a,%e -> coopmatrix<i8x4x32,matrix_acc> { yield (%y) }
    %h = cooperative_matrix_transpose %g : coopmatrix<i8x32x4,matrix_b>
    %o = bitcast %v : f32
  }
}
""",
}


@pytest.mark.parametrize("name", sorted(GOLDENS))
def test_canonical_text(name: str, golden: Callable[[str, str], None]) -> None:
    module = parse(GOLDENS[name])
    golden(name, str(module))
    assert parse(str(module)) == module


def test_equality_counts_structure_not_names() -> None:
    text = "func @f(%a: f32, %b: f32) {\n%c = sub %a, %b : f32\n}\n"
    assert parse(text) == parse(text.replace("%a", "%x"))
    assert parse(text) != parse(text.replace("%a, %b :", "%b, %a :"))
    assert parse(text) != parse(text.replace("@f", "@g"))
    assert parse(text) != parse(text.replace("sub", "add"))
    assert parse(text) != parse(text.replace("%c", "parallel {\n}\n%c"))


def test_constants_are_compared_by_their_bits() -> None:
    text = "func @f() {\n%c = constant 0.0 : f32\n}\n"
    assert parse(text) != parse(text.replace("0.0", "-0.0"))
    assert parse(text.replace("0.0", "nan")) == parse(text.replace("0.0", "nan"))
    assert parse(text.replace("0.0", "nan")) != parse(text.replace("0.0", "-nan"))
    assert parse(text.replace("0.0", "1")) != parse(text.replace("0.0", "1.0"))
    assert parse(text.replace("0.0", "1")) != parse(text.replace("0.0", "true"))
