"""What rows about instructions that compute are made of: kinds of types, and predicates about several operands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from girih.lazy_dataclass import dataclass
from girih.spirv.instruction import Operand
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, words_of_one
from girih.spirv.rules.row import SpirvRow, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Faulting,
    Subject,
    Undetermined,
    count_of,
    is_bool_or_vector,
    is_float_or_vector,
    is_integer,
    is_integer_or_vector,
    is_unsigned,
    satisfies,
    scalar_of,
    width_of,
    words_of,
)
from girih.spirv.types import Bool, CooperativeMatrix, Float, Type, Vector

Test = Callable[[Type], bool]


class AcceptedTypes(NamedTuple):
    """Types that an instruction takes: in words, with an article, and the test for them."""

    words: str
    test: Test


def number_type(type: Type) -> Type:
    """The type of the numbers that a value consists of: a vector's or cooperative matrix' component, else the type."""
    return type.component if isinstance(type, Vector | CooperativeMatrix) else type


def is_vector(type: Type) -> bool:
    """Whether a type is a vector."""
    return isinstance(type, Vector)


def vector_of(test: Test) -> Test:
    """The test for vectors whose component passes a test."""
    return lambda type: isinstance(type, Vector) and test(type.component)


def _elements(test: Test) -> Test:
    return lambda type: test(number_type(type))


def _is_float(type: Type) -> bool:
    return isinstance(type, Float)


INTEGER = AcceptedTypes("an integer scalar", is_integer)
INTEGERS = AcceptedTypes("an integer scalar or vector", is_integer_or_vector)
INTEGER_ELEMENTS = AcceptedTypes("an integer scalar, vector or cooperative matrix", _elements(is_integer))
UNSIGNED_SCALAR = AcceptedTypes("an unsigned integer scalar", is_unsigned)
UNSIGNED = AcceptedTypes("an unsigned integer scalar or vector", lambda type: is_unsigned(scalar_of(type)))
UNSIGNED_ELEMENTS = AcceptedTypes("an unsigned integer scalar, vector or cooperative matrix", _elements(is_unsigned))
FLOAT = AcceptedTypes("a floating-point scalar", _is_float)
FLOATS = AcceptedTypes("a floating-point scalar or vector", is_float_or_vector)
FLOAT_ELEMENTS = AcceptedTypes("a floating-point scalar, vector or cooperative matrix", _elements(_is_float))
FLOAT_VECTOR = AcceptedTypes("a vector of floating-point components", vector_of(_is_float))
BOOL = AcceptedTypes("a boolean scalar", lambda type: isinstance(type, Bool))
BOOLS = AcceptedTypes("a boolean scalar or vector", is_bool_or_vector)
BOOL_VECTOR = AcceptedTypes("a vector of booleans", vector_of(lambda type: isinstance(type, Bool)))
VECTOR = AcceptedTypes("a vector", is_vector)


def result_is(kind: AcceptedTypes, source: str) -> SpirvRow:
    """The row `result`: the type of the result is of a kind."""
    holds = satisfies(RESULT_TYPE, f"is {kind.words}", kind.test)
    return rule("result", "result_type", holds, f"{kind.words} as Result Type", source)


@dataclass(frozen=True, slots=True, eq=False)
class Operands(Faulting):
    """The predicate that the type of each of some operands passes a test beside the type of the result.

    `names` are the operands, of which a repeated one stands for all that it has. Operands whose type is not known are
    passed over; where no known one fails, the predicate is `Undetermined`.
    """

    names: tuple[str, ...]
    words: str
    test: Callable[[Type, Type], bool]
    shows_result: bool = True

    @property
    def text(self) -> str:
        return f"{listed(self.names)}: {self.words}"

    def fault(self, subject: Subject[Facts]) -> Fault | None:
        facts = subject.facts
        result = facts.type(subject.op.result_type)
        unknown = False
        for operand in operands_of(subject, self.names):
            try:
                type = facts.type_of(id_of(operand))
                if not self.test(result, type):
                    return Fault(self._came(label_of(subject, operand), type, result), (operand,))
            except Undetermined:
                unknown = True
        if unknown:
            raise Undetermined
        return None

    def _came(self, label: str, type: Type, result: Type) -> str:
        if not self.shows_result:
            return f"the type of {label} is {type}"
        if type is result:
            return f"the type of {label} is {type} too"
        if str(type) == str(result):
            return f"the type of {label} is another {type}"
        return f"the type of {label} is {type}, Result Type is {result}"


def operands_of(subject: Subject[Facts], names: Collection[str]) -> Iterator[Operand]:
    """The ids among some operands, in order."""
    return (operand for operand in subject.op.operands if operand.name in names and operand.is_id)


def label_of(subject: Subject[Facts], operand: Operand) -> str:
    """The words that messages call an operand by: of a repeated one `Constituent 2`, from 0."""
    if not isinstance(subject.op.get(operand.name), tuple):
        return words_of(operand.name)
    before = [one.word for one in operands_of(subject, (operand.name,))]
    return words_of_one(operand.name, before.index(operand.word))


def id_of(operand: Operand) -> int:
    """The id that an operand refers to, 0 where it refers to none."""
    return operand.value if isinstance(operand.value, int) else 0


def listed(names: Sequence[str]) -> str:
    """Operands in words: `Operand 1 and Operand 2`."""
    words = [words_of(name) for name in names]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def each_is(kind: AcceptedTypes, *names: str) -> Operands:
    """The predicate that each operand is of a kind, whatever the result is."""
    return Operands(names, f"each {kind.words}", lambda _, type: kind.test(type), shows_result=False)


def operands_are(kind: AcceptedTypes, source: str, *names: str, id: str = "operands") -> SpirvRow:
    """The row that operands are of a kind."""
    return rule(id, " ".join(names), each_is(kind, *names), f"{kind.words} as {listed(names)}", source)


def operands_match(source: str, *names: str) -> SpirvRow:
    """The row `operands`: operands have the type of the result, cooperative ones its components."""
    holds = Operands(names, "each of Result Type", is_alike)
    return rule("operands", " ".join(names), holds, f"{listed(names)} of the type of the result", source)


def operands_equal(source: str, *names: str, id: str = "operands") -> SpirvRow:
    """The row that operands have exactly the type of the result."""
    holds = Operands(names, "each of Result Type", lambda result, type: type is result)
    return rule(id, " ".join(names), holds, f"{listed(names)} of the type of the result", source)


def is_alike(result: Type, type: Type) -> bool:
    """Whether two types are the same, or both cooperative with the same components; sizes are another row's."""
    if isinstance(result, CooperativeMatrix) and isinstance(type, CooperativeMatrix):
        return type.component is result.component
    if isinstance(result, Vector) and isinstance(type, Vector) and result.cooperative and type.cooperative:
        return type.component is result.component
    return type is result


