"""The meaning of instructions on cooperative matrices, which are arrays [work_group, subgroup, row, column]
(`girih.ops.tile.coopmatrix`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from girih.analysis.accesses import Kind
from girih.facts import findings
from girih.facts.accumulators import accumulator as accumulator_of
from girih.facts.accumulators import product_accumulator
from girih.facts.findings import FindingWords
from girih.interpreter.machine import numbers
from girih.interpreter.machine.access import beyond_bytes, find_bytes_outside, shared, unavailable
from girih.interpreter.machine.boxes import read_boxes, unwritten, write_boxes
from girih.interpreter.machine.following import follow_components, followed, synchronise
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.permissions import factors
from girih.interpreter.machine.undefined import find_undefined_access
from girih.interpreter.machine.values import Array, Mask, MemRefValue, Varying
from girih.interpreter.races.races import Event
from girih.interpreter.tile.atomics import update
from girih.interpreter.tile.linalg import multiply
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix, MemRef
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixAtomicAdd,
    CooperativeMatrixAtomicLoad,
    CooperativeMatrixAtomicMax,
    CooperativeMatrixAtomicMin,
    CooperativeMatrixAtomicStore,
    CooperativeMatrixConstruct,
    CooperativeMatrixExtract,
    CooperativeMatrixInsert,
    CooperativeMatrixLoad,
    CooperativeMatrixMulAdd,
    CooperativeMatrixPrefetch,
    CooperativeMatrixReduceAdd,
    CooperativeMatrixReduceMax,
    CooperativeMatrixReduceMin,
    CooperativeMatrixScale,
    CooperativeMatrixStore,
    CooperativeMatrixTranspose,
    MatrixAtomicUpdate,
    Reduce,
)
from girih.ops.tile.coopmatrix_layout import ComponentLayout, layout_of


def matrix_type(value: Value) -> CoopMatrix:
    """The type of a matrix value."""
    assert isinstance(value.type, CoopMatrix)
    return value.type


def axes_of(type: CoopMatrix) -> int:
    """The number of axes of scalar values that hold a matrix together: 1 for a subgroup, 2 for a work-group."""
    return 2 if type.of_work_group else 1


# --- access ------------------------------------------------------------------------------------


class Tile:
    """The place of a tile in memory for each subgroup; arrays have the axes [work_group, subgroup]."""

    def __init__(self, machine: Machine, op: Any, type: CoopMatrix) -> None:
        self.machine, self.op, self.type = machine, op, type
        if machine.undefined:
            find_undefined_access(machine, op, ("row", "column"), getattr(op, "matrix", None))
        axes = axes_of(type)
        self.memref: MemRefValue = shared(machine, op, "memory", machine.memref(op.memory), axes)
        mask = machine.together(op, axes)
        self.full = (machine.work_groups, 1 if type.of_work_group else machine.subgroups)
        row = machine.uniform(op, "row", machine.array(op.row), axes)
        column = machine.uniform(op, "column", machine.array(op.column), axes)
        sizes = self.memref.shape[::-1] if op.transpose else self.memref.shape
        strides = self.memref.strides[::-1] if op.transpose else self.memref.strides
        # The matrix's rows run along the memref's second mode where the access is transposed.
        self.row, self.column = (column, row) if op.transpose else (row, column)
        self.sizes: tuple[Varying, ...] = sizes
        self.strides: tuple[Varying, ...] = strides
        self.active = self._active(mask)

    def _active(self, mask: Mask | None) -> Mask | None:
        """The mask of subgroups that access the tile; None for all of them."""
        bad = unavailable(self.machine, self.op, self.memref)
        if bad is None and mask is None:
            return None
        active = np.ones(self.full, np.bool_)
        if mask is not None:
            active &= mask[:, :, 0]
        if bad is not None:
            over = (1, 2) if self.type.of_work_group else (2,)
            active &= ~np.any(bad, axis=over, keepdims=True)[:, :, 0]
        return active

    @property
    def offsets(self) -> Array:
        """The flat position of the first element of each subgroup's tile."""
        return self.memref.offset + self.row * self.strides[0] + self.column * self.strides[1]

    def inside(self) -> Array:
        """The mask of subgroups whose tile lies wholly inside the memref."""
        rows, columns = self.type.shape
        m, n = self.sizes
        return (self.row >= 0) & (self.row <= m - rows) & (self.column >= 0) & (self.column <= n - columns)

    def whole(self) -> Array | None:
        """The flat positions of the first elements if every tile can be moved as a box; None otherwise."""
        if self.active is not None or not all(isinstance(s, int) for s in self.strides) or not self.inside().all():
            return None
        if self.memref.inside is not None:
            return None
        return self.offsets[:, :, 0]

    def strides_of_box(self) -> tuple[int, int]:
        """The strides of the tile's rows and columns in elements, for a tile that is moved as a box."""
        a, b = self.strides
        assert isinstance(a, int)
        assert isinstance(b, int)
        return a, b

    def elements(self) -> tuple[Array, Mask]:
        """The flat positions [work_group, subgroup, row, column] and the mask of those that may be accessed.

        The others are found, unless the checked flag leaves them out.
        """
        rows, columns = self.type.shape
        i = np.arange(rows, dtype=np.int64)[:, None]
        j = np.arange(columns, dtype=np.int64)[None, :]
        row, column = self.row[..., None] + i, self.column[..., None] + j
        m, n = (_matrix_axes(x) for x in self.sizes)
        row_inside, column_inside = (row >= 0) & (row < m), (column >= 0) & (column < n)
        wanted = np.ones((1, 1, 1, 1), np.bool_) if self.active is None else self.active[:, :, None, None]
        if self.op.checked.rows:
            wanted = wanted & row_inside
        if self.op.checked.columns:
            wanted = wanted & column_inside
        flat = (
            _matrix_axes(self.memref.offset)
            + row * _matrix_axes(self.strides[0])
            + column * _matrix_axes(self.strides[1])
        )
        good = row_inside & column_inside
        self._report(wanted & ~good, findings.outside)
        beyond = beyond_bytes(self.memref, flat)
        if beyond is not None:
            self._find_beyond(*beyond, wanted & good)
            good = good & ~beyond[1]
        usable = np.broadcast_to(wanted & good, (*self.full, rows, columns))
        return np.where(usable, flat, 0), usable

    def follow(self, kind: Kind, flat: Array, usable: Mask, values: Array | None = None) -> Event | None:
        """Tell the search for races of an access to elements."""
        return follow_components(
            self.machine, self.op, "memory", kind, self.type, self.memref.elements, flat, usable, values
        )

    def follow_boxes(self, kind: Kind, offsets: Array, values: Array | None = None) -> Event | None:
        """Tell the search for races of an access to whole tiles."""
        view = self.memref.elements
        if followed(self.machine, view) is None:
            return None
        a, b = self.strides_of_box()
        rows, columns = (np.arange(n, dtype=np.int64) for n in self.type.shape)
        flat = offsets[..., None, None] + (rows[:, None] * a + columns * b)
        return follow_components(self.machine, self.op, "memory", kind, self.type, view, flat, None, values)

    def _report(self, bad: Array, words: Callable[[Op, str], FindingWords]) -> None:
        if not bad.any():
            return
        w, s, i, j = (int(x) for x in np.argwhere(bad)[0])
        row = int(np.broadcast_to(self.row, (*self.full, 1))[w, s, 0]) + i
        column = int(np.broadcast_to(self.column, (*self.full, 1))[w, s, 0]) + j
        index = (column, row) if self.op.transpose else (row, column)
        tiles = np.any(bad, axis=(2, 3), keepdims=True)[..., 0]
        self.machine.find(words(self.op, self.memref.name), self.op, tiles, argument=self.memref.name,
                          index=index, shape=self.memref.shape, by_lane=False)  # fmt: skip

    def _find_beyond(self, first: Array, beyond: Mask, wanted: Mask) -> None:
        """Find elements in the shape of a view of bytes that lie outside of its memory."""
        bad = np.broadcast_to(beyond & wanted, (*self.full, *self.type.shape))
        if bad.any():
            tiles = np.any(bad, axis=(2, 3), keepdims=True)[..., 0]
            at = np.unravel_index(int(bad.argmax()), bad.shape)
            byte = np.full((1, 1, 1), np.broadcast_to(first, bad.shape)[at])
            find_bytes_outside(self.machine, self.op, self.memref, byte, tiles, by_lane=False)

    def check_written(self, offsets: Array) -> None:
        """Find elements of whole tiles that were never written."""
        missing = unwritten(self.memref.elements, offsets, self.type.shape, self.strides_of_box())
        if missing is not None:
            self._report(missing, findings.unwritten)

    def check_elements_written(self, flat: Array, usable: Mask) -> None:
        """Find elements that were never written."""
        missing = self.memref.elements.unwritten(flat) if self.memref.elements.data.size else None
        if missing is not None:
            self._report(usable & missing, findings.unwritten)


