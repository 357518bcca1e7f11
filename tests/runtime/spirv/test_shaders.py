"""Modules and shaders, loaded and run: what a user writes, on both targets, and what each mistake is told."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import girih
from girih.spirv import Module
from tests.cases import every_case

OWN = Path(__file__).resolve().parents[2] / "data" / "spirv" / "own"
SCALE, ENDLESS = OWN / "scale.spvasm", OWN / "endless.spvasm"
TARGETS = ("interpreter", "cpu")


@pytest.mark.parametrize("target", TARGETS)
def test_a_module_is_loaded_specialised_and_launched(target: str) -> None:
    program = girih.load(SCALE, target, {3: 64, "BIAS": 1.0})
    assert list(program) == ["main"] and program.warnings == () and len(program.ir.functions) == 1
    kernel = program["main"]
    assert kernel is program["main"] and kernel.ir.attributes.get("work_group_size") == (64, 1)
    a, d = np.arange(80, dtype=np.float32), np.zeros(80, np.float32)
    kernel[2]({"a": a, (0, 1): d}, push_constants={"n": 70, "alpha": 0.5})
    assert np.array_equal(d, np.where(np.arange(80) < 70, 0.5 * a + 1, 0))
    again = girih.loads(Module.from_text(SCALE.read_text()).to_bytes(), target)["main"]
    pickle.loads(pickle.dumps(again))[3]({(0, 0): a, (0, 1): d}, np.array([80, 0], np.int32))
    assert not d.any()
    assert "byte_load" in str(kernel.ir)


def test_a_failed_launch_leaves_arrays_as_they_were() -> None:
    kernel = girih.load(SCALE, "interpreter")["main"]
    a, d = np.ones(64, np.float32), np.zeros(40, np.float32)
    with pytest.raises(girih.KernelError) as found:
        kernel[2]({"a": a, "d": d}, push_constants={"n": 64, "alpha": 1.0})
    (finding,) = found.value.findings
    assert (finding.code, finding.argument, finding.span.line) == ("run.out_of_bounds", "d", 12)
    assert not d.any()
    sizes = {size for seed in range(12) if (size := _subgroup_size(kernel, seed))}
    assert len(sizes) > 2 and sizes <= {1, 2, 4, 8, 16, 32}


def _subgroup_size(kernel: girih.Kernel, seed: int) -> int:
    from girih.analysis.sizes import possible_subgroup_sizes
    from girih.ir.limits import DEFAULT_LIMITS

    return girih.Choices(seed).again().subgroup_size(possible_subgroup_sizes(kernel.ir, DEFAULT_LIMITS))


def test_a_shader_that_never_ends_is_stopped() -> None:
    kernel = girih.load(ENDLESS, "interpreter")["main"]
    with pytest.raises(girih.KernelError) as found:
        kernel.options(max_steps=2000)({(0, 0): np.zeros(1, np.uint32)})
    assert found.value.findings[0].code == "run.budget"
    assert found.value.findings[0].span.source.name == "endless.comp"


VERTEX = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint Vertex %main "main"
%void = OpTypeVoid
%fn = OpTypeFunction %void
%main = OpFunction %void None %fn
%1 = OpLabel
OpReturn
OpFunctionEnd
"""
RECURSION = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%fn = OpTypeFunction %void
%main = OpFunction %void None %fn
%1 = OpLabel
%2 = OpFunctionCall %void %again
OpReturn
OpFunctionEnd
%again = OpFunction %void None %fn
%3 = OpLabel
%4 = OpFunctionCall %void %again
OpReturn
OpFunctionEnd
"""


def test_what_may_not_run_is_refused_when_it_is_loaded() -> None:
    scale = SCALE.read_text()
    refused: dict[str, tuple[str, dict[int | str, object], str, str]] = {
        "an unknown definition": (scale, {9: 1}, "spirv.definition.unknown", "SpecIds of the module: 3, 4 (BIAS)"),
        "a value outside": (scale, {3: -1}, "spirv.definition.value", "from 0 to 4294967295; found: -1"),
        "an absurd size": (scale, {3: 2**20}, "spirv.entry_point.local_size", "found: 1048576 x 1 x 1 = 1048576"),
        "another entry point": (VERTEX, {}, "spirv.entry_point.compute", "found: `main` (Vertex)"),
        "recursion": (RECURSION, {}, "spirv.OpEntryPoint.recursion", ""),
        "no module": ("OpCapability Shader\n%1 = OpFoo", {}, "spirv.text.opcode", "OpFoo"),
    }
    with every_case() as case:
        for name, (text, definitions, code, says) in refused.items():
            with case(name):
                with pytest.raises(girih.CompileError) as told:
                    girih.loads(text, "interpreter", definitions)
                assert code in [one.code for one in told.value.diagnostics]
                assert any(says in one.render() for one in told.value.diagnostics)
    with pytest.raises(KeyError, match="there is no entry point 'mian'; the module has: main"):
        girih.loads(scale, "interpreter")["mian"]
    with pytest.raises(TypeError, match="a definition is named by a string; got 3"):
        girih.loads("func @f() {\n}\n", "interpreter", {3: 1})
