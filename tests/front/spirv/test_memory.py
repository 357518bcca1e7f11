"""Memory and variables: offsets, strides, matrices, structs, arrays, pointers, as NumPy lays them out."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from girih.diagnostics import KernelError
from tests.front.spirv.shaders import BUFFERS, INVOCATION, TARGETS, module, on_both, translated

COPY = (
    BUFFERS
    + """
%from = OpAccessChain %_ptr_StorageBuffer_uint %input %int_0 %int_2
%value = OpLoad %uint %from
%to = OpAccessChain %_ptr_StorageBuffer_uint %output %int_0 %value
OpStore %to %value
"""
)


def test_an_element_is_copied() -> None:
    given = np.array([7, 6, 3, 5], np.uint32)
    for _, output in on_both(COPY, given, np.zeros(4, np.uint32)):
        np.testing.assert_array_equal(output, [0, 0, 0, 3])


BLOCK = """
OpDecorate %block Block
OpDecorate %buffer Binding 0
OpDecorate %buffer DescriptorSet 0
OpName %buffer "buffer"
"""

VARIABLE = """
%_ptr_StorageBuffer_block = OpTypePointer StorageBuffer %block
%buffer = OpVariable %_ptr_StorageBuffer_block StorageBuffer
"""

MATRICES = (
    BLOCK
    + """
OpMemberDecorate %block 0 Offset 0
OpMemberDecorate %block 0 ColMajor
OpMemberDecorate %block 0 MatrixStride 16
OpMemberDecorate %block 1 Offset 64
OpMemberDecorate %block 1 RowMajor
OpMemberDecorate %block 1 MatrixStride 8
%mat2v3float = OpTypeMatrix %v3float 2
%block = OpTypeStruct %mat2v3float %mat2v3float
"""
    + VARIABLE
    + """
%_ptr_StorageBuffer_mat2v3float = OpTypePointer StorageBuffer %mat2v3float
%columns = OpAccessChain %_ptr_StorageBuffer_mat2v3float %buffer %int_0
%rows = OpAccessChain %_ptr_StorageBuffer_mat2v3float %buffer %int_1
%whole = OpLoad %mat2v3float %columns
OpStore %rows %whole
%column = OpAccessChain %_ptr_StorageBuffer_v3float %buffer %int_1 %int_1
%taken = OpLoad %v3float %column
%swapped = OpVectorShuffle %v3float %taken %taken 2 1 0
OpStore %column %swapped
%cell = OpAccessChain %_ptr_StorageBuffer_float %buffer %int_1 %int_0 %int_2
OpStore %cell %float_9
"""
)


def test_matrices_lie_by_columns_or_by_rows() -> None:
    given = np.arange(24, dtype=np.float32)
    expected = given.copy()
    by_columns = given[:8].reshape(2, 4)[:, :3]
    by_rows = by_columns.T.copy()
    by_rows[:, 1] = by_rows[::-1, 1]
    by_rows[2, 0] = 9
    expected[16:22] = by_rows.ravel()
    for (buffer,) in on_both(MATRICES, given):
        np.testing.assert_array_equal(buffer, expected)


STRUCTS = (
    BLOCK
    + """
OpMemberDecorate %block 0 Offset 0
OpMemberDecorate %pair 0 Offset 0
OpMemberDecorate %pair 1 Offset 8
OpDecorate %pairs ArrayStride 16
OpCapability Int16
OpCapability StorageBuffer16BitAccess
%pair = OpTypeStruct %ushort %v2uint
%pairs = OpTypeArray %pair %uint_3
%block = OpTypeStruct %pairs
"""
    + VARIABLE
    + """
