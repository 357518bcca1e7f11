"""Rows and their parts: a row applies a predicate to a subject, and says what is wrong where it fails.

Rows, predicates and terms are compared by identity: they hold functions, of which no two are equal.

A term without a value, because an operand has the wrong kind or is itself in error, raises `Undetermined`: the row then
says nothing, since another one does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from girih.lazy_dataclass import dataclass
from girih.source import Span

Facts = TypeVar("Facts")


class Undetermined(Exception):
    """A term has no value for this subject."""


class Subject(NamedTuple, Generic[Facts]):
    """The subject of a row: an instruction (or a function, a parameter, a type), and the facts known around it."""

    op: Any
    facts: Facts


class Predicate(ABC):
    """A statement that holds or not for a subject, with its words, and the words for what came where it fails."""

    __slots__ = ()

    @property
    @abstractmethod
    def text(self) -> str:
        """The predicate in words or symbols."""

    @abstractmethod
    def holds(self, subject: Subject[Any]) -> bool:
        """Whether the predicate holds. Raises `Undetermined` where that cannot be said."""

    @abstractmethod
    def came(self, subject: Subject[Any]) -> str:
        """The words for what came instead."""

    def hint(self, subject: Subject[Any]) -> str | None:
        """The fix in words, where the predicate knows one."""
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One restriction: its id, the operands it blames, the predicate, the words, and its source.

    `needs` names the fact of a device that the row depends on; `at` finds a guilty place that is not an operand.
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
