"""Small matrix products of f16 and bf16 by `mma.sync`, of one work-group or of several side by side.

Factors are copied to shared memory as they are, 16 bytes at a time, in rows of an odd number of such pieces, so that
`ldmatrix` reads eight of them at once. A warp multiplies for all work-groups that have threads in it: where a product
has few bytes, it takes several to fill a warp. The columns of the target are the rows of `mma`, so that a thread has
neighbours of a column. Sums go back through shared memory in f32, from where each work-group takes its own, 16 bytes of
the target a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from girih.back.llvm.emit.text import Operand, Val, integer, wide, zero
from girih.back.llvm.lower.collective.views import View, computing
from girih.back.llvm.lower.one_lane.linalg.dealing import thread_count
from girih.back.llvm.lower.one_lane.linalg.target import ScaledTarget
from girih.back.llvm.nvptx.collective.copies import (
    FACTORS,
    CopiedFactor,
    copy,
    may_come_in_stages,
    wait_for_copies,
)
from girih.back.llvm.nvptx.collective.pieces import ACCESS, at_once, in_two_ways, result_piece, store_piece
from girih.back.llvm.nvptx.collective.products import aligned_target
from girih.back.llvm.nvptx.collective.tiles import BANKS, EDGE, FactorLayout
from girih.back.llvm.nvptx.machine.code import WARP, CudaCode
from girih.back.llvm.nvptx.matrix.instructions import instructions_for, multiplied
from girih.ir.types import BF16, F16, F32, Number
from girih.lazy_dataclass import dataclass

_SUM = 4
"""The bytes of a sum."""

_COPIED_BYTES = 64
"""The bytes of factors that a thread of a small product copies."""

_LEAST_THREADS = 4

_NEIGHBOURS, _FEW_PRODUCTS, _PRODUCTS = 4, 256, 4096
"""Targets that are the sums of so many products at least are computed by fragments: where four neighbours or more are
copied at once, and where they are not. Smaller ones take fewer instructions by tiles of threads."""

_TILES = 8
"""The tiles of 16 columns and 8 rows that a warp computes at once, four sums a thread each."""

_UNROLLED = 64
"""So many `mma` are written without a loop."""

_PIECES = 8
"""So many pieces of the target of a thread are written without a loop."""


@dataclass(frozen=True, slots=True)
class FragmentProduct:
    """A product of known sizes by fragments: its factors in shared memory, and how its target is shared out.

    The rows of the target, neighbours in memory, are the lines of `rows`; they are its columns where it is `turned`.
    """

    element: Number
    rows: FactorLayout
    columns: FactorLayout
    turned: bool

    @property
    def halves(self) -> int:
        """The groups of eight columns in a tile: a target of no more than eight has one."""
        return 1 if self.columns.lines <= EDGE else 2

    @property
    def tiles(self) -> tuple[int, int]:
        """The tiles of the target along its columns, and along its rows."""
        return -(-self.columns.lines // (EDGE * self.halves)), -(-self.rows.lines // EDGE)

    @property
    def block(self) -> tuple[int, int]:
        """The tiles that a warp computes at once: as many as divide them, with as few factors as can be."""
        across, down = (_divisors(number) for number in self.tiles)
        shapes = [(i, j) for i in across for j in down if i * j <= _TILES]
        return max(shapes, key=lambda shape: (shape[0] * shape[1], -2 * shape[0] - shape[1]))

    @property
    def blocks(self) -> tuple[int, int]:
        """The blocks along the columns, and along the rows."""
        return self.tiles[0] // self.block[0], self.tiles[1] // self.block[1]

    @property
    def threads(self) -> int:
        """The threads that suit a work-group: a part of a warp, or a warp for each block."""
        across, down = self.blocks
        if across * down > 1:
            return WARP * across * down
        pieces = (self.rows.lines + self.columns.lines) * self.rows.depth * self.rows.size // _COPIED_BYTES
        return max(_LEAST_THREADS, min(WARP, 1 << max(1, pieces).bit_length() - 1))

    def takes_turns(self, warps: int) -> bool:
        """Whether factors must stay while sums are written: by other warps, or before the next block."""
        return warps > 1 or self.blocks != (1, 1)

    @property
    def pitch(self) -> int:
        """The bytes from one column of the sums to the next: an odd number of 32, so that four lie in other banks."""
        return (self.tiles[1] | 1) * EDGE * _SUM

    @property
    def factor_bytes(self) -> int:
        return (self.rows.elements + self.columns.elements) * self.rows.size

    def bytes(self, warps: int) -> int:
        """The memory of a work-group: factors, and behind them sums, unless these take their place."""
        sums = self.tiles[0] * self.halves * EDGE * self.pitch
        return self.factor_bytes + sums if self.takes_turns(warps) else max(self.factor_bytes, sums)

    def packed_bytes(self, threads: int) -> int:
        """The memory of one of several work-groups side by side, whose begins are in different banks."""
        bytes = self.bytes(max(1, threads // WARP))
        return -(-bytes // BANKS) * BANKS + threads * ACCESS % BANKS


def _divisors(number: int) -> list[int]:
    return [one for one in range(1, number + 1) if number % one == 0]


def by_fragments(
    elements: tuple[Number, Number, Number], rows: FactorLayout, columns: FactorLayout, *, turned: bool
) -> FragmentProduct | None:
    """The product of factors for a target, of elements of these types, where `ldmatrix` can read them; else None."""
    a, b, c = elements
    if a != b or a not in (F16, BF16) or computing(c) != F32:
        return None
    runs = [one.depth if one.along_depth else one.lines for one in (rows, columns)]
    least = _PRODUCTS if any(run % _NEIGHBOURS for run in runs) else _FEW_PRODUCTS
    if rows.lines * columns.lines * rows.depth < least:
        return None
    rows, columns = (replace(one, size=a.size, for_fragments=True) for one in (rows, columns))
    return FragmentProduct(a, rows, columns, turned)


def write_fragments(code: CudaCode, product: FragmentProduct, target: ScaledTarget, a: View, b: View) -> None:
    """target := alpha a b + beta target, for matrices of known sizes."""
    w, left, right = code.w, a, b.turned(True)
    if product.turned:
        left, right, target = right, left, replace(target, view=target.view.turned(True))
    threads = thread_count(code)
    warps = max(1, threads // WARP)
    memory = code.own_array(FACTORS, product.bytes(warps))
    places = memory, w.at(memory, product.rows.elements * product.rows.size)
    layouts = product.rows, product.columns
    factors = [
        CopiedFactor(view, layout, at, as_is=True)
        for view, layout, at in zip((left, right), layouts, places, strict=True)
    ]
    # Past registers, what is written in rows with gaps between takes longer (measured on an H200).
    quick = all(one.run == one.layout.pitch for one in factors) and may_come_in_stages(factors, threads)
    stages = [product.rows.depth] if quick else []
    if product.rows.padded > product.rows.depth:
        # What lies behind the depth is multiplied, too, and might be NaN.
        _clear(code, memory, product.factor_bytes, threads)
        code.barrier()
    copy(code, target.numbers, factors, threads, stages)
    if stages:
        wait_for_copies(code, 0)
    code.barrier()
    sums = product.factor_bytes if product.takes_turns(warps) else 0
    _FragmentBlocks(code, product, _warp_of(code, memory), sums).write(warps)
    code.barrier()
    _StagedSums(code, product, target, w.at(memory, sums), threads).write()


def _clear(code: CudaCode, memory: Val, bytes: int, threads: int) -> None:
    """Let the threads fill memory, pieces of 16 bytes, with zeros."""
    w, pieces = code.w, bytes // ACCESS
    with w.loop(code.thread, pieces, threads) as loop:
        w.store(zero("<4 x i32>"), w.at(memory, w.mul(loop.index, ACCESS)), ACCESS)


@dataclass(frozen=True, slots=True)
class _SharedWarp:
    """A warp, and the work-groups that it computes together: the memory of the first, how many, how far apart."""

    number: Val
    lane: Val
    memory: Val
    count: int
    distance: int


def _warp_of(code: CudaCode, memory: Val) -> _SharedWarp:
    w, packing = code.w, code.packing
    if packing is None or packing.threads >= WARP:
        number = w.binary("lshr", code.thread, integer(WARP.bit_length() - 1))
        return _SharedWarp(number, w.binary("and", code.thread, integer(WARP - 1)), memory, 1, 0)
    count = WARP // packing.threads
    slot = w.binary("and", w.value(code.slot), integer(count - 1))
    lane = w.add(w.mul(slot, packing.threads), code.thread)
    return _SharedWarp(integer(0), lane, w.at(memory, w.mul(slot, -packing.bytes)), count, packing.bytes)


_Key = tuple[int, int, int]
"""A matrix that `ldmatrix` reads, by its work-group in the warp, its first line and step of the depth over eight."""


@dataclass(frozen=True, slots=True)
class _FragmentBlocks:
    """The blocks of sums that a warp computes, of factors in shared memory, which `sums` bytes follow on."""

    code: CudaCode
    product: FragmentProduct
    warp: _SharedWarp
    sums: int

    def write(self, warps: int) -> None:
        """Write the blocks of all warps."""
        w, (across, down) = self.code.w, self.product.blocks
        blocks, number = across * down, self.warp.number

        def block(number: Val) -> None:
            self._block(w.binary("urem", number, integer(across)), w.binary("udiv", number, integer(across)))

        if blocks > warps:
            with w.loop(number, blocks, warps) as loop:
                block(loop.index)
        elif blocks == warps:
            block(number if warps > 1 else integer(0))
        else:
            with w.when(w.compare("slt", number, blocks)):
                block(number)

    def _block(self, column: Val, row: Val) -> None:
        """Compute the sums of a block, and bring them to shared memory."""
        w, product, (across, down) = self.code.w, self.product, self.product.block
        width = across * product.halves
        begins = [
            w.at(self.warp.memory, w.add(begin, w.mul(block, count * EDGE * layout.offset(1, 0))))
            for begin, block, count, layout in (
                (product.rows.elements * product.rows.size, column, width, product.columns),
                (0, row, down, product.rows),
            )
        ]
        held = self._sums(begins[0], begins[1])
        if self.sums == 0:
            self.code.barrier()
        group, pair = w.binary("lshr", self.warp.lane, integer(2)), w.binary("and", self.warp.lane, integer(3))
        begin = w.add(w.mul(group, product.pitch), w.mul(pair, 2 * _SUM))
        begin = w.add(begin, w.mul(column, width * EDGE * product.pitch))
        begin = w.add(begin, w.mul(row, down * EDGE * _SUM))
        place = w.at(self.warp.memory, w.add(begin, self.sums))
        for (own, i, j), four in held.items():
            for half in range(product.halves):
                there = (i * product.halves + half) * EDGE * product.pitch + j * EDGE * _SUM
                goal = w.at(place, own * self.warp.distance + there)
                w.store(w.join(four[2 * half : 2 * half + 2]), goal, 2 * _SUM)

    def _sums(self, left: Val, right: Val) -> dict[_Key, Sequence[Val]]:
        """The sums of the tiles of a block by work-group and tile, of factors that begin at these places."""
        w, depth = self.code.w, self.product.rows.padded
        across, down = self.product.block
        keys = [(own, i, j) for own in range(self.warp.count) for i in range(across) for j in range(down)]
        sums = [zero("float")] * (4 * len(keys))
        step, looped = 2 * EDGE, 0
        if len(keys) * depth > _UNROLLED * step:
            looped = depth // step * step
            with w.loop(0, looped, step, sums) as loop:
                places = [
                    w.at(place, w.mul(loop.index, layout.offset(0, 1)))
                    for place, layout in ((left, self.product.columns), (right, self.product.rows))
                ]
                loop.following = self._added(keys, places[0], places[1], range(0, step, step), loop.values)
            sums = list(loop.results)
        sums = self._added(keys, left, right, range(looped, depth, step), sums)
        return {key: sums[4 * number : 4 * number + 4] for number, key in enumerate(keys)}

    def _added(self, keys: Sequence[_Key], left: Val, right: Val, steps: range, sums: Sequence[Val]) -> list[Val]:
        """The sums with the products of some steps of the depth added."""
        code, product, (across, down) = self.code, self.product, self.product.block
        whole, *_ = instructions_for(product.element, product.element, F32, code.capability)
        short = replace(whole, shape="m16n8k8", pieces=1)
        found = list(sums)
        for begin in steps:
            pieces = range(begin // EDGE, min(begin + steps.step, product.rows.padded) // EDGE)
            instruction = whole if len(pieces) == whole.pieces else short
            a = self._read(left, product.columns, across * product.halves, pieces)
            b = self._read(right, product.rows, down, pieces)
            for number, (own, i, j) in enumerate(keys):
                lines = [i * product.halves + half for half in range(product.halves)]
                first = [
                    a[own, lines[side], piece] if side < len(lines) else integer(0, "i32")
                    for piece in pieces
                    for side in range(2)
                ]
                second = [b[own, j, piece] for piece in pieces]
                held = multiplied(code.w, instruction, first, second, found[4 * number : 4 * number + 4])
                found[4 * number : 4 * number + 4] = held
        return found

    def _read(self, place: Val, layout: FactorLayout, lines: int, pieces: range) -> dict[_Key, Val]:
        """The registers of the matrices of a factor for some lines over eight, of all work-groups."""
        keys = [(own, line, piece) for own in range(self.warp.count) for piece in pieces for line in range(lines)]
        offsets = [own * self.warp.distance + layout.offset(line * EDGE, piece * EDGE) for own, line, piece in keys]
        found: list[Val] = []
        while len(found) < len(keys):
            some = offsets[len(found) :][:4]
            # The places of four must be those of two, twice.
            if len(some) < 4 or some[3] - some[2] != some[1] - some[0]:
                some = some[:2]
            found += self._loaded(place, layout, some)
        return dict(zip(keys, found, strict=True))

    def _loaded(self, place: Val, layout: FactorLayout, offsets: Sequence[int]) -> list[Val]:
        """One, two or four matrices: each eight threads of a warp give the addresses of the rows of one."""
        w, lane, count = self.code.w, self.warp.lane, len(offsets)
        row = layout.offset(1, 0) if layout.along_depth else layout.offset(0, 1)
        here = w.mul(w.binary("and", lane, integer(EDGE - 1)), row)
        for bit, other in enumerate(offsets[1:3]):
            side = w.binary("and", w.binary("lshr", lane, integer(3 + bit)), integer(1))
            here = w.add(here, w.mul(side, other - offsets[0]))
        at = w.at(w.at(place, here), offsets[0])
        types = ["i32"] * count
        result = "i32" if count == 1 else f"{{ {', '.join(types)} }}"
        turned = "" if layout.along_depth else ".trans"
        name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}{turned}.b16.p3"
        self.code.module.declare(name, result, (at.type,))
        held = w.effect(result, f"call {result} @{name}({at})")
        return [held] if count == 1 else [w.field(held, number, "i32") for number in range(count)]


@dataclass(frozen=True, slots=True)
class _StagedSums:
    """The way from sums in shared memory to the target; each thread of the work-group takes pieces of columns."""

    code: CudaCode
    product: FragmentProduct
    target: ScaledTarget
    sums: Val
    threads: int

    def write(self) -> None:
        """Write the target, unless the work-group is none."""
        if self.code.beyond is None:
            self._write()
            return
        with self.code.w.when(self.code.w.negated(self.code.beyond)):
            self._write()

    def _write(self) -> None:
        count = at_once(self.target.view.element, self.product.rows.lines)
        aligned = aligned_target(self.code, self.target, count)
        in_two_ways(self.code, aligned, lambda: self._together(count), self._apart)

    def _together(self, count: int) -> None:
        """Pieces of `count` neighbours, all of them read before the first one is written."""
        w, rows = self.code.w, self.product.rows.lines // count
        total = rows * self.product.columns.lines
        steps, left = divmod(total, self.threads)

        def piece(number: Val) -> Callable[[], None]:
            row, column = w.mul(w.binary("urem", number, integer(rows)), count), w.binary("udiv", number, integer(rows))
            held = w.load(wide("float", count), self._place(row, column), min(ACCESS, count * _SUM))
            goal = self.target.view.address(w, row, column)
            result = result_piece(self.target, held, goal, count)
            return lambda: store_piece(self.target, result, goal, count)

        if steps > _PIECES:
            with w.loop(self.code.thread, total, self.threads) as loop:
                piece(loop.index)()
            return
        for store in [piece(w.add(self.code.thread, step * self.threads)) for step in range(steps)]:
            store()
        if left:
            with w.when(w.compare("slt", self.code.thread, left)):
                piece(w.add(self.code.thread, steps * self.threads))()

    def _apart(self) -> None:
        """Element by element, in short code."""
        w, rows = self.code.w, self.product.rows.lines
        total = self.code.writer.unknown(rows * self.product.columns.lines)
        with w.loop(self.code.thread, total, self.threads) as loop:
            row, column = (w.binary(name, loop.index, integer(rows)) for name in ("urem", "udiv"))
            held = w.load("float", self._place(row, column), _SUM)
            self.target.write((held,), row, column)

    def _place(self, row: Operand, column: Operand) -> Val:
        """The address of a sum."""
        w = self.code.w
        return w.at(self.sums, w.add(w.mul(row, _SUM), w.mul(column, self.product.pitch)))
