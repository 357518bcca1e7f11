"""Vocabulary of the rules about cooperative matrices: their shapes and uses, constants, functions that they call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from girih.lazy_dataclass import dataclass
from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, words_of_one
from girih.spirv.rules.terms import (
    Faulting,
    Finds,
    Predicate,
    Subject,
    Term,
    Undetermined,
    instruction_of,
    is_32_bit_integer,
    present,
    satisfies,
    words_of,
)  # fmt: skip
from girih.spirv.types import CooperativeMatrix, FunctionType, Type
from girih.spirv.values import ALL_CONSTANTS

KHR = "SPV_KHR_cooperative_matrix"
NV = "SPV_NV_cooperative_matrix2"
EXT = "SPV_EXT_cooperative_matrix_maintenance1"
DECODE_VECTOR = "SPV_NV_cooperative_matrix_decode_vector"

SAW_THE_TYPE_ONLY = "spirv-val looks at the type of the operand, not at what makes it"
NEWER = "spirv-val of 2025 does not know the enumerant"


MATRIX_A, MATRIX_B, ACCUMULATOR = 0, 1, 2
"""Uses of matrices (SPV_KHR_cooperative_matrix 3.X Cooperative Matrix Use)."""

WORKGROUP, SUBGROUP = 2, 3
"""Scopes of matrices (SPIR-V 3.27)."""


def with_article(words: str) -> str:
    """Words with the article that they take."""
    return f"an {words}" if words[:1] in "aeiou" or words.startswith("8-") else f"a {words}"


# Types of matrices


def type_named(subject: Subject[Facts], name: str) -> Type:
    """The type of an operand; `result` is the result's."""
    facts, one = subject.facts, subject.op
    if name == "result":
        return facts.type(one.result_type)
    return facts.type_of(present(subject, name))


def matrix_named(subject: Subject[Facts], name: str) -> CooperativeMatrix:
    """The type of a matrix operand. Raises `Undetermined` for what is no cooperative matrix."""
    found = type_named(subject, name)
    if not isinstance(found, CooperativeMatrix):
        raise Undetermined
    return found


def word(name: str) -> str:
    """The words for an operand, or for the result's type."""
    return "Result Type" if name == "result" else words_of(name)


def is_matrix(name: str) -> Predicate:
    """The predicate that an operand, or the result, is a cooperative matrix of KHR."""
    return satisfies(_type_term(name), "is a cooperative matrix", is_khr)


def is_first_matrix(name: str) -> Predicate:
    """The predicate that an operand, or the result, is a cooperative matrix of SPV_NV_cooperative_matrix."""

    def test(type: Type) -> bool:
        return isinstance(type, CooperativeMatrix) and not is_khr(type)

    return satisfies(_type_term(name), "is a cooperative matrix of SPV_NV_cooperative_matrix", test)


def is_khr(type: Type) -> bool:
    """Whether a type is a cooperative matrix with a use, which the first extension of NV's has not."""
    return isinstance(type, CooperativeMatrix) and type.ids[3] != 0


def _type_term(name: str) -> Term:
    return Term(word(name) if name == "result" else f"the type of {word(name)}", lambda s: type_named(s, name))


def known(value: int | None) -> int:
    """A number. Raises `Undetermined` where it is not known."""
    if value is None:
        raise Undetermined
    return value


FIELDS = ("scope", "rows", "columns", "use")
"""What a matrix type has besides its components, in the order of `CooperativeMatrix.ids`."""


def part(name: str, field: str, *, fixed: bool = False) -> Term:
    """The scope, rows, columns or use of a matrix operand; `fixed`: only of constants that nothing changes."""

    def value(subject: Subject[Facts]) -> int:
        matrix = matrix_named(subject, name)
        if fixed and subject.facts.is_specialised(matrix.ids[FIELDS.index(field)]):
            raise Undetermined
        return known(getattr(matrix, field))

    return Term(f"{field} of {word(name)}", value)


def component(name: str) -> Term:
    """The component type of a matrix operand."""
    return Term(f"the component type of {word(name)}", lambda s: matrix_named(s, name).component)


def has_use(name: str, *wanted: int) -> Predicate:
    """The predicate that a matrix operand has one of some uses."""
    names = [grammar().kinds["CooperativeMatrixUse"].name_of(value) for value in wanted]
    term = Term(
        f"the use of {word(name)}",
        lambda s: grammar().kinds["CooperativeMatrixUse"].name_of(known(matrix_named(s, name).use)),
    )
    return satisfies(term, f"is {' or '.join(names)}", lambda given: given in names)


