"""Matrices made of matrices: conversions of use, transposes, reductions, functions on elements (001)."""

from __future__ import annotations

from girih.diagnostics import plural
from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault
from girih.spirv.rules.matrices.functions import function_row, reach_rows
from girih.spirv.rules.matrices.terms import (
    ACCUMULATOR,
    EXT,
    MATRIX_A,
    MATRIX_B,
    NEWER,
    NV,
    FindsAt,
    agree,
    component,
    function_type,
    has_use,
    is_matrix,
    known,
    matrix_named,
    parameter,
    part,
    returns_component,
    type_named,
    with_article,
)
from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import (
    Equal,
    Finds,
    Subject,
    Term,
    Undetermined,
    instruction_of,
    is_32_bit_integer,
    present,
)
from girih.spirv.types import CooperativeMatrix, Float, Int, Type

TRANSPOSE_DECORATION = "CooperativeMatrixTransposeEXT"
CONVERSIONS = frozenset({
    "OpConvertFToU", "OpConvertFToS", "OpConvertSToF", "OpConvertUToF", "OpUConvert", "OpSConvert", "OpFConvert",
    "OpCooperativeMatrixConvertNV",
})  # fmt: skip
"""Conversions that may transpose what they convert (SPV_EXT_cooperative_matrix_maintenance1)."""

REDUCTIONS = {1: "Row", 2: "Column", 3: "Row|Column", 4: "2x2"}
"""The masks that a reduction may have (001 coopMatReduceNV)."""

OTHER_DIMENSION = {"rows": "columns", "columns": "rows"}


# Changes of use, transposes


def is_transposed(subject: Subject[Facts]) -> bool:
    """Whether a conversion has the decoration by which it transposes."""
    return subject.facts.annotations.has(instruction_of(subject).result, TRANSPOSE_DECORATION)


def _shape(field: str, *, always: bool) -> Finds:
    """The predicate that rows or columns are kept, or exchanged where a matrix is transposed."""

    def find(subject: Subject[Facts]) -> str | None:
        result, matrix = matrix_named(subject, "result"), matrix_named(subject, "matrix")
        other = OTHER_DIMENSION[field] if always or is_transposed(subject) else field
        made, given = known(getattr(result, field)), known(getattr(matrix, other))
        return None if made == given else f"{made} {field} of Result Type, {given} {other} of Matrix"

    other = OTHER_DIMENSION[field] if always else field
    return Finds(f"{field} of Result Type = {other} of Matrix", find)


def _is_signedness_only(one: Type, other: Type) -> bool:
    return isinstance(one, Int) and isinstance(other, Int) and one.width == other.width


def _other_components(subject: Subject[Facts]) -> str | None:
    made, given = matrix_named(subject, "result").component, matrix_named(subject, "matrix").component
    if made is given or _is_signedness_only(made, given):
        return None
    return f"{given.words}s of Matrix, {made.words}s of Result Type"


def _use_kept(subject: Subject[Facts]) -> str | None:
    """A change of use that a conversion cannot make."""
    result, matrix = matrix_named(subject, "result"), matrix_named(subject, "matrix")
    kind = grammar().kinds["CooperativeMatrixUse"]
    made, given = known(result.use), known(matrix.use)
    if given == ACCUMULATOR and made in (MATRIX_A, MATRIX_B):
        return None
    back = subject.facts.has("CooperativeMatrixConversionsEXT") and not is_transposed(subject)
    if back and made == ACCUMULATOR and given in (MATRIX_A, MATRIX_B):
        return None
    return f"{kind.name_of(given)} to {kind.name_of(made)}"


def _same_use_constant(subject: Subject[Facts]) -> str | None:
    result, matrix = matrix_named(subject, "result"), matrix_named(subject, "matrix")
    return "the same constant for both uses" if result.ids[3] == matrix.ids[3] else None


def _no_conversion(subject: Subject[Facts]) -> str | None:
    """What a decoration that asks for a transpose is on, if it is no conversion of a matrix."""
    facts = subject.facts
    if grammar().kinds["Decoration"].name_of(present(subject, "decoration")) != TRANSPOSE_DECORATION:
        return None
    target = facts.definition(present(subject, "target"))
    if target.name not in CONVERSIONS:
        return target.name
    source = next((o.value for o in target.operands if o.kind == "IdRef"), 0)
    if not isinstance(source, int):
        raise Undetermined
    types = (facts.type(target.result_type), facts.type_of(source))
    wrong = next((type for type in types if not isinstance(type, CooperativeMatrix)), None)
    return None if wrong is None else f"{target.name} of {with_article(wrong.words)}"


# Reductions


def _mask(subject: Subject[Facts]) -> str:
    mask = present(subject, "reduce")
    if mask not in REDUCTIONS:
        raise Undetermined
    return REDUCTIONS[mask]


