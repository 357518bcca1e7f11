"""Products of cooperative matrices (003 "Cooperative matrix mul add").

The result is computed in blocks of accumulators that stay in registers over the whole depth. One factor gives vectors,
straight from memory where its lines are neighbours there, the other one single components, from wherever they are.
Where the processor has tiles for the types, blocks of 32 x 32 are sums in tiles instead, which begin and end in the
workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from girih.back.llvm.cpu.amx.blocks import FactorPlace, PanelPlace, TileMatrices
from girih.back.llvm.cpu.amx.tiles import LINES, depth_of, factors_of
from girih.back.llvm.cpu.collective.microkernel import accumulate, fused, most_accumulators
from girih.back.llvm.cpu.dots import byte_dots
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix import bf16_pairs, packing
from girih.back.llvm.cpu.matrix.bf16_pairs import Factor
from girih.back.llvm.cpu.matrix.fused_pass import Walk, place_for, to_tile
from girih.back.llvm.cpu.matrix.states import (
    Columns,
    Deferred,
    InMemory,
    Matrix,
    MatrixPiece,
    Parts,
    Reference,
    SameColumns,
    Splat,
    Unloaded,
    consume,
    in_registers,
    joined,
    known,
    length,
    line_bytes,
    line_count,
    new_tile,
    part,
    part_count,
    plane_bytes,
    register_bytes,
    same_numbers,
    settled,
    turned,
    weight_of,
    write_tile,
)
from girih.back.llvm.cpu.matrix.transpose import move_in, turn
from girih.back.llvm.cpu.matrix.uses import plan_of
from girih.back.llvm.emit.text import Operand, Val, lanes, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers import casts
from girih.back.llvm.numbers.rounding import from_memory
from girih.back.llvm.numbers.values import memory_type
from girih.facts import remarks
from girih.facts.accumulators import product_accumulator
from girih.ir.core import Value
from girih.ir.types import F32, I8, I32, CoopMatrix, Number, Use
from girih.ops.tile.control import For
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd

_MOST_DOTS = 128
"""Dot products of bytes are written out up to so many pieces."""
_LARGEST_SAME = 128
"""A line that all lines are equal to is held in registers up to so many components."""


def mul_add(code: CpuCode, op: CooperativeMatrixMulAdd, a: Matrix, b: Matrix, c: Matrix) -> Matrix:
    """The product of two matrices plus a third one."""
    type = op.result.type
    assert isinstance(type, CoopMatrix)
    total = product_accumulator(c.type.component, type.component)
    if a.type.columns == 1 and not turned(type) and isinstance(settled(b), Splat) and isinstance(settled(c), Splat):
        found = _spread(code, type, total, a, b, c)
        if found is not None:
            return found
    if _has_tiles(code, type, total, a, b):
        return _by_tiles(code, type, total, (a, b), c, [_is_steady(code, op, value) for value in (op.a, op.b)])
    if _is_dots(code, type, total, a, b):
        return _by_dots(code, type, a, b, c)
    return _MatrixProduct(code, type, total, a, b, c).result()


def product(code: CpuCode, type: CoopMatrix, total: Number, a: Matrix, b: Matrix, c: Matrix) -> Matrix:
    """The product of two matrices plus a third one, as a matrix of a type, with sums in the type `total`."""
    if _has_tiles(code, type, total, a, b):
        return _by_tiles(code, type, total, (a, b), c, (False, False))
    return _MatrixProduct(code, type, total, a, b, c).result()


# --- by tiles of AMX ---------------------------------------------------------------------------


def _has_tiles(code: CpuCode, type: CoopMatrix, total: Number, a: Matrix, b: Matrix) -> bool:
    """Whether a product goes by tiles; remarks on types for which there are none."""
    first, second = a.type.component, b.type.component
    factors = factors_of(code.target, first, second, total)
    if factors is None:
        if code.target.amx and first.size <= 2 and second.size <= 2:
            code.remarks.note(remarks.amx_unused(first, second, total, code.target.amx))
        return False
    rows, depth = a.type.shape
    whole = rows % LINES == 0 and b.type.columns % LINES == 0
    return whole and not turned(type) and 2 * depth >= depth_of(factors)


def _by_tiles(
    code: CpuCode, type: CoopMatrix, total: Number, factors: tuple[Matrix, Matrix], c: Matrix, steady: Sequence[bool]
) -> Matrix:
    """The product, of whose sums those are updated where they lie that nobody else needs."""
    a, b = factors
    code.remarks.note(remarks.amx(a.type.component))
    (rows, depth), columns = a.type.shape, b.type.columns
    read: list[Matrix] = []
    first: FactorPlace | PanelPlace | None = bf16_pairs.panels(code, a)
    if first is None:
        first = _place_of(code, a, read, steady[0])
    second = _place_of(code, b, read, steady[1])
    sums, onto = _begun(code, CoopMatrix(total, rows, columns, type.use), c)
    matrices = TileMatrices(code.w, code.target, partial(_take, code, steady), a.type.component, rows, depth, columns)
    matrices.multiply(first, second, sums.pointer, line_bytes(sums.type), onto=onto)
    for m in read:
        consume(m)
    if type.component == total:
        return sums
    return to_tile(code, _later(code, type, sums))


def _take(code: CpuCode, steady: Sequence[bool], bytes: int) -> Val:
    """Workspace for panels; for those made before a loop, where nothing of the loop has lain so far."""
    if any(steady):
        code.frame.used = code.frame.most
    return code.take(bytes)


def _is_steady(code: CpuCode, op: CooperativeMatrixMulAdd, value: Value) -> bool:
    """Whether a factor is known before the innermost loop around a product, whose body the product stands in."""
    plan = plan_of(code.function)
    home = plan.homes[op]
    return code.w.level > 0 and isinstance(plan.owners.get(home), For) and plan.defined_in.get(value) is not home


def _place_of(code: CpuCode, m: Matrix, read: list[Matrix], steady: bool) -> FactorPlace:
    """Where a factor lies. What is read until the product is done is added to `read`."""
    held = same_numbers(m)
    if isinstance(held, Unloaded):
        held = held.found(code, lines=False)
    if isinstance(held, Reference):
        read.append(m)
        return FactorPlace(held.pointer, held.row_stride, held.column_stride)
    # A matrix that is computed here lies in the workspace from now on only.
    steady = steady and isinstance(held, InMemory) and m.remaining is None
    if isinstance(held, InMemory):
        read.append(m)
    else:
        held = to_tile(code, m)
    size, line = held.type.component.size, line_bytes(held.type)
    return FactorPlace(held.pointer, *((line, size) if turned(held.type) else (size, line)), steady)


def _begun(code: CpuCode, type: CoopMatrix, c: Matrix) -> tuple[InMemory, bool]:
    """The tile of sums, with the third matrix in it, which counts as read; and whether that matters."""
    held = settled(c)
    if isinstance(held, Splat) and all(_is_zero(p.text) for p in held.parts):
        consume(c)
        return new_tile(code, type), False
    if c.type.component != type.component:
        return to_tile(code, _later(code, type, c), new_tile(code, type)), True
    tile = place_for(code, type, c)
    if isinstance(held, InMemory) and held.pointer.text == tile.pointer.text:
        consume(c)
        return tile, True
    return to_tile(code, c, tile), True


def _later(code: CpuCode, type: CoopMatrix, m: Matrix) -> Deferred:
    """A matrix in another component type, which is still to be computed."""

    def compute(at: MatrixPiece, parts: list[Parts]) -> Parts:
        return _cast(code, m.type.component, type.component, parts[0])

    return Deferred(type, (m,), compute, 3, remaining=1)


def _is_zero(text: str) -> bool:
    return text in ("0", "0x0000000000000000", "zeroinitializer")


# --- by dot products of bytes ------------------------------------------------------------------


def _is_dots(code: CpuCode, type: CoopMatrix, total: Number, a: Matrix, b: Matrix) -> bool:
    """Whether rows of bytes are multiplied by a column, few enough for straight code."""
    if type.columns > 1 or total != I32 or not a.type.component == b.type.component == I8:
        return False
    count = byte_dots.step(code.target, a.type.columns)
    if count == 0 or a.type.columns // count * type.rows > _MOST_DOTS:
        return False
    return _has_rows(code, a)


def _has_rows(code: CpuCode, m: Matrix) -> bool:
    """Whether the components of a row lie side by side, or follow from others that do."""
    held = settled(m)
    if isinstance(held, Unloaded):
        held = held.found(code, lines=False)
    if isinstance(held, Deferred):
        return held.any_order and all(_has_rows(code, one) for one in held.operands)
    return isinstance(held, Splat) or (isinstance(held, Reference) and known(held.column_stride) == I8.size)


def _rows(code: CpuCode, m: Matrix, numbers: Sequence[int], start: int, count: int) -> Val:
    """Pieces of some rows side by side."""
    w, held = code.w, settled(m)
    if isinstance(held, Splat):
        return w.splat(held.parts[0], len(numbers) * count)
    if isinstance(held, Deferred):
        given = [(_rows(code, one, numbers, start, count),) for one in held.operands]
        return held.compute(MatrixPiece(0, 0, len(numbers) * count), [*given])[0]
    assert isinstance(held, Reference)
    # Products with the same matrix, such as one with each half of its bytes, read it once.
    place = (w, w.block, *numbers, start, count)
    if place not in held.pieces:
        lines = [w.at(w.at(held.pointer, w.mul(w.value(number), held.row_stride)), start) for number in numbers]
        held.pieces[place] = w.join([w.load(wide("i8", count), line, I8.size) for line in lines])
    return held.pieces[place]


def _by_dots(code: CpuCode, type: CoopMatrix, a: Matrix, b: Matrix, c: Matrix) -> Matrix:
    """Rows of bytes times a column of bytes, plus a column."""
    walk, w, target = Walk(code, b, c, static=True), code.w, code.target
    depth, number = a.type.columns, type.rows

    def column(start: int, count: int) -> Val:
        return walk.piece(b, MatrixPiece(0, start, count))[0]

    exact = c.type.component == type.component == I32
    before, onto = settled(c), None
    if exact and isinstance(before, Columns) and before.open_sums is not None and before.open_sums[0] == depth:
        # The lanes of both products are added up together.
        onto = before.open_sums[1]
    registers = byte_dots.partial_dots(w, target, depth, column, partial(_rows, code, a), number, onto)
    found, whole = byte_dots.total(w, target, depth, registers, number), MatrixPiece(0, 0, number)
    zero = isinstance(before, Splat) and all(_is_zero(p.text) for p in before.parts)
    if onto is None and not zero:
        added = _cast(code, c.type.component, I32, walk.piece(c, whole))
        found = w.add(found, w.splat(added[0], number))
    parts = _cast(code, I32, type.component, (found,))
    walk.close()
    consume(a)
    if in_registers(code, type):
        return Columns(type, [parts], (depth, registers) if exact and (zero or onto is not None) else None)
    tile = new_tile(code, type)
    write_tile(code, tile, whole, parts)
    return tile


# --- by vectors --------------------------------------------------------------------------------


def _spread(code: CpuCode, type: CoopMatrix, total: Number, a: Matrix, b: Matrix, c: Matrix) -> Matrix | None:
    """A column times a row of equal numbers: all columns are equal."""
    if length(type) > _LARGEST_SAME:
        return None
    walk = Walk(code, a, b, c, static=True)
    pieces = []
    for start, count in walk.pieces_of(type):
        at = MatrixPiece(0, start, count)
        x, y, z = (_cast(code, m.type.component, total, walk.piece(m, at)) for m in (a, b, c))
        pieces.append(_cast(code, total, type.component, multiply_add(code, x, y, z)))
    walk.close()
    parts = joined(code, pieces)
    if in_registers(code, type):
        return Columns(type, [parts] * line_count(type))
    return SameColumns(type, parts)


def _cast(code: CpuCode, source: Number, target: Number, parts: Parts) -> Parts:
    return casts.cast(code.w, code.target.features, source, target, parts)


def multiply_add(code: CpuCode, a: Parts, b: Parts, c: Parts) -> Parts:
    """a b + c in the type of the sums, of real or complex numbers."""
    w = code.w
    if len(c) == 1:
        return (fused(w, a[0], b[0], c[0]),)
    negative = w.negative(a[1])
    real = w.fma(negative, b[1], w.fma(a[0], b[0], c[0]))
    return real, w.fma(a[1], b[0], w.fma(a[0], b[1], c[1]))


def _of_tile(tile: InMemory) -> Factor:
    """A factor that lies in the workspace."""
    strides = (part(tile.type).size, line_bytes(tile.type))
    return Factor(tile.type, tile.pointer, *(strides[::-1] if turned(tile.type) else strides), plane_bytes(tile.type))


def _transposed(factor: Factor) -> Factor:
    """The transpose of a factor, over the same numbers."""
    type = replace(factor.type, rows=factor.type.columns, columns=factor.type.rows)
    return replace(factor, type=type, row_stride=factor.column_stride, column_stride=factor.row_stride)


def _converted(code: CpuCode, m: Matrix, held: Matrix, total: Number, *, columns: bool) -> Factor:
    """A factor, which counts as read, in the type of the sums: converted as it lies in memory, `held`.

    It is converted row by row where that is better, unless `columns` are asked for.
    """
    source, type = m.type.component, m.type
    across = isinstance(held, Reference) and not (columns or held.contiguous)
    across = across and isinstance(held, Reference) and known(held.column_stride) == source.size
    read = m
    if across and isinstance(held, Reference):
        type = CoopMatrix(source, type.columns, type.rows, type.use)
        read = Reference(type, held.pointer, held.column_stride, held.row_stride)
        consume(m)
    target = CoopMatrix(total, type.rows, type.columns, type.use)
    tile = to_tile(code, Deferred(target, (read,), lambda at, x: _cast(code, source, total, x[0]), remaining=1))
    strides = (part(target).size, line_bytes(target))
    if turned(target) != across:
        strides = strides[::-1]
    shape = target if not across else CoopMatrix(total, target.columns, target.rows, target.use)
    return Factor(shape, tile.pointer, strides[0], strides[1], plane_bytes(target))


def widened(code: CpuCode, m: Matrix) -> Reference:
    """A factor of products that sum in f32, converted once for all of them: as they read it, in the workspace."""
    columns = m.type.use is Use.A
    held = same_numbers(m)
    if isinstance(held, Unloaded):
        held = held.found(code, lines=columns)
    factor = _converted(code, m, held, F32, columns=columns)
    return Reference(factor.type, factor.pointer, factor.row_stride, factor.column_stride)


class _MatrixProduct:
    def __init__(self, code: CpuCode, type: CoopMatrix, total: Number, a: Matrix, b: Matrix, c: Matrix) -> None:
        self.code, self.type, self.total = code, type, total
        self.depth = a.type.columns
        self.read: list[Matrix] = []
        self.ends: packing.ProductEnds | None = None
        self.copied = self.in_place = False
        self.pairs = not turned(type) and bf16_pairs.suits(code, a, b, total)
        if self.pairs:
            self.depth //= 2
            self.vectors, self.scalars = (
                bf16_pairs.vectors(code, a, self.read), bf16_pairs.scalars(code, b, self.read)
            )  # fmt: skip
        elif turned(type):
            # The line of the result is its row: the product of the transposes.
            self.vectors = self._transposed_vectors(b)
            self.scalars = _transposed(self._factor(a, columns=False))
        else:
            self.vectors, self.scalars = self._factors(a, b)
        self.c = c
        self.small = in_registers(code, type)
        if isinstance(settled(c), Deferred) and weight_of(c) > 4:
            self.c = to_tile(code, c)
            self.c.remaining = None if c.remaining is None else c.remaining + 1

    # --- factors -------------------------------------------------------------------------

    def _factors(self, a: Matrix, b: Matrix) -> tuple[Factor, Factor]:
        """Both factors: copies where these pay."""
        block = self._block()
        if not packing.pays(self.type, self.total, self.depth, block):
            return self._vectors(self._factor(a, columns=True)), self._factor(b, columns=False)
        code, total = self.code, self.total
        first, second = self._with_neighbours(a), self._with_neighbours(b)
        self.copied = first is not None
        if first is not None and second is not None:
            self.ends = packing.ends(code, first, second, total, block)
        ends = self.ends
        return (
            self._vectors(self._factor(a, columns=True))
            if first is None
            else packing.vectors(code, first, total, block[0], ends),
            self._factor(b, columns=False) if second is None else packing.scalars(code, second, total, ends),
        )

    def _with_neighbours(self, m: Matrix) -> Reference | None:
        """A factor that lies in memory and is to be copied, which counts as read; None where it is not."""
        held = same_numbers(m)
        if isinstance(held, Unloaded):
            held = held.found(self.code, lines=False)
        if not isinstance(held, Reference) or not packing.has_neighbours(held):
            return None
        consume(m)
        return held

    def _factor(self, m: Matrix, *, columns: bool) -> Factor:
        """A factor in memory, in the type of the sums; converted ones by columns where that is asked for."""
        code = self.code
        held = same_numbers(m)
        if isinstance(held, Unloaded):
            held = held.found(code, lines=False)
        if m.type.component != self.total:
            return _converted(code, m, held, self.total, columns=columns)
        if isinstance(held, Reference | InMemory):
            # The sum must not be written over what a factor still lies in.
            self.read.append(m)
        else:
            held = to_tile(code, m)
        if isinstance(held, Reference):
            return Factor(held.type, held.pointer, held.row_stride, held.column_stride)
        assert isinstance(held, InMemory)
        return _of_tile(held)

    def _transposed_vectors(self, b: Matrix) -> Factor:
        """The second factor as the first one of a product of transposes."""
        code = self.code
        if self.total.family != "complex":
            return self._vectors(_transposed(self._factor(b, columns=False)))
        held = _of_tile(to_tile(code, b)) if b.type.component == self.total else self._factor(b, columns=False)
        found = _transposed(held)
        if 1 in found.type.shape:
            return found
        tile = new_tile(code, found.type)
        turn(code, InMemory(held.type, held.pointer, owned=False), tile)
        return _of_tile(tile)

    def _vectors(self, factor: Factor) -> Factor:
        """The factor that gives vectors, copied if the components of a column are not neighbours."""
        type = factor.type
        if known(factor.row_stride) == part(type).size or type.rows == 1:
            return factor
        tile = new_tile(self.code, type)
        move_in(self.code, factor.pointer, factor.row_stride, factor.column_stride, tile)
        return Factor(type, tile.pointer, part(type).size, line_bytes(type))

    # --- blocks --------------------------------------------------------------------------

    def result(self) -> Matrix:
        """The product; its factors count as read."""
        found = self._blocks()
        for m in self.read:
            consume(m)
        return found

    def _blocks(self) -> Matrix:
        rows, columns = self._block()
        walk = Walk(self.code, self.c, static=self.small)
        if self.small:
            return self._in_registers(walk, rows, columns)
        tile, held = place_for(self.code, self.type, self.c), settled(self.c)
        self.in_place = isinstance(held, InMemory) and held.pointer.text == tile.pointer.text
        self._rows(walk, rows, lambda start, count: self._columns(walk, tile, start, count, columns))
        walk.close()
        return tile

    def _block(self) -> tuple[int, int]:
        """Components and lines of a block."""
        target = self.code.target
        size = part(CoopMatrix(self.total, 1, 1, Use.ACC)).size
        per_vector = target.vector_bytes // size
        most = most_accumulators(target) // (2 if self.total.family == "complex" else 1)
        total = length(self.type)
        vectors = -(-total // per_vector)
        rows = total if vectors <= 4 and vectors <= most else 2 * per_vector
        lines = max(1, most // -(-rows // per_vector))
        count = line_count(self.type)
        even = [n for n in range(max(1, (lines + 1) // 2), lines + 1) if count % n == 0]
        return rows, count if count <= lines else (max(even) if even else lines)

    def _rows(self, walk: Walk, step: int, body: Callable[[Operand, int], None]) -> None:
        """Go over the blocks of a line."""
        total = length(self.type)
        whole = total - total % step
        if walk.static or total <= (step if self.copied else 4 * step):
            for start in range(0, whole, step):
                body(start, step)
        else:
            with self.code.w.loop(0, self._end(whole, rows=True), step) as loop:
                body(loop.index, step)
        if whole < total:
            body(whole, total - whole)

    def _end(self, whole: int, *, rows: bool) -> Operand:
        """The end of the lines, or rows, of whole blocks: where sums lie in place, what adds nothing is left out."""
        if self.ends is None or not self.in_place:
            return whole
        return self.code.w.smaller(self.ends.rows if rows else self.ends.columns, whole)

    def _columns(self, walk: Walk, tile: InMemory, start: Operand, count: int, step: int) -> None:
        """Go over the lines of the blocks that begin at a component."""

        def block(line: Operand, lines: int) -> None:
            places = [MatrixPiece(self.code.w.add(line, j), start, count) for j in range(lines)]
            for at, parts in zip(places, self._accumulate(walk, places), strict=True):
                write_tile(self.code, tile, at, parts)

        total = line_count(self.type)
        whole = total - total % step
        if walk.static or whole <= step:
            for line in range(0, whole, step):
                block(line, step)
        else:
            with self.code.w.loop(0, self._end(whole, rows=False), step) as loop:
                block(loop.index, step)
        if whole < total:
            block(whole, total - whole)

    def _in_registers(self, walk: Walk, rows: int, columns: int) -> Columns:
        """A small result, its blocks one after the other."""
        found: list[list[Parts]] = [[] for _ in range(line_count(self.type))]
        for start in range(0, length(self.type), rows):
            count = min(rows, length(self.type) - start)
            for line in range(0, line_count(self.type), columns):
                lines = range(line, min(line + columns, line_count(self.type)))
                places = [MatrixPiece(k, start, count) for k in lines]
                for k, parts in zip(lines, self._accumulate(walk, places), strict=True):
                    found[k].append(parts)
        walk.close()
        return Columns(self.type, [joined(self.code, pieces) for pieces in found])

    def _accumulate(self, walk: Walk, places: Sequence[MatrixPiece]) -> list[Parts]:
        """The components of a block, which lies side by side in neighbouring lines."""
        code, w = self.code, self.code.w
        source = self.c.type.component
        initial = [_cast(code, source, self.total, walk.piece(self.c, at)) for at in places]
        count, parts = places[0].count, len(initial[0])
        across = self.vectors.row_stride if self.vectors.panel_stride is None else self.vectors.panel_stride
        a = w.at(self.vectors.pointer, w.mul(w.value(places[0].start), across))
        deep = self.scalars.row_stride
        b = [w.at(self.scalars.pointer, w.mul(w.value(at.line), self.scalars.column_stride)) for at in places]

        def step(base: Operand, distance: int, values: Sequence[Val]) -> list[Val]:
            here = _moved(w, a, self.vectors.column_stride, base, distance)
            x = self._load(self.vectors, here, count)
            following: list[Val] = []
            for j, pointer in enumerate(b):
                loaded = self._load(self.scalars, _moved(w, pointer, deep, base, distance), 1)
                y = tuple(w.splat(p, count) for p in loaded)
                following += multiply_add(code, x, y, tuple(values[j * parts : (j + 1) * parts]))
            return following

        vectors = -(-count * register_bytes(self._sums()) // code.target.vector_bytes)
        if self.pairs:
            return self._accumulate_pairs(a, b, deep, initial)
        depth = self.depth if self.ends is None else self.ends.depth_of(w, places[0])
        flat = accumulate(w, depth, [p for one in initial for p in one], step, len(places) * parts * vectors)
        blocks = [tuple(flat[j * parts : (j + 1) * parts]) for j in range(len(places))]
        return [_cast(code, self.total, self.type.component, one) for one in blocks]

    def _accumulate_pairs(self, a: Val, b: Sequence[Val], deep: Operand, initial: Sequence[Parts]) -> list[Parts]:
        """The components of a block by dot products of pairs, which take vectors of the hardware's length."""
        code, w = self.code, self.code.w
        count = lanes(initial[0][0].type)
        width = min(16, count)
        starts = range(0, count, width)
        flat = [w.part(column, s, width) if count > width else column for (column,) in initial for s in starts]

        def step(base: Operand, distance: int, values: Sequence[Val]) -> list[Val]:
            here = _moved(w, a, self.vectors.column_stride, base, distance)
            x = [w.load(wide("i32", width), w.at(here, 4 * s), 4 * width) for s in starts]
            following: list[Val] = []
            for j, pointer in enumerate(b):
                y = w.load("i32", _moved(w, pointer, deep, base, distance), 2)
                held = values[j * len(x) : (j + 1) * len(x)]
                following += bf16_pairs.multiply(code, x, y, held)
            return following

        flat = accumulate(w, self.depth, flat, step, len(flat))
        size = len(starts)
        columns = [w.join(flat[j * size : (j + 1) * size]) for j in range(len(b))]
        return [_cast(code, self.total, self.type.component, (one,)) for one in columns]

    def _sums(self) -> CoopMatrix:
        return CoopMatrix(self.total, 1, 1, Use.ACC)

    def _load(self, factor: Factor, pointer: Val, count: int) -> Parts:
        """Components of a factor that are neighbours."""
        w, one = self.code.w, part(factor.type)
        vector = wide(memory_type(one), count)
        held = [w.load(vector, w.at(pointer, k * factor.imaginary), one.size) for k in range(part_count(factor.type))]
        return tuple(from_memory(w, self.code.target.features, one, x) for x in held)


def _moved(w: Writer, pointer: Val, stride: Operand, base: Operand, distance: int) -> Val:
    """The address some steps further: the second distance does not change in loops."""
    return w.at(w.at(pointer, w.mul(w.value(base), stride)), w.mul(distance, stride))
