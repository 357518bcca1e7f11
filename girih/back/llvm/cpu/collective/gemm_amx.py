"""Products of matrices by the tiles of AMX: both factors are packed, block by block, and multiplied tile by tile.

A block of the first factor stays in the second cache. Its depth is a compromise: the deeper it is, the less often the
target is read and written; the more rows it has, the less often the second factor is read. Blocks of 32 x 32 of the
target are sums in four tiles. They go straight to the target where that holds sums of such numbers and nothing has to
be scaled, otherwise through a piece of memory in the first cache. Where the target cannot hold sums of parts of the
depth, because its type is narrow or updates are atomic, they are held in memory of the thread.
"""

from __future__ import annotations

from dataclasses import replace
from math import isqrt

from girih.back.llvm.cpu.amx.packing import ATTRIBUTES, WIDTH, TilePanels, quotient
from girih.back.llvm.cpu.amx.product import packed_lines, product_function
from girih.back.llvm.cpu.amx.tiles import LINE_BYTES, LINES, UNIT_BYTES, depth_of, factors_of
from girih.back.llvm.cpu.collective.elementwise import axpby, sweep
from girih.back.llvm.cpu.collective.gemm_product import Product
from girih.back.llvm.cpu.collective.packing_plan import clamped
from girih.back.llvm.cpu.collective.scaling import Scaling
from girih.back.llvm.cpu.machine.description import MachineDescription
from girih.back.llvm.emit.text import ModuleText, Operand, Val, floating, integer, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.collective.views import View
from girih.facts import remarks
from girih.ir.types import Number
from girih.lazy_dataclass import dataclass

_LEAST = 40**3
"""Smaller products than this are not worth packing."""

_LEAST_EXTENT = 8
"""Nor are those with fewer rows or columns, or a smaller depth."""

_LEAST_ROWS = 4 * WIDTH
"""So few rows a block may have for a depth that need not be divided."""

_MOST_BYTES = 16 << 20
"""A block of the second factor is no larger: some systems list a large third cache for each CPU."""

_BLOCK_BYTES = WIDTH * WIDTH * UNIT_BYTES
"""The bytes of the sums of four tiles."""


@dataclass(frozen=True, slots=True)
class TileBlocks:
    """The sizes of blocks, in elements."""

    factors: Number
    depth: int
    rows: int
    columns: int
    held_rows: int = 0
    """The rows of sums that are held where the target cannot: of several blocks."""


def suits(p: Product) -> bool:
    """Whether a product is computed by tiles; remarks on types for which there are none."""
    types = (p.a.element, p.b.element, p.e.compute)
    if factors_of(p.e.target, *types) is None:
        if p.e.target.amx and all(type.size <= 2 for type in types[:2]):
            p.e.note(remarks.amx_unused(*types, p.e.target.amx))
        return False
    extents = (*p.a.shape, p.b.shape[1])
    if any(isinstance(n, int) and n < _LEAST_EXTENT for n in extents):
        return False
    total = 1
    for n in extents:
        total *= n if isinstance(n, int) else _LEAST
    return total >= _LEAST


def multiply(p: Product) -> None:
    """target := alpha a b + beta target, for matrices of any strides."""
    p.e.note(remarks.amx(p.a.element))
    adds = p.end.element == p.e.compute and not p.end.atomic
    sizes = blocks(p.e.target.machine, p, adds=adds)
    depth = p.a.shape[1]
    product = _TileProduct(p, sizes)
    if adds or (isinstance(depth, int) and depth <= sizes.depth):
        product.direct()
    else:
        product.held()