def _matrix_axes(number: Varying) -> Varying:
    return number[..., None] if isinstance(number, np.ndarray) else number


@meaning(CooperativeMatrixLoad, CooperativeMatrixAtomicLoad)
def load(machine: Machine, op: CooperativeMatrixLoad | CooperativeMatrixAtomicLoad) -> None:
    """Load tiles: as boxes if all tiles of the batch lie inside the memref, element by element otherwise."""
    tile = Tile(machine, op, matrix_type(op.result))
    data = tile.memref.elements.data
    offsets = tile.whole()
    if offsets is not None:
        synchronise(machine, tile.follow_boxes("read", offsets))
        tile.check_written(offsets)
        machine.set(op.result, read_boxes(data, offsets, tile.type.shape, tile.strides_of_box(), copy=True))
        return
    flat, usable = tile.elements()
    synchronise(machine, tile.follow("read", flat, usable))
    tile.check_elements_written(flat, usable)
    if data.size == 0:
        machine.set(op.result, np.zeros(flat.shape, data.dtype))
        return
    machine.set(op.result, np.where(usable, data[flat], np.zeros((), data.dtype)))


@meaning(CooperativeMatrixStore, CooperativeMatrixAtomicStore)
def store(machine: Machine, op: CooperativeMatrixStore | CooperativeMatrixAtomicStore) -> None:
    """Store tiles: as boxes if all tiles of the batch lie inside the memref, element by element otherwise."""
    tile = Tile(machine, op, matrix_type(op.matrix))
    values = machine.array(op.matrix)
    elements = tile.memref.elements
    offsets = tile.whole()
    if offsets is not None:
        # A tile that several subgroups share is stored by each of them; one suffices.
        synchronise(machine, tile.follow_boxes("write", offsets, values))
        shape = np.broadcast_shapes(offsets.shape, values.shape[:2])
        offsets = np.broadcast_to(offsets, shape)
        order = machine.choices.points(offsets.size)
        if order is not None:
            offsets = offsets.ravel()[order]
            values = np.broadcast_to(values, (*shape, *tile.type.shape)).reshape(-1, *tile.type.shape)[order]
        write_boxes(elements, offsets, tile.type.shape, tile.strides_of_box(), values)
        return
    flat, usable = tile.elements()
    synchronise(machine, tile.follow("write", flat, usable, values))
    picked = flat[usable]
    elements.data[picked] = np.broadcast_to(values, flat.shape)[usable]
    elements.mark(picked)


