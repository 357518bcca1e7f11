"""Reads and writes of whole tiles of memory: boxes of elements at many offsets, without an index per element.

All boxes of a call have one shape and one set of strides; `windows` shows a memory as an array of all such boxes, of
which NumPy copies those that are wanted. Shapes, offsets and strides count elements.
"""

from __future__ import annotations

import numpy as np

from girih.arguments.memory import ElementView, strided
from girih.interpreter.machine.values import Array

Ints = tuple[int, ...]


def span_of(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The number of elements of memory from the first to the last of a box, both counted; 0 for an empty shape."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))


def windows(data: Array, shape: Ints, strides: Ints, *, writeable: bool = False) -> Array:
    """A view of all boxes of a memory: axis 0 is the offset of the first element, then come the modes, last to first.

    The offsets go from 0 to the last at which the whole box lies inside; strides are not negative.
    """
    span = span_of(shape, strides)
    size = data.itemsize
    boxes = strided(
        data,
        (max(0, data.size - span + 1), *reversed(shape)),
        (size, *(stride * size for stride in reversed(strides))),
        writeable=writeable and data.flags.writeable,
    )
    return np.asarray(boxes)


def read_boxes(data: Array, offsets: Array, shape: Ints, strides: Ints, *, copy: bool = False) -> Array:
    """The boxes at offsets: first the axes of `offsets`, which may be any, then the modes from first to last.

    Without `copy` a single box may be a view of the memory.
    """
    if 0 in shape:
        return np.zeros((*offsets.shape, *shape), data.dtype)
    boxes = _picked(data, offsets, shape, strides, copy=copy)
    return _first_to_last(boxes, offsets.ndim)


def _first_to_last(boxes: Array, lead: int) -> Array:
    """Boxes with the order of their modes reversed; `lead` axes before the modes stay."""
    return boxes.transpose(*range(lead), *range(boxes.ndim - 1, lead - 1, -1))


def _picked(data: Array, offsets: Array, shape: Ints, strides: Ints, *, copy: bool) -> Array:
    """The boxes at offsets: first the axes of `offsets`, then the modes from last to first."""
    view = windows(data, shape, strides)
    single = offsets.size == 1 and not copy
    boxes: Array = view[int(offsets.flat[0])][(None,) * offsets.ndim] if single else view[offsets]
    return boxes


def write_boxes(elements: ElementView, offsets: Array, shape: Ints, strides: Ints, values: Array) -> None:
    """Store boxes; later ones win. `values` has the axes of `offsets`, or size 1 there, then the modes."""
    if 0 in shape or offsets.size == 0:
        return
    turned = _first_to_last(values, offsets.ndim)
    windows(elements.data, shape, strides, writeable=True)[offsets] = turned
    elements.mark_windows(lambda marks: windows(marks, shape, strides, writeable=True), offsets, turned.size)


def unwritten(elements: ElementView, offsets: Array, shape: Ints, strides: Ints) -> Array | None:
    """The mask of elements of boxes that were never written, with the axes of `read_boxes`; None if all were."""
    marks = elements.followed
    if marks is None or 0 in shape or offsets.size == 0:
        return None
    missing = elements.incomplete(_picked(marks, offsets, shape, strides, copy=False))
    return None if missing is None else _first_to_last(missing, offsets.ndim)
