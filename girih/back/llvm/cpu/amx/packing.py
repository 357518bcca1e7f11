"""Factors of products of tiles, copied so that tiles are loaded from memory that is read from front to back.

A panel has `WIDTH` lines: rows of the first factor of a product, or columns of the second one, which need not be that
many. Units are four bytes of the depth. Panels of the *second operand* of the instruction have a unit of each line side
by side, unit after unit. Those of the *first operand* have 16 units of each line, line after line, and then the next 16
of each. Depths are filled up with zeros to whole tiles, in both factors: what lies there is multiplied. Lines that are
not there hold anything, for results that nobody looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.cpu.amx.tiles import LINE_BYTES, LINES, UNIT_BYTES, UNITS, depth_of
from girih.back.llvm.emit.text import ModuleText, Operand, Val, integer, lanes, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.ir.types import Number
from girih.lazy_dataclass import dataclass

WIDTH = 2 * LINES
"""The lines of a panel."""

ATTRIBUTES = 'noinline nounwind "prefer-vector-width"="512"'
"""Of the functions of products of tiles."""

_WORDS = wide("i32", UNITS)

_TOGETHER = 4
"""How many units are put together for all lines of a block before the next ones: columns are read side by side."""

_LINES_AHEAD = 2
"""How many lines ahead memory is asked for, where lines are read one after the other."""

_SECOND_CACHE = 2
"""The locality of what is asked for, for that the first cache is too small."""


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

    def pack(self, w: Writer, source: tuple[Val, Operand, Operand], extents: tuple[Operand, Operand], to: Val) -> None:
        """Pack a matrix of so many lines, and so deep, from memory.

        `source` is its address, and the bytes from line to line and along the depth.
        """
        pointer, across, deep = source
        neighbours = [known(distance) == self.element.size for distance in (across, deep)]
        kind = "deep" if neighbours[1] else "across" if neighbours[0] else "any"
        operands = (w.value(operand) for operand in (across, deep, *extents))
        w.run(self._function(w.module, kind), pointer, *operands, to)

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


@dataclass(frozen=True, slots=True)
class _PanelPiece:
    """A tile's depth of a panel: from where to where it goes, and how many lines and how much depth are there."""

    source: Val
    to: Val
    lines: Val
    deep: Val


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
        """Pieces of one tile's depth of a panel, in an order in which neighbours in memory come one after the other."""
        w = self.w
        if self.kind == "across":
            together = _TOGETHER if self.panels.second_operand else UNITS
            with (
                w.loop(0, self.depth, self.whole) as depth,
                w.loop(0, UNITS, together) as units,
                w.loop(0, self.size, WIDTH) as line,
            ):
                piece = self._piece(line.index, depth.index)
                full = w.binary("and", w.compare("eq", piece.deep, self.whole), w.compare("eq", piece.lines, WIDTH))
                self._either(full, piece, lambda deep: self._across(piece, units.index, together, deep))
            return
        with w.loop(0, self.size, WIDTH) as line:
            if self.kind == "any":
                with w.loop(0, self.depth, self.whole) as depth:
                    self._one_by_one(self._piece(line.index, depth.index))
                return
            together = LINES if self.panels.second_operand else 1
            with w.loop(0, WIDTH, together) as lines, w.loop(0, self.depth, self.whole) as depth:
                piece = self._piece(line.index, depth.index)
                full = w.compare("eq", piece.deep, self.whole)
                self._either(full, piece, lambda deep: self._along(piece, lines.index, together, deep))

    def _piece(self, line: Val, depth: Val) -> _PanelPiece:
        """The piece of a panel that begins at a line and a depth."""
        w = self.w
        panel = w.mul(self.panels.steps(w, self.depth), WIDTH * UNIT_BYTES)
        source = w.at(w.at(Val("%source", "ptr"), w.mul(line, self.across)), w.mul(depth, self.deep))
        to = w.at(Val("%to", "ptr"), w.mul(quotient(w, line, WIDTH), panel))
        return _PanelPiece(
            source,
            w.at(to, w.mul(quotient(w, depth, self.whole), WIDTH * LINE_BYTES)),
            w.smaller(w.sub(self.size, line), WIDTH),
            w.smaller(w.sub(self.depth, depth), self.whole),
        )

    def _either(self, full: Val, piece: _PanelPiece, move: Callable[[Val | None], None]) -> None:
        """Move a piece, in two ways: where all of it is there, and where not."""

        def way(deep: Val | None) -> list[Val]:
            move(deep)
            return []

        self.w.either(full, lambda: way(None), lambda: way(piece.deep))

    def _one_by_one(self, piece: _PanelPiece) -> None:
        """Every number by itself, after zeros."""
        w = self.w
        with w.loop(0, WIDTH * LINE_BYTES, LINE_BYTES) as loop:
            w.store(zero(_WORDS), w.at(piece.to, loop.index), LINE_BYTES)
        with w.loop(0, piece.deep) as k, w.loop(0, piece.lines) as line:
            place = w.at(w.at(piece.source, w.mul(k.index, self.deep)), w.mul(line.index, self.across))
            held = w.load(self.number, place, self.bytes)
            unit, part = quotient(w, k.index, self.parts), w.binary("and", k.index, self.parts - 1)
            goal = w.at(self._place(piece.to, unit, line.index), w.mul(part, self.bytes))
            w.store(held, goal, self.bytes)

    def _place(self, to: Val, unit: Operand, line: Operand) -> Val:
        """Where a unit of a line goes."""
        w = self.w
        if self.panels.second_operand:
            return w.at(w.at(to, w.mul(unit, WIDTH * UNIT_BYTES)), w.mul(line, UNIT_BYTES))
        return w.at(w.at(to, w.mul(line, LINE_BYTES)), w.mul(unit, UNIT_BYTES))

    # --- neighbours along the depth ------------------------------------------------------

    def _along(self, piece: _PanelPiece, line: Val, count: int, deep: Val | None) -> None:
        """Some lines of the source are lines of tiles; the last one stands for those that are not there."""
        w = self.w
        last = w.sub(piece.lines, 1)
        rows = []
        for number in range(count):
            place = w.at(piece.source, w.mul(w.smaller(w.add(line, number), last), self.across))
            if deep is None:
                w.prefetch(w.at(place, w.mul(self.across, max(count, _LINES_AHEAD))), locality=_SECOND_CACHE)
            rows.append(w.convert("bitcast", self._line(place, self.whole, deep), _WORDS))
        if not self.panels.second_operand:
            w.store(rows[0], self._place(piece.to, 0, line), LINE_BYTES)
            return
        for number, column in enumerate(transposed(w, rows)):
            w.store(column, self._place(piece.to, number, line), LINE_BYTES)

    def _line(self, pointer: Val, count: int, there: Val | None) -> Val:
        """Neighbouring numbers; zeros for those that are not there."""
        w, type = self.w, wide(self.number, count)
        if there is None:
            return w.load(type, pointer, self.bytes)
        few = w.convert("trunc", there, "i16")
        mask = w.compare("slt", w.iota(count, "i16"), w.splat(few, count))
        return w.masked_load(type, pointer, mask, self.bytes, zero(type))

    # --- neighbours across lines ---------------------------------------------------------

    def _across(self, piece: _PanelPiece, unit: Val, count: int, deep: Val | None) -> None:
        """Some units of all lines are put together from neighbours of several depths."""
        w = self.w
        columns = [self._units(piece, w.add(unit, number), count, deep) for number in range(count)]
        for half in range(WIDTH // LINES):
            held = [both[half] for both in columns]
            if self.panels.second_operand:
                for number, column in enumerate(held):
                    w.store(column, self._place(piece.to, w.add(unit, number), half * LINES), LINE_BYTES)
                continue
            for number, row in enumerate(transposed(w, held)):
                w.store(row, self._place(piece.to, 0, half * LINES + number), LINE_BYTES)

    def _units(self, piece: _PanelPiece, unit: Val, together: int, deep: Val | None) -> list[Val]:
        """A unit of each line of a panel, as two vectors; zeros beyond the depth."""
        w = self.w
        first = w.mul(unit, self.parts)
        held = []
        for part in range(self.parts):
            depth = w.add(first, part)
            row = w.at(piece.source, w.mul(depth, self.deep))
            there = None
            if deep is None:
                w.prefetch(w.at(row, w.mul(self.deep, together * self.parts)), locality=_SECOND_CACHE)
            else:
                there = w.select(w.compare("slt", depth, deep), piece.lines, integer(0))
            held.append(self._line(row, WIDTH, there))
        while len(held) > 1:
            held = [self._alternating(a, b) for a, b in zip(held[::2], held[1::2], strict=True)]
        whole = w.convert("bitcast", held[0], wide("i32", WIDTH))
        return [w.part(whole, start, LINES) for start in range(0, WIDTH, LINES)]

    def _alternating(self, a: Val, b: Val) -> Val:
        """The numbers of two vectors in turn, as numbers of twice the size."""
        count = lanes(a.type)
        mixed = self.w.shuffle(a, b, [k // 2 + (k % 2) * count for k in range(2 * count)])
        size = 2 * int(a.type.split("i")[-1][:-1])
        return self.w.convert("bitcast", mixed, wide(f"i{size}", count))


def known(operand: Operand) -> int | None:
    """The number that an operand is, if that is known."""
    return operand if isinstance(operand, int) else operand.literal


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