def _wrong_mask(subject: Subject[Facts]) -> str | None:
    mask = present(subject, "reduce")
    return None if mask in REDUCTIONS else grammar().kinds["CooperativeMatrixReduce"].name_of(mask) or "none of them"


def _wrong_shape(subject: Subject[Facts]) -> str | None:
    result, matrix, mask = matrix_named(subject, "result"), matrix_named(subject, "matrix"), _mask(subject)
    if mask == "2x2":
        pairs = [(result.rows, matrix.rows, "rows"), (result.columns, matrix.columns, "columns")]
        for made, given, words in pairs:
            if made is not None and given is not None and 2 * made != given:
                return f"{made} {words} of the result, {given} of the matrix"
    for reduced, field in (("Row", "rows"), ("Column", "columns")):
        made, given = getattr(result, field), getattr(matrix, field)
        if mask == reduced and made is not None and given is not None and made != given:
            return f"{made} {field} of the result, {given} of the matrix"
    return None


def _combines(subject: Subject[Facts]) -> str | None:
    count = len(function_type(subject, "combine_func").parameters)
    return None if count == 2 else f"a function of {plural(count, 'parameter')}"


def _combined_types(subject: Subject[Facts]) -> str | None:
    wanted = matrix_named(subject, "matrix").component
    for position in range(2):
        found = parameter(subject, "combine_func", position)
        if found is not wanted:
            return f"parameter {position + 1} is {with_article(found.words)}; the components are {wanted.words}s"
    return None


def _integers(subject: Subject[Facts]) -> str | None:
    found = matrix_named(subject, "matrix").component
    return None if isinstance(found, Float) else f"{found.words}s"


# Functions on elements


def _few_parameters(subject: Subject[Facts]) -> str | None:
    count = len(function_type(subject, "func").parameters)
    return None if count >= 3 else f"a function of {plural(count, 'parameter')}"


def _position_types(subject: Subject[Facts]) -> str | None:
    for position in range(2):
        found = parameter(subject, "func", position)
        if not is_32_bit_integer(found):
            return f"parameter {position + 1} is {with_article(found.words)}"
    return None


def _element_type(subject: Subject[Facts]) -> str | None:
    found, wanted = parameter(subject, "func", 2), matrix_named(subject, "matrix").component
    return None if found is wanted else f"{with_article(found.words)}; the components are {wanted.words}s"


def _operand_count(subject: Subject[Facts]) -> str | None:
    taken = len(function_type(subject, "func").parameters) - 3
    given = len(subject.op.ids("operands"))
    return None if taken == given else f"{given}; the function takes {taken} after the element"


def _operand_types(subject: Subject[Facts]) -> Fault | None:
    """The first further operand that does not fit: a matrix stands for its element at each place."""
    facts = subject.facts
    whole = matrix_named(subject, "matrix")
    operands = [operand for operand in instruction_of(subject).operands if operand.name == "operands"]
    for position, operand in enumerate(operands):
        found, taken = facts.type_of(subject.op.ids("operands")[position]), parameter(subject, "func", 3 + position)
        if isinstance(found, CooperativeMatrix):
            if found is not whole:
                words = f"operand {position + 1} is {with_article(found.words)}; Matrix is {with_article(whole.words)}"
                return Fault(words, (operand,))
            found = whole.component
        if found is not taken:
            words = f"{with_article(found.words)} for parameter {position + 4}, {with_article(taken.words)}"
            return Fault(words, (operand,))
    return None


OPERANDS_UNSEEN = "spirv-val of 2025 does not look at further operands"
REDUCE = "001 coopMatReduceNV"
APPLY = "001 coopMatPerElementNV"
CONVERT = f"{NV} OpCooperativeMatrixConvertNV"
TRANSPOSE = "001 coopMatTransposeNV"

