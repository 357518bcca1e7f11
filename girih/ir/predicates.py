"""The vocabulary of restrictions: terms over an instruction, predicates over terms, and the rows that hold them.

A predicate evaluates, prints itself, and says what came where it fails. A term that has no value, because an operand
has the wrong kind or an error before it, raises `Undetermined`: the row then says nothing, another one does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from girih.ir.core import Op, Region, RegionKind, Value
from girih.ir.facts import Surroundings
from girih.ir.types import (
    INDEX,
    Boolean,
    CoopMatrix,
    ErrorType,
    GroupType,
    MatrixScope,
    MemRef,
    Number,
    TensorLayoutType,
    TensorViewType,
    Type,
    Use,
    element_type,
)
from girih.ir.types import promotable as is_promotable
from girih.ir.types import promote as promoted
from girih.source import Span


class Undetermined(Exception):
    """A term has no value here."""


class Subject(NamedTuple):
    """What a row is applied to: an instruction (or a function, parameter or type) and what is known around it."""

    op: Any
    facts: Surroundings


class Predicate(Protocol):
    """Something that holds or not."""

    @property
    def text(self) -> str:
        """The predicate in words or symbols."""

    def holds(self, subject: Subject) -> bool:
        """Whether it holds; raises `Undetermined` where that cannot be said."""

    def came(self, subject: Subject) -> str:
        """What was found instead."""

    def hint(self, subject: Subject) -> str | None:
        """A way to mend it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One restriction: its id, the operands it blames, the predicate, the words, and its source.

    `needs` names the fact of a device that the row depends on; `at` finds the guilty place where that is no operand.
    """

    id: str
    blames: str
    holds: Predicate
    says: str
    source: str
    hint: str | Callable[[Subject], str | None] | None = None
    severity: Literal["error", "warning"] = "error"
    needs: str | None = None
    at: Callable[[Subject], Span | None] | None = None


# --- kinds of types ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TypeKind:
    """A set of types, with the words for it."""

    words: str
    accepts: Callable[[Type], bool]


def _scalar_in(*families: str) -> Callable[[Type], bool]:
    return lambda t: isinstance(t, Number) and t.family in families


NUMBER = TypeKind("a number", lambda t: isinstance(t, Number))
BOOLEAN = TypeKind("of type bool", lambda t: isinstance(t, Boolean))
INTEGER = TypeKind("an integer", _scalar_in("integer"))
INDEXES = TypeKind("of index type", lambda t: t == INDEX)
MEMREF = TypeKind("a memref", lambda t: isinstance(t, MemRef))
MEMREF_OR_GROUP = TypeKind("a memref or a group", lambda t: isinstance(t, MemRef | GroupType))
NUMBER_OR_MEMREF = TypeKind("a number or a memref", lambda t: isinstance(t, Number | MemRef))
COOPMATRIX = TypeKind("a cooperative matrix", lambda t: isinstance(t, CoopMatrix))
NUMBER_OR_COOPMATRIX = TypeKind("a number or a cooperative matrix", lambda t: isinstance(t, Number | CoopMatrix))
TENSOR_LAYOUT = TypeKind("a tensor layout", lambda t: isinstance(t, TensorLayoutType))
TENSOR_VIEW = TypeKind("a tensor view", lambda t: isinstance(t, TensorViewType))
CARRIED = TypeKind("a number, bool or cooperative matrix", lambda t: isinstance(t, Number | Boolean | CoopMatrix))


def memref_of_order(*orders: int) -> TypeKind:
    """A memref whose order is one of a few."""
    words = " or ".join(map(str, orders))
    return TypeKind(f"a memref of order {words}", lambda t: isinstance(t, MemRef) and t.order in orders)


def exactly(type: Type) -> TypeKind:
    """Just one type."""
    return TypeKind(f"of type {type}", lambda t: t == type)


def matrix(use: Use) -> TypeKind:
    """A cooperative matrix of one use."""
    return TypeKind(f"a cooperative matrix with use {use.value}", lambda t: isinstance(t, CoopMatrix) and t.use is use)


# --- terms ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Term:
    """A quantity of an instruction."""

    text: str
    value: Callable[[Subject], Any]


def _type(subject: Subject, name: str) -> Type:
    held = getattr(subject.op, name)
    if not isinstance(held, Value) or isinstance(held.type, ErrorType):
        raise Undetermined
    return held.type


def type_of(name: str) -> Term:
    """The type of an operand or result."""
    return Term(f"type({name})", lambda s: _type(s, name))


def _element(subject: Subject, name: str) -> Number | Boolean:
    found = element_type(_type(subject, name))
    if found is None:
        raise Undetermined
    return found


def element(name: str) -> Term:
    """The element type of a memref, the component type of a matrix, a scalar type itself."""
    return Term(f"element_type({name})", lambda s: _element(s, name))


def component(name: str) -> Term:
    """The component type of a cooperative matrix."""
    return Term(f"component_type({name})", lambda s: _element(s, name))


def promote(a: Term, b: Term) -> Term:
    """The promoted type of two; undetermined where there is none, which another row reports."""

    def value(subject: Subject) -> Number:
        found = promoted(a.value(subject), b.value(subject))
        if found is None:
            raise Undetermined
        return found

    return Term(f"promote({a.text}, {b.text})", value)


def _memref(subject: Subject, name: str) -> MemRef:
    found = _type(subject, name)
    if not isinstance(found, MemRef):
        raise Undetermined
    return found


def order(name: str) -> Term:
    """The number of modes of a memref."""
    return Term(f"order({name})", lambda s: _memref(s, name).order)


def _shape(subject: Subject, name: str, transposed: str | None) -> tuple[int | None, ...]:
    found = _type(subject, name)
    if not isinstance(found, MemRef | CoopMatrix):
        raise Undetermined
    flipped = transposed is not None and getattr(subject.op, transposed) and len(found.shape) == 2
    return found.shape[::-1] if flipped else found.shape


def shape(name: str, transposed: str | None = None) -> Term:
    """The shape of a memref or matrix, swapped where the modifier `transposed` is set."""
    text = f"shape(op({name}))" if transposed else f"shape({name})"
    return Term(text, lambda s: _shape(s, name, transposed))


def mode(name: str, number: int, transposed: str | None = None) -> Term:
    """One entry of the shape: 0 for rows, 1 for columns."""

    def value(subject: Subject) -> int | None:
        found = _shape(subject, name, transposed)
        if len(found) <= number:
            raise Undetermined
        return found[number]

    what = "rows" if number == 0 else "columns"
    return Term(f"{what}(op({name}))" if transposed else f"{what}({name})", value)


def rows(name: str, transposed: str | None = None) -> Term:
    """The size of the first mode."""
    return mode(name, 0, transposed)


def columns(name: str, transposed: str | None = None) -> Term:
    """The size of the second mode."""
    return mode(name, 1, transposed)


def use(name: str) -> Term:
    """The use of a cooperative matrix."""

    def value(subject: Subject) -> Use:
        found = _type(subject, name)
        if not isinstance(found, CoopMatrix):
            raise Undetermined
        return found.use

    return Term(f"use({name})", value)


def scope(name: str) -> Term:
    """The scope of a cooperative matrix."""

    def value(subject: Subject) -> MatrixScope:
        found = _type(subject, name)
        if not isinstance(found, CoopMatrix):
            raise Undetermined
        return found.scope

    return Term(f"scope({name})", value)


def count(name: str) -> Term:
    """The length of a list."""
    return Term(f"number of {name}", lambda s: len(getattr(s.op, name)))


def held(name: str) -> Term:
    """A constant that is part of the instruction."""
    return Term(name, lambda s: getattr(s.op, name))


def constant(name: str) -> Term:
    """The value of an operand that a `constant` defines."""

    def value(subject: Subject) -> Any:
        operand = getattr(subject.op, name)
        if isinstance(operand, int):
            return operand
        if operand not in subject.facts.constants:
            raise Undetermined
        return subject.facts.constants[operand]

    return Term(name, value)


def subgroup_size() -> Term:
    """The subgroup size where the function fixes it."""

    def value(subject: Subject) -> int:
        size = subject.facts.subgroup_size
        if size is None or size <= 0:
            raise Undetermined
        return size

    return Term("subgroup_size", value)


def number(value: object) -> Term:
    """A fixed quantity."""
    return Term(show(value), lambda _: value)


def computed(text: str, value: Callable[[Subject], Any]) -> Term:
    """A quantity that takes a few lines to work out."""
    return Term(text, value)


def show(value: object) -> str:
    """A quantity as the text of the language has it."""
    match value:
        case None:
            return "?"
        case tuple():
            return "x".join(show(v) for v in value) if value else "()"
        case Use():
            return value.value
        case MatrixScope():
            return value.value
        case bool():
            return str(value).lower()
        case _:
            return str(value)


# --- predicates ----------------------------------------------------------------------

DYNAMIC_HINT = (
    "`?` matches only `?`: give both the same static size, "
    "or make the static one dynamic with a subview of dynamic size"
)


@dataclass(frozen=True, slots=True)
class Equal:
    """Two terms have the same value."""

    left: Term
    right: Term

    @property
    def text(self) -> str:
        return f"{self.left.text} = {self.right.text}"

    def holds(self, subject: Subject) -> bool:
        return bool(self.left.value(subject) == self.right.value(subject))

    def came(self, subject: Subject) -> str:
        return f"{self.left.text} is {show(self.left.value(subject))}, {_is(self.right, subject)}"

    def hint(self, subject: Subject) -> str | None:
        left, right = self.left.value(subject), self.right.value(subject)
        pairs = (
            zip(left, right, strict=False) if isinstance(left, tuple) and isinstance(right, tuple) else [(left, right)]
        )
        dynamic = [(a is None) != (b is None) for a, b in pairs if a != b]
        return DYNAMIC_HINT if dynamic and all(dynamic) else None


def _is(term: Term, subject: Subject) -> str:
    value = show(term.value(subject))
    return f"not {value}" if value == term.text else f"{term.text} is {value}"


@dataclass(frozen=True, slots=True)
class Promotable:
    """The first number type promotes to the second."""

    left: Term
    right: Term

    @property
    def text(self) -> str:
        return f"{self.left.text} ⪯ {self.right.text}"

    def holds(self, subject: Subject) -> bool:
        left, right = self.left.value(subject), self.right.value(subject)
        if not isinstance(left, Number) or not isinstance(right, Number):
            raise Undetermined
        return is_promotable(left, right)

    def came(self, subject: Subject) -> str:
        left, right = self.left.value(subject), self.right.value(subject)
        return f"not every {left} is exact in {right}"

    def hint(self, subject: Subject) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class Comparable:
    """One of two number types promotes to the other."""

    left: Term
    right: Term

    @property
    def text(self) -> str:
        return f"promote({self.left.text}, {self.right.text}) exists"

    def holds(self, subject: Subject) -> bool:
        left, right = self.left.value(subject), self.right.value(subject)
        if not isinstance(left, Number) or not isinstance(right, Number):
            raise Undetermined
        return promoted(left, right) is not None

    def came(self, subject: Subject) -> str:
        return f"neither {self.left.value(subject)} nor {self.right.value(subject)} promotes to the other"

    def hint(self, subject: Subject) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class Satisfies:
    """A term passes a test that the other predicates cannot express; `words` say which."""

    term: Term
    words: str
    test: Callable[[Any], bool]

    @property
    def text(self) -> str:
        return f"{self.term.text} {self.words}"

    def holds(self, subject: Subject) -> bool:
        return bool(self.test(self.term.value(subject)))

    def came(self, subject: Subject) -> str:
        return f"{self.term.text} is {show(self.term.value(subject))}"

    def hint(self, subject: Subject) -> str | None:
        return None


def at_least(term: Term, least: int) -> Satisfies:
    """A number is not smaller than a bound."""
    return Satisfies(term, f"≥ {least}", lambda v: v is None or v >= least)


def each_at_least(term: Term, least: int) -> Satisfies:
    """No entry of a list is smaller than a bound."""
    return Satisfies(term, f"each ≥ {least}", lambda v: all(e is None or e >= least for e in v))


@dataclass(frozen=True, slots=True)
class Divides:
    """The first number divides the second."""

    divisor: Term
    term: Term

    @property
    def text(self) -> str:
        return f"{self.term.text} mod {self.divisor.text} = 0"

    def holds(self, subject: Subject) -> bool:
        return bool(self.term.value(subject) % self.divisor.value(subject) == 0)

    def came(self, subject: Subject) -> str:
        return f"{self.term.text} is {self.term.value(subject)}, {_is(self.divisor, subject)}"

    def hint(self, subject: Subject) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class When:
    """A predicate that counts only where a modifier is set."""

    modifier: str
    then: Predicate

    @property
    def text(self) -> str:
        return f"with .{self.modifier}: {self.then.text}"

    def holds(self, subject: Subject) -> bool:
        return not getattr(subject.op, self.modifier) or self.then.holds(subject)

    def came(self, subject: Subject) -> str:
        return self.then.came(subject)

    def hint(self, subject: Subject) -> str | None:
        return self.then.hint(subject)


@dataclass(frozen=True, slots=True)
class Constantly:
    """An operand is defined by a `constant` with one of a few values."""

    name: str
    allowed: tuple[object, ...]

    @property
    def text(self) -> str:
        return f"{self.name} is a constant in {{{', '.join(map(show, self.allowed))}}}"

    def holds(self, subject: Subject) -> bool:
        operand = getattr(subject.op, self.name)
        if isinstance(operand.type, ErrorType):
            raise Undetermined
        return operand in subject.facts.constants and subject.facts.constants[operand] in self.allowed

    def came(self, subject: Subject) -> str:
        operand = getattr(subject.op, self.name)
        if operand in subject.facts.constants:
            return f"{self.name} is {show(subject.facts.constants[operand])}"
        return f"{self.name} is not defined by a `constant`"

    def hint(self, subject: Subject) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class IsKind:
    """An operand or result (each of a list) has a type of one kind."""

    name: str
    kind: TypeKind

    @property
    def text(self) -> str:
        return f"{self.name} is {self.kind.words}"

    def holds(self, subject: Subject) -> bool:
        held = getattr(subject.op, self.name)
        if isinstance(held, Value):
            return isinstance(held.type, ErrorType) or self.kind.accepts(held.type)
        return not isinstance(held, tuple) or all(self._fits(v) for v in held)

    def _fits(self, value: object) -> bool:
        return not isinstance(value, Value) or isinstance(value.type, ErrorType) or self.kind.accepts(value.type)

    def came(self, subject: Subject) -> str:
        held = getattr(subject.op, self.name)
        values = (held,) if isinstance(held, Value) else held
        return ", ".join(f"%{v.name} has type {v.type}" for v in values if not self._fits(v))

    def hint(self, subject: Subject) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class InRegion:
    """The instruction stands in a region of one kind."""

    kind: RegionKind

    @property
    def text(self) -> str:
        return f"the region is {self.kind.value}"

    def holds(self, subject: Subject) -> bool:
        return subject.facts.kind is self.kind

    def came(self, subject: Subject) -> str:
        return f"{subject.facts.kind.with_article} region"

    def hint(self, subject: Subject) -> str | None:
        if self.kind is RegionKind.SPMD:
            return "put it into `parallel { ... }`, `foreach` or `foreach_tile`"
        return "move it out of the `parallel`, `foreach` or `foreach_tile` around it"


@dataclass(frozen=True, slots=True)
class Holds:
    """A restriction that needs a function of its own; the words say what it asks, `found` what came."""

    words: str
    test: Callable[[Subject], bool]
    found: Callable[[Subject], str] = lambda _: ""
    mend: Callable[[Subject], str | None] = lambda _: None

    @property
    def text(self) -> str:
        return self.words

    def holds(self, subject: Subject) -> bool:
        return self.test(subject)

    def came(self, subject: Subject) -> str:
        return self.found(subject)

    def hint(self, subject: Subject) -> str | None:
        return self.mend(subject)


def yielded(region: Region | None) -> Op | None:
    """The `yield` that ends a region, if it ends with one."""
    last = region.terminator if region else None
    return last if last is not None and last.spec.terminator else None
