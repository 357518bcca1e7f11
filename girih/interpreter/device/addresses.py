"""The meaning of addresses: which buffer has the bytes there (`girih.ops.device.memory.BufferAt`).

The table of addresses is sorted once a launch; each address is then searched for among the beginnings of buffers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from girih.facts import memory as words
from girih.facts.findings import FindingWords
from girih.interpreter.device.memory import joined, undefined
from girih.interpreter.machine.access import restrict
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.undefined import hand_on_by_themselves
from girih.interpreter.machine.values import Array, GroupValue, Mask, MemRefValue, entry_of
from girih.lazy_dataclass import dataclass
from girih.ops.device.memory import BufferAt

hand_on_by_themselves(BufferAt)


@dataclass(frozen=True, slots=True, eq=False)
class AddressTable:
    """The buffers that have memory, by their addresses: where they begin, their bytes, and their numbers."""

    begins: Array
    extents: Array
    members: Array


def table_of(machine: Machine, op: BufferAt, group: GroupValue) -> AddressTable:
    """The addresses of all buffers, which do not change while a launch runs."""
    known = machine.constants.get(op.addresses)
    if isinstance(known, AddressTable):
        return known
    given = machine.memref(op.addresses)
    count = 0 if group.null else min(group.size, int(np.asarray(given.shape[0]).flat[0]))
    begins = given.elements.data[:count].view(np.uint64)
    members = np.flatnonzero(~group.nulls[:count])
    members = members[np.argsort(begins[members], kind="stable")]
    table = AddressTable(begins[members], group.shapes[0][members].astype(np.uint64), members)
    machine.constants[op.addresses] = table
    return table


@meaning(BufferAt)
def buffer_at(machine: Machine, op: BufferAt) -> None:
    """Find the buffer that has the bytes at an address; one that no buffer has is found."""
    group = machine.group(op.buffers)
    table = table_of(machine, op, group)
    address = np.ascontiguousarray(machine.array(op.address)).view(np.uint64)
    bad = undefined(machine, op, "address")
    member, distance, missing = _searched(table, address, op.bytes)
    if missing.any():
        offending = restrict(machine, missing if bad is None else missing & ~bad)
        _find_missing(machine, op, group, table, address, offending)
        bad = joined(bad, missing)
    offset = distance.astype(np.int64)
    if bad is not None:
        offset = np.where(bad, 0, offset)
    sizes = group.shapes[0]
    size = int(sizes[0]) if bool((sizes == sizes[0]).all()) else sizes[member]
    memory = MemRefValue(group.elements, group.offsets[member], (size,), (1,), None, bad, member=member)
    machine.set(op.memory, memory)
    machine.set(op.offset, offset)


def _searched(table: AddressTable, address: Array, width: int) -> tuple[Array, Array, Mask]:
    """The buffer that begins before each address, how far, and the mask of those without `width` bytes there."""
    if not table.members.size:
        return np.zeros(address.shape, np.int64), np.zeros_like(address), np.ones(address.shape, np.bool_)
    at = np.maximum(np.searchsorted(table.begins, address, side="right") - 1, 0)
    begin, extent = table.begins[at], table.extents[at]
    distance = address - begin
    missing = (address < begin) | (distance > extent) | (extent - distance < np.uint64(width))
    return table.members[at], distance, missing


def _find_missing(
    machine: Machine, op: BufferAt, group: GroupValue, table: AddressTable, address: Array, bad: Mask
) -> None:
    """Note addresses at which no buffer has the bytes, with how far the nearest one is from the first of them."""
    if not bad.any():
        return
    first = entry_of(address, bad)
    if first == 0:
        machine.find(words.address_is_null(op), op, bad)
        return
    if not table.members.size:
        machine.find(words.address_without_buffer(op), op, bad, index=(address,), shape=(0,))
        return
    nearest, distance, place = _nearest(table, first)
    name = f"{group.name}[{int(table.members[nearest])}]"
    shape = (distance, int(table.extents[nearest]))
    machine.find(place(op, name), op, bad, argument=name, index=(address,), shape=shape)


def _nearest(table: AddressTable, address: int) -> tuple[int, int, Callable[[BufferAt, str], FindingWords]]:
    """The buffer that is nearest to an address without enough bytes, how many bytes away it is, and the words."""
    gaps: list[tuple[int, int, Callable[[BufferAt, str], FindingWords]]] = []
    for number, (begin, extent) in enumerate(zip(table.begins.tolist(), table.extents.tolist(), strict=True)):
        if begin <= address < begin + extent:
            return number, begin + extent - address, words.address_at_the_end
        if address < begin:
            gaps.append((begin - address, number, words.address_before))
        else:
            gaps.append((address - begin - extent, number, words.address_behind))
    distance, number, place = min(gaps, key=lambda gap: gap[0])
    return number, distance, place
