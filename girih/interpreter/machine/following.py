"""How the machine tells the search for races what an instruction accesses: which elements, and by whom.

A collective region has one actor, the work-group; an SPMD region has its crew (`girih.interpreter.races`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from girih.analysis.accesses import Kind, Place
from girih.arguments.memory import ElementView
from girih.interpreter.machine.machine import Machine
from girih.interpreter.machine.values import Array, GroupValue, MapValue, Mask, MemRefValue, Varying
from girih.interpreter.races.order import GLOBAL, LOCAL
from girih.interpreter.races.races import Crew, Event, Races
from girih.ir import core
from girih.ir.core import Op, Region
from girih.ir.types import CoopMatrix
from girih.ops.tile.control import Foreach

BOTH = (GLOBAL, LOCAL)


def followed(machine: Machine, view: ElementView) -> Races | None:
    """The search for races, if accesses to a memory matter to it."""
    return machine.races if view.memory.shadow is not None and view.data.size else None


def follow_argument(races: Races, root: core.Value, value: object) -> None:
    """Let the search for races follow the memory of an argument."""
    match value:
        case MemRefValue():
            races.names.enter(root, value.elements, [(0, _ints(value.shape), _ints(value.strides))])
            races.follow(value.elements)
        case GroupValue():
            there = np.flatnonzero(~value.nulls).tolist()
            members = [
                (int(value.offsets[m]), _ints([c[m] for c in value.shapes]), _ints([c[m] for c in value.strides]))
                for m in there
            ]
            races.names.enter_group(root, value.elements, members, there)
            races.follow(value.elements)
        case MapValue(given, memory):
            size, view = max(1, given.element.bits // 8), memory.view(np.dtype(np.uint8))
            races.names.enter_bytes(root, view, size, tuple(given.global_dim), (size, *given.global_strides))
            races.follow(view)


def _ints(numbers: Sequence[Varying]) -> tuple[int, ...]:
    return tuple(int(np.asarray(n).flat[0]) for n in numbers)


# --- who ------------------------------------------------------------------------------------


def crew_of(machine: Machine, races: Races, around: Op, units: Array) -> Crew:
    """The crew of a region in which subgroups work on units, or work-items on points: arrays like scalar values."""
    items = races.items
    lanes = 0 if isinstance(around, Foreach) else np.arange(items.lanes, dtype=np.int64)
    stamps = races.layout.who(races.group_numbers, units * items.width(around) + lanes)
    return Crew(np.broadcast_to(stamps, machine.shape), units, around)


def under_crew(machine: Machine, around: Op, units: Array, mask: Mask | None, region: Region) -> None:
    """Execute a region whose crew works on units: subgroups, tiles or points by their numbers."""
    races = machine.races
    if races is None:
        machine.under(mask, region)
        return
    before = races.crew
    races.crew = crew_of(machine, races, around, units)
    machine.under(mask, region)
    races.crew = before


@contextmanager
def components_held(machine: Machine, type: CoopMatrix) -> Iterator[None]:
    """A context in which the crew are those who hold the components of matrices of a type."""
    races = machine.races
    if races is None or races.crew is None or type not in races.items.types:
        yield
        return
    before = races.crew
    who = holders(races, before, type)
    races.crew = Crew(who.reshape(*who.shape[:2], -1), before.units, before.around)
    yield
    races.crew = before


def holders(races: Races, crew: Crew, type: CoopMatrix) -> Array:
    """The stamps of those who hold components: an array [work_group, subgroup, row, column]."""
    unit: Any = np.full((1, 1, 1), races.items.group_unit) if type.of_work_group else crew.units[:, :, :1]
    items = unit[..., None] * races.items.width(crew.around) + races.items.holders(type, crew.around)
    stamps: Array = races.layout.who(races.group_numbers[..., None], items)
    return stamps


# --- what -----------------------------------------------------------------------------------


def follow_items(
    machine: Machine,
    op: Op,
    operand: str,
    kind: Kind,
    view: ElementView,
    flat: Array,
    usable: Mask | None,
    values: Array | None = None,
) -> Event | None:
    """Tell of an access by each active work-item; arrays are like scalar values.

    The event is one of atomic accesses of which some may acquire or release; None stands for none.
    """
    races = followed(machine, view)
    if races is None:
        return None
    place = races.place(op, operand, kind)
    who, mask = _who(machine, races, place, flat, usable)
    if kind == "read" and races.may_wait(view.memory):
        races.read_later(view.memory, lambda: _event(place, view, flat, who, mask, None))
        return None
    event = _event(place, view, flat, who, mask, values)
    races.access(event)
    return event if place.scope is not None else None


def follow_bytes(
    machine: Machine,
    op: Op,
    operand: str,
    kind: Kind,
    view: ElementView,
    flat: Array,
    usable: Mask | None,
    width: int,
    values: Sequence[Array] = (),
) -> Event | None:
    """Tell of an access by each active work-item to `width` bytes, from those that `flat` numbers on.

    `view` shows the memory as bytes; `values` are what is written there, side by side. The event is one of atomic
    accesses; None stands for none.
    """
    races = followed(machine, view)
    if races is None:
        return None
    place = races.place(op, operand, kind)
    who, mask = _who(machine, races, place, flat, usable)
    if kind == "read" and races.may_wait(view.memory):
        races.read_later(view.memory, lambda: _event(place, view, flat, who, mask, None, width))
        return None
    event = _event(place, view, flat, who, mask, None, width)
    if values:
        shape = np.broadcast_shapes(flat.shape, who.shape, (1, 1, 1) if mask is None else mask.shape)

        def value(number: int) -> bytes:
            picked = _picker(shape, mask)
            return b"".join(bytes(picked(given)[number].tobytes()) for given in values)

        event.value = value
    races.access(event)
    return event if place.scope is not None else None


def _who(machine: Machine, races: Races, place: Place, flat: Array, usable: Mask | None) -> tuple[Array, Mask | None]:
    """The stamps of those who access places, and the mask of them; None for all."""
    mask = machine.mask if usable is None else usable if machine.mask is None else usable & machine.mask
    if races.crew is None:
        races.advance(BOTH, copies=False)
        return races.work_items if place.kind == "update" else races.group_stamps, mask
    who = races.crew.who
    if place.kind == "read" and flat.shape[2] == 1 and place.scope is None:
        return _ends(machine, who, mask)
    return who, mask


def _event(
    place: Place,
    view: ElementView,
    flat: Array,
    who: Array,
    mask: Mask | None,
    values: Array | None,
    width: int = 0,
) -> Event:
    """The event of accesses by work-items; arrays are like scalar values."""
    shape = np.broadcast_shapes(flat.shape, who.shape, (1, 1, 1) if mask is None else mask.shape)
    picked = _picker(shape, mask)
    value = None
    if values is not None:
        given = np.broadcast_to(values, np.broadcast_shapes(values.shape, shape)) if values.size > 1 else values

        def value(number: int, given: Array = given) -> bytes:
            row = picked(np.broadcast_to(given, shape)) if _fits(given, shape) else given.ravel()
            return bytes(np.asarray(row[min(number, row.size - 1)], view.data.dtype).tobytes())

    return Event(place, view, picked(flat), picked(who), value, width)


def _fits(values: Array, shape: tuple[int, ...]) -> bool:
    return all(n in (1, full) for n, full in zip(values.shape, shape, strict=True))


def _picker(shape: tuple[int, ...], mask: Mask | None) -> Callable[[Array], Array]:
    """What makes a row of the entries of an array for which a mask holds."""
    if mask is None or mask.all():
        return lambda array: np.broadcast_to(array, shape).ravel()
    full = np.broadcast_to(mask, shape)
    return lambda array: np.broadcast_to(array, shape)[full]


def _ends(machine: Machine, who: Array, mask: Mask | None) -> tuple[Array, Mask | None]:
    """The first and the last active work-item of each subgroup, which stand for all that read one element."""
    if mask is None or mask.shape[2] == 1:
        return who[:, :, [0, -1]], mask
    active = np.broadcast_to(mask, machine.shape)
    first = active.argmax(axis=2)
    last = active.shape[2] - 1 - active[:, :, ::-1].argmax(axis=2)
    ends = np.take_along_axis(np.broadcast_to(who, machine.shape), np.stack([first, last], axis=-1), axis=2)
    some: Mask = np.any(active, axis=2, keepdims=True)
    return ends, some


def follow_components(
    machine: Machine,
    op: Op,
    operand: str,
    kind: Kind,
    type: CoopMatrix,
    view: ElementView,
    flat: Array,
    usable: Mask | None,
    values: Array | None = None,
) -> Event | None:
    """Tell of an access to each component of matrices: arrays [work_group, subgroup, row, column], perhaps with an axis
    of bytes more."""
    races = followed(machine, view)
    if races is None or races.crew is None:
        return None
    who = holders(races, races.crew, type)
    if flat.ndim == 5:
        who = who[..., None]
        usable = None if usable is None else usable[..., None]
    shape = np.broadcast_shapes(flat.shape, who.shape, (machine.work_groups, *(1,) * (flat.ndim - 1)))
    if not type.of_work_group:
        shape = (shape[0], machine.subgroups, *shape[2:])
    picked = _picker(shape, usable)
    value = None
    if values is not None:

        def value(number: int, given: Array = values) -> bytes:
            return bytes(picked(given)[number].tobytes())

    event = Event(races.place(op, operand, kind), view, picked(flat), picked(who), value)
    races.access(event)
    return event


def synchronise(machine: Machine, event: Event | None, order: Array | None = None) -> None:
    """Let atomic accesses acquire and release, one after the other in an order, by default the given one."""
    if machine.races is not None and event is not None:
        machine.races.synchronise(event, order)


def follow_groups(
    machine: Machine,
    op: Op,
    operand: str,
    kind: Kind,
    view: ElementView,
    groups: Array,
    flat: Array,
    value: Callable[[int], bytes] | None = None,
) -> None:
    """Tell of an access by work-groups of the batch, by their numbers there: elements [work_group, access]."""
    races = followed(machine, view)
    if races is not None:
        who = np.broadcast_to(races.group_stamps[groups][:, :, 0], flat.shape)
        who = who[0] if len(groups) == 1 else who.ravel()
        races.access(Event(races.place(op, operand, kind), view, flat.ravel(), who, value))


def follow_copies(
    machine: Machine, op: Op, operand: str, kind: Kind, view: ElementView, who: Array, bytes: Array, inside: Mask | None
) -> None:
    """Tell of an access by tensor copies, whose stamps are `who`; `bytes` has an axis of the copies first."""
    races = followed(machine, view)
    if races is None:
        return
    stamps = np.broadcast_to(who.reshape(-1, *(1,) * (bytes.ndim - 1)), bytes.shape)
    picked = _picker(bytes.shape, inside)
    races.access(Event(races.place(op, operand, kind), view, picked(bytes), picked(stamps)))