_OPERATORS: dict[type[MatrixAtomicUpdate], str] = {
    CooperativeMatrixAtomicAdd: "add",
    CooperativeMatrixAtomicMax: "max",
    CooperativeMatrixAtomicMin: "min",
}


@meaning(*_OPERATORS)
def atomic_update(machine: Machine, op: MatrixAtomicUpdate) -> None:
    """Update each element of every active subgroup's tile once."""
    tile = Tile(machine, op, matrix_type(op.matrix))
    type_ = op.memory.type
    assert isinstance(type_, MemRef)
    elements = tile.memref.elements
    flat, usable = tile.elements()
    event = tile.follow("update", flat, usable)
    tile.check_elements_written(flat, usable)
    values = np.broadcast_to(machine.array(op.matrix), flat.shape)
    result = np.zeros(flat.shape, elements.data.dtype)
    picked = flat[usable]
    result[usable] = update(machine, elements.data, picked, values[usable], _OPERATORS[type(op)], type_.element, event)
    elements.mark(picked)
    machine.set(op.result, result)


@meaning(CooperativeMatrixPrefetch)
def prefetch(machine: Machine, op: CooperativeMatrixPrefetch) -> None:
    """Check that operands are uniform, and do nothing else: a prefetch is a hint."""
    machine.together(op, 1)
    for name in ("row", "column"):
        machine.uniform(op, name, machine.array(getattr(op, name)), 1)
    shared(machine, op, "memory", machine.memref(op.memory), 1)


# --- arithmetic --------------------------------------------------------------------------------


@meaning(CooperativeMatrixConstruct)
def construct(machine: Machine, op: CooperativeMatrixConstruct) -> None:
    """Make a matrix with one number in every component."""
    axes = axes_of(matrix_type(op.result))
    machine.together(op, axes)
    number = machine.uniform(op, "a", machine.array(op.a), axes)[..., None]
    machine.set(op.result, np.broadcast_to(number, (*number.shape[:2], *matrix_type(op.result).shape)))