def same_components(source: str, *names: str) -> SpirvRow:
    """The row `components`: operands have as many components as the result."""
    holds = Operands(names, "each with as many components as Result Type", counts_agree)
    says = f"as many components in {listed(names)} as in the result"
    return rule("components", " ".join(names), holds, says, source)


def counts_agree(result: Type, type: Type) -> bool:
    """Whether two types have as many components; of cooperative matrices that is the shape, another row's."""
    if isinstance(result, CooperativeMatrix) or isinstance(type, CooperativeMatrix):
        return isinstance(result, CooperativeMatrix) and isinstance(type, CooperativeMatrix)
    counts = count_of(result), count_of(type)
    if None in counts:
        raise Undetermined
    return counts[0] == counts[1]


def same_width(source: str, *names: str) -> SpirvRow:
    """The row `width`: components of operands are as wide as those of the result."""
    holds = Operands(names, "components as wide as those of Result Type", widths_agree)
    says = f"components in {listed(names)} as wide as those of the result"
    return rule("width", " ".join(names), holds, says, source)


def widths_agree(result: Type, type: Type) -> bool:
    """Whether the components of two types have the same number of bits."""
    return element_width(result) == element_width(type)


def element_width(type: Type) -> int:
    """The bits of a component. Raises `Undetermined` for what has none."""
    width = width_of(number_type(type))
    if width is None:
        raise Undetermined
    return width


