"""Matrices that go straight between memory and the registers of consumers, each thread its components."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.lower.access import part_count, part_type
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, matrix_type, zero_parts
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.back.llvm.lower.one_lane.matrix.memory import load_parts, report_missing, store_parts
from girih.back.llvm.lower.one_lane.matrix.tensor import component_reader, shared_tensor
from girih.back.llvm.lower.tensor_index import Element
from girih.back.llvm.lower.tiles.bounds import TileBounds
from girih.back.llvm.lower.tiles.tensor import TensorOp
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import memory_type
from girih.back.llvm.nvptx.tile.code import TileCode
from girih.back.llvm.nvptx.tile.components import HeldMatrix, RegisterRule
from girih.back.llvm.nvptx.tile.matrices import Parts, ThreadShare, register_of
from girih.ir.types import CoopMatrix
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixLoad,
    CooperativeMatrixStore,
    MatrixAccess,
)
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor


def bounds_of(code: TileCode, op: MatrixAccess) -> TileBounds:
    """The bounds of the tile that a load or store accesses."""
    assert isinstance(op, CooperativeMatrixLoad | CooperativeMatrixStore)
    matrix = op.result.type if isinstance(op, CooperativeMatrixLoad) else op.matrix.type
    assert isinstance(matrix, CoopMatrix)
    place = [code.index(value).part for value in (op.row, op.column)]
    return TileBounds(code, op, code.memref(op.memory), place, matrix)


def report_outside(code: TileCode, op: MatrixAccess) -> None:
    """Note the first element of a tile that is missing though no flag leaves it out."""
    report_missing(code, bounds_of(code, op))


TileAccess = MatrixAccess | TensorOp


class _ComponentPlaces(Protocol):
    """Where a thread's components of a tile are in memory."""

    def address(self, number: int) -> Val:
        """The address of a component."""

    def there(self, number: int) -> Val | None:
        """Whether a component is in its memory; None if that need not be asked."""


def _places(code: TileCode, op: TileAccess, share: ThreadShare) -> _ComponentPlaces:
    return _Window(code, op, share) if isinstance(op, MatrixAccess) else _TensorWindow(code, op, share)


class _TensorWindow:
    """The tile of an access through a layout and a view, whose components all have places of their own."""

    def __init__(self, code: TileCode, op: TensorOp, share: ThreadShare) -> None:
        self.code, self.share = code, share
        matrix = op.result if isinstance(op, CooperativeMatrixLoadTensor) else op.matrix
        with code.checking(checks=False):
            self.tensor = shared_tensor(code, op, matrix_type(matrix), share.component.size)
        self._found: dict[int, tuple[Position, Element]] = {}

    def _element(self, number: int) -> tuple[Position, Element]:
        known = self._found.get(number)
        if known is None:
            at = Position(*self.code.own.place(self.code.w, self.share, number), None)
            known = self._found[number] = at, self.tensor.element(at)
        return known

    def address(self, number: int) -> Val:
        """The address of a component."""
        return self.tensor.address(self._element(number)[1])

    def there(self, number: int) -> Val | None:
        """Whether a component has an element; None if it has one for certain."""
        at, found = self._element(number)
        return self.tensor.there(found, at)


class _Window:
    """The tile of an access, of which a thread moves its components that are there."""

    def __init__(self, code: TileCode, op: MatrixAccess, share: ThreadShare) -> None:
        self.code, self.share = code, share
        w, bounds = code.w, bounds_of(code, op)
        # Where each component lies is found here: in front of loops that would take registers of other code.
        self.steps = [code.ptx.here(step) if isinstance(step, Val) else step for step in bounds.steps()]
        row, column = code.own.place(w, share, 0)
        self.own = [w.convert("zext", one, "i64") for one in (row, column)]
        pointer = w.at(bounds.memref.pointer, w.mul(bounds.first(), share.component.size))
        for place, step in zip(self.own, self.steps, strict=True):
            pointer = w.at(pointer, w.mul(place, step))
        self.begin = pointer
        self.ends: list[tuple[Val, Val]] = []
        if code.asked or op.checked.rows or op.checked.columns:
            places = zip(bounds.sizes, bounds.position, self.own, strict=True)
            self.ends = [(w.add(begin, place), w.sub(size, w.add(begin, place))) for size, begin, place in places]

    def address(self, number: int) -> Val:
        """The address of a component."""
        w, found = self.code.w, self.begin
        for distance, step in zip(self.share.moved(number), self.steps, strict=True):
            found = w.at(found, _times(self.code, step, distance))
        return found

    def there(self, number: int) -> Val | None:
        """Whether a component is in its memory; None if that need not be asked."""
        w = self.code.w
        found: Val | None = None
        for distance, (place, left) in zip(self.share.moved(number), self.ends, strict=False):
            inside = w.both(w.compare("sgt", left, integer(distance)), w.compare("sge", place, integer(-distance)))
            found = w.both(found, inside)
        return found


