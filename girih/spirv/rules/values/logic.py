"""Rules of comparisons, logic and selection (SPIR-V 3.42.15)."""

from __future__ import annotations

from girih.spirv.model.facts import Facts
from girih.spirv.rules.formats import COMPUTABLE, FORMATS, is_computable
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Equal,
    Holds,
    Subject,
    Term,
    Undetermined,
    is_pointer,
    is_scalar,
    type_of,
)
from girih.spirv.rules.values.operands import (
    BOOL,
    BOOL_VECTOR,
    BOOLS,
    FLOATS,
    INTEGERS,
    NEWER,
    AcceptedTypes,
    each_is,
    element_width,
    operands_are,
    operands_equal,
    result_is,
    same_components,
)
from girih.spirv.types import Array, Matrix, Opaque, Struct, Vector
from girih.spirv.vocabulary import IMAGE_TYPES

SOURCE = "SPIR-V 3.42.15"
BINARY = ("operand_1", "operand_2")
RESULT = result_is(BOOLS, SOURCE)

FLOAT_COMPARISONS = (
    "OpFOrdEqual OpFUnordEqual OpFOrdNotEqual OpFUnordNotEqual OpFOrdLessThan OpFUnordLessThan OpFOrdGreaterThan "
    "OpFUnordGreaterThan OpFOrdLessThanEqual OpFUnordLessThanEqual OpFOrdGreaterThanEqual OpFUnordGreaterThanEqual"
)
INTEGER_COMPARISONS = (
    "OpIEqual OpINotEqual OpUGreaterThan OpSGreaterThan OpUGreaterThanEqual OpSGreaterThanEqual OpULessThan "
    "OpSLessThan OpULessThanEqual OpSLessThanEqual"
)


def _floats(*names: str, beyond: str | None = None) -> tuple[SpirvRow, ...]:
    """The rows of instructions that tell something of floats: result, operands, their format, their components."""
    format = AcceptedTypes("of a format to compute with", is_computable)
    encoding = rule("encoding", " ".join(names), each_is(format, *names), COMPUTABLE, FORMATS, beyond=beyond)
    return RESULT, operands_are(FLOATS, SOURCE, *names), encoding, same_components(SOURCE, *names)


def _one_type(left: str, right: str) -> SpirvRow:
    """The row `operand_type`: both operands have one type."""
    return rule("operand_type", f"{left} {right}", Equal(type_of(left), type_of(right)), "operands of one type", SOURCE)


def _component_width(name: str) -> Term:
    return Term(f"the width of {type_of(name).text}", lambda s: element_width(s.facts.type_of(s.op.id(name))))


def _is_selected(subject: Subject[Facts]) -> bool:
    """Whether OpSelect may give a value of its result type (SPIR-V 3.42.15, "Before version 1.4")."""
    type = RESULT_TYPE.value(subject)
    match type:
        case Array() | Matrix() | Struct():
            return since_1_4(subject)
        case Opaque():
            return type.name in IMAGE_TYPES and subject.facts.has("BindlessTextureNV")
    return is_scalar(type) or is_pointer(type) or isinstance(type, Vector)


def since_1_4(subject: Subject[Facts]) -> bool:
    """Whether the module is of version 1.4 or later."""
    return subject.facts.module.header.version >= (1, 4)


def _fits_condition(subject: Subject[Facts]) -> bool:
    """Whether the condition selects whole objects, or has a component for each of theirs."""
    condition, result = subject.facts.type_of(subject.op.id("condition")), RESULT_TYPE.value(subject)
    if not isinstance(condition, Vector):
        return since_1_4(subject) or not isinstance(result, Vector)
    if not isinstance(result, Vector):
        return False
    if condition.count is None or result.count is None:
        raise Undetermined
    return condition.count == result.count


def _conditions(subject: Subject[Facts]) -> str:
    condition = subject.facts.type_of(subject.op.id("condition"))
    return f"the type of Condition is {condition}, Result Type is {RESULT_TYPE.value(subject)}"


FAMILIES = (
    family("OpAny OpAll", result_is(BOOL, SOURCE), operands_are(BOOL_VECTOR, SOURCE, "vector")),
    family("OpIsNan OpIsInf OpIsFinite OpIsNormal OpSignBitSet", *_floats("x")),
    family("OpLessOrGreater OpOrdered OpUnordered", *_floats("x", "y", beyond=NEWER), _one_type("x", "y")),
    family(FLOAT_COMPARISONS, *_floats(*BINARY, beyond=NEWER), _one_type(*BINARY)),
    family(
        INTEGER_COMPARISONS,
        RESULT,
        operands_are(INTEGERS, SOURCE, *BINARY),
        same_components(SOURCE, *BINARY),
        rule(
            "width",
            " ".join(BINARY),
            Equal(_component_width("operand_1"), _component_width("operand_2")),
            "operands of components of one width",
            SOURCE,
        ),
    ),
    family("OpLogicalEqual OpLogicalNotEqual OpLogicalOr OpLogicalAnd", RESULT, operands_equal(SOURCE, *BINARY)),
    family("OpLogicalNot", RESULT, operands_equal(SOURCE, "operand")),
    family(
        "OpSelect",
        rule(
            "result",
            "result_type",
            Holds("Result Type is a type to select", _is_selected, lambda s: f"Result Type is {RESULT_TYPE.value(s)}"),
            "a scalar, a vector or a pointer as Result Type; from SPIR-V 1.4 on also an array, a matrix or a struct",
            SOURCE,
        ),
        operands_are(BOOLS, SOURCE, "condition", id="condition"),
        rule(
            "components",
            "condition",
            Holds("Condition has as many components as Result Type, or is a scalar", _fits_condition, _conditions),
            "a Condition with a component for each of the result's; from SPIR-V 1.4 on also a scalar",
            SOURCE,
        ),
        operands_equal(SOURCE, "object_1", "object_2", id="objects"),
    ),
)
