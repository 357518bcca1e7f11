"""How an array lies in memory, and the views with two or three axes through which kernels take it.

Sizes and strides are by axes, strides in elements. Nothing here knows a library of arrays. A view is a permutation of
axes and the shape that they then get; it never moves an element: axes are joined only where one continues the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Literal

from girih.lazy_dataclass import dataclass

Facing = Literal["rows", "columns"]
"""Which of them are contiguous in a matrix."""


@dataclass(frozen=True, slots=True)
class AxisView:
    """A view of an array in order C: its axes in the order `axes`, then of shape `shape`."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def is_permuted(self) -> bool:
        """Whether the axes come in another order than in the array."""
        return self.axes != tuple(range(len(self.axes)))


def memory_order(shape: Sequence[int], steps: Sequence[int]) -> tuple[int, ...]:
    """The axes from the outermost to the innermost in memory; where nothing decides, as they are numbered.

    Axes with fewer than two elements lie beside the axis that they follow.
    """
    order: list[int] = []
    for axis in range(len(shape)):
        place = len(order)
        if shape[axis] > 1:
            inner = [k for k, other in enumerate(order) if shape[other] > 1 and abs(steps[other]) < abs(steps[axis])]
            place = inner[0] if inner else place
        order.insert(place, axis)
    return tuple(order)


def inverse_of(order: Sequence[int]) -> list[int]:
    """The place of each axis in an order: the order that undoes it."""
    inverse = [0] * len(order)
    for place, axis in enumerate(order):
        inverse[axis] = place
    return inverse


def packed_steps(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """The strides of an array without gaps, whose axes are in an order in memory."""
    steps, step = [0] * len(shape), 1
    for axis in reversed(order):
        steps[axis] = step
        step *= max(shape[axis], 1)
    return tuple(steps)


def is_packed(shape: Sequence[int], steps: Sequence[int], order: Sequence[int]) -> bool:
    """Whether an array has no gaps, with its axes in an order in memory."""
    packed = packed_steps(shape, order)
    return all(size <= 1 or a == b for size, a, b in zip(shape, steps, packed, strict=True))


def joined(shape: Sequence[int], steps: Sequence[int], axes: Iterable[int]) -> tuple[int, int] | None:
    """Size and stride of axes as one, outermost first; None where one does not continue the other.

    The stride of one element, or none, is 0.
    """
    size, step = 1, 0
    for axis in reversed([axis for axis in axes if shape[axis] != 1]):
        if size == 1:
            step = steps[axis]
        elif steps[axis] != step * size:
            return None
        size *= shape[axis]
    return size, step


def split(shape: Sequence[int], steps: Sequence[int], axis: int) -> AxisView | None:
    """The view of an array around one axis: others x axis where it is contiguous, else outer x axis x inner.

    In the second one the innermost axis is contiguous. None where the array has no such view.
    """
    order = memory_order(shape, steps)
    others = tuple(one for one in order if one != axis)
    if steps[axis] == 1 or shape[axis] <= 1:
        found = joined(shape, steps, others)
        fits = found is not None and (found[0] <= 1 or found[1] >= max(shape[axis], 1))
        return AxisView((*others, axis), (found[0], shape[axis])) if found is not None and fits else None
    place = order.index(axis)
    outer, inner = order[:place], order[place + 1 :]
    above, below = joined(shape, steps, outer), joined(shape, steps, inner)
    if above is None or below is None or below[1] != 1 or steps[axis] < below[0]:
        return None
    if above[0] > 1 and above[1] < steps[axis] * shape[axis]:
        return None
    return AxisView(order, (above[0], shape[axis], below[0]))


def lines(shape: Sequence[int], steps: Sequence[int]) -> AxisView | None:
    """The view of an array as rows x length, where as many axes as possible are one length without gaps.

    None where the array has no such view.
    """
    order = memory_order(shape, steps)
    length, place = 1, len(order)
    while place and (shape[order[place - 1]] <= 1 or steps[order[place - 1]] == length):
        place -= 1
        length *= shape[order[place]]
    rows = joined(shape, steps, order[:place])
    if rows is None or (rows[0] > 1 and rows[1] < length):
        return None
    return AxisView(order, (rows[0], length))


def facing(shape: Sequence[int], steps: Sequence[int]) -> Facing | None:
    """Whether the rows or the columns of a matrix, its last two axes, are contiguous; None where neither are.

    Rows, where both are.
    """
    (rows, columns), (down, along) = shape[-2:], steps[-2:]
    if (along == 1 or columns <= 1) and (rows <= 1 or down >= columns):
        return "rows"
    if (down == 1 or rows <= 1) and (columns <= 1 or along >= rows):
        return "columns"
    return None


def elements(shape: Sequence[int]) -> int:
    """The number of elements of an array."""
    return prod(shape)
