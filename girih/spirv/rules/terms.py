"""Terms and predicates about instructions of a module: what rows are made of.

The subject of a row is an `Instruction`, its facts are the `Facts` of the module. Operands are named as the grammar
names them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from girih.lazy_dataclass import dataclass
from girih.rules.predicates import Equal, Holds, Satisfies
from girih.rules.row import Predicate, Subject, Undetermined
from girih.rules.terms import Term
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Analysis, Fault, words_of
from girih.spirv.types import Bool, Float, Int, Matrix, Pointer, Type, Vector

__all__ = ["Equal", "Holds", "Predicate", "Satisfies", "Subject", "Term", "Undetermined", "words_of"]


def instruction_of(subject: Subject[Facts]) -> Instruction:
    """The instruction of a subject, typed."""
    one = subject.op
    assert isinstance(one, Instruction)
    return one


def type_of(name: str) -> Term:
    """The type of the value that an operand names."""
    return Term(f"the type of {words_of(name)}", lambda s: s.facts.type_of(present(s, name)))


def declared_type(name: str) -> Term:
    """The type that an operand names, such as that of `result_type`."""
    return Term(words_of(name), lambda s: s.facts.type(present(s, name)))


RESULT_TYPE = Term("Result Type", lambda s: s.facts.type(s.op.result_type or _undetermined()))
"""The type of the result."""


def constant(name: str) -> Term:
    """The value of the constant that an operand names."""
    return Term(words_of(name), lambda s: s.facts.value(present(s, name)))


def literal(name: str) -> Term:
    """The number that an operand is: a literal, or the value of an enumerant."""
    return Term(words_of(name), lambda s: present(s, name))


def enumerant(name: str, kind: str) -> Term:
    """The name of the enumerant that an operand is."""
    return Term(words_of(name), lambda s: grammar().kinds[kind].name_of(present(s, name)))


def present(subject: Subject[Facts], name: str) -> int:
    """The id or number of an operand. Raises `Undetermined` where it is absent."""
    value = subject.op.get(name)
    return value if isinstance(value, int) else _undetermined()


def _undetermined() -> int:
    raise Undetermined


def satisfies(term: Term, words: str, test: Callable[[Any], bool]) -> Satisfies:
    """The predicate that a term passes a test; `words` read after the term: `is an integer scalar`."""
    return Satisfies(term, words, test)


def same(left: Term, right: Term) -> Equal:
    """The predicate that two terms are the same type or number."""
    return Equal(left, right)


@dataclass(frozen=True, slots=True, eq=False)
class Finds(Predicate):
    """The predicate that a search finds nothing wrong; what it finds is what came. `words` say what it demands."""

    words: str
    find: Callable[[Subject[Any]], str | None]

    @property
    def text(self) -> str:
        return self.words

    def holds(self, subject: Subject[Any]) -> bool:
        return self.find(subject) is None

    def came(self, subject: Subject[Any]) -> str:
        return self.find(subject) or ""


def names_type(name: str, words: str, test: Callable[[Type], bool]) -> Finds:
    """The predicate that an operand names a type, and that this passes a test; what makes no type fails it too."""

    def find(subject: Subject[Facts]) -> str | None:
        id = present(subject, name)
        made = subject.facts.definition(id).name
        if not made.startswith("OpType"):
            return f"{words_of(name)} is the result of {made}"
        type = subject.facts.type(id)
        return None if test(type) else f"{words_of(name)} is {type.words}"

    return Finds(f"{words_of(name)} {words}", find)


class Faulting(Predicate):
    """A predicate that tells what is wrong as a `Fault`: a diagnostic points at the operands that the fault names."""

    __slots__ = ()

    @abstractmethod
    def fault(self, subject: Subject[Facts]) -> Fault | None:
        """The fault about the subject, if there is one. Raises `Undetermined` where that cannot be said."""

    def holds(self, subject: Subject[Any]) -> bool:
        return self.fault(subject) is None

    def came(self, subject: Subject[Any]) -> str:
        fault = self.fault(subject)
        return fault.came if fault else ""

    def hint(self, subject: Subject[Any]) -> str | None:
        fault = self.fault(subject)
        return fault.hint if fault else None


@dataclass(frozen=True, slots=True, eq=False)
class Faultless(Faulting):
    """The predicate that a search of the instruction finds no fault, which says what came and which operands did."""

    words: str
    search: Callable[[Subject[Any]], Fault | None]

    @property
    def text(self) -> str:
        return self.words

    def fault(self, subject: Subject[Facts]) -> Fault | None:
        return self.search(subject)


@dataclass(frozen=True, slots=True, eq=False)
class Analysed(Faulting):
    """The predicate that an analysis of the module, made once, finds nothing wrong with an instruction.

    What the analysis says came is what the diagnostic says; it points at the operands that the analysis blames.
    """

    words: str
    analysis: Analysis

    @property
    def text(self) -> str:
        return self.words

    def fault(self, subject: Subject[Facts]) -> Fault | None:
        return subject.facts.once(self.analysis).get(subject.op.index)


@dataclass(frozen=True, slots=True, eq=False)
class IfPresent(Predicate):
    """A predicate that must hold only where an optional operand is present."""

    name: str
    then: Predicate

    @property
    def text(self) -> str:
        return f"with {words_of(self.name)}: {self.then.text}"

    def holds(self, subject: Subject[Any]) -> bool:
        return subject.op.get(self.name) is None or self.then.holds(subject)

    def came(self, subject: Subject[Any]) -> str:
        return self.then.came(subject)

    def hint(self, subject: Subject[Any]) -> str | None:
        return self.then.hint(subject)


@dataclass(frozen=True, slots=True, eq=False)
class OnlyWhere(Predicate):
    """A predicate that must hold only where a condition does; `words` say which: `with capability Shader`."""

    words: str
    condition: Callable[[Subject[Any]], bool]
    then: Predicate

    @property
    def text(self) -> str:
        return f"{self.words}: {self.then.text}"

    def holds(self, subject: Subject[Any]) -> bool:
        return not self.condition(subject) or self.then.holds(subject)

    def came(self, subject: Subject[Any]) -> str:
        return self.then.came(subject)

    def hint(self, subject: Subject[Any]) -> str | None:
        return self.then.hint(subject)


@dataclass(frozen=True, slots=True, eq=False)
class All(Predicate):
    """Several predicates at once; the first that does not hold tells what came."""

    parts: tuple[Predicate, ...]

    @property
    def text(self) -> str:
        return "; ".join(part.text for part in self.parts)

    def holds(self, subject: Subject[Any]) -> bool:
        return all(part.holds(subject) for part in self.parts)

    def came(self, subject: Subject[Any]) -> str:
        return next((part.came(subject) for part in self.parts if not part.holds(subject)), "")


def one_of(names: Iterable[str]) -> str:
    """Names in words: `A`, `A or B`, `A, B or C`."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def scalar_of(type: Type) -> Type:
    """The component type of a vector, else the type itself."""
    return type.component if isinstance(type, Vector) else type


