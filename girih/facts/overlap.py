"""Where two boxes of memory meet: exactly, in a time that grows with their columns rather than their elements.

A box is what a memref shows: each mode begins behind the end of the one before it (003 "Strided layout"), which every
view keeps. So the slices of a mode lie apart and in order, and of two boxes with slices equally far apart, slices meet
that are one of at most two numbers apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.lazy_dataclass import dataclass

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
    step = max(_step(box), _step(other))
    if step == 0:
        return max(distance, 0)
    # Slices of the box, of the other one, or pairs of both that are equally many slices apart.
    (mine, before), (its, behind) = _sliced(box, step), _sliced(other, step)
    first = max(-before, -((distance + its.span - 1) // step))
    last = min(behind, (mine.span - 1 - distance) // step)
    shared = ((ahead, first_shared(distance + ahead * step, mine, its)) for ahead in range(first, last + 1))
    return min((byte + max(0, -ahead) * step for ahead, byte in shared if byte is not None), default=None)


def _step(box: ByteBox) -> int:
    """The number of bytes between the slices of the last mode; 0 without modes."""
    return box.modes[-1][1] if box.modes else 0


def _sliced(box: ByteBox, step: int) -> tuple[ByteBox, int]:
    """A slice of a box whose slices are `step` bytes apart, and how many follow it; any other box itself, and 0."""
    if _step(box) != step:
        return box, 0
    return ByteBox(box.modes[:-1], box.element), box.modes[-1][0] - 1


def index_at(byte: int, shape: Sequence[int], strides: Sequence[int], element: int) -> tuple[int, ...]:
    """The index of the element of a memref that has a byte, which is counted from the first element on."""
    left, index = byte // element, [0] * len(shape)
    for mode in reversed(range(len(shape))):
        if shape[mode] > 1:
            index[mode], left = divmod(left, strides[mode])
    return tuple(index)
