"""Large matrix products: both factors are packed into panels, block by block, and multiplied panel by panel.

The blocks are those of GotoBLAS: a panel of the second factor stays in the first cache, a block of the first factor in
the second one, and a block of the second factor in the third. Products of panels are left in a tile that stays in the
first cache; from there they are scaled and rounded into the target, whatever its type and strides. Where a target
cannot hold sums of parts of the depth, because its type is narrow or updates are atomic, they are held in memory of the
thread. All of it takes up no more than about two megabytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from girih.back.llvm.cpu.collective.elements import Elements, Parts
from girih.back.llvm.cpu.collective.elementwise import axpby, sweep
from girih.back.llvm.cpu.collective.microkernel import accumulate, most_accumulators, multiply_add
from girih.back.llvm.cpu.collective.panels import ATTRIBUTES, Panels
from girih.back.llvm.cpu.collective.scaling import Scaling
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.text import ModuleText, Operand, Val, lanes, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import MemoryFrame
from girih.back.llvm.lower.collective.views import View
from girih.ir.types import BF16, F32, PARTS, Number
from girih.lazy_dataclass import dataclass

_VECTORS = 2
"""How many vectors of rows a tile has."""

_DEPTH_BYTES = 2048
"""The depth of a block, in bytes of one row."""

_BLOCK_BYTES = 400 << 10
"""A block of the first factor; it has to share the second cache."""

_WIDE_BYTES = 1600 << 10
"""A block of the second factor."""

_HELD_BYTES = 400 << 10
"""A block of the result that is held where the target cannot."""


@dataclass(frozen=True, slots=True)
class PackingPlan:
    """The sizes of tiles and blocks, in elements."""

    target: CpuTarget
    compute: Number
    pairs: bool
    rows: int
    columns: int
    depth: int
    block_rows: int
    block_columns: int

    @property
    def parts(self) -> int:
        return 2 if self.compute in PARTS else 1

    def panels(self, element: Number, *, first: bool) -> Panels:
        """How a factor with such elements is packed."""
        group = self.rows * self.parts // _VECTORS if first else 1
        return Panels(self.target, element, self.compute, self.rows if first else self.columns, group, self.pairs)


def takes_pairs(target: CpuTarget, compute: Number, a: View, b: View) -> bool:
    """Whether pairs of bf16 are multiplied by one instruction."""
    return target.dot_bf16 and compute == F32 and a.element == b.element == BF16


def plan(target: CpuTarget, compute: Number, a: View, b: View, held: bool) -> PackingPlan:
    """Sizes that suit the caches; no larger than matrices whose sizes are known."""
    parts = 2 if compute in PARTS else 1
    pairs = takes_pairs(target, compute, a, b)
    width = target.lanes_of(compute.size // parts)
    rows, columns = width * _VECTORS // parts, most_accumulators(target) // _VECTORS // parts
    unit = 4 if pairs else compute.size
    depth = _DEPTH_BYTES // unit * (2 if pairs else 1)
    steps = _DEPTH_BYTES // unit
    block_rows = max(_BLOCK_BYTES // (steps * unit) // rows, 1) * rows
    block_columns = max((_WIDE_BYTES // (steps * unit)) // columns, 1) * columns
    if held:
        block_columns = max(_HELD_BYTES // (block_rows * compute.size) // columns, 1) * columns
    (m, k), n = a.shape, b.shape[1]
    return PackingPlan(
        target,
        compute,
        pairs,
        rows,
        columns,
        _clamped(depth, k, 2),
        _clamped(block_rows, m, rows),
        _clamped(block_columns, n, columns),
    )


def _clamped(size: int, extent: Operand, step: int) -> int:
    """A size that is not larger than an extent, in whole steps; parts of equal size if the extent needs several."""
    if not isinstance(extent, int):
        return size
    count = max(-(-extent // size), 1)
    return min(size, max(-(-extent // (count * step)) * step, step))


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
        steps = self.first.steps(w, deep)
        name = product_function(w.module, sizes)
        tall, few = goal.shape
        pitch = w.mul(goal.strides[1], goal.element.size)
        with w.loop(0, few, sizes.columns) as columns, w.loop(0, tall, sizes.rows) as rows:
            a = w.at(self.block_a, w.mul(w.mul(rows.index, steps), self.first.unit))
            b = w.at(self.block_b, w.mul(w.mul(columns.index, steps), self.second.unit))
            extents = (w.sub(tall, rows.index), w.smaller(w.sub(few, columns.index), sizes.columns))
            part = _part(w, goal, (rows.index, columns.index), extents)
            w.run(name, steps, a, b, self.tile, part.pointer, pitch)
            if end.overwrite or end.complex:
                w.either(first, lambda: self._finish(part, end), lambda: self._finish(part, end.adding()))
            else:
                self._finish(part, end.where(first))

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


def product_function(module: ModuleText, sizes: PackingPlan) -> str:
    """The name of the function that multiplies a panel by a panel into a tile; written if it is not there."""
    name = f"girih.product.{sizes.compute}{'.pairs' if sizes.pairs else ''}.{sizes.rows}x{sizes.columns}"
    factors = "i64 %depth, ptr noalias readonly %a, ptr noalias readonly %b"
    parameters = f"{factors}, ptr noalias %tile, ptr %goal, i64 %pitch"
    header = f"define internal void @{name}({parameters}) {ATTRIBUTES}"
    if not any(text.startswith(header) for text in module.functions):
        w = Writer(module, header)
        _write_product(Elements(w, sizes.target, sizes.compute), sizes)
        w.ret()
        w.finish()
    return name


def _write_product(e: Elements, sizes: PackingPlan) -> None:
    """Two vectors of the first panel by as many numbers of the second as the registers allow."""
    w, columns = e.w, sizes.columns * sizes.parts
    a, b, tile, goal = (Val(f"%{name}", "ptr") for name in ("a", "b", "tile", "goal"))
    _prefetch(e, sizes, goal, Val("%pitch", "i64"))
    unit = "i32" if sizes.pairs else e.part
    vector = wide(unit, e.count)
    size = 4 if sizes.pairs else e.part_size

    def step(base: Operand, distance: int, values: Sequence[Val]) -> list[Val]:
        row = w.at(w.at(a, w.mul(base, _VECTORS * e.count * size)), distance * _VECTORS * e.count * size)
        column = w.at(w.at(b, w.mul(base, columns * size)), distance * columns * size)
        left = [w.load(vector, w.at(row, k * e.count * size), e.count * size) for k in range(_VECTORS)]
        right = [w.load(unit, w.at(column, k * size), size) for k in range(columns)]
        return (_pairs if sizes.pairs else multiply_add)(w, left, right, values)

    start = [zero(wide(e.part, e.count))] * (_VECTORS * columns)
    found = accumulate(w, Val("%depth", "i64"), start, step, len(start))
    for number, held in enumerate(_complete(e, sizes, found)):
        w.store(held, w.at(tile, number * e.count * e.part_size), e.part_size)


def _pairs(w: Writer, a: Sequence[Val], b: Sequence[Val], values: Sequence[Val]) -> list[Val]:
    """values + the products of pairs of bf16."""
    count = lanes(a[0].type)
    type = f"<{2 * count} x bfloat>"
    name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * count}"
    left = [w.convert("bitcast", x, type) for x in a]
    found = []
    for j, factor in enumerate(b):
        right = w.convert("bitcast", w.splat(factor, count), type)
        for i, one in enumerate(left):
            held = values[j * len(a) + i]
            found.append(w.intrinsic(name, held.type, held, one, right))
    return found


def _complete(e: Elements, sizes: PackingPlan, found: list[Val]) -> list[Val]:
    """The vectors of the tile: for complex numbers, products of parts are put together."""
    if sizes.parts == 1:
        return found
    held: list[Val] = []
    for j in range(sizes.columns):
        (rr, ir), (ri, ii) = found[4 * j : 4 * j + 2], found[4 * j + 2 : 4 * j + 4]
        held += [e.w.binary("fsub", rr, ii), e.w.binary("fadd", ri, ir)]
    return held


def _prefetch(e: Elements, sizes: PackingPlan, goal: Val, pitch: Val) -> None:
    """Ask for the target's lines, which are needed after the product."""
    w = e.w
    bytes = sizes.rows * sizes.compute.size
    with w.loop(0, sizes.columns) as loop:
        column = w.at(goal, w.mul(loop.index, pitch))
        for distance in (*range(0, bytes, 64), bytes - 1):
            w.prefetch(w.at(column, distance), write=True)
