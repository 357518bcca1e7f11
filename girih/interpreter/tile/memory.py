"""The meaning of allocations, loads, stores and views (`girih.ops.tile.memory`)."""

from __future__ import annotations

import sys
from math import prod

import numpy as np

from girih.arguments.memory import Memory, bytes_of
from girih.facts import findings
from girih.facts.findings import FindingWords
from girih.interpreter.machine import numbers
from girih.interpreter.machine.access import index_array, locate, outside, read, restrict, write
from girih.interpreter.machine.boxes import span_of
from girih.interpreter.machine.following import follow_items
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import Array, GroupValue, Mask, MemRefValue, Varying
from girih.ir.core import Op, Value
from girih.ir.limits import DEFAULT_LIMITS
from girih.ir.types import GroupType, MemRef
from girih.ops.tile.memory import (
    Alloca,
    Associated,
    Expand,
    Fuse,
    LifetimeStop,
    Load,
    Size,
    Store,
    Subview,
)
from girih.ops.tile.tensor_map import alignment_of


@meaning(Alloca)
def alloca(machine: Machine, op: Alloca) -> None:
    """Allocate fresh memory for each work-group of the batch, side by side.

    The bytes are counted as addresses of local memory: each work-group's begin at a multiple of the alignment.
    """
    type = op.result.type
    assert isinstance(type, MemRef)
    shape = tuple(n for n in type.shape if n is not None)
    strides = tuple(n for n in type.strides if n is not None)
    alignment = max(alignment_of(op), DEFAULT_LIMITS.alignment)
    size = -(-span_of(shape, strides) * type.element.size // alignment) * alignment
    begin = machine.choices.address(alignment)
    if begin + machine.work_groups * size > sys.maxsize:
        raise MemoryError
    # What no index reaches counts as written, so that all can be.
    marks = np.ones(size, np.bool_)
    bytes_of(marks, shape, strides, type.element.size)[...] = False
    data = np.zeros(begin + machine.work_groups * size, np.uint8)
    written = np.concatenate([np.ones(begin, np.bool_), np.tile(marks, machine.work_groups)])
    memory = Memory(data, written, op.result.name)
    first = begin + np.arange(machine.work_groups, dtype=np.int64)[:, None, None] * size
    offset = first // type.element.size
    elements = memory.view(numbers.dtype(type.element))
    if machine.races is not None:
        machine.races.follow_local(elements, op.result, shape, strides, begin, size)
    machine.set(op.result, MemRefValue(elements, offset, shape, strides))


@meaning(LifetimeStop)
def lifetime_stop(machine: Machine, op: LifetimeStop) -> None:
    """Free a memory and all its views for the work-groups that come here; later uses are found."""
    lifetime = machine.memref(op.memory).lifetime
    here = np.any(machine.active(), axis=(1, 2), keepdims=True)
    lifetime.ended = here if lifetime.ended is None else lifetime.ended | here


@meaning(Load)
def load(machine: Machine, op: Load) -> None:
    """Load an element of a memref, or a memref of a group."""
    if isinstance(op.tensor.type, GroupType):
        machine.set(op.result, _member(machine, op, machine.group(op.tensor)))
        return
    memref = machine.memref(op.tensor)
    place = locate(machine, op, memref, op.indices)
    follow_items(machine, op, "tensor", "read", memref.elements, place.flat, place.usable)
    machine.set(op.result, read(machine, op, memref, place))


@meaning(Store)
def store(machine: Machine, op: Store) -> None:
    """Store a number to an element of a memref."""
    memref, value = machine.memref(op.tensor), machine.array(op.value)
    place = locate(machine, op, memref, op.indices)
    follow_items(machine, op, "tensor", "write", memref.elements, place.flat, place.usable, value)
    write(machine, memref, place, value)


def _member(machine: Machine, op: Load, group: GroupValue) -> MemRefValue:
    """The memref that each work-item picks from a group."""
    index = index_array(machine, op.indices[0])
    bad: Mask | None = None
    if group.null:
        bad = np.ones((1, 1, 1), np.bool_)
        machine.find(findings.null(group.name), op, restrict(machine, bad), argument=group.name)
        index = np.zeros((1, 1, 1), np.int64)
    elif (over := outside(index, group.size)).any():
        bad = over
        if (offending := restrict(machine, over)).any():
            machine.find(findings.outside(op, group.name), op, offending, argument=group.name,
                         index=(index,), shape=(group.size,))  # fmt: skip
        index = np.where(over, 0, index)
    nulls = group.nulls[index]
    shape = tuple(_entry(column, index) for column in group.shapes)
    strides = tuple(_entry(column, index) for column in group.strides)
    null = nulls if nulls.any() else None
    return MemRefValue(group.elements, group.offsets[index], shape, strides, null, bad, member=index)


def _entry(column: Array, index: Array) -> Varying:
    """A size or stride of the members that work-items picked; one number if all members have the same."""
    first = int(column[0])
    if bool((column == first).all()):
        return first
    picked: Array = column[index]
    return picked


@meaning(Associated)
def associated(machine: Machine, op: Associated) -> None:
    """Compute whether a memref or group has memory behind it."""
    value = machine.env[op.tensor]
    if isinstance(value, GroupValue):
        machine.set(op.result, np.full((1, 1, 1), not value.null))
        return
    null = machine.memref(op.tensor).null
    machine.set(op.result, np.ones((1, 1, 1), np.bool_) if null is None else ~null)


@meaning(Size)
def size(machine: Machine, op: Size) -> None:
    """Set the result to the size of a mode of a memref, or to the number of memrefs in a group."""
    value = machine.env[op.tensor]
    number = value.size if isinstance(value, GroupValue) else machine.memref(op.tensor).shape[op.mode]
    machine.set(op.result, as_array(number))


def as_array(number: Varying) -> Array:
    """A size as an array with the axes of a scalar value."""
    return number if isinstance(number, np.ndarray) else np.full((1, 1, 1), number, np.int64)


# --- views -----------------------------------------------------------------------------------


def _varying(machine: Machine, index: Value | int) -> Varying:
    """An index operand: one number if it does not vary, an array otherwise."""
    if isinstance(index, int):
        return index
    array = machine.array(index)
    return int(array[0, 0, 0]) if array.size == 1 else array


def _where(bad: Mask, instead: int, number: Varying) -> Varying:
    """A number of a view, replaced by `instead` for work-items whose view is wrong."""
    if isinstance(number, int) and bad.size == 1:
        return instead
    return np.where(bad, np.int64(instead), number)


def _broken(memref: MemRefValue, bad: Mask | None) -> Mask | None:
    if bad is None:
        return memref.broken
    return bad if memref.broken is None else memref.broken | bad


def _view(
    memref: MemRefValue, offset: Varying, shape: tuple[Varying, ...], strides: tuple[Varying, ...], bad: Mask | None
) -> MemRefValue:
    return MemRefValue(memref.elements, offset, shape, strides, memref.null, _broken(memref, bad), memref.lifetime)


def _note(machine: Machine, op: Op, words: FindingWords, bad: Varying, name: str) -> Mask | None:
    """The mask of work-items whose view is wrong, after noting why; None if there are none."""
    wrong = bad if isinstance(bad, np.ndarray) else np.full((1, 1, 1), bool(bad))
    if not wrong.any():
        return None
    offending = restrict(machine, wrong)
    if offending.any():
        machine.find(words, op, offending, argument=name)
    return wrong


@meaning(Subview)
def subview(machine: Machine, op: Subview) -> None:
    """Make a view of a part of a memref. A slice that is out of bounds is found here and makes the view unusable."""
    memref = machine.memref(op.tensor)
    offset: Varying = memref.offset
    shape: list[Varying] = []
    strides: list[Varying] = []
    bad: Mask | None = None
    for number, (part, extent, stride) in enumerate(zip(op.slices, memref.shape, memref.strides, strict=True)):
        first = _varying(machine, part.offset)
        length: Varying = 1 if part.size is None or part.drops_mode else _varying(machine, part.size)
        wrong = _slice_is_wrong(first, length, extent)
        if (found := _note_slice(machine, op, wrong, memref, number, first, length)) is not None:
            bad = found if bad is None else bad | found
            first, length = _where(found, 0, first), _where(found, 0, length)
        offset = offset + first * stride
        if not part.drops_mode:
            shape.append(length)
            strides.append(stride)
    machine.set(op.result, _view(memref, offset, tuple(shape), tuple(strides), bad))


def _slice_is_wrong(first: Varying, length: Varying, extent: Varying) -> Varying:
    """Whether a slice of a mode has a negative offset, no elements, or elements past the end."""
    ints = isinstance(first, int) and isinstance(length, int) and isinstance(extent, int)
    if ints:
        return first < 0 or length < 1 or first + length > extent
    begin, count, end = (np.asarray(x, np.int64) for x in (first, length, extent))
    wrong: Array = (begin < 0) | (count < 1) | (begin > end - count)
    return wrong


def _note_slice(
    machine: Machine,
    op: Subview,
    wrong: Varying,
    memref: MemRefValue,
    number: int,
    first: Varying,
    length: Varying,
) -> Mask | None:
    bad = wrong if isinstance(wrong, np.ndarray) else np.full((1, 1, 1), bool(wrong))
    if not bad.any():
        return None
    offending = restrict(machine, bad)
    if offending.any():
        machine.find(findings.wrong_slice(number, memref.name), op, offending, argument=memref.name,
                     index=(as_array(first), as_array(length)),
                     shape=(as_array(memref.shape[number]),))  # fmt: skip
    return bad


@meaning(Expand)
def expand(machine: Machine, op: Expand) -> None:
    """Make a view in which one mode is split into several."""
    memref = machine.memref(op.tensor)
    sizes = [_varying(machine, size) for size in op.sizes]
    extent, stride = memref.shape[op.mode], memref.strides[op.mode]
    bad = _note_sizes(machine, op, memref, sizes, extent)
    if bad is not None:
        sizes = [_where(bad, 0, size) for size in sizes]
    new: list[Varying] = []
    for size in sizes:
        new.append(stride)
        stride = stride * size
    before, after = slice(None, op.mode), slice(op.mode + 1, None)
    shape = (*memref.shape[before], *sizes, *memref.shape[after])
    strides = (*memref.strides[before], *new, *memref.strides[after])
    machine.set(op.result, _view(memref, memref.offset, shape, strides, bad))


def _note_sizes(
    machine: Machine, op: Expand, memref: MemRefValue, sizes: list[Varying], extent: Varying
) -> Mask | None:
    differs = _product_differs(sizes, extent)
    bad = differs if isinstance(differs, np.ndarray) else np.full((1, 1, 1), bool(differs))
    if not bad.any():
        return None
    machine.find(findings.wrong_sizes(op.mode, memref.name), op, restrict(machine, bad), argument=memref.name,
                 index=tuple(as_array(n) for n in sizes), shape=(as_array(extent),))  # fmt: skip
    return bad


def _product_differs(sizes: list[Varying], extent: Varying) -> Varying:
    """Whether a size is negative, or the exact product of the sizes differs from the size of the mode."""
    if all(isinstance(n, int) for n in (*sizes, extent)):
        return any(n < 0 for n in sizes) or prod(sizes) != extent
    wrong: Mask = np.zeros((1, 1, 1), np.bool_)
    empty: Mask = np.zeros((1, 1, 1), np.bool_)
    for size in sizes:
        wrong, empty = wrong | (np.asarray(size) < 0), empty | (np.asarray(size) == 0)
    product: Array = np.ones((1, 1, 1), np.int64)
    for size in sizes:
        factor = np.maximum(size, 1)
        over = factor > np.maximum(extent, 1) // product
        wrong = wrong | (over & ~empty)
        product = np.where(over, 1, product * factor)
    differs: Mask = wrong | (np.where(empty, 0, product) != extent)
    return differs


@meaning(Fuse)
def fuse(machine: Machine, op: Fuse) -> None:
    """Make a view in which several modes are joined into one."""
    memref = machine.memref(op.tensor)
    bad: Mask | None = None
    fused: Varying = memref.shape[op.first]
    for k in range(op.first, op.last):
        # Nothing lies in an empty mode, whose stride may be any.
        gap = (memref.strides[k] * memref.shape[k] != memref.strides[k + 1]) & (memref.shape[k] != 0)
        if (mask := _note(machine, op, findings.gap(k, memref.name), gap, memref.name)) is not None:
            bad = mask if bad is None else bad | mask
        fused = fused * memref.shape[k + 1]
    shape = (*memref.shape[: op.first], fused, *memref.shape[op.last + 1 :])
    strides = (*memref.strides[: op.first + 1], *memref.strides[op.last + 1 :])
    machine.set(op.result, _view(memref, memref.offset, shape, strides, bad))
