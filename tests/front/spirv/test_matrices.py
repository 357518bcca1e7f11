"""Cooperative matrices of shaders: how they lie in memory, signs of products, single components, functions."""

from __future__ import annotations

import numpy as np
import pytest

from girih.addressing import BlockedInterleaved
from girih.api import compile_module
from girih.diagnostics import KernelError
from girih.ir.core import Module as IrModule
from girih.ir.types import I32, CoopMatrix, Use
from girih.ops.tile.coopmatrix_layout import layout_among
from tests.front.spirv.shaders import BUFFERS, Array, on_both, translated

SUBGROUP = BUFFERS + "OpExecutionMode %main LocalSize 32 1 1\n"
RNG = np.random.default_rng(16)


def element(name: str, buffer: str, index: int) -> str:
    """The line for a pointer to an element of a buffer."""
    return f"%{name} = OpAccessChain %_ptr_StorageBuffer_uint %{buffer} %int_0 %int_{index}\n"


def findings(text: str, *arrays: Array) -> list[tuple[str, str]]:
    """Codes and messages of what is found in the interpreter, which compiled code finds as well."""
    found = []
    function = translated(text).function
    for target in ("interpreter", "cpu"):
        with pytest.raises(KernelError) as raised:
            compile_module(IrModule((function,)), target)["main"][1](*(np.array(a).view(np.int8) for a in arrays))
        found.append([(f.code, f.message) for f in raised.value.findings][:1])
    assert found[0] == found[1]
    return found[0]


LAYOUTS = (
    SUBGROUP
    + element("from", "input", 1)
    + "".join(element(f"to{k}", "output", 32 * k) for k in range(4))
    + """
%rows = OpCooperativeMatrixLoadKHR %matrix_uint_4x8_c %from %uint_0 %uint_12
OpCooperativeMatrixStoreKHR %to0 %rows %uint_0 %uint_8
%columns = OpCooperativeMatrixLoadKHR %matrix_uint_4x8_c %from %uint_1 %uint_5
OpCooperativeMatrixStoreKHR %to1 %columns %uint_0 %uint_8
%same = OpCooperativeMatrixLoadKHR %matrix_uint_4x8_c %from %uint_0 %uint_0
OpCooperativeMatrixStoreKHR %to2 %same %uint_0 %uint_8
%wide = OpLoad %uint %from
%computed = OpCooperativeMatrixLoadKHR %matrix_uint_4x8_c %from %uint_0 %wide
OpCooperativeMatrixStoreKHR %to3 %computed %uint_1 %uint_4
"""
)


def test_rows_and_columns_lie_a_stride_apart() -> None:
    given = RNG.integers(0, 1 << 32, 200).astype(np.uint32)
    given[1] = 9
    i, j = np.indices((4, 8))
    expected = [given[1 + 12 * i + j], given[1 + i + 5 * j], given[1 + j], given[1 + 9 * i + j].T]
    for _, output in on_both(LAYOUTS, given, np.zeros(128, np.uint32)):
        for k, matrix in enumerate(expected):
            np.testing.assert_array_equal(output[32 * k : 32 * (k + 1)], matrix.ravel())


def test_a_row_that_is_not_wholly_inside_is_found() -> None:
    given = np.full(1 + 3 * 12 + 7, 9, np.uint32)
    (found,) = findings(LAYOUTS, given, np.zeros(128, np.uint32))
    assert found[0] == "run.out_of_bounds"
    assert "`cooperative_matrix_load` outside %input" in found[1]


VECTORS = """
OpDecorate %input_block Block
OpMemberDecorate %input_block 0 Offset 0
OpDecorate %output_block Block
OpMemberDecorate %output_block 0 Offset 0
OpDecorate %input Binding 0
OpDecorate %input DescriptorSet 0
OpDecorate %output Binding 1
OpDecorate %output DescriptorSet 0
OpDecorate %_runtimearr_v4uint ArrayStride 16
OpDecorate %_runtimearr_half ArrayStride 2
OpExecutionMode %main LocalSize 32 1 1
OpCapability StorageBuffer16BitAccess
OpName %input "input"
OpName %output "output"
%input_block = OpTypeStruct %_runtimearr_v4uint
%output_block = OpTypeStruct %_runtimearr_half
%_ptr_StorageBuffer_input_block = OpTypePointer StorageBuffer %input_block
%_ptr_StorageBuffer_output_block = OpTypePointer StorageBuffer %output_block
%input = OpVariable %_ptr_StorageBuffer_input_block StorageBuffer
%output = OpVariable %_ptr_StorageBuffer_output_block StorageBuffer
%from = OpAccessChain %_ptr_StorageBuffer_v4uint %input %int_0 %int_1
%to = OpAccessChain %_ptr_StorageBuffer_half %output %int_0 %int_0
%m = OpCooperativeMatrixLoadKHR %matrix_half_16x8_a %from %uint_0 %uint_2
OpCooperativeMatrixStoreKHR %to %m %uint_0 %uint_8
"""


def test_a_stride_counts_what_the_pointer_points_to() -> None:
    """The buffer is of vectors of 16 bytes, the matrix of halves: rows lie 32 bytes apart."""
    given = RNG.standard_normal(8 + 16 * 16).astype(np.float16)
    for _, output in on_both(VECTORS, given, np.zeros(128, np.float16)):
        np.testing.assert_array_equal(output.reshape(16, 8), given[8:].reshape(16, 16)[:, :8])


