"""Groups: the offset, the shapes of the memrefs, and each memref as the part of its member that it is.

003 "Group type": loading element i gives `group[i] + offset`. A member is therefore the array from which the offset
counts, and the memref begins that many elements behind its first. What is behind that must hold the memref; what else
the array has is not the memref's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from girih.arguments.layout import check_dtype, significant, stride_flaw, strides_for
from girih.arguments.memory import elements_of
from girih.arguments.report import ArgumentPlace, ArgumentReport, numbers
from girih.arguments.views import as_array
from girih.diagnostics import plural
from girih.ir.types import Extent, GroupType, MemRef

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The arrays of a group argument, the offset of its type, and the shapes of its memrefs (003 "Group type").

    Each member is the array from which the offset counts: its memref begins `offset` elements further on, and the array
    must hold it from there. `offset` is needed where the type has `offset: ?`.

    `shapes` has the shape of each memref, or its size where it has one mode. Where none is given, a memref behind an
    offset has the shape that its type says, or one mode that reaches to the end of the array; without an offset it has
    the shape of its array.

    An array has an axis for each mode, whose stride is the mode's, or one axis without gaps, on which the memref is
    packed or has the strides of the type. A member may be None, a null pointer. A plain list of arrays does where there
    is neither an offset to be given nor shapes.
    """

    arrays: Sequence[object]
    offset: int | None = None
    shapes: Sequence[int | Sequence[int] | None] | NDArray[np.integer[Any]] | None = None


def group_offset(type: GroupType, given: object, place: ArgumentPlace, report: ArgumentReport) -> Extent:
    """The offset of a group in elements; None after a problem was reported."""
    if given is None:
        if type.offset is None:
            hint = f"pass girih.Group({place.name}, offset=...)"
            report.add("bind.group_offset", place, f"{type} needs the offset of its pointers in elements", hint)
        return type.offset
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        report.add("bind.group_offset", place, f"the offset counts elements; got {given.__class__.__name__}")
        return None
    offset = int(given)
    if offset < 0:
        report.add("bind.group_offset", place, f"a negative offset leaves the arrays; got {offset}")
        return None
    if type.offset is not None and offset != type.offset:
        hint = "leave the offset out, or declare it as `?`"
        report.add("bind.group_offset", place, f"{type} has offset {type.offset}; got {offset}", hint)
        return None
    return offset


def group_shapes(
    type: GroupType, given: object, count: int, place: ArgumentPlace, report: ArgumentReport
) -> list[Shape | None] | None:
    """The shape that is given for each of `count` members, None where none is; None after a problem was reported."""
    if given is None:
        return [None] * count
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, list | tuple):
        report.add("bind.group_shape", place, f"shapes is a list of shapes; got {given.__class__.__name__}")
        return None
    if len(given) != count:
        report.add("bind.group_shape", place, f"there is one shape for each member, {count}; got {len(given)}")
        return None
    problems = len(report.diagnostics)
    shapes = [_shape(type.memref, shape, place.member(number), report) for number, shape in enumerate(given)]
    return shapes if len(report.diagnostics) == problems else None


def _shape(type: MemRef, given: Any, place: ArgumentPlace, report: ArgumentReport) -> Shape | None:
    """The shape of a member's memref, if one is given and suits the type."""
    if given is None:
        return None
    sizes = given if isinstance(given, list | tuple) else [given]
    try:
        shape = tuple(index(size) for size in sizes if not isinstance(size, bool))
    except TypeError:
        shape = ()
    fits = len(shape) == len(sizes) == type.order and min(shape, default=0) >= 0
    if fits and all(known in (None, size) for known, size in zip(type.shape, shape, strict=True)):
        return shape
    report.add("bind.group_shape", place, f"{type} has a shape {numbers(type.shape)}; got {given!r}")
    return None


