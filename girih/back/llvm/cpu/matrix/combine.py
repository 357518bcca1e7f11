"""`cooperative_matrix_combine` on the CPU: lines are combined as vectors first, then what is in a line, by halves.

The region is written a few times, whatever the size of the matrix: for a line, for what the pieces of a line have in
common, and for the halves, quarters, ... of a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.apply import agreed_outside, called, loaded, shared_values, weight_of_region
from girih.back.llvm.cpu.matrix.bounds import together
from girih.back.llvm.cpu.matrix.components import own_copy
from girih.back.llvm.cpu.matrix.elementwise import put_off
from girih.back.llvm.cpu.matrix.fused_pass import Walk, to_tile
from girih.back.llvm.cpu.matrix.states import (
    Columns,
    Deferred,
    InMemory,
    Matrix,
    MatrixPiece,
    Parts,
    SameColumns,
    Splat,
    in_registers,
    joined,
    length,
    line_count,
    new_tile,
    operand,
    read_tile,
    register_bytes,
    turned,
    write_tile,
)
from girih.back.llvm.emit.text import Operand, Val, constant_vector, lanes
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.values import Linear, Scalar, uniform
from girih.ir.types import I32, CoopMatrix, Use
from girih.ops.tile.coopmatrix_regions import Combined, CooperativeMatrixCombine, combined_columns

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""

_MOST_WRITTEN_OUT = 200
"""Small matrices are combined by straight code of about so many instructions, beyond that by a loop."""

_FEW = 4
"""So many lines are combined one by one by straight code; so many sums run side by side where one would wait."""

_LARGEST_SAME = 128
"""A line that all lines are equal to is held in registers up to so many components."""

Get = Callable[[Operand, int], Parts]
"""The components of a line from a place on, so many of them."""


@LOWERINGS.of(CooperativeMatrixCombine)
def combine(code: CpuCode, op: CooperativeMatrixCombine) -> None:
    """Rows, columns, all of the matrix, or its blocks."""
    together(code, op)
    with agreed_outside(code, shared_values(code, op)):
        _combine(code, op)


def _combine(code: CpuCode, op: CooperativeMatrixCombine) -> None:
    type = op.result.type
    assert isinstance(type, CoopMatrix)
    m = operand(code, op.matrix)
    whole_line = op.along is Combined.ALL or op.along is (Combined.ROW if turned(m.type) else Combined.COLUMN)
    if op.along is Combined.BLOCK:
        code.set(op.result, _Combination(code, op, m).blocks(type))
    elif op.along is Combined.ALL or (whole_line and turned(m.type)):
        code.set(op.result, Splat(type, _Combination(code, op, m).all()))
    elif whole_line:
        _spread_numbers(code, op, type, _Combination(code, op, m).of_lines())
    elif turned(m.type):
        _spread_numbers(code, op, type, own_copy(code, m))
    else:
        _spread_line(code, op, type, _Combination(code, op, m))


def _spread_line(code: CpuCode, op: CooperativeMatrixCombine, type: CoopMatrix, combination: _Combination) -> None:
    """Give the result as the combination of all columns, in each of its columns."""
    if length(type) <= _LARGEST_SAME:
        parts = combination.of_places()
        if in_registers(code, type):
            code.set(op.result, Columns(type, [parts] * line_count(type)))
        else:
            code.set(op.result, SameColumns(type, parts))
        return
    line = combination.of_many_places()
    put_off(
        code, op.result, Deferred(type, (), lambda at, _: read_tile(code, line, MatrixPiece(0, at.start, at.count)))
    )


def _spread_numbers(code: CpuCode, op: CooperativeMatrixCombine, type: CoopMatrix, row: InMemory) -> None:
    """Give the result as a row, in each of its rows."""
    if turned(type):
        code.set(op.result, loaded(code, InMemory(type, row.pointer)))
        return

    def compute(at: MatrixPiece, _: list[Parts]) -> Parts:
        return tuple(code.w.splat(p, at.count) for p in read_tile(code, row, MatrixPiece(0, at.line, 1)))

    put_off(code, op.result, Deferred(type, (), compute))


class _Combination:
    """Combinations of what is in a matrix; one of its methods is called, once."""

    def __init__(self, code: CpuCode, op: CooperativeMatrixCombine, m: Matrix) -> None:
        assert isinstance(op.result.type, CoopMatrix)
        self.code, self.op, self.type = code, op, m.type
        self.columns = combined_columns(op.along, op.result.type)
        self.weight = weight_of_region(op.body)
        in_line = length(m.type).bit_length() if op.along is Combined.COLUMN else 1
        short = line_count(m.type) * in_line * self.weight <= _MOST_WRITTEN_OUT
        self.m = to_tile(code, m) if m.static and not short else m
        self.walk = Walk(code, self.m)
        self.few = short and (self.walk.static or line_count(m.type) <= _FEW)

    # --- numbers of components of the result, for findings --------------------------------

    def _number(self, first: Operand, step: int = 0) -> Scalar:
        """The numbers from `first` on, with a step from lane to lane: 0 where all lanes go into one component."""
        w = self.code.w
        return Scalar(I32, (), Linear(w.convert("trunc", w.value(first), "i32"), step, exact=True))

    def _in_block(self, row: Operand, column: Operand, count: int, each: int) -> Scalar:
        """The numbers of the blocks in a column from a row on; `each` neighbouring lanes go into one of `count`."""
        w = self.code.w
        first = w.convert("trunc", w.add(w.mul(w.value(row), self.columns), column), "i32")
        if each == 1:
            return Scalar(I32, (), Linear(first, self.columns, exact=True))
        steps = constant_vector([k // each * self.columns for k in range(count * each)], "i32")
        return uniform(I32, w.add(w.splat(first, count * each), steps))

    # --- pieces --------------------------------------------------------------------------

    def _pair(self, left: Parts, right: Parts, number: Scalar) -> Parts:
        """Two combinations, component by component, for the components of the result with a number."""
        component = self.type.component
        held = uniform(component, *left), uniform(component, *right)
        arguments = zip((self.op.left, self.op.right), held, strict=True)
        return called(self.code, self.op.body, lanes(left[0].type), number, self.columns, arguments)

    def _fold(self, held: Sequence[Parts], number: Scalar) -> Parts:
        """The combination of combinations."""
        while len(held) > 1:
            pairs = [self._pair(a, b, number) for a, b in zip(held[::2], held[1::2], strict=False)]
            held = pairs + list(held[len(held) - len(held) % 2 :])
        return held[0]

    def _within(self, held: Parts, number: Scalar) -> Parts:
        """All components of a vector: halves, halves of them, and so on."""
        w = self.code.w
        count = lanes(held[0].type)
        odd: list[Parts] = []
        while count > 1:
            half = count // 2
            if count % 2:
                odd.append(tuple(w.extract(p, count - 1) for p in held))
            low, high = (tuple(w.part(p, start, half) for p in held) for start in (0, half))
            held = self._pair(low, high, number)
            count = half
        return self._fold([held, *odd], number)

    def _piece(self, line: Operand, start: Operand, count: int) -> Parts:
        return self.walk.piece(self.m, MatrixPiece(line, start, count))

    def _across(self, start: Operand, count: int, number: Scalar) -> Parts:
        """The combination of all lines, place by place; several run side by side, as each step waits for the last."""
        total = line_count(self.type)
        if self.few:
            return self._fold([self._piece(line, start, count) for line in range(total)], number)
        vectors = -(-count * register_bytes(self.type) // self.code.target.vector_bytes)
        turns = min(total, max(1, _FEW // vectors)) if self.weight <= _FEW else 1
        sums = [self._piece(line, start, count) for line in range(turns)]
        whole = total - total % turns
        with self.code.w.loop(turns, whole, turns, [p for one in sums for p in one]) as loop:
            held = _grouped(loop.values, turns)
            lines = [self.code.w.add(loop.index, k) for k in range(turns)]
            new = [self._pair(one, self._piece(k, start, count), number) for one, k in zip(held, lines, strict=True)]
            loop.following = [p for one in new for p in one]
        rest = [self._piece(line, start, count) for line in range(whole, total)]
        return self._fold([*_grouped(loop.results, turns), *rest], number)

    def _line(self, get: Get, number: Scalar) -> Parts:
        """All components of a line: pieces of one length first, then within the vector."""
        pieces = self.walk.pieces_of(self.type)
        step = pieces[0][1]
        whole = [start for start, count in pieces if count == step]
        held = get(0, step)
        if len(whole) > _FEW:
            with self.code.w.loop(step, len(whole) * step, step, held) as loop:
                loop.following = self._pair(loop.values, get(loop.index, step), number)
            held = loop.results
        else:
            held = self._fold([held, *(get(start, step) for start in whole[1:])], number)
        rest = [self._within(get(start, count), number) for start, count in pieces[len(whole) :]]
        return self._fold([self._within(held, number), *rest], number)

    # --- results -------------------------------------------------------------------------

    def all(self) -> Parts:
        """The combination of all components."""
        number = self._number(0)
        found = self._line(lambda start, count: self._across(start, count, number), number)
        self.walk.close()
        return found

    def of_places(self) -> Parts:
        """The combination of all lines, in registers."""
        pieces = self.walk.pieces_of(self.type)
        found = joined(self.code, [self._across(start, count, self._number(start, 1)) for start, count in pieces])
        self.walk.close()
        return found

    def of_many_places(self) -> InMemory:
        """The combination of all lines, as a line in the workspace."""
        tile = new_tile(self.code, CoopMatrix(self.type.component, length(self.type), 1, Use.ACC))

        def piece(start: Operand, count: int) -> None:
            found = self._across(start, count, self._number(start, 1))
            write_tile(self.code, tile, MatrixPiece(0, start, count), found)

        self.walk.starts(self.type, piece)
        self.walk.close()
        return tile

    def of_lines(self) -> InMemory:
        """The combination of each line, as a row in the workspace."""
        tile = new_tile(self.code, CoopMatrix(self.type.component, 1, line_count(self.type), Use.ACC))

        def one(line: Operand) -> None:
            found = self._line(lambda start, count: self._piece(line, start, count), self._number(line))
            write_tile(self.code, tile, MatrixPiece(0, line, 1), found)

        self._each(line_count(self.type), one)
        self.walk.close()
        return tile

    def _each(self, count: int, body: Callable[[Operand], None]) -> None:
        """Go over the numbers from 0 up to a count."""
        if self.few:
            for number in range(count):
                body(number)
            return
        with self.code.w.loop(0, count) as loop:
            body(loop.index)

    def blocks(self, type: CoopMatrix) -> Matrix:
        """The combination of each block of two rows and two columns."""
        w = self.code.w
        tile = new_tile(self.code, type)

        def piece(start: Operand, count: int) -> None:
            first = start // 2 if isinstance(start, int) else w.binary("lshr", start, 1)

            def block(number: Operand) -> None:
                at = MatrixPiece(0, number, 1) if turned(type) else MatrixPiece(number, first, count // 2)
                write_tile(self.code, tile, at, self._block(number, first, start, count))

            self._each(line_count(self.type) // 2, block)

        self.walk.starts(self.type, piece)
        self.walk.close()
        return loaded(self.code, tile)

    def _block(self, number: Operand, row: Operand, start: Operand, count: int) -> Parts:
        """The combinations in a piece of two neighbouring lines, which begins at a row of the result."""
        w = self.code.w
        line = 2 * number if isinstance(number, int) else w.mul(number, 2)
        left, right = self._piece(line, start, count), self._piece(w.add(line, 1), start, count)
        both = self._pair(left, right, self._in_block(row, number, count // 2, each=2))
        if count == 2:
            halves = [tuple(w.extract(p, k) for p in both) for k in range(2)]
        else:
            halves = [tuple(w.shuffle(p, None, range(k, count, 2)) for p in both) for k in range(2)]
        return self._pair(halves[0], halves[1], self._in_block(row, number, count // 2, each=1))


def _grouped(values: Sequence[Val], groups: int) -> list[Parts]:
    """The parts of each of some components, of all in a row."""
    size = len(values) // groups
    return [tuple(values[k : k + size]) for k in range(0, len(values), size)]
