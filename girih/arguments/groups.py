"""Groups: the offset, the shapes of the memrefs, and the part of each member that is its memref.

003 "Group type": loading element i gives `group[i] + offset`. A member is therefore the array from which the offset
counts, and the memref begins that many elements behind its first. The array must hold the whole memref from there on;
its other elements do not belong to the memref.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.arguments.layout import check_dtype, check_strides, dtype_name, significant, stride_flaw, strides_for
from girih.arguments.memory import elements_of, strided
from girih.arguments.report import ArgumentPlace, ArgumentReport, numbers
from girih.arguments.scalars import DTYPES
from girih.arguments.views import as_array
from girih.diagnostics import plural
from girih.ir.types import Extent, GroupType, MemRef
from girih.lazy_dataclass import dataclass

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Group:
    """The arrays of a group argument, the offset of its type, and the shapes of its memrefs (003 "Group type").

    Each of `arrays` is the array from which the offset counts: its memref begins `offset` elements further on, in the
    order of memory, and the array must hold it from there. `offset` is needed where the type has `offset: ?`.

    `shapes` has the shape of each memref, as an array has it, or its size where it has one mode. Where none is given, a
    memref behind an offset has the shape that its type says, or one mode that reaches to the end of the array; without
    an offset it has the shape of its array. The offset 0 is none.

    An array has an axis for each mode, whose stride is the mode's, or, behind an offset or with a shape, one axis
    without gaps, on which the memref is packed or has the strides of the type. A member may be None, a null pointer. A
    plain list of arrays is enough where neither an offset nor shapes must be given. A launch checks all of this, and
    raises `LaunchError`.

    A list is kept as a tuple. Launches on a GPU look closely at a group of torch's tensors or CuPy's arrays when it
    comes to a kernel for the first and for the second time. From then on they take it that memory, shapes and strides
    of its arrays stay, which makes a launch with a thousand of them as quick as one with a single one: where any of
    these changes in place (`tensor.set_`, `tensor.resize_`), pass a new group.
    """

    arrays: Sequence[object]
    offset: int | None = None
    shapes: Sequence[int | Sequence[int] | None] | NDArray[np.integer[Any]] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.arrays, list):
            object.__setattr__(self, "arrays", tuple(self.arrays))


def group_offset(type: GroupType, given: object, place: ArgumentPlace, report: ArgumentReport) -> Extent:
    """The offset of a group in elements; None after a problem was reported."""
    if given is None:
        if type.offset is None:
            hint = f"pass girih.Group({place.name}, offset=...)"
            report.add(
                "bind.group_offset", place, f"{place.declared(type)} needs the offset of its pointers in elements", hint
            )
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
        report.add("bind.group_offset", place, f"{place.declared(type)} has offset {type.offset}; got {offset}", hint)
        return None
    return offset


def group_shapes(
    type: GroupType, given: object, count: int, place: ArgumentPlace, report: ArgumentReport
) -> list[Shape | None] | None:
    """The given shape of each of `count` members, None for one without; None after a problem was reported."""
    if given is None:
        return [None] * count
    listed = _listed(given)
    if not isinstance(listed, list):
        report.add("bind.group_shape", place, f"shapes is a list of shapes; got {given.__class__.__name__}")
        return None
    if len(listed) != count:
        report.add("bind.group_shape", place, f"there is one shape for each member, {count}; got {len(listed)}")
        return None
    problems = len(report.diagnostics)
    shapes = [_shape(type.memref, shape, place.member(number), report) for number, shape in enumerate(listed)]
    return shapes if len(report.diagnostics) == problems else None


def _listed(given: Any) -> Any:
    """A sequence or an array as a list; anything else as it is."""
    if isinstance(given, np.ndarray):
        return given.tolist()
    return list(given) if isinstance(given, Sequence) and not isinstance(given, str | bytes) else given


def _shape(type: MemRef, given: Any, place: ArgumentPlace, report: ArgumentReport) -> Shape | None:
    """The shape of a member's memref, if one is given and suits the type."""
    if given is None:
        return None
    listed = _listed(given)
    sizes = listed if isinstance(listed, list) else [listed]
    try:
        shape = tuple(index(size) for size in sizes if not isinstance(size, bool))
    except TypeError:
        shape = ()
    fits = len(shape) == len(sizes) == type.order and min(shape, default=0) >= 0
    modes = place.turned(shape)
    if fits and all(known in (None, size) for known, size in zip(type.shape, modes, strict=True)):
        return modes
    hint = f"{place.convention}, also in shapes" if place.order == "C" else None
    report.add("bind.group_shape", place, f"{given!r} is not a shape of {place.declared(type)}", hint)
    return None


