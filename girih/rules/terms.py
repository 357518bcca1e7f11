"""Quantities of a subject, and their texts. A term knows the names of fields, but not what the fields contain."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from girih.lazy_dataclass import dataclass
from girih.rules.row import Subject


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A quantity of a subject, with its text."""

    text: str
    value: Callable[[Subject[Any]], Any]


def count(name: str) -> Term:
    """The term for the length of the list in a field."""
    return Term(f"number of {name}", lambda s: len(getattr(s.op, name)))


def held(name: str) -> Term:
    """The term for the constant in a field."""
    return Term(name, lambda s: getattr(s.op, name))


def number(value: object) -> Term:
    """The term for a fixed number."""
    return Term(show(value), lambda _: value)


def computed(text: str, value: Callable[[Subject[Any]], Any]) -> Term:
    """The term for a quantity that a function works out."""
    return Term(text, value)


def show(value: object) -> str:
    """The value as the text of a language has it; `?` for one that is known only at run time."""
    match value:
        case None:
            return "?"
        case tuple():
            return "x".join(show(v) for v in value) if value else "()"
        case Enum():
            return str(value.value)
        case bool():
            return str(value).lower()
        case _:
            return str(value)
