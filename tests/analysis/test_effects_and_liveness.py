"""What instructions do to memory, and up to where values are needed."""

from __future__ import annotations

import girih
from girih.analysis.effects import memory_use, writes, written_parameters
from girih.analysis.liveness import last_uses
from girih.ir.core import Function

TEXT = """
func @f(%A: memref<f32x8>, %B: memref<f32x8>, %g: group<memref<f32x8> x ?>, %x: f32) {
    %zero = constant 0 : index
    %part = subview %B[%zero:4] : memref<f32x4>
    %member = load %g[%zero] : memref<f32x8>
    parallel {
        %i = group_id.x : index
        %y = load %A[%i] : f32
        %z = add %y, %x : f32
        store %z, %part[%i]
        %w = load %member[%i] : f32
    }
    axpby %x, %A, %x, %A
}
"""


def function() -> Function:
    return girih.parse(TEXT).functions[0]


def test_a_write_through_a_view_is_a_write_of_the_parameter() -> None:
    assert {value.name for value in written_parameters(function())} == {"A", "B"}


def test_reads_and_writes_are_counted_by_what_was_passed_in() -> None:
    use = memory_use(function())
    counts = {value.name: (count.reads, count.writes) for value, count in use.memory.items()}
    # axpby reads A as its source and as its target, after a load; a member of a group is the group's memory.
    assert counts == {"A": (3, 1), "B": (0, 1), "g": (1, 0)}


def test_what_has_a_region_writes_where_an_instruction_in_it_does() -> None:
    said = {op.spec.mnemonic: writes(op) for op in function().walk()}
    assert said == {
        "constant": False, "subview": False, "load": False, "parallel": True, "group_id": False, "add": False,
        "store": True, "axpby": True,
    }  # fmt: skip


def test_a_value_is_needed_up_to_the_instruction_of_its_own_region() -> None:
    found = {value.name: op.spec.mnemonic for value, op in last_uses(function()).items()}
    assert found == {
        "zero": "load", "part": "parallel", "g": "load", "member": "parallel", "A": "axpby", "B": "subview",
        "x": "axpby", "y": "add", "i": "load", "z": "store",
    }  # fmt: skip
