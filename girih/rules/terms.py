"""Quantities of a subject, and how they are shown. A term knows the names of fields, not what they hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from girih.rules.row import Subject


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A quantity of an instruction."""

    text: str
    value: Callable[[Subject[Any]], Any]


def count(name: str) -> Term:
    """The length of a list."""
    return Term(f"number of {name}", lambda s: len(getattr(s.op, name)))


def held(name: str) -> Term:
    """A constant that is part of the instruction."""
    return Term(name, lambda s: getattr(s.op, name))


def number(value: object) -> Term:
    """A fixed quantity."""
    return Term(show(value), lambda _: value)


def computed(text: str, value: Callable[[Subject[Any]], Any]) -> Term:
    """A quantity that takes a few lines to work out."""
    return Term(text, value)


def show(value: object) -> str:
    """A quantity as the text of a language has it; what is known only at run time is `?`."""
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