def is_integer(type: Type) -> bool:
    """Whether a type is an integer scalar."""
    return isinstance(type, Int)


def is_32_bit_integer(type: Type) -> bool:
    """Whether a type is an integer scalar of 32 bits, of either signedness."""
    return isinstance(type, Int) and type.width == 32


def is_unsigned(type: Type) -> bool:
    """Whether a type is an unsigned integer scalar."""
    return isinstance(type, Int) and not type.signed


def is_bool(type: Type) -> bool:
    """Whether a type is the boolean scalar."""
    return isinstance(type, Bool)


def is_integer_or_vector(type: Type) -> bool:
    """Whether a type is an integer scalar or a vector of integers."""
    return isinstance(scalar_of(type), Int)


def is_float_or_vector(type: Type) -> bool:
    """Whether a type is a floating-point scalar or vector."""
    return isinstance(scalar_of(type), Float)


def is_bool_or_vector(type: Type) -> bool:
    """Whether a type is a boolean scalar or vector."""
    return isinstance(scalar_of(type), Bool)


def is_scalar(type: Type) -> bool:
    """Whether a type is a scalar: a number or a boolean."""
    return isinstance(type, Int | Float | Bool)


def is_pointer(type: Type) -> bool:
    """Whether a type is a pointer."""
    return isinstance(type, Pointer)


def width_of(type: Type) -> int | None:
    """The bits of a component; None for what has no width."""
    part = scalar_of(type)
    return part.width if isinstance(part, Int | Float) else None


def count_of(type: Type) -> int | None:
    """The components of a vector, 1 for a scalar, the columns of a matrix; None for others."""
    if isinstance(type, Vector | Matrix):
        return type.count
    return 1 if is_scalar(type) else None
