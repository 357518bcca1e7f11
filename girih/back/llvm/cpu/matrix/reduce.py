"""Reductions of cooperative matrices on the CPU (003 "Cooperative matrix reduce")."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.apply import loaded
from girih.back.llvm.cpu.matrix.bounds import together
from girih.back.llvm.cpu.matrix.fused_pass import Walk
from girih.back.llvm.cpu.matrix.states import (
    Columns,
    InMemory,
    Matrix,
    MatrixPiece,
    Parts,
    in_registers,
    joined,
    length,
    line_count,
    new_tile,
    operand,
    part_count,
    register_bytes,
    turned,
    weight_of,
    write_tile,
)
from girih.back.llvm.emit.text import Operand, Val, floating, integer, lanes, wide
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import arith, casts
from girih.back.llvm.numbers.values import register
from girih.facts.accumulators import accumulator
from girih.ir.types import PARTS, CoopMatrix, Number
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixReduceAdd,
    CooperativeMatrixReduceMax,
    CooperativeMatrixReduceMin,
    Reduce,
)

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""

_OPERATORS: dict[type[Reduce], str] = {
    CooperativeMatrixReduceAdd: "add",
    CooperativeMatrixReduceMax: "max",
    CooperativeMatrixReduceMin: "min",
}


@LOWERINGS.of(*_OPERATORS)
def reduce(code: CpuCode, op: Reduce) -> None:
    """The reduced rows or columns: each line by itself, or all lines place by place."""
    together(code, op)
    type = op.result.type
    assert isinstance(type, CoopMatrix)
    a = operand(code, op.a)
    # Lines are columns, but of a matrix of one row, which only the work-group holds here, the row.
    across = op.along_row != turned(a.type)
    code.set(op.result, _Reduction(code, _OPERATORS[op.__class__], type, a).result(across=across))


class _Reduction:
    def __init__(self, code: CpuCode, operator: str, type: CoopMatrix, a: Matrix) -> None:
        self.code, self.operator, self.type, self.a = code, operator, type, a
        component = type.component
        self.total: Number = accumulator(component) if operator == "add" else component

    def result(self, *, across: bool) -> Matrix:
        """The reduced matrix: `across` the lines, place by place, or within each line."""
        walk = Walk(self.code, self.a)
        found = self._across(walk) if across else self._along(walk)
        walk.close()
        return found

    def _combined(self, a: Parts, b: Parts) -> Parts:
        return arith.binary(self.code.w, self.code.target.features, self.operator, self.total, a, b)

    def _wide(self, parts: Parts) -> Parts:
        return casts.cast(self.code.w, self.code.target.features, self.type.component, self.total, parts)

    def _narrow(self, parts: Parts) -> Parts:
        return casts.cast(self.code.w, self.code.target.features, self.total, self.type.component, parts)

    def _neutral(self, count: int) -> Parts:
        """The number that changes no result: of floats, NaN for maximum and minimum, and negative zero for sums."""
        one = PARTS.get(self.total, self.total)
        vector = wide(register(one), count)
        if one.family == "floating":
            held = floating(-0.0 if self.operator == "add" else nan, vector)
        else:
            largest = (1 << 8 * one.size - 1) - 1
            held = integer({"add": 0, "max": -largest - 1, "min": largest}[self.operator], vector)
        return (held,) * (2 if self.total in PARTS else 1)

    # --- over lines ----------------------------------------------------------------------

    def _across(self, walk: Walk) -> Matrix:
        """One line: the combination of all lines. Several sums run side by side, because each waits for the last."""
        code = self.code
        small = in_registers(code, self.type)
        tile = None if small else new_tile(code, self.type)
        pieces: list[Parts] = []

        def piece(start: Operand, count: int) -> None:
            found = self._narrow(self._lines(walk, start, count))
            if tile is None:
                pieces.append(found)
            else:
                write_tile(code, tile, MatrixPiece(0, start, count), found)

        if tile is None:
            for start, count in walk.pieces_of(self.a.type):
                piece(start, count)
            return Columns(self.type, [joined(code, pieces)])
        walk.starts(self.a.type, piece)
        return tile

    def _lines(self, walk: Walk, start: Operand, count: int) -> Parts:
        vectors = -(-count * register_bytes(self.a.type) // self.code.target.vector_bytes)
        unroll = 1 if weight_of(self.a) > 30 else max(1, 4 // vectors)
        unroll = min(unroll, line_count(self.a.type))
        parts = part_count(self.type)

        def line(at: MatrixPiece, turn: int, values: Sequence[Val]) -> Sequence[Val]:
            held = tuple(values[turn * parts : (turn + 1) * parts])
            new = self._combined(held, self._wide(walk.piece(self.a, at)))
            return (*values[: turn * parts], *new, *values[(turn + 1) * parts :])

        flat = walk.lines(self.a.type, line, start, count, self._neutral(count) * unroll, unroll)
        found = tuple(flat[:parts])
        for turn in range(1, unroll):
            found = self._combined(found, tuple(flat[turn * parts : (turn + 1) * parts]))
        return found

    # --- within lines --------------------------------------------------------------------

    def _along(self, walk: Walk) -> Matrix:
        """One component for each line."""
        code = self.code
        pieces = walk.pieces_of(self.a.type)
        count = line_count(self.a.type)
        if count <= 4 and len(pieces) <= 4:
            found = [self._narrow(self._line(walk, MatrixPiece(k, 0, 1), pieces)) for k in range(count)]
            return self._joined(found)
        tile = new_tile(code, self.type)

        def line(at: MatrixPiece, turn: int, values: Sequence[Val]) -> Sequence[Val]:
            write_tile(code, tile, self._place(at.line), self._narrow(self._line(walk, at, pieces)))
            return values

        walk.lines(self.a.type, line, 0, 1)
        return loaded(code, tile)

    def _place(self, line: Operand) -> MatrixPiece:
        return MatrixPiece(0, line, 1) if turned(self.type) else MatrixPiece(line, 0, 1)

    def _joined(self, found: list[Parts]) -> Matrix:
        line = joined(self.code, found)
        if in_registers(self.code, self.type):
            return Columns(self.type, [line])
        tile: InMemory = new_tile(self.code, self.type)
        write_tile(self.code, tile, MatrixPiece(0, 0, length(self.type)), line)
        return tile

    def _line(self, walk: Walk, at: MatrixPiece, pieces: list[tuple[int, int]]) -> Parts:
        """All components of a line: pieces of one length first, then within the vector."""
        step = pieces[0][1]
        whole = [start for start, count in pieces if count == step]
        held = self._wide(walk.piece(self.a, MatrixPiece(at.line, 0, step)))
        if len(whole) > 4:
            with self.code.w.loop(step, len(whole) * step, step, held) as loop:
                loop.following = self._combined(
                    loop.values, self._wide(walk.piece(self.a, MatrixPiece(at.line, loop.index, step)))
                )
            held = loop.results
        else:
            for start in whole[1:]:
                held = self._combined(held, self._wide(walk.piece(self.a, MatrixPiece(at.line, start, step))))
        total = self._within(held)
        for start, count in pieces[len(whole) :]:
            total = self._combined(
                total, self._within(self._wide(walk.piece(self.a, MatrixPiece(at.line, start, count))))
            )
        return total

    def _within(self, held: Parts) -> Parts:
        """All elements of a vector: halves, halves of them, and so on."""
        w = self.code.w
        count = lanes(held[0].type)
        odd: Parts | None = None
        while count > 1:
            half = count // 2
            low = tuple(w.part(p, 0, half) for p in held)
            high = tuple(w.part(p, half, half) for p in held)
            if count % 2:
                last = tuple(w.extract(p, count - 1) for p in held)
                odd = last if odd is None else self._combined(odd, last)
            held, count = self._combined(low, high), half
        return held if odd is None else self._combined(held, odd)
