"""Local memory in an address space of its own, as GPUs have it: the text of a kernel that LLVM accepts for NVPTX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import llvmlite.binding as llvm
import pytest

import girih
from girih.analysis.uniformity import constants_of, varying_values
from girih.back.llvm.cpu.compile import lower
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.emit.debug import DebugInfo
from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import ModuleText, Operand, Val, integer, pointer, stored_bytes, stored_type
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import ExecutionPlace, geometry_of
from girih.back.llvm.lower.launch.parameters import bind_parameters, slot
from girih.back.llvm.lower.lowerings import refuse_unknown
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.table import ONE_LANE
from girih.ir.core import Function, Op
from girih.ir.limits import DEFAULT_LIMITS
from girih.ops.tile.memory import Scope
from tests.back.harness import HOST

SHARED = pointer(3)


@dataclass(slots=True, kw_only=True)
class SharedCode(OneLaneCode):
    """A thread of NVPTX: what it needs to be text, not to be fast."""

    @property
    def features(self) -> Features:
        return Features(f16=True, fma=True)

    def met_by_all(self, op: Op, *, work_group: bool = False) -> None:
        """Nobody looks."""

    def barrier(self) -> None:
        self.module.declare("llvm.nvvm.barrier0", "void", ())
        self.w.run("llvm.nvvm.barrier0")

    def exchanged(self, part: Val, source: Val, *, work_group: bool = False) -> Val:
        raise NotImplementedError("the kernels of this file exchange nothing")

    def local(self, size: int, align: int) -> Val:
        return self.w.at(Val("@local", SHARED), self.frame.take(size, align))

    def private(self, type: str, count: int) -> Val:
        raise NotImplementedError("the kernels of this file have no matrices")

    def shared(self, type: str, count: int) -> Val:
        raise NotImplementedError("the kernels of this file have no matrices")

    def subgroup_barrier(self) -> None:
        raise NotImplementedError("the kernels of this file have no matrices")

    def atomic_scope(self, scope: Scope, *, local: bool) -> str | None:
        return "block"

    def ask(self) -> None:
        raise NotImplementedError("no loop asks whether the launch goes on")

    def leave(self, site: int, lane: Operand, values: Sequence[Val]) -> None:
        self.w.jump("left")


def lowered(function: Function) -> str:
    """A kernel as a module for NVPTX."""
    refuse_unknown(function, ONE_LANE, "nvptx")
    geometry = geometry_of(function, DEFAULT_LIMITS)
    module = ModuleText({"i16": "h", "i32": "r", "i64": "l"})
    debug = DebugInfo(module, function.name, function.name, function.span)
    w = Writer(module, f"define void @{function.name}(ptr %arguments, i32 %thread){debug.attached}")
    w.location = debug.at(function.span)
    arguments, thread = Val("%arguments", "ptr"), w.convert("zext", Val("%thread", "i32"), "i64")
    constants = constants_of(function)
    size = geometry.subgroup_size
    code = SharedCode(
        w=w,
        module=module,
        function=function,
        lowerings=ONE_LANE,
        geometry=geometry,
        constants=constants,
        varying=varying_values(function, constants, size),
        checks=True,
        debug=debug,
        place=ExecutionPlace(),
        group=(integer(0), integer(0), integer(0)),
        grid=(slot(w, arguments, 0), slot(w, arguments, 1), slot(w, arguments, 2)),
        thread=thread,
        subgroup=w.binary("udiv", thread, size),
        lane=w.convert("trunc", w.binary("urem", thread, size), "i32"),
    )
    bind_parameters(code, arguments)
    code.body()
    w.jump("left")
    w.label("left")
    w.ret()
    w.finish()
    module.globals["local"] = f"@local = internal addrspace(3) global [{code.frame.most} x i8] undef, align 128"
    return f'target triple = "nvptx64-nvidia-cuda"\n{module}'


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
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    parsed = llvm.parse_assembly(lowered(girih.loads(KERNEL, target="interpreter")["f"].ir))
    parsed.verify()
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_90a", opt=1)
    made = machine.emit_assembly(parsed)
    assert all(word in made for word in ("st.shared", "ld.shared", "atom.shared.add", "shared.cas", "bar.sync"))


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
