"""Tiles of memrefs: where they lie, which of their elements are there, and their way into the workspace and back.

Every access is checked as a whole: two comparisons per mode, whatever the size of the tile. A checked access takes the
same way as an unchecked one where the tile lies wholly inside; otherwise elements outside are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd

from girih.back.llvm.addresses import Extent, as_extent, as_scalar
from girih.back.llvm.cpu.access import check_null
from girih.back.llvm.cpu.lowering import Lowering
from girih.back.llvm.cpu.matrix import (
    Columns,
    InMemory,
    Matrix,
    Parts,
    Piece,
    Reference,
    Unloaded,
    Walk,
    address,
    known,
    length,
    line_bytes,
    line_count,
    new_tile,
    part,
    part_count,
    plane_bytes,
    read_tile,
    to_tile,
    turned,
    write_tile,
    zero_parts,
)
from girih.back.llvm.rounding import from_memory, to_memory
from girih.back.llvm.text import Operand, Val, integer, lanes, wide, zero
from girih.back.llvm.values import MemRefHeld, Scalar, index, memory_type
from girih.back.llvm.writer import Writer
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix
from girih.ops.coopmatrix import Access

_BLOCK = 8


@dataclass(frozen=True, slots=True)
class Window:
    """A tile of a memref, in the rows and columns of the matrix.

    `pointer` is that of component (0, 0); strides are in bytes. `inside` says at run time whether all of the tile is
    there, None where it must be; the components from (first_row, first_column) up to (end_row, end_column) are.
    """

    type: CoopMatrix
    pointer: Val
    row_stride: Operand
    column_stride: Operand
    inside: Val | None
    first_row: Val
    end_row: Val
    first_column: Val
    end_column: Val

    @property
    def along(self) -> Operand:
        """The distance of neighbours in a line."""
        return self.column_stride if turned(self.type) else self.row_stride

    @property
    def across(self) -> Operand:
        """The distance of lines."""
        return self.row_stride if turned(self.type) else self.column_stride

    @property
    def contiguous(self) -> bool:
        """Whether the components of a line are neighbours."""
        return known(self.along) == self.type.component.size or length(self.type) == 1

    @property
    def line_range(self) -> tuple[Val, Val, Val, Val]:
        """First and end of the lines that are there, and of the components in them."""
        rows, columns = (self.first_row, self.end_row), (self.first_column, self.end_column)
        return (*rows, *columns) if turned(self.type) else (*columns, *rows)


# --- what a subgroup shares --------------------------------------------------------------------


def together(l: Lowering, op: Op) -> None:
    """Find an instruction that only some work-items of the subgroup meet."""
    if l.mask is None:
        return
    w = l.w
    bad = w.splat(w.negated(w.all(l.mask)), l.lanes)
    l.check(op, bad, "run.divergent", f"`{op.spec.mnemonic}` is met by some work-items of the subgroup only")


def shared_scalar(l: Lowering, op: Op, name: str, held: Scalar, argument: str | None = None) -> Parts:
    """A number that the work-items share, the first active one's; a finding where they do not."""
    if held.uniform:
        return held.parts
    w = l.w
    first = l.one(held)
    for one, many in zip(first, l.vector(held), strict=True):
        spread = w.splat(one, l.lanes)
        if "float" in many.type or "double" in many.type:
            differs = w.binary("and", w.compare("une", many, spread),
                               w.binary("or", w.compare("ord", many, many), w.compare("ord", spread, spread)))  # fmt: skip
        else:
            differs = w.compare("ne", many, spread)
        message = f"`{name}` of `{op.spec.mnemonic}` differs between the work-items of a subgroup"
        l.check(op, differs, "run.not_uniform", message, argument=argument)
    return first


def shared_operand(l: Lowering, op: Op, name: str) -> Parts:
    """A scalar operand that the work-items share."""
    value: Value = getattr(op, name)
    return shared_scalar(l, op, name, l.scalar(value), value.name)


def shared_memref(l: Lowering, op: Op, name: str, held: MemRefHeld, argument: str | None) -> MemRefHeld:
    """A memref that the work-items share."""
    if held.uniform:
        return held

    def one(extent: Extent) -> Extent:
        if isinstance(extent, int):
            return extent
        return as_extent(index(shared_scalar(l, op, name, extent, argument)[0]))

    pointer = held.pointer if lanes(held.pointer.type) == 1 else l.w.extract(held.pointer, l.first_lane())
    limit = held.limit
    if limit is not None and lanes(limit.type) > 1:
        limit = l.w.extract(limit, l.first_lane())
    return MemRefHeld(
        held.type, pointer, as_scalar(one(held.offset)), tuple(map(one, held.shape)), tuple(map(one, held.strides)),
        held.name, held.align, limit, held.maybe_null,
    )  # fmt: skip


