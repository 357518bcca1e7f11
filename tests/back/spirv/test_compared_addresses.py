"""Modules with checks are told where arrays lie that a collective instruction must keep apart."""

from __future__ import annotations

import girih
from girih.back.spirv.machine.compile import compile_kernel
from girih.back.spirv.profiles.lavapipe import LAVAPIPE

TEXT = """
func @f(%A: memref<f32x4>, %B: memref<f32x4>, %C: memref<f32x4>) {
  %one = constant 1.0 : f32
  axpby %one, %A, %one, %B
  axpby %one, %C, %one, %C
}
"""


def test_arrays_of_different_arguments_are_compared() -> None:
    function = girih.loads(TEXT, target="interpreter")["f"].ir
    for checks, wanted in ((True, ["A_address", "B_address"]), (False, [])):
        emitted = compile_kernel(function, LAVAPIPE, checks=checks)
        assert [member.name for member in emitted.members if member.what == "address"] == wanted
