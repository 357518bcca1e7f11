"""Products that threads compute themselves, from factors in shared memory: f64 by the tensor cores of each warp, f32
and i32 by one multiplication and addition after the other.

A product is one piece of assembly. It loads what it multiplies next before it multiplies what it has, so that loads and
products go on together; the sums are operands and results of it. Every sum is added up from the first summand to the
last, whichever way the factors lie in memory, but for the sixteen that an instruction of tensor cores takes at a time.

Threads read lines of 128 bytes, of which the swizzle exchanges pieces of 16 bytes by the number of the line. All else
in an address are multiples of 128 bytes, so that exchanging is an `xor` of the address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from girih.back.llvm.emit.text import Val
from girih.back.llvm.nvptx.tile.code import TileCode
from girih.back.llvm.nvptx.tile.factors import BLOCK, StoredFactor
from girih.back.llvm.nvptx.tile.products import PlacedFactor
from girih.back.llvm.nvptx.tile.ptx import word
from girih.ir.types import F32, F64, Number
from girih.lazy_dataclass import dataclass
from girih.tile.form import TileProduct
from girih.tile.threads.fragment import Dealt

_LINE, _PIECE = 128, 16
"""The bytes of a line of a panel, and of what the swizzle exchanges."""
_ROUND = 8
"""The lines after which the swizzle begins again, and the summands of an iteration."""
_DEPTH = 16
"""The summands that an instruction of tensor cores takes of f64, which are a line."""


@dataclass(frozen=True, slots=True)
class ThreadProduct:
    """The code of one product of two factors in shared memory."""

    code: TileCode
    product: TileProduct
    left: PlacedFactor
    right: PlacedFactor

    def write(self, sums: Sequence[Val] | None) -> list[Val]:
        """The registers of the sums behind the product; without sums before, they are set by it."""
        share = self.code.share(self.product.sums)
        body = _doubles(self) if share.component == F64 else _multiplied(self, share.component)
        count, type = share.registers, share.type
        letter = {"float": "f", "double": "d", "i32": "r"}[type]
        starts = [self._rows(), self._columns()]
        before = list(sums or ())
        constraints = [f"={'' if sums else '&'}{letter}"] * count + [str(k) for k in range(len(before))] + ["r", "r"]
        first = count + len(before)
        text = ["{ .reg .b32 left, right;", f"mov.b32 left, ${first};", f"mov.b32 right, ${first + 1};"]
        if not sums:
            zero = {"float": "0f00000000", "double": "0d0000000000000000", "i32": "0"}[type]
            kind = {"float": "f32", "double": "f64", "i32": "b32"}[type]
            text += [f"mov.{kind} ${k}, {zero};" for k in range(count)]
        return self.code.ptx.results(" ".join([*text, *body, "}"]), [type] * count, constraints, [*before, *starts])

    # --- where a thread begins to read ----------------------------------------------------------

    def _rows(self) -> Val:
        """The address of the first component of a left factor that a thread reads."""
        code, share = self.code, self.code.share(self.product.sums)
        own = code.w.mul(code.consumer, word(self.left.factor.begin(share.rows, 0)))
        begin = code.w.add(self.left.begin, own)
        if share.component == F64:
            warp = code.w.binary("and", code.own.row, word(-_DEPTH))
            return self._of_eight(self.left.factor, begin, warp)
        return self._first(self.left.factor, begin, code.own.row)

    def _columns(self) -> Val:
        """The address of the first component of a right factor that a thread reads."""
        if self.code.share(self.product.sums).component == F64:
            return self._of_eight(self.right.factor, self.right.begin, word(0))
        return self._first(self.right.factor, self.right.begin, self.code.own.column)

    def _first(self, factor: StoredFactor, begin: Val, across: Val) -> Val:
        """The address of a row of a left factor, or a column of a right one, at the begin of the depth."""
        w, tile = self.code.w, factor.tile
        if factor.turned:
            panel = w.binary("lshr", across, word(tile.panel.bit_length() - 1))
            within = w.binary("and", across, word(tile.panel - 1))
            moved = w.add(w.mul(panel, word(tile.panel_bytes)), w.mul(within, word(tile.component.size)))
        else:
            exchanged = w.mul(w.binary("and", across, word(_ROUND - 1)), word(_PIECE))
            moved = w.add(w.mul(across, word(_LINE)), exchanged)
        return w.add(begin, moved)

    def _of_eight(self, factor: StoredFactor, begin: Val, across: Val) -> Val:
        """The address of what a lane has of 16 x 8 components of f64: one of eight rows or columns from a multiple of
        16 on, in four places of the depth, of which this is the first.

        The four lanes of a row take four neighbours each of the depth, two at a time, and lanes 2 and 3 the second two
        first: so neither threads that read two neighbours nor those that read lines meet in a bank.
        """
        w, tile = self.code.w, factor.tile
        number, quarter = w.binary("lshr", self.code.lane, word(2)), w.binary("and", self.code.lane, word(3))
        half = w.binary("lshr", quarter, word(1))
        pair = w.add(w.mul(quarter, word(2)), half)
        if not factor.turned:
            line = w.add(across, number)
            return w.add(begin, w.add(w.mul(line, word(_LINE)), w.mul(w.binary("xor", pair, number), word(_PIECE))))
        line = w.mul(pair, word(2))
        panel = w.mul(w.binary("lshr", across, word(4)), word(tile.panel_bytes))
        place = w.binary("xor", w.binary("lshr", number, word(1)), w.binary("and", line, word(_ROUND - 1)))
        within = w.add(w.mul(place, word(_PIECE)), w.mul(w.binary("and", number, word(1)), word(8)))
        return w.add(begin, w.add(w.add(w.mul(line, word(_LINE)), panel), within))


# --- f64 ---------------------------------------------------------------------------------------


def _doubles(one: ThreadProduct) -> Iterator[str]:
    """A product of f64: for each depth of 16, the rows of a warp by eight columns after the other."""
    share, depth = one.code.share(one.product.sums), one.right.factor.depth
    blocks, eights = share.blocks, share.periods
    left, right = _DoubleFactor("left", "a", one.left.factor, 2), _DoubleFactor("right", "b", one.right.factor, 1)
    yield f".reg .f64 a0_<{8 * blocks}>, a1_<{8 * blocks}>, b0_<4>, b1_<4>;"
    yield from left.declared()
    yield from right.declared()
    steps = depth // _DEPTH
    for block in range(blocks):
        yield from left.loads(0, 8 * block, block * BLOCK, 0)
    yield from right.loads(0, 0, 0, 0)
    for step in range(steps):
        for eight in range(eights):
            turn = (step * eights + eight) % 2
            if eight + 1 < eights:
                yield from right.loads(1 - turn, 0, 8 * (eight + 1), step)
            elif step + 1 < steps:
                yield from right.loads(1 - turn, 0, 0, step + 1)
                for block in range(blocks):
                    yield from left.loads((step + 1) % 2, 8 * block, block * BLOCK, step + 1)
            for block in range(blocks):
                sums = _listed("$", (block * eights + eight) * 4, 4)
                a, b = _listed(f"a{step % 2}_", 8 * block, 8), _listed(f"b{turn}_", 0, 4)
                yield f"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {sums}, {a}, {b}, {sums};"


def _listed(name: str, first: int, count: int) -> str:
    return "{" + ", ".join(f"{name}{first + k}" for k in range(count)) + "}"


@dataclass(frozen=True, slots=True)
class _DoubleFactor:
    """The loads of a factor of f64: `halves` of eight rows or columns, 8 further, at four places of the depth."""

    base: str
    name: str
    factor: StoredFactor
    halves: int

    def declared(self) -> Iterator[str]:
        """The addresses that loads begin with, one for each way that the swizzle exchanges pieces."""
        yield f".reg .b32 {self.base}_<8>;"
        for number, bits in enumerate(self._exchanges()):
            yield f"xor.b32 {self.base}_{number}, {self.base}, {bits};"

    def _exchanges(self) -> list[int]:
        """What addresses are exchanged by: by places of the depth, then for eight rows or columns further."""
        if not self.factor.turned:
            return [0, _PIECE]
        lines = [line * (_LINE + _PIECE) for line in range(4)]
        return [*lines, *(bits ^ 4 * _PIECE for bits in lines)]

    def loads(self, turn: int, first: int, across: int, step: int) -> Iterator[str]:
        """Load registers of a turn, from one on: rows or columns from a multiple of 8 on, of a depth."""
        tile = self.factor.tile
        for half in range(self.halves):
            place = across + 8 * half
            names = [f"{self.name}{turn}_{first + k * self.halves + half}" for k in range(4)]
            if not self.factor.turned:
                at = place * _LINE + step * tile.panel_bytes
                for k in range(2):
                    yield f"ld.shared.v2.f64 {{{names[2 * k]}, {names[2 * k + 1]}}}, [{self.base}_{k}+{at}];"
                continue
            panel, within = divmod(place, tile.panel)
            at = panel * tile.panel_bytes + step * _DEPTH * _LINE
            for k in range(4):
                yield f"ld.shared.f64 {names[k]}, [{self.base}_{k + within // 2}+{at}];"


# --- f32 and i32 -------------------------------------------------------------------------------


def _multiplied(one: ThreadProduct, component: Number) -> Iterator[str]:
    """A product by multiplications and additions: each thread has some rows by some columns."""
    share, depth = one.code.share(one.product.sums), one.right.factor.depth
    fragment, kind = share.fragment, "f32" if component == F32 else "b32"
    multiply = "fma.rn.f32" if component == F32 else "mad.lo.s32"
    left = _TiledFactor("left", "a", one.left.factor, fragment.rows, share.blocks, BLOCK, kind)
    right = _TiledFactor("right", "b", one.right.factor, fragment.columns, share.periods, fragment.columns.period, kind)
    together = 1 if left.factor.turned and right.factor.turned else 2
    yield (
        f".reg .{kind} "
        + ", ".join(f"{factor.name}{turn}_<{together * factor.count}>" for factor in (left, right) for turn in range(2))
        + ";"
    )
    yield ".reg .b32 round, next, place; .reg .pred more;"
    rounds, steps = depth // _ROUND, _ROUND // together
    for factor in (left, right):
        yield from factor.declared()
        yield from factor.loads(0, range(together))
    yield "mov.b32 round, 0; again:"
    for step in range(steps):
        turn = step % 2
        if step + 1 == steps:
            # Behind the last round, the first summands are loaded again, for nothing.
            yield f"add.s32 round, round, 1; setp.lt.s32 more, round, {rounds}; selp.b32 next, round, 0, more;"
            yield from left.moved()
            yield from right.moved()
        following = (step + 1) % steps
        summands = range(following * together, (following + 1) * together)
        yield from left.loads(1 - turn, summands)
        yield from right.loads(1 - turn, summands)
        for summand in range(together):
            for number, row, column in _in_turns(left.count, right.count, fragment.rows.each, fragment.columns.each):
                a = f"a{turn}_{summand * left.count + row}"
                b = f"b{turn}_{summand * right.count + column}"
                yield f"{multiply} ${number}, {a}, {b}, ${number};"
    yield "@more bra again;"


def _in_turns(rows: int, columns: int, down: int, along: int) -> Iterator[tuple[int, int, int]]:
    """The numbers of a thread's components with their rows and columns; neighbours in the order share one of them.

    Rows come in blocks of `down`, columns in periods of `along`, as `ThreadShare` numbers components.
    """
    for period in range(columns // along):
        for row in range(rows):
            block, low = divmod(row, down)
            for column in range(along) if row % 2 == 0 else reversed(range(along)):
                number = ((block * (columns // along) + period) * down + low) * along + column
                yield number, row, period * along + column


@dataclass(frozen=True, slots=True)
class _TiledFactor:
    """The loads of a factor: of each of some pieces, `distance` rows or columns apart, those that a thread has."""

    base: str
    name: str
    factor: StoredFactor
    dealt: Dealt
    pieces: int
    distance: int
    kind: str

    @property
    def count(self) -> int:
        """How many rows or columns a thread has."""
        return self.pieces * self.dealt.each

    def declared(self) -> Iterator[str]:
        """The address of a round of summands."""
        yield f".reg .b32 {self.base}_at; mov.b32 {self.base}_at, {self.base};"

    def moved(self) -> Iterator[str]:
        """Go on to the next round."""
        at, tile = f"{self.base}_at", self.factor.tile
        if self.factor.turned:
            yield f"mad.lo.s32 {at}, next, {_ROUND * _LINE}, {self.base};"
            return
        bytes = _ROUND * tile.component.size
        rounds = _LINE // bytes
        if tile.span == tile.panel:
            yield f"shl.b32 place, next, {bytes.bit_length() - 1}; xor.b32 {at}, {self.base}, place;"
            return
        yield f"and.b32 place, next, {rounds - 1}; shl.b32 place, place, {bytes.bit_length() - 1};"
        yield f"xor.b32 place, {self.base}, place; shr.u32 {at}, next, {rounds.bit_length() - 1};"
        yield f"mad.lo.s32 {at}, {at}, {tile.panel_bytes}, place;"

    def loads(self, turn: int, summands: range) -> Iterator[str]:
        """Load what a thread has of one or two summands of a round."""
        if self.factor.turned:
            for number, summand in enumerate(summands):
                yield f"xor.b32 place, {self.base}_at, {summand * _PIECE};"
                yield from self._line(f"{self.name}{turn}_", number * self.count, summand * _LINE)
            return
        size, each = self.factor.tile.component.size, self.dealt.each
        piece, within = divmod(summands[0] * size, _PIECE)
        known: int | None = None
        for exchanged in sorted({self._line_of(low) % _ROUND for low in range(each)}):
            bits = (piece ^ exchanged) * _PIECE
            if bits != known:
                yield f"xor.b32 place, {self.base}_at, {bits};"
            known = bits
            for low in range(each):
                if self._line_of(low) % _ROUND != exchanged:
                    continue
                for number in range(self.pieces):
                    at = (number * self.distance + self._line_of(low)) * _LINE + within
                    names = [f"{self.name}{turn}_{k * self.count + number * each + low}" for k in range(len(summands))]
                    yield f"ld.shared.v{len(names)}.{self.kind} {{{', '.join(names)}}}, [place+{at}];"

    def _line_of(self, low: int) -> int:
        """How many lines a row or column of a piece lies behind the thread's first one."""
        return low * self.dealt.step

    def _line(self, names: str, first: int, at: int) -> Iterator[str]:
        """Load neighbours of a line, from a register on."""
        tile, each = self.factor.tile, self.dealt.each
        for number in range(self.pieces):
            panel, _ = divmod(number * self.distance, tile.panel)
            listed = ", ".join(f"{names}{first + number * each + low}" for low in range(each))
            yield f"ld.shared.v{each}.{self.kind} {{{listed}}}, [place+{panel * tile.panel_bytes + at}];"
