"""Sizes, offsets, strides and alignments of types in memory, as their decorations and Vulkan's rules tell."""

from __future__ import annotations

import pytest

from girih.rules.row import Undetermined
from girih.spirv import Module, validate
from girih.spirv.frame import completed
from girih.spirv.model.environment import ENVIRONMENTS
from girih.spirv.model.facts import Facts
from girih.spirv.model.memory.layout import Alignment, Layouts, MatrixLayout, layouts
from girih.spirv.types import Struct

BLOCK = """
OpCapability Int64
OpDecorate %array ArrayStride 16
OpDecorate %tail ArrayStride 8
OpDecorate %block Block
OpMemberDecorate %inner 0 Offset 0
OpMemberDecorate %inner 1 Offset 4
OpMemberDecorate %block 0 Offset 0
OpMemberDecorate %block 1 Offset 16
OpMemberDecorate %block 2 Offset 32
OpMemberDecorate %block 2 MatrixStride 16
OpMemberDecorate %block 2 RowMajor
OpMemberDecorate %block 3 Offset 64
OpMemberDecorate %block 4 Offset 112
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%inner = OpTypeStruct %uint %v3float
%matrix = OpTypeMatrix %v2float 3
%array = OpTypeArray %v3float %uint_3
%tail = OpTypeRuntimeArray %ulong
%block = OpTypeStruct %inner %v3float %matrix %array %tail
%buffer = OpVariable %_ptr_StorageBuffer_block StorageBuffer
"""


def layout_of(text: str) -> tuple[Layouts, Struct]:
    """The layouts of a text, and the struct that it calls %block."""
    facts = Facts(Module.from_text(completed(text), "layout"), ENVIRONMENTS["vulkan1.4"])
    names = {name: id for id, name in facts.annotations.names.items()}
    struct = facts.type(names["block"])
    assert isinstance(struct, Struct)
    return facts.once(layouts), struct


def test_a_block_is_measured_by_its_decorations() -> None:
    known, block = layout_of(BLOCK + 'OpName %block "block"\n')
    members = known.members(block)
    assert [member.offset for member in members] == [0, 16, 32, 64, 112]
    assert [known.size(member.type, member.matrix) for member in members] == [16, 12, 28, 44, 0]
    assert members[2].matrix == MatrixLayout(16, row_major=True)
    assert [known.stride(member.type) for member in members] == [None, None, None, 16, 8]
    assert known.size(block) == 112
    aligned = {rules: [known.alignment(member.type, rules, member.matrix) for member in members] for rules in Alignment}
    assert aligned == {
        Alignment.SCALAR: [4, 4, 4, 4, 8],
        Alignment.BASE: [16, 16, 16, 16, 8],
        Alignment.EXTENDED: [16, 16, 16, 16, 16],
    }


def test_what_has_no_size_is_undetermined() -> None:
    known, block = layout_of('%block = OpTypeStruct %bool %_arr_int_uint_3\nOpName %block "block"\n')
    for member in known.members(block):
        with pytest.raises(Undetermined):
            known.size(member.type)


def test_blocks_that_one_device_takes_another_refuses() -> None:
    """The vector of three stands at 4: aligned as its components it is at its place, and crosses no 16 bytes."""
    module = Module.from_text(
        completed("""
            OpDecorate %block Block
            OpMemberDecorate %block 0 Offset 0
            OpMemberDecorate %block 1 Offset 4
            OpMemberDecorate %block 2 Offset 16
            OpMemberDecorate %block 3 Offset 20
            OpDecorate %buffer DescriptorSet 0
            OpDecorate %buffer Binding 0
            %inner = OpTypeVector %float 3
            %block = OpTypeStruct %uint %inner %uint %_arr_inner_uint_1
            OpDecorate %_arr_inner_uint_1 ArrayStride 12
            %buffer = OpVariable %_ptr_StorageBuffer_block StorageBuffer
        """),
        "layout",
    )
    assert validate(module) == []
    found = {layout: {one.code for one in validate(module, block_layout=layout)} for layout in ("relaxed", "standard")}
    stride = "spirv.OpTypeArray.array_stride_alignment"
    assert found == {layout: {"spirv.OpTypeStruct.alignment", stride} for layout in found}
    (relaxed,) = (one for one in validate(module, block_layout="relaxed") if one.code != stride)
    assert "member 3 at 20" in relaxed.message
    assert "member 1 at 4" not in relaxed.message