# --- windows -----------------------------------------------------------------------------------


def window_of(l: Lowering, op: Access, memory: Value, row: Value, column: Value, type: CoopMatrix) -> Window:
    """The tile that an instruction accesses, checked."""
    together(l, op)
    memref = shared_memref(l, op, "memory", l.memref(memory), memory.name)
    check_null(l, op, memref)
    position = [shared_operand(l, op, "row")[0], shared_operand(l, op, "column")[0]]
    sizes = [as_scalar(s).part for s in memref.shape]
    strides = list(memref.strides)
    if op.transpose:
        position, sizes, strides = position[::-1], sizes[::-1], strides[::-1]
    return _Bounds(l, op, memref, position, sizes, strides, type).window()


class _Bounds:
    """What is inside of a tile: in the order rows, columns of the matrix."""

    def __init__(
        self,
        l: Lowering,
        op: Access,
        memref: MemRefHeld,
        position: list[Val],
        sizes: list[Val],
        strides: list[Extent],
        type: CoopMatrix,
    ) -> None:
        self.l, self.op, self.memref, self.type = l, op, memref, type
        self.position, self.sizes = position, sizes
        self.strides: list[Operand] = [s if isinstance(s, int) else s.part for s in strides]
        self.checked = (op.checked.rows, op.checked.columns)
        self.inside = [self._inside(k) for k in range(2)]

    def _inside(self, mode: int) -> Val:
        """Whether all rows, or all columns, are there."""
        w = self.l.w
        last = w.sub(self.sizes[mode], self.type.shape[mode])
        start = self.position[mode]
        return w.binary("and", w.compare("sge", start, 0), w.compare("sle", start, last))

    def _range(self, mode: int) -> tuple[Val, Val]:
        """The first row or column that is there, and the end of them."""
        w = self.l.w
        extent = self.type.shape[mode]
        first = w.larger(w.sub(0, self.position[mode]), 0)
        end = w.smaller(w.sub(self.sizes[mode], self.position[mode]), extent)
        return w.smaller(first, extent), w.larger(end, 0)

    def _outside(self) -> Val | None:
        """Whether an element is missing that no flag leaves out."""
        w = self.l.w
        bad: Val | None = None
        for mode in range(2):
            if self.checked[mode]:
                continue
            missing = w.negated(self.inside[mode])
            if self.checked[1 - mode]:
                first, end = self._range(1 - mode)
                missing = w.binary("and", missing, w.compare("slt", first, end))
            bad = missing if bad is None else w.binary("or", bad, missing)
        return bad

    def window(self) -> Window:
        """Report what is missing, and say where the tile is."""
        w = self.l.w
        self._report(self._outside())
        size = self.type.component.size
        first: Operand = self.memref.offset.part
        for mode in range(2):
            first = w.add(first, w.mul(self.position[mode], self.strides[mode]))
        self._check_limit(first)
        pointer = w.at(self.memref.pointer, w.mul(first, size))
        steps = [s * size if isinstance(s, int) else w.mul(s, size) for s in self.strides]
        inside: Val | None = None
        for mode in range(2):
            if self.checked[mode]:
                inside = w.both(inside, self.inside[mode])
        if inside is not None and inside.literal == 1:
            inside = None
        ranges = [(integer(0), integer(n)) for n in self.type.shape]
        if inside is not None:
            ranges = [self._range(k) if self.checked[k] else ranges[k] for k in range(2)]
        return Window(self.type, pointer, steps[0], steps[1], inside, *ranges[0], *ranges[1])

    def _check_limit(self, first: Operand) -> None:
        """Tiles inside their memref can still miss the memory behind a group with an offset."""
        if self.memref.limit is None:
            return
        w = self.l.w
        last = w.value(first)
        some: Val | None = None
        for mode in range(2):
            end: Operand = self.type.shape[mode]
            if self.checked[mode]:
                begin, end = self._range(mode)
                some = w.both(some, w.compare("slt", begin, end))
            last = w.add(last, w.mul(w.sub(end, 1), self.strides[mode]))
        beyond = w.compare("sge", last, self.memref.limit)
        self._report(w.both(beyond, some))

    def _report(self, bad: Val | None) -> None:
        """Name the first element that is missing; where it is, only matters where one is."""
        l, w = self.l, self.l.w
        if bad is None or not l.checks or bad.literal == 0:
            return
        message = f"`{self.op.spec.mnemonic}` outside %{self.memref.name}"

        def cold() -> None:
            place = self._first_missing()
            named = [index(p) for p in (place[::-1] if self.op.transpose else place)]
            l.check(self.op, bad, "run.out_of_bounds", message, argument=self.memref.name,
                    index=named, shape=self.memref.shape, by_lane=False)  # fmt: skip
            w.line("unreachable")

        w.unlikely(bad, cold)

    def _first_missing(self) -> list[Val]:
        """The first missing element, row by row."""
        w = self.l.w
        row, column = self.position
        rows, columns = self.sizes
        if self.checked[0]:
            return [w.larger(row, 0), w.select(w.compare("slt", column, 0), column, w.larger(column, columns))]
        gone = w.compare("uge", row, rows)
        if self.checked[1]:
            return [w.select(gone, row, rows), w.larger(column, 0)]
        narrow = w.compare("uge", column, columns)
        wide_ = w.compare("sgt", w.add(column, self.type.columns), columns)
        at_first_row = w.binary("or", gone, w.binary("or", narrow, wide_))
        return [
            w.select(at_first_row, row, rows),
            w.select(w.binary("or", gone, narrow), column, w.select(wide_, columns, column)),
        ]


