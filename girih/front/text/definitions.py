"""`$name` definitions: constants, types and attributes known while parsing, with a calculator.

Definitions are resolved by the parser and leave no trace in the module. A name is assigned once in a scope and the
scopes inside it; one given from outside replaces the definition at file level.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.ir.core import Dictionary
from girih.ir.types import Type
from girih.lazy_dataclass import dataclass
from girih.source import Span

LARGEST = 2**63 - 1
"""The largest integer constant (003 "Constants")."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The value of a name, the place of its definition, and how deep its brackets nest."""

    value: bool | int | float | complex | str | tuple[object, ...] | Dictionary | Type
    span: Span
    depth: int = 0


class CalculationError(ValueError):
    """An expression in reverse Polish notation that has no value."""


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise CalculationError(f"division of {a} by zero")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a - b * _divide(a, b)


def _power(a: int, b: int) -> int:
    if b < 0:
        raise CalculationError(f"{a} to the negative power {b} is not an integer")
    if abs(a) > 1 and b > 64:
        raise CalculationError(f"`{a} {b} ^` is out of range")
    return int(a**b)


OPERATORS: dict[str, Callable[[int, int], int]] = {
    "^": _power,
    "-": lambda a, b: a - b,
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": _remainder,
    "min": min,
    "max": max,
}
"""The calculator: power, arithmetic that truncates towards zero, minimum and maximum."""


def apply(operator: str, a: int, b: int) -> int:
    """The result of one step of the calculator. Raises `CalculationError` if there is none."""
    value = OPERATORS[operator](a, b)
    if abs(value) > LARGEST:
        raise CalculationError(f"`{a} {b} {operator}` is out of range")
    return value
