"""Rules of arithmetic on numbers: scalars, vectors, and cooperative matrices where their extension has them."""

from __future__ import annotations

from collections.abc import Callable

from girih.spirv.rules.formats import ENCODING
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import Undetermined, is_integer_or_vector, is_unsigned, scalar_of
from girih.spirv.rules.values.operands import (
    FLOAT_ELEMENTS,
    FLOATS,
    INTEGER_ELEMENTS,
    INTEGERS,
    UNSIGNED,
    UNSIGNED_ELEMENTS,
    AcceptedTypes,
    Operands,
    listed,
    operands_are,
    operands_equal,
    operands_match,
    result_is,
    same_components,
    same_shape,
    same_width,
)
from girih.spirv.types import CooperativeMatrix, Struct, Type

SOURCE = "SPIR-V 3.42.13"
BINARY = ("operand_1", "operand_2")

INTEGER_ELEMENTS_RESULT = result_is(INTEGER_ELEMENTS, SOURCE)
FLOAT_ELEMENTS_RESULT = result_is(FLOAT_ELEMENTS, SOURCE)
EQUAL = operands_equal(SOURCE, *BINARY)
ALIKE = operands_match(SOURCE, *BINARY)
COMPONENTS = same_components(SOURCE, *BINARY)
WIDTH = same_width(SOURCE, *BINARY)
SHAPE = same_shape(SOURCE, *BINARY)


def _is_multiplied(type: Type) -> bool:
    has_no_use = isinstance(type, CooperativeMatrix) and not type.ids[-1]
    return FLOAT_ELEMENTS.test(type) and not has_no_use


MULTIPLIED = AcceptedTypes(
    "a floating-point scalar, vector or cooperative matrix, which is none of SPV_NV_cooperative_matrix", _is_multiplied
)


def _members(type: Type) -> tuple[Type | None, ...]:
    return type.members if isinstance(type, Struct) else ()


def _pair_of(words: str, test: Callable[[Type], bool]) -> SpirvRow:
    """The row `result`: a struct of two members of the same type, which passes a test."""

    def holds(type: Type) -> bool:
        members = _members(type)
        if len(members) == 2 and members[0] is None:
            raise Undetermined
        return len(members) == 2 and members[0] is members[1] and members[0] is not None and test(members[0])

    return result_is(AcceptedTypes(f"a struct of two members, both of one type, {words}", holds), SOURCE)


MEMBER_OPERANDS = rule(
    "operands",
    " ".join(BINARY),
    Operands(BINARY, "each of the type of the result's members", lambda result, type: type in _members(result)),
    f"{listed(BINARY)} of the type of the result's members",
    SOURCE,
)

FAMILIES = (
    family(
        "OpIAdd OpISub OpIMul OpSDiv",
        INTEGER_ELEMENTS_RESULT,
        operands_are(INTEGER_ELEMENTS, SOURCE, *BINARY),
        COMPONENTS,
        WIDTH,
        SHAPE,
    ),
    family("OpSRem OpSMod", result_is(INTEGERS, SOURCE), operands_are(INTEGERS, SOURCE, *BINARY), COMPONENTS, WIDTH),
    family(
        "OpSNegate",
        INTEGER_ELEMENTS_RESULT,
        operands_are(INTEGER_ELEMENTS, SOURCE, "operand"),
        same_components(SOURCE, "operand"),
        same_width(SOURCE, "operand"),
        same_shape(SOURCE, "operand"),
    ),
    family("OpUDiv", result_is(UNSIGNED_ELEMENTS, SOURCE), ALIKE, SHAPE),
    family("OpUMod", result_is(UNSIGNED, SOURCE), EQUAL),
    family("OpFAdd OpFSub OpFDiv", FLOAT_ELEMENTS_RESULT, ENCODING, ALIKE, SHAPE),
    family("OpFMul", result_is(MULTIPLIED, SOURCE), ENCODING, EQUAL),
    family("OpFRem OpFMod", result_is(FLOATS, SOURCE), ENCODING, EQUAL),
    family(
        "OpFNegate", FLOAT_ELEMENTS_RESULT, ENCODING, operands_match(SOURCE, "operand"), same_shape(SOURCE, "operand")
    ),
    family(
        "OpFmaKHR", FLOAT_ELEMENTS_RESULT, ENCODING, operands_match("SPV_KHR_fma", *BINARY, "operand_3"),
        same_shape("SPV_KHR_fma", *BINARY, "operand_3"),
    ),
    family(
        "OpIAddCarry OpISubBorrow OpUMulExtended",
        _pair_of("an unsigned integer scalar or vector", lambda type: is_unsigned(scalar_of(type))),
        MEMBER_OPERANDS,
    ),
    family("OpSMulExtended", _pair_of("an integer scalar or vector", is_integer_or_vector), MEMBER_OPERANDS),
)  # fmt: skip