# --- loading -----------------------------------------------------------------------------------


def resolve(l: Lowering, m: Unloaded, *, lines: bool, into: InMemory | None = None) -> Matrix:
    """Find a tile in memory, or in a place of the workspace where it is not wholly there.

    With `lines` the components of a line must be neighbours, and are moved where they are not.
    """
    if m.held is not None:
        return m.held
    window = m.window
    if lines and not window.contiguous:
        m.held = into or new_tile(l, m.type)
        assert isinstance(m.held, InMemory)
        copy_in(l, window, m.held)
        return m.held
    if window.inside is None:
        m.held = Reference(m.type, window.pointer, window.row_stride, window.column_stride)
        return m.held
    tile = into or new_tile(l, m.type)
    w = l.w
    there = [window.pointer, w.value(window.row_stride), w.value(window.column_stride)]
    own = [integer(part(m.type).size), integer(line_bytes(m.type))]

    def copied() -> list[Val]:
        copy_partly_in(l, window, tile)
        return [tile.pointer, *(own[::-1] if turned(m.type) else own)]

    m.held = Reference(m.type, *w.either(window.inside, lambda: there, copied))
    return m.held


def load_columns(l: Lowering, window: Window) -> list[Parts]:
    """A small tile into registers."""
    type = window.type

    def whole() -> list[Val]:
        if not window.contiguous:
            return copied(copy_in_whole)
        return [p for line in range(line_count(type)) for p in _read_line(l, window, Piece(line, 0, length(type)))]

    def copied(copy: Callable[[Lowering, Window, InMemory], None]) -> list[Val]:
        tile = new_tile(l, type)
        copy(l, window, tile)
        return [p for k in range(line_count(type)) for p in read_tile(l, tile, Piece(k, 0, length(type)))]

    if window.inside is None:
        flat = whole()
    else:
        flat = l.w.either(window.inside, whole, lambda: copied(copy_partly_in))
    count = part_count(type)
    return [tuple(flat[k : k + count]) for k in range(0, len(flat), count)]


def copy_in(l: Lowering, window: Window, tile: InMemory) -> None:
    """A tile from memory to the workspace; zero where it is not there."""
    if window.inside is None:
        copy_in_whole(l, window, tile)
        return

    def whole() -> list[Val]:
        copy_in_whole(l, window, tile)
        return []

    def partly() -> list[Val]:
        copy_partly_in(l, window, tile)
        return []

    l.w.either(window.inside, whole, partly)


def copy_in_whole(l: Lowering, window: Window, tile: InMemory) -> None:
    """A tile that is wholly there."""
    if not window.contiguous:
        _transpose(l, window, tile, inwards=True)
        return
    walk = Walk(l)
    walk.everywhere(window.type, lambda at: write_tile(l, tile, at, _read_line(l, window, at)), 2)


def _line_address(l: Lowering, window: Window, at: Piece) -> Val:
    w = l.w
    line = w.at(window.pointer, w.mul(w.value(at.line), window.across))
    return w.at(line, w.mul(w.value(at.start), window.type.component.size))


