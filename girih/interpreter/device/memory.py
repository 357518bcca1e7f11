"""The meaning of accesses to memory that is bytes (`girih.ops.device.memory`).

An access whose place is a multiple of the size of its numbers goes through a typed view of the memory; any other goes
through one whose elements overlap. What may not be accessed loads 0, and is not stored.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from girih.arguments.memory import ElementView
from girih.facts import memory as words
from girih.interpreter.machine import numbers
from girih.interpreter.machine.access import MemoryPlace, restrict, targets, unavailable
from girih.interpreter.machine.following import follow_bytes
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.undefined import hand_on_by_themselves
from girih.interpreter.machine.values import Array, Mask, MemRefValue, Varying
from girih.ir.core import Op, Value
from girih.ir.types import AddressSpace, Boolean, MemRef, Number
from girih.lazy_dataclass import dataclass
from girih.ops.device.atomics import AtomicAccess
from girih.ops.device.memory import ArrayIndex, ByteLoad, ByteStore, size_in_memory

Accessing = ByteLoad | ByteStore | AtomicAccess

# An undefined offset or index is found, and 0 is taken instead.
hand_on_by_themselves(ArrayIndex, ByteLoad, ByteStore)


@dataclass(slots=True)
class ByteAccess:
    """An access to numbers that lie side by side: the bytes of the memory, where they begin, and who may access them.

    `offset` counts from the beginning of the buffer, `position` from that of `memory.elements`; a position that may not
    be accessed is 0. `usable` is None where all may be. `bits` has the bits that are set in some position.
    """

    op: Accessing
    memory: MemRefValue
    offset: Array
    position: Array
    bits: int
    usable: Mask | None
    size: int
    count: int

    @property
    def width(self) -> int:
        """The bytes of all numbers together."""
        return self.size * self.count

    def elements(self, type: Number | Boolean) -> tuple[ElementView, Array, int]:
        """The memory as numbers of a type, the places of the first ones in it, and how far the next ones are."""
        dtype = numbers.dtype(type)
        if dtype == np.bool_:
            dtype = np.dtype(np.int8)
        memory = self.memory.elements.memory
        low = self.size - 1
        if self.bits & low:
            return memory.at_every_byte(dtype), self.position, self.size
        return memory.view(dtype), self.position >> low.bit_length() if low else self.position, 1


def undefined(machine: Machine, op: Op, operand: str) -> Mask | None:
    """The mask of work-items for which an operand that decides where to go is undefined, after noting it."""
    mask = machine.undefined.get(getattr(op, operand)) if machine.undefined else None
    if mask is None or not (mask := restrict(machine, mask)).any():
        return None
    machine.find(words.undefined_decides(op, operand), op, mask)
    return mask


def joined(a: Mask | None, b: Mask | None) -> Mask | None:
    """The mask of those in one of two masks; None for nobody."""
    if a is None:
        return b
    return a if b is None else a | b


def bytes_beyond(offset: Array, width: int, size: Varying) -> Mask | None:
    """The mask of offsets from which on a memory of `size` bytes has fewer than `width`, or negative; None for none."""
    last = size - width
    # As an unsigned number, a negative offset is larger than any size.
    unsigned = np.ascontiguousarray(offset).view(np.uint64)
    if isinstance(last, int):
        if last < 0:
            return np.ones((1, 1, 1), np.bool_)
        return unsigned > np.uint64(last) if int(unsigned.max()) > last else None
    beyond: Mask = (unsigned > last.astype(np.int64, copy=False).view(np.uint64)) | (last < 0)
    return beyond if beyond.any() else None


def bits_of(number: Varying) -> int:
    """The bits that are set in a number for some work-item."""
    return number if isinstance(number, int) else int(np.bitwise_or.reduce(number, axis=None))


def access(machine: Machine, op: Accessing, types: tuple[Value, ...]) -> ByteAccess:
    """What an instruction accesses, after all that is wrong with it was found."""
    memref, offset = machine.memref(op.memory), machine.array(op.offset)
    size = size_in_memory(types[0].type)
    width, extent = size * len(types), memref.shape[0]
    bad = joined(unavailable(machine, op, memref), undefined(machine, op, "offset"))
    beyond = bytes_beyond(offset, width, extent)
    if beyond is not None:
        offending = restrict(machine, beyond if bad is None else beyond & ~bad)
        if offending.any():
            name = memref.name_for(offending)
            found = words.bytes_outside(op, width, name)
            machine.find(found, op, offending, argument=name, index=(offset,), shape=(extent,))
        bad = joined(bad, beyond)
    bits = bits_of(offset) if op.alignment > 1 or size > 1 else 0
    if bits & (op.alignment - 1):
        find_misaligned(machine, op, op.alignment, memref, offset, bad)
    begin = memref.offset
    position = offset if isinstance(begin, int) and begin == 0 else offset + begin
    bits |= bits_of(begin)
    if bad is None:
        return ByteAccess(op, memref, offset, position, bits, None, size, len(types))
    return ByteAccess(op, memref, offset, np.where(bad, 0, position), bits, ~bad, size, len(types))


def find_misaligned(
    machine: Machine, op: Op, alignment: int, memref: MemRefValue, offset: Array, bad: Mask | None
) -> Mask | None:
    """The mask of work-items whose offset is no multiple of an alignment, but for `bad` ones, after noting them."""
    off: Mask = (offset & (alignment - 1)) != 0
    if not off.any():
        return None
    offending = restrict(machine, off if bad is None else off & ~bad)
    if offending.any():
        name = memref.name_for(offending)
        found = words.bytes_misaligned(op, alignment, name)
        machine.find(found, op, offending, argument=name, index=(offset,), shape=(memref.shape[0],))
    return off


@meaning(ByteLoad)
def byte_load(machine: Machine, op: ByteLoad) -> None:
    """Load numbers that lie side by side."""
    here = access(machine, op, op.results)
    type = op.results[0].type
    assert isinstance(type, Number | Boolean)
    follow_bytes(machine, op, "memory", "read", here.memory.elements, here.position, here.usable, here.width)
    if here.memory.elements.data.size < here.width:
        nothing = np.zeros((1, 1, 1), numbers.dtype(type))
        for result in op.results:
            machine.set(result, nothing)
        return
    view, first, step = here.elements(type)
    places = [first + number * step if number else first for number in range(here.count)]
    check_written(machine, here, view, places)
    for result, place in zip(op.results, places, strict=True):
        # What is accessed was checked: no index needs to be looked at again.
        loaded: Array = view.data.take(place, mode="clip") if step == 1 else view.data[place]
        if here.usable is not None:
            loaded = np.where(here.usable, loaded, np.zeros((), loaded.dtype))
        machine.set(result, loaded != 0 if type.__class__ is Boolean else loaded)


def check_written(machine: Machine, here: ByteAccess, view: ElementView, places: list[Array]) -> None:
    """Find numbers some bytes of which were never written: of each work-item the first."""
    if view.followed is None:
        return
    first, missing = here.offset, None
    for number, place in reversed(list(enumerate(places))):
        unwritten = view.unwritten(place)
        if unwritten is not None:
            first = np.where(unwritten, here.offset + number * here.size, first)
            missing = joined(missing, unwritten)
    if missing is None:
        return
    offending = restrict(machine, missing if here.usable is None else missing & here.usable)
    if not offending.any():
        return
    name = here.memory.name_for(offending)
    found = words.bytes_unwritten(here.op, here.size, name)
    machine.find(found, here.op, offending, argument=name, index=(first,), shape=(here.memory.shape[0],))


@meaning(ByteStore)
def byte_store(machine: Machine, op: ByteStore) -> None:
    """Store numbers side by side. Of several work-items that store to one byte one wins, by default the last."""
    here = access(machine, op, op.values)
    elements = here.memory.elements
    values = [machine.array(value) for value in op.values]
    lost = _undefined_bytes(machine, here, op.values)
    if lost is None:
        check_defined(machine, here, op.values)
    follow_bytes(machine, op, "memory", "write", elements, here.position, here.usable, here.width, values)
    if elements.data.size < here.width:
        return
    type = op.values[0].type
    assert isinstance(type, Number | Boolean)
    view, first, step = here.elements(type)
    first, values, _ = targets(machine, MemoryPlace(first, here.usable, ()), *values)
    order = machine.choices.points(first.size)
    if order is not None:
        first, values = first.ravel()[order], [value.ravel()[order] for value in values]
    for number, value in enumerate(values):
        place = first + number * step if number else first
        view.data[place] = value
        view.mark(place)
    if lost is not None:
        elements.memory.forget(lost)


def _undefined_bytes(machine: Machine, here: ByteAccess, values: Sequence[Value]) -> Array | None:
    """The bytes in memory of the work-group that get an undefined value, as if they had never been written.

    What nobody reads there does no harm. None for all other memory, and where nothing is undefined.
    """
    type = here.op.memory.type
    assert isinstance(type, MemRef)
    if not machine.undefined or type.space is not AddressSpace.LOCAL:
        return None
    if here.memory.elements.memory.readable is None:
        return None
    found = []
    for number, value in enumerate(values):
        mask = machine.undefined.get(value)
        if mask is None:
            continue
        lost = restrict(machine, mask if here.usable is None else mask & here.usable)
        lost, position = np.broadcast_arrays(lost, here.position)
        first = position[lost] + number * here.size
        found.append((first[:, None] + np.arange(here.size)).ravel())
    return np.concatenate(found) if found else None


def check_defined(machine: Machine, here: ByteAccess, values: Sequence[Value]) -> None:
    """Find values that are undefined where they are stored."""
    if not machine.undefined:
        return
    stored = None
    for value in values:
        stored = joined(stored, machine.undefined.get(value))
    if stored is not None:
        offending = restrict(machine, stored if here.usable is None else stored & here.usable)
        if offending.any():
            name = here.memory.name_for(offending)
            machine.find(words.undefined_stored(here.op, name), here.op, offending, argument=name)


@meaning(ArrayIndex)
def array_index(machine: Machine, op: ArrayIndex) -> None:
    """The index as it is, or 0 where it is undefined; one outside of the array is found.

    What stands behind a vector may be no memory of the variable: a component that is not there is 0 from here on.
    """
    index = machine.array(op.index).astype(np.int64, copy=False)
    bad = undefined(machine, op, "index")
    if bad is not None:
        index = np.where(bad, 0, index)
    over = np.ascontiguousarray(index).view(np.uint64) >= np.uint64(op.size)
    if over.any():
        machine.find(words.element_outside(op), op, restrict(machine, over), index=(index,), shape=(op.size,))
        if op.vector:
            index = np.where(over, 0, index)
    machine.set(op.result, index)
