"""Undefined values: which work-items have one, and how instructions hand that on.

Beside a value that is undefined for some work-items, `Machine.undefined` has the mask of these, like a scalar value; of
a matrix, the mask of those who hold it. What is computed from such a value is undefined as well; `select` hands on what
it chooses. In functions in which nothing can be undefined, instructions are executed as they are. A matrix is undefined
as a whole: one that is filled component by component, or by a load that clips, counts as defined from the first on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from girih.facts import memory
from girih.interpreter.machine.values import Mask
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix
from girih.ops.tile.arith import Select
from girih.ops.tile.coopmatrix import CooperativeMatrixInsert
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor

if TYPE_CHECKING:
    from girih.interpreter.machine.machine import Machine

MAY_BE_UNDEFINED: set[type[Op]] = set()
"""The instructions whose results may be undefined although no operand is."""

_BY_THEMSELVES: set[type[Op]] = set()

Meaning = Callable[["Machine", Any], None]


def may_be_undefined(*targets: type[Op]) -> None:
    """Enter instructions whose results may be undefined although no operand is; they mark them with `mark`."""
    MAY_BE_UNDEFINED.update(targets)
    _BY_THEMSELVES.update(targets)


def hand_on_by_themselves(*targets: type[Op]) -> None:
    """Enter instructions whose meaning marks its results with `mark`, or has none."""
    _BY_THEMSELVES.update(targets)


def without_others(op: Op) -> bool:
    """Whether an instruction marks its results itself."""
    return type(op) in _BY_THEMSELVES


def handing_on(meaning: Meaning) -> Meaning:
    """The meaning of an instruction whose results are undefined where an operand is."""

    def with_operands(machine: Machine, op: Op) -> None:
        meaning(machine, op)
        if machine.undefined:
            found = _chosen(machine, op) if isinstance(op, Select) else _of_any(machine, op)
            for result in op.results:
                mark(machine, result, found)

    return with_operands


_FILLED: Mapping[type[Op], str] = {CooperativeMatrixLoadTensor: "init", CooperativeMatrixInsert: "matrix"}
"""Instructions that fill a matrix, and the operand that has what they leave: programs may fill the rest as well."""


def _of_any(machine: Machine, op: Op) -> Mask | None:
    """The work-items for which an operand is undefined; what an instruction fills only in part does not count."""
    found: Mask | None = None
    filled = _FILLED.get(type(op))
    left = getattr(op, filled) if filled else None
    for value in op.operands:
        mask = machine.undefined.get(value) if value is not left else None
        if mask is not None:
            found = mask if found is None else found | mask
    return found


def _chosen(machine: Machine, op: Select) -> Mask | None:
    """The work-items for which the condition is undefined, or what it chooses."""
    condition, a, b = (machine.undefined.get(value) for value in (op.condition, op.a, op.b))
    if condition is None and a is None and b is None:
        return None
    nobody = np.zeros((1, 1, 1), np.bool_)
    chosen = np.where(machine.array(op.condition), nobody if a is None else a, nobody if b is None else b)
    found: Mask = chosen if condition is None else chosen | condition
    return found


def mark(machine: Machine, value: Value, where: Mask | None) -> None:
    """Note for which active work-items a value is undefined from now on; None for none."""
    if where is not None and machine.mask is not None:
        where = where & machine.mask
    if where is None or not where.any():
        machine.undefined.pop(value, None)
        return
    if isinstance(value.type, CoopMatrix):
        where = of_holders(where, value.type)
    machine.undefined[value] = where


def of_holders(mask: Mask, type: CoopMatrix) -> Mask:
    """Which of those who hold matrices of a type have a work-item of a mask among them."""
    held: Mask = np.any(mask, axis=(1, 2) if type.of_work_group else 2, keepdims=True)
    return held


def find_undefined(machine: Machine, op: Op, name: str, value: Value) -> None:
    """Find (run.undef) an operand `name` that decides something, or is stored, and is undefined."""
    where = machine.undefined.get(value) if machine.undefined else None
    if where is None:
        return
    bad = where if machine.mask is None else where & machine.mask
    machine.find(memory.undefined_decides(op, name), op, bad, argument=value.name or None)


def find_undefined_access(machine: Machine, op: Any, names: Sequence[str], stored: Value | None = None) -> None:
    """Find (run.undef) what decides where matrices are moved, and a matrix that is stored, if they are undefined."""
    for name in names:
        value = getattr(op, name)
        if value is not None:
            find_undefined(machine, op, name, value)
    where = None if stored is None else machine.undefined.get(stored)
    if where is None:
        return
    bad = where if machine.mask is None else where & machine.mask
    if bad.any():
        name = machine.memref(op.memory).name_for(bad)
        machine.find(memory.undefined_stored(op, name), op, bad, argument=name, by_lane=False)
