"""Products of fragments (003 "Cooperative matrix mul add").

Factors and sums of the types that `mma` has are multiplied by it, fragment by fragment. All others are multiplied
number by number: both factors go through shared memory in the type of the sums, and each thread adds up the components
that it holds of the result in registers. That is exact for f32: no product is rounded to tf32 unless the kernel permits
it.

A factor whose only row (or column) all groups of threads have is multiplied as one that has it in all places: so all
have the only row (or column) of the result. What is padding along the depth counts as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from girih.back.llvm.emit.text import Val, integer, stored_bytes, wide, zero
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, Parts, matrix_type, together
from girih.back.llvm.lower.one_lane.matrix.regions import agreed_outside
from girih.back.llvm.lower.one_lane.matrix.staging import MOST_SHARED
from girih.back.llvm.numbers import casts
from girih.back.llvm.numbers.values import memory_type, register
from girih.back.llvm.nvptx.matrix.choice import factor_types, multiply_instructions, sums_type
from girih.back.llvm.nvptx.matrix.code import FragmentCode
from girih.back.llvm.nvptx.matrix.decoded import DecodedFragments
from girih.back.llvm.nvptx.matrix.fragments import Fragments, fragments, in_layout
from girih.back.llvm.nvptx.matrix.instructions import TF32, MultiplyInstruction
from girih.back.llvm.nvptx.matrix.layout import GROUPS, THREADS, DealtMode, group_of, thread_of
from girih.back.llvm.nvptx.matrix.values import cast_in_place
from girih.ir.core import Value
from girih.ir.types import EIGHT_BIT_FLOATS, CoopMatrix, Number
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd

LOWERINGS = Lowerings[FragmentCode]()
"""The lowerings of this file."""

_PROMOTED = 128
"""The depth after which sums of products of f8 are added to those in f32: `mma` keeps fewer digits of them."""


@LOWERINGS.of(CooperativeMatrixMulAdd)
def mul_add(code: FragmentCode, op: CooperativeMatrixMulAdd) -> None:
    """The product of two matrices plus a third one."""
    result = matrix_type(op.result)
    together(code, op, result)
    c = _cast(code, fragments(code, op.c), sums_type(op))
    instructions = multiply_instructions(code.function, op, code.capability)
    factors = [_factor(code, value, type) for value, type in zip((op.a, op.b), factor_types(op), strict=True)]
    if any(isinstance(one, DecodedFragments) for one in factors):
        sums = _NumberByNumber(code, *factors).added(c)
        code.set(op.result, _cast(code, in_layout(code, c.type, sums), result.component))
        return
    a, b = (one for one in factors if isinstance(one, Fragments))
    if a.layout.threads.shared:
        sums = _ColumnByRow(code, a, b).added(c, equal=isinstance(code.env[op.b], EqualComponents))
    elif instructions:
        sums = _ByFragments(code, instructions, a, b).added(c)
    else:
        sums = _NumberByNumber(code, a, b).added(c)
    found = _cast(code, in_layout(code, c.type, sums), result.component)
    code.set(op.result, found)


Factor = Fragments | DecodedFragments


def _factor(code: FragmentCode, value: Value, type: CoopMatrix) -> Factor:
    held = code.env[value]
    return held if isinstance(held, DecodedFragments) else cast_in_place(code, fragments(code, value), type)


def _cast(code: FragmentCode, m: Fragments, component: Number) -> Fragments:
    return cast_in_place(code, m, CoopMatrix(component, *m.type.shape, m.type.use, m.type.scope))


_Some = TypeVar("_Some", Fragments, Factor)


class _FragmentProduct(Generic[_Some]):
    """Two factors; `rows` of the first one and `columns` of the second one are those of a thread's group."""

    def __init__(self, code: FragmentCode, a: _Some, b: _Some) -> None:
        self.code = code
        self.a: _Some = a
        self.b: _Some = b
        self.rows: DealtMode = a.layout.groups
        self.columns: DealtMode = b.layout.groups
        self.depth: DealtMode = a.layout.threads

    def column_number(self, tile: int, side: int) -> int:
        """The number that one of the two columns of a thread in a fragment has among the columns of the result."""
        if self.columns.shared:
            return 0
        block, within = divmod(tile, self.columns.chunk)
        return (2 * block + side) * self.columns.chunk + within

    @property
    def across(self) -> int:
        """The columns of the result that a thread has."""
        return 1 if self.columns.shared else 2 * self.columns.count


