"""Cooperative matrices made of arrays, and arrays of them (SPV_QCOM_cooperative_matrix_conversion)."""

from __future__ import annotations

from collections.abc import Callable

from girih.spirv.model.facts import Facts
from girih.spirv.rules.matrices.terms import (
    ACCUMULATOR,
    MATRIX_A,
    MATRIX_B,
    SUBGROUP,
    is_matrix,
    known,
    matrix_named,
    type_named,
    with_article,
    word,
)
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import Finds, Subject, Term, Undetermined, is_32_bit_integer, satisfies
from girih.spirv.types import Array, Float, Int, Type

QCOM = "SPV_QCOM_cooperative_matrix_conversion"
CONSTRUCT, EXTRACT = "OpCompositeConstructCoopMatQCOM", "OpCompositeExtractCoopMatQCOM"
BITCAST, SLICE = "OpBitCastArrayQCOM", "OpExtractSubArrayQCOM"

ROW_BITS = 256
"""The bits of a row of A, and of a column of B."""
WORDS = ROW_BITS // 32


def _array(subject: Subject[Facts], name: str) -> Array:
    found = type_named(subject, name)
    if not isinstance(found, Array):
        raise Undetermined
    return found


def _length(facts: Facts, array: Array) -> int:
    """The length of an array. Raises `Undetermined` where it is not known, or rests on the default of a constant."""
    if facts.rests_on_default(array.length_id):
        raise Undetermined
    return known(array.length)


def _is_array(name: str, blames: str, id: str) -> SpirvRow:
    term = Term(word(name) if name == "result" else f"the type of {word(name)}", lambda s: type_named(s, name))
    holds = satisfies(term, "is an array", lambda type: isinstance(type, Array))
    return rule(id, blames, holds, "an array", QCOM)


def _is_number(type: Type, *, integer_bits: int) -> bool:
    if isinstance(type, Int):
        return type.width == integer_bits
    return isinstance(type, Float) and type.encoding is None and type.width in (16, 32)


def _bits(type: Type) -> int:
    if not isinstance(type, Int | Float):
        raise Undetermined
    return type.width


# Arrays of arrays


def _wrong_element(name: str) -> Callable[[Subject[Facts]], str | None]:
    def find(subject: Subject[Facts]) -> str | None:
        found = _array(subject, name).element
        return None if _is_number(found, integer_bits=32) else with_article(found.words)

    return find


def _other_size(subject: Subject[Facts]) -> str | None:
    made, given = _array(subject, "result"), _array(subject, "source_array")
    sizes = [_bits(one.element) * _length(subject.facts, one) for one in (made, given)]
    return None if sizes[0] == sizes[1] else f"{sizes[1]} bits of Source Array, {sizes[0]} of Result Type"


def _other_element(subject: Subject[Facts]) -> str | None:
    made, given = _array(subject, "result").element, _array(subject, "source_array").element
    return None if made is given else f"{given.words}s of Source Array, {made.words}s of Result Type"


# Matrices and arrays


def _matrix_name(subject: Subject[Facts]) -> str:
    return "result" if subject.op.name == CONSTRUCT else "source_cooperative_matrix"


def _parts(subject: Subject[Facts]) -> tuple[Array, Type, int, int]:
    """The array, and the components, the use and the length of a row (of a column for B) of the matrix."""
    matrix = matrix_named(subject, _matrix_name(subject))
    array = _array(subject, "source_array" if subject.op.name == CONSTRUCT else "result")
    use = known(matrix.use)
    return array, matrix.component, use, known(matrix.rows if use == MATRIX_B else matrix.columns)


def _other_scope(subject: Subject[Facts]) -> str | None:
    scope = known(matrix_named(subject, _matrix_name(subject)).scope)
    return None if scope == SUBGROUP else f"scope {scope}"


def _wrong_component(subject: Subject[Facts]) -> str | None:
    matrix = matrix_named(subject, _matrix_name(subject))
    bits = 32 if known(matrix.use) == ACCUMULATOR else 8
    return None if _is_number(matrix.component, integer_bits=bits) else with_article(matrix.component.words)


