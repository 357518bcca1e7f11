"""What instructions of the ir do with the rows of a matrix that one consumer has, by the meanings of the interpreter.

Registers are kept as the numbers that are there: an array of the consumer's rows, or of 1, by the columns, or by 1
(`Spread`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from girih.interpreter.machine.machine import MEANINGS, Machine
from girih.interpreter.machine.numbers import dtype
from girih.interpreter.machine.values import Array
from girih.interpreter.tile.coopmatrix_regions import applied
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply
from girih.tile.form import Registers, Spread
from girih.tile.simulate.faults import ScheduleFault
from girih.tile.threads.fragment import Dealt, Fragment


def own_shape(held: Registers, consumers: int) -> tuple[int, int]:
    """The rows and columns of numbers that a consumer keeps of a matrix."""
    rows = held.rows // consumers if held.spread in (Spread.TILE, Spread.ROWS) else 1
    return rows, held.columns if held.spread in (Spread.TILE, Spread.COLUMNS) else 1


def matrices_of(op: Op) -> list[Value]:
    """The operands of an instruction that are matrices, in its order."""
    return [value for value in op.operands if isinstance(value.type, CoopMatrix)]


def computed(machine: Machine, op: Op, operands: Sequence[Array], consumer: int, consumers: int) -> Array:
    """The consumer's rows of the matrix that an instruction results in; `operands` are its rows of the matrices."""
    (result,) = op.results
    type = result.type
    assert isinstance(type, CoopMatrix)
    rows = _rows_of(type, consumer, consumers)
    if isinstance(op, CooperativeMatrixApply):
        for value, array in zip(op.matrices, operands, strict=True):
            machine.env[value] = np.broadcast_to(array, (len(rows), type.columns))[None, None]
        made: Array = applied(machine, op, rows)[0, 0]
        return made
    for value, array in zip(matrices_of(op), operands, strict=True):
        machine.env[value] = _whole(array, value.type, consumers)
    execute(machine, op)
    whole = np.broadcast_to(machine.array(result), (1, 1, *type.shape))[0, 0]
    return np.asarray(whole[: len(rows)])


def _rows_of(type: CoopMatrix, consumer: int, consumers: int) -> range:
    """The rows of a matrix that a consumer has: all have the one of a matrix of one row."""
    if type.rows == 1:
        return range(1)
    own = type.rows // consumers
    return range(consumer * own, (consumer + 1) * own)


def execute(machine: Machine, op: Op) -> None:
    """Execute an instruction by its meaning."""
    MEANINGS[type(op)](machine, op)


def _whole(array: Array, type: object, consumers: int) -> Array:
    """A matrix of all rows, in which each consumer has the same ones: what one of them computes is right for it."""
    assert isinstance(type, CoopMatrix)
    if type.rows == 1:
        return np.asarray(np.broadcast_to(array, type.shape))[None, None]
    own = np.broadcast_to(array, (type.rows // consumers, type.columns))
    return np.tile(own, (consumers, 1))[None, None]


def kept(matrix: Array, held: Registers, consumers: int) -> Array:
    """The numbers that registers keep of a matrix. Raises `ScheduleFault` if they have one for several that differ."""
    rows, columns = own_shape(held, consumers)
    numbers = matrix[: rows if matrix.shape[0] != rows else None, : columns if matrix.shape[1] != columns else None]
    if not _same_bits(np.broadcast_to(numbers, matrix.shape), matrix):
        raise ScheduleFault("spread", f"{held.name} keeps one number of several that differ ({held.spread.value})")
    return np.array(np.broadcast_to(numbers, (rows, columns)), dtype(held.component))


def _same_bits(a: Array, b: Array) -> bool:
    """Whether arrays of one type have equal bits, so that NaN is equal to itself."""
    return bool(np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes())


THREADS = 128


def threads_of(fragment: Fragment, rows: int, columns: int) -> Array:
    """The thread of a consumer that has each component of its rows."""
    row, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
    lane = _lanes(fragment.rows, row) * fragment.columns.lanes + _lanes(fragment.columns, column)
    return np.asarray(row % 64 // 16 * 32 + lane)


def _lanes(dealt: Dealt, numbers: Array) -> Array:
    """The lane that has each row or column."""
    within = numbers % dealt.period
    return np.asarray(within // dealt.each if dealt.adjacent else within % dealt.lanes)
