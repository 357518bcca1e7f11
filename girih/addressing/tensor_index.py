"""From matrix coordinates to memory elements: the pseudo-code of 001 8.X, a block of rows at a time, as NumPy arrays.

Integers are 32-bit as in the text; the element index is 64-bit, and one that does not fit in 32 bits is an error.
A dimension whose span is short is worked out once per coordinate of the span and looked up; the results are the same.
Block coordinates are worked out in a second run, when somebody asks for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import girih.addressing.tensor_rules as rules
from girih.addressing.access import Access, Kind, check_count
from girih.addressing.errors import U32, RuleReport, Violation, plural, what_it_is
from girih.addressing.quirks import check_quirks
from girih.addressing.tensor_view import TensorView

if TYPE_CHECKING:
    from girih.addressing.tensor_layout import TensorLayout

CHUNK = 1 << 15
"""The number of matrix elements that are worked on at once, so that the intermediate arrays stay in the cache."""
TABLE = 1 << 14
"""The largest span of a dimension that is worked out once and looked up."""
OUTSIDE = 1 << 56
"""A number that is added to the index of what lies outside; it is more than five dimensions can sum up to."""

Numbers = NDArray[np.uint32]
Coordinates = NDArray[np.int32] | NDArray[np.int64]


def tensor_access(
    layout: TensorLayout, rows: int, columns: int, view: TensorView | None, store: bool, quirks: str | None
) -> Access:
    """The access that `TensorLayout.access` returns, worked out chunk by chunk. Raises `AddressingError`."""
    shape = _check(layout, rows, columns, view, quirks)
    part = _Part(layout, view, store, quirks, shape)
    element, kind = part.run(None)
    _check_overflow(layout, element)
    return Access(element, kind, layout.clamp_value, part.places)


def _zeros_where(element: NDArray[np.int64], dim: int) -> NDArray[np.int32]:
    """The coordinates inside blocks of one element: 0, and -1 without an element; the last axis takes no memory."""
    single = np.minimum(element, 0).astype(np.int32) if element.size and element.min() < 0 else np.zeros((), np.int32)
    return np.broadcast_to(single[..., None], (*element.shape, dim))


def _chunks(first: int, last: int, left: int, right: int) -> list[tuple[int, int, int, int]]:
    """Boxes (top, bottom, start, stop) of about `CHUNK` elements that cover the rectangle."""
    wide = max(min(right - left, CHUNK), 1)
    high = max(CHUNK // wide, 1)
    return [
        (top, min(top + high, last), start, min(start + wide, right))
        for top in range(first, last, high)
        for start in range(left, right, wide)
    ]


@dataclass(frozen=True)
class _Steps:
    """The contribution of one dimension of the layout per coordinate: its share of the index, and a place.

    The share is `OUTSIDE` and more for what lies outside. The place is the block's number, together with the place in
    the block where blocks have several elements.
    """

    term: NDArray[np.int64]
    place: Coordinates
    reaches_outside: bool


class _Part:
    """One access, prepared: the order of the dimensions, the tables of short spans, what outside means."""

    def __init__(
        self, layout: TensorLayout, view: TensorView | None, store: bool, quirks: str | None, shape: tuple[int, int]
    ) -> None:
        self.layout = layout
        self.view = view
        self.shape = shape
        self.stride = layout.stride if quirks is None else layout.floor_stride
        self.outside = _outside_kind(layout.clamp_mode, store)
        self.blocked = any(size != 1 for size in layout.block_size)
        self.place_type = np.dtype(np.int64 if self.blocked else np.int32)
        self.move = _MOVES[layout.clamp_mode] if self.outside is Kind.CLAMPED else _edge
        self.plain = quirks is not None and view is None and layout.dim == 2
        self.beyond = Kind.DISCARDED if store else Kind.FILLED
        self.tables = [
            self.steps(position, np.arange(span, dtype=np.uint32)) if span <= TABLE else None
            for position, span in enumerate(layout.span)
        ]

    def run(self, place: Coordinates | None) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The values of `Access.element` and `Access.kind`; fills `place` `[dim, rows, columns]`, if it is given."""
        rows, columns = self.shape
        row_offset, row_span, column_offset, column_span = self.view.clip if self.view else (0, U32, 0, U32)
        width = np.uint32(min(columns, column_span))
        element = np.empty(self.shape, np.int64)
        kind = np.empty(self.shape, np.uint8)
        first, last = min(row_offset, rows), min(row_offset + row_span, rows)
        left, right = min(column_offset, columns), min(column_offset + column_span, columns)
        if (last - first, right - left) != self.shape:
            element.fill(-1)
            kind.fill(Kind.SKIPPED)
            if place is not None:
                place.fill(-1)
        for top, bottom, start, stop in _chunks(first, last, left, right):
            box = (slice(top, bottom), slice(start, stop))
            line = np.arange(start - left, stop - left, dtype=np.uint32)
            row = np.arange(top - first, bottom - first, dtype=np.uint32) * width
            index = row[:, None] + line[None, :]
            self.fill(index, element[box], kind[box], None if place is None else place[:, *box])
        return element, kind

    def places(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The values of `Access.block` and `Access.within`."""
        place = np.empty((self.layout.dim, *self.shape), self.place_type)
        element, _ = self.run(place)
        if not self.blocked:
            return np.moveaxis(place, 0, -1), _zeros_where(element, self.layout.dim)
        pairs = np.moveaxis(place.view(np.int32).reshape(*place.shape, 2), 0, -2)
        return pairs[..., 0], pairs[..., 1]

    def steps(self, position: int, coordinate: Numbers) -> _Steps:
        """The steps of dimension `position` in spanCoordToTensorCoord and tensorCoordToLinear (001 8.X)."""
        layout = self.layout
        size, block = layout.dimension[position], layout.block_size[position]
        moved = (coordinate + np.uint32(layout.offset[position] & U32)).view(np.int32)
        place: Coordinates = moved if max(size, block) < 2**30 else moved.astype(np.int64)
        outside = (place < 0) | (place >= size)
        some_outside = bool(outside.any())
        if some_outside:
            place = self.move(place, size)
        number = place // block if block != 1 else place
        term = _saturated(number, self.stride[position])
        if some_outside:
            term += outside.astype(np.int64) * OUTSIDE
        return _Steps(term, self.pair(number, place - number * block if self.blocked else place), some_outside)

    def pair(self, number: Coordinates, within: Coordinates) -> Coordinates:
        """Block numbers, side by side with the places in the blocks where those have several elements."""
        if not self.blocked:
            return number.astype(np.int32)
        return np.stack((number, within), -1).astype(np.int32).view(np.int64)[..., 0]

    def fill(
        self, index: Numbers, element: NDArray[np.int64], kind: NDArray[np.uint8], place: Coordinates | None
    ) -> None:
        """Write the answers for the linear indices of some matrix elements into parts of the result."""
        beyond = index >= np.uint64(math.prod(self.layout.span)) if self.plain else None
        if self.view is not None:
            index = _through_view(index, self.view, self.layout.span)
        element.fill(0)
        kind.fill(Kind.IN_BOUNDS)
        reaches_outside = False
        for position, coordinate in enumerate(_unravel(index, self.layout.span, range(self.layout.dim))):
            table = self.tables[position]
            steps = self.steps(position, coordinate) if table is None else table
            lookup = slice(None) if table is None else coordinate.astype(np.intp)
            element += steps.term[lookup]
            if place is not None:
                place[position] = steps.place[lookup]
            reaches_outside |= steps.reaches_outside
        if reaches_outside:
            outside = element >= OUTSIDE
            element &= OUTSIDE - 1
            self.end(outside, self.outside, element, kind, place)
        if beyond is not None:
            self.end(beyond, self.beyond, element, kind, place)

    def end(
        self,
        where: NDArray[np.bool_],
        code: Kind,
        element: NDArray[np.int64],
        kind: NDArray[np.uint8],
        place: Coordinates | None,
    ) -> None:
        """Write `code` as the kind of these elements, and -1, whose bits are all ones, as their element and place."""
        np.copyto(kind, np.uint8(code), where=where)
        if code is not Kind.CLAMPED:
            element |= -where.astype(np.int64)
            if place is not None:
                place |= -where.astype(self.place_type)


def _outside_kind(clamp_mode: str, store: bool) -> Kind:
    if clamp_mode == "undefined":
        return Kind.UNDEFINED
    if store:
        return Kind.DISCARDED
    return Kind.FILLED if clamp_mode == "constant" else Kind.CLAMPED


def _edge(place: Coordinates, size: int) -> Coordinates:
    return np.minimum(np.maximum(place, 0), size - 1)


def _repeat(place: Coordinates, size: int) -> Coordinates:
    """The remainder, never negative; faster than NumPy's, and right where the product wraps."""
    return place - place // size * size


def _mirror(place: Coordinates, size: int) -> Coordinates:
    if size == 1:
        return np.zeros_like(place)
    period = 2 * size - 2
    place = _repeat(place, period)
    return np.where(place >= size, period - place, place)


_MOVES: dict[str, Callable[[Coordinates, int], Coordinates]] = {
    "clamp_to_edge": _edge,
    "repeat": _repeat,
    "mirror_repeat": _mirror,
}
"""The clamp modes that move a coordinate outside 0 .. size-1, and how; others stay (001 8.X spanCoordToTensorCoord)."""


def _saturated(number: Coordinates, stride: int) -> NDArray[np.int64]:
    """The product `number * stride`, or a number beyond 32 bits where it is one, without overflow of 64 bits."""
    if stride == 0:
        return np.zeros(number.shape, np.int64)
    return np.minimum(number.astype(np.int64), U32 // stride + 1) * stride


def _unravel(index: Numbers, sizes: Sequence[int], order: Sequence[int]) -> list[Numbers]:
    """The coordinate in each dimension of a linear index (001 8.X linearToSpanCoord, linearToViewCoord).

    `order` lists the dimensions, outermost first.
    """
    coordinates = [index] * len(sizes)
    for position in reversed(order):
        size = np.uint32(sizes[position])
        quotient = index // size
        coordinates[position] = index - quotient * size
        index = quotient
    return coordinates


def _through_view(index: Numbers, view: TensorView, span: Sequence[int]) -> Numbers:
    """The index that a view makes of another: linearToViewCoord, then viewCoordToLinear (001 8.X), modulo 2^32."""
    sizes, strides = _view_shape(view, span)
    result = np.zeros_like(index)
    for coordinate, stride in zip(_unravel(index, sizes, view.order), strides, strict=True):
        result += coordinate * np.uint32(stride & U32)
    return result


def _view_shape(view: TensorView, span: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """The dimensions and strides in effect: the view's own, or those of the span."""
    if view.has_dimensions:
        return view.dimension, view.stride
    return span, [math.prod(span[position + 1 :]) for position in range(view.dim)]


def _check(layout: TensorLayout, rows: int, columns: int, view: object, quirks: str | None) -> tuple[int, int]:
    report = RuleReport("TensorLayout.access")
    rows = report.integer("rows", rows, 1, U32, rules.MATRIX_SHAPE)
    columns = report.integer("columns", columns, 1, U32, rules.MATRIX_SHAPE)
    check_quirks(report, quirks)
    if not all(layout.span) or not all(layout.dimension):
        report.add(
            rules.NO_DIMENSION,
            f"the dimensions of the layout were never set: they are {layout.dimension}",
            "call set_dimension, and slice after it",
        )
    if isinstance(view, TensorView):
        _check_view(report, layout.dim, view)
    elif view is not None:
        report.add(rules.VIEW_TYPE, f"the view is {what_it_is(view)}", "pass a TensorView, or None")
    check_count(report, (rows, columns))
    return rows, columns


def _check_view(report: RuleReport, layout_dim: int, view: TensorView) -> None:
    if view.has_dimensions and not all(view.dimension):
        report.add(rules.VIEW_NO_DIMENSION, "the dimensions of the view were never set", "call set_dimension")
    if not view.has_dimensions and view.dim != layout_dim:
        report.add(
            rules.VIEW_LAYOUT_DIM,
            f"the view reads the span in {plural(view.dim, 'dimension')}, the layout has {layout_dim}",
            f"use TensorView({layout_dim}), or give the view dimensions of its own: has_dimensions, set_dimension",
        )


def _check_overflow(layout: TensorLayout, element: NDArray[np.int64]) -> None:
    if element.size and element.max() > U32:
        row, column = (int(indices[0]) for indices in np.nonzero(element > U32))
        report = RuleReport("TensorLayout.access")
        report.add(
            rules.INDEX_OVERFLOW,
            f"element [{row}, {column}] has an index beyond 2^32-1 with strides {layout.stride}",
            "move the base (element_offset) near the region and make the layout smaller",
        )
        report.done()


def tensor_lints(
    layout: TensorLayout, rows: int, columns: int, view: TensorView | None, store: bool
) -> list[Violation]:
    """The violations of severity `lint` in one access: what is legal and probably not meant."""
    access = tensor_access(layout, rows, columns, view, store, None)
    report = RuleReport("TensorLayout.access")
    total = math.prod(layout.span)
    if view is None and rows * columns > total:
        report.add(
            rules.MATRIX_OVER_SPAN,
            f"the matrix has {rows} x {columns} = {rows * columns} elements, the span {layout.span} has {total}",
            "slice a span of the matrix's size; the clamp mode handles what lies outside the tensor",
        )
    aliased = access.aliased()
    if store and len(aliased):
        report.add(
            rules.STORES_ALIAS,
            f"{plural(len(aliased), 'memory element', ('is', 'are'))} stored more than once, the first is element "
            f"{aliased[0]}",
            "store every element of the span once",
        )
    undefined = np.argwhere(access.is_kind(Kind.UNDEFINED))
    if len(undefined):
        report.add(
            rules.OUT_OF_BOUNDS,
            f"{plural(len(undefined), 'element', ('lies', 'lie'))} outside the layout, the first at "
            f"{undefined[0].tolist()} of the matrix",
            "give the layout a clamp mode, or slice inside it",
        )
    last = _last_index(view, layout.span) if view is not None else 0
    if last > U32:
        report.add(
            rules.VIEW_WRAP,
            f"the largest linear index of the view is {last}, over 2^32-1, and wraps",
            "choose smaller strides or dimensions",
        )
    return report.violations


def _last_index(view: TensorView, span: Sequence[int]) -> int:
    """The largest linear index of a view, before it wraps."""
    sizes, strides = _view_shape(view, span)
    return sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