def _wrong_width(subject: Subject[Facts]) -> str | None:
    _, component, use, length = _parts(subject)
    if use not in (MATRIX_A, MATRIX_B) or length * _bits(component) == ROW_BITS:
        return None
    return f"{length} {component.words}s"


def _rests_on_default(subject: Subject[Facts]) -> bool:
    """Whether the length of a row, or of a column of B, may become another one."""
    matrix = matrix_named(subject, _matrix_name(subject))
    _, rows, columns, _ = matrix.ids
    return subject.facts.rests_on_default(rows if matrix.use == MATRIX_B else columns)


def _wrong_array(subject: Subject[Facts]) -> str | None:
    if _rests_on_default(subject):
        return None
    array, component, use, length = _parts(subject)
    given = _length(subject.facts, array)
    if array.element is component and given == length:
        return None
    packed = length * _bits(component) // 32 if use == ACCUMULATOR else WORDS
    if isinstance(array.element, Int) and array.element.width == 32 and not array.element.signed and given == packed:
        return None
    return f"{array.words}; {length} {component.words}s of the matrix"


FAMILIES = (
    family(
        f"{BITCAST} {SLICE}",
        _is_array("result", "result_type", "result"),
        _is_array("source_array", "source_array", "source"),
        rule(
            "source_element", "source_array",
            Finds("elements are 32-bit integers, or floats of 16 or 32 bits", _wrong_element("source_array")),
            "elements that are 32-bit integers, or floats of 16 or 32 bits", QCOM,
        ),
    ),
    family(
        BITCAST,
        rule(
            "result_element", "result_type",
            Finds("elements are 32-bit integers, or floats of 16 or 32 bits", _wrong_element("result")),
            "elements that are 32-bit integers, or floats of 16 or 32 bits", QCOM,
        ),
        rule(
            "size", "source_array result_type", Finds("size of Result Type = size of Source Array", _other_size),
            "arrays of the same size", QCOM,
        ),
    ),
    family(
        SLICE,
        rule(
            "same_element", "source_array result_type", Finds("the same elements", _other_element),
            "an array of the result's elements", QCOM,
        ),
        rule(
            "index", "index",
            satisfies(Term("the type of Index", lambda s: type_named(s, "index")), "is a 32-bit integer",
                      is_32_bit_integer),
            "a 32-bit integer as index", QCOM,
        ),
    ),
    family(
        CONSTRUCT,
        rule("matrix", "result_type", is_matrix("result"), "a cooperative matrix as result", QCOM),
        _is_array("source_array", "source_array", "array"),
    ),
    family(
        EXTRACT,
        rule(
            "matrix", "source_cooperative_matrix", is_matrix("source_cooperative_matrix"), "a cooperative matrix", QCOM
        ),
        _is_array("result", "result_type", "array"),
    ),
    family(
        f"{CONSTRUCT} {EXTRACT}",
        rule(
            "scope", "source_cooperative_matrix result_type", Finds("the matrix has scope Subgroup", _other_scope),
            "a matrix of a subgroup", QCOM,
        ),
        rule(
            "component", "source_cooperative_matrix result_type",
            Finds("components are floats of 16 or 32 bits, or integers of 8 (accumulator: 32) bits", _wrong_component),
            "floats of 16 or 32 bits, or integers of 8 bits (of an accumulator 32) as components", QCOM,
        ),
        rule(
            "width", "source_cooperative_matrix result_type",
            Finds("a row of A, a column of B has 256 bits", _wrong_width), "256 bits in a row of A, in a column of B",
            QCOM,
        ),
        rule(
            "elements", "source_array result_type", Finds("the array has a row of A or C, a column of B", _wrong_array),
            "an array of a row's (of B a column's) components, or of their bits as 32-bit unsigned integers", QCOM,
        ),
    ),
)  # fmt: skip
