"""The meaning of loads and stores of matrices through tensor layouts and views (`girih.ops.tile.coopmatrix_tensor`).

Arrays have the axes [work_group, subgroup, row, column]; the subgroup axis has size 1 for matrices of the work-group.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from girih.addressing import Access, AddressingError, Kind, TensorLayout, TensorView
from girih.addressing.buffers import component_of_bits
from girih.analysis.accesses import Kind as Does
from girih.arguments.memory import ElementView, Memory
from girih.facts import findings
from girih.facts.findings import FindingWords
from girih.interpreter.machine import numbers
from girih.interpreter.machine.access import shared, unavailable
from girih.interpreter.machine.following import components_held, follow_components, followed
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.undefined import find_undefined_access
from girih.interpreter.machine.values import Array, Mask, MemRefValue, ModelValue, Varying
from girih.interpreter.tile.control import yielded
from girih.interpreter.tile.coopmatrix import axes_of, matrix_type
from girih.interpreter.tile.coopmatrix_regions import as_items, components, shared_outside
from girih.interpreter.tile.tensor_layout import combinations
from girih.ir.types import CoopMatrix, MemRef
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor, CooperativeMatrixStoreTensor, block_bytes
from girih.ops.tile.tensor_layout import NO_LAYOUT


@lru_cache(256)
def _access(
    layout: TensorLayout, view: TensorView | None, rows: int, columns: int, store: bool, quirks: str | None
) -> Access:
    return layout.access(rows, columns, view, store, quirks=quirks)


class TensorOperand:
    """The places of a matrix's components for each subgroup: `element` counts from `offset`, `kind` is a `Kind`.

    A `silent` one finds nothing: an instruction before has found it.
    """

    def __init__(
        self, machine: Machine, op: Any, type: CoopMatrix, *, store: bool, unit: int, silent: bool = False
    ) -> None:
        self.machine, self.op, self.type, self.unit, self.silent = machine, op, type, unit, silent
        if machine.undefined:
            find_undefined_access(machine, op, ("offset", "layout", "view"), getattr(op, "matrix", None))
        axes = axes_of(type)
        self.mask = machine.together(op, axes)
        self.memref: MemRefValue = shared(machine, op, "memory", machine.memref(op.memory), axes)
        offset = machine.uniform(op, "offset", machine.array(op.offset), axes)
        self.offset = offset[..., None]
        self.full = (machine.work_groups, 1 if type.of_work_group else machine.subgroups)
        self.accesses: list[Access] = []
        self.which = self._choose(axes, store)
        active = np.ones((*self.full, 1, 1), np.bool_)
        if self.mask is not None:
            active &= self.mask[..., None]
        bad = unavailable(machine, op, self.memref)
        if bad is not None:
            active &= ~np.any(bad, axis=tuple(range(3 - axes, 3)), keepdims=True)[..., None]
        self.active = active & ~self.illegal
        self.element = self.pick([a.element for a in self.accesses], -1)
        self.kind = self.pick([a.kind for a in self.accesses], Kind.SKIPPED)
        self._check_base()
        self._check_defined()

    # --- models --------------------------------------------------------------------------

    def _choose(self, axes: int, store: bool) -> Array:
        """The number of the access that each subgroup makes; sets `illegal` for those without a legal one."""
        machine, op = self.machine, self.op
        values: list[ModelValue] = [machine.env[op.layout]]
        which = [machine.uniform(op, "layout", values[0].which, axes)]
        if op.view is not None:
            values.append(machine.env[op.view])
            which.append(machine.uniform(op, "view", values[1].which, axes))
        cases, chosen = combinations(which)
        illegal = np.zeros(chosen.shape, np.bool_)
        for position, case in enumerate(cases):
            layout, *view = (value.models[k] for value, k in zip(values, case, strict=True))
            if layout is None or None in view:
                self.accesses.append(_NOTHING)
                illegal |= chosen == position
                continue
            assert isinstance(layout, TensorLayout)
            over = view[0] if view else None
            assert over is None or isinstance(over, TensorView)
            try:
                self.accesses.append(_access(layout, over, *self.type.shape, store, machine.choices.quirks))
            except AddressingError as error:
                self.accesses.append(_NOTHING)
                illegal |= chosen == position
                bad = chosen == position
                if self.mask is not None:
                    bad = bad & self.mask
                words = findings.no_model(NO_LAYOUT, [str(v) for v in error.violations])
                if not self.silent:
                    machine.find(words, op, bad, by_lane=False)
        self.illegal = illegal[..., None]
        return chosen[..., 0]

    def pick(self, arrays: list[Array], default: int) -> Array:
        """The array of each subgroup's access; `arrays` has one, [row, column], for each access."""
        full = [np.full(self.type.shape, default) if a.shape != self.type.shape else a for a in arrays]
        if len(full) == 1:
            return full[0][None, None]
        picked: Array = np.stack(full)[self.which]
        return picked

    # --- checks --------------------------------------------------------------------------

    def _check_base(self) -> None:
        """Find bases that are not a multiple of 16 bytes; the access takes place nevertheless."""
        data = self.memref.elements.data
        address = data.ctypes.data if data.size and not self.memref.aligned else 0
        base = address + (_wide(self.memref.offset) + self.offset) * data.itemsize
        bad = (base % findings.TENSOR_ALIGNMENT != 0) & self.active
        if bad.any():
            self.find(bad, findings.misaligned(self.op, self.memref.name))

    def _check_defined(self) -> None:
        """Find components outside a layout whose clamp mode leaves them undefined."""
        bad = (self.kind == Kind.UNDEFINED) & self.active
        if bad.any():
            words = findings.undefined(self.op)
            self.find(bad, replace(words, message=words.at(self.first(bad)[2:], self.type.shape)))

    def first(self, bad: Array) -> tuple[int, int, int, int]:
        """The work-group, subgroup, row and column of the first component in a mask."""
        full = np.broadcast_to(bad, np.broadcast_shapes(bad.shape, self.active.shape))
        w, s, i, j = (int(x) for x in np.argwhere(full)[0])
        return w, s, i, j

    def find(self, bad: Array, words: FindingWords, position: tuple[Array, Varying] | None = None) -> None:
        """Note what is wrong with the components in `bad`; `position` has their elements and the memref's size."""
        if self.silent:
            return
        full = np.broadcast_to(bad, np.broadcast_shapes(bad.shape, self.active.shape))
        index: tuple[int, ...] | None = None
        shape: tuple[Varying, ...] | None = None
        if position is not None:
            index = (int(np.broadcast_to(position[0], full.shape)[self.first(bad)]),)
            shape = (position[1],)
        groups = np.any(full, axis=(2, 3), keepdims=True)[..., 0]
        self.machine.find(words, self.op, groups, argument=self.memref.name, index=index, shape=shape, by_lane=False)

    def touched(self) -> tuple[Array, Mask]:
        """The element of the memory in which each component or block begins, and the mask of those that are accessed.

        Components outside of the memref are found.
        """
        wanted = (self.element >= 0) & (self.kind != Kind.UNDEFINED) & self.active
        size_of_element = self.memref.elements.data.itemsize
        step = max(1, self.unit // size_of_element) if self.unit else 0
        position = self.offset + self.element * self.unit // size_of_element
        size = self.memref.shape[0]
        good = (self.offset >= 0) & (position >= 0) & (position <= _wide(size) - step)
        flat = _wide(self.memref.offset) + position
        missed = wanted & ~good
        if missed.any():
            self.find(missed, findings.outside(self.op, self.memref.name), (position, size))
        usable = wanted & good
        return np.where(usable, flat, 0), usable

    # --- memory --------------------------------------------------------------------------

    def read(self, flat: Array, usable: Mask, dtype: np.dtype[np.generic]) -> Array:
        """The components that begin in the elements `flat`; those that are loaded before they are written are found."""
        elements = self.memref.elements
        if not usable.any():
            return np.zeros(flat.shape, dtype)
        missing: Mask | None = None
        if elements.data.dtype == dtype:
            self._follow("read", elements, flat, usable)
            missing, loaded = elements.unwritten(flat), elements.data[flat]
        else:
            spots = self._bytes(flat, usable)
            self._follow("read", elements.memory.view(_BYTES), spots, usable)
            loaded = elements.data.view(np.uint8)[spots].view(dtype)[..., 0]
            if elements.followed is not None:
                missing = np.logical_not(elements.followed.view(np.bool_)[spots].all(axis=-1))
        if missing is not None and (missing := missing & usable).any():
            self.find(missing, findings.unwritten(self.op, self.memref.name))
        return loaded

    def write(self, flat: Array, usable: Mask, values: Array, aliased: Mask) -> None:
        """Store components to where they begin in the elements `flat`, in an order that is a choice.

        Of `aliased` components it is known that they meet in memory: no race is looked for.
        """
        elements = self.memref.elements
        shape = np.broadcast_shapes(flat.shape, usable.shape, values.shape)
        usable, full = np.broadcast_to(usable, shape), np.broadcast_to(values, shape)
        values = full[usable]
        alone = usable & ~aliased
        same_type = elements.data.dtype == values.dtype
        places = np.broadcast_to(flat, shape) if same_type else self._bytes(np.broadcast_to(flat, shape), usable)
        if same_type:
            self._follow("write", elements, places, alone, full)
        else:
            raw = np.ascontiguousarray(full).view(np.uint8).reshape(*shape, -1)
            self._follow("write", elements.memory.view(_BYTES), places, alone, raw)
        places = places[usable]
        order = self.machine.choices.points(len(places))
        if order is not None:
            places, values = places[order], values[order]
        if same_type:
            elements.data[places] = values
            elements.mark(places)
            return
        elements.data.view(np.uint8)[places] = values.view(np.uint8).reshape(places.shape)
        elements.mark_bytes(places)

    def _follow(self, does: Does, view: ElementView, places: Array, usable: Mask, values: Array | None = None) -> None:
        """Tell the search for races of an access to components."""
        follow_components(self.machine, self.op, "memory", does, self.type, view, places, usable, values)

    def follow_blocks(self, flat: Array, usable: Mask, size: int) -> None:
        """Tell the search for races that each component reads its block of `size` bytes, in whatever way."""
        view = self.memref.elements
        if followed(self.machine, view) is not None:
            first = np.where(usable, flat, 0) * view.data.itemsize
            self._follow("read", view.memory.view(_BYTES), first[..., None] + np.arange(size), usable)

    def _bytes(self, flat: Array, usable: Mask) -> Array:
        """The place in the memory of each byte of each component: `[work_group, subgroup, row, column, byte]`."""
        size = self.memref.elements.data.itemsize
        first = np.where(usable, flat * size + self.element * self.unit % size, 0)
        return first[..., None] + np.arange(self.unit)

    def coordinates(self) -> list[Array]:
        """The numbers of the blocks in each dimension, then the positions inside them, as index values."""
        missing = np.empty((0, 0), np.int64)
        found: list[Array] = []
        for arrays in ([a.block for a in self.accesses], [a.within for a in self.accesses]):
            dim = next(a.shape[-1] for a in arrays if a is not None)
            for k in range(dim):
                found.append(self.pick([missing if a is None else a[..., k].astype(np.int64) for a in arrays], 0))
        return found

    def fill(self, dtype: np.dtype[np.generic]) -> Array:
        """The clamp value of each subgroup's access."""
        values = np.array([component_of_bits(a.fill, dtype) for a in self.accesses], dtype)
        return values[self.which][..., None, None]


_BYTES = np.dtype(np.uint8)
_NOTHING = Access(np.empty((0, 0), np.int64), np.empty((0, 0), np.uint8))


def _wide(number: Varying) -> Varying:
    """A value with one more axis, of size 1, at the end."""
    return number[..., None] if isinstance(number, np.ndarray) else number


@meaning(CooperativeMatrixLoadTensor)
def load(machine: Machine, op: CooperativeMatrixLoadTensor) -> None:
    """Load components from memory or from decoded blocks; others are the clamp value, or come from `init`."""
    type_ = matrix_type(op.result)
    dtype = numbers.dtype(type_.component)
    block = op.block_type if isinstance(op.block_type, MemRef) else None
    tensor = TensorOperand(
        machine, op, type_, store=False, unit=dtype.itemsize if block is None else block_bytes(block)
    )
    flat, usable = tensor.touched()
    if block is not None:
        (loaded,) = decode(machine, op, tensor, block, flat, usable)
    else:
        loaded = tensor.read(flat, usable, dtype)
    result = np.where(usable, loaded, np.zeros((), dtype))
    result = np.where((tensor.kind == Kind.FILLED) & tensor.active, tensor.fill(dtype), result)
    kept = (tensor.kind == Kind.SKIPPED) & ~tensor.illegal
    machine.set(op.result, np.where(kept, machine.array(op.init), result))


@meaning(CooperativeMatrixStoreTensor)
def store(machine: Machine, op: CooperativeMatrixStoreTensor) -> None:
    """Store components; several that go to one element are found, and one of them wins."""
    type_ = matrix_type(op.matrix)
    tensor = TensorOperand(machine, op, type_, store=True, unit=type_.component.size)
    aliased = _find_aliasing(tensor)
    flat, usable = tensor.touched()
    tensor.write(flat, usable, machine.array(op.matrix), aliased)


def _find_aliasing(tensor: TensorOperand) -> Mask:
    """Find elements of memory that several components of a matrix are stored to; a mask of these components."""
    found = np.zeros(tensor.active.shape, np.bool_)
    for position, access in enumerate(tensor.accesses):
        aliased = access.aliased()
        if not aliased.size:
            continue
        bad = (tensor.which == position)[..., None, None] & np.isin(tensor.element, aliased) & tensor.active
        if bad.any():
            component = tensor.first(bad)[2:]
            tensor.find(
                bad, findings.aliasing(tensor.op, aliased.size, tensor.memref.name, component, tensor.type.shape)
            )
            found = found | bad
    return found


# --- decoding -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Blocks:
    """Copies of the blocks that are accessed, one after the other, and the number of each component's block."""

    elements: ElementView
    number: Array


def _blocks(tensor: TensorOperand, block: MemRef, name: str, flat: Array, usable: Mask) -> Blocks:
    memory = tensor.memref.elements
    per_block = block_bytes(block) // memory.data.itemsize
    starts, number = np.unique(flat[usable], return_inverse=True)
    which = np.zeros(flat.shape, np.int64)
    which[usable] = number.reshape(-1)
    spots = starts[:, None] + np.arange(per_block)
    data = memory.data[spots].reshape(-1).view(np.uint8)
    marks = None if memory.marks is None else memory.marks[spots].reshape(-1).view(np.bool_)
    return Blocks(Memory(data, marks, name).view(numbers.dtype(block.element)), which)


def decode(
    machine: Machine, op: Any, tensor: TensorOperand, block: MemRef, flat: Array, usable: Mask, group: int = 1
) -> list[Array]:
    """The values that the region yields for components in blocks, as arrays [work_group, subgroup, row, column].

    It is asked for a group of neighbours at once: at the innermost position that is a multiple of `group`.
    """
    shape = (*tensor.full, *tensor.type.shape)
    flat, usable = (np.broadcast_to(x, shape) for x in (flat, usable))
    if not usable.any():
        return [np.zeros(shape, numbers.dtype(tensor.type.component))] * group
    tensor.follow_blocks(flat, usable, block_bytes(block))
    blocks = _blocks(tensor, block, op.block.name, flat, usable)
    elements = block_bytes(block) // block.element.size
    strides = tuple(n for n in block.strides if n is not None)
    sizes = tuple(n for n in block.shape if n is not None)
    machine.env[op.block] = MemRefValue(blocks.elements, as_items(blocks.number) * elements, sizes, strides)
    places = tensor.coordinates()
    places[-1] = places[-1] - places[-1] % group
    for value, coordinate in zip(op.coordinates, places, strict=True):
        machine.env[value] = as_items(coordinate)
    rows, columns = tensor.type.shape
    with (
        shared_outside(machine, op, axes_of(tensor.type)),
        components(machine, rows * columns, columns, of_work_group=tensor.type.of_work_group),
        components_held(machine, tensor.type),
    ):
        machine.under(as_items(usable), op.body)
        results = yielded(machine, op.body)
    return [np.broadcast_to(result, as_items(usable).shape).reshape(shape) for result in results]
