"""The meaning of what shaders do with cooperative matrices, arrays [work_group, subgroup, row, column]
(`girih.ops.device.matrices`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from girih.facts import findings
from girih.interpreter.machine import numbers
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import Array, Mask
from girih.interpreter.tile.coopmatrix import axes_of, matrix_type
from girih.interpreter.tile.coopmatrix_tensor import TensorOperand, decode
from girih.interpreter.tile.linalg import multiply
from girih.ir.core import Value
from girih.ir.types import I64, CoopMatrix, MemRef, Number
from girih.ops.device.matrices import MatrixCheckDecode, MatrixExtract, MatrixInsert, MatrixLength, MatrixMulAdd
from girih.ops.tile.coopmatrix_layout import ComponentLayout, layout_among
from girih.ops.tile.coopmatrix_tensor import block_bytes

ROUNDINGS = 8
"""By how many units in the last place two functions may differ that compute the same in another order."""

# --- products of integers ----------------------------------------------------------------------


@meaning(MatrixMulAdd)
def mul_add(machine: Machine, op: MatrixMulAdd) -> None:
    """Compute a b + c in 64 bits, which wrap around, and cut it to the type of the result or saturate."""
    machine.together(op, axes_of(matrix_type(op.result)))
    product = multiply(machine, _wide(machine, op.a, op.unsigned_a), _wide(machine, op.b, op.unsigned_b), I64)
    total = np.add(product, _wide(machine, op.c, op.unsigned_c))
    target = matrix_type(op.result).component
    if op.saturating:
        total = np.clip(total, *_range(target, unsigned=op.unsigned_result))
    machine.set(op.result, total.astype(numbers.dtype(target)))


def _wide(machine: Machine, matrix: Value, unsigned: bool) -> Array:
    """The components of a matrix of integers as numbers of 64 bits."""
    held = machine.array(matrix)
    wide: Array = (held.view(f"u{held.itemsize}") if unsigned else held).astype(np.int64)
    return wide


def _range(type: Number, *, unsigned: bool) -> tuple[int, int]:
    bits = 8 * type.size
    return (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)


# --- components that a work-item holds ---------------------------------------------------------


def holders_of(machine: Machine, type: CoopMatrix) -> int:
    """The number of work-items that hold a matrix of a type."""
    geometry = machine.geometry
    return geometry.subgroup_size * (geometry.subgroups if type.of_work_group else 1)


@meaning(MatrixLength)
def length(machine: Machine, op: MatrixLength) -> None:
    """Give the number of components that each work-item holds."""
    assert isinstance(op.of, CoopMatrix)
    count = layout_among(op.of, holders_of(machine, op.of)).components
    machine.set(op.result, np.full((1, 1, 1), count, np.int32))


class Components:
    """The component of a matrix at an index, for each work-item: its `row` and `column`, and whether it is there.

    Arrays have the axes [work_group, subgroup, lane]; in `holds` are the active work-items whose component exists,
    where the layout does not pad the matrix. An index outside is found.
    """

    def __init__(self, machine: Machine, op: MatrixExtract | MatrixInsert) -> None:
        type = matrix_type(op.matrix)
        layout = layout_among(type, holders_of(machine, type))
        index = machine.array(op.index)
        outside = (index < 0) | (index >= layout.components)
        self._report(machine, op, layout, index, outside)
        lane = np.arange(machine.lanes)[None, None, :]
        if type.of_work_group:
            lane = lane + machine.lanes * np.arange(machine.subgroups)[None, :, None]
        place = np.where(outside, 0, index)
        if machine.choices.way("components") == "shuffled":
            holders = layout.subgroup_size
            moved = machine.choices.permutation(str(type), holders * layout.components)[lane + holders * place]
            lane, place = moved % holders, moved // holders
        row, column = layout.position(lane, place)
        self.holds: Mask = np.broadcast_to((column < type.columns) & ~outside & machine.active(), machine.shape)
        self.row: Array = np.broadcast_to(row, machine.shape)
        self.column: Array = np.broadcast_to(np.minimum(column, type.columns - 1), machine.shape)

    def _report(
        self, machine: Machine, op: MatrixExtract | MatrixInsert, layout: ComponentLayout, index: Array, outside: Mask
    ) -> None:
        bad = outside if machine.mask is None else outside & machine.mask
        if bad.any():
            words = findings.no_component(op, op.matrix.name)
            machine.find(words, op, bad, argument=op.matrix.name, index=(index,), shape=(layout.components,))

    def places(self, machine: Machine, type: CoopMatrix) -> tuple[Array, Array]:
        """The numbers of the work-group and of the matrix in it for each work-item."""
        groups = np.arange(machine.work_groups)[:, None, None]
        matrices = np.zeros(1, np.int64) if type.of_work_group else np.arange(machine.subgroups)
        return groups, matrices[None, :, None]


def _whole(machine: Machine, type: CoopMatrix, held: Array) -> Array:
    """A matrix with one entry for each that is held."""
    return np.broadcast_to(held, (machine.work_groups, 1 if type.of_work_group else machine.subgroups, *type.shape))


@meaning(MatrixExtract)
def extract(machine: Machine, op: MatrixExtract) -> None:
    """Give each work-item one of the components that it holds; padding is zero."""
    type, held = matrix_type(op.matrix), machine.array(op.matrix)
    found = Components(machine, op)
    groups, matrices = found.places(machine, type)
    component = _whole(machine, type, held)[groups, matrices, found.row, found.column]
    machine.set(op.result, np.where(found.holds, component, np.zeros((), held.dtype)))


@meaning(MatrixInsert)
def insert(machine: Machine, op: MatrixInsert) -> None:
    """Copy a matrix and replace one component of each active work-item."""
    type = matrix_type(op.matrix)
    found = Components(machine, op)
    new = _whole(machine, type, machine.array(op.matrix)).copy()
    groups, matrices = (np.broadcast_to(n, machine.shape)[found.holds] for n in found.places(machine, type))
    values = np.broadcast_to(machine.array(op.a), machine.shape)[found.holds]
    new[groups, matrices, found.row[found.holds], found.column[found.holds]] = values
    machine.set(op.result, new)


# --- two ways of decoding ----------------------------------------------------------------------


@meaning(MatrixCheckDecode)
def check_decode(machine: Machine, op: MatrixCheckDecode) -> None:
    """Call the region for each component that was decoded, and find those that it gives otherwise."""
    type, held = matrix_type(op.matrix), machine.array(op.matrix)
    assert isinstance(op.block_type, MemRef)
    tensor = TensorOperand(machine, op, type, store=False, unit=block_bytes(op.block_type), silent=True)
    flat, usable = tensor.touched()
    last = op.body.terminator
    assert last is not None
    count = len(tuple(last.operands))
    yielded = decode(machine, op, tensor, op.block_type, flat, usable, count)
    position = np.broadcast_to(tensor.coordinates()[-1], yielded[0].shape) % count
    chosen = np.choose(position, yielded)
    differs = _differs(chosen, np.broadcast_to(held, chosen.shape)) & usable
    if not differs.any():
        return
    place = tensor.first(differs)
    words = findings.decoded_apart(*(str(np.broadcast_to(a, chosen.shape)[place]) for a in (held, chosen)))
    if not (_apart(type.component, chosen, np.broadcast_to(held, chosen.shape)) & differs).any():
        words = replace(words, severity="warning")
    subgroups = np.any(differs, axis=(2, 3), keepdims=True)[..., 0]
    message = words.at(place[2:], type.shape)
    machine.find(replace(words, message=message), op, subgroups, argument=tensor.memref.name, by_lane=False)


def _apart(type: Number, a: Array, b: Array) -> Mask:
    """Where numbers differ by more than functions that round in another order do, next to the largest number."""
    if type.family == "integer":
        return _differs(a, b)
    finfo: Any = ml_dtypes.finfo
    wide, other = a.astype(np.float64), b.astype(np.float64)
    largest = float(np.max(np.abs(wide), initial=0.0, where=np.isfinite(wide)))
    with np.errstate(invalid="ignore"):
        apart: Mask = ~(np.abs(wide - other) <= ROUNDINGS * float(finfo(a.dtype).eps) * largest)
    return apart


def _differs(a: Array, b: Array) -> Mask:
    """Where numbers differ: zeros of both signs are equal, and so are all NaN."""
    differs: Mask = (a != b) & ~((a != a) & (b != b))
    return differs
