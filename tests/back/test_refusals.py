"""What a target cannot execute is said of the program, before anything is lowered."""

from __future__ import annotations

import pytest

import girih
from girih.back.llvm.cpu import compile as cpu
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.table import CPU
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.table import NO_OUTPUT
from girih.back.llvm.lower.table import GENERIC
from girih.ir.types import CoopMatrix
from tests.back.harness import HOST
from tests.back.one_lane.machine import lower

MATRIX = """
func @f(%A: memref<f32x16x16>) {
  parallel {
    %zero = constant 0 : index
    %one = constant 1.0 : f32
    %tile = cooperative_matrix_load %A[%zero, %zero] : coopmatrix<f32x8x8,matrix_acc>
    %more = cooperative_matrix_scale %one, %tile : coopmatrix<f32x8x8,matrix_acc>
    cooperative_matrix_store %more, %A[%zero, %zero]
  }
}
"""

VECTORS = """
func @f(%A: memref<f32x16>, %B: memref<f32x16>) {
  %one = constant 1.0 : f32
  axpby %one, %A, %one, %B
}
"""


def told(error: girih.CompileError) -> list[tuple[str, str, int]]:
    return [(d.code, d.message, d.span.line) for d in error.diagnostics]


def test_a_type_that_the_target_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Lowerings[CpuCode]()
    table.refuse("there are no matrices", CoopMatrix)
    monkeypatch.setattr(cpu, "CPU", CPU.joined(table))
    with pytest.raises(girih.CompileError) as caught:
        str(girih.loads(MATRIX, target="cpu")["f"].llvm_ir)
    assert told(caught.value) == [
        ("run.target", "the target cpu cannot execute `cooperative_matrix_load`: there are no matrices", 6),
        ("run.target", "the target cpu cannot execute `cooperative_matrix_scale`: there are no matrices", 7),
    ]


def test_instructions_without_a_lowering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "CPU", GENERIC)
    with pytest.raises(girih.CompileError) as caught:
        str(girih.loads(VECTORS, target="cpu")["f"].llvm_ir)
    assert told(caught.value) == [("run.target", "the target cpu cannot execute `axpby`: it has no lowering", 4)]


def test_a_lowering_for_other_results() -> None:
    table = Lowerings[CpuCode]()
    known = girih.parse(MATRIX).functions[0]
    load = next(op for op in known.walk() if op.spec.mnemonic == "cooperative_matrix_load")
    table.of(type(load), giving=CoopMatrix)(lambda code, op: None)
    assert "cooperative_matrix_load" not in {op.spec.mnemonic for op, _ in table.refusals(known)}
    constant = next(reason for op, reason in table.refusals(known) if op.spec.mnemonic == "constant")
    assert constant == "it has no lowering for results of type index"


def test_the_one_lane_machine_refuses_output() -> None:
    function = girih.parse("""
func @f(%x: f32) {
  parallel {
    print "x is {}", %x
  }
}
""").functions[0]
    with pytest.raises(girih.CompileError) as caught:
        lower(function, HOST.features)
    assert told(caught.value) == [("run.target", f"the target one lane cannot execute `print`: {NO_OUTPUT}", 4)]
