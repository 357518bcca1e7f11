"""Local memory in an address space of its own, as GPUs have it: the instructions that come of it."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

import girih
from girih.back.llvm.cpu.compile import lower
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.emit.text import Val, pointer, stored_bytes, stored_type
from girih.back.llvm.nvptx.compile import compile_kernel
from girih.back.llvm.nvptx.machine.architecture import ARCHITECTURES
from tests.back.harness import HOST

SHARED = pointer(3)


KERNEL = """
func @f(%A: memref<f32x32>, %B: memref<i32x?>) attributes {subgroup_size=32, work_group_size=[32, 1]} {
  %L = alloca : memref<f32x32,local>
  %C = alloca : memref<i32x4,local>
  %H = alloca : memref<f16x4,local>
  %zero = constant 0 : index
  %two = constant 2 : index
  %none = constant 0 : i32
  %one = constant 1 : i32
  %half = constant 1.0 : f16
  store %none, %C[%zero]
  %V = subview %C[%two:2] : memref<i32x2,local>
  %old = atomic_add.work_group.acquire_release %one, %V[%zero] : i32
  %ticket = cast %old : index
  store %old, %B[%ticket]
  %there = associated %L : bool
  parallel {
    %lane = subgroup_local_id : i32
    %i = cast %lane : index
    %x = load %A[%i] : f32
    store %x, %L[%i]
    barrier.local
    %y = load %L[%zero] : f32
    %z = atomic_max.work_group.relaxed %y, %L[%i] : f32
    %w = atomic_add.work_group.relaxed %half, %H[%zero] : f16
    %n = atomic_load.work_group.acquire %C[%zero] : i32
    atomic_store.work_group.release %n, %C[%two]
    store %z, %A[%i]
  }
}
"""


def test_local_memory_in_its_own_address_space() -> None:
    function = girih.loads(KERNEL, target="interpreter")["f"].ir
    made = compile_kernel(function, ARCHITECTURES["sm_80"]).ptx
    for word in ("st.shared", "ld.relaxed.cta.shared", "atom.shared.add.noftz.f16", "cta.shared.cas.b32", "bar.sync"):
        assert word in made, word


LANES = """
func @f(%A: memref<i32x8>) attributes {{subgroup_size=8, work_group_size=[8, 1]}} {{
  %L = alloca : memref<i32x8,local>
  parallel {{
    %lane = subgroup_local_id : i32
    %zero = constant 0 : index
    %i = cast %lane : index
    %old = atomic_add.work_group.relaxed %lane, %L[{place}] : i32
    store %old, %A[%i]
  }}
}}
"""


@pytest.mark.parametrize(("place", "kept"), [("%zero", 0), ("%i", 1)])
def test_updates_of_several_lanes_keep_the_space(place: str, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses are only put aside where each lane has its own, and are read as what they are."""

    def local(code: CpuCode, size: int, align: int) -> Val:
        return code.w.convert("addrspacecast", code.take(size, align), SHARED)

    monkeypatch.setattr(CpuCode, "local", local)
    function = girih.loads(LANES.format(place=place), target="interpreter")["f"].ir
    text = lower(function, HOST).text
    llvm.parse_assembly(text).verify()
    assert text.count("load ptr addrspace(3)") == text.count("store <8 x ptr addrspace(3)>") == kept
    assert "store ptr addrspace(3)" not in text


def test_the_memory_that_an_address_takes() -> None:
    assert [stored_bytes(type) for type in ("ptr", SHARED, f"<8 x {SHARED}>", "<8 x i1>", "half")] == [8, 8, 64, 8, 2]
    assert stored_type("<8 x i1>") == "<8 x i8>"
