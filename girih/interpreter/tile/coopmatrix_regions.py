"""The meaning of regions over components of matrices, which are executed with a work-item for each component
(`girih.ops.tile.coopmatrix_regions`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from girih.interpreter.machine.access import shared
from girih.interpreter.machine.following import components_held
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.undefined import hand_on_by_themselves, mark
from girih.interpreter.machine.values import Array, Mask, MemRefValue
from girih.interpreter.tile.control import yielded
from girih.interpreter.tile.coopmatrix import axes_of, matrix_type
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix
from girih.ir.uses import free_values
from girih.ops.tile.coopmatrix_regions import (
    Combined,
    CooperativeMatrixApply,
    CooperativeMatrixCombine,
    combined_columns,
)

# A function of components may look at none of a matrix that nothing was stored to.
hand_on_by_themselves(CooperativeMatrixApply)


@contextmanager
def components(
    machine: Machine, count: int, columns: int, *, of_work_group: bool, each: int = 1, first: int = 0
) -> Iterator[None]:
    """A context in which each subgroup, or each work-group, has `count` work-items, `each` for one component.

    Components are numbered row by row from row `first` on, `columns` of them in a row.
    """
    before = machine.lanes, machine.subgroups, machine.component_of
    machine.lanes, machine.component_of = count, lambda item: divmod(first * columns + item // each, columns)
    if of_work_group:
        machine.subgroups = 1
    yield
    machine.lanes, machine.subgroups, machine.component_of = before


@contextmanager
def shared_outside(machine: Machine, op: Op, axes: int) -> Iterator[None]:
    """A context in which what the regions of an instruction use from outside is what its work-items agree on.

    Values that differ between them are found, and are those of the first active one.
    """
    outer: dict[Value, Any] = {}
    undefined: dict[Value, Mask] = {}
    for value in (v for v in free_values(op) if not isinstance(v.type, CoopMatrix)):
        outer[value] = held = machine.env[value]
        if isinstance(held, np.ndarray):
            machine.env[value] = machine.uniform(op, f"%{value.name}", held, axes)
        elif isinstance(held, MemRefValue):
            machine.env[value] = shared(machine, op, f"%{value.name}", held, axes)
        if value in machine.undefined:
            undefined[value] = where = machine.undefined[value]
            machine.undefined[value] = np.any(where, axis=tuple(range(3 - axes, 3)), keepdims=True)
    yield
    machine.env.update(outer)
    machine.undefined.update(undefined)


def as_items(matrix: Array) -> Array:
    """A matrix [work_group, subgroup, row, column] as a scalar value with one work-item for each component."""
    return np.ascontiguousarray(matrix).reshape(*matrix.shape[:2], -1)


@meaning(CooperativeMatrixApply)
def apply(machine: Machine, op: CooperativeMatrixApply) -> None:
    """Execute the region with one work-item for each component of the matrices."""
    machine.set(op.result, applied(machine, op, range(matrix_type(op.result).rows)))
    mark(machine, op.result, _undefined_component(machine, op))


def applied(machine: Machine, op: CooperativeMatrixApply, rows: range) -> Array:
    """Some rows, one after the other, of the result of an `apply`; the machine has these rows of its matrices."""
    type_ = matrix_type(op.result)
    axes = axes_of(type_)
    mask = machine.together(op, axes)
    shape = len(rows), type_.columns
    count = len(rows) * type_.columns
    numbers = np.arange(count, dtype=np.int32)[None, None, :]
    machine.env[op.row] = np.int32(rows.start) + numbers // np.int32(type_.columns)
    machine.env[op.column] = numbers % np.int32(type_.columns)
    for element, matrix in zip(op.elements, op.matrices, strict=True):
        held = machine.array(matrix)
        machine.env[element] = as_items(np.broadcast_to(held, (*held.shape[:2], *shape)))
        mark(machine, element, machine.undefined.get(matrix))
    holders = components_held(machine, type_)
    items = components(machine, count, type_.columns, of_work_group=type_.of_work_group, first=rows.start)
    with shared_outside(machine, op, axes), items, holders:
        machine.under(mask, op.body)
        (result,) = yielded(machine, op.body)
    full = np.broadcast_to(result, (*result.shape[:2], count))
    return full.reshape(*result.shape[:2], *shape)


def _undefined_component(machine: Machine, op: CooperativeMatrixApply) -> Mask | None:
    """Who holds a component that the region gives an undefined value; None for nobody."""
    last = op.body.terminator
    assert last is not None
    (given,) = last.operands
    where = machine.undefined.get(given)
    return None if where is None else np.any(where, axis=2, keepdims=True)


@meaning(CooperativeMatrixCombine)
def combine(machine: Machine, op: CooperativeMatrixCombine) -> None:
    """Combine components in pairs until one is left of each row, column or block; the order is a choice."""
    type_ = matrix_type(op.matrix)
    axes = axes_of(type_)
    mask = machine.together(op, axes)
    parts = _together(op.along, machine.array(op.matrix))
    order = machine.choices.summands(parts.shape[-1])
    if order is not None:
        parts = parts.take(order, axis=-1)
    with shared_outside(machine, op, axes):
        while parts.shape[-1] > 1:
            pairs = machine.choices.pairs(parts.shape[-1] // 2)
            left, right, rest = parts[..., :pairs], parts[..., pairs : 2 * pairs], parts[..., 2 * pairs :]
            parts = np.concatenate((_combined(machine, op, mask, left, right), rest), axis=-1)
    machine.set(op.result, _spread(op.along, parts[..., 0], matrix_type(op.result)))


def _combined(machine: Machine, op: CooperativeMatrixCombine, mask: Mask | None, left: Array, right: Array) -> Array:
    """The values that the region yields for each pair of entries of two arrays [work_group, subgroup, ...]."""
    lead = left.shape[:2]
    count = left[0, 0].size
    machine.env[op.left], machine.env[op.right] = left.reshape(*lead, count), right.reshape(*lead, count)
    columns = combined_columns(op.along, matrix_type(op.result))
    of_work_group, each = matrix_type(op.matrix).of_work_group, left.shape[-1]
    with components(machine, count, columns, of_work_group=of_work_group, each=each):
        machine.under(mask, op.body)
        (result,) = yielded(machine, op.body)
    return np.broadcast_to(result, (*lead, count)).reshape(left.shape)


def _together(along: Combined, matrix: Array) -> Array:
    """The components as an array [work_group, subgroup, set, component]: those of a set are combined."""
    groups, subgroups, rows, columns = matrix.shape
    match along:
        case Combined.ROW:
            return matrix
        case Combined.COLUMN:
            return matrix.swapaxes(2, 3)
        case Combined.ALL:
            return matrix.reshape(groups, subgroups, 1, rows * columns)
        case Combined.BLOCK:
            blocks = matrix.reshape(groups, subgroups, rows // 2, 2, columns // 2, 2).swapaxes(3, 4)
            return blocks.reshape(groups, subgroups, rows * columns // 4, 4)


def _spread(along: Combined, combined: Array, type: CoopMatrix) -> Array:
    """The matrix whose components are the combinations, an array [work_group, subgroup, set]."""
    match along:
        case Combined.COLUMN:
            combined = combined[:, :, None, :]
        case Combined.BLOCK:
            combined = combined.reshape(*combined.shape[:2], *type.shape)
        case _:
            combined = combined[..., None]
    return np.broadcast_to(combined, (*combined.shape[:2], *type.shape))