def multiplied_and_added(code: FragmentCode, total: Number, a: Val, b: Val, c: Val) -> Val:
    """The number a b + c of a type; floats are rounded once or twice, which 003 leaves free."""
    w = code.w
    if total.family == "integer":
        return w.add(w.mul(a, b), c)
    return w.binary("fadd contract", w.binary("fmul contract", a, b), c)


# --- a column by a row -------------------------------------------------------------------------


class _ColumnByRow(_FragmentProduct[Fragments]):
    """A product of a depth of 1: each thread has the rows that it needs, and gets the columns from other groups."""

    def added(self, c: Fragments, *, equal: bool) -> list[Val]:
        """The registers of the sums; if all components of the second factor are `equal`, no thread asks another."""
        code = self.code
        total = c.type.component
        rows = [self._part(self.a, number, total) for number in range(self.rows.count)]
        own = [self._part(self.b, number, total) for number in range(self.columns.count)]
        columns = [own[0]] * self.across
        if not equal and not self.columns.shared:
            w, thread = code.w, thread_of(code)
            for side in range(2):
                # Columns 2 t and 2 t + 1 of a fragment of sums are those of groups of these numbers.
                group = w.add(w.mul(thread, integer(2, "i32")), integer(side, "i32"))
                holder = w.mul(group, integer(THREADS, "i32"))
                for tile in range(self.columns.count):
                    columns[self.column_number(tile, side)] = code.exchanged(own[tile], holder)
        return [
            multiplied_and_added(code, total, a, b, c.registers[row * self.across + column])
            for row, a in enumerate(rows)
            for column, b in enumerate(columns)
        ]

    def _part(self, m: Fragments, number: int, total: Number) -> Val:
        return casts.cast(self.code.w, self.code.features, m.type.component, total, m.part(self.code, number))[0]


# --- by mma ------------------------------------------------------------------------------------


