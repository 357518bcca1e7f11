"""Rules of products of vectors and matrices, and of transposition (SPIR-V 3.42.13, 3.42.12)."""

from __future__ import annotations

from collections.abc import Callable

from girih.spirv.rules.formats import BFLOAT16, COMPUTABLE, ENCODING, FLOAT8, FORMATS, MICROSCALING, encoding_of
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import RESULT_TYPE, Equal, OnlyWhere, Term, Undetermined, count_of, satisfies, type_of
from girih.spirv.rules.values.operands import (
    FLOAT,
    FLOAT_VECTOR,
    NEWER,
    AcceptedTypes,
    operands_are,
    operands_equal,
    result_is,
)
from girih.spirv.types import CooperativeMatrix, Float, Matrix, Type, Vector

SOURCE = "SPIR-V 3.42.13"
COMPOSITES = "SPIR-V 3.42.12"


def component_of(type: Type) -> Type:
    """The component of a vector, a matrix or a cooperative matrix. Raises `Undetermined` for others."""
    column = type.column if isinstance(type, Matrix) else type
    if isinstance(column, Vector | CooperativeMatrix):
        return column.component
    raise Undetermined


def count(type: Type) -> int:
    """The components of a vector, or the columns of a matrix. Raises `Undetermined` where that is not known."""
    known = count_of(type)
    if known is None:
        raise Undetermined
    return known


def rows_of(type: Type) -> int:
    """The rows of a matrix. Raises `Undetermined` for what is none."""
    return count(column_of(type))


def column_of(type: Type) -> Type:
    """The type of the columns of a matrix. Raises `Undetermined` for what is none."""
    if not isinstance(type, Matrix):
        raise Undetermined
    return type.column


def _is_float_matrix(type: Type) -> bool:
    return isinstance(type, Matrix) and isinstance(type.column, Vector) and isinstance(type.column.component, Float)


def _is_any_matrix(type: Type) -> bool:
    return _is_float_matrix(type) or isinstance(type, CooperativeMatrix)


FLOAT_MATRIX = AcceptedTypes("a matrix of floating-point columns", _is_float_matrix)
ANY_MATRIX = AcceptedTypes("a matrix of floating-point columns or a cooperative matrix", _is_any_matrix)
MATRIX_KIND = AcceptedTypes("a matrix", lambda type: isinstance(type, Matrix))


def of(term: Term, words: str, measure: Callable[[Type], object]) -> Term:
    """A quantity of the type that a term has: `number of columns of the type of Matrix`."""
    return Term(f"the {words} of {term.text}", lambda subject: measure(term.value(subject)))


def component(term: Term) -> Term:
    """The component type of a vector or matrix."""
    return of(term, "component type", component_of)


def columns(term: Term) -> Term:
    """The number of columns of a matrix."""
    return of(term, "number of columns", count)


def rows(term: Term) -> Term:
    """The number of rows of a matrix."""
    return of(term, "number of rows", rows_of)


def size(term: Term) -> Term:
    """The number of components of a vector."""
    return of(term, "number of components", count)


def column(term: Term) -> Term:
    """The type of the columns of a matrix."""
    return of(term, "column type", column_of)


def equal(id: str, blames: str, left: Term, right: Term, says: str, source: str = SOURCE) -> SpirvRow:
    """The row that two types, or two sizes, are the same."""
    return rule(id, blames, Equal(left, right), says, source)


VECTOR_RESULT = result_is(FLOAT_VECTOR, SOURCE)
MATRIX_RESULT = result_is(FLOAT_MATRIX, SOURCE)
SCALAR = equal(
    "scalar", "scalar", type_of("scalar"), component(RESULT_TYPE), "a Scalar of the component type of the result"
)
VECTOR_OPERAND = operands_are(FLOAT_VECTOR, SOURCE, "vector", id="vector")
MATRIX_OPERAND = operands_are(FLOAT_MATRIX, SOURCE, "matrix", id="matrix")
VECTOR, MATRIX = type_of("vector"), type_of("matrix")
LEFT, RIGHT = type_of("left_matrix"), type_of("right_matrix")
FIRST, SECOND = type_of("vector_1"), type_of("vector_2")
ONE_COMPONENT_TYPE = "one component type of the operands and the result"
ROWS_SAY = "as many rows as the result has columns"
COLUMNS_SAY = "as many columns as the result has rows"


def _is_dot_format(type: Type) -> bool:
    encoding = encoding_of(type)
    return encoding not in FLOAT8 and encoding not in MICROSCALING


