"""The meaning of loads and stores of matrices in interleaved blocks (`girih.ops.tile.coopmatrix_tensor`, 002 3.X).

A component is moved byte by byte: blocks are interleaved in words of 4 bytes, which an 8-byte component straddles.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from girih.addressing import BlockedInterleaved
from girih.facts import findings
from girih.facts.findings import BlockedAccess
from girih.interpreter.machine import numbers
from girih.interpreter.machine.access import shared, unavailable
from girih.interpreter.machine.following import follow_components
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.undefined import find_undefined_access
from girih.interpreter.machine.values import Array, Mask, MemRefValue
from girih.interpreter.tile.coopmatrix import axes_of, matrix_type
from girih.ir.types import CoopMatrix
from girih.ops.tile.coopmatrix_tensor import (
    BlockOrder,
    CooperativeMatrixLoadBlockedInterleaved,
    CooperativeMatrixStoreBlockedInterleaved,
)

_BYTES = np.dtype(np.uint8)


@lru_cache(64)
def _bytes(order: BlockOrder, rows: int, columns: int, size: int, stride: int) -> Array:
    """The distance from the matrix's first byte to each byte of each component: an array [row, column, byte]."""
    model = BlockedInterleaved("row" if order is BlockOrder.ROW else "column", rows, columns, size, stride)
    i, j = np.arange(rows)[:, None], np.arange(columns)[None, :]
    return np.stack([model.byte(i, j, byte) for byte in range(size)], axis=-1)


def _place(machine: Machine, op: BlockedAccess, type: CoopMatrix) -> tuple[MemRefValue, Array, Mask]:
    """The memref, the element of the memory at which each matrix begins, and the mask of those that are accessed."""
    if machine.undefined:
        find_undefined_access(machine, op, ("offset",), getattr(op, "matrix", None))
    axes = axes_of(type)
    mask = machine.together(op, axes)
    memref = shared(machine, op, "memory", machine.memref(op.memory), axes)
    offset = machine.uniform(op, "offset", machine.array(op.offset), axes)
    count = type.rows * type.columns
    size = memref.shape[0]
    flat = memref.offset + offset
    inside = (offset >= 0) & (offset <= size - count)
    wanted = np.ones((1, 1, 1), np.bool_) if mask is None else mask
    bad = unavailable(machine, op, memref)
    if bad is not None:
        wanted = wanted & ~np.any(bad, axis=tuple(range(3 - axes, 3)), keepdims=True)
    missed = wanted & ~inside
    if missed.any():
        words = findings.outside_blocks(op, count, memref.name)
        machine.find(words, op, missed, argument=memref.name, index=(offset,), shape=(size,), by_lane=False)
    usable = np.broadcast_to(wanted & inside, np.broadcast_shapes(wanted.shape, inside.shape))
    return memref, np.where(usable, flat, 0), usable


def _spots(op: BlockedAccess, type: CoopMatrix, start: Array) -> Array:
    """The place in the memory of each byte of each component: an array [work_group, subgroup, row, column, byte]."""
    size = type.component.size
    return start[..., None, None] * size + _bytes(op.order, *type.shape, size, op.stride)


@meaning(CooperativeMatrixLoadBlockedInterleaved)
def load(machine: Machine, op: CooperativeMatrixLoadBlockedInterleaved) -> None:
    """Load matrices from their blocks; a matrix that does not lie in the memref is zero."""
    type_ = matrix_type(op.result)
    dtype = numbers.dtype(type_.component)
    memref, start, usable = _place(machine, op, type_)
    usable = usable[..., None]
    elements = memref.elements
    if not usable.any():
        machine.set(op.result, np.zeros((*start.shape[:2], *type_.shape), dtype))
        return
    spots = _spots(op, type_, start)
    spots = np.where(usable[..., None], spots, 0)
    follow_components(machine, op, "memory", "read", type_, elements.memory.view(_BYTES), spots, usable)
    if elements.followed is not None:
        missing = usable & ~elements.followed.view(np.bool_)[spots].all(axis=-1)
        machine.find(findings.unwritten_blocks(op, memref.name), op,
                     np.any(missing, axis=(2, 3), keepdims=True)[..., 0],
                     argument=memref.name, by_lane=False)  # fmt: skip
    loaded = np.ascontiguousarray(elements.data.view(np.uint8)[spots]).view(dtype)[..., 0]
    machine.set(op.result, np.where(usable, loaded, np.zeros((), dtype)))


@meaning(CooperativeMatrixStoreBlockedInterleaved)
def store(machine: Machine, op: CooperativeMatrixStoreBlockedInterleaved) -> None:
    """Store matrices in their blocks."""
    type_ = matrix_type(op.matrix)
    memref, start, usable = _place(machine, op, type_)
    values = np.ascontiguousarray(machine.array(op.matrix))
    lead = np.broadcast_shapes(start.shape[:2], values.shape[:2])
    taken = np.broadcast_to(usable[..., 0], lead)
    if not taken.any():
        return
    spots = np.broadcast_to(_spots(op, type_, start), (*lead, *type_.shape, type_.component.size))[taken]
    raw = values.view(np.uint8).reshape(*values.shape, type_.component.size)
    elements = memref.elements
    whole = _spots(op, type_, start)
    follow_components(
        machine, op, "memory", "write", type_, elements.memory.view(_BYTES), whole, usable[..., None], raw
    )
    elements.data.view(np.uint8)[spots] = np.broadcast_to(raw, (*lead, *raw.shape[2:]))[taken]
    elements.mark_bytes(spots)
