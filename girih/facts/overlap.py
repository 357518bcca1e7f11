"""Where two boxes of memory meet: exactly, in a time that grows with their columns rather than their elements.

A box is what a memref shows: each mode begins behind the end of the one before it (003 "Strided layout"), which every
view keeps. So the slices of a mode lie apart and in order, and of two boxes with slices equally far apart, slices meet
that are one of at most two numbers apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Modes = tuple[tuple[int, int], ...]
"""The modes of a box from first to last, each with its size and the number of bytes from one slice to the next."""


@dataclass(frozen=True, slots=True)
class ByteBox:
    """The bytes of the elements of a memref: its modes, and the size of an element in bytes."""

    modes: Modes
    element: int

    @property
    def span(self) -> int:
        """The number of bytes from the first to the last, both counted, of a box that is not empty."""
        return self.element + sum((size - 1) * step for size, step in self.modes)


def byte_box(shape: Sequence[int], strides: Sequence[int], element: int) -> ByteBox | None:
    """The box of a memref, whose strides count elements of `element` bytes; None where there are no elements.

    Modes of size 1 are left out, since their stride leads nowhere.
    """
    if 0 in shape:
        return None
    pairs = zip(shape, strides, strict=True)
    return ByteBox(tuple((size, stride * element) for size, stride in pairs if size > 1), element)


def first_shared(distance: int, box: ByteBox, other: ByteBox) -> int | None:
    """The number of bytes from the begin of a box to the first byte that is in another box, too; None if none is.

    The other box begins `distance` bytes behind the first one.
    """
    if distance >= box.span or distance + other.span <= 0:
        return None
    if not box.modes and not other.modes:
        return max(distance, 0)
    step, other_step = _step(box), _step(other)
    if step == other_step:
        return _by_pairs(distance, box, other, step)
    return _by_slices(distance, box, other) if step > other_step else _by_other_slices(distance, box, other)


def _step(box: ByteBox) -> int:
    """The number of bytes between the slices of the last mode; 0 without modes."""
    return box.modes[-1][1] if box.modes else 0


def _slice(box: ByteBox) -> ByteBox:
    return ByteBox(box.modes[:-1], box.element)


def _by_pairs(distance: int, box: ByteBox, other: ByteBox, step: int) -> int | None:
    """`first_shared` of boxes whose slices are `step` bytes apart: pairs of slices differ by how far one is ahead."""
    inner, its = _slice(box), _slice(other)
    first = max(1 - box.modes[-1][0], -((distance + its.span - 1) // step))
    last = min(other.modes[-1][0] - 1, (inner.span - 1 - distance) // step)
    found = []
    for ahead in range(first, last + 1):
        shared = first_shared(distance + ahead * step, inner, its)
        if shared is not None:
            found.append(shared + max(0, -ahead) * step)
    return min(found, default=None)


def _by_slices(distance: int, box: ByteBox, other: ByteBox) -> int | None:
    """`first_shared`, for each slice of the box that may meet the other one."""
    inner, (size, step) = _slice(box), box.modes[-1]
    first = max(0, (distance - inner.span) // step + 1)
    for number in range(first, min(size - 1, (distance + other.span - 1) // step) + 1):
        shared = first_shared(distance - number * step, inner, other)
        if shared is not None:
            return shared + number * step
    return None


def _by_other_slices(distance: int, box: ByteBox, other: ByteBox) -> int | None:
    """`first_shared`, for each slice of the other box that may meet this one."""
    its, (size, step) = _slice(other), other.modes[-1]
    first = max(0, (-distance - its.span) // step + 1)
    for number in range(first, min(size - 1, (box.span - 1 - distance) // step) + 1):
        shared = first_shared(distance + number * step, box, its)
        if shared is not None:
            return shared
    return None


def index_at(byte: int, shape: Sequence[int], strides: Sequence[int], element: int) -> tuple[int, ...]:
    """The index of the element of a memref that has a byte, which is counted from the first element on."""
    left, index = byte // element, [0] * len(shape)
    for mode in reversed(range(len(shape))):
        if shape[mode] > 1:
            index[mode], left = divmod(left, strides[mode])
    return tuple(index)
