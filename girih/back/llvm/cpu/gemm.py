"""Matrix products: which way each is computed, and the direct way for small ones.

Products of one row or one column are those of a matrix and a vector (`girih.back.llvm.cpu.gemm_vector`).

The direct way reads both factors where they lie: blocks of vectors of rows by some columns are accumulated in registers
and scaled into the target. It needs rows that are contiguous in the first factor and the target; a small first factor
that is stored the other way is copied first. Sizes that are known make straight code with loops where blocks repeat;
for sizes that are not, it is decided at run time between this and the packed way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from girih.back.llvm.cpu import gemm_packed, gemm_vector
from girih.back.llvm.cpu.elements import Elements, Parts, View
from girih.back.llvm.cpu.lowering import Frame
from girih.back.llvm.cpu.microkernel import accumulate, most_accumulators, multiply_add
from girih.back.llvm.cpu.packing import Panels
from girih.back.llvm.cpu.scaling import Scaling
from girih.back.llvm.cpu.sums import PIECE_BYTES
from girih.back.llvm.text import Operand, Val, zero
from girih.back.llvm.text import wide as vector_type
from girih.ir.types import BF16

_SMALL = 64**3
"""Up to so many products the direct way is taken whatever the strides are."""

_THIN = 16
"""Targets with so few columns, or products of so small a depth, do not pay for packing."""

_TALL = 4096
"""Targets of more rows are not laid out vector by vector, although their size is known."""

_NEAR_BYTES = 768 << 10
"""A first factor that is spread over no more memory than this stays in the second cache: it need not be packed."""

_SHORT = 6
"""Columns of so many vectors are short: those of matrices that come in batches."""

_ADDRESSES = 11
"""So many columns have their addresses in registers."""

_DYNAMIC_VECTORS = 3
_DYNAMIC_COLUMNS = 8
_REST_COLUMNS = 2


@dataclass(frozen=True, slots=True)
class Piece:
    """Neighbouring rows that a vector holds: where they start, how many lanes, and which of them count."""

    start: Operand
    count: int
    mask: Val | None = None


@dataclass(slots=True)
class Product:
    """target := alpha a b + beta target in the making, all transposes resolved."""

    e: Elements
    end: Scaling
    a: View
    b: View
    target: View
    frame: Frame
    workspace: Val

    @property
    def parts(self) -> int:
        return len(self.e.zero(1))

    @property
    def direct(self) -> bool:
        """Whether rows are neighbours where they have to be."""
        return self.a.contiguous and self.target.contiguous and not self.end.one_by_one


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
        _maybe_vector(p, n, gemm_vector.column, lambda: _maybe_vector(p, m, gemm_vector.row, lambda: _matrices(p)))


def _as_vector(product: Product, way: VectorWay) -> None:
    p, used = product, product.frame.used
    piece = p.e.w.at(p.workspace, p.frame.take(PIECE_BYTES))
    way(p.e, p.end, p.a, p.b, p.target, piece)
    p.frame.used = used


def _maybe_vector(product: Product, extent: Operand, way: VectorWay, otherwise: Callable[[], None]) -> None:
    """Treat the product as that of a matrix and a vector if an extent is 1."""
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
    """The product of proper matrices."""
    (m, k), n = product.a.shape, product.b.shape[1]
    if isinstance(m, int) and isinstance(n, int) and isinstance(k, int):
        _multiply_known(product, m, n, k)
        return
    if not product.direct or not _plain(product):
        _packed(product)
        return
    w = product.e.w
    small = w.compare("sle", w.mul(w.mul(m, n), k), _SMALL)
    thin = w.binary("or", w.compare("sle", n, _THIN), w.compare("sle", k, _THIN))
    if product.b.contiguous:
        near = w.compare("sle", w.mul(k, w.mul(product.a.strides[1], product.a.element.size)), _NEAR_BYTES)
        small = w.binary("or", small, near)

    def directly() -> list[Val]:
        _unknown(product)
        return []

    def packed() -> list[Val]:
        _packed(product)
        return []

    w.either(w.binary("or", small, thin), directly, packed)


def _multiply_known(product: Product, m: int, n: int, k: int) -> None:
    """The same for sizes that are known."""
    pairs = gemm_packed.takes_pairs(product.e.target, product.e.compute, product.a, product.b)
    small = m * n * k <= (_SMALL // 2 if pairs else _SMALL) or n <= _THIN or k <= _THIN
    pitch = product.a.strides[1]
    near = isinstance(pitch, int) and k * pitch * product.a.element.size <= _NEAR_BYTES and not pairs
    copy = _copied_bytes(product, m, k) <= _NEAR_BYTES and (small or not pairs)
    if product.direct and _fits_source(product) and (small or near):
        (_unknown if m > _TALL else _known)(product)
    elif product.target.contiguous and not product.end.one_by_one and copy:
        _known(_with_copy(product, m, k))
    else:
        _packed(product)


def _fits_source(product: Product) -> bool:
    """Whether elements need little work on their way: numbers that are computed with as they are, or bf16."""
    return product.a.element.size >= 4 or product.a.element == BF16


def _plain(product: Product) -> bool:
    """Whether elements are real numbers that are computed with as they are."""
    return product.parts == 1 and all(v.element == product.e.compute for v in (product.a, product.b, product.target))


def _packed(product: Product) -> None:
    p = product
    gemm_packed.multiply(p.e, p.end, p.a, p.b, p.target, p.frame, p.workspace)


# --- a copy of the first factor ----------------------------------------------------------------


def _padded(product: Product, m: int) -> int:
    return -(-m // product.e.count) * product.e.count


def _copied_bytes(product: Product, m: int, k: int) -> int:
    return _padded(product, m) * k * product.e.compute.size


def _with_copy(product: Product, m: int, k: int) -> Product:
    """The same with a first factor that was turned and converted; its columns are padded to whole vectors."""
    p, rows = product, _padded(product, m)
    place = p.e.w.at(p.workspace, p.frame.take(_copied_bytes(product, m, k)))
    panels = Panels(p.e.target, p.a.element, p.e.compute, rows, 1, pairs=False)
    panels.pack(p.e.w, p.a, place)
    copy = View(p.e.compute, place, (rows, k), (1, rows))
    return Product(p.e, p.end, copy, p.b, p.target, p.frame, p.workspace)


# --- blocks ------------------------------------------------------------------------------------


def _block(
    p: Product, pieces: Sequence[Piece], columns: Sequence[Val], finish: Callable[[int, int, Parts], None]
) -> None:
    """Sums for pieces of rows and columns of `b` that start at addresses; `finish` gets each by column and piece."""
    w, e = p.e.w, p.e
    row_step, depth_a = p.a.element.size, w.mul(p.a.strides[1], p.a.element.size)
    depth_b = w.mul(p.b.strides[0], p.b.element.size)
    rows = [w.at(p.a.pointer, w.mul(piece.start, row_step)) for piece in pieces]
    readable = p.a.shape[0] != p.target.shape[0]

    def step(base: Operand, distance: int, values: Sequence[Val]) -> list[Val]:
        left: list[Val] = []
        for piece, row in zip(pieces, rows, strict=True):
            place = w.at(w.at(row, w.mul(base, depth_a)), w.mul(distance, depth_a))
            left += e.load(p.a.element, place, piece.count, None if readable else piece.mask)
        right: list[Val] = []
        for column in columns:
            place = w.at(w.at(column, w.mul(base, depth_b)), w.mul(distance, depth_b))
            right += e.load(p.b.element, place)
        return multiply_add(w, left, right, values)

    start = [
        zero(vector_type(e.part, piece.count))
        for _ in range(len(columns) * p.parts)
        for piece in pieces
        for _ in range(p.parts)
    ]
    sums = accumulate(w, p.a.shape[1], start, step, len(start))
    for j in range(len(columns)):
        for i in range(len(pieces)):
            finish(j, i, _together(p, sums, len(pieces), j, i))


def _together(p: Product, sums: list[Val], pieces: int, j: int, i: int) -> Parts:
    """The sum for a column and a piece; for complex numbers, put together from products of parts."""
    if p.parts == 1:
        return (sums[j * pieces + i],)
    rows = 2 * pieces
    real, imaginary = (sums[(2 * j + part) * rows + 2 * i :][:2] for part in range(2))
    w = p.e.w
    if real[0].type.endswith(("float", "float>", "double", "double>")):
        return w.binary("fsub", real[0], imaginary[1]), w.binary("fadd", imaginary[0], real[1])
    return w.sub(real[0], imaginary[1]), w.add(imaginary[0], real[1])


# --- sizes that are known ----------------------------------------------------------------------


def _known(p: Product) -> None:
    """Blocks of a number of rows and columns that was chosen for the sizes; loops where they repeat."""
    m, n, k = (extent if isinstance(extent, int) else 0 for extent in (p.target.shape[0], p.b.shape[1], p.b.shape[0]))
    pieces = _pieces(p.e, m)
    narrow = pieces[-1].count < pieces[0].count
    vectors, together = choose(len(pieces), n, k, p.parts, most_accumulators(p.e.target), narrow=narrow)
    groups: list[list[Piece]] = []
    start = column = 0
    for count, times in split(len(pieces), vectors):
        groups += [pieces[k : k + count] for k in range(start, start + count * times, count)]
        start += count * times
    for count, times in split(n, together):
        _known_columns(p, groups, column, count, times)
        column += count * times


def _known_columns(p: Product, groups: list[list[Piece]], column: int, count: int, times: int) -> None:
    w = p.e.w
    if times == 1:
        _known_rows(p, groups, column, count)
        return
    with w.loop(column, column + count * times, count) as loop:
        _known_rows(p, groups, loop.index, count)


def _known_rows(p: Product, groups: list[list[Piece]], column: Operand, count: int) -> None:
    """All rows for some columns; equal groups of whole vectors are a loop."""
    w = p.e.w
    alike = 0
    while alike < len(groups) and len(groups[alike]) == len(groups[0]) and _whole(p.e, groups[alike]):
        alike += 1
    if alike > 1:
        step = len(groups[0]) * p.e.count
        with w.loop(0, alike * step, step) as loop:
            moved = [Piece(w.add(loop.index, number * p.e.count), p.e.count) for number in range(len(groups[0]))]
            _known_block(p, moved, column, count)
    for group in groups[alike if alike > 1 else 0 :]:
        _known_block(p, group, column, count)


def _whole(e: Elements, group: Sequence[Piece]) -> bool:
    return all(piece.count == e.count and piece.mask is None for piece in group)


def _known_block(p: Product, pieces: Sequence[Piece], column: Operand, count: int) -> None:
    w = p.e.w
    columns = [p.b.address(w, 0, w.add(column, j)) for j in range(count)]

    def finish(j: int, i: int, parts: Parts) -> None:
        place = p.target.address(w, pieces[i].start, w.add(column, j))
        p.end.write(place, parts, pieces[i].mask)

    _block(p, pieces, columns, finish)


def _pieces(e: Elements, rows: int) -> list[Piece]:
    """Rows by vectors; what remains is masked, or goes by smaller vectors where there are no masks."""
    width = e.count
    found = [Piece(start, width) for start in range(0, rows - width + 1, width)]
    start = rows - rows % width
    while start < rows:
        left = rows - start
        count = 1 << (left - 1).bit_length() if e.masked else 1 << left.bit_length() - 1
        count = max(count, min(4, width)) if e.masked and left > 1 else count
        found.append(Piece(start, count, e.first(count, left)))
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


# --- sizes that are not known ------------------------------------------------------------------


def _unknown(p: Product) -> None:
    """Blocks of a few vectors by a few columns; of columns that remain, pairs, the last with itself if it is alone."""
    w, e = p.e.w, p.e
    vectors = max(_DYNAMIC_VECTORS // p.parts, 1) if e.target.registers >= 32 else 1
    width = _DYNAMIC_COLUMNS // p.parts
    rows, columns = w.value(p.a.shape[0]), w.value(p.b.shape[1])
    step = vectors * e.count
    many = w.mul(w.binary("udiv", rows, step), step)
    whole = w.binary("and", columns, -width)
    for first, beyond, together in ((w.value(0), whole, width), (whole, columns, _REST_COLUMNS)):
        with w.loop(first, beyond, together) as loop:
            last = w.sub(columns, 1)
            places = [w.add(loop.index, j) for j in range(together)]
            if together < width:
                places = [w.smaller(place, last) for place in places]
            block = _ColumnBlock(
                [p.b.address(w, 0, place) for place in places],
                [p.target.address(w, 0, place) for place in places],
                [w.compare("slt", loop.index, w.sub(columns, j)) if j and together < width else None
                 for j in range(together)],
            )  # fmt: skip
            for begin, end, pieces, masked in _row_loops(e, vectors, many, rows, brief=together < width):
                with w.loop(begin, end, (_rest_lanes(e) if masked else pieces * e.count) or 1) as row:
                    _unknown_block(p, _row_pieces(e, row.index, pieces, rows if masked else None), block)


@dataclass(frozen=True, slots=True)
class _ColumnBlock:
    """Neighbouring columns: where they start in the second factor and the target, and which are there, if in doubt."""

    starts: Sequence[Val]
    goals: Sequence[Val]
    inside: Sequence[Val | None]


def _row_loops(e: Elements, vectors: int, many: Val, rows: Val, *, brief: bool) -> list[tuple[Operand, Val, int, bool]]:
    """Loops over rows: their range, how many vectors (0: what is less than one), and whether these are masked."""
    if e.masked and brief:
        return [(0, many, vectors, False), (many, rows, 0, True)]
    whole = e.w.binary("and", rows, -e.count)
    return [(0, many, vectors, False), (many, whole, 1, False), (whole, rows, 0, e.masked)]


def _rest_lanes(e: Elements) -> int:
    """The lanes of masked vectors: half of all, which takes half the time and leaves fewer of them empty."""
    return e.count // 2


def _row_pieces(e: Elements, start: Val, vectors: int, rows: Val | None) -> list[Piece]:
    if rows is not None:
        lanes = _rest_lanes(e)
        return [Piece(start, lanes, e.first(lanes, e.w.sub(rows, start)))]
    if vectors == 0:
        return [Piece(start, 1)]
    return [Piece(e.w.add(start, number * e.count), e.count) for number in range(vectors)]


def _unknown_block(p: Product, pieces: Sequence[Piece], block: _ColumnBlock) -> None:
    w = p.e.w
    held: dict[int, list[Parts]] = {}

    def finish(j: int, i: int, parts: Parts) -> None:
        held.setdefault(j, []).append(parts)

    _block(p, pieces, block.starts, finish)
    for j, goal in enumerate(block.goals):
        inside = block.inside[j]
        with nullcontext() if inside is None else w.when(inside):
            for piece, parts in zip(pieces, held[j], strict=True):
                p.end.write(w.at(goal, w.mul(piece.start, p.target.element.size)), parts, piece.mask)