FAMILIES = (
    family("OpVectorTimesScalar", VECTOR_RESULT, ENCODING, operands_equal(SOURCE, "vector", id="vector"), SCALAR),
    family(
        "OpMatrixTimesScalar",
        result_is(ANY_MATRIX, SOURCE),
        ENCODING,
        operands_equal(SOURCE, "matrix", id="matrix"),
        SCALAR,
    ),
    family(
        "OpVectorTimesMatrix",
        VECTOR_RESULT,
        ENCODING,
        VECTOR_OPERAND,
        MATRIX_OPERAND,
        equal("component_type", "vector matrix", component(VECTOR), component(MATRIX), ONE_COMPONENT_TYPE),
        equal("result_component", "vector", component(VECTOR), component(RESULT_TYPE), ONE_COMPONENT_TYPE),
        equal("columns", "matrix", columns(MATRIX), size(RESULT_TYPE), "as many columns as components in the result"),
        equal("rows", "vector matrix", rows(MATRIX), size(VECTOR), "as many rows as components of Vector"),
    ),
    family(
        "OpMatrixTimesVector",
        VECTOR_RESULT,
        ENCODING,
        MATRIX_OPERAND,
        VECTOR_OPERAND,
        equal("column_type", "matrix", column(MATRIX), RESULT_TYPE, "columns of the type of the result"),
        equal("component_type", "matrix vector", component(MATRIX), component(VECTOR), ONE_COMPONENT_TYPE),
        equal("columns", "matrix vector", columns(MATRIX), size(VECTOR), "as many columns as components of Vector"),
    ),
    family(
        "OpMatrixTimesMatrix",
        MATRIX_RESULT,
        ENCODING,
        operands_are(FLOAT_MATRIX, SOURCE, "left_matrix", "right_matrix"),
        equal("column_type", "left_matrix", column(LEFT), column(RESULT_TYPE), "columns like those of the result"),
        equal("component_type", "right_matrix", component(RIGHT), component(RESULT_TYPE), ONE_COMPONENT_TYPE),
        equal("columns", "right_matrix", columns(RIGHT), columns(RESULT_TYPE), "as many columns as the result has"),
        equal(
            "inner", "left_matrix right_matrix", columns(LEFT), rows(RIGHT), "as many columns as Right Matrix has rows"
        ),
    ),
    family(
        "OpOuterProduct",
        MATRIX_RESULT,
        ENCODING,
        operands_are(FLOAT_VECTOR, SOURCE, "vector_1", "vector_2"),
        equal("column_type", "vector_1", type_of("vector_1"), column(RESULT_TYPE), "the type of the result's columns"),
        equal("component_type", "vector_2", component(SECOND), component(RESULT_TYPE), ONE_COMPONENT_TYPE),
        equal("columns", "vector_2", size(SECOND), columns(RESULT_TYPE), "as many components as columns in the result"),
    ),
    family(
        "OpDot",
        result_is(FLOAT, SOURCE),
        rule(
            "encoding", "result_type",
            satisfies(RESULT_TYPE, "is of a format to compute with", _is_dot_format), COMPUTABLE, FORMATS,
            beyond=NEWER,
        ),
        rule(
            "bfloat16", "result_type",
            OnlyWhere(
                "without capability BFloat16DotProductKHR", lambda s: not s.facts.has("BFloat16DotProductKHR"),
                satisfies(RESULT_TYPE, "is not of format BFloat16KHR", lambda type: encoding_of(type) != BFLOAT16),
            ),
            "capability BFloat16DotProductKHR for a product of format BFloat16KHR", "SPV_KHR_bfloat16",
        ),
        operands_are(FLOAT_VECTOR, SOURCE, "vector_1", "vector_2"),
        equal("component_type", "vector_1", component(FIRST), RESULT_TYPE, "components of the type of the result"),
        equal("component_type_2", "vector_2", component(SECOND), RESULT_TYPE, "components of the type of the result"),
        equal("components", "vector_1 vector_2", size(FIRST), size(SECOND), "as many components in both vectors"),
    ),
    family(
        "OpTranspose",
        result_is(MATRIX_KIND, COMPOSITES),
        operands_are(MATRIX_KIND, COMPOSITES, "matrix"),
        equal(
            "component_type", "matrix", component(MATRIX), component(RESULT_TYPE), ONE_COMPONENT_TYPE, COMPOSITES
        ),
        equal("rows", "matrix", rows(MATRIX), columns(RESULT_TYPE), ROWS_SAY, COMPOSITES),
        equal(
            "columns", "matrix", columns(MATRIX), rows(RESULT_TYPE), COLUMNS_SAY, COMPOSITES
        ),
    ),
)  # fmt: skip
