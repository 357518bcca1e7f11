"""Matrices that a whole work-group holds (001 "Overview"), on the CPU.

Each subgroup of the work-group has a copy of such a matrix and computes all of it, so that none needs data from
another. Memory that one writes, another may still have to read: a store therefore waits until all have come to it, as
if a barrier stood before the instruction.
"""

from __future__ import annotations

from girih.analysis.effects import writes
from girih.ir.core import Op
from girih.ir.types import CoopMatrix
from girih.ops.tile.tensor_map import TensorCopy

_EXCHANGING = ("matrix_insert",)
"""Instructions in which subgroups see each other's part of a matrix; programs in other languages do not load theirs."""

_BARRIERS = frozenset({"barrier", "work_group_barrier"})
"""Barriers of the tensor language and of the device language, which is not loaded here."""


def of_work_group(op: Op) -> bool:
    """Whether an instruction works on a matrix that the whole work-group holds."""
    return any(isinstance(v.type, CoopMatrix) and v.type.of_work_group for v in (*op.operands, *op.results))


def made_by_work_group(op: Op) -> bool:
    """Whether the work-group makes an instruction as one: it has the same operands in all work-items."""
    return of_work_group(op) or isinstance(op, TensorCopy)


def waits(op: Op) -> bool:
    """Whether the subgroups of a work-group execute an instruction only when all of them have come to it."""
    if not of_work_group(op):
        return op.spec.mnemonic in _BARRIERS
    return op.spec.mnemonic in _EXCHANGING or (op.spec.tangled and writes(op))


def anyone_waits(op: Op) -> bool:
    """Whether subgroups wait for each other in an instruction or anywhere in its regions."""
    return waits(op) or any(anyone_waits(inner) for region in op.regions for inner in region.ops)
