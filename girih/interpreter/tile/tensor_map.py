"""The meaning of tensor copies (`girih.ops.tile.tensor_map`): what `girih.addressing` says, for many work-groups.

A copy is made at once, or later under `Choices`: when a barrier or a collective instruction asks for what it moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from girih.addressing.tensor_map.batch import CopyBatch, reduce, store
from girih.addressing.tensor_map.im2col import corners
from girih.addressing.tensor_map.model import TensorMap
from girih.addressing.tensor_map.operands import start_multiple
from girih.analysis.accesses import Kind
from girih.arguments.memory import Memory
from girih.facts import findings
from girih.facts.findings import FindingWords
from girih.interpreter.machine.access import index_array, shared, unavailable
from girih.interpreter.machine.following import follow_copies, followed
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import MapValue, Mask
from girih.interpreter.races.order import GLOBAL, LOCAL
from girih.ir.core import RegionKind, Value
from girih.lazy_dataclass import dataclass
from girih.ops.tile.tensor_layout import I32_RANGE
from girih.ops.tile.tensor_map import (
    IM2COL_OFFSETS,
    TensorCopy,
    TensorCopyLoad,
    TensorCopyLoadIm2col,
    TensorCopyReduce,
    TensorCopyStore,
)

Ints = NDArray[np.int64]

_BYTES = np.dtype(np.uint8)

_AT_ONCE = 2**20
"""The number of bytes of boxes that are worked on at a time."""


@dataclass(slots=True, eq=False)
class _Copies:
    """The legal copies of an instruction: of each the work-group, the operands and the address in local memory."""

    op: TensorCopy
    map: MapValue
    local: Memory
    groups: Ints
    coordinates: Ints
    offsets: Ints
    addresses: Ints

    def batches(self) -> Iterator[tuple[CopyBatch, Ints]]:
        """The copies, as many at a time as are convenient, and their work-groups."""
        given = self.map.tensor_map
        rows = 4 if self.op.mode.by_rows else given.rows
        step = max(1, _AT_ONCE // max(1, rows * given.row_bytes))
        for first in range(0, len(self.groups), step):
            part = slice(first, first + step)
            yield (
                CopyBatch.of(
                    given,
                    self.coordinates[part],
                    self.offsets[part],
                    self.addresses[part],
                    by_rows=self.op.mode.by_rows,
                ),
                self.groups[part],
            )


@meaning(TensorCopyLoad, TensorCopyLoadIm2col)
def tensor_copy_load(machine: Machine, op: TensorCopyLoad | TensorCopyLoadIm2col) -> None:
    """Copy boxes to local memory."""
    _make(machine, op, _load)


@meaning(TensorCopyStore)
def tensor_copy_store(machine: Machine, op: TensorCopyStore) -> None:
    """Copy boxes from local memory."""
    _make(machine, op, _store)


@meaning(TensorCopyReduce)
def tensor_copy_reduce(machine: Machine, op: TensorCopyReduce) -> None:
    """Combine the elements of tensors with boxes in local memory."""
    _make(machine, op, _store)


def _make(machine: Machine, op: TensorCopy, copy: Callable[[Machine, _Copies], None]) -> None:
    copies = _legal(machine, op)
    if not len(copies.groups):
        return
    _follow(machine, copies)
    if machine.choices.later():
        machine.pending.append(lambda: copy(machine, copies))
    else:
        copy(machine, copies)


def _follow(machine: Machine, copies: _Copies) -> None:
    """Tell the search for races what the copies access from now on."""
    races, op = machine.races, copies.op
    if races is None:
        return
    if machine.kind is RegionKind.COLLECTIVE:
        races.advance((GLOBAL, LOCAL), copies=False)
    who = races.begin_copies(copies.groups)
    tensor, local = copies.map.memory, copies.local
    views = tensor.view(_BYTES), local.view(_BYTES)
    if followed(machine, views[0]) is None and followed(machine, views[1]) is None:
        return
    kinds: tuple[Kind, Kind] = ("read", "write")
    if isinstance(op, TensorCopyStore | TensorCopyReduce):
        kinds = ("update" if isinstance(op, TensorCopyReduce) else "write", "read")
    first = 0
    for batch, groups in copies.batches():
        stamps = who[first : first + len(groups)]
        first += len(groups)
        if kinds[1] == "write":
            in_tensor, in_local, _ = batch.loaded(tensor.bytes)
            read = None
        else:
            in_tensor, in_local = batch.stored()
            inside = in_tensor >= 0
            read = inside if in_local.shape == in_tensor.shape else np.any(inside, axis=-1, keepdims=True)
        follow_copies(machine, op, "map", kinds[0], views[0], stamps, in_tensor, in_tensor >= 0)
        follow_copies(machine, op, "local", kinds[1], views[1], stamps, in_local, read)


def _load(machine: Machine, copies: _Copies) -> None:
    source_memory, local = copies.map.memory, copies.local
    for batch, groups in copies.batches():
        source, places, payload = batch.loaded(source_memory.bytes)
        _find_unwritten(machine, copies.op, copies.op.map, source >= 0, source_memory.unwritten_bytes(source), groups)
        local.bytes[places] = payload
        local.mark_bytes(places)
        if batch.given.element.is_padded:
            local.forget(batch.padding())


def _store(machine: Machine, copies: _Copies) -> None:
    op, memory, local = copies.op, copies.map.memory, copies.local
    for batch, groups in copies.batches():
        target, places = batch.stored()
        inside = target >= 0
        # Sixteen shared bytes may make twelve of memory, all of them inside or none.
        read: Mask = inside if places.shape == target.shape else np.any(inside, axis=-1, keepdims=True)
        _find_unwritten(machine, op, op.local, read, local.unwritten_bytes(places), groups)
        if isinstance(op, TensorCopyReduce):
            _find_unwritten(machine, op, op.map, inside, memory.unwritten_bytes(target), groups)
            reduce(batch, op.reduction.value, memory.bytes, target, local.bytes[places])
        else:
            store(batch, memory.bytes, target, local.bytes[places])
        memory.mark_bytes(target[inside])


def _find_unwritten(
    machine: Machine, op: TensorCopy, value: Value, read: Mask, unwritten: Mask | None, groups: Ints
) -> None:
    """Note the work-groups whose copies read bytes that were never written; masks have a first axis of copies."""
    if unwritten is None:
        return
    missing = read & unwritten
    guilty = missing.reshape(len(groups), -1).any(axis=1)
    if guilty.any():
        words = findings.unwritten(op, value.name)
        machine.find(words, op, _mask_of(machine, groups[guilty]), argument=value.name, by_lane=False)


def _mask_of(machine: Machine, groups: Ints) -> Mask:
    mask = np.zeros((machine.work_groups, 1, 1), np.bool_)
    mask[groups] = True
    return mask


# --- operands -------------------------------------------------------------------------------


def _legal(machine: Machine, op: TensorCopy) -> _Copies:
    """The copies of the active work-groups but for illegal ones, which are found."""
    mask = machine.together(op, 2)
    given = machine.tensor_map(op.map)
    coordinates = _numbers(machine, op, "coordinates", op.coordinates)
    offsets = _numbers(machine, op, "offsets", op.offsets if isinstance(op, TensorCopyLoadIm2col) else ())
    if given.tensor_map.mode == "im2col" and not isinstance(op, TensorCopyLoadIm2col):
        offsets = np.zeros((machine.work_groups, given.tensor_map.rank - 2), np.int64)
    memref = shared(machine, op, "local", machine.memref(op.local), 2)
    bad = _find_illegal(machine, op, given.tensor_map, coordinates, offsets, mask)
    gone = unavailable(machine, op, memref)
    if gone is not None:
        bad |= np.broadcast_to(gone.any(axis=(1, 2), keepdims=True), bad.shape)
    active = np.broadcast_to(True if mask is None else mask, bad.shape) & ~bad
    groups = np.flatnonzero(active[:, 0, 0])
    first = np.broadcast_to(np.asarray(memref.offset, np.int64), (machine.work_groups, 1, 1))[:, 0, 0]
    addresses = first[groups] * memref.elements.data.itemsize
    return _Copies(op, given, memref.elements.memory, groups, coordinates[groups], offsets[groups], addresses)


def _numbers(machine: Machine, op: TensorCopy, name: str, values: tuple[Value | int, ...]) -> Ints:
    """The operands of a list, the same for all work-items of a work-group, as `[work_groups, operands]`."""
    columns = [machine.uniform(op, name, index_array(machine, value), 2) for value in values]
    full = [np.broadcast_to(column, (machine.work_groups, 1, 1))[:, 0, 0] for column in columns]
    return np.stack(full, axis=-1) if full else np.zeros((machine.work_groups, 0), np.int64)


def _find_illegal(
    machine: Machine, op: TensorCopy, given: TensorMap, coordinates: Ints, offsets: Ints, mask: Mask | None
) -> Mask:
    """The mask of work-groups whose operands are an illegal instruction, after noting why."""
    bad = np.zeros((machine.work_groups, 1, 1), np.bool_)
    for words, values, low, high, multiple, shape in _limits(op, given, coordinates, offsets):
        wrong = (values < low) | (values > high) | (values % multiple != 0)
        if wrong.any():
            wrong = wrong[:, None, None]
            here = wrong & ~bad if mask is None else wrong & ~bad & mask
            machine.find(words, op, here, argument=op.map.name, index=(values[:, None, None],), shape=shape,
                         by_lane=False)  # fmt: skip
            bad = bad | wrong
    return bad


_Limit = tuple[FindingWords, Ints, int, int, int, tuple[int, ...]]


def _limits(op: TensorCopy, given: TensorMap, coordinates: Ints, offsets: Ints) -> Iterator[_Limit]:
    """The rules of operands: words, values, least, largest, divisor, and the numbers that the words name."""
    name = op.map.name
    for position in range(coordinates.shape[1]):
        values = coordinates[:, position]
        yield findings.coordinate_range(op, name, position), values, *I32_RANGE, 1, I32_RANGE
    multiple = start_multiple(given)
    words = findings.coordinate_aligned(op, name, padded=given.element.is_padded)
    yield words, coordinates[:, 0], *I32_RANGE, multiple, (multiple,)
    if isinstance(op, TensorCopyStore | TensorCopyReduce):
        for position in range(coordinates.shape[1]):
            yield findings.negative_start(op, name, position), coordinates[:, position], 0, I32_RANGE[1], 1, (0,)
    if given.mode == "im2col":
        spatial = given.spatial
        box = corners(given.global_dim[spatial], given.lower_corner, given.upper_corner)
        for dimension, letter, (low, high) in zip(range(spatial.start, spatial.stop), "WHD", box, strict=False):
            words = findings.base_outside(op, name, letter)
            yield words, coordinates[:, dimension], low, high, 1, (low, high)
    if isinstance(op, TensorCopyLoadIm2col):
        most = IM2COL_OFFSETS[given.rank]
        for position in range(offsets.shape[1]):
            yield findings.offset_range(op, name, position), offsets[:, position], 0, most, 1, (most,)
