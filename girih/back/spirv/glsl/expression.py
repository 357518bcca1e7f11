"""Expressions of GLSL: their text with what decides where it may stand.

An expression knows how tightly it binds (GLSL 4.60, section 5.1), the variables that change and the memory that it
reads, and whether its arithmetic must be kept as it is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from girih.back.spirv.code.memory import ShaderMemory
from girih.lazy_dataclass import dataclass

PRIMARY, UNARY, PRODUCT, SUM, SHIFT, RELATION, EQUALITY, AND, XOR, OR, BOTH, EXCLUSIVE, EITHER, CHOICE, ANYTHING = (
    1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17
)  # fmt: skip
"""How tightly operators bind: the rows of the table of section 5.1, the tightest first."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression of the type `type`, a word of GLSL.

    `variables` are the names of variables that are assigned more than once, `memories` what is loaded from. `exact`
    says that sums and products in it must not be combined, which only a variable that is `precise` can demand.
    `number` is that of an integer constant, `sides` the left side, the operator and the right side of a binary
    operation, `opposite` the text of the condition that this one does not hold, and `widened` what was made wider
    without another number.
    """

    text: str
    type: str
    precedence: int = PRIMARY
    variables: frozenset[str] = frozenset()
    memories: frozenset[ShaderMemory] = frozenset()
    exact: bool = False
    number: int | None = None
    sides: tuple[str, str, str] | None = None
    opposite: str | None = None
    widened: Expression | None = None

    def within(self, precedence: int) -> str:
        """The text for a place where what binds as tightly as `precedence` needs no parentheses."""
        return self.text if self.precedence <= precedence else f"({self.text})"


def composed(text: str, type: str, precedence: int, parts: Iterable[Expression]) -> Expression:
    """An expression that is made of others: it reads what they read."""
    listed = tuple(parts)
    return Expression(
        text,
        type,
        precedence,
        frozenset().union(*(one.variables for one in listed)),
        frozenset().union(*(one.memories for one in listed)),
        any(one.exact for one in listed),
    )


def called(name: str, type: str, *parts: Expression) -> Expression:
    """The call of a function, or of the constructor of a type."""
    return composed(f"{name}({', '.join(one.text for one in parts)})", type, PRIMARY, parts)


def negated(one: Expression) -> Expression:
    """The condition that another one does not hold."""
    if one.opposite is not None:
        return replace(one, text=one.opposite, opposite=one.text, sides=None)
    made = composed(f"!{one.within(PRIMARY)}", "bool", UNARY, (one,))
    return replace(made, opposite=one.text) if one.precedence == PRIMARY else made