def blocks(machine: MachineDescription, p: Product, *, adds: bool) -> TileBlocks:
    """Sizes of blocks that suit the caches; no larger than matrices whose sizes are known.

    A target that one `adds` to may have several parts of the depth. Any other one better has a single one.
    """
    factors, (m, k), n = p.a.element, p.a.shape, p.b.shape[1]
    elements, whole = machine.l2_bytes // 2 // factors.size, depth_of(factors)
    # For each product, 2 / rows bytes of the second factor are read, and 8 / depth bytes of sums moved: least at this
    # depth, in f32 and bf16.
    deepest = 2 * isqrt(elements)
    if not adds and isinstance(k, int) and k <= elements // _LEAST_ROWS:
        deepest = max(deepest, k + whole - 1)
    depth = clamped(deepest // whole * whole, k, whole)
    rows = clamped(max(elements // depth // WIDTH, 1) * WIDTH, m, WIDTH)
    far = min(max(machine.l3_bytes // 2, machine.l2_bytes), _MOST_BYTES)
    columns = clamped(max(far // factors.size // depth // WIDTH, 1) * WIDTH, n, WIDTH)
    if adds or (isinstance(k, int) and k <= depth):
        return TileBlocks(factors, depth, rows, columns)
    side = isqrt(far // p.e.compute.size)
    columns = min(columns, clamped(max(side // WIDTH, 1) * WIDTH, n, WIDTH))
    return TileBlocks(factors, depth, rows, columns, clamped(max(side // rows, 1) * rows, m, rows))


class _TileProduct:
    """The loops of a product, in the making."""

    def __init__(self, p: Product, sizes: TileBlocks) -> None:
        self.p, self.e, self.w, self.sizes = p, p.e, p.e.w, sizes
        self.first, self.second = TilePanels(sizes.factors, True), TilePanels(sizes.factors, False)
        self.block_a = self._take(sizes.rows * sizes.depth * sizes.factors.size)
        self.block_b = self._take(sizes.columns * sizes.depth * sizes.factors.size)
        self.sums = self._take(_BLOCK_BYTES)

    def _take(self, bytes: int) -> Val:
        return self.w.at(self.p.workspace, self.p.frame.take(bytes))

    # --- blocks --------------------------------------------------------------------------

    def direct(self) -> None:
        """Every part of the depth is added to the target."""
        w, sizes, (m, k), n = self.w, self.sizes, self.p.a.shape, self.p.b.shape[1]
        with w.loop(0, n, sizes.columns) as columns:
            few = self._left(n, columns.index, sizes.columns)
            # A depth of 0 scales the target, too.
            with w.loop(0, w.larger(k, 1), sizes.depth) as depths:
                deep = self._left(k, depths.index, sizes.depth)
                self._pack_second(depths.index, columns.index, deep, few)
                with w.loop(0, m, sizes.rows) as rows:
                    tall = self._left(m, rows.index, sizes.rows)
                    self._pack_first(rows.index, depths.index, tall, deep)
                    goal = _part(w, self.p.target, (rows.index, columns.index), (tall, few))
                    self._tiles(goal, deep, w.compare("eq", depths.index, 0), self.p.end)

    def held(self) -> None:
        """Blocks of the result are held until their sums are complete."""
        w, e, sizes, (m, k), n = self.w, self.e, self.sizes, self.p.a.shape, self.p.b.shape[1]
        place = self._take(sizes.held_rows * sizes.columns * e.compute.size)
        plain = Scaling(e, e.compute)
        with w.loop(0, n, sizes.columns) as columns, w.loop(0, m, sizes.held_rows) as held_rows:
            few = self._left(n, columns.index, sizes.columns)
            all_rows = self._left(m, held_rows.index, sizes.held_rows)
            sums = View(e.compute, place, (all_rows, few), (1, sizes.held_rows))
            with w.loop(0, w.larger(k, 1), sizes.depth) as depths:
                deep = self._left(k, depths.index, sizes.depth)
                self._pack_second(depths.index, columns.index, deep, few)
                with w.loop(0, all_rows, sizes.rows) as rows:
                    tall = self._left(all_rows, rows.index, sizes.rows)
                    self._pack_first(w.add(held_rows.index, rows.index), depths.index, tall, deep)
                    goal = _part(w, sums, (rows.index, integer(0)), (tall, few))
                    self._tiles(goal, deep, w.compare("eq", depths.index, 0), plain)
            axpby(e, self.p.end, sums, _part(w, self.p.target, (held_rows.index, columns.index), (all_rows, few)))

    def _left(self, extent: Operand, position: Val, size: int) -> Operand:
        """How much of an extent a block has from a position on."""
        if isinstance(extent, int) and extent % size == 0 and extent:
            return size
        held = self.w.smaller(self.w.sub(extent, position), size)
        return held if held.literal is None else held.literal

    def _pack_first(self, row: Val, depth: Val, tall: Operand, deep: Operand) -> None:
        self._pack(self.first, _part(self.w, self.p.a, (row, depth), (tall, deep)), self.block_a)

    def _pack_second(self, depth: Val, column: Val, deep: Operand, few: Operand) -> None:
        turned = _part(self.w, self.p.b, (depth, column), (deep, few)).turned(True)
        self._pack(self.second, turned, self.block_b)

    def _pack(self, panels: TilePanels, source: View, to: Val) -> None:
        """Pack a matrix whose first mode goes across panels, and whose second one is the depth."""
        w, (across, deep), (lines, depth) = self.w, source.strides, source.shape
        size = source.element.size
        panels.pack(w, (source.pointer, w.mul(across, size), w.mul(deep, size)), (lines, depth), to)

    # --- tiles ---------------------------------------------------------------------------

    def _tiles(self, goal: View, deep: Operand, first: Val, end: Scaling) -> None:
        """All products of a panel with a panel."""
        w = self.w
        units = self.first.steps(w, deep)
        panel = w.mul(units, WIDTH * UNIT_BYTES)
        tall, few = goal.shape
        pitch = w.mul(goal.strides[1], goal.element.size)
        straight = self._straight(goal, first, end)
        with w.loop(0, few, WIDTH) as columns, w.loop(0, tall, WIDTH) as rows:
            a = w.at(self.block_a, w.mul(quotient(w, rows.index, WIDTH), panel))
            b = w.at(self.block_b, w.mul(quotient(w, columns.index, WIDTH), panel))
            shape = (self._rest(tall, rows.index), self._rest(few, columns.index))
            part = _part(w, goal, (rows.index, columns.index), shape)
            self._ask_for(part, pitch)
            self._block(units, a, b, part, pitch, straight, first, end)

    def _block(
        self, units: Val, a: Val, b: Val, part: View, pitch: Val, straight: Val | None, first: Val, end: Scaling
    ) -> None:
        """The product of two panels, brought to the target."""
        w = self.w

        def whole() -> list[Val]:
            name = product_function(w.module, self.e.target, self.sizes.factors, 2, 2)
            onto = w.negated(first) if end.overwrite else integer(1, "i1")
            w.run(name, units, a, *packed_lines(b), part.pointer, pitch, onto)
            return []

        def scaled() -> list[Val]:
            self._multiply(units, a, b, part)
            if end.overwrite:
                w.either(first, lambda: self._finish(part, end), lambda: self._finish(part, end.adding()))
            else:
                self._finish(part, end.where(first))
            return []

        if straight is None:
            scaled()
            return
        height, width = part.shape
        full = w.binary("and", w.compare("eq", height, WIDTH), w.compare("eq", width, WIDTH))
        w.either(w.binary("and", straight, full), whole, scaled)

    def _rest(self, extent: Operand, position: Val) -> Operand:
        """The lines of the panel at a position."""
        if isinstance(extent, int) and extent % WIDTH == 0:
            return WIDTH
        return self.w.smaller(self.w.sub(extent, position), WIDTH)

    def _straight(self, goal: View, first: Val, end: Scaling) -> Val | None:
        """Whether sums of whole blocks can be added to the target by tiles; None where they never can."""
        w = self.w
        if not goal.contiguous or goal.element != self.e.compute or end.one_by_one:
            return None
        found = integer(1, "i1")
        if end.alpha is not None:
            found = w.binary("and", found, self._is_one(end.alpha[0]))
        if end.beta is not None and not end.overwrite:
            later = w.negated(first)
            found = w.binary("and", found, w.binary("or", later, self._is_one(end.beta[0])))
        return None if found.literal == 0 else found

    def _is_one(self, held: Val) -> Val:
        if held.type[0] == "i":
            return self.w.compare("eq", held, integer(1, held.type))
        return self.w.compare("oeq", held, floating(1.0, held.type))

    def _multiply(self, units: Val, a: Val, b: Val, part: View) -> None:
        """The sums of a block, beside the target; of tiles that no row or no column of it lies in, none."""
        w = self.w

        def run(rows: int, columns: int) -> list[Val]:
            name = product_function(w.module, self.e.target, self.sizes.factors, rows, columns)
            w.run(name, units, a, *packed_lines(b), self.sums, integer(WIDTH * UNIT_BYTES), integer(0, "i1"))
            return []

        def columns_of(rows: int) -> list[Val]:
            many = w.compare("sgt", part.shape[1], LINES)
            w.either(many, lambda: run(rows, 2), lambda: run(rows, 1)) if many.literal is None else run(rows, 2)
            return []

        many = w.compare("sgt", part.shape[0], LINES)
        w.either(many, lambda: columns_of(2), lambda: columns_of(1)) if many.literal is None else columns_of(2)

    def _finish(self, part: View, end: Scaling) -> list[Val]:
        """Bring sums to their place in the target."""
        w, e = self.w, self.e
        vectors = part.contiguous and not end.one_by_one
        with w.loop(0, part.shape[1]) as column:
            sums = w.at(self.sums, w.mul(column.index, WIDTH * UNIT_BYTES))
            goal = part.inner(w, column.index)

            def body(i: Operand, count: int, mask: Val | None, sums: Val = sums, goal: View = goal) -> None:
                held = w.load(wide(e.part, count), w.at(sums, w.mul(i, UNIT_BYTES)), UNIT_BYTES)
                end.write(goal.address(w, i), (held,), mask)

            if vectors and e.masked:
                for start in range(0, WIDTH, e.count):
                    left = w.larger(w.sub(part.shape[0], start), 0)
                    body(start, e.count, e.first(e.count, left if left.literal is None else left.literal))
            else:
                sweep(e, part.shape[0], body, vectors=vectors, unroll=1)
        return []

    def _ask_for(self, part: View, pitch: Val) -> None:
        """Ask for the lines of the block behind this one, which are needed after this product."""
        w, bytes = self.w, WIDTH * part.element.size
        if part.contiguous:
            w.run(_asking_function(w.module, bytes), w.at(part.pointer, bytes), pitch)


def _asking_function(module: ModuleText, bytes: int) -> str:
    """The name of a function that asks for so many bytes of each column of a block; written if it is not there."""
    name = f"girih.amx.ask.{bytes}"
    if name not in module.helpers:
        module.helpers.add(name)
        w = Writer(module, f"define internal void @{name}(ptr %goal, i64 %pitch) {ATTRIBUTES}")
        with w.loop(0, WIDTH) as loop:
            column = w.at(Val("%goal", "ptr"), w.mul(loop.index, Val("%pitch", "i64")))
            for distance in range(0, bytes, LINE_BYTES):
                w.prefetch(w.at(column, distance), write=True)
        w.ret()
        w.finish()
    return name


def _part(w: Writer, held: View, start: tuple[Operand, Operand], shape: tuple[Operand, Operand]) -> View:
    """A box inside a view."""
    return replace(held, pointer=held.address(w, *start), shape=shape)
