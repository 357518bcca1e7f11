"""Reductions of flat matrices (003 "Cooperative matrix reduce"), and combinations by a region (001 "coopMatReduceNV").

Each thread combines what it holds of a column or row, then those of a warp combine theirs in pairs that differ in one
bit of their number; what warps found goes through shared memory, where each thread takes one warp's, and pairs follow
again. The lower thread's is the first operand, so that all have the same result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from girih.back.llvm.emit.text import Val, bits, floating, integer, stored_bytes
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, matrix_type, together
from girih.back.llvm.lower.one_lane.matrix.regions import agreed_outside, called
from girih.back.llvm.numbers import arith, casts
from girih.back.llvm.numbers.values import uniform
from girih.back.llvm.nvptx.flat.held import FlatMatrix, flat, in_registers, layout_of
from girih.back.llvm.nvptx.flat.layout import WARP, FlatLayout
from girih.facts.accumulators import accumulator
from girih.ir.types import I32
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixReduceAdd,
    CooperativeMatrixReduceMax,
    CooperativeMatrixReduceMin,
    Reduce,
)
from girih.ops.tile.coopmatrix_regions import Combined, CooperativeMatrixCombine, combined_columns

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""

_OPERATORS: dict[type[Reduce], str] = {
    CooperativeMatrixReduceAdd: "add",
    CooperativeMatrixReduceMax: "max",
    CooperativeMatrixReduceMin: "min",
}

Pair = Callable[[int, Val, Val], Val]
"""The combination of two components of the line with a number."""


def _folded(values: Sequence[Val], pair: Callable[[Val, Val], Val]) -> Val:
    """The combination of what a thread has by itself, neighbours first."""
    held = list(values)
    while len(held) > 1:
        pairs = [pair(a, b) for a, b in zip(held[::2], held[1::2], strict=False)]
        held = [*pairs, *held[2 * len(pairs) :]]
    return held[0]


def _exchanged(code: OneLaneCode, held: Val, distance: int, pair: Callable[[Val, Val], Val]) -> Val:
    """The combination with what the thread of the warp has whose number differs in one bit."""
    w = code.w
    theirs = code.across(held, distance)
    upper = w.compare("ne", w.binary("and", code.lane, integer(distance, "i32")), integer(0, "i32"))
    return pair(w.select(upper, theirs, held), w.select(upper, held, theirs))


def combined(
    code: OneLaneCode, layout: FlatLayout, lines: Sequence[Sequence[Val]], pair: Pair, *, along_rows: bool
) -> list[Val]:
    """The combination of each line: a column of the matrix, or a row if `along_rows`, of which a thread has parts."""
    found = [_folded(line, partial(pair, n)) for n, line in enumerate(lines)]
    rectangle = layout.rectangle
    alone = layout.columns == 1 if along_rows else layout.rows == 1
    first = rectangle.down if along_rows else 1
    past = rectangle.down * rectangle.across if along_rows else rectangle.down
    if alone:
        return found
    distance = first
    while distance < min(past, WARP):
        found = [_exchanged(code, held, distance, partial(pair, n)) for n, held in enumerate(found)]
        distance *= 2
    if past <= max(first, WARP):
        return found
    among = _AmongWarps(code, max(first, WARP) // WARP, past // WARP, spread=not along_rows)
    return among.combined(found, pair)


@dataclass(frozen=True, slots=True)
class _AmongWarps:
    """Combinations of what warps have whose numbers differ in the bits from `first` to below `past`.

    `spread` says that all threads of a warp have the same numbers.
    """

    code: OneLaneCode
    first: int
    past: int
    spread: bool

    def combined(self, found: list[Val], pair: Pair) -> list[Val]:
        """The combinations, of each number by its function."""
        code, w = self.code, self.code.w
        own = w.convert("trunc", w.value(code.subgroup), "i32")
        code.barrier()
        for number, held in enumerate(found):
            narrow = _is_narrow(held.type)
            w.store(w.convert("zext", held, "i32") if narrow else held, *self._place(found, number, own))
        code.barrier()
        return [self._one(found, number, own, partial(pair, number)) for number in range(len(found))]

    def _one(self, found: list[Val], number: int, own: Val, pair: Callable[[Val, Val], Val]) -> Val:
        code, w = self.code, self.code.w
        if not self.spread:
            base = w.binary("and", own, integer(-self.past | self.first - 1, "i32"))
            warps = [w.add(base, integer(k, "i32")) for k in range(0, self.past, self.first)]
            return _folded([self._read(found, number, warp) for warp in warps], pair)
        # Each thread takes one warp's.
        some = w.binary("and", code.lane, integer(self.past - 1, "i32"))
        held = self._read(found, number, w.binary("or", w.binary("and", own, integer(-self.past, "i32")), some))
        distance = 1
        while distance < self.past:
            held = _exchanged(code, held, distance, pair)
            distance *= 2
        return held

    def _place(self, found: list[Val], number: int, warp: Val) -> tuple[Val, int]:
        """The address of a number of a warp, or of the thread's namesake in it, and its bytes."""
        w, type = self.code.w, found[number].type
        held = "i32" if _is_narrow(type) else type
        size, each = stored_bytes(held), self.code.geometry.subgroups * (1 if self.spread else WARP)
        begin = self.code.shared(held, len(found) * each)
        place = warp if self.spread else w.add(w.mul(warp, integer(WARP, "i32")), self.code.lane)
        place = w.add(place, integer(number * each, "i32"))
        return w.at(begin, w.mul(w.convert("zext", place, "i64"), size)), size

    def _read(self, found: list[Val], number: int, warp: Val) -> Val:
        w, type = self.code.w, found[number].type
        held = w.load("i32" if _is_narrow(type) else type, *self._place(found, number, warp))
        return w.convert("trunc", held, type) if _is_narrow(type) else held


