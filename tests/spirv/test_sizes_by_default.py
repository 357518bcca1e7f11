"""Sizes that specialisation constants may still change are held against others only once they are given."""

from __future__ import annotations

import pytest

from girih.spirv import Module, validate
from girih.spirv.frame import completed

QCOM = """
OpCapability CooperativeMatrixConversionQCOM
OpCapability VulkanMemoryModel
OpExtension "SPV_QCOM_cooperative_matrix_conversion"
OpExtension "SPV_KHR_cooperative_matrix"
"""
CONSTANT = "OpDecorate %size SpecId 7\n%size = OpSpecConstant %uint 4\n"

CAST = f"""{QCOM}{CONSTANT}
%words_type = OpTypeArray %uint %size
%words = OpUndef %words_type
%halves = OpBitCastArrayQCOM %_arr_half_uint_16 %words
"""
LENGTH = f"""{QCOM}{CONSTANT}OpCapability CooperativeMatrixKHR
%matrix = OpTypeCooperativeMatrixKHR %float %uint_3 %uint_8 %size %uint_2
%array = OpUndef %_arr_float_uint_8
%made = OpCompositeConstructCoopMatQCOM %matrix %array
"""
TENSOR = f"""{CONSTANT}
%sizes = OpConstantComposite %_arr_uint_uint_8 {"%uint_1 " * 8}
%tensor_of_size = OpTypeTensorARM %float %size %sizes
"""
VECTOR = f"""{CONSTANT}
%vector = OpTypeCooperativeVectorNV %half %size
%memory = OpVariable %_ptr_Workgroup__arr_half_uint_64 Workgroup
%input = OpUndef %vector
%x = OpCooperativeVectorMatrixMulNV %coop_v4half %input %uint_0 %memory %uint_0 %uint_0 %uint_4 %uint_8 %uint_0 %false
"""
CASES = {"OpBitCastArrayQCOM.size": CAST, "OpCompositeConstructCoopMatQCOM.elements": LENGTH,
         "OpTypeTensorARM.shape": TENSOR, "OpCooperativeVectorMatrixMulNV.columns": VECTOR}  # fmt: skip


@pytest.mark.parametrize("rule", CASES)
def test_a_default_of_4_is_not_held_against_a_size_of_8(rule: str) -> None:
    module = Module.from_text(completed(CASES[rule]))
    assert validate(module) == validate(module, definitions={7: 8}) == []
    assert [one.code for one in validate(module, definitions={7: 4})] == [f"spirv.{rule}"]
