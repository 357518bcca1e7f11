"""Specialisation constants: what their operations compute, what definitions may say, what a specialised module is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from girih.diagnostics import CompileError
from girih.spirv import Module, validate
from girih.spirv.frame import completed
from girih.spirv.specialise import constants_of
from girih.spirv.types import Int, Value
from girih.spirv.values import declarations_of, number_of
from tests.cases import every_case
from tests.spirv import peer

OPERATIONS = {
    # Integers wrap; the signed and the unsigned read the same bits.
    "%int IAdd %int_2147483647 %int_1": -(2**31),
    "%int ISub %int_n2147483647 %int_2": 2**31 - 1,
    "%uint IMul %uint_65537 %uint_65537": 131073,
    "%int SNegate %int_7": -7,
    "%uint Not %uint_0": 2**32 - 1,
    "%uint UDiv %uint_4294967295 %uint_10": 429496729,
    "%int SDiv %int_n7 %int_2": -3,
    "%int SRem %int_n7 %int_2": -1,
    "%int SRem %int_7 %int_n2": 1,
    "%int SMod %int_n7 %int_2": 1,
    "%int SMod %int_7 %int_n2": -1,
    "%int SMod %int_n4 %int_n4": 0,
    "%uint UMod %uint_7 %uint_4": 3,
    "%uint UDiv %uint_7 %uint_0": None,
    "%int SDiv %int_7 %int_0": None,
    "%int SDiv %int_n2147483648 %int_n1": None,
    "%int UDiv %int_n1 %int_2": 2**31 - 1,
    "%uint ShiftRightLogical %int_n1 %uint_28": 15,
    "%int ShiftRightArithmetic %int_n16 %uint_2": -4,
    "%int ShiftRightArithmetic %uint_4294967280 %uint_2": -4,
    "%uint ShiftLeftLogical %uint_3 %uint_31": 2**31,
    "%uint ShiftLeftLogical %uint_3 %uint_32": None,
    "%uint BitwiseOr %uint_12 %uint_10": 14,
    "%uint BitwiseXor %uint_12 %uint_10": 6,
    "%uint BitwiseAnd %uint_12 %uint_10": 8,
    "%bool LogicalOr %true %false": True,
    "%bool LogicalAnd %true %false": False,
    "%bool LogicalNot %true": False,
    "%bool LogicalEqual %true %false": False,
    "%bool LogicalNotEqual %true %false": True,
    "%bool IEqual %int_n1 %uint_4294967295": True,
    "%bool INotEqual %int_1 %int_2": True,
    "%bool ULessThan %int_n1 %int_1": False,
    "%bool SLessThan %uint_4294967295 %uint_1": True,
    "%bool UGreaterThan %int_n1 %int_1": True,
    "%bool SGreaterThan %int_n1 %int_1": False,
    "%bool ULessThanEqual %uint_1 %uint_1": True,
    "%bool SLessThanEqual %int_n1 %int_n2": False,
    "%bool UGreaterThanEqual %uint_1 %uint_2": False,
    "%bool SGreaterThanEqual %int_2 %int_2": True,
    "%int Select %true %int_3 %int_4": 3,
    "%long SConvert %int_n5": -5,
    "%short SConvert %int_70000": 4464,
    "%ulong UConvert %uint_4294967295": 2**32 - 1,
    "%uchar UConvert %uint_511": 255,
    "%half FConvert %float_0_1": float(np.float16(np.float32(0.1))),
    "%double FConvert %float_0_1": float(np.float32(0.1)),
    "%float QuantizeToF16 %float_0_1": float(np.float16(np.float32(0.1))),
    "%float QuantizeToF16 %float_65520": math.inf,
    "%float QuantizeToF16 %float_0_00001": 0.0,
    # Composites, and operations by component.
    "%int CompositeExtract %vector 1": 2,
    "%v3int CompositeInsert %int_9 %vector 2": (1, 2, 9),
    "%v3int VectorShuffle %vector %vector 5 0 1": (3, 1, 2),
    "%v3int IAdd %vector %vector": (2, 4, 6),
    "%v3int SNegate %vector": (-1, -2, -3),
}
"""What OpSpecConstantOp computes (SPIR-V 3.42.7); None where the result is undefined."""

VECTOR = "%vector = OpConstantComposite %v3int %int_1 %int_2 %int_3\n"


def value_of(operation: str) -> Value | None:
    type, *rest = operation.split()
    module = Module.from_text(completed(f'{VECTOR}%x = OpSpecConstantOp {type} {" ".join(rest)}\nOpName %x "x"'))
    target = next(one.id("target") for one in module.instructions if one.name == "OpName" and one.text("name") == "x")
    found = declarations_of(module.instructions).values.get(target)
    frozen = declarations_of(module.specialise({}).instructions).values.get(target)
    assert frozen == found
    return found


def test_every_operation_has_its_value() -> None:
    with every_case() as case:
        for operation, expected in OPERATIONS.items():
            with case(operation):
                found = value_of(operation)
                assert found == expected
                assert type(found) is type(expected)


TEXT = completed("""\
OpDecorate %rows SpecId 3
OpDecorate %deep SpecId 4
OpDecorate %half_ SpecId 5
OpDecorate %scale SpecId 6
OpDecorate %on SpecId 7
OpName %rows "rows"
OpName %on "on"
OpName %scale "twin"
OpName %deep "twin"
OpCapability Int64
%rows = OpSpecConstant %uint 16
%deep = OpSpecConstant %long -1
%half_ = OpSpecConstant %half 0.5
%scale = OpSpecConstant %float 1.5
%on = OpSpecConstantFalse %bool
%area = OpSpecConstantOp %uint IMul %rows %uint_4
%tile = OpTypeArray %float %area
%pair = OpSpecConstantComposite %v2uint %rows %area
%swapped = OpSpecConstantOp %v2uint VectorShuffle %pair %pair 1 0
""")


def module() -> Module:
    return Module.from_text(TEXT)


def test_a_specialised_module_has_no_specialisation_constants() -> None:
    specialised = module().specialise({3: 64, "on": True, 5: 2, 6: np.float32(0.25)})
    assert not [one for one in specialised.instructions if one.name.startswith("OpSpec")]
    assert "SpecId" not in specialised.to_text()
    values = declarations_of(specialised.instructions).values
    assert {64, 256, -1, 2.0, 0.25, True, (64, 256), (256, 64)} <= set(values.values())
    assert validate(specialised) == []
    assert peer.validate(specialised.to_bytes(), "vulkan1.3") == (True, "")


def test_constants_are_listed_with_their_defaults() -> None:
    listed = [(one.spec_id, one.name, one.default) for one in constants_of(module())]
    assert listed == [(3, "rows", 16), (4, "twin", -1), (5, "", 0.5), (6, "twin", 1.5), (7, "on", False)]


@pytest.mark.parametrize(
    ("definitions", "code", "words"),
    [
        ({9: 1}, "unknown", "SpecIds of the module: 3 (rows), 4 (twin), 5, 6 (twin), 7 (on)"),
        ({"row": 1}, "unknown", "did you mean 'rows'?"),
        ({3: 1, "rows": 2}, "twice", "'rows' and SpecId 3"),
        ({"twin": 1}, "ambiguous", "they have SpecId 4, 6: name one of these"),
        ({3: -1}, "value", "32-bit unsigned integer for SpecId 3, from 0 to 4294967295; found: -1"),
        ({3: 2**32}, "value", "found: 4294967296"),
        ({3: 1.5}, "value", "found: 1.5"),
        ({3: True}, "value", "found: True"),
        ({7: 2}, "value", "bool for SpecId 7; found: 2"),
        ({6: "much"}, "value", "32-bit float for SpecId 6; found: 'much'"),
        ({4: 2**63}, "value", "from -9223372036854775808 to 9223372036854775807"),
    ],
)
def test_wrong_definitions_are_refused(definitions: dict[int | str, object], code: str, words: str) -> None:
    with pytest.raises(CompileError, match=r"spirv\.definition") as caught:
        module().specialise(definitions)
    (found,) = caught.value.diagnostics
    assert found.code == f"spirv.definition.{code}"
    assert words in found.render()
    assert [one.code for one in validate(module(), definitions=definitions)] == [found.code]


def test_all_wrong_definitions_are_told_at_once() -> None:
    with pytest.raises(CompileError) as caught:
        module().specialise({9: 1, 3: -1, 7: 2})
    assert len(caught.value.diagnostics) == 3


def test_what_has_no_value_stays() -> None:
    text = completed(
        "OpDecorate %d SpecId 0\n%d = OpSpecConstant %uint 0\n%q = OpSpecConstantOp %uint UDiv %uint_1 %d\n"
        "%both = OpSpecConstantComposite %v2uint %q %q"
    )
    kept = Module.from_text(text).specialise({})
    names = [one.name for one in kept.instructions if one.name.startswith("OpSpec")]
    assert names == ["OpSpecConstantOp", "OpSpecConstantComposite"]
    divided = Module.from_text(text).specialise({0: 1})
    assert not [one for one in divided.instructions if one.name.startswith("OpSpec")]


def test_a_type_of_no_bits_has_no_numbers() -> None:
    assert number_of(Int(1, 0, signed=True), (7,)) is None
    assert number_of(Int(1, 8, signed=True), (0xFF,)) == -1


def test_constants_with_one_spec_id_have_one_value() -> None:
    text = completed(
        "OpDecorate %a SpecId 3\nOpDecorate %b SpecId 3\n%a = OpSpecConstant %uint 1\n%b = OpSpecConstant %uint 1\n"
        "%sum = OpIAdd %uint %a %b"
    )
    module = Module.from_text(text).specialise({3: 20})
    assert sum(one.name == "OpConstant" and one.words[2:] == (20,) for one in module.instructions) >= 1
    given = declarations_of(Module.from_text(text).specialise({3: 20}).instructions).values.values()
    assert 20 in given and 1 not in given
