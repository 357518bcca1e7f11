"""Factors of products of tiles, copied so that tiles are loaded from memory that is read from front to back.

A panel has `WIDTH` lines: rows of the first factor of a product, or columns of the second one, which need not be that
many. Units are four bytes of the depth. Panels of the *second operand* of the instruction have a unit of each line side
by side, unit after unit. Those of the *first operand* have 16 units of each line, line after line, and then the next 16
of each. Depths are filled up with zeros to whole tiles, in both factors: what lies there is multiplied. Lines that are
not there hold anything, for results that nobody looks at.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.cpu.amx.tiles import LINE_BYTES, LINES, UNIT_BYTES, UNITS, depth_of
from girih.back.llvm.emit.text import ModuleText, Operand, Val, integer, lanes, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.collective.views import View
from girih.ir.types import Number
from girih.lazy_dataclass import dataclass

WIDTH = 2 * LINES
"""The lines of a panel."""

ATTRIBUTES = 'noinline nounwind "prefer-vector-width"="512"'
"""Of the functions of products of tiles."""

_WORDS = wide("i32", UNITS)

_AHEAD = 256
"""How many bytes ahead memory is asked for, where neighbours are lines of panels."""


@dataclass(frozen=True, slots=True)
class TilePanels:
    """How a factor is laid out in panels."""

    element: Number
    second_operand: bool

    @property
    def unit(self) -> int:
        """Bytes of a unit."""
        return UNIT_BYTES

    def steps(self, w: Writer, depth: Operand) -> Val:
        """The units of a depth, which whole tiles have."""
        whole = depth_of(self.element)
        units = w.binary("and", w.add(depth, whole - 1), -whole)
        return w.binary("lshr", units, (UNIT_BYTES // self.element.size).bit_length() - 1)

    def pack(self, w: Writer, source: View, to: Val) -> None:
        """Pack a matrix whose first mode goes across panels and whose second one is the depth."""
        size = self.element.size
        across, deep = (w.mul(s, size) for s in source.strides)
        kind = "deep" if source.strides[1] == 1 else "across" if source.strides[0] == 1 else "any"
        name = self._function(w.module, kind)
        w.run(name, source.pointer, across, deep, *(w.value(n) for n in source.shape), to)

    def _function(self, module: ModuleText, kind: str) -> str:
        """The name of a function that packs, written if it is not there."""
        name = f"girih.amx.pack.{kind}.{self.element}.{'second' if self.second_operand else 'first'}"
        if name not in module.helpers:
            module.helpers.add(name)
            parameters = "ptr %source, i64 %across, i64 %deep, i64 %size, i64 %depth, ptr %to"
            w = Writer(module, f"define internal void @{name}({parameters}) {ATTRIBUTES}")
            _TilePacking(w, self, kind).write()
            w.ret()
            w.finish()
        return name


class _TilePacking:
    """A function that packs, in the making."""

    def __init__(self, w: Writer, panels: TilePanels, kind: str) -> None:
        self.w, self.panels, self.kind = w, panels, kind
        self.across, self.deep = Val("%across", "i64"), Val("%deep", "i64")
        self.size, self.depth = Val("%size", "i64"), Val("%depth", "i64")
        self.bytes = panels.element.size
        self.number = f"i{8 * self.bytes}"
        self.whole = depth_of(panels.element)
        self.parts = UNIT_BYTES // self.bytes

    def write(self) -> None:
        """Panel after panel, in pieces of one tile's depth."""
        w = self.w
        panel = w.mul(self.panels.steps(w, self.depth), WIDTH * UNIT_BYTES)

        def piece(line: Val, depth: Val) -> None:
            there = w.smaller(w.sub(self.size, line), WIDTH)
            deep = w.smaller(w.sub(self.depth, depth), self.whole)
            source = w.at(w.at(Val("%source", "ptr"), w.mul(line, self.across)), w.mul(depth, self.deep))
            to = w.at(Val("%to", "ptr"), w.mul(quotient(w, line, WIDTH), panel))
            self._piece(source, w.at(to, w.mul(quotient(w, depth, self.whole), WIDTH * LINE_BYTES)), there, deep)

        # Neighbours in memory come one after the other.
        if self.kind == "across":
            with w.loop(0, self.depth, self.whole) as depth, w.loop(0, self.size, WIDTH) as line:
                piece(line.index, depth.index)
        else:
            with w.loop(0, self.size, WIDTH) as line, w.loop(0, self.depth, self.whole) as depth:
                piece(line.index, depth.index)

    def _piece(self, source: Val, to: Val, there: Val, deep: Val) -> None:
        """A tile's depth of a panel, of which so many lines, and so much of the depth, are there."""
        w = self.w
        if self.kind == "any":
            self._one_by_one(source, to, there, deep)
            return
        whole = w.compare("eq", deep, self.whole)
        if self.kind == "across":
            whole = w.binary("and", whole, w.compare("eq", there, WIDTH))
        move = self._along if self.kind == "deep" else self._across

        def full() -> list[Val]:
            move(source, to, there, None)
            return []

        def rest() -> list[Val]:
            move(source, to, there, deep)
            return []

        w.either(whole, full, rest)

    def _one_by_one(self, source: Val, to: Val, there: Val, deep: Val) -> None:
        """Every number by itself, after zeros."""
        w = self.w
        with w.loop(0, WIDTH * LINE_BYTES, LINE_BYTES) as loop:
            w.store(zero(_WORDS), w.at(to, loop.index), LINE_BYTES)
        with w.loop(0, deep) as k, w.loop(0, there) as line:
            place = w.at(w.at(source, w.mul(k.index, self.deep)), w.mul(line.index, self.across))
            held = w.load(self.number, place, self.bytes)
            unit, part = quotient(w, k.index, self.parts), w.binary("and", k.index, self.parts - 1)
            goal = w.at(self._place(to, unit, line.index), w.mul(part, self.bytes))
            w.store(held, goal, self.bytes)

    def _place(self, to: Val, unit: Operand, line: Operand) -> Val:
        """Where a unit of a line goes."""
        w = self.w
        if self.panels.second_operand:
            return w.at(w.at(to, w.mul(unit, WIDTH * UNIT_BYTES)), w.mul(line, UNIT_BYTES))
        return w.at(w.at(to, w.mul(line, LINE_BYTES)), w.mul(unit, UNIT_BYTES))

    # --- neighbours along the depth ------------------------------------------------------

    def _along(self, source: Val, to: Val, there: Val, deep: Val | None) -> None:
        """Lines of the source are lines of tiles; the last one stands for those that are not there."""
        w = self.w
        last = w.sub(there, 1)
        with w.loop(0, WIDTH, LINES) as loop:
            rows = []
            for number in range(LINES):
                line = w.smaller(w.add(loop.index, number), last)
                rows.append(self._line(w.at(source, w.mul(line, self.across)), self.whole, deep))
            self._store(to, loop.index, [w.convert("bitcast", row, _WORDS) for row in rows])

    def _line(self, pointer: Val, count: int, there: Val | None) -> Val:
        """Neighbouring numbers; zeros for those that are not there."""
        w, type = self.w, wide(self.number, count)
        if there is None:
            return w.load(type, pointer, self.bytes)
        few = w.convert("trunc", there, "i16")
        mask = w.compare("slt", w.iota(count, "i16"), w.splat(few, count))
        return w.masked_load(type, pointer, mask, self.bytes, zero(type))

    def _store(self, to: Val, line: Val, rows: Sequence[Val]) -> None:
        """Store 16 units of 16 lines, of which each vector has one line."""
        if not self.panels.second_operand:
            for number, row in enumerate(rows):
                self.w.store(row, self._place(to, 0, self.w.add(line, number)), LINE_BYTES)
            return
        for number, column in enumerate(transposed(self.w, rows)):
            self.w.store(column, self._place(to, number, line), LINE_BYTES)

    # --- neighbours across lines ---------------------------------------------------------

    def _across(self, source: Val, to: Val, there: Val, deep: Val | None) -> None:
        """Units of all lines are put together from neighbours of several depths."""
        w = self.w
        if self.panels.second_operand:
            with w.loop(0, UNITS) as loop:
                for half, column in enumerate(self._units(source, loop.index, there, deep)):
                    w.store(column, self._place(to, loop.index, half * LINES), LINE_BYTES)
            return
        halves = list(zip(*(self._units(source, w.value(unit), there, deep) for unit in range(UNITS)), strict=True))
        for half, columns in enumerate(halves):
            for number, row in enumerate(transposed(w, columns)):
                w.store(row, self._place(to, 0, half * LINES + number), LINE_BYTES)

    def _units(self, source: Val, unit: Val, there: Val, deep: Val | None) -> list[Val]:
        """A unit of each line of a panel, as two vectors; zeros beyond the depth."""
        w = self.w
        first = w.mul(unit, self.parts)
        held = []
        for part in range(self.parts):
            depth = w.add(first, part)
            row = w.at(source, w.mul(depth, self.deep))
            if deep is None:
                w.prefetch(w.at(row, _AHEAD))
                held.append(self._line(row, WIDTH, None))
            else:
                held.append(self._line(row, WIDTH, w.select(w.compare("slt", depth, deep), there, integer(0))))
        while len(held) > 1:
            held = [self._alternating(a, b) for a, b in zip(held[::2], held[1::2], strict=True)]
        whole = w.convert("bitcast", held[0], wide("i32", WIDTH))
        return [w.part(whole, start, LINES) for start in (0, LINES)]

    def _alternating(self, a: Val, b: Val) -> Val:
        """The numbers of two vectors in turn, as numbers of twice the size."""
        count = lanes(a.type)
        mixed = self.w.shuffle(a, b, [k // 2 + (k % 2) * count for k in range(2 * count)])
        size = 2 * int(a.type.split("i")[-1][:-1])
        return self.w.convert("bitcast", mixed, wide(f"i{size}", count))


def quotient(w: Writer, a: Val, b: int) -> Val:
    """a / b, for a power of two and an `a` that is not negative."""
    return w.binary("lshr", a, b.bit_length() - 1)


def transposed(w: Writer, rows: Sequence[Val]) -> list[Val]:
    """The columns of a square of 16 x 16 numbers of 32 bits, by shuffles that each have one instruction."""
    low, high = [0, 16, 1, 17], [2, 18, 3, 19]
    pairs = [_mixed(w, rows[k], rows[k + 1], pattern) for k in range(0, 16, 2) for pattern in (low, high)]
    low, high = [0, 1, 16, 17], [2, 3, 18, 19]
    quads = []
    for k in range(0, 16, 4):
        quads += [
            _mixed(w, pairs[k + half], pairs[k + 2 + half], pattern) for half in (0, 1) for pattern in (low, high)
        ]
    columns: list[Val] = list(rows)
    for number in range(4):
        a, b, c, d = (quads[4 * group + number] for group in range(4))
        for odd in (0, 1):
            top = _quarters(w, a, b, (odd, odd + 2, odd + 4, odd + 6))
            bottom = _quarters(w, c, d, (odd, odd + 2, odd + 4, odd + 6))
            columns[4 * odd + number] = _quarters(w, top, bottom, (0, 2, 4, 6))
            columns[4 * (odd + 2) + number] = _quarters(w, top, bottom, (1, 3, 5, 7))
    return columns


def _mixed(w: Writer, a: Val, b: Val, pattern: Sequence[int]) -> Val:
    """The same choice of four numbers in each quarter of two vectors."""
    return w.shuffle(a, b, [start + p for start in range(0, 16, 4) for p in pattern])


def _quarters(w: Writer, a: Val, b: Val, chosen: Sequence[int]) -> Val:
    """Four quarters of two vectors; those of the second one follow those of the first one."""
    return w.shuffle(a, b, [4 * quarter + k for quarter in chosen for k in range(4)])