def _is_narrow(type: str) -> bool:
    return type[0] == "i" and bits(type) < _WORD_BITS


_WORD_BITS = 32
"""The bits of integers in shared memory, unless they are larger."""


def _lines(m: FlatMatrix, code: OneLaneCode, *, along_rows: bool) -> list[list[int]]:
    """The numbers of a thread's components, line by line."""
    rows, columns = m.layout.own_rows, m.layout.own_columns
    if along_rows:
        return [[column * rows + row for column in range(columns)] for row in range(rows)]
    return [[column * rows + row for row in range(rows)] for column in range(columns)]


@LOWERINGS.of(*_OPERATORS)
def reduce(code: OneLaneCode, op: Reduce) -> None:
    """The sum, maximum or minimum of each row or column; integers of less than 32 bits are added up in 32."""
    m, type = flat(code, op.a), matrix_type(op.result)
    together(code, op, type)
    w, component, operator = code.w, type.component, _OPERATORS[op.__class__]
    total = accumulator(component) if operator == "add" else component
    if component.family == "integer" and component.size < I32.size:
        total = I32
    # Of a number and NaN, the number is the larger and the smaller one.
    nothing = arith.identity(operator, total, 1)
    if operator != "add" and total.family == "floating":
        nothing = floating(math.nan, nothing.type)

    def own(number: int) -> Val:
        (part,) = casts.cast(w, code.features, component, total, m.part(code, number))
        exists = m.layout.position(code, number).exists
        return part if exists is None else w.select(exists, part, nothing)

    def pair(_: int, left: Val, right: Val) -> Val:
        (found,) = arith.binary(w, code.features, operator, total, (left,), (right,))
        return found

    lines = [[own(number) for number in line] for line in _lines(m, code, along_rows=op.along_row)]
    found = combined(code, m.layout, lines, pair, along_rows=op.along_row)
    parts = [casts.cast(w, code.features, total, component, (one,)) for one in found]
    code.set(op.result, in_registers(code, type, layout_of(code, type), parts))


@LOWERINGS.of(CooperativeMatrixCombine)
def combine(code: OneLaneCode, op: CooperativeMatrixCombine) -> None:
    """Rows, columns or all of a matrix, combined by the region; matrices that are padded are not flat here."""
    m, type = flat(code, op.matrix), matrix_type(op.result)
    together(code, op, type)
    columns, layout = combined_columns(op.along, type), m.layout

    def pair_at(places: Sequence[Val]) -> Pair:
        def pair(number: int, left: Val, right: Val) -> Val:
            held = uniform(type.component, left), uniform(type.component, right)
            place = places[number]
            (found,) = called(code, op.body, place, columns, zip((op.left, op.right), held, strict=True))
            return found

        return pair

    def lines(*, along_rows: bool) -> list[list[Val]]:
        return [[m.part(code, k)[0] for k in line] for line in _lines(m, code, along_rows=along_rows)]

    with agreed_outside(code, op, type):
        if op.along is Combined.ALL:
            nowhere = [integer(0, "i32")] * layout.own_columns
            of_columns = combined(code, layout, lines(along_rows=False), pair_at(nowhere), along_rows=False)
            (found,) = combined(code, layout, [of_columns], pair_at(nowhere), along_rows=True)
            code.set(op.result, EqualComponents(type, (found,)))
            return
        along_rows = op.along is Combined.ROW
        count = layout.own_rows if along_rows else layout.own_columns
        places = [layout.row(code, k) if along_rows else layout.column(code, k) for k in range(count)]
        of_lines = combined(code, layout, lines(along_rows=along_rows), pair_at(places), along_rows=along_rows)
    wanted = layout_of(code, type)
    parts = [(of_lines[k % wanted.own_rows if along_rows else k // wanted.own_rows],) for k in range(wanted.components)]
    code.set(op.result, in_registers(code, type, wanted, parts))