@meaning(CooperativeMatrixMulAdd)
def mul_add(machine: Machine, op: CooperativeMatrixMulAdd) -> None:
    """Compute a b + c, rounded once to the type of the result, in which integers wrap around."""
    machine.together(op, axes_of(matrix_type(op.result)))
    source, target = matrix_type(op.c).component, matrix_type(op.result).component
    accumulator = product_accumulator(source, target)
    types = matrix_type(op.a).component, matrix_type(op.b).component
    a, b = factors(machine, (machine.array(op.a), machine.array(op.b)), types)
    product = multiply(machine, a, b, accumulator)
    total = numbers.BINARY["add"](product, numbers.cast(machine.array(op.c), source, accumulator), accumulator)
    machine.set(op.result, numbers.cast(total, accumulator, target))


@meaning(CooperativeMatrixScale)
def scale(machine: Machine, op: CooperativeMatrixScale) -> None:
    """Multiply a matrix by a number."""
    axes = axes_of(matrix_type(op.result))
    machine.together(op, axes)
    number = machine.uniform(op, "a", machine.array(op.a), axes)[..., None]
    machine.set(op.result, numbers.BINARY["mul"](number, machine.array(op.matrix), matrix_type(op.result).component))


_REDUCTIONS: dict[type[Reduce], Any] = {
    CooperativeMatrixReduceAdd: None,
    CooperativeMatrixReduceMax: np.fmax,
    CooperativeMatrixReduceMin: np.fmin,
}


@meaning(*_REDUCTIONS)
def reduce(machine: Machine, op: Reduce) -> None:
    """Compute the sum, maximum or minimum of each row or column."""
    machine.together(op, axes_of(matrix_type(op.a)))
    type_ = matrix_type(op.a).component
    a = machine.array(op.a)
    axis = 3 if op.along_row else 2
    ufunc = _REDUCTIONS[type(op)]
    if ufunc is not None:
        machine.set(op.result, ufunc.reduce(a, axis=axis, keepdims=True))
        return
    order = machine.choices.summands(a.shape[axis])
    if order is not None:
        a = a.take(order, axis=axis)
    accumulator = accumulator_of(type_)
    total = numbers.total(a, axis, accumulator)
    machine.set(op.result, numbers.cast(np.expand_dims(total, axis), accumulator, type_))


@meaning(CooperativeMatrixTranspose)
def transpose(machine: Machine, op: CooperativeMatrixTranspose) -> None:
    """Transpose a matrix and convert it to the component type of the result."""
    source, target = matrix_type(op.matrix), matrix_type(op.result)
    machine.together(op, axes_of(source))
    machine.set(op.result, numbers.cast(machine.array(op.matrix).swapaxes(2, 3), source.component, target.component))


# --- components ----------------------------------------------------------------------


def _layout(machine: Machine, type: CoopMatrix) -> ComponentLayout:
    """The layout of a matrix type for the subgroup size of the launch, which was chosen so that there is one."""
    layout = layout_of(type, machine.geometry.subgroup_size)
    assert layout is not None
    return layout


def _positions(machine: Machine, type: CoopMatrix, component: int) -> tuple[Array, Array, Array]:
    """The row and column of the component that each work-item holds, and whether the matrix has that column."""
    layout = _layout(machine, type)
    places = [layout.position(lane, component) for lane in range(layout.subgroup_size)]
    rows, columns = (np.array(x) for x in zip(*places, strict=True))
    return rows, np.minimum(columns, type.columns - 1), columns < type.columns


@meaning(CooperativeMatrixExtract)
def extract(machine: Machine, op: CooperativeMatrixExtract) -> None:
    """Give each work-item one of the components that it holds; padding is zero."""
    machine.together(op, 1)
    rows, columns, exists = _positions(machine, matrix_type(op.matrix), op.index)
    component = machine.array(op.matrix)[:, :, rows, columns]
    machine.set(op.result, np.where(exists, component, np.zeros((), component.dtype)))


@meaning(CooperativeMatrixInsert)
def insert(machine: Machine, op: CooperativeMatrixInsert) -> None:
    """Copy a matrix and replace one component of each work-item."""
    machine.together(op, 1)
    rows, columns, exists = _positions(machine, matrix_type(op.matrix), op.index)
    a, held = machine.array(op.a), machine.array(op.matrix)
    lead = np.broadcast_shapes(a.shape[:2], held.shape[:2])
    new = np.broadcast_to(held, (*lead, *held.shape[2:])).copy()
    values = np.broadcast_to(a, (*lead, machine.geometry.subgroup_size))
    new[:, :, rows[exists], columns[exists]] = values[:, :, exists]
    machine.set(op.result, new)
