"""The meaning of private arrays, and of `undef` (`girih.ops.device.private`)."""

from __future__ import annotations

import numpy as np

from girih.facts import device
from girih.interpreter.device.control import zeros
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.private_arrays import PrivateArrayValue
from girih.interpreter.machine.undefined import find_undefined, hand_on_by_themselves, mark, may_be_undefined
from girih.interpreter.machine.values import Array, Mask
from girih.ir.core import Value
from girih.ir.types import CoopMatrix, PrivateArrayType
from girih.ops.device.private import PrivateArray, PrivateLoad, PrivateStore, Undef

may_be_undefined(Undef, PrivateLoad)
hand_on_by_themselves(PrivateArray, PrivateStore)

_EVERYBODY: Mask = np.ones((1, 1, 1), np.bool_)


@meaning(Undef)
def undef(machine: Machine, op: Undef) -> None:
    """Zero, as an undefined value."""
    machine.set(op.result, zeros(op.result.type))
    mark(machine, op.result, _EVERYBODY)


@meaning(PrivateArray)
def private_array(machine: Machine, op: PrivateArray) -> None:
    """Begin an array, all of whose elements are undefined."""
    type = op.result.type
    assert isinstance(type, PrivateArrayType)
    machine.env[op.result] = PrivateArrayValue.of(type.size, zeros(type.element), machine.shape, _matrix(op.result))


@meaning(PrivateLoad)
def private_load(machine: Machine, op: PrivateLoad) -> None:
    """The element of each work-item's index, 0 where it is outside."""
    array: PrivateArrayValue = machine.env[op.array]
    index, outside = _index(machine, op, array)
    value, undefined = array.load(index)
    if outside is not None:
        zero = zeros(op.result.type)
        value = np.where(outside if value.ndim == 3 else outside[..., None], zero, value)
    machine.set(op.result, value)
    if undefined is not None or machine.undefined:
        mark(machine, op.result, undefined)


@meaning(PrivateStore)
def private_store(machine: Machine, op: PrivateStore) -> None:
    """Replace the element of each active work-item's index; nothing where it is outside."""
    array: PrivateArrayValue = machine.env[op.array]
    index, outside = _index(machine, op, array)
    mask = machine.mask
    if outside is not None:
        mask = ~outside if mask is None else ~outside & mask
    array.store(index, machine.array(op.value), mask, machine.undefined.get(op.value) if machine.undefined else None)


def _index(
    machine: Machine, op: PrivateLoad | PrivateStore, array: PrivateArrayValue
) -> tuple[int | Array, Mask | None]:
    """The index, an int if it is the same for all work-items, and for whom it is outside, None for no one.

    An index outside is found (run.out_of_bounds), and 0 instead.
    """
    if machine.undefined:
        find_undefined(machine, op, "index", op.index)
    index = machine.array(op.index)
    matrix = _matrix(op.array)
    if matrix is not None:
        if matrix.of_work_group:
            machine.together(op, 2)
        index = machine.uniform(op, "index", index, 2 if matrix.of_work_group else 1)
    first = index.flat[0]
    if (index.size == 1 or bool((index == first).all())) and 0 <= first < array.size:
        return int(first), None
    outside: Mask = (index < 0) | (index >= array.size)
    if not outside.any():
        return index, None
    bad = outside if machine.mask is None else outside & machine.mask
    words = device.outside_private_array(op.array.name)
    machine.find(words, op, bad, argument=op.array.name or None, index=(index,), shape=(array.size,))
    return np.where(outside, 0, index), outside


def _matrix(array: Value) -> CoopMatrix | None:
    """The type of the matrices of an array; None for numbers."""
    type = array.type
    assert isinstance(type, PrivateArrayType)
    return type.element if isinstance(type.element, CoopMatrix) else None
