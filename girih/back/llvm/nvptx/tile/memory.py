"""Matrices that go straight between memory and the registers of consumers, each thread its components."""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.one_lane.matrix.memory import load_parts, report_missing, store_parts
from girih.back.llvm.lower.tiles.bounds import TileBounds
from girih.back.llvm.nvptx.tile.code import TileCode
from girih.back.llvm.nvptx.tile.components import HeldMatrix
from girih.back.llvm.nvptx.tile.matrices import Parts, ThreadShare, in_registers
from girih.ir.types import CoopMatrix
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixLoad,
    CooperativeMatrixStore,
    MatrixAccess,
)

Accesses = CooperativeMatrixLoad | CooperativeMatrixStore


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


class _Window:
    """The tile of an access, of which a thread moves its components that are there."""

    def __init__(self, code: TileCode, op: MatrixAccess, share: ThreadShare) -> None:
        self.code, self.share = code, share
        w, self.bounds = code.w, bounds_of(code, op)
        size = share.component.size
        self.begin = w.at(self.bounds.memref.pointer, w.mul(self.bounds.first(), size))
        # Distances of columns are multiples of a stride: in front of loops they would take the registers of sums.
        self.steps = [code.ptx.here(step) if isinstance(step, Val) else step for step in self.bounds.steps()]
        looks = code.asked or op.checked.rows or op.checked.columns
        self.ends = (
            [w.sub(n, p) for n, p in zip(self.bounds.sizes, self.bounds.position, strict=True)] if looks else None
        )

    def address(self, number: int) -> Val:
        """The address of a component."""
        w, found = self.code.w, self.begin
        for place, step in zip(self._place(number), self.steps, strict=True):
            found = w.at(found, w.mul(place, step))
        return found

    def there(self, number: int) -> Val | None:
        """Whether a component is in its memory; None if that need not be asked."""
        if self.ends is None:
            return None
        w, found = self.code.w, None
        for place, begin, end in zip(self._place(number), self.bounds.position, self.ends, strict=True):
            inside = w.binary("and", w.compare("slt", place, end), w.compare("sge", w.add(place, begin), integer(0)))
            found = w.both(found, inside)
        return found

    def _place(self, number: int) -> list[Val]:
        w = self.code.w
        return [w.convert("zext", one, "i64") for one in self.code.own.place(w, self.share, number)]


def fetched(code: TileCode, op: MatrixAccess, share: ThreadShare) -> tuple[Val, ...]:
    """The registers of a tile; what is not there is zero."""
    window, type = _Window(code, op, share), share.component
    zero = code.zero(type, 1)

    def load(number: int) -> Parts:
        return load_parts(code, type, window.address(number))

    found: list[Parts] = []
    for number in range(share.count):
        there = window.there(number)
        found.append(load(number) if there is None else tuple(_either(code, there, number, load, zero)))
    return in_registers(code.w, code.features, share, found)


def _either(code: TileCode, there: Val, number: int, load: Callable[[int], Parts], zero: Parts) -> list[Val]:
    return code.w.either(there, lambda: load(number), lambda: zero)


def deliver(code: TileCode, op: MatrixAccess, held: HeldMatrix) -> None:
    """Store a tile from registers; what is not there is left out."""
    window, share = _Window(code, op, held.share), held.share
    for number in range(share.count):
        parts, there = held.part(code, number), window.there(number)
        if there is None:
            store_parts(code, share.component, window.address(number), parts)
            continue
        with code.w.when(there):
            store_parts(code, share.component, window.address(number), parts)
