"""Predicates over the types of operands, over constants, and over the place of an instruction."""

from __future__ import annotations

from collections.abc import Callable

from girih.ir.core import RegionKind, Value
from girih.ir.kinds import TypeKind
from girih.ir.surroundings import Subject
from girih.ir.types import ErrorType, Number
from girih.ir.types import promotable as is_promotable
from girih.ir.types import promote as promoted
from girih.lazy_dataclass import dataclass
from girih.rules.predicates import Equal
from girih.rules.row import Predicate, Undetermined
from girih.rules.terms import Term, show

DYNAMIC_HINT = (
    "`?` matches only `?`: give both the same static size, "
    "or make the static one dynamic with a subview of dynamic size"
)


def equal(left: Term, right: Term) -> Equal:
    """The predicate that two terms have the same value; `?` matches only `?`."""
    return Equal(left, right, _dynamic_hint)


def _dynamic_hint(left: object, right: object) -> str | None:
    pairs = zip(left, right, strict=False) if isinstance(left, tuple) and isinstance(right, tuple) else [(left, right)]
    dynamic = [(a is None) != (b is None) for a, b in pairs if a != b]
    return DYNAMIC_HINT if dynamic and all(dynamic) else None


@dataclass(frozen=True, slots=True, eq=False)
class Promotable(Predicate):
    """The predicate that a number type promotes to another one."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Comparable(Predicate):
    """The predicate that one of two number types promotes to the other."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Constantly(Predicate):
    """The predicate that an operand is defined by a `constant` with one of some values."""

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


@dataclass(frozen=True, slots=True, eq=False)
class IsKind(Predicate):
    """The predicate that an operand or result, or each of a list, has a type of one kind."""

    name: str
    kind: TypeKind

    @property
    def text(self) -> str:
        return f"{self.name} is {self.kind.words}"

    def holds(self, subject: Subject) -> bool:
        operand = getattr(subject.op, self.name)
        if isinstance(operand, Value):
            return isinstance(operand.type, ErrorType) or self.kind.accepts(operand.type)
        return not isinstance(operand, tuple) or all(self._fits(v) for v in operand)

    def _fits(self, value: object) -> bool:
        return not isinstance(value, Value) or isinstance(value.type, ErrorType) or self.kind.accepts(value.type)

    def came(self, subject: Subject) -> str:
        operand = getattr(subject.op, self.name)
        values = (operand,) if isinstance(operand, Value) else operand
        return ", ".join(f"%{v.name} has type {v.type}" for v in values if not self._fits(v))


@dataclass(frozen=True, slots=True, eq=False)
class InRegion(Predicate):
    """The predicate that the instruction stands in a region of one kind."""

    kind: RegionKind

    @property
    def text(self) -> str:
        return f"the region is {self.kind.value}"

    def holds(self, subject: Subject) -> bool:
        return subject.facts.kind is self.kind

    def came(self, subject: Subject) -> str:
        return f"{subject.facts.kind.with_article} region"


@dataclass(frozen=True, slots=True, eq=False)
class WithinLimit(Predicate):
    """The predicate that a quantity is not larger than a limit of the target.

    `found` gives the words for what came, from the quantity and the limit.
    """

    quantity: Term
    limit: Term
    found: Callable[[Subject, int, int], str]
    unit: str = ""

    @property
    def text(self) -> str:
        return f"{self.quantity.text} ≤ {self.limit.text}{self.unit}"

    def holds(self, subject: Subject) -> bool:
        return bool(self.quantity.value(subject) <= self.limit.value(subject))

    def came(self, subject: Subject) -> str:
        return self.found(subject, self.quantity.value(subject), self.limit.value(subject))