%_ptr_StorageBuffer_pair = OpTypePointer StorageBuffer %pair
%first = OpAccessChain %_ptr_StorageBuffer_pair %buffer %int_0 %int_0
%second = OpAccessChain %_ptr_StorageBuffer_pair %buffer %int_0 %int_1
%third = OpAccessChain %_ptr_StorageBuffer_pair %buffer %int_0 %int_2
%value = OpLoad %pair %first
%changed = OpCompositeInsert %pair %uint_77 %value 1 0
OpStore %second %changed
OpCopyMemory %third %second
"""
)


def test_padding_is_left_alone() -> None:
    given = np.arange(48, dtype=np.uint8)
    expected = given.copy()
    for at in (16, 32):
        expected[at : at + 2] = given[:2]
        expected[at + 8 : at + 16] = given[8:16]
        expected[at + 8 : at + 12] = np.array([77], np.uint32).view(np.uint8)
    for (buffer,) in on_both(STRUCTS, given):
        np.testing.assert_array_equal(buffer, expected)


OWN = (
    """
%pair = OpTypeStruct %uint %float
%pairs = OpTypeArray %pair %uint_4
%_ptr_Function_pairs = OpTypePointer Function %pairs
%_ptr_Function__arr_uint_uint_4 = OpTypePointer Function %_arr_uint_uint_4
%plain = OpVariable %_ptr_Function_v2uint Function
%mixed = OpVariable %_ptr_Function_pairs Function
%table = OpVariable %_ptr_Function__arr_uint_uint_4 Function
"""
    + BUFFERS
    + INVOCATION
    + """
%numbers = OpConstantComposite %_arr_uint_uint_4 %uint_5 %uint_6 %uint_7 %uint_8
OpStore %table %numbers
%from = OpAccessChain %_ptr_StorageBuffer_uint %input %int_0 %number
%x = OpLoad %uint %from
%part = OpBitwiseAnd %uint %x %uint_3
%both = OpCompositeConstruct %v2uint %x %number
OpStore %plain %both
%second = OpAccessChain %_ptr_Function_uint %plain %int_1
OpStore %second %uint_100
%changed = OpLoad %v2uint %plain
%a = OpCompositeExtract %uint %changed 0
%b = OpCompositeExtract %uint %changed 1
%member = OpAccessChain %_ptr_Function_uint %mixed %part %int_0
OpStore %member %a
%other = OpAccessChain %_ptr_Function_float %mixed %part %int_1
OpStore %other %float_1
%again = OpLoad %uint %member
%entry_of_table = OpAccessChain %_ptr_Function_uint %table %part
%c = OpLoad %uint %entry_of_table
%d = OpVectorExtractDynamic %uint %changed %part_of_two
%ab = OpIAdd %uint %again %b
%abc = OpIAdd %uint %ab %c
%abcd = OpIAdd %uint %abc %d
%to = OpAccessChain %_ptr_StorageBuffer_uint %output %int_0 %number
OpStore %to %abcd
"""
)


def own() -> str:
    return OWN.replace("%d = ", "%part_of_two = OpBitwiseAnd %uint %x %uint_1\n%d = ")


def test_variables_of_work_items_are_values_arrays_and_tables() -> None:
    x = np.arange(16, dtype=np.uint32) * 3
    expected = x + 100 + np.array([5, 6, 7, 8])[x & 3] + np.where(x & 1, 100, x)
    for _, output in on_both(own(), x, np.zeros(16, np.uint32)):
        np.testing.assert_array_equal(output, expected)
    text = str(translated(own()).function)
    assert text.count("private_array") == 2  # One for each type of the leaves of %mixed.
    assert text.count("constant_bytes (5, 6, 7, 8)") == 1


SHARED = (
    BUFFERS
    + INVOCATION
    + """
