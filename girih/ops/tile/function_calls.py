"""The rules of the attributes that say how a function is called: its `grid`, its `order` (docs/design/additions.md).

They describe a launch and never change what the function computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from girih.diagnostics import plural
from girih.ir.core import ORDERS
from girih.ir.define import Expect
from girih.ir.grid import (
    DIVISIONS,
    LARGEST_GRID,
    GridDivisionError,
    GridExpression,
    GridLeaf,
    GridNumber,
    GridOperation,
    GridScalar,
    GridSize,
    evaluated,
    parts_of,
    show_grid,
    show_number,
)
from girih.ir.surroundings import Subject
from girih.ir.types import ErrorType, GroupType, MemRef, Number, TensorMapType
from girih.ops.tile.language import TILE
from girih.rules.predicates import Holds
from girih.rules.row import Row, Undetermined
from girih.source import Span

CALLED = 'girih "How a kernel is called"'

Part = TypeVar("Part", bound=GridExpression)


def _entries(s: Subject) -> tuple[GridExpression, ...]:
    """The entries of the grid. Raises `Undetermined` for a function without one, or with one of another kind."""
    entries = s.op.attributes.get("grid")
    if not isinstance(entries, tuple) or not Expect.GRID.accepts(entries):
        raise Undetermined
    return tuple(entry for entry in entries if isinstance(entry, GridExpression))


def _parts(s: Subject, kind: type[Part]) -> Iterator[Part]:
    for entry in _entries(s):
        yield from (part for part in parts_of(entry) if isinstance(part, kind))


def _known(expression: GridExpression) -> int:
    """The number that an expression has in every launch. Raises `Undetermined` if it depends on the arguments."""

    def leaf(part: GridLeaf) -> int:
        size = _static_size(part) if isinstance(part, GridSize) else None
        if size is None:
            raise Undetermined
        return size

    try:
        return evaluated(expression, leaf)
    except GridDivisionError:
        raise Undetermined from None


def _static_size(part: GridSize) -> int | None:
    """The size that the type of a parameter fixes; None for one that it leaves open, or does not have."""
    match part.parameter.type:
        case MemRef(shape=shape) if part.mode is not None and 0 <= part.mode < len(shape):
            return shape[part.mode]
        case GroupType(size=size) if part.mode is None:
            return size
        case _:
            return None


def _divides_by_zero(part: GridOperation) -> bool:
    try:
        return part.operation in DIVISIONS and _known(part.right) == 0
    except Undetermined:
        return False


def _out_of_range(entry: GridExpression) -> bool:
    try:
        return not 0 <= _known(entry) <= LARGEST_GRID
    except Undetermined:
        return False


def _no_integer(part: GridScalar) -> bool:
    type_ = part.parameter.type
    integer = isinstance(type_, Number) and type_.family == "integer"
    return not integer and not isinstance(type_, ErrorType)


def _no_size(part: GridSize) -> bool:
    return not isinstance(part.parameter.type, MemRef | GroupType | TensorMapType | ErrorType)


def _no_mode(part: GridSize) -> bool:
    match part.parameter.type:
        case MemRef(order=count) | TensorMapType(rank=count):
            return part.mode is None or not 0 <= part.mode < count
        case GroupType():
            return part.mode is not None
        case _:
            return False


def _divisor(part: GridOperation) -> str:
    told = "" if isinstance(part.right, GridNumber) else f", and `{show_grid(part.right)}` is 0"
    return f"`{show_grid(part)}`{told}"


def _typed(part: GridLeaf) -> str:
    return f"%{part.parameter.name} has type {part.parameter.type}"


def _mode_hint(part: GridSize) -> str | None:
    match part.parameter.type:
        case MemRef(order=0):
            return "a memref of order 0 has one element and no modes"
        case MemRef(order=order):
            return f"write `size(%{part.parameter.name}, 0)`; modes count from 0 to {order - 1}"
        case TensorMapType(rank=rank):
            return f"write `size(%{part.parameter.name}, 0)`; dimensions count from 0, the innermost, to {rank - 1}"
        case _:
            return f"`size(%{part.parameter.name})` is the number of memrefs of the group"


def _scalar_hint(part: GridScalar) -> str | None:
    match part.parameter.type:
        case MemRef(order=order) if order:
            return f"the size of a mode is written `size(%{part.parameter.name}, 0)`"
        case GroupType():
            return f"the number of memrefs of a group is written `size(%{part.parameter.name})`"
        case Number():
            return "pass the number as an integer parameter"
        case _:
            return None


def _row(
    id: str,
    kind: type[Part],
    wrong: Callable[[Part], bool],
    found: Callable[[Part], str],
    says: str,
    hint: Callable[[Part], str | None] = lambda part: None,
) -> Row:
    """The rule that no part of a certain kind is wrong; the first one that is gets the blame."""

    def guilty(s: Subject) -> Part | None:
        return next((part for part in _parts(s, kind) if wrong(part)), None)

    def told(s: Subject, words: Callable[[Part], str | None]) -> str | None:
        part = guilty(s)
        return None if part is None else words(part)

    def place(s: Subject) -> Span | None:
        part = guilty(s)
        return None if part is None else part.span

    test = Holds(says, lambda s: guilty(s) is None, lambda s: told(s, found) or "")
    return Row(id, "", test, says, CALLED, lambda s: told(s, hint), at=place)


def _range_row() -> Row:
    def guilty(s: Subject) -> GridExpression | None:
        return next((entry for entry in _entries(s) if _out_of_range(entry)), None)

    def found(s: Subject) -> str:
        entry = guilty(s)
        if entry is None or isinstance(entry, GridNumber):
            return "" if entry is None else f"{entry.value}"
        return f"`{show_grid(entry)}` is {show_number(_known(entry) or 0)}"

    def place(s: Subject) -> Span | None:
        entry = guilty(s)
        return None if entry is None else entry.span

    says = "the entries of a grid lie between 0 and 2^31 - 1"
    return Row("grid_range", "", Holds("0 ≤ each entry of grid ≤ 2^31 - 1", lambda s: guilty(s) is None, found),
               says, CALLED, at=place)  # fmt: skip


def _order(s: Subject) -> str:
    order = s.op.attributes.get("order")
    if not isinstance(order, str):
        raise Undetermined
    return order


TILE.rules(
    "func",
    Row("order", "", Holds('order is "C" or "F"', lambda s: _order(s) in ORDERS, lambda s: f'"{_order(s)}"'),
        'the order of arrays is "C", whose last axis is mode 0, or "F", whose first axis is', CALLED,
        lambda s: f'write order="{_order(s).upper()}"' if _order(s).upper() in ORDERS else None,
        at=lambda s: s.op.attributes.entry("order").span),
    Row("grid_entries", "", Holds("grid has one to three entries", lambda s: 1 <= len(_entries(s)) <= 3,
        lambda s: plural(len(_entries(s)), "entry", "entries")),
        "a grid has one to three entries, the numbers of work-groups along x, y and z", CALLED,
        at=lambda s: s.op.attributes.entry("grid").span),
    _row("grid_scalar", GridScalar, _no_integer, _typed,
         "a parameter that stands in a grid for its value is an integer", _scalar_hint),
    _row("grid_size", GridSize, _no_size, _typed,
         "`size` in a grid is that of a memref, a tensor map or a group",
         lambda part: f"its value is written %{part.parameter.name}"),
    _row("grid_mode", GridSize, _no_mode,
         lambda part: f"`{show_grid(part)}`, and {_typed(part)}",
         "`size` in a grid names a mode of a memref or a dimension of a tensor map; for a group it names none",
         _mode_hint),
    _row("grid_division", GridOperation, _divides_by_zero,
         _divisor, "a grid does not divide by zero"),
    _range_row(),
)  # fmt: skip