FAMILIES = (
    family(
        "OpDecorate",
        rule(
            "transposed_conversion", "target",
            Finds(f"{TRANSPOSE_DECORATION} on a conversion of a cooperative matrix", _no_conversion),
            "a conversion of a cooperative matrix as target of CooperativeMatrixTransposeEXT", EXT, beyond=NEWER,
        ),
    ),
    family(
        "OpCooperativeMatrixConvertNV OpCooperativeMatrixTransposeNV OpCooperativeMatrixReduceNV",
        rule("result", "result_type", is_matrix("result"), "a cooperative matrix as result", NV),
        rule("matrix", "matrix", is_matrix("matrix"), "a cooperative matrix", NV),
        rule(
            "scope", "matrix", agree(part("result", "scope"), part("matrix", "scope")),
            "a matrix of the result's scope", NV,
        ),
    ),
    family(
        "OpCooperativeMatrixTransposeNV OpCooperativeMatrixReduceNV",
        rule(
            "matrix_use", "matrix", has_use("matrix", ACCUMULATOR), "MatrixAccumulatorKHR as use of the matrix", NV,
        ),
    ),
    family(
        "OpCooperativeMatrixConvertNV",
        *(
            rule(field, "matrix", _shape(field, always=False), f"a matrix with the result's {field}", CONVERT)
            for field in ("rows", "columns")
        ),
        rule(
            "component", "matrix", Finds("the same components, but for their signs", _other_components),
            "a matrix with the result's components; integers may differ in their signs", CONVERT,
            hint="OpFConvert, OpSConvert, OpUConvert, ... change components and use at once",
        ),
        rule(
            "use_constants", "result_type", Finds("uses by different constants", _same_use_constant),
            "a result of another use", CONVERT, beyond="spirv-val of 2025 compares known uses alone",
        ),
        rule(
            "use", "result_type", Finds("from accumulator to A or B", _use_kept),
            "MatrixAccumulatorKHR converted to MatrixAKHR or MatrixBKHR (with the EXT capability also back)",
            CONVERT,
        ),
    ),
    family(
        "OpCooperativeMatrixTransposeNV",
        *(
            rule(
                field, "matrix", _shape(field, always=True),
                f"a matrix with as many {OTHER_DIMENSION[field]} as the result has {field}", TRANSPOSE,
            )
            for field in ("rows", "columns")
        ),
        rule(
            "result_use", "result_type", has_use("result", MATRIX_B), "MatrixBKHR as use of the result", TRANSPOSE,
        ),
        rule(
            "component", "matrix", Equal(component("matrix"), component("result")),
            "a matrix with the result's components: 001 does not convert them, the SPIR-V extension is silent",
            TRANSPOSE, severity="warning", hint="convert first, then transpose",
        ),
    ),
    family(
        "OpCooperativeMatrixReduceNV",
        rule(
            "component", "matrix", Equal(component("matrix"), component("result")),
            "a matrix with the result's components", REDUCE,
        ),
        rule(
            "result_use", "result_type", has_use("result", ACCUMULATOR),
            "MatrixAccumulatorKHR as use of the result", REDUCE,
        ),
        rule(
            "mask", "reduce", Finds("Row, Column, Row|Column or 2x2", _wrong_mask),
            "Row, Column, both, or 2x2 alone", REDUCE,
        ),
        rule(
            "shape", "result_type reduce", Finds("the shape fits what is reduced", _wrong_shape),
            "a result with the matrix's rows for Row, its columns for Column, half of both for 2x2", REDUCE,
        ),
        function_row("combine_func", "combine_", REDUCE),
        rule(
            "combine_parameters", "combine_func", Finds("CombineFunc has two parameters", _combines),
            "a function of two parameters", REDUCE,
        ),
        rule(
            "combine_types", "combine_func", Finds("CombineFunc takes two components", _combined_types),
            "parameters of the component type", REDUCE,
        ),
        rule(
            "combine_result", "combine_func", returns_component("combine_func", "matrix"),
            "a function that returns the component type", REDUCE,
        ),
        *reach_rows("combine_func", "combine_"),
        rule(
            "integers", "matrix", Finds("components of Matrix are floats", _integers),
            "a matrix of floats: 001 reduces no others, though the SPIR-V extension does", REDUCE, severity="warning",
        ),
    ),
    family(
        "OpCooperativeMatrixPerElementOpNV",
        function_row("func", "", APPLY),
        rule("matrix", "matrix", is_matrix("matrix"), "a cooperative matrix", APPLY),
        rule(
            "result", "result_type matrix",
            Equal(Term("Result Type", lambda s: type_named(s, "result")),
                  Term("the type of Matrix", lambda s: type_named(s, "matrix"))),
            "a result of the matrix's type", APPLY,
        ),
        rule(
            "function_result", "func", returns_component("func", "matrix"),
            "a function that returns the component type", APPLY,
        ),
        rule(
            "parameters", "func", Finds("Func has at least three parameters", _few_parameters),
            "a function of at least three parameters: row, column, element", APPLY,
        ),
        rule(
            "positions", "func", Finds("the first two are 32-bit integers", _position_types),
            "32-bit integers as first two parameters: row and column", APPLY,
        ),
        rule(
            "element", "func", Finds("the third is a component", _element_type),
            "the component type as third parameter", APPLY,
        ),
        rule(
            "operand_count", "operands func", Finds("an operand for each further parameter", _operand_count),
            "as many further operands as the function has further parameters", APPLY, beyond=OPERANDS_UNSEEN,
        ),
        rule(
            "operand_types", "operands", FindsAt("operands fit their parameters", _operand_types),
            "further operands of the types of their parameters; of matrices of Matrix's type the components", APPLY,
            beyond=OPERANDS_UNSEEN,
        ),
        *reach_rows("func", ""),
    ),
)  # fmt: skip
