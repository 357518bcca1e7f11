"""Access to single elements of a memref: index arithmetic with every index checked.

`locate` turns indices into flat positions and finds what is wrong with them; positions that must not be touched are
replaced by a harmless one and marked in a mask. All loads, stores and updates of single elements use it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from girih.facts import findings
from girih.facts.memory import bytes_outside
from girih.interpreter.machine.machine import Machine
from girih.interpreter.machine.values import Array, Mask, MemRefValue, Varying, ViewedBytes
from girih.ir.core import Op, Value
from girih.lazy_dataclass import dataclass

_UNSIGNED = np.uint64


@dataclass(slots=True)
class MemoryPlace:
    """Flat positions in a memory, and the mask of those that may be used, None for all of them."""

    flat: Array
    usable: Mask | None
    index: tuple[Array, ...]


def index_array(machine: Machine, index: Value | int) -> Array:
    """An index operand as an array with the axes of a scalar value."""
    return np.full((1, 1, 1), index, np.int64) if isinstance(index, int) else machine.array(index)


def restrict(machine: Machine, bad: Mask) -> Mask:
    """The condition `bad` for the active work-items, false for the others."""
    return bad if machine.mask is None else bad & machine.mask


def outside(index: Array, size: Varying) -> Mask:
    """The mask of indices that are negative or not below the size."""
    # As an unsigned number, a negative index is larger than any size.
    unsigned = np.ascontiguousarray(index).view(_UNSIGNED)
    if isinstance(size, np.ndarray):
        return unsigned >= size.astype(np.int64, copy=False).view(_UNSIGNED)
    return unsigned >= _UNSIGNED(size)


def unavailable(machine: Machine, op: Op, memref: MemRefValue) -> Mask | None:
    """The mask of work-items for which a memref has no memory, after noting why; None if it has for all of them."""
    mask: Mask | None = None
    if memref.null is not None and (bad := restrict(machine, memref.null)).any():
        machine.find(findings.null(memref.name), op, bad, argument=memref.name)
        mask = bad
    ended = memref.lifetime.ended
    if ended is not None and (bad := restrict(machine, ended)).any():
        machine.find(findings.lifetime_ended(memref.name), op, bad, argument=memref.name)
        mask = bad if mask is None else mask | bad
    if memref.broken is not None:
        mask = memref.broken if mask is None else mask | memref.broken
    return mask


def shared(machine: Machine, op: Op, name: str, memref: MemRefValue, axes: int) -> MemRefValue:
    """A memref that the work-items along the last `axes` axes share: 1 for a subgroup, 2 for a work-group.

    If they do not share it, that is found, and the memref of the first active work-item counts.
    """
    view = () if memref.inside is None else (memref.inside.begin, memref.inside.extent)
    held = (memref.offset, *memref.shape, *memref.strides, memref.null, memref.broken, *view)
    arrays = [x for x in held if isinstance(x, np.ndarray)]
    if all(x.shape[2] == 1 and (axes == 1 or x.shape[1] == 1) for x in arrays):
        return memref
    differs: Mask | None = None

    def common(x: Varying) -> Varying:
        nonlocal differs
        if not isinstance(x, np.ndarray):
            return x
        reference, varies = machine.common(x, axes)
        if varies is not None:
            differs = varies if differs is None else differs | varies
        return reference

    null, broken = (None if x is None else machine.common(x, axes)[0] for x in (memref.null, memref.broken))
    offset, shape, strides = common(memref.offset), tuple(map(common, memref.shape)), tuple(map(common, memref.strides))
    if differs is not None:
        machine.find_varying(op, name, differs, axes)
    member = memref.member
    if isinstance(member, np.ndarray):
        # Two members may be the same memory.
        member = machine.common(member, axes)[0]
    inside = memref.inside and ViewedBytes(common(memref.inside.begin), common(memref.inside.extent))
    return replace(
        memref, offset=offset, shape=shape, strides=strides, null=null, broken=broken, inside=inside,
        member=member,
    )  # fmt: skip


def beyond_bytes(memref: MemRefValue, flat: Array) -> tuple[Array, Mask] | None:
    """The first bytes of elements in the memory of a view of bytes, and the mask of those outside; None for none.

    `flat` may have axes behind those of a scalar value, or in place of the last ones.
    """
    inside = memref.inside
    if inside is None:
        return None
    size = memref.elements.data.itemsize
    begin, extent = (_with_axes(number, flat.ndim) for number in (inside.begin, inside.extent))
    first = (flat - begin) * size
    beyond: Mask = (first < 0) | (first > extent - size)
    return (first, beyond) if beyond.any() else None


def _with_axes(number: Varying, count: int) -> Varying:
    if isinstance(number, int):
        return number
    return number.reshape(*number.shape, *(1,) * (count - number.ndim))


def locate(machine: Machine, op: Op, memref: MemRefValue, indices: tuple[Value | int, ...]) -> MemoryPlace:
    """The flat positions of the elements that work-items access; indices out of bounds are found."""
    arrays = tuple(index_array(machine, i) for i in indices)
    flat: Varying = memref.offset
    bad: Mask | None = unavailable(machine, op, memref)
    missed: Mask | None = None
    for index, size, stride in zip(arrays, memref.shape, memref.strides, strict=True):
        over = outside(index, size)
        if over.any():
            missed = over if missed is None else missed | over
        flat = flat + index * stride
    position = np.full((1, 1, 1), flat, np.int64) if isinstance(flat, int) else flat
    if missed is not None:
        offending = restrict(machine, missed if bad is None else missed & ~bad)
        words = findings.outside(op, memref.name)
        machine.find(words, op, offending, argument=memref.name, index=arrays, shape=memref.shape)
        bad = missed if bad is None else bad | missed
    if memref.inside is not None:
        bad = _find_beyond(machine, op, memref, position, bad)
    if bad is None:
        return MemoryPlace(position, None, arrays)
    return MemoryPlace(np.where(bad, 0, position), ~bad, arrays)


def _find_beyond(machine: Machine, op: Op, memref: MemRefValue, position: Array, bad: Mask | None) -> Mask | None:
    """Find elements that are in the shape of a view of bytes and outside of its memory; all that are bad."""
    found = beyond_bytes(memref, position)
    if found is None:
        return bad
    first, beyond = found
    offending = restrict(machine, beyond if bad is None else beyond & ~bad)
    find_bytes_outside(machine, op, memref, first, offending)
    return beyond if bad is None else bad | beyond


def find_bytes_outside(
    machine: Machine, op: Op, memref: MemRefValue, first: Array, bad: Mask, *, by_lane: bool = True
) -> None:
    """Note elements of a view of bytes that begin with the bytes `first`, outside of its memory."""
    if not bad.any():
        return
    assert memref.inside is not None
    name = memref.name_for(bad)
    words = bytes_outside(op, memref.elements.data.itemsize, name)
    machine.find(words, op, bad, argument=name, index=(first,), shape=(memref.inside.extent,), by_lane=by_lane)


def read(machine: Machine, op: Op, memref: MemRefValue, place: MemoryPlace) -> Array:
    """The elements at positions, 0 for those that must not be touched; elements never written are found."""
    data = memref.elements.data
    if data.size == 0:
        return np.zeros(place.flat.shape, data.dtype)
    elements: Array = data[place.flat]
    _check_written(machine, op, memref, place)
    if place.usable is not None:
        elements = np.where(place.usable, elements, np.zeros((), elements.dtype))
    return elements


def _check_written(machine: Machine, op: Op, memref: MemRefValue, place: MemoryPlace) -> None:
    missing = memref.elements.unwritten(place.flat)
    if missing is None:
        return
    if place.usable is not None:
        missing = missing & place.usable
    if missing.any() and (missing := restrict(machine, missing)).any():
        machine.find(findings.unwritten(op, memref.name), op, missing,
                     argument=memref.name, index=place.index, shape=memref.shape)  # fmt: skip


def targets(machine: Machine, place: MemoryPlace, *values: Array) -> tuple[Array, list[Array], Mask | None]:
    """The flat positions and values of the active work-items in a row, and the mask of these work-items.

    If all work-items are active and all positions usable, the arrays keep their axes and the mask is None.
    """
    mask = machine.mask
    if place.usable is not None:
        mask = place.usable if mask is None else mask & place.usable
    if mask is None and all(v.shape == place.flat.shape for v in values):
        return place.flat, list(values), None
    shape = np.broadcast_shapes(place.flat.shape, *(v.shape for v in values))
    if mask is None:
        return np.broadcast_to(place.flat, shape), [np.broadcast_to(v, shape) for v in values], None
    shape = np.broadcast_shapes(shape, mask.shape)
    picked = np.broadcast_to(mask, shape)
    return (
        np.broadcast_to(place.flat, shape)[picked],
        [np.broadcast_to(v, shape)[picked] for v in values],
        picked,
    )


def write(machine: Machine, memref: MemRefValue, place: MemoryPlace, value: Array) -> None:
    """Store values at positions. Of several work-items that store to one element one wins, by default the last."""
    elements = memref.elements
    if elements.data.size == 0:
        return
    flat, (values,), _ = targets(machine, place, value)
    order = machine.choices.points(flat.size)
    if order is not None:
        flat, values = flat.ravel()[order], values.ravel()[order]
    elements.data[flat] = values
    elements.mark(flat)