BLOCKED = (
    SUBGROUP
    + 'OpCapability CooperativeMatrixLayoutsARM\nOpExtension "SPV_ARM_cooperative_matrix_layouts"\n'
    + element("from", "input", 0)
    + element("to0", "output", 0)
    + element("to1", "output", 128)
    + """
%rows = OpCooperativeMatrixLoadKHR %matrix_uint_8x16_c %from %uint_4202 %uint_2
OpCooperativeMatrixStoreKHR %to0 %rows %uint_0 %uint_16
OpCooperativeMatrixStoreKHR %to1 %rows %uint_4203 %uint_1
"""
)


def test_blocks_are_interleaved() -> None:
    given = RNG.integers(0, 1 << 32, 128).astype(np.uint32)
    first = BlockedInterleaved("row", 8, 16, 4, 2).access().element
    second = BlockedInterleaved("column", 8, 16, 4, 1).access().element
    stored = np.zeros(128, np.uint32)
    stored[second] = given[first]
    for _, output in on_both(BLOCKED, given, np.zeros(256, np.uint32)):
        np.testing.assert_array_equal(output[:128].reshape(8, 16), given[first])
        np.testing.assert_array_equal(output[128:], stored)


MIXED = "MatrixBSignedComponentsKHR|MatrixCSignedComponentsKHR|MatrixResultSignedComponentsKHR"
PRODUCTS = (
    SUBGROUP
    + element("a_at", "input", 0)
    + element("b_at", "input", 128)
    + "".join(element(f"to{k}", "output", 64 * k) for k in range(3))
    + f"""
OpCapability Int8
%a = OpCooperativeMatrixLoadKHR %matrix_uchar_8x16_a %a_at %uint_0 %uint_4
%b = OpCooperativeMatrixLoadKHR %matrix_char_16x8_b %b_at %uint_0 %uint_2
%zero = OpConstantComposite %matrix_int_8x8_c %int_0
%mixed = OpCooperativeMatrixMulAddKHR %matrix_int_8x8_c %a %b %zero {MIXED}
OpCooperativeMatrixStoreKHR %to0 %mixed %uint_0 %uint_8
%signed = OpCooperativeMatrixMulAddKHR %matrix_int_8x8_c %a %b %zero MatrixASignedComponentsKHR|{MIXED}
OpCooperativeMatrixStoreKHR %to1 %signed %uint_0 %uint_8
%largest = OpConstantComposite %matrix_int_8x8_c %int_2147483647
%saturated = OpCooperativeMatrixMulAddKHR %matrix_int_8x8_c %a %b %largest {MIXED}|SaturatingAccumulationKHR
OpCooperativeMatrixStoreKHR %to2 %saturated %uint_0 %uint_8
"""
)


def test_a_mask_says_which_integers_have_a_sign() -> None:
    bytes = RNG.integers(0, 256, 1024).astype(np.uint8)
    a, b = bytes[:128].reshape(8, 16), bytes[512:640].view(np.int8).reshape(16, 8)
    mixed = a.astype(np.int64) @ b
    signed = a.view(np.int8).astype(np.int64) @ b
    saturated = np.minimum(mixed + (2**31 - 1), 2**31 - 1)
    for _, output in on_both(PRODUCTS, bytes.view(np.uint32), np.zeros(192, np.uint32)):
        for k, expected in enumerate((mixed, signed, saturated)):
            np.testing.assert_array_equal(output[64 * k : 64 * (k + 1)].view(np.int32), expected.ravel())


COMPONENTS = (
    SUBGROUP
    + """
%_ptr_Function_matrix = OpTypePointer Function %matrix_uint_8x16_c
%_ptr_Function_uint = OpTypePointer Function %uint
%_arr_matrix = OpTypeArray %matrix_uint_8x16_c %uint_2
%_ptr_Function_arr = OpTypePointer Function %_arr_matrix
%m = OpVariable %_ptr_Function_matrix Function
%two = OpVariable %_ptr_Function_arr Function
"""
    + element("from", "input", 0)
    + element("number_at", "input", 128)
    + element("to", "output", 0)
    + """
%given = OpCooperativeMatrixLoadKHR %matrix_uint_8x16_c %from %uint_0 %uint_16
OpStore %m %given
%number = OpLoad %uint %number_at
%place = OpAccessChain %_ptr_Function_uint %m %number
OpStore %place %uint_77
%changed = OpLoad %matrix_uint_8x16_c %m
%second = OpCompositeExtract %uint %changed 1
%both = OpCompositeInsert %matrix_uint_8x16_c %second %changed 0
%last = OpAccessChain %_ptr_Function_matrix %two %uint_1
OpStore %last %both
%of_last = OpAccessChain %_ptr_Function_uint %two %uint_1 %number
OpStore %of_last %uint_5
%result = OpLoad %matrix_uint_8x16_c %last
OpCooperativeMatrixStoreKHR %to %result %uint_0 %uint_16
"""
)


def test_work_items_change_the_components_that_they_hold() -> None:
    """Of each work-item the first component becomes 77, the second one 5, and the others stay."""
    given = np.append(np.arange(128), 1).astype(np.uint32)
    expected = np.arange(128).reshape(8, 16)
    layout = layout_among(CoopMatrix(I32, 8, 16, Use.ACC), 32)
    for lane in range(32):
        expected[layout.position(lane, 0)], expected[layout.position(lane, 1)] = 77, 5
    for _, output in on_both(COMPONENTS, given, np.zeros(128, np.uint32)):
        np.testing.assert_array_equal(output, expected.ravel())


def test_a_component_that_no_work_item_holds_is_found() -> None:
    (found,) = findings(COMPONENTS, np.append(np.arange(128), 4).astype(np.uint32), np.zeros(128, np.uint32))
    assert found[0] == "run.out_of_bounds"
    assert "outside the components" in found[1]
