"""Loads and stores of fragments through tensor layouts and views (`girih.ops.tile.coopmatrix_tensor`).

Where rows and columns of a tile have one distance each in memory, and the whole tile is inside of its tensor, it is
moved as a tile of a memref is (`matrix.memory`), up to 16 bytes at a time. Others go component by component, large ones
in a loop.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from girih.back.llvm.emit.text import Operand, Val, integer, stored_bytes
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.matrix import tensor as component_wise
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, matrix, matrix_type, release, zero_parts
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.back.llvm.lower.one_lane.matrix.memory import PrivateWindow, store_parts
from girih.back.llvm.lower.one_lane.matrix.tensor import PrivateTensorTile, block_of, shared_tensor, unit_of
from girih.back.llvm.lower.tiles.checks import check, is_legal
from girih.back.llvm.numbers.addresses import as_scalar
from girih.back.llvm.numbers.rounding import from_memory
from girih.back.llvm.numbers.values import memory_type
from girih.back.llvm.nvptx.matrix import decoded
from girih.back.llvm.nvptx.matrix.code import FragmentCode
from girih.back.llvm.nvptx.matrix.decoded import DecodedFragments
from girih.back.llvm.nvptx.matrix.fragments import Fragments, fragments, in_layout, layout_of
from girih.back.llvm.nvptx.matrix.memory import (
    WideTile,
    chosen,
    loaded_wide,
    stored_wide,
    wide_access,
    written,
)
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor, CooperativeMatrixStoreTensor

LOWERINGS = Lowerings[Any]()
"""The lowerings of this file."""

_WRITTEN_OUT = 32
"""A tile of more components for a thread goes through a loop where it is no window of memory."""


def window_of(tensor: PrivateTensorTile) -> PrivateWindow | None:
    """The tile as a window of memory, if it is inside of its tensor; None where it is none."""
    digits, layout, w = tensor.digits, tensor.layout, tensor.code.w
    if digits is None or any(size != 1 for size in layout.block_size):
        return None
    if any(digit.divisor != 1 or not digit.whole for some in digits for digit in some):
        return None
    steps: list[Operand] = [0, 0]
    pointer = tensor.base
    for some, stride, offset in zip(digits, layout.stride, layout.offset, strict=True):
        bytes = w.mul(as_scalar(stride).part, tensor.unit)
        pointer = w.at(pointer, w.mul(as_scalar(offset).part, bytes))
        for digit in some:
            steps[digit.axis] = w.add(w.value(steps[digit.axis]), w.mul(bytes, digit.weight))
    whole = None if tensor.inside.literal == 1 else tensor.inside
    return PrivateWindow(pointer, (steps[0], steps[1]), (None, None), whole)


def _wide(code: FragmentCode, tensor: PrivateTensorTile) -> WideTile | None:
    window = window_of(tensor)
    return None if window is None else wide_access(code, tensor.type, window)


@LOWERINGS.of(CooperativeMatrixLoadTensor)
def load(code: FragmentCode, op: CooperativeMatrixLoadTensor) -> None:
    """The tile of a tensor."""
    before, type = matrix(code, op.init), matrix_type(op.result)
    if block_of(op) is not None:
        decoded.load(code, op)
        return
    if not isinstance(before, EqualComponents):
        component_wise.load(code, op)
        return
    tensor = shared_tensor(code, op, type, unit_of(op))
    if not is_legal(tensor):
        release(code, op)
        code.set(op.result, EqualComponents(type, zero_parts(type.component)))
        return
    check(tensor)
    tile, access = DecodedFragments(tensor, before), _wide(code, tensor)
    if access is not None:
        registers = chosen(code, access.suitable(), partial(loaded_wide, access), partial(tile.by_loop, code))
        held = in_layout(code, type, registers)
    elif layout_of(code, type).components > _WRITTEN_OUT:
        held = tile.in_registers(code)
    else:
        registers = chosen(code, tile.inside, partial(tile.unquestioned, code), partial(tile.questioned, code))
        held = in_layout(code, type, registers)
    release(code, op)
    code.set(op.result, held)


def _store(code: FragmentCode, op: CooperativeMatrixStoreTensor) -> None:
    m = fragments(code, op.matrix)
    tensor = shared_tensor(code, op, m.type, m.type.component.size)
    if is_legal(tensor):
        check(tensor)
        stored, access = StoredTensorTile(code, tensor, m), _wide(code, tensor)
        if access is not None:
            chosen(code, access.suitable(), partial(stored_wide, access, m), stored.by_loop)
        elif m.layout.components > _WRITTEN_OUT:
            stored.by_loop()
        else:
            stored.written_out()
    release(code, op)


@LOWERINGS.of(CooperativeMatrixStoreTensor)
def store(code: FragmentCode, op: CooperativeMatrixStoreTensor) -> None:
    """Write the matrix to the tile of a tensor; components without an element are dropped."""
    written(code, op, _store)


@dataclass(frozen=True, slots=True)
class StoredTensorTile:
    """A tile that is stored component by component, each by one of the threads that hold it."""

    code: FragmentCode
    tensor: PrivateTensorTile
    m: Fragments

    def written_out(self) -> list[Val]:
        """Store one component after the other."""
        self.m.each(self.code, lambda at, number: self._put(at, self.m.read(self.code, number)))
        return []

    def by_loop(self) -> list[Val]:
        """Store them in a loop, by way of an array of the thread."""
        code, w, m = self.code, self.code.w, self.m
        one = memory_type(m.type.component)
        count, across, size = m.layout.components, m.layout.threads.count, stored_bytes(one)
        room = code.private(one, count)
        for number in range(count):
            w.store(m.raw(code, number), w.at(room, number * size), size)
        owned = m.layout.owned(code)
        with w.loop(0, m.layout.groups.count) as outer, w.loop(0, across) as inner:
            numbers = (w.convert("trunc", loop.index, "i32") for loop in (outer, inner))
            at = m.layout.position_of(code, *numbers)
            place = w.add(w.mul(outer.index, across), inner.index)
            raw = w.load(one, w.at(room, w.mul(place, size)), size)
            part = from_memory(w, code.features, m.type.component, raw)
            self._put(Position(at.row, at.column, w.both(at.exists, owned)), (part,))
        return []

    def _put(self, at: Position, parts: tuple[Val, ...]) -> None:
        w = self.code.w
        found = self.tensor.element(at)
        there = self.tensor.there(found, at)
        with w.when(integer(1, "i1") if there is None else there):
            store_parts(self.code, self.m.type.component, self.tensor.address(found), parts)
