"""Panels: factors of a large matrix product, copied so that its innermost loop reads memory from front to back.

A panel holds `width` rows of the first factor, or columns of the second one, depth by depth, in the type that products
are computed in; what lies beyond the matrix does not matter. Complex elements are split into parts: in groups of a
vector for the first factor, number by number for the second. Pairs that the machine multiplies together, of bf16 or of
bytes as numbers of 16 bits, are one unit.

Functions that pack are written once per module and kind, whoever needs them.
"""

from __future__ import annotations

from itertools import product

from girih.back.llvm.cpu.collective.elements import Elements, quotient
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.text import ModuleText, Operand, Val, integer, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.collective.views import View
from girih.ir.types import PARTS, Number
from girih.lazy_dataclass import dataclass

ATTRIBUTES = 'noinline nounwind "prefer-vector-width"="512"'
"""Of functions that products of matrices call."""

_SQUARE = 4
"""The side of the squares that are transposed in registers."""

_LINE_BYTES = 32
"""How much of a line is transposed at once: wider loads that are not aligned were measured to be slower."""

_AHEAD = 8
"""How many depths ahead memory is asked for where each is a jump."""

_AT_ONCE = 16
"""How many lines of the source are read side by side."""


@dataclass(frozen=True, slots=True)
class Panels:
    """How elements are laid out in panels."""

    target: CpuTarget
    element: Number
    compute: Number
    width: int
    group: int
    """How many elements have their parts separated together: a vector, or one."""
    pairs: bool

    @property
    def parts(self) -> int:
        return 2 if self.compute in PARTS else 1

    @property
    def unit(self) -> int:
        """Bytes of an element, or of a pair."""
        return 4 if self.pairs else self.compute.size

    def steps(self, w: Writer, depth: Operand) -> Val:
        """How many units a depth has."""
        return quotient(w, w.add(depth, 1), 2) if self.pairs else w.value(depth)

    def pack(self, w: Writer, source: View, to: Val) -> None:
        """Pack a matrix whose first mode goes across panels and whose second one is the depth."""
        size = self.element.size
        across, deep = (w.mul(s, size) for s in source.strides)
        kind = self._kind(source)
        name = self._function(w.module, kind)
        extents = [w.value(n) for n in source.shape]
        w.run(name, source.pointer, across, deep, *extents, to)

    def _kind(self, source: View) -> str:
        """Which way neighbours in memory go, if it can be made use of."""
        if source.strides[0] == 1 and (self.parts == 1 or self.group > 1):
            return "across"
        if source.strides[1] == 1 and self.parts == 1 and self.width % _SQUARE == 0:
            return "deep"
        return "any"

    def _function(self, module: ModuleText, kind: str) -> str:
        """The name of a function that packs, written if it is not there."""
        shape = f"{self.width}.{self.group}{'.pairs' if self.pairs else ''}"
        name = f"girih.pack.{kind}.{self.element}.{self.compute}.{shape}"
        header = (
            f"define internal void @{name}(ptr %source, i64 %across, i64 %deep, i64 %size, i64 %depth, ptr %to) "
            f"{ATTRIBUTES}"
        )
        if not any(text.startswith(header) for text in module.functions):
            w = Writer(module, header)
            _Packing(self, w, kind).write()
            w.ret()
            w.finish()
        return name


