"""What a launch gives to an entry point, as the module's variables and decorations tell it."""

from __future__ import annotations

from girih.spirv.model.declared.bindings import ShaderInterface, interface_of
from girih.spirv.model.environment import ENVIRONMENTS
from girih.spirv.model.facts import Facts
from girih.spirv.module import Module

TEXT = """
OpCapability Shader
OpExtension "SPV_KHR_storage_buffer_storage_class"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpEntryPoint GLCompute %other "other"
OpExecutionMode %main LocalSize 64 1 1
OpExecutionMode %other LocalSize 1 1 1
OpName %A "A"
OpMemberName %A 0 "n"
OpMemberName %A 1 "data"
OpName %wide ""
OpName %A4 "A4"
OpMemberName %A4 0 "data4"
OpName %table "table"
OpName %P "P"
OpMemberName %P 0 "n"
OpMemberName %P 1 "alpha"
OpDecorate %floats ArrayStride 4
OpDecorate %vectors ArrayStride 16
OpDecorate %A Block
OpMemberDecorate %A 0 Offset 0
OpMemberDecorate %A 0 NonWritable
OpMemberDecorate %A 1 Offset 16
OpMemberDecorate %A 1 NonWritable
OpDecorate %A4 Block
OpMemberDecorate %A4 0 Offset 0
OpDecorate %P Block
OpMemberDecorate %P 0 Offset 0
OpMemberDecorate %P 1 Offset 4
OpDecorate %narrow DescriptorSet 1
OpDecorate %narrow Binding 2
OpDecorate %wide DescriptorSet 1
OpDecorate %wide Binding 2
OpDecorate %table DescriptorSet 0
OpDecorate %table Binding 7
OpDecorate %unused DescriptorSet 0
OpDecorate %unused Binding 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%v4float = OpTypeVector %float 4
%three = OpConstant %uint 3
%floats = OpTypeRuntimeArray %float
%vectors = OpTypeRuntimeArray %v4float
%A = OpTypeStruct %uint %floats
%A4 = OpTypeStruct %vectors
%P = OpTypeStruct %uint %float
%buffers = OpTypeArray %A4 %three
%_A = OpTypePointer StorageBuffer %A
%_A4 = OpTypePointer StorageBuffer %A4
%_buffers = OpTypePointer StorageBuffer %buffers
%_P = OpTypePointer PushConstant %P
%narrow = OpVariable %_A StorageBuffer
%wide = OpVariable %_A4 StorageBuffer
%table = OpVariable %_buffers StorageBuffer
%unused = OpVariable %_A StorageBuffer
%push = OpVariable %_P PushConstant
%main = OpFunction %void None %fn
%1 = OpLabel
%2 = OpCopyObject %_A %narrow
%3 = OpCopyObject %_A4 %wide
%4 = OpCopyObject %_buffers %table
%5 = OpCopyObject %_P %push
OpReturn
OpFunctionEnd
%other = OpFunction %void None %fn
%6 = OpLabel
%7 = OpCopyObject %_A %unused
OpReturn
OpFunctionEnd
"""


def interface(entry: int) -> ShaderInterface:
    facts = Facts(Module.from_text(TEXT), ENVIRONMENTS["vulkan1.4"])
    return interface_of(facts, facts.entry_points[entry])


def test_variables_of_one_binding_are_one_resource() -> None:
    found = interface(0)
    table, both = found.resources
    assert (table.set, table.binding, table.is_array, table.count) == (0, 7, True, 3)
    assert (both.set, both.binding, both.is_array, both.count) == (1, 2, False, None)
    assert both.names == ("A", "A4", "data4") and table.names == ("table", "A4", "data4")
    assert [(one.fixed_bytes, one.step, one.read_only) for one in both.variables] == [(16, 4, True), (0, 16, False)]
    assert both.fixed_bytes == 16 and not both.read_only
    assert found.resource_of[both.variables[1].id] is both
    assert not found.has_addresses


def test_push_constants_and_what_an_entry_point_does_not_name() -> None:
    first, second = interface(0), interface(1)
    assert first.push_constants is not None
    assert (first.push_constants.fixed_bytes, first.push_constants.step) == (8, None)
    assert first.push_constants.member_names == ("n", "alpha")
    assert second.push_constants is None
    assert [(one.set, one.binding, one.read_only) for one in second.resources] == [(0, 0, True)]