def agree(*terms: Term) -> Predicate:
    """The predicate that all known terms have the same value."""

    def find(subject: Subject[Facts]) -> str | None:
        values = [(term.text, value) for term in terms if (value := _value(term, subject)) is not None]
        return (
            None
            if len({value for _, value in values}) < 2
            else ", ".join(f"{text} {told(text, value)}" for text, value in values)
        )

    return Finds(" = ".join(term.text for term in terms), find)


def told(text: str, value: object) -> str:
    """The value of a part of a matrix for a message: a scope by its name."""
    return (
        grammar().kinds["Scope"].name_of(value) if text.startswith("scope ") and isinstance(value, int) else str(value)
    )


def _value(term: Term, subject: Subject[Facts]) -> Any:
    try:
        return term.value(subject)
    except Undetermined:
        return None


# Constants


@dataclass(frozen=True, slots=True, eq=False)
class FindsAt(Faulting):
    """The predicate that a search finds nothing wrong; it tells the operands at fault too."""

    words: str
    find: Callable[[Subject[Any]], Fault | None]

    @property
    def text(self) -> str:
        return self.words

    def fault(self, subject: Subject[Facts]) -> Fault | None:
        return self.find(subject)


def constant_int32(*names: str) -> Predicate:
    """The predicate that every operand of some names is a constant of a 32-bit integer type."""
    return FindsAt(
        f"{listed(names)}: constants of a 32-bit integer type", lambda s: first_wrong(s, names, not_constant)
    )


def first_wrong(
    subject: Subject[Facts], names: Iterable[str], wrong: Callable[[Facts, int], str | None]
) -> Fault | None:
    """What is wrong with the first operand of some names with which something is."""
    for name in names:
        operands = [operand for operand in instruction_of(subject).operands if operand.name == name]
        for position, operand in enumerate(operands):
            told = wrong(subject.facts, operand.value) if isinstance(operand.value, int) else None
            if told is not None:
                words = words_of_one(name, position) if len(operands) > 1 else words_of(name)
                if subject.op.name == "OpTensorLayoutSliceNV" and name == "operands":
                    words = f"{('Offset', 'Span')[position % 2]} {position // 2}"
                return Fault(f"{words} is {told}", (operand,))
    return None


def not_int32(facts: Facts, id: int) -> str | None:
    """The type of an id that is no 32-bit integer."""
    type = facts.type_of(id)
    return None if is_32_bit_integer(type) else f"{with_article(type.words)}"


def not_constant(facts: Facts, id: int) -> str | None:
    """What an id is that is no constant of a 32-bit integer type."""
    made = facts.defined_by(id)
    return not_int32(facts, id) or (None if made in ALL_CONSTANTS else f"the result of {made}")


def listed(names: Iterable[str]) -> str:
    """Operands in words, with commas."""
    return ", ".join(words_of(name) for name in names)


def shown(facts: Facts, id: int, value: object) -> str:
    """A value in words, with the name of the specialisation constant that it rests on."""
    if not facts.is_specialised(id):
        return str(value)
    return f"{value} (specialisation constant %{facts.annotations.names.get(id, id)})"


# Functions that matrices call


def function_type(subject: Subject[Facts], name: str) -> FunctionType:
    """The type of the function that an operand names. Raises `Undetermined` where it is no function."""
    made = subject.facts.definition(present(subject, name))
    found = subject.facts.type(made.id("function_type"))
    if made.name != "OpFunction" or not isinstance(found, FunctionType):
        raise Undetermined
    return found


def parameter(subject: Subject[Facts], name: str, position: int) -> Type:
    """The type of a parameter of the function that an operand names. Raises `Undetermined` where it has none."""
    parameters = function_type(subject, name).parameters
    found = parameters[position] if position < len(parameters) else None
    if found is None:
        raise Undetermined
    return found


def is_function(name: str) -> Predicate:
    """The predicate that an operand names a function."""

    def find(subject: Subject[Facts]) -> str | None:
        made = subject.facts.definition(present(subject, name)).name
        return None if made == "OpFunction" else f"{words_of(name)} is the result of {made}"

    return Finds(f"{words_of(name)} is a function", find)


def returns_component(name: str, matrix: str) -> Predicate:
    """The predicate that a function returns the component type of a matrix."""

    def find(subject: Subject[Facts]) -> str | None:
        returned, wanted = function_type(subject, name).returned, matrix_named(subject, matrix).component
        return None if returned is wanted else f"{with_article(returned.words)}; the components are {wanted.words}s"

    return Finds(f"{words_of(name)} returns the component type of {word(matrix)}", find)


def is_specific(name: str, *wanted: str) -> Predicate:
    """The predicate that a pointer operand is in one of some storage classes."""

    def find(subject: Subject[Facts]) -> str | None:
        found = getattr(type_named(subject, name), "storage_class", None)
        return None if found is None or found in wanted else f"a pointer in {found}"

    return Finds(f"{words_of(name)} points into {' or '.join(wanted)}", find)
