"""Collective instructions that sum along a mode: sum, gemv and cumsum.

`sum` is `gemv` with a vector of ones. Columns that are contiguous are either added up, several at a time, into a piece
of the result that stays in the cache, or, for the transpose, summed over by vectors in several accumulators.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from girih.back.llvm.cpu.collective.elements import Elements, Parts
from girih.back.llvm.cpu.collective.elementwise import note_apart, sweep
from girih.back.llvm.cpu.collective.scaling import Scaling
from girih.back.llvm.emit.text import Operand, Val, lanes
from girih.back.llvm.lower.collective.views import View

PIECE_BYTES = 16384
"""The extent of a piece of the result of `columns_product`."""

_NARROW = 4
"""Up to so many vectors of the result are computed in registers, all at once."""

_CHAINS = 8
"""How many sums are kept for a vector of the result, so that additions need not wait for one another."""

_TOGETHER = 4
"""How many columns are added up at once: more, where they are a power of two apart, would share lines of the cache."""


def matrix_vector(
    e: Elements, end: Scaling, a: View, b: View | None, target: View, piece: Val, *, brief: bool = False
) -> None:
    """target := alpha a b + beta target; `b` of None is all ones. `piece` points to `PIECE_BYTES` to work in.

    `brief` code has no way of its own for few rows, and is unrolled less.
    """
    w, few = e.w, _NARROW * e.count
    if a.contiguous and brief:
        _columns_product(e, end, a, b, target, piece, unroll=1)
    elif a.contiguous:
        narrow = w.compare("sle", a.shape[0], few)

        def in_registers() -> list[Val]:
            _narrow_product(e, end, a, b, target)
            return []

        def by_pieces() -> list[Val]:
            _columns_product(e, end, a, b, target, piece)
            return []

        if narrow.literal is None:
            w.either(narrow, in_registers, by_pieces)
        else:
            (in_registers if narrow.literal else by_pieces)()
    elif a.strides[1] == 1 and (b is None or b.contiguous):
        _rows_product(e, end, a, b, target, brief=brief)
    else:
        _strided_product(e, end, a, b, target)


def _narrow_product(e: Elements, end: Scaling, a: View, b: View | None, target: View) -> None:
    """Some vectors of the result at once stay in registers while columns are added up in several chains.

    Where rows are few and columns far apart, every column costs a page: it should be met once.
    """
    w, rows = e.w, a.shape[0]
    vectors = target.contiguous and not end.one_by_one
    together = _NARROW // len(e.zero(1))
    done: Operand = 0
    if vectors and not (isinstance(rows, int) and rows < together * e.count):
        block = together * e.count
        done = rows - rows % block if isinstance(rows, int) else w.binary("and", rows, -block)
        with w.loop(0, done, block) as loop:
            _narrow_block(e, end, a, b, target, [w.add(loop.index, k * e.count) for k in range(together)], e.count)

    def body(i: Operand, count: int, mask: Val | None) -> None:
        _narrow_block(e, end, a, b, target, [w.add(done, i)], count, mask)

    if not (isinstance(done, int) and done == rows):
        sweep(e, w.sub(rows, done) if done else rows, body, vectors=vectors, unroll=1, always_masked=True)


def _narrow_block(
    e: Elements,
    end: Scaling,
    a: View,
    b: View | None,
    target: View,
    starts: Sequence[Operand],
    count: int,
    mask: Val | None = None,
) -> None:
    """Neighbouring vectors of the result, from the rows that they start at."""
    w = e.w
    columns, number = a.shape[1], len(starts)
    chains = _CHAINS // number
    bulk = w.binary("and", columns, -chains)

    def plus(j: Operand, before: Sequence[Parts]) -> list[Parts]:
        factor = None if b is None else e.load(b.element, b.address(w, j))
        loaded = [e.load(a.element, a.address(w, i, j), count, mask) for i in starts]
        return [_plus(e, one, factor, held) for one, held in zip(loaded, before, strict=True)]

    parts = len(e.zero(1))
    with w.loop(0, bulk, chains, [p for _ in range(chains * number) for p in e.zero(count)]) as loop:
        held = _grouped(loop.values, parts)
        found = [plus(w.add(loop.index, k), held[k * number : (k + 1) * number]) for k in range(chains)]
        loop.following = [p for chain in found for sum in chain for p in sum]
    sums = _grouped(loop.results, parts)
    while len(sums) > number:
        half = len(sums) // 2
        sums = [e.add(x, y) for x, y in zip(sums[:half], sums[half:], strict=True)]
    with w.loop(bulk, columns, 1, [p for sum in sums for p in sum]) as rest:
        rest.following = [p for sum in plus(rest.index, _grouped(rest.values, parts)) for p in sum]
    for i, sum in zip(starts, _grouped(rest.results, parts), strict=True):
        end.write(target.address(w, i), sum, mask)


def _columns_product(
    e: Elements, end: Scaling, a: View, b: View | None, target: View, piece: Val, unroll: int = 4
) -> None:
    w = e.w
    rows, columns = a.shape
    held = View(e.compute, piece, (PIECE_BYTES // e.compute.size,), (1,))
    with w.loop(0, rows, PIECE_BYTES // e.compute.size) as outer:
        few = w.smaller(held.shape[0], w.sub(rows, outer.index))
        height: Operand = few if few.literal is None else few.literal
        if isinstance(rows, int) and rows <= PIECE_BYTES // e.compute.size:
            height = rows

        def finish(i: Operand, count: int, mask: Val | None) -> None:
            parts = e.load(e.compute, held.address(w, i), count, mask)
            end.write(target.address(w, w.add(outer.index, i)), parts, mask)

        # The piece ends with a whole vector.
        with w.loop(0, height, e.count) as loop:
            e.store(e.compute, held.address(w, loop.index), e.zero(e.count))
        bulk = w.binary("and", columns, -_TOGETHER)
        for start, stop, together in ((0, bulk, _TOGETHER), (bulk, w.value(columns), 1)):
            with w.loop(start, stop, together) as loop:
                places = [w.add(loop.index, k) for k in range(together)]
                addresses = [a.address(w, outer.index, j) for j in places]
                factors = [None if b is None else e.load(b.element, b.address(w, j)) for j in places]
                _add_columns(e, a, addresses, factors, held, height, 2 if together > 1 and unroll > 1 else 1)
        sweep(e, height, finish, vectors=target.contiguous and not end.one_by_one, unroll=unroll)


def _add_columns(
    e: Elements,
    a: View,
    columns: list[Val],
    factors: Sequence[Parts | None],
    held: View,
    height: Operand,
    unroll: int,
) -> None:
    """Add columns, each times a factor, to the piece: in two chains."""
    w = e.w

    def body(i: Operand, count: int, mask: Val | None) -> None:
        place = held.address(w, i)
        chains: list[Parts | None] = [e.load(e.compute, place, count, mask), None]
        for number, (column, factor) in enumerate(zip(columns, factors, strict=True)):
            one = e.load(a.element, w.at(column, w.mul(i, a.element.size)), count, mask)
            before = chains[number % 2]
            chains[number % 2] = _plus(e, one, factor, before)
        first, second = chains
        total = first if second is None else second if first is None else e.add(first, second)
        if total is not None:
            e.store(e.compute, place, total, mask)

    sweep(e, height, body, vectors=True, unroll=unroll)


def _plus(e: Elements, a: Parts, b: Parts | None, before: Parts | None) -> Parts:
    """before + a b; a `b` of None is 1, a `before` of None is 0."""
    if b is None:
        return a if before is None else e.add(before, a)
    factor = e.spread(b, lanes(a[0].type))
    return e.multiply(a, factor) if before is None else e.fused(a, factor, before)


def _rows_product(e: Elements, end: Scaling, a: View, b: View | None, target: View, *, brief: bool) -> None:
    """Sums over contiguous rows, four rows at a time; if `brief`, these are the last row again where rows end."""
    w = e.w
    rows = w.value(a.shape[0])
    bulk = rows if brief else w.binary("and", rows, -4)
    last = w.sub(rows, 1)
    for start, stop, together in ((w.value(0), bulk, 4), (bulk, rows, 1)):
        if stop.literal == 0 or (brief and together == 1):
            continue
        with w.loop(start, stop, together) as loop:
            places = [w.add(loop.index, k) for k in range(together)]
            addresses = [a.address(w, w.smaller(place, last) if brief else place, 0) for place in places]
            sums = dots(e, a, addresses, b, a.shape[1], 1 if brief else 8 // together)
            for place, found in zip(places, sums, strict=True):
                with w.when(w.compare("slt", place, rows)) if brief else nullcontext():
                    end.write(target.address(w, place), found)


def dots(e: Elements, a: View, rows: list[Val], b: View | None, size: Operand, unroll: int) -> list[Parts]:
    """The sums over contiguous rows that start at addresses, times `b` element by element."""
    w, width = e.w, e.count
    parts = len(e.zero(1))
    bulk = w.binary("and", size, -width * unroll)
    flat = [p for _ in range(len(rows) * unroll) for p in e.zero(width)]

    def step(k: Operand, mask: Val | None, chains: list[Parts], distance: int, count: int) -> None:
        factor = None if b is None else e.load(b.element, b.address(w, k), count, mask)
        for number, row in enumerate(rows):
            one = e.load(a.element, w.at(row, w.mul(k, a.element.size)), count, mask)
            place = distance * len(rows) + number
            chains[place] = _plus(e, one, factor, chains[place])

    with w.loop(0, bulk, width * unroll, flat) as loop:
        chains = _grouped(loop.values, parts)
        for distance in range(unroll):
            step(w.add(loop.index, distance * width), None, chains, distance, width)
        loop.following = [p for chain in chains for p in chain]
    chains = _grouped(loop.results, parts)
    sums = []
    for number in range(len(rows)):
        total = chains[number]
        for distance in range(1, unroll):
            total = e.add(total, chains[distance * len(rows) + number])
        sums.append(total)
    rest = bulk
    if e.masked:
        with w.loop(bulk, size, width, [p for s in sums for p in s]) as loop:
            chains = _grouped(loop.values, parts)
            step(loop.index, e.first(width, w.sub(size, loop.index)), chains, 0, width)
            loop.following = [p for chain in chains for p in chain]
        return [e.total(s) for s in _grouped(loop.results, parts)]
    totals = [e.total(s) for s in sums]
    with w.loop(rest, size, 1, [p for s in totals for p in s]) as loop:
        chains = _grouped(loop.values, parts)
        step(loop.index, None, chains, 0, 1)
        loop.following = [p for chain in chains for p in chain]
    return _grouped(loop.results, parts)


def _grouped(flat: Sequence[Val], parts: int) -> list[Parts]:
    return [tuple(flat[k : k + parts]) for k in range(0, len(flat), parts)]


def _strided_product(e: Elements, end: Scaling, a: View, b: View | None, target: View) -> None:
    """Element by element, for any strides."""
    w = e.w
    note_apart(e, end, (a,) if b is None or a.strides[1] != 1 else (b,))
    with w.loop(0, a.shape[0]) as outer:
        with w.loop(0, a.shape[1], 1, e.zero(1)) as loop:
            one = e.load(a.element, a.address(w, outer.index, loop.index))
            factor = None if b is None else e.load(b.element, b.address(w, loop.index))
            loop.following = _plus(e, one, factor, loop.values)
        end.write(target.address(w, outer.index), loop.results)


def total(e: Elements, end: Scaling, a: View, target: View) -> None:
    """target := alpha (sum of the vector a) + beta target."""
    if a.contiguous:
        (found,) = dots(e, a, [a.pointer], None, a.shape[0], 8)
        end.write(target.pointer, found)
        return
    note_apart(e, end, (a,))
    with e.w.loop(0, a.shape[0], 1, e.zero(1)) as loop:
        loop.following = e.add(loop.values, e.load(a.element, a.address(e.w, loop.index)))
    end.write(target.pointer, loop.results)


# --- running sums ------------------------------------------------------------------------------


def running(e: Elements, end: Scaling, a: View, mode: int, target: View) -> None:
    """target := alpha (running sums of a along a mode) + beta target."""
    if mode > 0:
        _running_across(e, end, a, mode, target)
        return
    if len(a.shape) == 1:
        _running_along(e, end, a, target)
        return
    with e.w.loop(0, a.shape[-1]) as loop:
        running(e, end, a.inner(e.w, loop.index), mode, target.inner(e.w, loop.index))


def _running_along(e: Elements, end: Scaling, a: View, target: View) -> None:
    """Running sums of a vector: those of a register by shifted additions, if elements are neighbours."""
    w, width = e.w, e.count
    vectors = a.contiguous and target.contiguous and not end.one_by_one
    note_apart(e, end, (a, target))
    size = a.shape[0]
    bulk = w.binary("and", size, -width) if vectors else w.value(0)
    before: Parts = e.zero(1)
    if vectors:
        with w.loop(0, bulk, width, before) as loop:
            sums = _prefix(e, e.load(a.element, a.address(w, loop.index), width))
            shifted = e.add(sums, e.spread(loop.values, width))
            end.write(target.address(w, loop.index), shifted)
            last = tuple(w.extract(p, width - 1) for p in sums)
            loop.following = e.add(loop.values, last)
        before = loop.results
    with w.loop(bulk, size, 1, before) as rest:
        sum = e.add(rest.values, e.load(a.element, a.address(w, rest.index)))
        end.write(target.address(w, rest.index), sum)
        rest.following = sum


def _prefix(e: Elements, parts: Parts) -> Parts:
    """The running sums of the lanes of vectors."""
    count, distance = lanes(parts[0].type), 1
    while distance < count:
        nothing = e.zero(count)[0]
        places = [k - distance if k >= distance else count for k in range(count)]
        parts = e.add(parts, tuple(e.w.shuffle(p, nothing, places) for p in parts))
        distance *= 2
    return parts


def _running_across(e: Elements, end: Scaling, a: View, mode: int, target: View) -> None:
    """Running sums along a mode that is not the first, for vectors of the first one."""
    w, order = e.w, len(a.shape)
    note_apart(e, end, (a, target))
    others = [k for k in range(order - 1, 0, -1) if k != mode]

    def outer(places: dict[int, Operand], left: list[int]) -> None:
        if left:
            with w.loop(0, a.shape[left[0]]) as loop:
                outer({**places, left[0]: loop.index}, left[1:])
            return

        def body(i: Operand, count: int, mask: Val | None) -> None:
            with w.loop(0, a.shape[mode], 1, e.zero(count)) as loop:
                where = [{**places, 0: i, mode: loop.index}[k] for k in range(order)]
                sums = e.add(loop.values, e.load(a.element, a.address(w, *where), count, mask))
                end.write(target.address(w, *where), sums, mask)
                loop.following = sums

        vectors = a.contiguous and target.contiguous and not end.one_by_one
        sweep(e, a.shape[0], body, vectors=vectors, unroll=1)

    outer({}, others)
