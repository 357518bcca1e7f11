"""Matrix products whose factors are read where they lie, by functions that leave blocks of sums in a tile.

There are two kinds of blocks. Where rows are neighbours in the first factor, vectors of rows are multiplied by numbers
of the second one. Where neighbours lie along the depth in both factors, vectors along the depth are multiplied, and
their lanes are summed at the end. From the tile, sums are scaled into the target, whatever its strides are.

The depth goes by parts, so that what is read again stays in the caches, unless the target cannot hold sums of parts.
Lines of a factor that a block is too wide for are replaced by the last one; what comes of them is not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise, product

from girih.back.llvm.cpu.collective.elements import Elements, Parts
from girih.back.llvm.cpu.collective.elementwise import sweep
from girih.back.llvm.cpu.collective.gemm_product import Product, ProductPiece, block
from girih.back.llvm.cpu.collective.microkernel import most_accumulators
from girih.back.llvm.cpu.collective.panels import ATTRIBUTES
from girih.back.llvm.cpu.collective.scaling import Scaling
from girih.back.llvm.emit.text import Operand, Val, integer, lanes
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.collective.views import View
from girih.lazy_dataclass import dataclass

_DEPTH_SHARE = 1 / 16
"""Of the first cache: a column of a part of the depth, where vectors hold rows. Those of a block take half of it."""

_VECTORS = 3
"""The most vectors of rows of a block."""

_AHEAD = 8
"""How many depths ahead rows are asked for: the hardware does not foresee wide jumps."""

_PARTLY_LOADED = 32
"""The bytes of the shortest vectors of which parts can be loaded."""

_LINES = 4
"""The most rows and columns of a block whose vectors lie along the depth."""

_LINE_SHARE = 1 / 8
"""Of the first cache: a line of a part of the depth, where vectors lie along it. Those of a block fit into it."""

_PANEL_SHARE = 0.375
"""Of the second cache: rows of the first factor that are read again for other columns."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A block: its rows, by vectors of so many lanes, its columns, and what it is taken for."""

    vectors: int
    lanes: int
    columns: int
    least_rows: int
    """It is taken if so many rows are left,"""
    beyond: int
    """and more columns than these."""

    @property
    def rows(self) -> int:
        return self.vectors * self.lanes


# --- vectors of rows ---------------------------------------------------------------------------


def by_rows(p: Product) -> None:
    """The product with vectors of rows, which are neighbours in the first factor; the target has any strides."""
    shapes = _row_shapes(p)
    pitch = max(shape.rows for shape in shapes)
    options = [
        (s, _function(p, f"rows.{s.vectors}x{s.lanes}x{s.columns}.{pitch}", _rows_body(s, pitch))) for s in shapes
    ]
    _blocks(p, options, _DEPTH_SHARE)


def few_rows(p: Product) -> int:
    """Up to so many rows it is faster to read the columns of the second factor again for others than to pack them."""
    block = _VECTORS * p.e.count
    return 2 * block if p.e.target.registers >= 32 else block


