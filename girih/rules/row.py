"""Rows, and what they are made of: a row holds a predicate to a subject, and says what is wrong where it fails.

Rows, predicates and terms are compared by identity: they hold functions, of which no two are equal.

A term that has no value, because an operand has the wrong kind or an error before it, raises `Undetermined`: the row
then says nothing, another one does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from girih.source import Span

Facts = TypeVar("Facts")


class Undetermined(Exception):
    """A term has no value here."""


class Subject(NamedTuple, Generic[Facts]):
    """What a row is applied to: an instruction (or a function, a parameter, a type) and what is known around it."""

    op: Any
    facts: Facts


class Predicate(ABC):
    """Something that holds or not; it evaluates, prints itself, and says what came where it fails."""

    __slots__ = ()

    @property
    @abstractmethod
    def text(self) -> str:
        """The predicate in words or symbols."""

    @abstractmethod
    def holds(self, subject: Subject[Any]) -> bool:
        """Whether it holds; raises `Undetermined` where that cannot be said."""

    @abstractmethod
    def came(self, subject: Subject[Any]) -> str:
        """What was found instead."""

    def hint(self, subject: Subject[Any]) -> str | None:
        """A way to mend it, where the predicate knows one."""
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One restriction: its id, the operands it blames, the predicate, the words, and its source.

    `needs` names the fact of a device that the row depends on; `at` finds the guilty place where that is no operand.
    """

    id: str
    blames: str
    holds: Predicate
    says: str
    source: str
    hint: str | Callable[[Subject[Any]], str | None] | None = None
    severity: Literal["error", "warning"] = "error"
    needs: str | None = None
    at: Callable[[Subject[Any]], Span | None] | None = None
