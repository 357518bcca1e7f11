"""The choices of the caller of a picture, checked, and the limits of what one picture shows.

`checked` turns the keyword arguments of `girih.draw` into `Options`, and raises `DrawingError` for what is malformed.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import SupportsIndex, TypedDict, cast

from girih.addressing import TensorView
from girih.draw.picture import DrawingError
from girih.lazy_dataclass import dataclass

Window = tuple[tuple[int, int], tuple[int, int]]

MOST_LINES = 64
"""The most rows, and columns, of a window."""


class DrawOptions(TypedDict, total=False):
    """The keyword arguments of `figure`, `svg`, `save` and `text`, each for the models that are named.

    An option that is left out, or None, is chosen by the model.

    - `rows`, `columns`, `view`: the matrix that a `TensorLayout` is accessed as, otherwise its span; `store`: whether a
      store is drawn instead of a load (`TensorLayout`, `TensorMap`).
    - `coordinates`, in elements, and `offsets`, both innermost first, and `shared_address`, in bytes: the operands of
      the copy of a `TensorMap`.
    - `row_bytes`: the bytes from row to row of the tile that is read through a `Swizzle`.
    - `memory_columns`: the number of elements in a row of the memory.
    - `window`: `((row, rows), (column, columns))`, the part of the tile that is drawn, outer axes counted as rows.
    - `panels`: those of `tile`, `tensor`, `memory`, `shared` that are drawn, in this order.
    """

    rows: int
    columns: int
    view: TensorView
    store: bool
    coordinates: Sequence[int]
    offsets: Sequence[int]
    shared_address: int
    row_bytes: int
    memory_columns: int
    window: Sequence[Sequence[int]]
    panels: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The choices for one picture, checked; `DrawOptions` describes each, None leaves it to the model."""

    rows: int | None = None
    columns: int | None = None
    view: TensorView | None = None
    store: bool = False
    coordinates: tuple[int, ...] | None = None
    offsets: tuple[int, ...] | None = None
    shared_address: int = 0
    row_bytes: int | None = None
    memory_columns: int | None = None
    window: Window | None = None
    panels: tuple[str, ...] | None = None

    def given(self) -> list[str]:
        """The names of the options that differ from their defaults."""
        usual = Options()
        return [field.name for field in fields(self) if getattr(self, field.name) != getattr(usual, field.name)]


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers of rows, columns and planes of a grid that are drawn unless a window says otherwise."""

    rows: int
    columns: int
    planes: int


PAPER_LIMITS = Limits(16, 16, 6)
TERMINAL_LIMITS = Limits(16, 16, 4)
RING = 2
"""The number of lines that a grid with a tile in it may have in addition, for what is around the tile."""


def checked(options: Mapping[str, object]) -> Options:
    """The options as numbers and tuples. Raises `DrawingError` for an unknown or malformed one."""
    known = [field.name for field in fields(Options)]
    for name in options:
        if name not in known:
            raise DrawingError(f"there is no option {name!r}; choose among {', '.join(known)}")
    view, window, panels = (options.get(name) for name in ("view", "window", "panels"))
    if not isinstance(view, TensorView | None):
        raise DrawingError(f"view = {view!r} is no TensorView")
    return Options(
        rows=_size(options, "rows"),
        columns=_size(options, "columns"),
        view=view,
        store=bool(options.get("store")),
        coordinates=_wholes("coordinates", options.get("coordinates")),
        offsets=_wholes("offsets", options.get("offsets")),
        shared_address=whole("shared_address", options.get("shared_address", 0), 0),
        row_bytes=_size(options, "row_bytes"),
        memory_columns=_size(options, "memory_columns"),
        window=None if window is None else _window(window),
        panels=None if panels is None else _names(panels),
    )


def _size(options: Mapping[str, object], name: str) -> int | None:
    return None if options.get(name) is None else whole(name, options[name], 1)


def whole(name: str, value: object, low: int) -> int:
    """The value as an integer of at least `low`. Raises `DrawingError` for any other value."""
    try:
        number = operator.index(cast(SupportsIndex, value))
    except TypeError:
        raise DrawingError(f"{name} = {value!r} is no integer") from None
    if number < low:
        raise DrawingError(f"{name} = {number} is less than {low}")
    return number


def _wholes(name: str, values: object) -> tuple[int, ...] | None:
    if values is None:
        return None
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise DrawingError(f"{name} = {values!r} is no sequence of integers")
    return tuple(whole(f"{name}[{position}]", value, -(2**63)) for position, value in enumerate(values))


def _window(value: object) -> Window:
    expected = "window is ((row, rows), (column, columns))"
    if not isinstance(value, Sequence) or len(value) != 2:
        raise DrawingError(f"window = {value!r}: {expected}")
    pairs = [_wholes("window", pair) or () for pair in value]
    if any(len(pair) != 2 for pair in pairs):
        raise DrawingError(f"window = {value!r}: {expected}")
    for (first, size), what in zip(pairs, ("row", "column"), strict=True):
        if first < 0 or not 1 <= size <= MOST_LINES:
            raise DrawingError(
                f"window = {value!r}: {size} {what}s from {what} {first}; a window begins at 0 or later and has 1 to "
                f"{MOST_LINES} {what}s"
            )
    return (pairs[0][0], pairs[0][1]), (pairs[1][0], pairs[1][1])


def _names(values: object) -> tuple[str, ...]:
    if isinstance(values, str):
        return (values,)
    if not isinstance(values, Iterable):
        raise DrawingError(f"panels = {values!r}: name them in a tuple")
    return tuple(str(value) for value in values)
