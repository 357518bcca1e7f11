"""The expressions of a function's `grid` attribute: numbers of work-groups, from the arguments of a launch.

They are the entries of the attribute's list. Numbers are whole and exact, of any size. An expression can be built only
up to the nesting that every traversal has room for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from math import log10

from girih.ir.core import Function, Value
from girih.lazy_dataclass import dataclass
from girih.recursion import NESTING_LIMIT
from girih.source import NOWHERE, Span

LARGEST_GRID = 2**31 - 1
"""The largest number of work-groups along an axis of a grid."""

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "ceil": lambda a, b: -(-a // b),
    "floor": lambda a, b: a // b,
    "min": min,
    "max": max,
}
"""What two numbers can be combined by; `ceil` and `floor` are their quotient, rounded up and down."""

DIVISIONS = ("ceil", "floor")
FUNCTIONS = ("ceil", "floor", "max", "min")
"""The operations that are written as a function of two expressions."""


@dataclass(frozen=True, slots=True)
class GridExpression:
    """The base of all expressions; `span` is the place in the text."""

    span: Span = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class GridNumber(GridExpression):
    """A number."""

    value: int


@dataclass(frozen=True, slots=True)
class GridLeaf(GridExpression):
    """The base of what an expression takes from the argument for a parameter."""

    parameter: Value


@dataclass(frozen=True, slots=True)
class GridScalar(GridLeaf):
    """The value of a parameter of an integer type."""


@dataclass(frozen=True, slots=True)
class GridSize(GridLeaf):
    """The size of a mode of a memref parameter, or of a dimension of the tensor of a map, the innermost being 0.

    Without a mode it is the number of memrefs of a group parameter.
    """

    mode: int | None = None


@dataclass(frozen=True, slots=True)
class GridOperation(GridExpression):
    """Two expressions combined by one of `OPERATIONS`.

    Raises `ValueError` for another operation, and where operations nest deeper than `NESTING_LIMIT`.
    """

    operation: str
    left: GridExpression
    right: GridExpression
    depth: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise ValueError(f"a grid has no operation {self.operation!r}; it has {', '.join(OPERATIONS)}")
        depth = 1 + max(depth_of(self.left), depth_of(self.right))
        if depth > NESTING_LIMIT:
            raise ValueError(f"operations of a grid nest at most {NESTING_LIMIT} deep")
        object.__setattr__(self, "depth", depth)


def depth_of(expression: GridExpression) -> int:
    """The number of operations that nest in an expression."""
    return expression.depth if isinstance(expression, GridOperation) else 0


def grid_of_function(function: Function) -> tuple[GridExpression, ...] | None:
    """The entries of a function's `grid` attribute; None for a function without it."""
    entries = function.attributes.get("grid")
    if not isinstance(entries, tuple):
        return None
    return tuple(entry for entry in entries if isinstance(entry, GridExpression))


def parts_of(expression: GridExpression) -> Iterator[GridExpression]:
    """An expression and all parts of it, each after its own parts, from left to right."""
    if isinstance(expression, GridOperation):
        yield from parts_of(expression.left)
        yield from parts_of(expression.right)
    yield expression


def grid_leaves(function: Function) -> list[GridLeaf]:
    """What a function's grid takes from the arguments, from left to right, as often as it stands there."""
    entries = grid_of_function(function) or ()
    return [part for entry in entries for part in parts_of(entry) if isinstance(part, GridLeaf)]


class GridDivisionError(Exception):
    """A division by zero: the operation, and the number that was to be divided."""

    def __init__(self, operation: GridOperation, dividend: int) -> None:
        super().__init__("division by zero")
        self.operation, self.dividend = operation, dividend


def evaluated(expression: GridExpression, leaf: Callable[[GridLeaf], int]) -> int:
    """The number that an expression stands for, where `leaf` gives what the arguments decide.

    Raises `GridDivisionError`, and what `leaf` raises.
    """
    match expression:
        case GridNumber(value):
            return value
        case GridOperation(operation, left, right):
            a, b = evaluated(left, leaf), evaluated(right, leaf)
            if b == 0 and operation in DIVISIONS:
                raise GridDivisionError(expression, a)
            return OPERATIONS[operation](a, b)
        case GridLeaf():
            return leaf(expression)
        case _:
            raise TypeError(f"{expression!r} is not an expression of a grid")


_LONGEST = 10**40
"""Numbers from here on are shown by their size."""


def show_number(number: int) -> str:
    """A number in words: its digits, or, of a very large one, a power of ten that it is beyond."""
    if abs(number) < _LONGEST:
        return str(number)
    power = int((abs(number).bit_length() - 1) * log10(2))
    return f"over 10^{power}" if number > 0 else f"below -10^{power}"


_BINDING = {"+": 1, "-": 1, "*": 2}
"""How strongly operations bind that are written between their operands."""


def show_grid(expression: GridExpression, name: Callable[[Value], str] = lambda value: f"%{value.name}") -> str:
    """The text of an expression; `name` gives that of a parameter."""
    return _shown(expression, name, 0)


def _shown(expression: GridExpression, name: Callable[[Value], str], least: int) -> str:
    """The text of an expression, in parentheses where it binds less strongly than `least`."""
    match expression:
        case GridNumber(value):
            return str(value)
        case GridScalar(parameter):
            return name(parameter)
        case GridSize(parameter, None):
            return f"size({name(parameter)})"
        case GridSize(parameter, mode):
            return f"size({name(parameter)}, {mode})"
        case GridOperation(operation, left, right) if operation in FUNCTIONS:
            return f"{operation}({_shown(left, name, 0)}, {_shown(right, name, 0)})"
        case GridOperation(operation, left, right):
            binding = _BINDING[operation]
            text = f"{_shown(left, name, binding)} {operation} {_shown(right, name, binding + 1)}"
            return f"({text})" if binding < least else text
        case _:
            return repr(expression)


def with_parameters(expression: GridExpression, partner: Mapping[Value, Value]) -> GridExpression:
    """The expression with each parameter replaced by its partner, if it has one."""
    match expression:
        case GridLeaf():
            return replace(expression, parameter=partner.get(expression.parameter, expression.parameter))
        case GridOperation(operation, left, right):
            parts = with_parameters(left, partner), with_parameters(right, partner)
            return GridOperation(operation, *parts, span=expression.span)
        case _:
            return expression
