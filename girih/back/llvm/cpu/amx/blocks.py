"""Products of whole matrices by tiles: of factors anywhere in memory, into sums that lie column by column.

The first factor is packed. The second one is read where it lies if its depth is contiguous there and fills whole tiles,
and if few blocks read it; otherwise it is packed, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext

from girih.back.llvm.cpu.amx.packing import WIDTH, TilePanels, known, quotient
from girih.back.llvm.cpu.amx.product import packed_lines, product_function
from girih.back.llvm.cpu.amx.tiles import LINE_BYTES, LINES, UNIT_BYTES, depth_of
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.ir.types import Number
from girih.lazy_dataclass import dataclass

_FEW_ROWS = 2 * WIDTH
"""For so many rows of the result the second factor is read so seldom that it need not be packed."""

_IN_A_ROW = 2
"""So many blocks stand in a row without a loop."""


@dataclass(frozen=True, slots=True)
class FactorPlace:
    """A factor in memory: an address, and the bytes from row to row and from column to column.

    A `steady` one lies there before the innermost loop begins, and does not change in it.
    """

    pointer: Val
    row_stride: Operand
    column_stride: Operand
    steady: bool = False


@dataclass(frozen=True, slots=True)
class PanelPlace:
    """A first factor that lies in panels already: their address."""

    pointer: Val


@dataclass(frozen=True, slots=True)
class TileMatrices:
    """The product of matrices of `rows` x `depth` and `depth` x `columns`; rows and columns are multiples of 16."""

    w: Writer
    target: CpuTarget
    take: Callable[[int], Val]
    """So many bytes of workspace."""
    factors: Number
    rows: int
    depth: int
    columns: int

    def multiply(
        self, first: FactorPlace | PanelPlace, second: FactorPlace, sums: Val, pitch: int, *, onto: bool
    ) -> None:
        """Write the product to sums, whose columns are `pitch` bytes apart; or add it to what lies there."""
        w, size = self.w, self.factors.size
        whole = depth_of(self.factors)
        units, panel = tile_units(self.factors, self.depth), panel_bytes(self.factors, self.depth)
        if isinstance(first, PanelPlace):
            a = first.pointer
        else:
            a = self._packed(first, (first.row_stride, first.column_stride), self.rows, panel, second_operand=True)
        where_it_lies = self._lies_well(second)
        if not where_it_lies:
            strides = (second.column_stride, second.row_stride)
            b = self._packed(second, strides, self.columns, panel, second_operand=False)
        for column, columns in self._blocks(self.columns):
            if where_it_lies:
                place = w.at(second.pointer, w.mul(column, second.column_stride))
                lines = (place, w.value(second.column_stride), integer(whole * size))
            else:
                lines = packed_lines(w.at(b, w.mul(quotient(w, column, WIDTH), panel)))
            for row, rows in self._blocks(self.rows):
                to = w.at(w.at(sums, w.mul(column, pitch)), w.mul(row, UNIT_BYTES))
                name = product_function(w.module, self.target, self.factors, rows, columns)
                place = w.at(a, w.mul(quotient(w, row, WIDTH), panel))
                w.run(name, integer(units), place, *lines, to, integer(pitch), integer(int(onto), "i1"))

    def _packed(
        self, factor: FactorPlace, strides: tuple[Operand, Operand], lines: int, panel: int, *, second_operand: bool
    ) -> Val:
        """The panels of a factor, with the bytes from line to line and along the depth; of a steady one, made once."""
        to = self.take(-(-lines // WIDTH) * panel)
        panels = TilePanels(self.factors, second_operand)
        with self.w.before_loop() if factor.steady else nullcontext():
            panels.pack(self.w, (factor.pointer, *strides), (lines, self.depth), to)
        return to

    def _lies_well(self, second: FactorPlace) -> bool:
        """Whether tiles of the second factor are loaded from where it lies."""
        whole = self.depth % depth_of(self.factors) == 0
        return whole and self.rows <= _FEW_ROWS and known(second.row_stride) == self.factors.size

    def _blocks(self, extent: int) -> Iterator[tuple[Val, int]]:
        """Where the blocks of an extent begin, and how many tiles each has; in a loop where they are many."""
        whole = extent // WIDTH * WIDTH
        if whole <= _IN_A_ROW * WIDTH:
            for start in range(0, whole, WIDTH):
                yield integer(start), WIDTH // LINES
        else:
            with self.w.loop(0, whole, WIDTH) as loop:
                yield loop.index, WIDTH // LINES
        if whole < extent:
            yield integer(whole), 1


def tile_units(factors: Number, depth: int) -> int:
    """The units of a depth, which whole tiles have."""
    return -(-depth // depth_of(factors)) * LINE_BYTES // UNIT_BYTES


def panel_bytes(factors: Number, depth: int) -> int:
    """The bytes of a panel."""
    return tile_units(factors, depth) * UNIT_BYTES * WIDTH