%cells = OpTypeArray %uint %uint_40
%_ptr_Workgroup_cells = OpTypePointer Workgroup %cells
%none = OpConstantNull %cells
%shared = OpVariable %_ptr_Workgroup_cells Workgroup %none
%from = OpAccessChain %_ptr_StorageBuffer_uint %input %int_0 %number
%x = OpLoad %uint %from
%mine = OpAccessChain %_ptr_Workgroup_uint %shared %number
OpStore %mine %x
OpControlBarrier %uint_2 %uint_2 %uint_264
%far = OpIAdd %uint %number %uint_8
%theirs = OpAccessChain %_ptr_Workgroup_uint %shared %far
%y = OpLoad %uint %theirs
%to = OpAccessChain %_ptr_StorageBuffer_uint %output %int_0 %number
OpStore %to %y
"""
)


def test_memory_of_the_work_group_may_begin_as_zeros() -> None:
    x = np.arange(1, 17, dtype=np.uint32)
    for _, output in on_both(SHARED, x, np.zeros(16, np.uint32)):
        np.testing.assert_array_equal(output, [*x[8:], *[0] * 8])


CHOSEN = (
    "OpCapability VariablePointersStorageBuffer\n"
    + BUFFERS
    + INVOCATION
    + """
%odd = OpBitwiseAnd %uint %number %uint_1
%is_odd = OpINotEqual %bool %odd %uint_0
%low = OpAccessChain %_ptr_StorageBuffer_uint %input %int_0 %number
OpSelectionMerge %joined None
OpBranchConditional %is_odd %other %joined
%other = OpLabel
%high = OpAccessChain %_ptr_StorageBuffer_uint %input %int_0 %int_3
OpBranch %joined
%joined = OpLabel
%chosen = OpPhi %_ptr_StorageBuffer_uint %low %entry %high %other
%x = OpLoad %uint %chosen
%to = OpAccessChain %_ptr_StorageBuffer_uint %output %int_0 %number
OpStore %to %x
"""
)


def test_a_phi_chooses_among_places_of_one_buffer() -> None:
    x = np.arange(16, dtype=np.uint32) * 10
    for _, output in on_both(CHOSEN, x, np.zeros(16, np.uint32)):
        np.testing.assert_array_equal(output, np.where(np.arange(16) % 2, 30, x))


DESCRIPTORS = """
OpExecutionMode %main LocalSize 4 1 1
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %_runtimearr_uint ArrayStride 4
OpDecorate %buffers Binding 0
OpDecorate %buffers DescriptorSet 0
OpDecorate %index BuiltIn LocalInvocationIndex
%_ptr_Input_uint = OpTypePointer Input %uint
%index = OpVariable %_ptr_Input_uint Input
%block = OpTypeStruct %_runtimearr_uint
%three = OpTypeArray %block %uint_3
%_ptr_StorageBuffer_three = OpTypePointer StorageBuffer %three
%_ptr_StorageBuffer_block = OpTypePointer StorageBuffer %block
%buffers = OpVariable %_ptr_StorageBuffer_three StorageBuffer
%k = OpLoad %uint %index
%chosen = OpAccessChain %_ptr_StorageBuffer_block %buffers %int_1
%length = OpArrayLength %uint %chosen 0
%first = OpAccessChain %_ptr_StorageBuffer_uint %buffers %int_1 %int_0 %k
%value = OpLoad %uint %first
%sum = OpIAdd %uint %value %length
%to = OpAccessChain %_ptr_StorageBuffer_uint %buffers %int_2 %int_0 %k
OpStore %to %sum
"""


@pytest.mark.parametrize("target", TARGETS)
def test_an_array_of_buffers(target: str) -> None:
    held = [np.arange(4, dtype=np.uint32) + 10 * k for k in range(3)]
    girih.loads(module(DESCRIPTORS).to_bytes(), target)["main"][1]({(0, 0): held})
    np.testing.assert_array_equal(held[2], held[1] + 4)


@pytest.mark.parametrize("target", TARGETS)
def test_an_index_outside_of_an_array_of_a_work_item_is_found(target: str) -> None:
    text = own().replace("%part = OpBitwiseAnd %uint %x %uint_3", "%part = OpBitwiseAnd %uint %x %uint_7")
    x, output = np.arange(16, dtype=np.uint32), np.zeros(16, np.uint32)
    with pytest.raises(KernelError) as raised:
        girih.loads(module(text).to_bytes(), target)["main"][1]({(0, 0): x, (0, 1): output})
    assert raised.value.findings[0].code == "run.out_of_bounds"
    np.testing.assert_array_equal(output, np.zeros(16))
