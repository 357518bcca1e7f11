"""The meaning of views of bytes as numbers, for matrices (`girih.ops.device.memory.ByteView`).

Where a whole view lies inside its memory, accesses through it cost what they cost in any memref; where it does not,
each access is looked at.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from girih.facts import memory as words
from girih.interpreter.device.memory import find_misaligned, joined, undefined
from girih.interpreter.machine import numbers
from girih.interpreter.machine.access import restrict
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.undefined import find_undefined, hand_on_by_themselves
from girih.interpreter.machine.values import Array, Mask, MemRefValue, Varying, ViewedBytes
from girih.ir.core import Value
from girih.ir.types import MemRef
from girih.ops.device.memory import ByteView

hand_on_by_themselves(ByteView)


@meaning(ByteView)
def byte_view(machine: Machine, op: ByteView) -> None:
    """Show bytes as numbers; a view that cannot be is found here, and accesses through it do nothing."""
    type = op.result.type
    assert isinstance(type, MemRef)
    memref, offset = machine.memref(op.memory), machine.array(op.offset)
    size, extent = type.element.size, memref.shape[0]
    if machine.undefined:
        for name in ("sizes", "strides"):
            for value in getattr(op, name):
                find_undefined(machine, op, name, value)
    bad = joined(memref.broken, undefined(machine, op, "offset"))
    bad = joined(bad, _find_outside(machine, op, memref, offset, bad))
    bad = joined(bad, find_misaligned(machine, op, size, memref, offset, bad))
    if bad is not None:
        offset = np.where(bad, 0, offset)
    begin = memref.offset // size
    first = begin + _plain(offset) // size
    room = (extent - _plain(offset)) // size
    strides = _filled(type.strides, [_operand(machine, stride) for stride in op.strides])
    sizes = [_operand(machine, count) for count in op.sizes]
    if None in type.shape and not sizes:
        sizes = [_last_size(type.shape[:-1], strides, room)]
    shape = _filled(type.shape, sizes)
    inside: ViewedBytes | None = None
    if len(shape) == 1 and strides == (1,):
        shape = (_least(shape[0], room),)
    elif not _lies_inside(shape, strides, room):
        inside = ViewedBytes(begin, extent)
    elements = memref.elements.memory.view(numbers.dtype(type.element))
    view = replace(
        memref, elements=elements, offset=first, shape=shape, strides=strides, broken=bad, inside=inside, aligned=True
    )
    machine.set(op.result, view)


def _find_outside(machine: Machine, op: ByteView, memref: MemRefValue, offset: Array, bad: Mask | None) -> Mask | None:
    """The mask of views that begin outside of their memory, after noting them; None for none."""
    outside = (offset < 0) | (offset > memref.shape[0])
    if not outside.any():
        return None
    offending = restrict(machine, outside if bad is None else outside & ~bad)
    if offending.any():
        name = memref.name_for(offending)
        machine.find(
            words.bytes_outside(op, 1, name), op, offending, argument=name, index=(offset,), shape=(memref.shape[0],)
        )
    return outside


def _operand(machine: Machine, value: Value) -> Varying:
    return _plain(machine.array(value))


def _plain(array: Array) -> Varying:
    """One number where an array does not vary."""
    return int(array[0, 0, 0]) if array.size == 1 else array


def _filled(extents: tuple[int | None, ...], given: list[Varying]) -> tuple[Varying, ...]:
    """Sizes or strides with the given ones in place of `?`."""
    rest = iter(given)
    return tuple(next(rest) if extent is None else extent for extent in extents)


def _last_size(others: tuple[int | None, ...], strides: tuple[Varying, ...], room: Varying) -> Varying:
    """The size of the last mode with which a view goes as far as there is room for elements."""
    before = sum(((size or 0) - 1) * stride for size, stride in zip(others, strides, strict=False))
    step = strides[-1]
    rows = (room - before - 1) // np.maximum(step, 1) + 1
    count = np.maximum(rows, 0)
    return count if isinstance(count, np.ndarray) and count.ndim else int(count)


def _least(a: Varying, b: Varying) -> Varying:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else np.minimum(a, b)


def _lies_inside(shape: tuple[Varying, ...], strides: tuple[Varying, ...], room: Varying) -> bool:
    """Whether all elements of all views lie between their first one and the end of the memory."""
    last: Varying = 0
    for size, stride in zip(shape, strides, strict=True):
        if np.any(np.asarray(stride) < 0):
            return False
        last = last + (size - 1) * stride
    return bool(np.all((np.asarray(last) < room) | _is_empty(shape)))


def _is_empty(shape: tuple[Varying, ...]) -> Mask:
    empty: Mask = np.zeros((), np.bool_)
    for size in shape:
        empty = empty | (np.asarray(size) < 1)
    return empty