def part_of_member(
    type: MemRef, value: object, offset: int, shape: Shape | None, place: ArgumentPlace, report: ArgumentReport
) -> NDArray[Any] | None:
    """The elements of a member that are its memref; None after a problem was reported.

    Whether the strides are those of the type is left to whoever binds it.
    """
    array = as_array(value, place, report)
    if array is None or not check_dtype(type, array, place, report):
        return None
    if array.ndim not in (1, type.order):
        modes = plural(type.order, "mode")
        message = f"{type} has {modes}, so with an offset it takes an array with as many axes, or with one"
        report.add("bind.order", place, f"{message}; got one of shape {array.shape}")
        return None
    flaws = [flaw for mode in significant(array) if (flaw := stride_flaw(mode, array))]
    if flaws:
        report.add("bind.layout", place, f"{type} needs positive strides of whole elements: {', '.join(flaws)}")
        return None
    known = _known_shape(type, array, offset, shape, place, report)
    if known is None:
        return None
    strides = _strides(type, array, known)
    span = _extent(known, strides)
    held = _extent(array.shape, [stride // array.itemsize for stride in array.strides])
    if offset + span > held:
        message = f"{type} of shape {numbers(known)} reaches over {span} elements from the offset {offset} on"
        hint = f"pass the array from which the offset counts, with at least {offset + span} elements"
        report.add("bind.group_memory", place, f"{message}; got an array that reaches over {held}", hint)
        return None
    try:
        part = _part(array, held, offset, known, strides)
    except ValueError:
        # What stands beside a size 0 may be of any size.
        message = f"NumPy has no array of shape {numbers(known)} for {type}"
        report.add("bind.group_shape", place, message)
        return None
    if held != array.size and not _part(_elements(array, held), held, offset, known, strides).all():
        message = f"{type} of shape {numbers(known)} has elements in gaps of the array, from the offset {offset} on"
        report.add("bind.group_memory", place, message, "pass the array that this one is a view of")
        return None
    return part


def _known_shape(
    type: MemRef,
    array: NDArray[Any],
    offset: int,
    shape: Shape | None,
    place: ArgumentPlace,
    report: ArgumentReport,
) -> Shape | None:
    """The shape of the memref: the one that is given, that of the type, or what the array has behind the offset."""
    static = tuple(size for size in type.shape if size is not None)
    if shape is not None or len(static) == type.order:
        return static if shape is None else shape
    if type.order > 1:
        hint = "pass girih.Group(arrays, offset, shapes), with the shape of each memref"
        report.add("bind.group_shape", place, f"with an offset, the shape of {type} must be said", hint)
        return None
    (stride,) = _strides(type, array, (array.size,))
    held = _extent(array.shape, (stride,))
    if offset > held:
        message = f"the offset {offset} lies behind the end of the array, which reaches over {held} elements"
        report.add("bind.group_memory", place, message)
        return None
    return (-(-(held - offset) // stride),)


def _strides(type: MemRef, array: NDArray[Any], shape: Shape) -> Shape:
    """The strides of the memref in elements: those of the axes of the array, where it has one for each mode."""
    told = significant(array) if array.ndim == type.order else []
    return strides_for(type, shape, {mode: array.strides[mode] // array.itemsize for mode in told})


def _extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements of memory there are from the first to the last."""
    reach = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return 0 if 0 in shape else 1 + reach


def _part(array: NDArray[Any], held: int, offset: int, shape: Shape, strides: Shape) -> NDArray[Any]:
    """Elements of the memory of an array that reaches over `held` of them."""
    flat = as_strided(array, (held,), (array.itemsize,))
    return elements_of(flat[offset:], shape, strides)


def _elements(array: NDArray[Any], held: int) -> NDArray[np.bool_]:
    """Which places of the memory of an array are elements of it."""
    flags = np.zeros(held, np.bool_)
    as_strided(flags, array.shape, [stride // array.itemsize for stride in array.strides])[...] = True
    return flags