class _ByFragments(_FragmentProduct[Fragments]):
    """A product of factors that are fragments of an instruction."""

    def __init__(
        self, code: FragmentCode, instructions: Sequence[MultiplyInstruction], a: Fragments, b: Fragments
    ) -> None:
        super().__init__(code, a, b)
        count = self.depth.count
        self.instruction = next(one for one in instructions if count % (one.pieces * one.neighbours) == 0)
        self.lines = self._registers(a, count), self._registers(b, count)

    def _registers(self, m: Fragments, count: int) -> list[list[Val]]:
        """The registers along the depth of each row of a left factor, or column of a right one."""
        outer, neighbours = m.layout.groups.count, self.instruction.neighbours
        if self.depth.padded == self.depth.extent:
            held = [self._factor(one) for one in m.registers]
        else:
            held = self._without_padding(m, count)
        width = count // neighbours
        return [held[first * width : (first + 1) * width] for first in range(outer)]

    def _factor(self, held: Val) -> Val:
        return self.code.as_tf32(held) if self.instruction is TF32 else held

    def _without_padding(self, m: Fragments, count: int) -> list[Val]:
        """The registers of a factor with zeros behind its depth."""
        code, w, component = self.code, self.code.w, m.type.component
        nothing = zero(memory_type(component))
        raw = []
        for outer in range(m.layout.groups.count):
            for number in range(count):
                held = m.raw(code, outer * count + number)
                there = self.depth.exists(code, number)
                raw.append(held if there is None else w.select(there, held, nothing))
        each = self.instruction.neighbours
        if each == 1:
            return [self._factor(one) for one in raw]
        pieces = [w.join(raw[first : first + each]) for first in range(0, len(raw), each)]
        return [w.convert("bitcast", piece, self.instruction.factor) for piece in pieces]

    def added(self, c: Fragments) -> list[Val]:
        """The registers of the sums, of those of `c` and the products."""
        code, w = self.code, self.code.w
        apart = c.type.component != self.instruction.total or self.a.type.component in EIGHT_BIT_FLOATS
        if not apart:
            return self._summed(list(c.registers), 0, len(self.lines[0][0]))
        found = list(c.registers)
        width = len(self.lines[0][0])
        step = max(1, _PROMOTED // (THREADS * self.instruction.neighbours))
        for first in range(0, width, step):
            some = self._summed([zero(self.instruction.sums)] * len(found), first, min(width, first + step))
            for number, one in enumerate(some):
                (wider,) = casts.cast(w, code.features, self.instruction.total, c.type.component, (one,))
                found[number] = w.binary("fadd" if wider.type in ("float", "double") else "add", found[number], wider)
        return found

    def _summed(self, sums: list[Val], begin: int, end: int) -> list[Val]:
        """Sums with the products of a range of the registers along the depth."""
        left, right = self.lines
        halves, pieces = self.instruction.halves, self.instruction.pieces
        row_tiles = 1 if self.rows.shared else self.rows.count // halves
        for first in range(begin, end, pieces):
            for row in range(row_tiles):
                rows = [0 if self.rows.shared else row * halves + half for half in range(halves)]
                a = [left[one][first + piece] for piece in range(pieces) for one in rows]
                for column in range(self.columns.count):
                    b = right[column][first : first + pieces]
                    places = [one * self.across + self.column_number(column, side) for one in rows for side in range(2)]
                    found = self.code.multiplied(self.instruction, a, b, [sums[place] for place in places])
                    for place, one in zip(places, found, strict=True):
                        sums[place] = one
        return sums


# --- number by number --------------------------------------------------------------------------


class _NumberByNumber(_FragmentProduct[Factor]):
    """A product of numbers in shared memory: a row of it for each place along the depth, of a column of the left factor
    and then a row of the right one, each in the order in which threads read it."""

    def added(self, c: Fragments) -> list[Val]:
        """The registers of the sums, of those of `c` and the products."""
        self.total = c.type.component
        self.type = register(self.total)
        self.size = stored_bytes(self.type)
        least = 16 // self.size
        self.left = max(least, GROUPS * self.rows.count)
        self.width = self.left + max(least, GROUPS * self.columns.count)
        subgroups = self.code.geometry.subgroups
        fitting = MOST_SHARED // (self.size * self.width * THREADS * subgroups)
        step = max(1, min(self.depth.count, fitting))
        sums = list(c.registers)
        for first in range(0, self.depth.count, step):
            self._put_and_add(sums, first, min(self.depth.count, first + step), step)
        return sums

    def _put_and_add(self, sums: list[Val], first: int, end: int, step: int) -> None:
        """Add the products of some of the depth."""
        code, w = self.code, self.code.w
        places = THREADS * (end - first)
        room = self.width * step * THREADS
        base = code.shared(self.type, room * code.geometry.subgroups)
        base = w.at(base, w.mul(w.value(code.subgroup), room * self.size)) if code.geometry.subgroups > 1 else base
        code.subgroup_barrier()
        for m, mode, begin in ((self.a, self.rows, 0), (self.b, self.columns, self.left)):
            if isinstance(m, DecodedFragments):
                self._decode(base, m, mode, begin, range(first, end))
                continue
            for number in range(first, end):
                held = [m.part(code, outer * self.depth.count + number) for outer in range(mode.count)]
                self._put(base, m.type.component, mode, begin, (integer(number, "i32"), first), integer(0, "i32"), held)
        code.subgroup_barrier()
        with w.loop(0, places, 1, sums) as loop:
            line = w.at(base, w.mul(loop.index, self.width * self.size))
            loop.following = self._multiplied(line, list(loop.values))
        sums[:] = loop.results

    def _decode(self, base: Val, m: DecodedFragments, mode: DealtMode, begin: int, numbers: range) -> None:
        """Put what the thread has at some numbers along the depth of a factor that is decoded here."""
        code, w = self.code, self.code.w
        many = self._at_once(mode.count)

        def put(number: Val, outer: Val, *, inside: bool) -> None:
            places = [m.layout.position_of(code, w.add(outer, integer(k, "i32")), number) for k in range(many)]
            held = [m.component(at, inside=inside) for at in places]
            self._put(base, m.type.component, mode, begin, (number, numbers.start), outer, held)

        def unquestioned() -> list[Val]:
            with w.loop(0, mode.count, many) as lines:
                outer = self._below(lines.index, mode.count)
                for number in numbers:
                    put(integer(number, "i32"), outer, inside=True)
            return []

        def careful() -> list[Val]:
            with w.loop(0, mode.count, many) as lines, w.loop(numbers.start, numbers.stop) as line:
                outer, number = self._below(lines.index, mode.count), self._below(line.index, self.depth.count)
                put(number, outer, inside=False)
            return []

        with agreed_outside(code, m.tensor.op, m.type):
            inside = m.inside
            if inside.literal is None:
                w.either(inside, unquestioned, careful, rare=True)
            else:
                (unquestioned if inside.literal else careful)()

    def _below(self, counter: Val, end: int) -> Val:
        """A counter as an i32, of which LLVM knows that it is below `end`, where that is a power of two."""
        held = self.code.w.convert("trunc", counter, "i32")
        return held if end & (end - 1) else self.code.w.binary("and", held, integer(end - 1, "i32"))

    def _put(
        self, base: Val, component: Number, mode: DealtMode, begin: int, depth: tuple[Val, int], outer: Val,
        parts: Sequence[Parts],
    ) -> None:  # fmt: skip
        """Put components at a number along the depth, and the first of a piece, of rows or columns from `outer` on."""
        code, w = self.code, self.code.w
        number, first = depth
        place = self.depth.place_of(code, number)
        padded = self.depth.padded != self.depth.extent
        there = w.compare("ult", place, integer(self.depth.extent, "i32")) if padded else None
        held = []
        for part in parts:
            (one,) = casts.cast(w, code.features, component, self.total, part)
            held.append(one if there is None else w.select(there, one, zero(self.type)))
        line = w.add(thread_of(code), w.mul(w.sub(number, integer(first, "i32")), integer(THREADS, "i32")))
        where = w.add(w.mul(line, integer(self.width, "i32")), integer(begin, "i32"))
        if not mode.shared:
            where = w.add(where, w.mul(group_of(code), integer(mode.count, "i32")))
        address = w.at(base, w.mul(w.convert("zext", w.add(where, outer), "i64"), self.size))
        many = self._at_once(len(held))
        for start in range(0, len(held), many):
            w.store(w.join(held[start : start + many]), w.at(address, start * self.size), many * self.size)

    def _at_once(self, count: int) -> int:
        """How many numbers of `count` neighbours are loaded or stored together."""
        return min(count & -count, max(1, 16 // self.size))

    def _got(self, line: Val, first: Val | int, count: int) -> list[Val]:
        """The numbers from a place of a line on."""
        w = self.code.w
        many = self._at_once(count)
        offset = first * self.size if isinstance(first, int) else w.mul(w.convert("zext", first, "i64"), self.size)
        address = w.at(line, offset)
        found = []
        for start in range(0, count, many):
            held = w.load(wide(self.type, many), w.at(address, start * self.size), many * self.size)
            found += [w.extract(held, number) for number in range(many)]
        return found

    def _multiplied(self, line: Val, sums: list[Val]) -> list[Val]:
        """The sums with the products of a place along the depth."""
        code, w = self.code, self.code.w
        own = None if self.rows.shared else w.mul(group_of(code), integer(self.rows.count, "i32"))
        a = self._got(line, 0 if own is None else own, self.rows.count)
        count = self.columns.count
        if self.columns.shared:
            b = self._got(line, self.left, 1)
        else:
            first = w.add(w.mul(thread_of(code), integer(2 * count, "i32")), integer(self.left, "i32"))
            found = self._got(line, first, 2 * count)
            b = [zero(self.type)] * (2 * count)
            for side in range(2):
                for tile in range(count):
                    b[self.column_number(tile, side)] = found[side * count + tile]
        return [
            multiplied_and_added(code, self.total, a[row], b[column], sums[row * self.across + column])
            for row in range(self.rows.count)
            for column in range(self.across)
        ]
