"""Predicates over terms, whatever the terms measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from girih.lazy_dataclass import dataclass
from girih.rules.row import Predicate, Subject
from girih.rules.terms import Term, show


@dataclass(frozen=True, slots=True, eq=False)
class Equal(Predicate):
    """The predicate that two terms have equal values; `mend` makes a hint of two that are not equal."""

    left: Term
    right: Term
    mend: Callable[[Any, Any], str | None] = lambda left, right: None

    @property
    def text(self) -> str:
        return f"{self.left.text} = {self.right.text}"

    def holds(self, subject: Subject[Any]) -> bool:
        return bool(self.left.value(subject) == self.right.value(subject))

    def came(self, subject: Subject[Any]) -> str:
        return f"{self.left.text} is {show(self.left.value(subject))}, {_is(self.right, subject)}"

    def hint(self, subject: Subject[Any]) -> str | None:
        return self.mend(self.left.value(subject), self.right.value(subject))


def _is(term: Term, subject: Subject[Any]) -> str:
    value = show(term.value(subject))
    return f"not {value}" if value == term.text else f"{term.text} is {value}"


@dataclass(frozen=True, slots=True, eq=False)
class Satisfies(Predicate):
    """The predicate that a term passes a test of its own; `words` say which."""

    term: Term
    words: str
    test: Callable[[Any], bool]

    @property
    def text(self) -> str:
        return f"{self.term.text} {self.words}"

    def holds(self, subject: Subject[Any]) -> bool:
        return bool(self.test(self.term.value(subject)))

    def came(self, subject: Subject[Any]) -> str:
        return f"{self.term.text} is {show(self.term.value(subject))}"


def at_least(term: Term, least: int) -> Satisfies:
    """The predicate that a number is not smaller than a bound."""
    return Satisfies(term, f"≥ {least}", lambda v: v is None or v >= least)


def each_at_least(term: Term, least: int) -> Satisfies:
    """The predicate that no entry of a list is smaller than a bound."""
    return Satisfies(term, f"each ≥ {least}", lambda v: all(e is None or e >= least for e in v))


@dataclass(frozen=True, slots=True, eq=False)
class Divides(Predicate):
    """The predicate that the first number divides the second."""

    divisor: Term
    term: Term

    @property
    def text(self) -> str:
        return f"{self.term.text} mod {self.divisor.text} = 0"

    def holds(self, subject: Subject[Any]) -> bool:
        return bool(self.term.value(subject) % self.divisor.value(subject) == 0)

    def came(self, subject: Subject[Any]) -> str:
        return f"{self.term.text} is {self.term.value(subject)}, {_is(self.divisor, subject)}"


@dataclass(frozen=True, slots=True, eq=False)
class When(Predicate):
    """A predicate that must hold only where a modifier is set."""

    modifier: str
    then: Predicate

    @property
    def text(self) -> str:
        return f"with .{self.modifier}: {self.then.text}"

    def holds(self, subject: Subject[Any]) -> bool:
        return not getattr(subject.op, self.modifier) or self.then.holds(subject)

    def came(self, subject: Subject[Any]) -> str:
        return self.then.came(subject)

    def hint(self, subject: Subject[Any]) -> str | None:
        return self.then.hint(subject)


@dataclass(frozen=True, slots=True, eq=False)
class Holds(Predicate):
    """A predicate with a function of its own; `words` say what it demands, `found` says what came."""

    words: str
    test: Callable[[Subject[Any]], bool]
    found: Callable[[Subject[Any]], str] = lambda _: ""
    mend: Callable[[Subject[Any]], str | None] = lambda _: None

    @property
    def text(self) -> str:
        return self.words

    def holds(self, subject: Subject[Any]) -> bool:
        return self.test(subject)

    def came(self, subject: Subject[Any]) -> str:
        return self.found(subject)

    def hint(self, subject: Subject[Any]) -> str | None:
        return self.mend(subject)
