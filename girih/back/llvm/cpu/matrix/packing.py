"""Factors of large products, copied into the workspace as the product reads them.

A factor whose columns lie far apart in memory has each of them on a page of its own, and often all of them in the same
set of the cache. A product whose result has many blocks reads each of its numbers many times, so a copy pays: the
factor that gives vectors goes into panels, as many rows wide as a block, depth by depth; the other one keeps its order,
with its lines close together. Numbers are converted to the type of the sums on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.bf16_pairs import Factor
from girih.back.llvm.cpu.matrix.states import InMemory, MatrixPiece, Reference, known, line_bytes, new_tile
from girih.back.llvm.cpu.matrix.transpose import move_in
from girih.back.llvm.emit.text import Operand, Val, integer, scalar, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers import casts
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import memory_type, register
from girih.ir.types import PARTS, CoopMatrix, Number
from girih.lazy_dataclass import dataclass

_LEAST_READS = 4
"""How many blocks must read a number of the factor that gives vectors for its copy to pay."""

_LEAST_DEPTH = 16
"""The least depth for which copies pay."""

_AHEAD = 4
"""How many lines ahead memory is asked for: each may begin on another page."""

_FORESEEN = 512
"""How many bytes of a line are asked for; more of it is foreseen by the hardware."""

_WRITTEN_OUT = 8
"""How many copies of vectors stand in a row without a loop."""


def pays(type: CoopMatrix, total: Number, depth: int, block: tuple[int, int]) -> bool:
    """Whether the factors of a product are read often enough, by blocks of some rows and columns."""
    rows, columns = block
    often = 2 * type.rows >= _LEAST_READS * rows and type.columns >= _LEAST_READS * columns
    return often and depth >= _LEAST_DEPTH and type.columns >= 64 and total not in PARTS


# --- copies ------------------------------------------------------------------------------------


def has_neighbours(found: Reference) -> bool:
    """Whether rows or columns are neighbours in memory, so that a copy is made of vectors."""
    return found.type.component.size in (known(found.row_stride), known(found.column_stride))


def vectors(code: CpuCode, found: Reference, total: Number, width: int, ends: ProductEnds | None) -> Factor:
    """A factor with neighbours in panels of `width` rows."""
    type, (rows, depth) = found.type, found.type.shape
    panels, panel_bytes = -(-rows // width), width * depth * total.size
    pointer = code.take(panels * panel_bytes)
    size = type.component.size
    if known(found.row_stride) == size:
        _fill_panels(code, found, total, width, pointer, ends)
    elif type.component == total and rows % width == 0 and line_bytes(replace(type, rows=width)) == width * size:
        _turn_into_panels(code, found, width, pointer, ends)
    else:
        tile = new_tile(code, type)
        move_in(code, found.pointer, found.row_stride, found.column_stride, tile)
        _fill_panels(code, Reference(type, tile.pointer, size, line_bytes(type)), total, width, pointer, ends)
    own = CoopMatrix(total, rows, depth, type.use)
    return Factor(own, pointer, total.size, width * total.size, panel_stride=depth * total.size)


def _fill_panels(
    code: CpuCode, found: Reference, total: Number, width: int, pointer: Val, ends: ProductEnds | None
) -> None:
    """Fill panels from columns of neighbours."""
    w, (rows, depth), element = code.w, found.type.shape, found.type.component
    whole = rows // width
    with w.loop(0, depth if ends is None else ends.depth) as loop:
        line = w.at(found.pointer, w.mul(loop.index, found.column_stride))
        _ask_for(code, w.at(line, w.mul(found.column_stride, _AHEAD)), rows * element.size)
        to = w.at(pointer, w.mul(loop.index, width * total.size))

        def panel(number: Operand, count: int) -> None:
            source = w.at(line, w.mul(w.value(number), width * element.size))
            _copy(code, source, w.at(to, w.mul(w.value(number), width * depth * total.size)), count, element, total)

        if whole * width * total.size <= _WRITTEN_OUT * code.target.vector_bytes:
            for number in range(whole):
                panel(number, width)
        else:
            with w.loop(0, whole) as panels:
                panel(panels.index, width)
        if rows % width:
            panel(whole, rows % width)


def _turn_into_panels(code: CpuCode, found: Reference, width: int, pointer: Val, ends: ProductEnds | None) -> None:
    """Fill panels, of which none is narrower, from rows of neighbours that are transposed in registers."""
    w, type = code.w, found.type
    with w.loop(0, type.rows if ends is None else ends.rows, width) as loop:
        tile = InMemory(replace(type, rows=width), w.at(pointer, w.mul(loop.index, type.columns * type.component.size)))
        source = w.at(found.pointer, w.mul(loop.index, found.row_stride))
        move_in(code, source, found.row_stride, found.column_stride, tile)


def scalars(code: CpuCode, found: Reference, total: Number, ends: ProductEnds | None) -> Factor:
    """A factor with neighbours in the order that it has."""
    w, type, size = code.w, found.type, found.type.component.size
    upright = known(found.row_stride) == size
    length, lines = type.shape if upright else type.shape[::-1]
    stride = found.column_stride if upright else found.row_stride
    # Lines that begin in the same set of the cache would drive out one another.
    pitch = -(-length * total.size // 64) * 64 + 64
    pointer = code.take(lines * pitch)
    end: Operand = lines
    if ends is not None:
        end = w.smaller(ends.lines(w), lines) if upright else ends.depth
    with w.loop(0, end) as loop:
        line = w.at(found.pointer, w.mul(loop.index, stride))
        _ask_for(code, w.at(line, w.mul(stride, _AHEAD)), length * size)
        _copy(code, line, w.at(pointer, w.mul(loop.index, pitch)), length, type.component, total)
    strides = (total.size, pitch) if upright else (pitch, total.size)
    return Factor(CoopMatrix(total, *type.shape, type.use), pointer, *strides)


def _ask_for(code: CpuCode, line: Val, bytes: int) -> None:
    """Ask for the beginning of a line that is copied later."""
    for distance in range(0, min(bytes, _FORESEEN), 64):
        code.w.prefetch(code.w.at(line, distance))


def _copy(code: CpuCode, source: Val, to: Val, count: int, element: Number, total: Number) -> None:
    """Copy neighbours, converted to the type of the sums."""
    w, features = code.w, code.target.features

    def piece(start: Operand, number: int) -> None:
        there, here = (w.at(p, w.mul(w.value(start), n.size)) for p, n in ((source, element), (to, total)))
        held = w.load(wide(memory_type(element), number), there, element.size)
        if element != total:
            held = to_memory(w, features, total, _converted(code, held, element, total))
        w.store(held, here, total.size)

    _each(code, count, code.target.lanes_of(total.size), piece)


def _converted(code: CpuCode, held: Val, element: Number, total: Number) -> Val:
    """Numbers as they lie in memory, converted to the type of the sums."""
    features = code.target.features
    return casts.cast(code.w, features, element, total, (from_memory(code.w, features, element, held),))[0]


def _each(code: CpuCode, count: int, step: int, body: Callable[[Operand, int], None]) -> None:
    """Go over neighbours in whole vectors, in a loop where they are many, and then in halves of them."""
    at_once = step * (_WRITTEN_OUT // 2)
    looped = count // at_once * at_once if count > 2 * at_once else 0
    if looped:
        with code.w.loop(0, looped, at_once) as loop:
            for start in range(0, at_once, step):
                body(code.w.add(loop.index, start), step)
    start = looped
    while start < count:
        number = min(step, 1 << (count - start).bit_length() - 1)
        body(start, number)
        start += number


# --- ends --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProductEnds:
    """Where a product ends whose factors lie partly outside of their memory, and are zero there.

    Beyond `rows` and `columns` nothing is added to the third matrix, and factors need no copy but for whole blocks, of
    `width` columns; `depth` is that of the sums before them.
    """

    rows: Operand
    columns: Operand
    depth: Val
    width: int

    def depth_of(self, w: Writer, at: MatrixPiece) -> Val:
        """The depth of the block that begins at a piece."""
        there = w.both(w.compare("slt", at.start, self.rows), w.compare("slt", at.line, self.columns))
        assert there is not None
        return w.select(there, self.depth, integer(0))

    def lines(self, w: Writer) -> Val:
        """The end of the columns in blocks that begin before the end."""
        blocks = w.binary("udiv", w.add(self.columns, self.width - 1), self.width)
        return w.mul(blocks, self.width)


def ends(code: CpuCode, a: Reference, b: Reference, total: Number, block: tuple[int, int]) -> ProductEnds | None:
    """What is to be computed of a product of factors with neighbours; None for all of it.

    A row of zeros adds zeros only where the other factor is finite: that is looked at where it saves a block.
    """
    w = code.w
    if a.ends is None or b.ends is None:
        return None
    rows, columns = a.type.rows, b.type.columns
    deep = w.larger(a.ends[1], b.ends[0])
    row_end = _end(code, a.ends[0], rows, block[0], b, total)
    column_end = _end(code, b.ends[1], columns, block[1], a, total)
    return ProductEnds(row_end, column_end, deep, block[1])


def _end(code: CpuCode, end: Val, size: int, block: int, other: Reference, total: Number) -> Operand:
    """The end of the rows, or columns, that are computed: those that are there, if the other factor is finite."""
    w = code.w
    if scalar(register(total))[0] == "i":
        return end
    saves = w.compare("sle", end, size - block)
    return w.either(saves, lambda: [_end_if_finite(code, end, size, other, total)], lambda: [integer(size)], rare=True)[
        0
    ]


def _end_if_finite(code: CpuCode, end: Val, size: int, other: Reference, total: Number) -> Val:
    """The end, if no number of the other factor times zero is other than zero."""
    w, number = code.w, other.type.component
    step = code.target.lanes_of(total.size)
    upright = known(other.row_stride) == number.size
    length, stride = other.type.shape[0 if upright else 1], other.column_stride if upright else other.row_stride
    assert other.ends is not None
    lines = other.ends[1 if upright else 0]

    def moved(line: Val, start: Operand, count: int, sums: Val) -> Val:
        place = w.at(line, w.mul(w.value(start), number.size))
        held = _converted(code, w.load(wide(memory_type(number), count), place, number.size), number, total)
        return w.fma(w.splat(held, step), zero(sums.type), sums)

    whole = length - length % step
    with w.loop(0, lines, 1, [zero(wide(register(total), step))]) as loop:
        line = w.at(other.pointer, w.mul(loop.index, stride))
        with w.loop(0, whole, step, loop.values) as inner:
            inner.following = [moved(line, inner.index, step, inner.values[0])]
        (sums,) = inner.results
        for start in range(whole, length):
            sums = moved(line, start, 1, sums)
        loop.following = [sums]
    (found,) = loop.results
    return w.select(w.all(w.compare("ord", found, found)), end, integer(size))
