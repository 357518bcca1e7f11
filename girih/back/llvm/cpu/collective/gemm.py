"""Matrix products: which way each is computed, and the direct way for small ones.

Products of one row or one column are those of a matrix and a vector (`girih.back.llvm.cpu.collective.gemm_vector`).

The direct way reads both factors where they lie: blocks of vectors of rows by some columns are accumulated in registers
and scaled into the target. It needs rows that are contiguous in the first factor and the target; a small first factor
that is stored the other way is copied first. Sizes that are known make straight code with loops where blocks repeat.

Few rows or columns, a great depth, and sizes that are not known are a matter of `gemm_tiles`, with vectors along
whatever is contiguous, or of the packed way: which of them is decided at run time where it has to be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from girih.back.llvm.cpu.collective import gemm_amx, gemm_packed, gemm_tiles, gemm_vector
from girih.back.llvm.cpu.collective.elements import Elements, Parts
from girih.back.llvm.cpu.collective.gemm_product import Product, ProductPiece, block
from girih.back.llvm.cpu.collective.microkernel import most_accumulators
from girih.back.llvm.cpu.collective.packing_plan import takes_pairs
from girih.back.llvm.cpu.collective.panels import Panels
from girih.back.llvm.cpu.collective.scaling import Scaling
from girih.back.llvm.cpu.collective.sums import PIECE_BYTES
from girih.back.llvm.emit.text import Operand, Val
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.collective.views import View
from girih.facts import remarks
from girih.ir.types import BF16

_SMALL = 64**3
"""Up to so many products the direct way is taken: packing would cost as much as they do."""

_THIN = 16
"""Targets with so few columns, or products of so small a depth, do not pay for packing."""

_COPY_COLUMNS = 8
"""More columns than these are worth a copy of very few rows."""

_TALL = 4096
"""Targets of more rows are not laid out vector by vector, although their size is known."""

_NEAR_SHARE = 0.125
"""A first factor of known size that is spread over so much of the second cache need not be packed."""

_SHORT = 6
"""Columns of so many vectors are short: those of matrices that come in batches."""

_ADDRESSES = 11
"""So many columns have their addresses in registers."""

_FLAT = 64
"""Targets with so few rows, or columns, whose factors lie the other way are not packed."""

_NEARBY = 0.75
"""Of the second cache: matrices that it holds together are read where they lie."""

_TURNED = 2.5
"""Up to so many vectors of rows, a last one that is mostly empty costs more than to turn the target."""

_SET_BYTES = 4096
"""Lines that are a multiple of this apart are of one set of the first cache on x86-64, and of one of few elsewhere."""

_LONG = 128
"""Depths for which it is worth to turn a first factor of very few rows."""


_ENDS = 8**3
"""Of so many products it is no slower to choose between two ends behind the sums instead of in front of them."""

VectorWay = Callable[[Elements, Scaling, View, View, View, Val], None]
"""How a product with a vector is written: from matrices, with workspace."""


def multiply(product: Product) -> None:
    """Write the code of a matrix product."""
    p, m, n = product, product.a.shape[0], product.b.shape[1]
    if m == 0 or n == 0:
        return
    if not gemm_vector.possible(p.e, p.end, p.a, p.b, p.target):
        _matrices(p)
    elif n == 1:
        _as_vector(p, gemm_vector.column)
    elif m == 1:
        _as_vector(p, gemm_vector.row)
    else:
        _perhaps_vector(p, m, n)


def _perhaps_vector(p: Product, m: Operand, n: Operand) -> None:
    """A product whose sizes are known only at run time: of one column, of one row, or of more."""
    _maybe_vector(p, n, gemm_vector.column, lambda: _maybe_vector(p, m, gemm_vector.row, lambda: _matrices(p)))


def _as_vector(product: Product, way: VectorWay) -> None:
    p, used = product, product.frame.used
    piece = p.e.w.at(p.workspace, p.frame.take(PIECE_BYTES))
    way(p.e, p.end, p.a, p.b, p.target, piece)
    p.frame.used = used


def _maybe_vector(product: Product, extent: Operand, way: VectorWay, otherwise: Callable[[], None]) -> None:
    """Treat the product as that of a matrix and a vector if an extent is 1 at run time."""
    if isinstance(extent, int):
        otherwise()
        return

    def vector() -> list[Val]:
        _as_vector(product, way)
        return []

    def matrices() -> list[Val]:
        otherwise()
        return []

    product.e.w.either(product.e.w.compare("eq", extent, 1), vector, matrices)


def _matrices(product: Product) -> None:
    """A product with several rows and several columns."""
    if gemm_amx.suits(product):
        gemm_amx.multiply(product)
        return
    (m, k), n = product.a.shape, product.b.shape[1]
    if isinstance(m, int) and isinstance(n, int) and isinstance(k, int):
        _multiply_known(product, m, n, k)
        return
    _multiply_unknown(product)


def _multiply_unknown(p: Product) -> None:
    """A product of unknown sizes: the first way whose condition holds at run time, or else the packed one."""
    w = p.e.w
    ways = _ways(p)
    if not ways:
        _note_packing(p)

    def take(number: int) -> list[Val]:
        if number == len(ways):
            _packed(p)
        else:
            condition, way = ways[number]
            w.either(condition, lambda: _done(way), lambda: take(number + 1))
        return []

    take(0)


def _done(way: Callable[[], None]) -> list[Val]:
    way()
    return []


def _ways(p: Product) -> list[tuple[Val, partial[None]]]:
    """Ways without packing that types and strides allow, and when each is worth it."""
    if not _plain(p) or p.end.one_by_one:
        return []
    w, (m, k), n = p.e.w, p.a.shape, p.b.shape[1]
    deep_a, deep_b = p.a.strides[1] == 1, p.b.strides[0] == 1
    found: list[tuple[Val, partial[None]]] = []
    flat = w.compare("sle", w.smaller(m, n), _FLAT)
    if p.a.contiguous and deep_b:
        few = w.binary("and", w.compare("sle", m, p.e.count // 2), w.compare("sle", w.larger(m, 3), n))
        low = w.binary("and", few, w.compare("sge", k, _LONG))
        found.append((low, partial(gemm_tiles.by_depth, p)))
    if p.a.contiguous and p.b.strides[1] == 1:
        found.append((_turns(p), partial(gemm_tiles.by_rows, p.turned)))
    if p.a.contiguous:
        found.append((_stays(p), partial(gemm_tiles.by_rows, p)))
    elif deep_a and deep_b:
        long = w.binary("or", w.compare("sge", k, _LONG), w.compare("sle", w.smaller(m, n), _THIN))
        found.append((w.binary("and", flat, long), partial(gemm_tiles.by_depth, p)))
    elif deep_a and p.b.strides[1] == 1:
        near = w.binary("and", _nearby(p, _LONG), _spread(w, p.b, p.b.strides[0]))
        found.append((w.binary("or", flat, near), partial(gemm_tiles.by_rows, p.turned)))
    return found


def _turns(p: Product) -> Val:
    """Whether rows are too few for vectors: fewer than lanes, or some that leave a last vector mostly empty."""
    w, m, lanes = p.e.w, p.a.shape[0], p.e.count
    empty = w.compare("slt", w.binary("and", w.sub(m, 1), lanes - 1), lanes // 2)
    empty = w.binary("and", empty, w.compare("sle", m, int(_TURNED * lanes)))
    empty = w.binary("and", empty, _spread(w, p.b, p.b.strides[0]))
    turned = w.binary("or", w.compare("slt", m, lanes), empty)
    return w.binary("and", turned, w.compare("slt", m, p.b.shape[1]))


def _stays(p: Product) -> Val:
    """Whether factors are read where they lie, of which the first has rows that are neighbours.

    That is so for products that do not pay for packing, and for those to which it brings nothing nearer: with few rows,
    or where all fits into the second cache. Lines that are all of one set of the first cache drive out one another.
    """
    w, (m, k), n = p.e.w, p.a.shape, p.b.shape[1]
    small = w.compare("sle", w.mul(w.mul(m, n), k), _SMALL)
    thin = w.binary("or", w.compare("sle", n, _FLAT), w.compare("sle", k, _THIN))
    few = w.compare("sle", m, gemm_tiles.few_rows(p))
    near = w.binary("and", w.binary("or", few, _nearby(p, _FLAT)), _spread(w, p.a, p.a.strides[1]))
    if p.b.strides[0] != 1:
        near = w.binary("and", near, _spread(w, p.b, p.b.strides[0]))
    return w.binary("or", w.binary("or", small, thin), near)


def _nearby(p: Product, least: int) -> Val:
    """Whether the second cache holds all matrices together, and the depth is at least so much."""
    w, (m, k), n = p.e.w, p.a.shape, p.b.shape[1]
    numbers = w.add(w.add(w.mul(m, k), w.mul(k, n)), w.mul(m, n))
    room = int(p.e.target.machine.l2_bytes * _NEARBY) // p.e.compute.size
    return w.binary("and", w.compare("sle", numbers, room), w.compare("sge", k, least))


def _spread(w: Writer, factor: View, pitch: Operand) -> Val:
    """Whether lines that are so many elements apart begin in different sets of the first cache."""
    return w.compare("ne", w.binary("and", w.mul(pitch, factor.element.size), _SET_BYTES - 1), 0)


def may_end_twice(product: Product) -> bool:
    """Whether a product is straight code with sums that are scaled into the target at once, in one of two ways."""
    p, m, n, k = product, product.a.shape[0], product.b.shape[1], product.a.shape[1]
    if not (isinstance(m, int) and isinstance(n, int) and isinstance(k, int)) or 0 in (m, n) or gemm_amx.suits(p):
        return False
    if m * n * k < _ENDS:
        return False
    if 1 in (m, n) and gemm_vector.possible(p.e, p.end, p.a, p.b, p.target):
        return False
    return _known_way(p, m, n, k) in (_known, _known_copied)


def _multiply_known(product: Product, m: int, n: int, k: int) -> None:
    """A product of matrices whose sizes are known."""
    _known_way(product, m, n, k)(product)


def _known_way(product: Product, m: int, n: int, k: int) -> Callable[[Product], None]:
    """The way of a product of matrices whose sizes are known."""
    pairs = takes_pairs(product.e.target, product.e.compute, product.a, product.b)
    small = m * n * k <= (_SMALL // 2 if pairs else _SMALL) or n <= _THIN or k <= _THIN
    pitch, room = product.a.strides[1], int(product.e.target.machine.l2_bytes * _NEAR_SHARE)
    near = isinstance(pitch, int) and k * pitch * product.a.element.size <= room and not pairs
    copy = m <= _TALL and _copied_bytes(product, m, k) <= room and (small or not pairs)
    way = _way(product) if k >= _LONG else None
    direct = product.direct and _fits_source(product) and (small or near)
    if way is not None and not (direct and _straight(product, way, m, n)):
        return lambda _: way()
    if direct:
        return gemm_tiles.by_rows if m > _TALL else _known
    if product.target.contiguous and not product.end.one_by_one and copy:
        return _known_copied
    return _packed_small if small else _packed


def _known_copied(product: Product) -> None:
    (m, k) = product.a.shape
    assert isinstance(m, int) and isinstance(k, int)
    _known(_with_copy(product, m, k))


def _packed_small(product: Product) -> None:
    """A product that is packed though it is small: remark on the target, if that is why."""
    if not product.target.contiguous and not product.end.one_by_one:
        why = f"the rows of %{product.target.name} are no neighbours in memory"
        product.e.note(remarks.packing(why, "a target with stride 1 along mode 0 is written directly"))
    _packed(product)


def _way(product: Product) -> partial[None] | None:
    """The first way that is worth it, for sizes that are known."""
    return next((way for condition, way in _ways(product) if condition.literal), None)


def _straight(product: Product, way: partial[None], m: int, n: int) -> bool:
    """Whether straight code, whose vectors are as short as the rows, is no slower than a way of `_ways`."""
    if way.func is gemm_tiles.by_rows:
        return way.args == (product,)
    return 4 * m > product.e.count or n <= _COPY_COLUMNS


def _fits_source(product: Product) -> bool:
    """Whether elements need little work on their way: numbers that are computed with as they are, or bf16."""
    return product.a.element.size >= 4 or product.a.element == BF16


def _plain(product: Product) -> bool:
    """Whether elements are real numbers that are computed with as they are."""
    return product.parts == 1 and all(v.element == product.e.compute for v in (product.a, product.b, product.target))


def _note_packing(p: Product) -> None:
    """Remark on a product of unknown sizes that has no way but the packed one, and why."""
    if p.end.one_by_one or p.parts > 1:
        return
    odd = next((v for v in (p.a, p.b, p.target) if v.element != p.e.compute), None)
    if odd is not None:
        why = f"elements of %{odd.name} are {odd.element}, and products are computed in {p.e.compute}"
        p.e.note(remarks.packing(why, "where the types say the sizes, small factors are not copied"))
        return
    factor = p.a if 1 not in p.a.strides else p.b
    why = f"neither mode of %{factor.name} is known to have stride 1"
    p.e.note(remarks.packing(why, "say in the type which mode has stride 1, as in strided<1,?>"))


def _packed(product: Product) -> None:
    p = product
    gemm_packed.multiply(p.e, p.end, p.a, p.b, p.target, p.frame, p.workspace)


# --- a copy of the first factor ----------------------------------------------------------------


def _padded(product: Product, m: int) -> int:
    return -(-m // product.e.count) * product.e.count


def _copied_bytes(product: Product, m: int, k: int) -> int:
    return _padded(product, m) * k * product.e.compute.size


def _with_copy(product: Product, m: int, k: int) -> Product:
    """The product with a copy of its first factor, turned and converted; columns are padded to whole vectors."""
    p, rows = product, _padded(product, m)
    place = p.e.w.at(p.workspace, p.frame.take(_copied_bytes(product, m, k)))
    panels = Panels(p.e.target, p.a.element, p.e.compute, rows, 1, pairs=False)
    panels.pack(p.e.w, p.a, place)
    copy = View(p.e.compute, place, (rows, k), (1, rows))
    return replace(p, a=copy)


# --- sizes that are known ----------------------------------------------------------------------


def _known(p: Product) -> None:
    """Blocks of a number of rows and columns that was chosen for the sizes; loops where they repeat."""
    m, n, k = (extent if isinstance(extent, int) else 0 for extent in (p.target.shape[0], p.b.shape[1], p.b.shape[0]))
    pieces = _pieces(p.e, m)
    narrow = pieces[-1].count < pieces[0].count
    vectors, together = choose(len(pieces), n, k, p.parts, most_accumulators(p.e.target), narrow=narrow)
    groups: list[list[ProductPiece]] = []
    start = column = 0
    for count, times in split(len(pieces), vectors):
        groups += [pieces[k : k + count] for k in range(start, start + count * times, count)]
        start += count * times
    for count, times in split(n, together):
        _known_columns(p, groups, column, count, times)
        column += count * times


def _known_columns(p: Product, groups: list[list[ProductPiece]], column: int, count: int, times: int) -> None:
    w = p.e.w
    if times == 1:
        _known_rows(p, groups, column, count)
        return
    with w.loop(column, column + count * times, count) as loop:
        _known_rows(p, groups, loop.index, count)


def _known_rows(p: Product, groups: list[list[ProductPiece]], column: Operand, count: int) -> None:
    """All rows for some columns; equal groups of whole vectors are a loop."""
    w = p.e.w
    for (size, whole), run in groupby(groups, lambda group: (len(group), _whole(p.e, group))):
        alike = list(run)
        if len(alike) == 1 or not whole:
            for group in alike:
                _known_block(p, group, column, count)
            continue
        start, step = alike[0][0].start, size * p.e.count
        with w.loop(start, w.add(start, len(alike) * step), step) as loop:
            moved = [ProductPiece(w.add(loop.index, number * p.e.count), p.e.count) for number in range(size)]
            _known_block(p, moved, column, count)


def _whole(e: Elements, group: Sequence[ProductPiece]) -> bool:
    return all(piece.count == e.count and piece.mask is None for piece in group)


def _known_block(p: Product, pieces: Sequence[ProductPiece], column: Operand, count: int) -> None:
    w = p.e.w
    columns = [p.b.address(w, 0, w.add(column, j)) for j in range(count)]

    sums: list[tuple[int, int, Parts]] = []

    def leave(end: Scaling) -> list[Val]:
        for j, i, parts in sums:
            end.write(p.target.address(w, pieces[i].start, w.add(column, j)), parts, pieces[i].mask)
        return []

    padded = p.a.shape[0] != p.target.shape[0]
    block(p.e, p.a, p.b, pieces, columns, lambda j, i, parts: sums.append((j, i, parts)), padded=padded)
    if p.otherwise is None:
        leave(p.end)
    else:
        condition, other = p.otherwise
        w.either(condition, lambda: leave(other), lambda: leave(p.end))


def _pieces(e: Elements, rows: int) -> list[ProductPiece]:
    """Rows by vectors; what remains is masked, or goes by smaller vectors where there are no masks."""
    width = e.count
    found = [ProductPiece(start, width) for start in range(0, rows - width + 1, width)]
    start = rows - rows % width
    while start < rows:
        left = rows - start
        count = 1 << (left - 1).bit_length() if e.masked else 1 << left.bit_length() - 1
        count = max(count, min(4, width)) if e.masked and left > 1 else count
        found.append(ProductPiece(start, count, e.first(count, left)))
        start += min(count, left)
    return found


def split(total: int, most: int) -> list[tuple[int, int]]:
    """Parts of nearly equal size, none above `most`: sizes, and how often each occurs."""
    size, larger = divmod(total, -(-total // most))
    return [(n, times) for n, times in ((size + 1, larger), (size, -(-total // most) - larger)) if times]


def choose(vectors: int, columns: int, depth: int, parts: int, most: int, *, narrow: bool = False) -> tuple[int, int]:
    """How many vectors of rows and how many columns a block has: what costs the fewest cycles by a simple count.

    Blocks that cover whole columns of a short first factor are preferred: memory is read from front to back. A last
    vector that is `narrow` makes LLVM copy the sums of its columns, which takes registers.
    """
    best = (float("inf"), 1, 1)
    for height in range(1, min(vectors, 8) + 1):
        for width in range(1, min(columns, 28) + 1):
            accumulators, factors = height * width * parts * parts, (height + 1) * parts
            copies = width * parts if narrow and height > 1 else 0
            if height * width > 1 and (accumulators > most or accumulators + max(factors, copies + 1) > most + 7):
                continue
            cost = sum(
                rows * times * (depth * max(m * n * parts * parts, _loads(m, n) * parts, 4) + m * n * parts + 6)
                for m, rows in split(vectors, height)
                for n, times in split(columns, width)
            )
            if height < vectors <= _SHORT:
                cost *= 1.15
            best = min(best, (cost - 1e-9 * width, height, width))
    return best[1], best[2]


def _loads(vectors: int, columns: int) -> float:
    """How long the loads of a step take; the addresses of many columns have to be loaded, too."""
    return vectors + columns + max(columns - _ADDRESSES, 0) / 2