# Cooperative matrices

MATRIX_PARTS = ("scope", "rows", "columns", "use")
SCOPE, ROWS, COLUMNS, USE = range(4)
ACCUMULATOR = 2
_SWAPPED = (SCOPE, COLUMNS, ROWS, USE)


class Difference(NamedTuple):
    """A part in which two cooperative matrices differ: its index in `MATRIX_PARTS`, and the constants of both."""

    part: int
    result: int
    operand: int


def shape_difference(
    facts: Facts, result: Type, type: Type, *, swapped: bool = False, use: bool = True
) -> Difference | None:
    """The first part in which the shapes of two cooperative matrices differ; None for others, and where not known.

    Sizes that rest on the defaults of different specialisation constants are not known to differ.
    `swapped`: the rows of one are the columns of the other. `use`: whether their uses count.
    """
    if not isinstance(result, CooperativeMatrix) or not isinstance(type, CooperativeMatrix):
        return None
    for part in range(len(MATRIX_PARTS) if use else USE):
        ids = result.ids[_SWAPPED[part] if swapped else part], type.ids[part]
        values = facts.declarations.values.get(ids[0]), facts.declarations.values.get(ids[1])
        if None not in values and values[0] != values[1] and not _may_agree(facts, *ids):
            return Difference(part, *ids)
    return None


def _may_agree(facts: Facts, left: int, right: int) -> bool:
    """Whether other values of specialisation constants may make two constants equal."""
    assumed = facts.declarations.assumed
    return assumed.get(left) != assumed.get(right) and (facts.rests_on_default(left) or facts.rests_on_default(right))


def difference_words(facts: Facts, label: str, found: Difference) -> str:
    """A difference in words: the operand's part, and the result's."""
    came, wanted = constant_words(facts, found.operand), constant_words(facts, found.result)
    return f"{MATRIX_PARTS[found.part]} of {label}: {came}, of the result: {wanted}"


def constant_words(facts: Facts, id: int) -> str:
    """The value of a constant, with the name of the specialisation constant that it is."""
    value = facts.declarations.values.get(id)
    shown = "?" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    if not facts.is_specialised(id):
        return shown
    name = facts.annotations.names.get(id)
    return f"{shown} (specialisation constant {'%' + name if name else ''}".rstrip() + ")"


def same_shape(source: str, *names: str) -> SpirvRow:
    """The row `shape`: cooperative matrices have the scope, the rows, the columns and the use of the result."""

    says = f"{listed(names)} with the scope, the rows, the columns and the use of the result"
    return rule("shape", " ".join(names), SameShape(names), says, source)


@dataclass(frozen=True, slots=True, eq=False)
class SameShape(Faulting):
    """The predicate that cooperative matrices have the shape of the result, by the values of constants."""

    names: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{listed(self.names)}: cooperative matrices of the scope, rows, columns and use of Result Type"

    def fault(self, subject: Subject[Facts]) -> Fault | None:
        facts = subject.facts
        result = facts.type(subject.op.result_type)
        if isinstance(result, CooperativeMatrix):
            for operand in operands_of(subject, self.names):
                found = shape_difference(facts, result, facts.type_of(id_of(operand)))
                if found is not None:
                    return Fault(difference_words(facts, label_of(subject, operand), found), (operand,))
        return None


NEWER = "SPIRV-Tools 2025.5 does not know the rule yet"
"""Why spirv-val of the wheel accepts what newer ones reject."""
