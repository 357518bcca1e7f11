"""The meaning of atomic loads, stores and updates (`girih.ops.tile.memory`).

Updates of one element happen one after the other, in an order of the work-items that `Choices` may vary; each rounds in
the element type, and every work-item gets the value from before its own. Parts of complex numbers are independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from girih.interpreter.machine import numbers
from girih.interpreter.machine.access import locate, read, targets, write
from girih.interpreter.machine.following import follow_items, synchronise
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import Array
from girih.interpreter.races.races import Event
from girih.ir.types import MemRef, Number
from girih.ops.tile.memory import AtomicAdd, AtomicLoad, AtomicMax, AtomicMin, AtomicStore, AtomicUpdate

OPERATORS: dict[type[AtomicUpdate], str] = {AtomicAdd: "add", AtomicMin: "min", AtomicMax: "max"}

_ROUNDS = 16
"""Places that fewer work-items update are served in rounds, the others one place at a time."""


@meaning(AtomicLoad)
def atomic_load(machine: Machine, op: AtomicLoad) -> None:
    """Load an element: a load is done before the next instruction begins, so it is atomic."""
    memref = machine.memref(op.tensor)
    place = locate(machine, op, memref, op.indices)
    event = follow_items(machine, op, "tensor", "read", memref.elements, place.flat, place.usable)
    synchronise(machine, event)
    machine.set(op.result, read(machine, op, memref, place))


@meaning(AtomicStore)
def atomic_store(machine: Machine, op: AtomicStore) -> None:
    """Store an element: a store is done before the next instruction begins, so it is atomic."""
    memref, value = machine.memref(op.tensor), machine.array(op.value)
    place = locate(machine, op, memref, op.indices)
    event = follow_items(machine, op, "tensor", "write", memref.elements, place.flat, place.usable, value)
    write(machine, memref, place, value)
    synchronise(machine, event)


@meaning(AtomicAdd, AtomicMin, AtomicMax)
def atomic_update(machine: Machine, op: AtomicUpdate) -> None:
    """Update an element once for every active work-item, also in a collective region."""
    memref = machine.memref(op.tensor)
    type = op.tensor.type
    assert isinstance(type, MemRef)
    place = locate(machine, op, memref, op.indices)
    elements = memref.elements
    everyone = np.zeros(machine.shape, elements.data.dtype)
    result = everyone.copy()
    if elements.data.size:
        event = follow_items(machine, op, "tensor", "update", elements, place.flat, place.usable)
        read(machine, op, memref, place)
        flat, (values,), picked = targets(machine, place, np.broadcast_to(machine.array(op.value), machine.shape))
        operator = OPERATORS[op.__class__]
        old = update(machine, elements.data, flat.ravel(), values.ravel(), operator, type.element, event)
        elements.mark(flat)
        if picked is None:
            result = old.reshape(machine.shape)
        else:
            result[picked] = old
    machine.set(op.result, result)


def update(
    machine: Machine, data: Array, flat: Array, values: Array, operator: str, type: Number, event: Event | None
) -> Array:
    """The values before each of some updates, which are applied to `data` one after the other.

    Update k applies `operator` to the element at position `flat[k]` and `values[k]`; `event` has the updates, too,
    where races are looked for.
    """
    order = machine.choices.points(flat.size)
    synchronise(machine, event, order)
    if order is None:
        return _ordered_update(data, flat, values, operator, type)
    old = np.empty_like(values, dtype=data.dtype)
    old[order] = _ordered_update(data, flat[order], values[order], operator, type)
    return old


def _ordered_update(data: Array, flat: Array, values: Array, operator: str, type: Number) -> Array:
    by_place = np.argsort(flat, kind="stable")
    places, first, counts = np.unique(flat[by_place], return_index=True, return_counts=True)
    old = np.empty(flat.size, data.dtype)
    for turn in range(min(int(counts.max(initial=0)), _ROUNDS)):
        more = counts > turn
        who = by_place[first[more] + turn]
        before = data[places[more]]
        old[who] = before
        data[places[more]] = _apply(before, values[who], operator, type)
    for number in np.flatnonzero(counts > _ROUNDS):
        begin, end = first[number] + _ROUNDS, first[number] + counts[number]
        who = by_place[begin:end]
        chain = _chain(data[places[number]], values[who], operator, type)
        old[who] = chain[:-1]
        data[places[number]] = chain[-1]
    return old


def _apply(a: Array, b: Array, operator: str, type: Number) -> Array:
    return numbers.BINARY[operator](a, b, type)


_ACCUMULATE: dict[str, Any] = {"add": np.add, "max": np.fmax, "min": np.fmin}


def _chain(start: Any, values: Array, operator: str, type: Number) -> Array:
    """The values start, start ∘ v0, start ∘ v0 ∘ v1, ..., where ∘ is the operator; each step rounds in the type."""
    row = np.concatenate([np.asarray([start], values.dtype), values])
    chain: Array = _ACCUMULATE[operator].accumulate(row, dtype=row.dtype)
    return chain
