"""The grid of a launch, where the kernel has a `grid` attribute: its expressions, evaluated for the arguments.

In a launch the usual arguments, NumPy's arrays, those of libraries with DLPack, and lists, go through a function made
once for each kernel, in which each step is a line; what is wrong with them is found when they are bound. It gives
None for everything else, and for numbers that are no grid. Then, and where only the grid is asked for, arguments are
checked as a launch checks them, and what is wrong with them, or with the numbers that result, is a `LaunchError`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from girih.arguments.arrays import Accepted, GroupClaim, MapClaim, accept, specifications
from girih.arguments.claims import Claim
from girih.arguments.report import DeviceReach
from girih.diagnostics import Diagnostic, InternalError, LaunchError
from girih.ir.core import Function, Value
from girih.ir.grid import (
    LARGEST_GRID,
    GridDivisionError,
    GridExpression,
    GridLeaf,
    GridNumber,
    GridOperation,
    GridScalar,
    GridSize,
    evaluated,
    grid_of_function,
    parts_of,
    show_grid,
    show_number,
)
from girih.source import Span

Sizes = tuple[int, int, int]
"""The numbers of work-groups along x, y and z."""

_IN_PYTHON = {
    "+": "{} + {}",
    "-": "{} - {}",
    "*": "{} * {}",
    "ceil": "-(-{} // {})",
    "floor": "{} // {}",
    "min": "{0} if {0} < {1} else {1}",
    "max": "{0} if {0} > {1} else {1}",
}
"""Each of `OPERATIONS` as Python writes it, between names and numbers; a call of `min` takes three times as long."""


class ArgumentGrid:
    """The grid of a function with the attribute; `quick` gives it for usual arguments, and None for all others."""

    __slots__ = ("_entries", "_function", "_specs", "quick")

    def __init__(self, function: Function, entries: Sequence[GridExpression]) -> None:
        self._function = function
        self._entries = tuple(entries)
        self._specs = specifications(function)
        self.quick: Callable[[Sequence[object]], Sizes | None] = _quick(function, entries)

    @staticmethod
    def of(function: Function) -> ArgumentGrid:
        """The grid of a function that has the attribute."""
        return ArgumentGrid(function, grid_of_function(function) or ())

    def sizes(self, arguments: Sequence[object], reach: DeviceReach | None = None) -> Sizes:
        """The grid for one argument of each parameter. Raises `LaunchError` as a launch does, and for a bad number.

        A launch on a device, `reach`, takes arrays there, too.
        """
        return _bound(self._function, self._entries, accept(self._specs, arguments, reach))


def grid_of_shapes(function: Function, accepted: Sequence[Accepted]) -> Sizes | None:
    """The grid of a function with the attribute, where it depends on nothing but the shapes of arguments; else None."""
    entries = grid_of_function(function)
    if entries is None or any(isinstance(part, GridScalar) for entry in entries for part in parts_of(entry)):
        return None
    return _bound(function, entries, accepted)


def _bound(function: Function, entries: Sequence[GridExpression], accepted: Sequence[Accepted]) -> Sizes:
    values = {p.value: item for p, item in zip(function.parameters, accepted, strict=True)}

    def leaf(part: GridLeaf) -> int:
        return _number(part, values[part.parameter])

    shown = show_grid if function.reader is None else _as_written
    numbers = [_checked(entry, leaf, shown) for entry in entries]
    x, y, z = [*numbers, 1, 1][:3]
    return x, y, z


def _number(part: GridLeaf, item: Accepted) -> int:
    """The number that a part takes from an argument."""
    match part, item:
        case GridSize(mode=None), GroupClaim(size=size):
            return size
        case GridSize(mode=int(mode)), Claim(shape=shape):
            return shape[mode]
        case GridSize(mode=int(mode)), MapClaim(tensor_map=tensor_map):
            return tensor_map.global_dim[mode]
        case GridScalar(), np.ndarray():
            return int(item[0, 0, 0])
        case _:
            raise InternalError(f"`{show_grid(part)}` is in the grid of a checked function")


def _as_written(part: GridExpression) -> str:
    return part.span.text


def _checked(entry: GridExpression, leaf: Callable[[GridLeaf], int], shown: Callable[[GridExpression], str]) -> int:
    """The number that an entry stands for. Raises `LaunchError` where there is none, or none that a grid can have."""
    try:
        number = evaluated(entry, leaf)
    except GridDivisionError as error:
        guilty = error.operation
        says = f"`{shown(guilty)}` divides {show_number(error.dividend)} by zero"
        raise _refusal("bind.grid_division", says, guilty, "is 0", guilty.right, leaf, shown) from None
    if 0 <= number <= LARGEST_GRID:
        return number
    said = show_number(number)
    rule = "; the sizes of a grid lie between 0 and 2^31 - 1"
    raise _refusal("bind.grid", f"`{shown(entry)}` is {said}", entry, f"is {said}", entry, leaf, shown, rule)


def _refusal(
    code: str,
    says: str,
    guilty: GridExpression,
    is_what: str,
    at: GridExpression,
    leaf: Callable[[GridLeaf], int],
    shown: Callable[[GridExpression], str],
    rule: str = "",
) -> LaunchError:
    """The refusal of a part of a grid, with what its own parts are for these arguments, and the rule behind them."""
    numbers: dict[str, tuple[Span, int]] = {}
    for part in parts_of(guilty):
        if isinstance(part, GridLeaf):
            numbers.setdefault(shown(part), (part.span, leaf(part)))
    led = ", ".join(f"{name} is {number}" for name, (_, number) in numbers.items() if name != shown(guilty))
    labels = [(at.span, is_what)]
    labels += [(span, f"is {number}") for span, number in numbers.values() if span != at.span]
    message = f"{says}, where {led}{rule}" if led else f"{says}{rule}"
    hint = "launch it on another grid, kernel[grid](...) or `girih run --grid`, or pass arguments that the grid suits"
    return LaunchError([Diagnostic(code, message, guilty.span, labels=tuple(labels), hint=hint)])


# --- the quick way -----------------------------------------------------------------------------


def _quick(function: Function, entries: Sequence[GridExpression]) -> Callable[[Sequence[object]], Sizes | None]:
    """The function from usual arguments to the grid; each step is a line, so that nothing nests."""
    steps = _GridSteps(function)
    numbers = [steps.name_of(entry) for entry in entries]
    lines = ["def grid_of(arguments):", "    try:", *(f"        {line}" for line in steps.lines or ["pass"])]
    lines += ["    except (ArithmeticError, LookupError, TypeError, ValueError):", "        return None"]
    computed = [number for number, entry in zip(numbers, entries, strict=True) if not isinstance(entry, GridNumber)]
    lines += [f"    if not 0 <= {number} <= {LARGEST_GRID}: return None" for number in computed]
    lines += [f"    return {', '.join([*numbers, '1', '1'][:3])}"]
    made: dict[str, Any] = {"ndarray": np.ndarray, "index": index}
    exec("\n".join(lines), made)
    quick: Callable[[Sequence[object]], Sizes | None] = made["grid_of"]
    return quick


class _GridSteps:
    """The lines of Python that compute expressions, and the name of what each line computes."""

    def __init__(self, function: Function) -> None:
        self.numbers = {p.value: number for number, p in enumerate(function.parameters)}
        self.order = function.order
        self.lines: list[str] = []
        self.names: dict[str, str] = {}

    def name_of(self, expression: GridExpression) -> str:
        """The name or the literal that stands for an expression."""
        match expression:
            case GridNumber(value):
                return f"({value})"
            case GridScalar(parameter):
                return self._step(f"index(arguments[{self.numbers[parameter]}])")
            case GridSize(parameter, None):
                return self._step(f"len({self._of_type('not in (list, tuple)', parameter)})")
            case GridSize(parameter, int(mode)):
                array = self._of_type("is not ndarray and not hasattr({}, '__dlpack__')", parameter)
                axis = -1 - mode if self.order == "C" else mode
                return self._step(f"{self._step(f'{array}.shape')}[{axis}]")
            case GridOperation(operation, left, right):
                return self._step(_IN_PYTHON[operation].format(self.name_of(left), self.name_of(right)))
            case _:
                raise InternalError(f"{expression!r} is not an expression of a grid")

    def _of_type(self, wrong: str, parameter: Value) -> str:
        """The name of an argument whose type is not wrong."""
        name = self._step(f"arguments[{self.numbers[parameter]}]")
        check = f"if type({name}) {wrong.format(name)}: return None"
        if check not in self.lines:
            self.lines.append(check)
        return name

    def _step(self, value: str) -> str:
        """The name of a value, which a line computes once."""
        name = self.names.get(value)
        if name is None:
            name = self.names[value] = f"n{len(self.names)}"
            self.lines.append(f"{name} = {value}")
        return name
