"""Kernels as modules for OpenCL: what they declare, and that they are valid; `tests/runtime/opencl` runs them."""

from __future__ import annotations

import pytest

from girih.back.spirv.binary.opencl_numbers import number_rules
from girih.back.spirv.binary.operations import FUNCTIONS, INSTRUCTIONS, OF_INTEGERS, OF_TRUTH, WRITTEN
from girih.back.spirv.machine.compile import compile_kernel
from girih.back.spirv.machine.emitted import EmittedKernel
from girih.back.spirv.profiles.opencl import OPENCL_INTEL_CPU, OPENCL_MINIMAL
from girih.diagnostics import CompileError
from girih.program import parse
from girih.spirv.judge.validate import validate
from tests.cases import every_case

LOCAL = """
func @turned(%alpha: f32, %A: memref<f32x?x?,strided<1,?>>, %G: group<memref<f64x?>x?>, %n: i64)
        attributes {subgroup_size=16, work_group_size=[64,1]} {
    %shared = alloca : memref<f32x64,local>
    %c1 = constant 1 : index
    %c32 = constant 32 : i32
    parallel {
        %lane = subgroup_local_id : i32
        %number = subgroup_linear_id : i32
        %size = subgroup_size : i32
        %first = mul %number, %size : i32
        %item = add %first, %lane : i32
        %at = cast %item : index
        %x = load %A[%at,%c1] : f32
        %y = mul %alpha, %x : f32
        %z = add %y, %x : f32
        store %z, %shared[%at]
        barrier.local
        %w = load %shared[%c1] : f32
        %sum = subgroup_reduce_add %w : f32
        store %sum, %A[%at,%c1]
        %g = load %G[%c1] : memref<f64x?>
        %d = load %g[%at] : f64
        store %d, %g[%c1]
    }
}
"""


def made(text: str, checks: bool = False) -> EmittedKernel:
    """The kernel of a text, for a processor."""
    return compile_kernel(parse(text).functions[0], OPENCL_INTEL_CPU, checks=checks)


def test_a_kernel_has_parameters_and_an_execution_model() -> None:
    with every_case() as case:
        for checks in (False, True):
            with case(f"checks {checks}"):
                kernel = made(LOCAL, checks)
                assert validate(kernel.module, "universal1.2") == []
                assert kernel.module.header.version == (1, 2)
                text = kernel.module.to_text()
                for line in (
                    "OpMemoryModel Physical64 OpenCL",
                    'OpEntryPoint Kernel %turned "turned"',
                    "OpExecutionMode %turned LocalSize 64 1 1",
                    "OpExecutionMode %turned SubgroupSize 16",
                    "OpExecutionMode %turned ContractionOff",
                    "%ulong = OpTypeInt 64 0",
                ):
                    assert line in text, line
                assert " 1\n" not in "".join(line for line in text.splitlines(True) if "OpTypeInt" in line)
                parameters = [line for line in text.splitlines() if "OpFunctionParameter" in line]
                assert len(parameters) == len(kernel.bindings) + len(kernel.members)
                assert [one.kind for one in kernel.bindings] == ["memref", "group", *(["findings"] if checks else [])]
                assert text.count("OpReturn") == 1


def test_products_are_rounded_with_sums_where_that_is_permitted() -> None:
    text = """
        func @f(%a: f32, %A: memref<f32x4>){} {{
            parallel {{
                %i = subgroup_local_id : i32
                %c = constant 1 : index
                %x = load %A[%c] : f32
                %y = mul %a, %x : f32
                %z = {} %y, %x : f32
                store %z, %A[%c]
            }}
        }}
    """
    for op in ("add", "sub"):
        assert "%std fma" not in made(text.format("", op)).module.to_text()
        contracted = made(text.format(' attributes {allow=["contract"]}', op)).module
        assert validate(contracted, "universal1.2") == []
        lines = contracted.to_text(friendly_names=False)
        assert " fma " in lines
        assert ("OpFNegate" in lines) is (op == "sub")


def test_every_operation_on_numbers_has_a_form_for_opencl() -> None:
    assert {*INSTRUCTIONS, *FUNCTIONS, *WRITTEN, *OF_TRUTH, *OF_INTEGERS} <= set(number_rules())


def test_many_parameters_are_a_buffer() -> None:
    parameters = ", ".join(f"%p{k}: f64" for k in range(100))
    total = "\n".join(f"%s{k + 1} = add %{f's{k}' if k else 'p0'}, %p{k} : f64" for k in range(100))
    text = f"func @f({parameters}, %A: memref<f64>) {{ {total}\n store %s100, %A[] }}"
    kernel = made(text)
    assert (kernel.members_in_buffer, len(kernel.members)) == (False, 100)
    kernel = compile_kernel(parse(text.replace("f64", "i64")).functions[0], OPENCL_MINIMAL)
    assert kernel.members_in_buffer
    assert [one.kind for one in kernel.bindings] == ["memref", "parameters"]
    assert validate(kernel.module, "universal1.2") == []
    assert kernel.module.to_text().count("OpFunctionParameter") == 2


def test_what_a_device_lacks_is_told() -> None:
    text = "func @f(%A: memref<f64>) {\n    %c = constant 1.0 : f64\n    store %c, %A[]\n}"
    with pytest.raises(CompileError) as refused:
        compile_kernel(parse(text).functions[0], OPENCL_MINIMAL)
    (told,) = refused.value.diagnostics
    assert (told.code, told.message) == ("run.target", "@f needs floats of 64 bits (float64), which minimal has not")
