"""What valid modules have that girih does not execute is told before anything runs, at its place."""

from __future__ import annotations

import pytest

from girih.diagnostics import CompileError, Diagnostic
from girih.front.spirv.translate import translate
from girih.spirv.frame import completed
from girih.spirv.module import Module
from tests.cases import long
from tests.front.spirv.shaders import BUFFERS, INVOCATION


def refusals(text: str, entry: str = "main") -> list[Diagnostic]:
    with pytest.raises(CompileError) as raised:
        translate(Module.from_text(completed(text)), entry)
    return list(raised.value.diagnostics)


def codes(text: str, entry: str = "main") -> list[str]:
    return [found.code.removeprefix("spirv.translation.") for found in refusals(text, entry)]


def test_the_entry_point_is_a_compute_shader_of_the_module() -> None:
    (found,) = refusals("", "mian")
    assert (found.code, found.hint) == ("spirv.translation.entry_point", "did you mean 'main'?")
    vertex = 'OpEntryPoint Vertex %main "main"\n'
    assert codes(vertex) == ["model"]


def test_each_instruction_without_a_translation_is_told_once() -> None:
    text = (
        BUFFERS
        + """
    %pointer = OpAccessChain %_ptr_StorageBuffer_uint %input %int_0 %int_0
    OpCopyMemorySized %pointer %pointer %uint_4
    OpCopyMemorySized %pointer %pointer %uint_4
    %interpolated = OpExtInst %float %glsl InterpolateAtCentroid %pointer
    """
    )
    found = refusals(text)
    assert [one.message.partition("found: ")[2] for one in found] == [
        "OpCopyMemorySized",
        "GLSL.std.450 InterpolateAtCentroid",
    ]
    assert all(one.span.source.text for one in found)


def test_images_and_inputs_of_other_stages_are_told() -> None:
    text = """
    OpDecorate %image Binding 0
    OpDecorate %image DescriptorSet 0
    OpDecorate %place BuiltIn FragCoord
    %picture = OpTypeImage %float 2D 0 0 0 2 R32f
    %_ptr_UniformConstant_picture = OpTypePointer UniformConstant %picture
    %image = OpVariable %_ptr_UniformConstant_picture UniformConstant
    %_ptr_Input_v4float = OpTypePointer Input %v4float
    %place = OpVariable %_ptr_Input_v4float Input
    %where = OpLoad %v4float %place
    %loaded = OpLoad %picture %image
    """
    found = refusals(text)
    assert sorted(one.code.rpartition(".")[2] for one in found) == ["type", "variable", "variable"]
    told = " ".join(one.message for one in found)
    assert "FragCoord" in told and "UniformConstant" in told


def test_a_function_that_calls_itself_is_told() -> None:
    text = """
    %again = OpFunction %void None %fn_void
    %start = OpLabel
    %call = OpFunctionCall %void %again
    OpReturn
    OpFunctionEnd
    %called = OpFunctionCall %void %again
    """
    (found,) = refusals(text)
    assert found.code == "spirv.translation.recursion" and "%again" in found.message


def test_what_a_decided_branch_leaves_out_is_not_looked_at() -> None:
    text = (
        BUFFERS
        + """
    OpSelectionMerge %end None
    OpBranchConditional %false %never %end
    %never = OpLabel
    %pointer = OpAccessChain %_ptr_StorageBuffer_uint %input %int_0 %int_0
    OpCopyMemorySized %pointer %pointer %uint_4
    OpBranch %end
    %end = OpLabel
    """
    )
    assert translate(Module.from_text(completed(text)), "main").local_size == (1, 1, 1)


def test_a_constant_without_a_value_is_told_where_it_is_used() -> None:
    text = (
        BUFFERS
        + """
    OpName %quotient "quotient"
    OpDecorate %divisor SpecId 1
    %divisor = OpSpecConstant %uint 0
    %quotient = OpSpecConstantOp %uint UDiv %uint_4 %divisor
    %pointer = OpAccessChain %_ptr_StorageBuffer_uint %output %int_0 %int_0
    OpStore %pointer %quotient
    """
    )
    module = Module.from_text(completed(text))
    with pytest.raises(CompileError, match="%quotient"):
        translate(module.specialise({}), "main")
    assert translate(module.specialise({1: 2}), "main").function.name == "main"


def test_an_array_without_elements_is_told() -> None:
    text = """
    OpDecorate %length SpecId 1
    %length = OpSpecConstant %uint 0
    %cells = OpTypeArray %uint %length
    %_ptr_Function_cells = OpTypePointer Function %cells
    %held = OpVariable %_ptr_Function_cells Function
    %cell = OpAccessChain %_ptr_Function_uint %held %uint_0
    OpStore %cell %uint_1
    """
    (found,) = refusals(text)
    assert found.code == "spirv.translation.type" and "0 elements" in found.message


@pytest.mark.parametrize("depth", long([300, 3000]))
def test_constructs_that_nest_too_deep_are_told(depth: int) -> None:
    head = "".join(
        f"OpSelectionMerge %end{k} None\nOpBranchConditional %odd %then{k} %end{k}\n%then{k} = OpLabel\n"
        f"OpStore %place %uint_{k % 5}\n"
        for k in range(depth)
    )
    ends = (f"OpBranch %end{k}\n%end{k} = OpLabel\nOpStore %place %uint_{k % 7}\n" for k in reversed(range(depth)))
    tail = "".join(ends)
    text = (
        BUFFERS
        + INVOCATION
        + """
    %odd = OpIEqual %bool %number %uint_1
    %place = OpAccessChain %_ptr_StorageBuffer_uint %output %int_0 %number
    """
    )
    assert codes(text + head + tail) == ["nesting"]


DECODING = """
OpCapability PhysicalStorageBufferAddresses
OpCapability Int64
OpMemoryModel PhysicalStorageBuffer64 Vulkan
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
%block = OpTypeStruct %float
%address = OpTypePointer PhysicalStorageBuffer %block
%place = OpTypeArray %uint %uint_2
%decode_type = OpTypeFunction %float %address %place %place
%main = OpFunction %void None %fn_void
%entry = OpLabel
%p = OpAccessChain %_ptr_StorageBuffer_float %buffer_float %int_0 %int_0
%o = OpCompositeConstruct %matrix_float_16x8_c %float_0
%c = OpCreateTensorLayoutNV %layout_2
%t = OpTensorLayoutSetDimensionNV %layout_2 %c %uint_16 %uint_8
%m = OpCooperativeMatrixLoadTensorNV %matrix_float_16x8_c %p %o %t None DecodeFunc %decode
OpReturn
OpFunctionEnd
%decode = OpFunction %float None %decode_type
%decode_0 = OpFunctionParameter %address
%decode_1 = OpFunctionParameter %place
%decode_2 = OpFunctionParameter %place
%decode_entry = OpLabel
%number = OpConvertPtrToU %ulong %decode_0
%found = OpConvertUToF %float %number
OpReturnValue %found
OpFunctionEnd
"""


def test_the_address_of_a_block_that_is_decoded_is_refused() -> None:
    (found,) = refusals(DECODING)
    assert found.code == "spirv.translation.pointer"
    assert found.message.endswith("found: one that is computed, chosen or stored")
