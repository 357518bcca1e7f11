"""Moves of components between memory and the workspace, one by one, for every tensor layout and view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.states import (
    InMemory,
    MatrixPiece,
    Parts,
    length,
    line_count,
    part,
    part_count,
    read_tile,
    turned,
    write_tile,
)
from girih.back.llvm.cpu.tensor.access import TensorAccess
from girih.back.llvm.emit.text import Val, integer, lanes, wide, zero
from girih.back.llvm.lower.tensor_index import Element
from girih.back.llvm.lower.tensor_reals import Reals
from girih.back.llvm.lower.tiles.tensor import clamp_parts
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import memory_type
from girih.ir.types import ClampMode, CoopMatrix
from girih.lazy_dataclass import dataclass

_MOST = 8
"""How many components are moved at a time: so many pointers a register has."""


@dataclass(frozen=True, slots=True)
class Move:
    """The way of an access that no simpler way is known for; `turned` where rows of tiles are columns of the matrix."""

    tensor: TensorAccess
    turned: bool = False

    def swapped(self) -> Move:
        """The move of tiles with rows and columns swapped."""
        return replace(self, turned=not self.turned)

    # --- pieces --------------------------------------------------------------------------

    def each_piece(self, type: CoopMatrix, body: Callable[[MatrixPiece, Val | None], None]) -> None:
        """Write a loop over all components, some neighbours at a time, with a mask of those that the tile has."""
        w = self.tensor.code.w
        size = length(type)
        count = min(_MOST, max(2, 1 << (size - 1).bit_length()))
        with w.loop(0, line_count(type)) as lines, w.loop(0, size, count) as starts:
            mask: Val | None = None
            if size % count:
                numbers = w.add(w.splat(starts.index, count), w.iota(count))
                mask = w.compare("slt", numbers, w.splat(integer(size), count))
            body(MatrixPiece(lines.index, starts.index, count), mask)

    def element(self, type: CoopMatrix, at: MatrixPiece) -> Element:
        """The places of the components of a piece of a tile."""
        along_rows = turned(type) == self.turned
        return self.tensor.index.place(at.line, at.start, at.count, along_rows=along_rows)

    def there(self, found: Element, mask: Val | None, count: int) -> Val:
        """The mask of components that have an element in memory."""
        r = Reals(self.tensor.code.w, count)
        held = self.tensor.code.w.negated(found.clipped)
        if not self.tensor.index.moves:
            held = r.both(held, self.tensor.code.w.negated(found.outside))
        return r.mask(held if mask is None else r.both(held, mask))

    def pointers(self, found: Element, there: Val, number: int) -> Val:
        """The addresses of a part of the components, or of their blocks."""
        w = self.tensor.code.w
        r = Reals(w, lanes(there.type))
        places = w.mul(r.integers(found.element, there), w.splat(integer(self.tensor.unit), r.count))
        moved = w.at(self.tensor.base, w.add(places, w.splat(integer(number), r.count)))
        return w.splat(moved, r.count)

    # --- loads ---------------------------------------------------------------------------

    def copy_in(self, tile: InMemory, initial: InMemory | None = None) -> None:
        """Load a matrix to the workspace; components that are clipped are those of `initial`."""

        def read(found: Element, there: Val, at: MatrixPiece) -> Parts:
            return self._gathered(tile.type, found, there)

        self.fill(tile, initial, read)

    def fill(
        self, tile: InMemory, initial: InMemory | None, read: Callable[[Element, Val, MatrixPiece], Parts]
    ) -> None:
        """Write a matrix to the workspace whose components `read` gives if they have an element."""

        def piece(at: MatrixPiece, mask: Val | None) -> None:
            found = self.element(tile.type, at)
            parts = read(found, self.there(found, mask, at.count), at)
            parts = self._filled(tile.type, found, parts, at.count)
            if initial is not None and found.clipped.literal != 0:
                before = _read(self.tensor.code, initial, at)
                parts = self._selected(found.clipped, before, parts, at.count)
            _write(self.tensor.code, tile, at, parts)

        self.each_piece(tile.type, piece)

    def _selected(self, where: Val, a: Parts, b: Parts, count: int) -> Parts:
        w = self.tensor.code.w
        mask = w.splat(where, count)
        return tuple(w.select(mask, w.splat(x, count), w.splat(y, count)) for x, y in zip(a, b, strict=True))

    def _gathered(self, type: CoopMatrix, found: Element, there: Val) -> Parts:
        code, one = self.tensor.code, part(type)
        vector = wide(memory_type(one), lanes(there.type))
        held = []
        for number in range(part_count(type)):
            pointers = self.pointers(found, there, number * one.size)
            loaded = code.w.gather(vector, pointers, there, one.size, zero(vector))
            held.append(from_memory(code.w, code.target.features, one, loaded))
        return tuple(held)

    def _filled(self, type: CoopMatrix, found: Element, parts: Parts, count: int) -> Parts:
        """The components, replaced by the clamp value outside the tensor if the clamp mode is constant."""
        if self.tensor.layout.mode is not ClampMode.CONSTANT or found.outside.literal == 0:
            return parts
        return self._selected(found.outside, clamp_parts(self.tensor, type.component), parts, count)

    # --- stores --------------------------------------------------------------------------

    def copy_out(self, tile: InMemory) -> None:
        """Store a matrix from the workspace to memory."""
        code, type = self.tensor.code, tile.type
        one = part(type)

        def piece(at: MatrixPiece, mask: Val | None) -> None:
            found = self.element(type, at)
            there = self.there(found, mask, at.count)
            for number, held in enumerate(_read(code, tile, at)):
                stored = to_memory(code.w, code.target.features, one, held)
                code.w.scatter(stored, self.pointers(found, there, number * one.size), there, one.size)

        self.each_piece(type, piece)


def _read(code: CpuCode, tile: InMemory, at: MatrixPiece) -> Parts:
    """The components of a piece of a tile, at most as long as the tile's lines."""
    if length(tile.type) > 1:
        return read_tile(code, tile, at)
    return tuple(code.w.splat(p, at.count) for p in read_tile(code, tile, MatrixPiece(at.line, at.start, 1)))


def _write(code: CpuCode, tile: InMemory, at: MatrixPiece, parts: Parts) -> None:
    if length(tile.type) > 1:
        write_tile(code, tile, at, parts)
        return
    write_tile(code, tile, MatrixPiece(at.line, at.start, 1), tuple(code.w.extract(p, 0) for p in parts))
