"""Products of matrices (003 "Cooperative matrix mul add").

Rows of a and columns of b go through shared memory, some of the depth at a time, in the type of the sums. Then each
work-item adds up the components that it holds, a few at a time in registers. Integers of less than 32 bits are summed
in 32, which wraps around in the same way. Products and sums may be rounded together: 003 leaves their order free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.held import (
    ComponentArrays,
    Matrix,
    Parts,
    components,
    each,
    give_back,
    matrix,
    matrix_type,
    new_arrays,
    read,
    read_parts,
    release,
    result_arrays,
    together,
    write,
    write_parts,
)
from girih.back.llvm.lower.one_lane.matrix.layout import Position, layout, position, times
from girih.back.llvm.lower.one_lane.matrix.staging import SharedNumbers
from girih.back.llvm.numbers import casts
from girih.facts.accumulators import product_accumulator
from girih.ir.types import I32, Number
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""

_AT_ONCE = 4
"""So many components are added up side by side."""


@LOWERINGS.of(CooperativeMatrixMulAdd)
def mul_add(code: OneLaneCode, op: CooperativeMatrixMulAdd) -> None:
    """The product of two matrices plus a third one."""
    together(code, op, matrix_type(op.result))
    code.set(op.result, _Product(code, op).result())


class _Product:
    def __init__(self, code: OneLaneCode, op: CooperativeMatrixMulAdd) -> None:
        self.code, self.op, self.type = code, op, matrix_type(op.result)
        self.a, self.b, self.c = (matrix(code, value) for value in (op.a, op.b, op.c))
        total = product_accumulator(self.c.type.component, self.type.component)
        self.total: Number = I32 if total.family == "integer" and total.size < 4 else total
        self.depth = self.a.type.columns
        self.step = self._step()
        rows, columns = self.type.shape
        self.numbers = SharedNumbers(code, self.type, self.total, self.step * (rows + columns))
        self.count = components(code, self.type)
        held = layout(code, self.type)
        across = held.components // held.blocks
        # Components of a few numbers have one row where they do not pass from one block of rows to the next.
        self.one_row = held.subgroup_size % held.block_rows == 0
        self.at_once = next(n for n in (_AT_ONCE, 2, 1) if across % n == 0)

    def _step(self) -> int:
        """How much of the depth goes through shared memory at once: a divisor of it."""
        most = SharedNumbers.fitting(self.code, self.type, self.total) // sum(self.type.shape)
        return max(n for n in range(1, self.depth + 1) if self.depth % n == 0 and n <= max(1, most))

    def result(self) -> ComponentArrays:
        """The sums."""
        code, count = self.code, self.count
        source, target = self.c.type.component, self.type.component
        if self.step == self.depth:
            self.numbers.begin()
            self._put(None)
            self.numbers.ready()
            result = result_arrays(code, self.op, self.op.result)
            self._sums(
                lambda k: self._cast(source, self.total, read(code, self.c, k)),
                lambda k, parts: write(code, result, k, self._cast(self.total, target, parts)),
            )
            self.numbers.end()
            release(code, self.op)
            return result
        sums = new_arrays(code, self.total, count)
        each(code, count, lambda k: write_parts(code, sums, k, self._cast(source, self.total, read(code, self.c, k))))
        with code.w.loop(0, self.depth, self.step) as loop:
            self.numbers.begin()
            self._put(code.w.convert("trunc", loop.index, "i32"))
            self.numbers.ready()
            self._sums(
                lambda k: read_parts(code, sums, self.total, k), lambda k, parts: write_parts(code, sums, k, parts)
            )
            self.numbers.end()
        result = result_arrays(code, self.op, self.op.result)
        each(code, count, lambda k: write(
            code, result, k, self._cast(self.total, target, read_parts(code, sums, self.total, k))))  # fmt: skip
        give_back(code, sums, self.total, count)
        release(code, self.op)
        return result

    def _cast(self, source: Number, target: Number, parts: Parts) -> Parts:
        return casts.cast(self.code.w, self.code.features, source, target, parts)

    # --- factors -------------------------------------------------------------------------

    def _put(self, first: Val | None) -> None:
        """Put `step` of the depth of both factors, from `first` on, into shared memory: column by column of a, row by
        row of b."""
        rows, columns = self.type.shape
        self._put_factor(self.a, first, lambda at: (at.column, at.row), rows, 0)
        self._put_factor(self.b, first, lambda at: (at.row, at.column), columns, rows * self.step)

    def _put_factor(
        self, m: Matrix, first: Val | None, place: Callable[[Position], tuple[Val, Val]], extent: int, begin: int
    ) -> None:
        code, w = self.code, self.code.w

        def one(component: Val) -> None:
            at = position(code, m.type, component)
            deep, across = place(at)
            there = at.exists
            if first is not None:
                deep = w.sub(deep, first)
                there = w.both(there, w.compare("ult", deep, integer(self.step, "i32")))
            where = w.add(w.add(times(w, deep, extent), across), integer(begin, "i32"))

            def put() -> None:
                self.numbers.put(where, self._cast(m.type.component, self.total, read(code, m, component)))

            if there is None:
                put()
                return
            with w.when(there):
                put()

        each(code, components(code, m.type), one, weight=2)

    # --- sums ----------------------------------------------------------------------------

    def _sums(self, begin: Callable[[Val], Parts], end: Callable[[Val, Parts], None]) -> None:
        """Add the products to what all components `begin` with, and `end` them with the sums."""
        w, chunk = self.code.w, self.at_once

        def some(number: Val) -> None:
            first = w.mul(number, chunk)
            numbers = [w.add(first, k) for k in range(chunk)]
            sums = self._add_products(numbers, [begin(k) for k in numbers])
            for k, parts in zip(numbers, sums, strict=True):
                end(k, parts)

        each(self.code, self.count // chunk, some, weight=8)

    def _add_products(self, numbers: Sequence[Val], sums: Sequence[Parts]) -> list[Parts]:
        """The sums of some components with the products of the depth that is in shared memory."""
        code, w = self.code, self.code.w
        rows, columns = self.type.shape
        places = [position(code, self.type, k) for k in numbers]
        size = len(sums[0])
        with w.loop(0, self.step, 1, [part for parts in sums for part in parts]) as loop:
            deep = w.convert("trunc", loop.index, "i32")
            left, right = times(w, deep, rows), w.add(times(w, deep, columns), integer(rows * self.step, "i32"))
            a: Parts = ()
            following: list[Val] = []
            for k, at in enumerate(places):
                if k == 0 or not self.one_row:
                    a = self.numbers.get(w.add(left, at.row))
                # What lies behind the last column is a sum of anything that is there.
                column = at.column if at.exists is None else w.select(at.exists, at.column, integer(0, "i32"))
                b = self.numbers.get(w.add(right, column))
                following += self._multiplied(a, b, loop.values[size * k : size * (k + 1)])
            loop.following = following
        return [tuple(loop.results[size * k : size * (k + 1)]) for k in range(len(places))]

    def _multiplied(self, a: Parts, b: Parts, c: Parts) -> Parts:
        """a b + c of real or complex numbers."""
        w = self.code.w
        if self.total.family == "integer":
            return (w.add(w.mul(a[0], b[0]), c[0]),)
        if len(c) == 1:
            return (self._fused(a[0], b[0], c[0]),)
        real = self._fused(w.negative(a[1]), b[1], self._fused(a[0], b[0], c[0]))
        return real, self._fused(a[1], b[0], self._fused(a[0], b[1], c[1]))

    def _fused(self, a: Val, b: Val, c: Val) -> Val:
        """a b + c, rounded once or twice."""
        w = self.code.w
        return w.binary("fadd contract", w.binary("fmul contract", a, b), c)
