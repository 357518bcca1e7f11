"""Matrix products of a work-group, c := alpha op1(a) op2(b) + beta c, by copies of their factors in shared memory.

Factors of known sizes that fit are copied whole (`small`). Of others a block of the target is computed at a time, from
blocks of the factors (`girih.back.llvm.nvptx.collective.blocks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.collective.views import View, computing
from girih.back.llvm.lower.one_lane.linalg.dealing import thread_count
from girih.back.llvm.lower.one_lane.linalg.target import ScaledTarget
from girih.back.llvm.nvptx.collective.blocks import BlockLayout, write_in_blocks
from girih.back.llvm.nvptx.collective.copies import (
    FACTORS,
    CopiedFactor,
    copy,
    may_come_in_stages,
    wait_for_copies,
)
from girih.back.llvm.nvptx.collective.fragments import FragmentProduct, by_fragments
from girih.back.llvm.nvptx.collective.pieces import PLAIN
from girih.back.llvm.nvptx.collective.products import (
    SharedFactor,
    depth_at_once,
    no_sums,
    tile_pieces,
    tile_sums,
    write_tile,
)
from girih.back.llvm.nvptx.collective.tiles import BANKS, FactorLayout, ProductTiling, tiling
from girih.back.llvm.nvptx.collective.tiles import thread_count as threads_for
from girih.back.llvm.nvptx.machine.code import WARP, CudaCode
from girih.ir.core import Function
from girih.ir.types import Extent, MemRef, Number
from girih.lazy_dataclass import dataclass
from girih.ops.tile.linalg import Gemm
from girih.ops.tile.memory import Alloca

FACTOR_BYTES = 64 * 1024
"""The memory that factors are copied to whole."""

_STAGES, _LONG_STAGES = 4, 2
"""The parts of the depth of a large product, of which one is multiplied while the next is on its way; and those where a
thread has so many sums that the code of more is too long (measured on an H200)."""

_MANY_SUMS = 48

_LEFT_BYTES = 8 * 1024
"""The shared memory that is left for what else a kernel shares."""


@dataclass(frozen=True, slots=True)
class SmallProduct:
    """A product of factors of known sizes, whose copies fit: its layouts, and whether it is computed as its transpose.

    The target then has neighbours along its rows: its transpose is the product of the transposes of the factors, the
    right one first.
    """

    rows: FactorLayout
    columns: FactorLayout
    turned: bool

    @property
    def threads(self) -> int:
        """The threads that suit a work-group."""
        return threads_for(self.tiling(None).tiles)

    def packed_bytes(self, threads: int) -> int:
        """The memory of one of several work-groups side by side: where several read at once, the begins of theirs are
        in different banks."""
        return self.bytes if threads >= WARP else -(-self.bytes // BANKS) * BANKS + BANKS // 4

    @property
    def bytes(self) -> int:
        """The memory of the copies."""
        return -(-(self._left + self.columns.elements * self.columns.size) // 16) * 16

    @property
    def _left(self) -> int:
        return -(-self.rows.elements * self.rows.size // 16) * 16

    def tiling(self, threads: int | None) -> ProductTiling:
        """The tiles of so many threads, or of as many as suit."""
        return tiling(self.rows, self.columns, threads)

    def places(self, code: CudaCode, memory: Val) -> tuple[Val, Val]:
        """The begins of the copies in memory."""
        return memory, code.w.at(memory, self._left)


def small_product(op: Gemm) -> SmallProduct | None:
    """How a product is computed whose types tell its sizes; None for others, and for complex numbers."""
    layouts = _layouts(op)
    made = None if layouts is None else SmallProduct(*layouts, turned=_is_turned(op))
    return made if made is not None and made.bytes <= FACTOR_BYTES else None


def fragment_product(op: Gemm) -> FragmentProduct | None:
    """How a product is computed by `mma` whose types tell its sizes; None for others."""
    layouts = _layouts(op)
    if layouts is None:
        return None
    types = [one.type.element for one in (op.a, op.b, op.c) if isinstance(one.type, MemRef)]
    made = by_fragments((types[0], types[1], types[2]), *layouts, turned=_is_turned(op))
    return made if made is not None and made.factor_bytes <= FACTOR_BYTES else None


def _is_turned(op: Gemm) -> bool:
    assert isinstance(op.c.type, MemRef)
    return turns(op.c.type.strides)


def _layouts(op: Gemm) -> tuple[FactorLayout, FactorLayout] | None:
    """The factors in the type in which a product is computed, that with the rows of the target first, or with its
    columns if it is turned; None if its types do not tell all sizes, or for numbers that are not multiplied here."""
    a, b, c = op.a.type, op.b.type, op.c.type
    assert isinstance(a, MemRef) and isinstance(b, MemRef) and isinstance(c, MemRef)
    if not computes(a.element, b.element, c.element):
        return None
    left, right = _turned(a, op.transpose_a), _turned(b, op.transpose_b)
    m, n, k = (
        _known(*pair) for pair in ((left[0][0], c.shape[0]), (right[0][1], c.shape[1]), (left[0][1], right[0][0]))
    )
    if m is None or n is None or k is None or 0 in (m, n, k):
        return None
    size = computing(c.element).size
    rows = FactorLayout(m, k, size, along_depth=_along(left[1]))
    columns = FactorLayout(n, k, size, along_depth=not _along(right[1]))
    return (columns, rows) if turns(c.strides) else (rows, columns)


def computes(*elements: Number) -> bool:
    """Whether products of such elements for such a target are computed here."""
    return all(one in PLAIN for one in elements)


def turns(strides: tuple[object, ...]) -> bool:
    """Whether a target is computed as its transpose, as only its rows have neighbours."""
    return strides[0] != 1 and strides[1] == 1


def _turned(type: MemRef, transpose: bool) -> tuple[tuple[Extent, ...], tuple[Extent, ...]]:
    return (type.shape[::-1], type.strides[::-1]) if transpose else (type.shape, type.strides)


def _known(a: Extent, b: Extent) -> int | None:
    return b if a is None else a


def _along(strides: tuple[Extent, ...]) -> bool:
    """Whether a matrix has neighbours along its rows only."""
    return turns(strides)


def shared_bytes_left(code: CudaCode, name: str) -> int:
    """The shared memory for the array of a name, which local memory of the kernel and other arrays leave."""
    others = sum(size for other, size in code.arrays.items() if other != name)
    return code.architecture.shared_bytes - _LEFT_BYTES - _allocated(code.function) - others


def _allocated(function: Function) -> int:
    total = 0
    for op in function.walk():
        if isinstance(op, Alloca) and isinstance(op.result.type, MemRef):
            count = 1
            for extent in op.result.type.shape:
                count *= extent or 1
            total += count * op.result.type.element.size + 1024
    return total


def write_small(code: CudaCode, product: SmallProduct, target: ScaledTarget, a: View, b: View) -> None:
    """target := alpha a b + beta target, for matrices of known sizes."""
    w, n = code.w, target.numbers
    left, right = a, b.turned(True)
    if product.turned:
        left, right, target = right, left, replace(target, view=target.view.turned(True))
    threads = thread_count(code)
    tiles = product.tiling(None if code.packing is not None else threads)
    memory = code.own_array(FACTORS, product.bytes)
    places = product.places(code, memory)
    layouts = product.rows, product.columns
    factors = [
        CopiedFactor(view, layout, at, as_is=view.element == n.compute)
        for view, layout, at in zip((left, right), layouts, places, strict=True)
    ]
    stages = _stages(product, tiles, factors, threads)
    copy(code, n, factors, threads, stages)
    if not stages:
        code.barrier()

    def tile(number: Val) -> None:
        down = tiles.rows.threads
        row, column = w.binary("urem", number, w.value(down)), w.binary("udiv", number, w.value(down))
        mine = SharedFactor(layouts[0], tiles.rows, places[0], row)
        its = SharedFactor(layouts[1], tiles.columns, places[1], column)
        sums: Sequence[Val] = no_sums(n, tiles)
        if not stages:
            sums = tile_sums(code, n, mine, its, sums)
        for left, steps in enumerate(zip((0, *stages), stages, strict=False), 1 - len(stages)):
            wait_for_copies(code, -left)
            code.barrier()
            sums = tile_sums(code, n, mine, its, sums, steps)
        write_tile(code, target, tile_pieces(code, mine, its, sums), mine.lines.piece)

    if tiles.tiles > threads:
        with w.loop(code.thread, tiles.tiles, threads) as loop:
            tile(loop.index)
    elif tiles.tiles == threads:
        tile(code.thread)
    else:
        with w.when(w.compare("slt", code.thread, tiles.tiles)):
            tile(code.thread)


def _stages(product: SmallProduct, tiles: ProductTiling, factors: Sequence[CopiedFactor], threads: int) -> list[int]:
    """The ends of the ranges of the depth in which factors are copied past registers; none where that is slower: where
    not every thread of whole warps has a tile."""
    if threads < WARP or tiles.tiles != threads or not may_come_in_stages(factors, threads):
        return []
    chunk, depth = depth_at_once(product.rows, product.columns, tiles.sums), product.rows.depth
    if chunk is None:
        return [depth]
    stages = _LONG_STAGES if tiles.sums > _MANY_SUMS else _STAGES
    step = -(-depth // (stages * chunk)) * chunk
    return [*range(step, depth, step), depth]


def block_layout(code: CudaCode, target: View, a: View, b: View) -> BlockLayout | None:
    """The blocks of a product of any sizes; None for numbers that are not multiplied here, or without room."""
    if not computes(a.element, b.element, target.element):
        return None
    along = turns(a.strides), not turns(b.strides)
    size = computing(target.element).size
    made = BlockLayout.of(size, along[::-1] if turns(target.strides) else along, thread_count(code))
    return made if made.bytes <= shared_bytes_left(code, FACTORS) else None


def write_large(code: CudaCode, layout: BlockLayout, target: ScaledTarget, a: View, b: View) -> None:
    """target := alpha a b + beta target, for matrices of any sizes."""
    left, right = a, b.turned(True)
    if turns(target.view.strides):
        left, right, target = right, left, replace(target, view=target.view.turned(True))
    write_in_blocks(code, layout, target, left, right, code.own_array(FACTORS, layout.bytes))
