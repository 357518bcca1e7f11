"""What examples of rules about types and values do not show: operations of constants, specialisation, deep nesting."""

from __future__ import annotations

import pytest

from girih.spirv import Module, validate
from girih.spirv.frame import completed


def codes(text: str, definitions: dict[int | str, object] | None = None) -> list[str]:
    module = Module.from_text(completed(text))
    return [one.code for one in validate(module, definitions=definitions)]


def test_the_rules_of_an_instruction_hold_in_operations_of_constants() -> None:
    assert codes("%sum = OpSpecConstantOp %int IAdd %int_1 %int_2") == []
    assert codes("%sum = OpSpecConstantOp %int IAdd %int_1 %float_2") == ["spirv.OpIAdd.operands"]
    text = "%pair = OpConstantComposite %v2int %int_1 %int_2\n%part = OpSpecConstantOp %int CompositeExtract %pair {}"
    assert codes(text.format(1)) == []
    assert codes(text.format(2)) == ["spirv.OpCompositeExtract.indexes"]


LENGTH = """
OpDecorate %length SpecId 3
%length = OpSpecConstant %uint 2
%array = OpTypeArray %int %length
%zeros = OpConstantNull %array
%part = OpCompositeExtract %int %zeros 2
"""


def test_an_index_is_held_against_a_length_that_was_chosen() -> None:
    assert codes(LENGTH) == []
    assert codes(LENGTH, {3: 3}) == []
    assert codes(LENGTH, {3: 2}) == ["spirv.OpCompositeExtract.indexes"]


def test_the_operand_at_fault_is_named() -> None:
    text = "%three = OpCompositeConstruct %v3int %int_1 %float_2 %int_3"
    (found,) = validate(Module.from_text(completed(text)))
    assert found.message.endswith(
        "found: the type of Constituent 1 is 32-bit float, Result Type is vector of 3 32-bit signed integers"
    )
    assert len(found.labels) == 1


NESTED = {
    "vectors": ("OpTypeVector %float 2", "OpTypeVector {} 2"),
    "matrices": ("OpTypeVector %float 2", "OpTypeMatrix {} 2"),
    "arrays": ("OpTypeArray %float %uint_2", "OpTypeArray {} %uint_2"),
    "pairs": ("OpTypeStruct %float %float", "OpTypeStruct {0} {0}"),
}


@pytest.mark.parametrize("kind", NESTED)
def test_types_may_be_nested_deeper_than_python_calls(kind: str) -> None:
    first, further = NESTED[kind]
    depth = 200 if kind == "pairs" else 1500
    lines = [f"%t0 = {first}", *(f"%t{at} = {further.format(f'%t{at - 1}')}" for at in range(1, depth))]
    found = set(codes("\n".join([*lines, f"%zeros = OpConstantNull %t{depth - 1}"])))
    wrong = {"vectors": {"spirv.OpTypeVector.component_type"}, "matrices": {"spirv.OpTypeMatrix.column_type"}}
    assert found == wrong.get(kind, set())
