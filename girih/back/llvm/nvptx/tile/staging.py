"""Registers of consumers into shared memory, from which the copy engine stores them.

Numbers of 16 bits go by `stmatrix`, which has the lines of 8 x 8 numbers written by 8 threads each, and turns them
where a line is a column. Others are written by the threads that have them. In both cases the 16 bytes of a line are
exchanged as the swizzle has it (`SharedTile.place`), which depends on a line's place among eight.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.nvptx.machine.code import SHARED
from girih.back.llvm.nvptx.tile.code import TileCode
from girih.back.llvm.nvptx.tile.components import HeldMatrix
from girih.back.llvm.nvptx.tile.factors import BLOCK
from girih.back.llvm.nvptx.tile.matrices import place_in_warp
from girih.back.llvm.nvptx.tile.ptx import word
from girih.diagnostics import InternalError
from girih.lazy_dataclass import dataclass
from girih.tile.form import SharedTile

_EIGHT = 8
_PIECE = 16
"""The bytes that a thread stores at once, and that the swizzle keeps together."""
_HALF = 2
"""The bytes of numbers that `stmatrix` writes."""


@dataclass(frozen=True, slots=True)
class StagedPart:
    """The part of a matrix that is written to a staging: from a row of the consumer's and a column on.

    `begin` is the address, an i32, of the consumer's part of the staging; `lane` and `warp` are the thread's place in
    its consumer.
    """

    code: TileCode
    tile: SharedTile
    begin: Val
    held: HeldMatrix
    row: int
    column: int
    lane: Val
    warp: Val

    def write(self) -> None:
        """Write the part: the rows and columns of the staging."""
        if self.tile.panel_bytes % 1024 and self.tile.span > self.tile.panel:
            raise InternalError("panels of a staging begin at multiples of 1024 bytes")
        for block in range(self._rows // BLOCK):
            if self.held.share.component.size == _HALF:
                self._by_matrices(block)
            else:
                self._by_components(block)

    @property
    def _rows(self) -> int:
        return self.tile.lines if self.tile.by_rows else self.tile.span

    @property
    def _columns(self) -> int:
        return self.tile.span if self.tile.by_rows else self.tile.lines

    def _address(self, line: Val, neighbour: Val, fixed_line: int, fixed_neighbour: int) -> Val:
        """The address of a component, whose line and neighbour are sums of what threads differ in and what is fixed.

        Fixed lines are multiples of 8, and of neighbours the two summands have no common bits below a panel.
        """
        w, tile = self.code.w, self.tile
        size, panel = tile.component.size, tile.panel
        beyond, within = divmod(fixed_neighbour, panel)
        start = fixed_line * tile.pitch + beyond * tile.panel_bytes
        mask = tile.swizzle - 16 if tile.swizzle else 0
        own = w.mul(line, word(tile.pitch))
        exchanged = w.binary("and", w.binary("lshr", own, word(3)), word(mask))
        bytes = w.mul(neighbour, word(size))
        # What threads differ in may lie in several panels.
        low = w.binary("and", bytes, word(tile.pitch - 1))
        panels = w.binary("lshr", bytes, word(tile.pitch.bit_length() - 1)) if tile.swizzle else word(0)
        mixed = w.binary("xor", w.binary("xor", low, exchanged), word(within * size))
        first = w.add(w.add(self.begin, own), w.mul(panels, word(tile.panel_bytes)))
        return w.add(w.add(first, mixed), word(start))

    def _place(self, row: Val, column: Val, fixed_row: int, fixed_column: int) -> Val:
        """The address of a component by its row and column, each what threads differ in and what is fixed."""
        if self.tile.by_rows:
            return self._address(row, column, fixed_row, fixed_column)
        return self._address(column, row, fixed_column, fixed_row)

    def _by_matrices(self, block: int) -> None:
        """Write 64 rows of numbers of 16 bits, 16 columns at a time."""
        w = self.code.w
        line, matrix = w.binary("and", self.lane, word(_EIGHT - 1)), w.binary("lshr", self.lane, word(3))
        upper, right = w.binary("and", matrix, word(1)), w.binary("lshr", matrix, word(1))
        row = w.add(w.mul(self.warp, word(2 * _EIGHT)), w.mul(upper, word(_EIGHT)))
        column = w.mul(right, word(_EIGHT))
        if self.tile.by_rows:
            row = w.add(row, line)
        else:
            column = w.add(column, line)
        for first in range(0, self._columns, 2 * _EIGHT):
            count = 2 if self._columns - first >= 2 * _EIGHT else 1
            words = [self._word(block, first // _EIGHT + k, half) for k in range(count) for half in range(2)]
            place = self._place(row, column, block * BLOCK, first)
            self.code.ptx.store_fragments(place, words, turned=not self.tile.by_rows)

    def _word(self, block: int, eight: int, half: int) -> Val:
        """Two neighbouring numbers of a thread."""
        share = self.held.share
        own = self.row // BLOCK + block, self.column // _EIGHT + eight
        return self.held.registers[(own[0] * share.periods + own[1]) * 2 + half]

    def _by_components(self, block: int) -> None:
        """Write 64 rows of numbers of other sizes, neighbours of a line at a time where a thread has several."""
        w, share = self.code.w, self.held.share
        if share.packed != 1 or share.parts != 1:
            raise InternalError(f"no staging has numbers of {share.component}")
        rows, columns = share.fragment.rows, share.fragment.columns
        down, along = place_in_warp(share.fragment, w, self.lane)
        down = w.add(w.mul(self.warp, word(2 * _EIGHT)), down)
        if self.code.multiplies:
            # Hidden from LLVM, which would find places in front of all loops, and keep them in registers.
            down, along = self.code.ptx.here(down), self.code.ptx.here(along)
        (outer, inner), by_rows = (rows, columns), self.tile.by_rows
        if not by_rows:
            outer, inner = columns, rows
        together = inner.each if inner.adjacent else 1
        together = min(together, _PIECE // share.component.size)
        for period in range(self._columns // columns.period):
            first = (self.row // BLOCK + block) * share.periods + self.column // columns.period + period
            for line in range(outer.each):
                for neighbour in range(0, inner.each, together):
                    row, column = (line, neighbour) if by_rows else (neighbour, line)
                    number = (first * rows.each + row) * columns.each + column
                    apart = 1 if by_rows else columns.each
                    here, fixed = rows.step * row, block * BLOCK
                    here, fixed = (0, fixed + here) if rows.step % _EIGHT == 0 else (here, fixed)
                    own = w.add(down, word(here)), w.add(along, word(columns.step * column))
                    place = self._place(*own, fixed, period * columns.period)
                    self._store(place, [self.held.registers[number + apart * k] for k in range(together)])

    def _store(self, place: Val, values: Sequence[Val]) -> None:
        w = self.code.w
        size = self.held.share.component.size * len(values)
        w.store(w.join(values), w.convert("inttoptr", place, SHARED), size)


def lane_and_warp(code: TileCode) -> tuple[Val, Val]:
    """The place of a thread in its consumer: its number in the warp, and that of the warp, i32s."""
    thread = code.w.convert("trunc", code.thread, "i32")
    warp = code.w.binary("and", code.w.binary("lshr", thread, integer(5, "i32")), word(3))
    return code.lane, warp
