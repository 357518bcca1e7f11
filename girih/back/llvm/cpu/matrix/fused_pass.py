"""Passes over cooperative matrices: the pieces of a matrix one after the other, and all that they are computed from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.states import (
    LONGEST_LINE,
    PIECE_BYTES,
    Columns,
    Deferred,
    InMemory,
    Matrix,
    MatrixPiece,
    Parts,
    Reference,
    Repeated,
    SameColumns,
    Splat,
    Unloaded,
    constant_of,
    consume,
    in_registers,
    joined,
    leaves,
    length,
    line_count,
    new_tile,
    part,
    part_count,
    read_tile,
    register_bytes,
    settled,
    turned,
    weight_of,
    write_tile,
)
from girih.back.llvm.cpu.matrix.transpose import move_in
from girih.back.llvm.emit.text import Operand, Val, lanes, wide
from girih.back.llvm.numbers.rounding import from_memory
from girih.back.llvm.numbers.values import memory_type
from girih.ir.types import CoopMatrix

_ALWAYS_KNOWN = 8
"""No loop goes over the pieces of so short a line."""


class Walk:
    """One pass over the pieces of matrices of one shape, in which what waits is computed.

    What will be needed again is kept on the way: `close` makes it known when the pass has gone over all pieces.
    """

    def __init__(self, code: CpuCode, *roots: Matrix, static: bool = False) -> None:
        self.code = code
        self.roots = roots
        self._sinks: dict[Deferred, InMemory] = {}
        self._known: dict[tuple[Matrix, MatrixPiece], Parts] = {}
        self._moved: dict[Matrix, InMemory] = {}
        self._same: dict[SameColumns, InMemory] = {}
        self._bytes = 1
        for root in roots:
            self._prepare(root)
        self.static = static or any(r.static for r in roots)
        if not self.static:
            for same, line in self._same.items():
                write_tile(code, line, MatrixPiece(0, 0, length(line.type)), same.parts)

    def _prepare(self, m: Matrix) -> None:
        self._bytes = max(self._bytes, register_bytes(m.type))
        if isinstance(m, Unloaded) and m.held is None:
            m.found(self.code, lines=True)
        found = settled(m)
        if isinstance(found, Reference) and not found.contiguous and found not in self._moved:
            self._moved[found] = new_tile(self.code, found.type)
            move_in(self.code, found.pointer, found.row_stride, found.column_stride, self._moved[found])
        if isinstance(found, SameColumns) and length(found.type) > _ALWAYS_KNOWN:
            # A loop over the pieces asks for those of a line by numbers that are known only at run time.
            self._same[found] = new_tile(self.code, _line_of(found.type))
        if isinstance(m, Deferred) and m.held is None and m not in self._sinks:
            if m.remaining is not None and m.remaining > 1:
                self._sinks[m] = new_tile(self.code, m.type)
            for one in m.operands:
                self._prepare(one)

    def kept(self, m: Matrix) -> InMemory | None:
        """The tile in which this pass keeps a matrix; None for one that it does not keep."""
        return self._sinks.get(m) if isinstance(m, Deferred) else None

    def pieces_of(self, type: CoopMatrix) -> list[tuple[int, int]]:
        """Start and length of the pieces of a line, of as many bytes as a few registers have."""
        step = PIECE_BYTES // max(self._bytes, register_bytes(type))
        return [(s, min(step, length(type) - s)) for s in range(0, length(type), step)]

    def piece(self, m: Matrix, at: MatrixPiece) -> Parts:
        """The components of a piece."""
        known = self._known.get((m, at))
        if known is None:
            known = self._known[m, at] = self._compute(settled(m), at)
        return known

    def _compute(self, m: Matrix, at: MatrixPiece) -> Parts:
        w = self.code.w
        match m:
            case Splat():
                return tuple(w.splat(p, at.count) for p in m.parts)
            case SameColumns():
                if isinstance(at.start, Val):
                    return read_tile(self.code, self._same[m], MatrixPiece(0, at.start, at.count))
                return tuple(w.part(p, constant_of(at.start), at.count) for p in m.parts)
            case Columns():
                held = m.columns[constant_of(at.line)]
                return tuple(_part(self.code, p, constant_of(at.start), at.count) for p in held)
            case InMemory():
                return read_tile(self.code, m, at)
            case Repeated():
                return tuple(w.splat(p, at.count) for p in read_tile(self.code, m.tile, m.source(at)))
            case Reference():
                moved = self._moved.get(m)
                return _read_reference(self.code, m, at) if moved is None else read_tile(self.code, moved, at)
            case Deferred():
                found = m.compute(at, [self.piece(one, at) for one in m.operands])
                if m in self._sinks:
                    write_tile(self.code, self._sinks[m], at, found)
                return found
            case _:
                raise TypeError(f"{type(m).__name__} has no pieces")

    def close(self) -> None:
        """Make known what was kept, and that the roots were read: the pass has gone over all pieces."""
        for m, tile in self._sinks.items():
            m.held = tile
            for one in m.operands:
                consume(one)
        for root in self.roots:
            consume(root)

    def lines(
        self,
        type: CoopMatrix,
        body: Callable[[MatrixPiece, int, Sequence[Val]], Sequence[Val]],
        start: Operand,
        count: int,
        carried: Sequence[Val] = (),
        unroll: int = 1,
    ) -> Sequence[Val]:
        """Go over a piece of each line; `body(piece, turn, values)` gives the next values, in turns of `unroll`."""
        total, values = line_count(type), carried
        if self.static or total <= unroll:
            for line in range(total):
                values = body(MatrixPiece(line, start, count), line % unroll, values)
            return values
        whole = total - total % unroll
        with self.code.w.loop(0, whole, unroll, list(values)) as loop:
            following: Sequence[Val] = loop.values
            for turn in range(unroll):
                following = body(MatrixPiece(self.code.w.add(loop.index, turn), start, count), turn, following)
            loop.following = following
        values = loop.results
        for line in range(whole, total):
            values = body(MatrixPiece(line, start, count), line % unroll, values)
        return values

    def starts(self, type: CoopMatrix, body: Callable[[Operand, int], None]) -> None:
        """Go over the pieces of a line: one after the other where they are few, by a loop where they are many."""
        pieces = self.pieces_of(type)
        step = pieces[0][1]
        if self.static or length(type) * register_bytes(type) <= LONGEST_LINE:
            for start, count in pieces:
                body(start, count)
            return
        whole = length(type) - length(type) % step
        with self.code.w.loop(0, whole, step) as loop:
            body(loop.index, step)
        if whole < length(type):
            body(whole, length(type) - whole)

    def everywhere(self, type: CoopMatrix, body: Callable[[MatrixPiece], None], unroll: int = 1) -> None:
        """Go over all pieces once."""

        def line(at: MatrixPiece, turn: int, values: Sequence[Val]) -> Sequence[Val]:
            body(at)
            return values

        def piece(start: Operand, count: int) -> None:
            self.lines(type, line, start, count, (), unroll)

        self.starts(type, piece)


def _part(code: CpuCode, held: Val, start: int, count: int) -> Val:
    return held if count == lanes(held.type) else code.w.part(held, start, count)


def _read_reference(code: CpuCode, m: Reference, at: MatrixPiece) -> Parts:
    """A piece of neighbouring components in memory."""
    w, one = code.w, part(m.type)
    stride = m.row_stride if turned(m.type) else m.column_stride
    line = w.at(m.pointer, w.mul(w.value(at.line), stride))
    held = w.load(wide(memory_type(one), at.count), w.at(line, w.mul(w.value(at.start), one.size)), one.size)
    return (from_memory(w, code.target.features, one, held),)


def place_for(code: CpuCode, type: CoopMatrix, *roots: Matrix) -> InMemory:
    """The tile for the result of a pass over the roots: of a matrix that is read for the last time, or a new one."""
    found = list(leaves(*roots))
    for leaf in found:
        if not isinstance(leaf, InMemory) or not leaf.owned or leaf.remaining != found.count(leaf):
            continue
        if (
            leaf.type.shape == type.shape
            and part(leaf.type).size == part(type).size
            and (part_count(leaf.type) == part_count(type))
        ):
            return InMemory(type, leaf.pointer, True, leaf.slot, leaf.offset)
    return new_tile(code, type)


def to_tile(code: CpuCode, m: Matrix, into: InMemory | None = None) -> InMemory:
    """The tile of a matrix, which counts as read: the one where it lies, or else `into` or a new one, filled."""
    found = settled(m)
    if isinstance(found, InMemory) and into is None:
        consume(m)
        return found
    walk = Walk(code, m)
    found = settled(m)
    if isinstance(found, InMemory) and into is None:
        consume(m)
        return found
    tile = into or walk.kept(m) or place_for(code, m.type, m)
    vectors = -(-min(length(m.type) * register_bytes(m.type), PIECE_BYTES) // code.target.vector_bytes)
    unroll = 1 if weight_of(m) > 12 else max(1, 4 // vectors)
    kept = tile is walk.kept(m)

    def body(at: MatrixPiece) -> None:
        parts = walk.piece(m, at)
        if not kept:
            write_tile(code, tile, at, parts)

    walk.everywhere(m.type, body, unroll)
    walk.close()
    return tile


def to_columns(code: CpuCode, m: Matrix) -> list[Parts]:
    """The lines of a small matrix in registers; it counts as read."""
    found = settled(m)
    if isinstance(found, Columns):
        consume(m)
        return found.columns
    walk = Walk(code, m, static=True)
    columns = []
    for line in range(line_count(m.type)):
        pieces = [walk.piece(m, MatrixPiece(line, start, count)) for start, count in walk.pieces_of(m.type)]
        columns.append(joined(code, pieces))
    walk.close()
    return columns


def repeated(code: CpuCode, m: Matrix, type: CoopMatrix) -> Matrix:
    """The matrix of a type whose rows or columns are all equal to `m`, a row or a column, which counts as read."""
    w, form = code.w, settled(m)
    if isinstance(form, Splat):
        consume(m)
        return Splat(type, form.parts)
    small = in_registers(code, type)
    if not in_registers(code, m.type) or (turned(m.type) and not small and length(m.type) > 1):
        return Repeated(type, to_tile(code, m, new_tile(code, m.type)))
    (line,) = to_columns(code, m)
    if length(m.type) == 1:
        return Splat(type, line)
    if not turned(m.type):
        return Columns(type, [line] * line_count(type)) if small else SameColumns(type, line)
    spread = [tuple(w.splat(w.extract(p, k), length(type)) for p in line) for k in range(line_count(type))]
    return Columns(type, spread)


def _line_of(type: CoopMatrix) -> CoopMatrix:
    """The type of one line of a matrix."""
    return type if turned(type) else replace(type, columns=1)
