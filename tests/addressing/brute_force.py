"""The pseudo-code of 001 8.X as plain loops over plain integers, one matrix element at a time: slow, and easy to read.

Two places are settled otherwise than the text reads, by measurement: clip regions do not wrap, and the mirror formula
uses the dimension of the layout where the text has the number of the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.addressing import Kind, TensorLayout, TensorView

U32 = 0xFFFFFFFF


@dataclass(frozen=True)
class Answer:
    """What one matrix element stands for."""

    kind: Kind
    element: int = -1
    block: tuple[int, ...] = ()
    within: tuple[int, ...] = ()


def signed(number: int) -> int:
    """The 32-bit pattern read as a signed integer."""
    number &= U32
    return number - 2**32 if number >= 2**31 else number


def outside(layout: TensorLayout, c: int, n: int, store: bool) -> int | Kind:
    """The coordinate that `c`, outside 0 .. n-1, is moved to, or how the access ends."""
    mode = layout.clamp_mode
    if mode == "undefined":
        return Kind.UNDEFINED
    if store:
        return Kind.DISCARDED
    if mode == "constant":
        return Kind.FILLED
    if mode == "clamp_to_edge":
        return min(max(c, 0), n - 1)
    if mode == "repeat":
        return c % n
    if n == 1:
        return 0
    c = c % (2 * n - 2)
    return 2 * n - 2 - c if c >= n else c


def through_view(view: TensorView, span: tuple[int, ...], index: int) -> int:
    """linearToViewCoord and viewCoordToLinear."""
    dimensions = view.dimension if view.has_dimensions else span
    coordinate = [0] * view.dim
    for dim in reversed(range(view.dim)):
        i = view.order[dim]
        coordinate[i] = index % dimensions[i]
        index //= dimensions[i]
    stride = list(view.stride)
    if not view.has_dimensions:
        stride[view.dim - 1] = 1
        for dim in reversed(range(view.dim - 1)):
            stride[dim] = stride[dim + 1] * span[dim + 1] & U32
    result = 0
    for dim in range(view.dim):
        result = (result + coordinate[dim] * stride[dim]) & U32
    return result


def one(layout: TensorLayout, view: TensorView | None, row: int, column: int, columns: int, store: bool) -> Answer:
    """matrixCoordToTensorElement, with or without a view."""
    width = columns
    if view is not None:
        row_offset, row_span, column_offset, column_span = view.clip
        in_rows = row_offset <= row < row_offset + row_span
        in_columns = column_offset <= column < column_offset + column_span
        if not (in_rows and in_columns):
            return Answer(Kind.SKIPPED)
        row -= row_offset
        column -= column_offset
        width = min(columns, column_span)
    index = (row * width + column) & U32
    if view is not None:
        index = through_view(view, layout.span, index)
    span_coordinate = [0] * layout.dim
    for dim in reversed(range(layout.dim)):
        span_coordinate[dim] = index % layout.span[dim]
        index //= layout.span[dim]
    kind = Kind.IN_BOUNDS
    block, within = [], []
    element = 0
    for dim in range(layout.dim):
        c = signed(span_coordinate[dim] + layout.offset[dim])
        n = layout.dimension[dim]
        if c < 0 or c >= n:
            moved = outside(layout, c, n, store)
            if isinstance(moved, Kind):
                return Answer(moved)
            c = moved
            kind = Kind.CLAMPED
        within.append(c % layout.block_size[dim])
        block.append(c // layout.block_size[dim])
        element += block[dim] * layout.stride[dim]
    return Answer(kind, element, tuple(block), tuple(within))


def answers(
    layout: TensorLayout, rows: int, columns: int, view: TensorView | None = None, store: bool = False
) -> list[list[Answer]]:
    """`one` for every element of a matrix."""
    return [[one(layout, view, row, column, columns, store) for column in range(columns)] for row in range(rows)]
