"""Large matrix products: both factors are packed into panels, block by block, and multiplied panel by panel.

The blocks are those of GotoBLAS: a panel of the second factor stays in the first cache, a block of the first factor in
the second one, and a block of the second factor in the third. Products of panels are left in a tile that stays in the
first cache; from there they are scaled and rounded into the target, whatever its type and strides. Where a target
cannot hold sums of parts of the depth, because its type is narrow or updates are atomic, they are held in memory of the
thread. Sizes follow from the caches of the processor (`packing_plan`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from girih.back.llvm.cpu.collective.elements import Elements, Parts
from girih.back.llvm.cpu.collective.elementwise import axpby, sweep
from girih.back.llvm.cpu.collective.packing_plan import PackingPlan, plan
from girih.back.llvm.cpu.collective.panel_product import PanelProduct
from girih.back.llvm.cpu.collective.scaling import Scaling
from girih.back.llvm.emit.text import Operand, Val, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import MemoryFrame
from girih.back.llvm.lower.collective.views import View


def multiply(e: Elements, end: Scaling, a: View, b: View, target: View, frame: MemoryFrame, workspace: Val) -> None:
    """target := alpha a b + beta target, for matrices of any types and strides."""
    depth = a.shape[1]
    holds = end.element == e.compute and not end.atomic
    sizes = plan(e.target, e.compute, a, b, held=not holds)
    single = isinstance(depth, int) and depth <= sizes.depth
    _PackedProduct(e, end, a, b, target, sizes, frame, workspace).write(hold=not (holds or single))


class _PackedProduct:
    """The loops of a product, in the making."""

    def __init__(
        self,
        e: Elements,
        end: Scaling,
        a: View,
        b: View,
        target: View,
        sizes: PackingPlan,
        frame: MemoryFrame,
        workspace: Val,
    ) -> None:
        self.e, self.w, self.end, self.sizes = e, e.w, end, sizes
        self.a, self.b, self.target = a, b, target
        self.first, self.second = sizes.panels(a.element, first=True), sizes.panels(b.element, first=False)
        steps = sizes.depth // 2 if sizes.pairs else sizes.depth

        def take(count: int, size: int) -> Val:
            return self.w.at(workspace, frame.take(count * size))

        self._take = take
        self.block_a = take(sizes.block_rows * steps, self.first.unit)
        self.block_b = take(sizes.block_columns * steps, self.second.unit)
        self.tile = take(sizes.rows * sizes.columns, e.compute.size)

    def write(self, *, hold: bool) -> None:
        """Write the loops over blocks and panels."""
        (self._held if hold else self._direct)()

    def _direct(self) -> None:
        """Every part of the depth is added to the target."""
        w, sizes = self.w, self.sizes
        with w.loop(0, self.b.shape[1], sizes.block_columns) as columns:
            few = self._left(self.b.shape[1], columns.index, sizes.block_columns)
            # A depth of 0 scales the target, too.
            deepest = w.larger(self.a.shape[1], 1)
            with w.loop(0, deepest, sizes.depth) as depths:
                deep = self._left(self.a.shape[1], depths.index, sizes.depth)
                self._pack_second(depths.index, columns.index, deep, few)
                with w.loop(0, self.a.shape[0], sizes.block_rows) as rows:
                    tall = self._left(self.a.shape[0], rows.index, sizes.block_rows)
                    self._pack_first(rows.index, depths.index, tall, deep)
                    goal = _part(w, self.target, (rows.index, columns.index), (tall, few))
                    self._tiles(goal, deep, w.compare("eq", depths.index, 0), self.end)

    def _held(self) -> None:
        """Blocks of the result are held until their sums are complete."""
        w, e, sizes = self.w, self.e, self.sizes
        place = self._take(sizes.block_rows * sizes.block_columns, e.compute.size)
        plain = Scaling(e, e.compute)
        with w.loop(0, self.b.shape[1], sizes.block_columns) as columns:
            few = self._left(self.b.shape[1], columns.index, sizes.block_columns)
            with w.loop(0, self.a.shape[0], sizes.block_rows) as rows:
                tall = self._left(self.a.shape[0], rows.index, sizes.block_rows)
                sums = View(e.compute, place, (tall, few), (1, sizes.block_rows))
                with w.loop(0, w.larger(self.a.shape[1], 1), sizes.depth) as depths:
                    deep = self._left(self.a.shape[1], depths.index, sizes.depth)
                    self._pack_second(depths.index, columns.index, deep, few)
                    self._pack_first(rows.index, depths.index, tall, deep)
                    self._tiles(sums, deep, w.compare("eq", depths.index, 0), plain)
                axpby(e, self.end, sums, _part(w, self.target, (rows.index, columns.index), (tall, few)))

    def _left(self, extent: Operand, position: Val, size: int) -> Operand:
        """How much of an extent a block has from a position on."""
        if isinstance(extent, int) and extent % size == 0 and extent:
            return size
        held = self.w.smaller(self.w.sub(extent, position), size)
        return held if held.literal is None else held.literal

    def _pack_first(self, row: Val, depth: Val, tall: Operand, deep: Operand) -> None:
        self.first.pack(self.w, _part(self.w, self.a, (row, depth), (tall, deep)), self.block_a)

    def _pack_second(self, depth: Val, column: Val, deep: Operand, few: Operand) -> None:
        turned = _part(self.w, self.b, (depth, column), (deep, few)).turned(True)
        self.second.pack(self.w, turned, self.block_b)

    def _tiles(self, goal: View, deep: Operand, first: Val, end: Scaling) -> None:
        """All products of a panel with a panel."""
        w, sizes = self.w, self.sizes
        if end.overwrite:
            # Parts of the depth behind the first one are added to what is there by now.
            end = replace(end, beta=None)
        steps = self.first.steps(w, deep)
        direct = goal.contiguous and end.element == self.e.compute and not (end.atomic or end.complex)
        function = PanelProduct(sizes, end if direct else None, sizes.vectors)
        last = end if end.overwrite or end.complex else end.where(first)
        tall, few = goal.shape
        pitch = w.mul(goal.strides[1], goal.element.size)
        with w.loop(0, few, sizes.columns) as columns, w.loop(0, tall, sizes.rows) as rows:
            a = w.at(self.block_a, w.mul(w.mul(rows.index, steps), self.first.unit))
            b = w.at(self.block_b, w.mul(w.mul(columns.index, steps), self.second.unit))
            extents = (w.sub(tall, rows.index), w.smaller(w.sub(few, columns.index), sizes.columns))
            part = _part(w, goal, (rows.index, columns.index), extents)

            def straight() -> list[Val]:
                adds = w.select(first, w.value(0), w.value(1)) if end.overwrite else w.value(1)
                function.call(w, last, steps, a, b, part.pointer, pitch, adds)
                return []

            def into_tile(vectors: int) -> list[Val]:
                part_of_it = replace(function, vectors=vectors)
                part_of_it.call(w, last, steps, a, b, self.tile, w.value(sizes.rows * self.e.compute.size), w.value(0))
                return []

            def by_tile() -> list[Val]:
                least = sizes.rows // sizes.vectors
                if sizes.parts == 1 and self._may_rest(least):
                    low = w.compare("sle", extents[0], least)
                    w.either(low, lambda: into_tile(1), lambda: into_tile(sizes.vectors))
                else:
                    into_tile(sizes.vectors)
                ending = replace(last, alpha=None) if direct else last
                if end.overwrite or end.complex:
                    w.either(first, lambda: self._finish(part, ending), lambda: self._finish(part, ending.adding()))
                else:
                    self._finish(part, ending)
                return []

            if direct:
                full = w.binary(
                    "and", w.compare("sge", extents[0], sizes.rows), w.compare("sge", extents[1], sizes.columns)
                )
                w.either(full, straight, by_tile)
            else:
                by_tile()

    def _may_rest(self, least: int) -> bool:
        """Whether so many rows, or fewer, may be left for a last panel of a block."""
        tall = self.a.shape[0]
        return not isinstance(tall, int) or 0 < tall % self.sizes.block_rows % self.sizes.rows <= least

    def _finish(self, part: View, end: Scaling) -> list[Val]:
        """Bring a tile to its place in the target."""
        w, e, sizes = self.w, self.e, self.sizes
        vectors = part.contiguous and not end.one_by_one
        with w.loop(0, part.shape[1]) as column:
            tile = w.at(self.tile, w.mul(column.index, sizes.rows * e.compute.size))
            goal = part.inner(w, column.index)

            def body(i: Operand, count: int, mask: Val | None) -> None:
                end.write(goal.address(w, i), self._taken(tile, i, count), mask)

            if vectors and e.masked:
                for start in range(0, sizes.rows, e.count):
                    body(start, e.count, e.first(e.count, w.larger(w.sub(part.shape[0], start), 0)))
            else:
                sweep(e, w.smaller(part.shape[0], sizes.rows), body, vectors=vectors, unroll=1)
        return []

    def _taken(self, tile: Val, i: Operand, count: int) -> Parts:
        """Elements of a column of the tile, in which parts are separated by vectors."""
        w, e = self.w, self.e
        type = wide(e.part, count)
        if self.sizes.parts == 1:
            return (w.load(type, w.at(tile, w.mul(i, e.part_size)), e.part_size),)
        group = self.first.group
        whole = w.binary("and", i, -group)
        place = w.at(tile, w.mul(w.add(i, whole), e.part_size))
        return tuple(w.load(type, w.at(place, k * group * e.part_size), e.part_size) for k in range(2))


def _part(w: Writer, held: View, start: Sequence[Operand], shape: tuple[Operand, ...]) -> View:
    """A box inside a view."""
    return replace(held, pointer=held.address(w, *start), shape=shape)