def _row_shapes(p: Product) -> list[Shape]:
    """The blocks that a product needs, each before those that are taken where it is not."""
    e, parts, (m, n) = p.e, p.parts, p.target.shape
    most = max(_VECTORS // parts, 1)
    width = most_accumulators(e.target) // _VECTORS // parts
    # Functions for few columns are worth their compile time only where it is known that there are few.
    fewest, fewest_of_one = (2, 2) if isinstance(n, int) else (4, 8)
    kinds = [
        (most, e.count, fewest),
        *([(1, e.count, fewest_of_one)] if most > 1 else []),
        *([] if _loads_parts(p) else [(1, 1, 2)]),
    ]
    found: list[Shape] = []
    before = 0
    for number, (vectors, count, narrowest) in enumerate(kinds):
        rows, last = vectors * count, number == len(kinds) - 1
        if not isinstance(m, int) or ((m >= rows or last) and (before == 0 or m % before)):
            options = _widths(n, [c for c in (width, width // 2, width // 4) if c >= min(narrowest, width)])
            least = 1 if last else rows
            found += [Shape(vectors, count, c, least, beyond) for c, beyond in pairwise((*options, 0))]
        before = rows
    return found


def _loads_parts(p: Product) -> bool:
    """Whether some neighbours of a vector of the first factor can be loaded alone: AVX does that for 4 and 8 bytes."""
    plain = p.parts == 1 and p.a.element == p.e.compute
    return p.e.masked or (plain and p.e.target.vector_bytes >= _PARTLY_LOADED and p.e.compute.size >= 4)


def _widths(extent: Operand, options: Sequence[int]) -> list[int]:
    """The widths that occur, from the widest on: what remains takes the narrowest that covers it."""
    if not isinstance(extent, int):
        return list(options)
    rest = extent % options[0]
    found = {options[0]} if extent >= options[0] else set()
    return sorted(found | {min(o for o in options if o >= rest)} if rest else found, reverse=True)


def _rows_body(shape: Shape, pitch: int) -> Writing:
    """A function that multiplies vectors of rows by numbers."""

    def write(e: Elements, a: View, b: View) -> None:
        tall = Val("%tall", "i64")
        mask = e.first(shape.lanes, tall) if shape.least_rows < shape.rows else None
        pieces = [ProductPiece(k * shape.lanes, shape.lanes, mask) for k in range(shape.vectors)]

        def finish(j: int, i: int, parts: Parts) -> None:
            e.store(e.compute, _in_tile(e, j * pitch + i * shape.lanes), parts)

        # Where lines of the second factor jump along the depth, too, registers for addresses are few.
        ahead = _AHEAD if b.strides[0] == 1 else 0
        block(e, a, b, pieces, _lines(e.w, b.turned(True), shape.columns), finish, ahead=ahead)

    return write


# --- vectors along the depth -------------------------------------------------------------------


def by_depth(p: Product) -> None:
    """The product with vectors along the depth, along which the second factor has neighbours.

    Where the first one has not, a part of its rows is copied before it is used.
    """
    copies = p.a.strides[1] != 1
    used = replace(p, a=replace(p.a, element=p.e.compute, strides=(_deep(p, _LINE_SHARE), 1))) if copies else p
    rows, columns = (_widths(extent, (_LINES, _LINES // 2)) for extent in p.target.shape)
    if copies:
        # Few rows are worth a copy if there are many columns.
        columns = [_LINES]
        rows = rows if isinstance(p.target.shape[0], int) else [_LINES]
    options = []
    for (height, less), (width, beyond) in product(pairwise((*rows, 0)), pairwise((*columns, 0))):
        shape = Shape(1, height, width, less + 1, beyond)
        name = f"depth.{height}x{width}.{rows[0]}{'.brief' * copies}"
        options.append((shape, _function(used, name, _depth_body(shape, rows[0], brief=copies))))
    _blocks(p, options, _LINE_SHARE, copies=copies)


def _depth_body(shape: Shape, pitch: int, *, brief: bool) -> Writing:
    """A function that multiplies vectors along the depth and sums their lanes; `brief` if with one loop for all."""

    def write(e: Elements, a: View, b: View) -> None:
        w, depth = e.w, Val("%depth", "i64")
        left, right = _lines(w, a, shape.rows), _lines(w, b.turned(True), shape.columns)

        def add(sums: Sequence[Parts], start: Operand, stop: Operand, count: int, *, masked: bool) -> list[Parts]:
            with w.loop(start, stop, count, [x for held in sums for x in held]) as loop:
                mask = e.first(count, w.sub(depth, loop.index)) if masked else None
                mine, other = (
                    [e.load(v.element, w.at(line, w.mul(loop.index, v.element.size)), count, mask) for line in lines]
                    for v, lines in ((a, left), (b, right))
                )
                before = _grouped(loop.values, len(sums[0]))
                after = [e.fused(x, y, held) for (y, x), held in zip(product(other, mine), before, strict=True)]
                loop.following = [x for held in after for x in held]
            return _grouped(loop.results, len(sums[0]))

        sums, bulk = [e.zero(e.count)] * (len(left) * len(right)), w.binary("and", depth, -e.count)
        if not (brief and e.masked):
            sums = add(sums, 0, bulk, e.count, masked=False)
        if e.masked:
            sums = add(sums, 0 if brief else bulk, depth, e.count, masked=True)
        else:
            sums = add([e.total(held) for held in sums], bulk, depth, 1, masked=False)
        for j in range(len(right)):
            column = _side_by_side(e, sums[j * len(left) : (j + 1) * len(left)])
            # As wide as it is read again: the processor hands on whole stores only.
            e.store(e.compute, _in_tile(e, j * pitch), tuple(w.widen(held, pitch) for held in column))

    return write


def _grouped(flat: Sequence[Val], parts: int) -> list[Parts]:
    return [tuple(flat[k : k + parts]) for k in range(0, len(flat), parts)]


def _side_by_side(e: Elements, sums: Sequence[Parts]) -> Parts:
    """The sums of the lanes of vectors as one vector: halves are added for all of them at once."""
    count = lanes(sums[0][0].type)
    if count < len(sums) or len(sums) == 1:
        totals = [e.total(held) for held in sums]
        return tuple(e.w.join(row) for row in zip(*totals, strict=True))
    held, group = list(sums), count
    while group > 1 or len(held) > 1:
        group //= 2
        paired = list(zip(held[::2], held[1::2], strict=True)) if len(held) > 1 else [(held[0],)]
        held = [e.add(*(_halves(e, pair, group, start) for start in (0, group))) for pair in paired]
        if len(paired[0]) == 1:
            continue
    return held[0]


def _halves(e: Elements, pair: Sequence[Parts], group: int, start: int) -> Parts:
    """From one or two vectors, the lanes of one half of each group of `2 group` lanes."""
    count = lanes(pair[0][0].type)
    places = [k for k in range(count * len(pair)) if k % (2 * group) // group == start // group]
    return tuple(e.w.shuffle(parts[0], parts[1] if len(parts) > 1 else None, places)
                 for parts in zip(*pair, strict=True))  # fmt: skip


# --- functions ---------------------------------------------------------------------------------

Writing = Callable[[Elements, View, View], None]
"""How the body of a function is written: for factors that are its parameters."""

_STRIDES = "across_a", "along_a", "along_b", "across_b"
_PARAMETERS = ", ".join(
    ("i64 %depth", "ptr %a", "ptr %b", *(f"i64 %{name}" for name in _STRIDES), "i64 %tall", "i64 %few", "ptr %tile")
)
"""Of a function that computes a block of `tall` rows and `few` columns, or of fewer if it is smaller."""


def _function(p: Product, kind: str, write: Writing) -> Val:
    """A function that computes a block, written if it is not there."""
    # Strides of 1 are part of the code.
    known = "".join(str(int(s == 1)) for s in (*p.a.strides, *p.b.strides))
    name = f"girih.block.{kind}.{p.a.element}.{p.b.element}.{p.e.compute}.{known}"
    header = f"define internal void @{name}({_PARAMETERS}) {ATTRIBUTES}"
    if not any(text.startswith(header) for text in p.e.w.module.functions):
        w = Writer(p.e.w.module, header)
        strides = [
            s if s == 1 else Val(f"%{n}", "i64") for n, s in zip(_STRIDES, (*p.a.strides, *p.b.strides), strict=True)
        ]
        tall, depth, few = (Val(f"%{extent}", "i64") for extent in ("tall", "depth", "few"))
        a = View(p.a.element, Val("%a", "ptr"), (tall, depth), (strides[0], strides[1]))
        b = View(p.b.element, Val("%b", "ptr"), (depth, few), (strides[2], strides[3]))
        write(Elements(w, p.e.target, p.e.compute), a, b)
        w.ret()
        w.finish()
    return Val(f"@{name}", "ptr")


def _lines(w: Writer, held: View, number: int) -> list[Val]:
    """The addresses of rows; beyond the last one there is, this one again."""
    last = w.sub(held.shape[0], 1)
    return [held.address(w, w.smaller(k, last), 0) for k in range(number)]


def _in_tile(e: Elements, position: int) -> Val:
    return e.w.at(Val("%tile", "ptr"), position * e.compute.size)


# --- blocks ------------------------------------------------------------------------------------


def _blocks(p: Product, options: Sequence[tuple[Shape, Val]], share: float, *, copies: bool = False) -> None:
    """Block after block of the target, each by the first function that suits; `copies` rows of the first factor."""
    e, w, (m, n) = p.e, p.e.w, p.target.shape
    pitch, width = max(s.rows for s, _ in options), max(s.columns for s, _ in options)
    tile = View(e.compute, _take(p, pitch * width), (pitch, width), (1, pitch))
    deep = _deep(p, share)
    room = _take(p, _LINES * deep) if copies else tile.pointer
    with _depths(p, deep) as (part, first):

        def column(row: Val, tall: Val, a: View, start: Val) -> None:
            few = w.smaller(w.sub(n, start), width)
            b = _box(w, part.b, (0, start), (part.b.shape[0], few))
            _call(w, _chosen(w, [(_suits(w, s, tall, few), f) for s, f in options]), a, b, tile)
            _finish(p, tile, _box(w, p.target, (row, start), (a.shape[0], few)), first)

        def rows(begin: Val, end: Val, body: Callable[[Val, Val, View], None]) -> None:
            def step(values: Parts) -> list[Val]:
                (row,) = values
                tall = w.sub(end, row)
                height = _chosen(w, [(w.compare("sge", tall, s.least_rows), w.value(s.rows)) for s, _ in options])
                body(row, tall, _box(w, part.a, (row, 0), (w.smaller(tall, height), part.a.shape[1])))
                return [w.add(row, height)]

            w.repeat([begin], lambda values: w.compare("slt", values[0], end), step)

        def copied(row: Val, tall: Val, a: View) -> None:
            copy = _copy(e, a, room, deep)
            with w.loop(0, n, width) as loop:
                column(row, tall, copy, loop.index)

        if copies:
            rows(w.value(0), w.value(m), copied)
            return
        height = _panel(e, part.a, pitch)
        with w.loop(0, m, height) as panel, w.loop(0, n, width) as loop:
            end = w.smaller(w.add(panel.index, height), m)
            rows(panel.index, end, lambda row, tall, a: column(row, tall, a, loop.index))


def _deep(p: Product, share: float) -> int:
    """The depth of a part, of which a line takes a share of the first cache: whole lines of it."""
    return max(int(p.e.target.machine.l1_bytes * share) // 64, 1) * 64 // p.e.compute.size


def _panel(e: Elements, a: View, step: int) -> Val:
    """How many rows stay in the second cache while all columns are computed: full blocks of so many."""
    w, bytes = e.w, int(e.target.machine.l2_bytes * _PANEL_SHARE)
    room = w.binary("udiv", w.value(bytes // e.compute.size), w.larger(a.shape[1], 1))
    return w.mul(w.larger(w.binary("udiv", room, step), 1), step)


def _suits(w: Writer, shape: Shape, tall: Val, few: Val) -> Val:
    """Whether a block may be taken for so many rows and columns."""
    return w.binary("and", w.compare("sge", tall, shape.least_rows), w.compare("sgt", few, shape.beyond))


def _call(w: Writer, function: Val, a: View, b: View, tile: View) -> None:
    extents = a.shape[0], b.shape[1]
    listed = (a.shape[1], a.pointer, b.pointer, *a.strides, *b.strides, *extents, tile.pointer)
    w.line(f"call void {function.text}({', '.join(str(w.value(x)) for x in listed)})")


def _take(p: Product, count: int) -> Val:
    return p.e.w.at(p.workspace, p.frame.take(count * p.e.compute.size))


def _chosen(w: Writer, options: Sequence[tuple[Val, Val]]) -> Val:
    """The value of the first option whose condition holds, or else of the last one."""
    held = options[-1][1]
    for condition, value in reversed(options[:-1]):
        held = w.select(condition, value, held)
    return held


@contextmanager
def _depths(p: Product, deep: int) -> Iterator[tuple[Product, Val]]:
    """Parts of the depth, and whether each is the first; one part, where the target cannot hold sums of parts."""
    w, depth = p.e.w, p.a.shape[1]
    # A depth of 0 scales the target, too.
    deepest = w.larger(depth, 1)
    holds = p.end.element == p.e.compute and not p.end.atomic
    with w.loop(0, deepest, deep if holds else deepest) as loop:
        few = w.smaller(w.sub(depth, loop.index), deep) if holds else w.value(depth)
        a = _box(w, p.a, (0, loop.index), (p.a.shape[0], few))
        b = _box(w, p.b, (loop.index, 0), (few, p.b.shape[1]))
        single = not holds or (isinstance(depth, int) and depth <= deep)
        yield replace(p, a=a, b=b), integer(1, "i1") if single else w.compare("eq", loop.index, 0)


def _box(w: Writer, held: View, start: Sequence[Operand], shape: tuple[Operand, ...]) -> View:
    """A box inside a view."""
    return replace(held, pointer=held.address(w, *start), shape=shape)


def _copy(e: Elements, a: View, room: Val, deep: int) -> View:
    """A copy of no more than `_LINES` rows with neighbours along the depth: by squares that are turned in registers.

    Depths that a last square lacks are the last one again. Its rows lie in `room` whether they are there or not.
    """
    w, copy = e.w, View(e.compute, room, a.shape, (deep, 1))
    rows = w.value(a.shape[0])
    last, mask = w.sub(a.shape[1], 1), e.first(_LINES, rows)
    if not (a.contiguous and e.masked):
        with w.loop(0, rows) as outer, w.loop(0, a.shape[1]) as inner:
            place = outer.index, inner.index
            e.store(e.compute, copy.address(w, *place), e.load(a.element, a.address(w, *place)))
        return copy
    with w.loop(0, a.shape[1], _LINES) as loop:
        places = [w.smaller(w.add(loop.index, k), last) for k in range(_LINES)]
        square = [e.load(a.element, a.address(w, 0, k), _LINES, mask) for k in places]
        for i, row in enumerate(_turned(e, square)):
            e.store(e.compute, copy.address(w, i, loop.index), row)
    return copy


def _turned(e: Elements, square: Sequence[Parts]) -> list[Parts]:
    """The transpose of a square of four vectors of four lanes, in two steps."""

    def mixed(a: Parts, b: Parts, places: Sequence[int]) -> Parts:
        return tuple(e.w.shuffle(x, y, places) for x, y in zip(a, b, strict=True))

    first, second, third, fourth = square
    low, high = ((mixed(first, second, p), mixed(third, fourth, p)) for p in ((0, 4, 1, 5), (2, 6, 3, 7)))
    return [mixed(*half, places) for half in (low, high) for places in ((0, 1, 4, 5), (2, 3, 6, 7))]


def _finish(p: Product, tile: View, goal: View, first: Val) -> None:
    """Bring a tile to its place in the target."""
    w, end = p.e.w, p.end

    def write(scaling: Scaling) -> list[Val]:
        _write(p.e, scaling, tile, goal)
        return []

    if first.literal is not None:
        write(end)
    elif end.overwrite or end.complex:
        w.either(first, lambda: write(end), lambda: write(end.adding()))
    else:
        write(end.where(first))


def _write(e: Elements, end: Scaling, tile: View, goal: View) -> None:
    """Scale a tile into the target: by vectors where these have room in a column, otherwise row by row."""
    w, (pitch, width) = e.w, (extent for extent in tile.shape if isinstance(extent, int))

    def one(i: Operand, j: Operand, count: int, mask: Val | None) -> None:
        end.write(goal.address(w, i, j), e.load(e.compute, tile.address(w, i, j), count), mask)

    if not goal.contiguous and goal.strides[1] == 1 and e.masked:
        mask = e.first(width, goal.shape[1])
        with w.loop(0, goal.shape[0]) as loop:
            row = [e.load(e.compute, tile.address(w, loop.index, j)) for j in range(width)]
            end.write(goal.address(w, loop.index, 0), tuple(w.join(parts) for parts in zip(*row, strict=True)), mask)
        return
    if not goal.contiguous:
        with w.loop(0, goal.shape[0]) as i, w.loop(0, goal.shape[1]) as j:
            one(i.index, j.index, 1, None)
        return
    if not e.masked:
        with w.loop(0, goal.shape[1]) as loop:
            sweep(e, goal.shape[0], lambda i, count, mask: one(i, loop.index, count, mask), vectors=True, unroll=1)
        return
    count = min(e.count, pitch)
    with w.loop(0, goal.shape[0], count) as i:
        mask = e.first(count, w.sub(goal.shape[0], i.index))
        with w.loop(0, goal.shape[1]) as j:
            one(i.index, j.index, count, mask)
