"""Matrix products of a work-group whose factors are large, or have sizes that only a launch knows.

A block of the target is computed at a time, from blocks of the factors of 16 steps of the depth in shared memory.
Blocks inside of the matrices are copied 16 bytes at a time where addresses are aligned; at the edges elements are
copied one by one, with zeros for what lies outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.collective.views import View
from girih.back.llvm.lower.one_lane.linalg.dealing import thread_count
from girih.back.llvm.lower.one_lane.linalg.target import CollectiveNumbers, ScaledTarget
from girih.back.llvm.nvptx.collective.copies import CopiedFactor, copy_pieces
from girih.back.llvm.nvptx.collective.pieces import in_two_ways
from girih.back.llvm.nvptx.collective.products import (
    SharedFactor,
    TilePiece,
    aligned_target,
    no_sums,
    tile_pieces,
    tile_sums,
    write_apart,
    write_together,
)
from girih.back.llvm.nvptx.collective.tiles import DealtLines, FactorLayout, ProductTiling
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.lazy_dataclass import dataclass

DEPTH = 16
"""The steps of the depth of a block."""

_LINES = 64
"""The rows and columns of a block, where as many threads as there are can have tiles of 4 x 4 to 8 x 8."""


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """Blocks of both factors, and the tiles of the threads in a block of the target."""

    rows: FactorLayout
    columns: FactorLayout
    tiles: ProductTiling

    @staticmethod
    def of(size: int, along: tuple[bool, bool], threads: int) -> BlockLayout:
        """Blocks of elements of so many bytes, whose neighbours are along the depth or not."""
        down, across = _halves(threads)
        height, width = (8 if size == 4 and 8 * count <= _LINES else 4 for count in (down, across))
        rows = FactorLayout(down * height, DEPTH, size, along[0])
        columns = FactorLayout(across * width, DEPTH, size, along[1])
        dealt = [
            DealtLines(one.lines, min(one.piece, lines), lines // min(one.piece, lines), count)
            for one, lines, count in ((rows, height, down), (columns, width, across))
        ]
        return BlockLayout(rows, columns, ProductTiling(*dealt))

    @property
    def bytes(self) -> int:
        """The shared memory of the blocks."""
        return (self.rows.elements + self.columns.elements) * self.rows.size


def _halves(threads: int) -> tuple[int, int]:
    """Two numbers, the first one not smaller, whose product is the number of threads, as near as they get."""
    across = next(one for one in range(int(threads**0.5), 0, -1) if threads % one == 0)
    return threads // across, across


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The product, block by block; `left` and `right` have lines and depth as modes."""

    code: CudaCode
    target: ScaledTarget
    left: View
    right: View
    layout: BlockLayout
    places: tuple[Val, Val]

    @property
    def numbers(self) -> CollectiveNumbers:
        return self.target.numbers

    def write(self) -> None:
        """Write the loops over the blocks of the target."""
        w, layout = self.code.w, self.layout
        rows, columns = self.left.shape[0], self.right.shape[0]
        with w.loop(0, columns, layout.columns.lines) as across, w.loop(0, rows, layout.rows.lines) as down:
            self._block(down.index, across.index)

    def _block(self, row: Val, column: Val) -> None:
        """Compute the block of the target that begins at a row and a column."""
        code, w, layout, depth = self.code, self.code.w, self.layout, self.left.shape[1]
        tiles = layout.tiles
        down = tiles.rows.threads
        first = w.binary("urem", code.thread, integer(down)), w.binary("udiv", code.thread, integer(down))
        mine = SharedFactor(layout.rows, tiles.rows, self.places[0], first[0])
        its = SharedFactor(layout.columns, tiles.columns, self.places[1], first[1])
        with w.loop(0, depth, DEPTH, no_sums(self.numbers, tiles)) as loop:
            code.barrier()
            self._copy((row, column), loop.index)
            code.barrier()
            loop.following = tile_sums(code, self.numbers, mine, its, loop.values)
        self._store((row, column), tile_pieces(code, mine, its, loop.results))

    def _copy(self, begins: Sequence[Val], step: Val) -> None:
        """Copy the blocks of both factors at a step of the depth."""
        w, layout = self.code.w, self.layout
        whole = w.compare("sle", w.add(step, DEPTH), self.left.shape[1])
        factors: list[CopiedFactor] = []
        for view, begin, part, place in zip(
            (self.left, self.right), begins, (layout.rows, layout.columns), self.places, strict=True
        ):
            whole = w.binary("and", whole, w.compare("sle", w.add(begin, part.lines), view.shape[0]))
            inner = replace(view, pointer=view.address(w, begin, step), shape=(part.lines, DEPTH))
            factors.append(CopiedFactor(inner, part, place))
            if factors[-1].wide > 1:
                whole = w.binary("and", whole, factors[-1].is_aligned(self.code))
        threads = thread_count(self.code)

        def edge() -> None:
            for one, view, begin in zip(factors, (self.left, self.right), begins, strict=True):
                self._copy_edge(one, w.sub(view.shape[0], begin), w.sub(view.shape[1], step))

        in_two_ways(
            self.code,
            whole,
            lambda: copy_pieces(self.code, self.numbers, [(one, one.wide) for one in factors], threads),
            edge,
        )

    def _copy_edge(self, factor: CopiedFactor, lines: Val, depth: Val) -> None:
        """Copy a block of which so many lines and steps of the depth are inside of the matrix, with zeros behind."""
        code, w, n, layout = self.code, self.code.w, self.numbers, factor.layout
        extents = (layout.depth, layout.lines) if layout.along_depth else (layout.lines, layout.depth)
        # Written out, it would keep the places of all elements in registers, for what is hardly ever executed.
        total = code.writer.unknown(layout.lines * layout.depth)
        with w.loop(code.thread, total, thread_count(code)) as loop:
            near = w.binary("urem", loop.index, integer(extents[0]))
            far = w.binary("udiv", loop.index, integer(extents[0]))
            line, step = (far, near) if layout.along_depth else (near, far)
            inside = w.binary("and", w.compare("slt", line, lines), w.compare("slt", step, depth))
            (held,) = w.either(inside, lambda: n.read(factor.view, line, step), lambda: n.zero)
            place = w.add(near, w.mul(far, layout.pitch))
            w.store(held, w.at(factor.place, w.mul(place, layout.size)), layout.size)

    def _store(self, begins: tuple[Val, Val], pieces: Sequence[TilePiece]) -> None:
        """Bring the sums of the tile to the target, as far as they are of it."""
        w, target, layout = self.code.w, self.target, self.layout
        left = [w.sub(extent, begin) for extent, begin in zip(target.view.shape, begins, strict=True)]
        whole = w.binary(
            "and", w.compare("sge", left[0], layout.rows.lines), w.compare("sge", left[1], layout.columns.lines)
        )
        view = replace(
            target.view, pointer=target.view.address(w, *begins), shape=(layout.rows.lines, layout.columns.lines)
        )
        block = replace(target, view=view)
        aligned = aligned_target(self.code, block, layout.tiles.rows.piece)

        def edge() -> None:
            for piece in pieces:
                for number, sum in enumerate(piece.sums):
                    row = w.add(piece.row, number)
                    inside = w.both(w.compare("slt", row, left[0]), w.compare("slt", piece.column, left[1]))
                    assert inside is not None
                    with w.when(inside):
                        block.write((sum,), row, piece.column)

        def inner() -> None:
            for piece in pieces:
                (write_apart if aligned is None else write_together)(self.code, block, piece)

        in_two_ways(self.code, w.both(whole, aligned), inner, edge)


def write_in_blocks(
    code: CudaCode, layout: BlockLayout, target: ScaledTarget, left: View, right: View, memory: Val
) -> None:
    """target := alpha left right^T + beta target, for factors whose lines are rows of the product, or columns of it.

    The blocks are copied to `memory`.
    """
    places = memory, code.w.at(memory, layout.rows.elements * layout.rows.size)
    _Blocks(code, target, left, right, layout, places).write()