def _times(code: TileCode, step: Operand, distance: int) -> Operand:
    return step * distance if isinstance(step, int) else code.w.mul(step, distance)


_LETTERS = {1: "r", 2: "h", 4: "r", 8: "l"}
"""The registers that numbers of so many bytes are loaded to and stored from; a byte is the low one of four."""
_WORDS = {1: "i32", 2: "i16", 4: "i32", 8: "i64"}


def _guarded_load(code: TileCode, type: str, size: int, address: Val, there: Val) -> Val:
    """The value at an address, zero where it is not there: without a branch for each of many."""
    w, letter, word = code.w, _LETTERS[size], _WORDS[size]
    bits = 8 * size
    kind = "u8" if size == 1 else f"b{bits}"
    text = (
        "{ .reg .pred there; setp.ne.b32 there, $2, 0; "
        f"mov.b{max(bits, 32) if size == 1 else bits} $0, 0; @there ld.{kind} $0, [$1]; }}"
    )
    (found,) = code.ptx.results(text, [word], [f"=&{letter}", "l", "r"], [address, w.convert("zext", there, "i32")])
    return _as(code, found, type)


def _guarded_store(code: TileCode, held: Val, size: int, address: Val, there: Val) -> None:
    w, word = code.w, _WORDS[size]
    value = w.convert("zext", held, word) if size == 1 else w.convert("bitcast", held, word)
    text = f"{{ .reg .pred there; setp.ne.b32 there, $2, 0; @there st.b{8 * size} [$1], $0; }}"
    code.ptx.line(text, f"{_LETTERS[size]},l,r", value, address, w.convert("zext", there, "i32"), alone=True)


def _as(code: TileCode, held: Val, type: str) -> Val:
    """A word as a value of a type, which has its bits or the low ones."""
    return code.w.convert("trunc" if type == "i8" else "bitcast", held, type)


def fetched(code: TileCode, op: TileAccess, share: ThreadShare) -> RegisterRule:
    """The registers of a tile; what is not there is zero, or what a layout says."""
    if isinstance(op, CooperativeMatrixLoadTensor):
        return _fetched_tensor(code, op, share)
    window, type = _places(code, op, share), share.component
    one = part_type(type)

    def load(number: int) -> Parts:
        address, there = window.address(number), window.there(number)
        if there is None:
            return load_parts(code, type, address)
        places = [code.w.at(address, k * one.size) for k in range(part_count(type))]
        raw = [_guarded_load(code, memory_type(one), one.size, place, there) for place in places]
        return tuple(from_memory(code.w, code.features, one, part) for part in raw)

    return partial(register_of, code.w, code.features, share, load)


def _fetched_tensor(code: TileCode, op: CooperativeMatrixLoadTensor, share: ThreadShare) -> RegisterRule:
    type = matrix_type(op.result)
    with code.checking(checks=False):
        read = component_reader(code, op, EqualComponents(type, zero_parts(type.component)))

    def load(number: int) -> Parts:
        row, column = code.own.place(code.w, share, number)
        at = code.w.add(code.w.mul(row, integer(type.columns, "i32")), column)
        return read(Position(row, column, None), code.w.convert("zext", at, "i64"))

    return partial(register_of, code.w, code.features, share, load)


def deliver(code: TileCode, op: TileAccess, held: HeldMatrix) -> None:
    """Store a tile from registers; what is not there is left out."""
    share = held.share.stored
    window, one = _places(code, op, share), part_type(share.component)
    for number in range(share.count):
        parts = held.part(code, share.number_in(held.share, number))
        there, address = window.there(number), window.address(number)
        if there is None:
            store_parts(code, share.component, address, parts)
            continue
        for k, part in enumerate(parts):
            raw = to_memory(code.w, code.features, one, part)
            _guarded_store(code, raw, one.size, code.w.at(address, k * one.size), there)
