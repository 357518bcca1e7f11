"""Whole numbers that a launch knows: formulas over the sizes, strides and numbers that its arguments have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from girih.lazy_dataclass import dataclass


class LaunchNumbers(Protocol):
    """The arguments of a launch, by the numbers of parameters of the kernel."""

    def size(self, parameter: int, mode: int) -> int:
        """The size of a mode of a memref, in elements."""

    def stride(self, parameter: int, mode: int) -> int:
        """The distance of neighbours along a mode of a memref, in elements."""

    def number(self, parameter: int) -> int:
        """An argument of an integer type."""


def _quotient(a: int, b: int) -> int:
    """The quotient rounded to zero, as `div` has it (003 "Arithmetic (binary)"); of a zero divisor 0."""
    if b == 0:
        return 0
    return a // b if (a < 0) == (b < 0) else -(-a // b)


_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _quotient,
    "rem": lambda a, b: a - b * _quotient(a, b),
    "min": min,
    "max": max,
}


@dataclass(frozen=True, slots=True)
class Amount:
    """A formula.

    `kind` is `number` (a literal), `size` or `stride` (parameter, mode), `argument` (parameter), or the mnemonic of an
    operation of two amounts: add, sub, mul, div, rem, min, max.
    """

    kind: str
    operands: tuple[Amount | int, ...]

    def __str__(self) -> str:
        match self.kind:
            case "number":
                return str(self.operands[0])
            case "size" | "stride" | "argument":
                return f"{self.kind}({', '.join(map(str, self.operands))})"
            case _:
                return f"{self.kind}({self.operands[0]}, {self.operands[1]})"

    def of(self, launch: LaunchNumbers) -> int:
        """The number for a launch, exact: it may need more than 64 bits."""
        operands = [operand.of(launch) if isinstance(operand, Amount) else operand for operand in self.operands]
        match self.kind:
            case "number":
                return operands[0]
            case "size":
                return launch.size(*operands)
            case "stride":
                return launch.stride(*operands)
            case "argument":
                return launch.number(*operands)
            case _:
                return _OPERATIONS[self.kind](*operands)

    @property
    def literal(self) -> int | None:
        """The number, if no launch is needed to know it."""
        first = self.operands[0]
        return first if self.kind == "number" and isinstance(first, int) else None

    def plain(self) -> list[Any]:
        """The formula as lists that JSON can write."""
        return [self.kind, *(one.plain() if isinstance(one, Amount) else one for one in self.operands)]

    @staticmethod
    def of_plain(plain: object) -> Amount:
        """The formula that `plain` wrote. Raises `ValueError` for other lists."""
        match plain:
            case ["number" | "argument" as kind, int(value)]:
                return Amount(kind, (value,))
            case ["size" | "stride" as kind, int(parameter), int(mode)]:
                return Amount(kind, (parameter, mode))
            case [str(kind), a, b] if kind in _OPERATIONS:
                return Amount(kind, (Amount.of_plain(a), Amount.of_plain(b)))
            case _:
                raise ValueError(f"no amount: {plain!r}")


def number(value: int) -> Amount:
    """A number that is known."""
    return Amount("number", (value,))


def combined(kind: str, a: Amount, b: Amount) -> Amount:
    """The amount of an operation: a number where both operands are, an operand where the other one changes nothing."""
    left, right = a.literal, b.literal
    if left is not None and right is not None:
        return number(_OPERATIONS[kind](left, right))
    if (kind, right) in _NEUTRAL_RIGHT:
        return a
    if (kind, left) in _NEUTRAL_LEFT:
        return b
    return Amount(kind, (a, b))


_NEUTRAL_RIGHT = frozenset((("add", 0), ("sub", 0), ("mul", 1), ("div", 1)))
_NEUTRAL_LEFT = frozenset((("add", 0), ("mul", 1)))