def part_of_member(
    type: MemRef, value: object, offset: int, shape: Shape | None, place: ArgumentPlace, report: ArgumentReport
) -> NDArray[Any] | None:
    """The elements of a member that are its memref, by its modes; None after a problem was reported."""
    given = as_array(value, place, report, DTYPES[type.element])
    if given is None:
        return None
    array = given.T if place.order == "C" else given
    if not check_dtype(type, array, place, report):
        return None
    if array.ndim not in (1, type.order):
        modes = plural(type.order, "mode")
        message = (
            f"{place.declared(type)} has {modes}, so with an offset it takes an array with as many axes, or with one"
        )
        report.add("bind.order", place, f"{message}; got one of shape {given.shape}")
        return None
    flaws = [flaw for mode in significant(array) if (flaw := stride_flaw(mode, array, place))]
    if flaws:
        report.add(
            "bind.layout", place, f"{place.declared(type)} needs positive strides of whole elements: {', '.join(flaws)}"
        )
        return None
    extent = _extent(array.shape, [stride // array.itemsize for stride in array.strides])
    known = _known_shape(type, array, extent, offset, shape, place, report)
    if known is None:
        return None
    strides, shown = _strides(type, array, known), numbers(place.by_axis(known))
    span = _extent(known, strides)
    if offset + span > extent:
        message = f"{place.declared(type)} of shape {shown} reaches over {span} elements from the offset {offset} on"
        hint = f"pass the array from which the offset counts, with at least {offset + span} elements"
        report.add("bind.group_memory", place, f"{message}; got an array that reaches over {extent}", hint)
        return None
    try:
        part = _part(array, extent, offset, known, strides)
    except ValueError:
        # Beside a size of 0, the other sizes may be anything.
        message = f"NumPy has no array of shape {shown} for {place.declared(type)}"
        report.add("bind.group_shape", place, message)
        return None
    if extent != array.size and not _part(_elements(array, extent), extent, offset, known, strides).all():
        message = (
            f"{place.declared(type)} of shape {shown} has elements in gaps of the array, from the offset {offset} on"
        )
        report.add("bind.group_memory", place, message, _without_gaps(type, array))
        return None
    needed = offset + _extent(known, strides_for(type, known, {}))
    hint = f"allocate the member with one axis, np.empty({needed}, {dtype_name(array.dtype)})"
    return part if check_strides(type, part, place, report, hint) else None


def _without_gaps(type: MemRef, array: NDArray[Any]) -> str:
    """The way out for a memref with elements in the gaps of an array."""
    if array.ndim > 1:
        return "pass the array that this one is a view of"
    if type.strides == (None,):
        return f"let the offset be a multiple of the stride {array.strides[0] // array.itemsize}"
    return "pass the memory that this array is a view of as an array with one axis and without gaps"


def _known_shape(
    type: MemRef,
    array: NDArray[Any],
    extent: int,
    offset: int,
    shape: Shape | None,
    place: ArgumentPlace,
    report: ArgumentReport,
) -> Shape | None:
    """The shape of the memref: the given one, that of the type, or that of the array's rest behind the offset.

    `extent` is the number of elements that the array reaches over.
    """
    static = tuple(size for size in type.shape if size is not None)
    if shape is not None or len(static) == type.order:
        return static if shape is None else shape
    if type.order > 1:
        hint = "pass girih.Group(arrays, offset, shapes), with the shape of each memref"
        report.add("bind.group_shape", place, f"with an offset, the shape of {place.declared(type)} must be said", hint)
        return None
    (stride,) = _strides(type, array, (array.size,))
    if offset > extent:
        message = f"the offset {offset} lies behind the end of the array, which reaches over {extent} elements"
        report.add("bind.group_memory", place, message)
        return None
    return (-(-(extent - offset) // stride),)


def _strides(type: MemRef, array: NDArray[Any], shape: Shape) -> Shape:
    """The strides of the memref in elements: those of the axes of the array, where it has one for each mode.

    One axis without gaps tells none: it is memory for the strides of the type.
    """
    gapless = array.ndim == 1 and array.strides == (array.itemsize,)
    told = significant(array) if array.ndim == type.order and not gapless else []
    return strides_for(type, shape, {mode: array.strides[mode] // array.itemsize for mode in told})


def _extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """The number of elements of memory from the first to the last, gaps included."""
    reach = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return 0 if 0 in shape else 1 + reach


def _part(array: NDArray[Any], extent: int, offset: int, shape: Shape, strides: Shape) -> NDArray[Any]:
    """The elements of a memref in the memory of an array that reaches over `extent` elements."""
    flat = strided(array, (extent,), (array.itemsize,))
    return elements_of(flat[offset:], shape, strides)


def _elements(array: NDArray[Any], extent: int) -> NDArray[np.bool_]:
    """The mask of an array's own elements among the `extent` elements of memory that it reaches over."""
    flags = np.zeros(extent, np.bool_)
    strided(flags, array.shape, [stride // array.itemsize for stride in array.strides])[...] = True
    return flags
