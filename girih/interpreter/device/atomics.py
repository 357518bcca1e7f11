"""The meaning of atomic accesses to memory that is bytes (`girih.ops.device.atomics`).

The active work-items access one after the other, in an order that `Choices` may vary; each gets the number from before
its own access.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from girih.interpreter.device.memory import ByteAccess, access, check_defined, check_written
from girih.interpreter.machine import numbers
from girih.interpreter.machine.access import MemoryPlace, targets
from girih.interpreter.machine.following import follow_bytes, synchronise
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import Array
from girih.ir.types import Number
from girih.lazy_dataclass import dataclass
from girih.ops.device.atomics import ByteAtomicCompareExchange, ByteAtomicLoad, ByteAtomicStore, ByteAtomicUpdate

_ROUNDS = 16
"""Numbers that fewer work-items replace are served in rounds, the others one number at a time."""


def _number(type: object) -> Number:
    assert isinstance(type, Number)
    return type


@meaning(ByteAtomicLoad)
def atomic_load(machine: Machine, op: ByteAtomicLoad) -> None:
    """Load a number: a load is done before the next instruction begins, so it is atomic."""
    here, type = access(machine, op, (op.result,)), _number(op.result.type)
    bytes = here.memory.elements
    event = follow_bytes(machine, op, "memory", "read", bytes, here.position, here.usable, here.width)
    synchronise(machine, event)
    if bytes.data.size < here.width:
        machine.set(op.result, np.zeros((1, 1, 1), numbers.dtype(type)))
        return
    view, place, _ = here.elements(type)
    check_written(machine, here, view, [place])
    loaded: Array = view.data[place]
    machine.set(op.result, loaded if here.usable is None else np.where(here.usable, loaded, np.zeros((), loaded.dtype)))


@meaning(ByteAtomicStore)
def atomic_store(machine: Machine, op: ByteAtomicStore) -> None:
    """Store a number: a store is done before the next instruction begins, so it is atomic."""
    here, value = access(machine, op, (op.value,)), machine.array(op.value)
    check_defined(machine, here, (op.value,))
    bytes = here.memory.elements
    event = follow_bytes(machine, op, "memory", "write", bytes, here.position, here.usable, here.width, [value])
    if bytes.data.size >= here.width:
        view, place, _ = here.elements(_number(op.value.type))
        flat, (values,), _ = targets(machine, MemoryPlace(place, here.usable, ()), value)
        order = machine.choices.points(flat.size)
        if order is not None:
            flat, values = flat.ravel()[order], values.ravel()[order]
        view.data[flat] = values
        view.mark(flat)
    synchronise(machine, event)


@dataclass(frozen=True, slots=True)
class Replacement:
    """What replaces numbers: `once` of numbers, and the operands of as many work-items, gives the next ones.

    `chain` gives, of a first number and the operands of several work-items, that number and all that follow.
    """

    once: Callable[[Array, tuple[Array, ...]], Array]
    chain: Callable[[Any, tuple[Array, ...]], Array]


def _by(function: Any) -> Replacement:
    """The replacement by a combination, which a NumPy function computes."""

    def once(before: Array, operands: tuple[Array, ...]) -> Array:
        after: Array = function(before, operands[0])
        return after

    def chain(first: Any, operands: tuple[Array, ...]) -> Array:
        (values,) = operands
        row = np.concatenate([np.asarray([first], values.dtype), values])
        after: Array = function.accumulate(row, dtype=row.dtype)
        return after

    return Replacement(once, chain)


def _unsigned(array: Array) -> Array:
    return np.ascontiguousarray(array).view(np.dtype(f"u{array.itemsize}"))


def _by_unsigned(function: Any) -> Replacement:
    signed = _by(function)

    def once(before: Array, operands: tuple[Array, ...]) -> Array:
        return signed.once(_unsigned(before), (_unsigned(operands[0]),)).view(before.dtype)

    def chain(first: Any, operands: tuple[Array, ...]) -> Array:
        begin = _unsigned(np.asarray([first], operands[0].dtype))[0]
        return signed.chain(begin, (_unsigned(operands[0]),)).view(operands[0].dtype)

    return Replacement(once, chain)


def _exchanged(first: Any, operands: tuple[Array, ...]) -> Array:
    (values,) = operands
    return np.concatenate([np.asarray([first], values.dtype), values])


def _compared(first: Any, operands: tuple[Array, ...]) -> Array:
    values, comparators = operands
    after = [first]
    for value, comparator in zip(values, comparators, strict=True):
        after.append(value if after[-1] == comparator else after[-1])
    return np.array(after, values.dtype)


REPLACEMENTS = {
    "add": _by(np.add),
    "min": _by(np.fmin),
    "max": _by(np.fmax),
    "signed_min": _by(np.minimum),
    "signed_max": _by(np.maximum),
    "unsigned_min": _by_unsigned(np.minimum),
    "unsigned_max": _by_unsigned(np.maximum),
    "and": _by(np.bitwise_and),
    "or": _by(np.bitwise_or),
    "xor": _by(np.bitwise_xor),
    "exchange": Replacement(lambda before, operands: operands[0], _exchanged),
}
"""What the operators of updates do."""

COMPARE_EXCHANGE = Replacement(
    lambda before, operands: np.where(before == operands[1], operands[0], before),
    _compared,
)


@meaning(ByteAtomicUpdate)
def atomic_update(machine: Machine, op: ByteAtomicUpdate) -> None:
    """Replace a number once for every active work-item."""
    here = access(machine, op, (op.value,))
    check_defined(machine, here, (op.value,))
    _replace(machine, op, here, REPLACEMENTS[op.operator], (machine.array(op.value),))


@meaning(ByteAtomicCompareExchange)
def atomic_compare_exchange(machine: Machine, op: ByteAtomicCompareExchange) -> None:
    """Replace a number, where it is as expected, once for every active work-item."""
    here = access(machine, op, (op.value,))
    check_defined(machine, here, (op.value, op.comparator))
    _replace(machine, op, here, COMPARE_EXCHANGE, (machine.array(op.value), machine.array(op.comparator)))


def _replace(
    machine: Machine,
    op: ByteAtomicUpdate | ByteAtomicCompareExchange,
    here: ByteAccess,
    by: Replacement,
    operands: tuple[Array, ...],
) -> None:
    """Set the result to the numbers before, after each was replaced for one work-item after the other."""
    type, bytes = _number(op.value.type), here.memory.elements
    result = np.zeros(machine.shape, numbers.dtype(type))
    if bytes.data.size >= here.width:
        event = follow_bytes(machine, op, "memory", "update", bytes, here.position, here.usable, here.width)
        view, place, _ = here.elements(type)
        check_written(machine, here, view, [place])
        everybody = [np.broadcast_to(operand, machine.shape) for operand in operands]
        flat, given, picked = targets(machine, MemoryPlace(place, here.usable, ()), *everybody)
        order = machine.choices.points(flat.size)
        synchronise(machine, event, order)
        old = _in_turn(view.data, flat.ravel(), tuple(each.ravel() for each in given), by, order)
        view.mark(flat)
        if picked is None:
            result = old.reshape(machine.shape)
        else:
            result[picked] = old
    machine.set(op.result, result)


def _in_turn(data: Array, flat: Array, operands: tuple[Array, ...], by: Replacement, order: Array | None) -> Array:
    """The numbers before each replacement of those at positions, which happen in an order, by default the given one."""
    if order is not None:
        old = np.empty(flat.size, data.dtype)
        old[order] = _in_turn(data, flat[order], tuple(each[order] for each in operands), by, None)
        return old
    by_place = np.argsort(flat, kind="stable")
    places, first, counts = np.unique(flat[by_place], return_index=True, return_counts=True)
    old = np.empty(flat.size, data.dtype)
    for turn in range(min(int(counts.max(initial=0)), _ROUNDS)):
        more = counts > turn
        who = by_place[first[more] + turn]
        before = data[places[more]]
        old[who] = before
        data[places[more]] = by.once(before, tuple(each[who] for each in operands))
    for number in np.flatnonzero(counts > _ROUNDS):
        who = by_place[first[number] + _ROUNDS : first[number] + counts[number]]
        chain = by.chain(data[places[number]], tuple(each[who] for each in operands))
        old[who] = chain[:-1]
        data[places[number]] = chain[-1]
    return old
