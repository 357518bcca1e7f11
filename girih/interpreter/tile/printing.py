"""The meaning of prints: a line for each work-item, subgroup or work-group (`girih.ops.tile.control.Print`)."""

from __future__ import annotations

import numpy as np

from girih.analysis.prints import PrintSite, prints_of, shown
from girih.arguments.printed import PrintedValue, line_of
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import Array, Mask
from girih.interpreter.tile.coopmatrix import axes_of
from girih.ir.core import Value
from girih.ir.types import CoopMatrix
from girih.ops.tile.control import Print


@meaning(Print)
def print_(machine: Machine, op: Print) -> None:
    """Add the lines of those that are active."""
    site = prints_of(machine.function).sites[op]
    if site.around is None:
        machine.print_step += 1
    axes = axes_of(site.matrices[0]) if site.matrices else 2 if site.around is None else 0
    mask = machine.together(op, axes) if site.matrices else machine.mask
    shape = (machine.work_groups, *(machine.subgroups, machine.lanes)[: 2 - axes], *(1,) * axes)
    values = [_shared(machine, op, value, axes) for value in op.values]
    point = [_shared(machine, op, value, axes) for value in site.point]
    active: Mask = np.ones(shape, np.bool_) if mask is None else np.broadcast_to(_any(mask, axes), shape)
    for place in np.argwhere(active).tolist():
        _add(machine, site, (place[0], place[1], place[2]), axes, values, point)


def _any(mask: Mask, axes: int) -> Mask:
    """The mask of those who write a line each."""
    found: Mask = np.any(mask, axis=tuple(range(3 - axes, 3)), keepdims=True) if axes else mask
    return found


def _shared(machine: Machine, op: Print, value: Value, axes: int) -> Array:
    """A value with the axes of a scalar, or of a matrix; those who write a line together share it."""
    array = machine.array(value)
    if isinstance(value.type, CoopMatrix) or not axes:
        return array
    return machine.uniform(op, f"%{value.name}", array, axes)


def _add(
    machine: Machine, site: PrintSite, place: tuple[int, int, int], axes: int, values: list[Array], point: list[Array]
) -> None:
    group, subgroup, lane = place
    ids = machine.group_ids
    x, y, z = (int(axis[group, 0, 0]) for axis in ids)
    machine.lines.add(
        line_of(
            (x, y, z),
            (int(machine.group_numbers[group]), machine.print_step),
            site.op.text,
            [(v.type, _picked(v, array, place)) for v, array in zip(site.op.values, values, strict=True)],
            subgroup=None if site.of_work_group else subgroup,
            lane=lane if site.by_lane else None,
            point=tuple(int(_at(array, place)) for array in point),
        )
    )


def _at(array: Array, place: tuple[int, int, int]) -> Array:
    """The entry, or matrix, of a place; axes of size 1 are those of values that all share."""
    w, s, p = (min(i, n - 1) for i, n in zip(place, (*array.shape[:2], array.shape[2]), strict=True))
    found: Array = array[w, s] if array.ndim == 4 else array[w, s, p]
    return found


def _picked(value: Value, array: Array, place: tuple[int, int, int]) -> PrintedValue:
    found = _at(array, place)
    if not isinstance(value.type, CoopMatrix):
        return _plain(found)
    rows, columns = (shown(n) for n in value.type.shape)
    return [[_plain(found[i, j]) for j in columns] for i in rows]


def _plain(number: Array) -> bool | int | float | complex:
    """A number of NumPy, or of a narrow type beside it, as one of Python."""
    found = number.item()
    return found if isinstance(found, bool | int | float | complex) else float(found)
