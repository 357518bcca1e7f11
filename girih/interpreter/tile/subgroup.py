"""The meaning of operations between the work-items of a subgroup (`girih.ops.tile.subgroup`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from girih.facts import findings
from girih.interpreter.machine import numbers
from girih.interpreter.machine.access import outside, restrict
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import Array
from girih.ir.types import Number
from girih.ops.tile.subgroup import OPERATIONS, SubgroupBroadcast, SubgroupOperation

_UFUNCS: dict[str, Any] = {"add": np.add, "max": np.fmax, "min": np.fmin}
_PARTS = {cls: parts for parts, cls in OPERATIONS.items()}


@meaning(SubgroupBroadcast)
def broadcast(machine: Machine, op: SubgroupBroadcast) -> None:
    """Give one work-item's value to all work-items of its subgroup."""
    machine.together(op, 1)
    lane = machine.uniform(op, "lane", machine.array(op.lane), 1)
    bad = outside(lane.astype(np.int64), machine.lanes)
    if bad.any() and (bad := restrict(machine, bad)).any():
        machine.find(
            findings.no_such_work_item(), op, bad, argument=op.lane.name, index=(lane,), shape=(machine.lanes,)
        )
    a = machine.array(op.a)
    if a.shape[2] == 1:
        machine.set(op.result, a)
        return
    source = np.where(outside(lane.astype(np.int64), machine.lanes), 0, lane).astype(np.int64)
    shape = np.broadcast_shapes(a.shape[:2], source.shape[:2])
    picked = np.take_along_axis(np.broadcast_to(a, (*shape, a.shape[2])), np.broadcast_to(source, (*shape, 1)), axis=2)
    machine.set(op.result, picked)


@meaning(*_PARTS)
def operation(machine: Machine, op: SubgroupOperation) -> None:
    """Compute a scan or reduction in the order of the work-items; each step rounds in the type."""
    machine.together(op, 1)
    shape, operator = _PARTS[type(op)]
    type_ = op.a.type
    assert isinstance(type_, Number)
    a = machine.array(op.a)
    contributions = np.broadcast_to(a, (*a.shape[:2], machine.lanes))
    order = machine.choices.summands(machine.lanes) if shape == "reduce" else None
    if order is not None:
        contributions = contributions[:, :, order]
    scan: Array = _UFUNCS[operator].accumulate(contributions, axis=2, dtype=contributions.dtype)
    if shape == "reduce":
        machine.set(op.result, scan[:, :, -1:])
    elif shape == "inclusive_scan":
        machine.set(op.result, scan)
    else:
        machine.set(op.result, np.concatenate([_identity(operator, type_, scan), scan[:, :, :-1]], axis=2))


def _identity(operator: str, type_: Number, like: Array) -> Array:
    """The value with which an exclusive scan starts, in an array like `like` but with one lane."""
    if operator == "add":
        return np.zeros_like(like[:, :, :1])
    smallest, largest = numbers.limits(type_)
    return np.full_like(like[:, :, :1], smallest if operator == "max" else largest)