def _read_line(l: Lowering, window: Window, at: Piece) -> Parts:
    """A piece of neighbours in memory, which for complex numbers alternate between the parts."""
    w, one, count = l.w, part(window.type), part_count(window.type)
    held = w.load(wide(memory_type(one), at.count * count), _line_address(l, window, at), one.size)
    if count == 2:
        split = [w.part(held, k, 1) if at.count == 1 else w.shuffle(held, None, range(k, 2 * at.count, 2)) for k in (0, 1)]
        return tuple(split)
    return (from_memory(w, l.target.features, one, held),)


def _write_line(l: Lowering, window: Window, at: Piece, parts: Parts) -> None:
    w, one = l.w, part(window.type)
    stored = [to_memory(w, l.target.features, one, w.splat(p, at.count)) for p in parts]
    held = stored[0]
    if len(stored) == 2 and at.count == 1:
        held = w.join(stored)
    elif len(stored) == 2:
        held = w.shuffle(stored[0], stored[1], [k // 2 + (k % 2) * at.count for k in range(2 * at.count)])
    w.store(held, _line_address(l, window, at), one.size)


def copy_partly_in(l: Lowering, window: Window, tile: InMemory) -> None:
    """The elements that are there, among zeros."""
    w, type = l.w, window.type
    walk = Walk(l)
    walk.everywhere(type, lambda at: write_tile(l, tile, at, zero_parts(type, at.count)), 2)
    if _masks(l, window):
        def line(at: Piece, mask: Val) -> None:
            vector = wide(memory_type(part(type)), at.count)
            size = part(type).size
            held = w.masked_load(vector, _line_address(l, window, at), mask, size, zero(vector))
            w.store(held, address(l, tile, at), size)

        _masked_lines(l, window, line)
        return

    def one(line: Val, start: Val) -> None:
        for source, target in elements(l, window, tile, line, start):
            w.store(w.load(memory_type(part(type)), source, part(type).size), target, part(type).size)

    each_there(l, window, one)


def _masks(l: Lowering, window: Window) -> bool:
    """Whether parts of lines are moved as vectors under a mask: where the hardware has that."""
    if not window.contiguous or part_count(window.type) > 1 or (part(window.type).size < 4 and l.target.vector_bytes < 64):
        return False
    return all(count > 1 for _, count in Walk(l).pieces_of(window.type))


def _masked_lines(l: Lowering, window: Window, body: Callable[[Piece, Val], None]) -> None:
    """Go over the lines that are there, with a mask of the components that are."""
    w = l.w
    first_line, end_line, first, end = window.line_range
    for start, count in Walk(l).pieces_of(window.type):
        numbers = w.add(w.iota(count), integer(start, wide("i64", count)))
        mask = w.binary("and", w.compare("sge", numbers, w.splat(first, count)),
                        w.compare("slt", numbers, w.splat(end, count)))  # fmt: skip
        with w.loop(first_line, end_line) as loop:
            body(Piece(loop.index, start, count), mask)


def each_there(l: Lowering, window: Window, body: Callable[[Val, Val], None]) -> None:
    """Go over the components that are there one by one: line, and place in it."""
    first_line, end_line, first, end = window.line_range
    with l.w.loop(first_line, end_line) as lines, l.w.loop(first, end) as components:
        body(lines.index, components.index)


def element_address(l: Lowering, window: Window, line: Operand, start: Operand) -> Val:
    """Where a component lies in memory."""
    w = l.w
    return w.at(w.at(window.pointer, w.mul(w.value(line), window.across)), w.mul(w.value(start), window.along))


def elements(l: Lowering, window: Window, tile: InMemory, line: Val, start: Val) -> list[tuple[Val, Val]]:
    """The addresses of the parts of a component in memory and in the workspace."""
    pointer = element_address(l, window, line, start)
    size = part(window.type).size
    return [
        (l.w.at(pointer, k * size), address(l, tile, Piece(line, start, 1), k)) for k in range(part_count(window.type))
    ]


# --- storing -----------------------------------------------------------------------------------


def store(l: Lowering, window: Window, m: Matrix) -> None:
    """A matrix to memory."""
    w, type = l.w, window.type
    if window.contiguous and window.inside is None:
        walk = Walk(l, m)
        walk.everywhere(type, lambda at: _write_line(l, window, at, walk.piece(m, at)), 2)
        walk.close()
        return
    small = isinstance(m, Columns) and window.contiguous
    tile = None if small else to_tile(l, m)

    def whole() -> list[Val]:
        if tile is None:
            walk = Walk(l, m)
            walk.everywhere(type, lambda at: _write_line(l, window, at, walk.piece(m, at)))
        else:
            copy_out_whole(l, window, tile)
        return []

    def partly() -> list[Val]:
        source = tile
        if source is None:
            walk, source = Walk(l, m), new_tile(l, type)
            here = source
            walk.everywhere(type, lambda at: write_tile(l, here, at, walk.piece(m, at)))
        copy_partly_out(l, window, source)
        return []

    if window.inside is None:
        whole()
    else:
        w.either(window.inside, whole, partly)


def copy_out_whole(l: Lowering, window: Window, tile: InMemory) -> None:
    """A tile that is wholly there."""
    if not window.contiguous:
        _transpose(l, window, tile, inwards=False)
        return
    Walk(l).everywhere(window.type, lambda at: _write_line(l, window, at, read_tile(l, tile, at)), 2)


def copy_partly_out(l: Lowering, window: Window, tile: InMemory) -> None:
    """The elements that are there."""
    w, type = l.w, window.type
    size = part(type).size
    if _masks(l, window):
        def line(at: Piece, mask: Val) -> None:
            held = w.load(wide(memory_type(part(type)), at.count), address(l, tile, at), size)
            w.masked_store(held, _line_address(l, window, at), mask, size)

        _masked_lines(l, window, line)
        return

    def one(line: Val, start: Val) -> None:
        for target, source in elements(l, window, tile, line, start):
            w.store(w.load(memory_type(part(type)), source, size), target, size)

    each_there(l, window, one)


# --- transposing -------------------------------------------------------------------------------


def _transpose(l: Lowering, window: Window, tile: InMemory, *, inwards: bool) -> None:
    """Between a tile in the workspace and memory in which the lines' neighbours are not neighbours.

    Square blocks go through registers where neighbouring lines are neighbours in memory, otherwise single components.
    """
    w, type = l.w, window.type
    neighbours = known(window.across) == type.component.size and part_count(type) == 1
    block = gcd(gcd(length(type), line_count(type)), _BLOCK) if neighbours else 1
    with w.loop(0, length(type), block) as starts, w.loop(0, line_count(type), block) as lines:
        pointer = element_address(l, window, lines.index, starts.index)
        here = address(l, tile, Piece(lines.index, starts.index, 1))
        if block == 1:
            _move_one(l, type, pointer, here, inwards=inwards)
        else:
            _move_block(l, type, block, (pointer, window.along), (here, line_bytes(type)), inwards=inwards)


def _move_one(l: Lowering, type: CoopMatrix, pointer: Val, here: Val, *, inwards: bool) -> None:
    w, size = l.w, part(type).size
    for number in range(part_count(type)):
        there, mine = w.at(pointer, number * size), w.at(here, number * plane_bytes(type))
        source, target = (there, mine) if inwards else (mine, there)
        w.store(w.load(memory_type(part(type)), source, size), target, size)


def _move_block(
    l: Lowering, type: CoopMatrix, block: int, there: tuple[Val, Operand], here: tuple[Val, Operand], *, inwards: bool
) -> None:
    """A square block from one place to another, transposed; a place is a pointer and the distance of its vectors."""
    w, size = l.w, part(type).size
    source, target = (there, here) if inwards else (here, there)
    vector = wide(memory_type(part(type)), block)
    held = [w.load(vector, w.at(source[0], w.mul(k, source[1])), size) for k in range(block)]
    for k, one in enumerate(transposed(w, held)):
        w.store(one, w.at(target[0], w.mul(k, target[1])), size)


def transposed(w: Writer, vectors: Sequence[Val]) -> list[Val]:
    """A square block of vectors, a power of two of them, with rows and columns swapped."""
    count = len(vectors)
    held = list(vectors)
    half = 1
    while half < count:
        low = [k + (count if k & half else 0) - (half if k & half else 0) for k in range(count)]
        high = [p + half for p in low]
        following = list(held)
        for k in range(count):
            if not k & half:
                following[k] = w.shuffle(held[k], held[k + half], low)
                following[k + half] = w.shuffle(held[k], held[k + half], high)
        held = following
        half *= 2
    return held


def copy_transposed(l: Lowering, pointer: Val, strides: tuple[Operand, Operand], tile: InMemory) -> None:
    """A matrix of any strides, those of its rows and columns in bytes, into the workspace."""
    type = tile.type
    zero_ = integer(0)
    window = Window(type, pointer, *strides, None, zero_, integer(type.rows), zero_, integer(type.columns))
    copy_in_whole(l, window, tile)