class _Packing:
    """A function that packs, in the making."""

    def __init__(self, panels: Panels, w: Writer, kind: str) -> None:
        self.panels, self.w, self.kind = panels, w, kind
        self.e = Elements(w, panels.target, panels.compute)
        self.across, self.deep = Val("%across", "i64"), Val("%deep", "i64")
        self.size, self.depth = Val("%size", "i64"), Val("%depth", "i64")
        self.step = panels.width * panels.unit
        self.steps = panels.steps(w, self.depth)
        most = min(panels.target.vector_bytes, _LINE_BYTES)
        self.deep_at_once = max(most // panels.unit // _SQUARE, 1) * _SQUARE

    def write(self) -> None:
        """Panel after panel."""
        w, width = self.w, self.panels.width
        with w.loop(0, self.size, width) as loop:
            source = w.at(Val("%source", "ptr"), w.mul(loop.index, self.across))
            to = w.at(Val("%to", "ptr"), w.mul(w.mul(loop.index, self.steps), self.panels.unit))
            left = w.sub(self.size, loop.index)
            rest = w.smaller(left, width)
            if self.kind == "any":
                self._one_by_one(source, to, rest, integer(0), clear=True)
            elif self.kind == "deep":
                self._deep(source, to, rest)
            elif self.e.masked and not self.panels.pairs:
                self._across(source, to, rest)
            else:
                full = w.compare("sge", left, width)
                w.either(full, lambda: self._full(source, to), lambda: self._rest(source, to, left))

    def _full(self, source: Val, to: Val) -> list[Val]:
        self._whole_across(source, to)
        return []

    def _rest(self, source: Val, to: Val, left: Val) -> list[Val]:
        self._one_by_one(source, to, left, integer(0), clear=True)
        return []

    # --- element by element --------------------------------------------------------------

    def _one_by_one(self, source: Val, to: Val, count: Operand, start: Val, *, clear: bool) -> None:
        """The depths from `start` on of `count` lines; zeros in what is left of pairs if asked for."""
        w, e, element = self.w, self.e, self.panels.element
        if clear and self.panels.pairs:
            blank = wide("i8", self.step)
            with w.loop(start, self.steps) as loop:
                w.store(zero(blank), w.at(to, w.mul(loop.index, self.step)), e.part_size)
        with w.loop(start, self.depth) as k, w.loop(0, count) as i:
            place = w.at(w.at(source, w.mul(k.index, self.deep)), w.mul(i.index, self.across))
            if self.panels.pairs:
                w.store(self._halves(place, 1), self._half(to, k.index, i.index), 2)
            else:
                for number, held in enumerate(e.load(element, place)):
                    w.store(held, self._place(to, k.index, i.index, number), e.part_size)

    def _halves(self, place: Val, count: int) -> Val:
        """Neighbouring elements as halves of pairs: of 16 bits each."""
        w, size = self.w, self.panels.element.size
        held = w.load(wide(f"i{8 * size}", count), place, size)
        return held if size == 2 else w.convert("sext", held, wide("i16", count))

    def _half(self, to: Val, k: Val, i: Val) -> Val:
        """Where half of a pair goes."""
        w = self.w
        pair = w.at(w.at(to, w.mul(quotient(w, k, 2), self.step)), w.mul(i, 4))
        return w.at(pair, w.mul(w.binary("and", k, 1), 2))

    def _place(self, to: Val, k: Operand, i: Val, part: int) -> Val:
        """Where a part of an element goes."""
        w, group, parts, size = self.w, self.panels.group, self.panels.parts, self.e.part_size
        if parts > 1:
            # A group before it takes up `parts` times as much as its elements have parts of one kind.
            whole = w.binary("and", i, -group)
            i = w.add(i, w.mul(whole, parts - 1))
        return w.at(w.at(w.at(to, w.mul(k, self.step)), w.mul(i, size)), part * group * size)

    # --- neighbours across panels --------------------------------------------------------

    def _whole_across(self, source: Val, to: Val) -> None:
        w = self.w
        if not self.panels.pairs:
            self._across(source, to, w.value(self.panels.width))
            return
        bulk = w.binary("and", self.depth, -2)
        with w.loop(0, bulk, 2) as loop:
            self._pair(source, to, loop.index, odd=False)
        with w.loop(bulk, self.depth) as loop:
            self._pair(source, to, loop.index, odd=True)

    def _across(self, source: Val, to: Val, count: Val) -> None:
        """A number of neighbours of each depth, and zeros behind them."""
        w, e, element = self.w, self.e, self.panels.element
        limit = count if count.literal is None else count.literal
        masks = [e.first(lanes, w.sub(limit, start) if isinstance(limit, Val) else limit - start)
                 for start, lanes in self._pieces()]  # fmt: skip
        with w.loop(0, self.depth) as loop:
            row, goal = w.at(source, w.mul(loop.index, self.deep)), w.at(to, w.mul(loop.index, self.step))
            self._prefetch(w.at(row, w.mul(self.deep, _AHEAD)))
            for (start, lanes), mask in zip(self._pieces(), masks, strict=True):
                parts = e.load(element, w.at(row, start * element.size), lanes, mask)
                for number, held in enumerate(parts):
                    w.store(held, w.at(goal, start * self.panels.unit + number * lanes * e.part_size), e.part_size)

    def _prefetch(self, row: Val) -> None:
        """Lines of a later depth: the hardware does not foresee jumps this wide."""
        w = self.w
        for distance in range(0, self.panels.width * self.panels.element.size, 64):
            w.prefetch(w.at(row, distance))

    def _pieces(self) -> list[tuple[int, int]]:
        """The elements of a line of a panel, by vectors: where they start and how many they are."""
        found, start = [], 0
        while start < self.panels.width:
            count = min(self.e.count, 1 << (self.panels.width - start).bit_length() - 1)
            found.append((start, count))
            start += count
        return found

    def _pair(self, source: Val, to: Val, k: Val, *, odd: bool) -> None:
        """Two depths side by side."""
        w = self.w
        row = w.at(source, w.mul(k, self.deep))
        goal = w.at(to, w.mul(quotient(w, k, 2), self.step))
        for start, count in self._pieces():
            distance = start * self.panels.element.size
            first = self._halves(w.at(row, distance), count)
            second = zero(first.type) if odd else self._halves(w.at(w.at(row, self.deep), distance), count)
            mixed = w.shuffle(first, second, [k // 2 + (k % 2) * count for k in range(2 * count)])
            w.store(mixed, w.at(goal, 4 * start), 4)

    # --- neighbours along the depth ------------------------------------------------------

    def _deep(self, source: Val, to: Val, count: Val) -> None:
        """Squares of so many lines are transposed in registers; the last line stands for those that are not there."""
        w, width = self.w, self.panels.width
        units = quotient(w, self.depth, 2) if self.panels.pairs else self.depth
        bulk = w.binary("and", units, -self.deep_at_once)
        lines = min(width, _AT_ONCE) if width % min(width, _AT_ONCE) == 0 else _SQUARE
        with w.loop(0, width, lines) as outer, w.loop(0, bulk, self.deep_at_once) as loop:
            for start in range(0, lines, _SQUARE):
                self._squares(source, to, w.add(outer.index, start), loop.index, count)
        if self.panels.pairs:
            self._clear_last(to)
        rest = w.mul(bulk, 2) if self.panels.pairs else bulk
        self._one_by_one(source, to, count, rest, clear=False)

    def _clear_last(self, to: Val) -> None:
        """An odd depth leaves halves of the last pairs."""
        w = self.w
        with w.when(w.compare("ne", w.binary("and", self.depth, 1), 0)):
            last = w.at(to, w.mul(w.sub(self.steps, 1), self.step))
            w.store(zero(wide("i8", self.step)), last, 4)

    def _squares(self, source: Val, to: Val, line: Operand, k: Val, count: Val) -> None:
        """Four lines, as many squares side by side as a vector has room for."""
        w, deep = self.w, self.deep_at_once
        last = w.sub(count, 1)
        places = [w.smaller(w.add(line, number), last) for number in range(_SQUARE)]
        rows = [self._line(w.at(source, w.mul(place, self.across)), k) for place in places]

        def mixed(a: Val, b: Val, pattern: tuple[int, int, int, int]) -> Val:
            """The same choice of elements for each square: those of `b` follow those of `a`."""
            places = [start + p if p < 4 else deep + start + p - 4 for start in range(0, deep, 4) for p in pattern]
            return w.shuffle(a, b, places)

        low, high = ([mixed(rows[n], rows[n + 1], p) for n in (0, 2)] for p in ((0, 4, 1, 5), (2, 6, 3, 7)))
        goal = w.at(w.at(to, w.mul(k, self.step)), w.mul(line, self.panels.unit))
        for number, (half, pattern) in enumerate(product((low, high), ((0, 1, 4, 5), (2, 3, 6, 7)))):
            turned = mixed(half[0], half[1], pattern)
            for start in range(0, deep, _SQUARE):
                place = w.at(goal, (start + number) * self.step)
                w.store(w.part(turned, start, _SQUARE), place, min(self.panels.unit, 8))

    def _line(self, line: Val, k: Val) -> Val:
        """Neighbours along the depth, as units."""
        size = self.panels.element.size
        if self.panels.pairs:
            pairs = self._halves(self.w.at(line, self.w.mul(k, 2 * size)), 2 * self.deep_at_once)
            return self.w.convert("bitcast", pairs, f"<{self.deep_at_once} x i32>")
        return self.e.load(self.panels.element, self.w.at(line, self.w.mul(k, size)), self.deep_at_once)[0]
