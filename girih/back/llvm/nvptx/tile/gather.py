"""Tiles that the threads of the producer fill, from wherever their components lie.

A tile of a memref that is whole and aligned is filled by pieces of 16 bytes of a line, each by one load. Another one is
filled by words of 4 bytes, of which neighbouring threads have neighbouring ones: by one load where the word is aligned,
by two of aligned words where lines begin anywhere, as those of odd lengths do, and by loads with a condition where the
tile is not all there. A thread loads several before it stores them, so that many loads are on their way. What a
tensor layout has comes component by component; blocks that a region decodes are read as a whole
(`girih.back.llvm.nvptx.tile.blocks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from girih.back.llvm.emit.text import Operand, Val, integer, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, zero_parts
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.back.llvm.lower.one_lane.matrix.tensor import loaded
from girih.back.llvm.lower.tiles.checks import is_legal
from girih.back.llvm.numbers.rounding import to_memory
from girih.back.llvm.numbers.values import memory_type
from girih.back.llvm.nvptx.tile.blocks import (
    BlocksInRing,
    DecodedBlocks,
    GatheredTensor,
    decoded_blocks,
    gathered_tensor,
)
from girih.back.llvm.nvptx.tile.code import TileCode
from girih.back.llvm.nvptx.tile.memory import bounds_of
from girih.back.llvm.nvptx.tile.ptx import WARPGROUP, word
from girih.ir.core import Op
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix import CooperativeMatrixLoad
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor
from girih.tile.form import SharedTile

_PIECE, _WORDS = 16, 4
"""The bytes of a piece, and the words of 4 bytes that it is stored as."""
_TOGETHER = 4
"""So many pieces are loaded before they are stored."""
_WORD = 4
_WORDS_TOGETHER = 16
"""So many words are loaded before they are stored."""
_RUNS = 2
"""So many runs of blocks are read from memory before they are decoded, where checks take no registers."""

Words = list[Val]


@dataclass(frozen=True, slots=True)
class PieceOfLine:
    """A piece of a line of a tile: the numbers of the line and of its first neighbour, i32s."""

    line: Val
    neighbour: Val


class GatheredTile:
    """A tile of a slot, and the code of a thread of the producer that fills its part of it."""

    def __init__(
        self, code: TileCode, op: Op, tile: SharedTile, begin: Val, in_ring: BlocksInRing | None = None
    ) -> None:
        self.code, self.tile, self.begin = code, tile, begin
        self.count = _PIECE // tile.component.size
        self.pieces = tile.bytes // _PIECE
        self.thread = code.w.binary("and", code.w.convert("trunc", code.thread, "i32"), word(WARPGROUP - 1))
        self.source = (
            PlainSource(code, op, tile)
            if isinstance(op, CooperativeMatrixLoad)
            else TensorSource(code, op, tile, in_ring)
        )

    def write(self) -> None:
        """Fill the tile; behind it, others have not seen it yet."""
        w, source = self.code.w, self.source
        if isinstance(source, PlainSource):
            otherwise = self._by_words if _has_words(self.tile) else self._by_pieces
            if self.tile.component.size > _WORD or _has_words(self.tile):
                w.either(source.aligned_whole, self._by_whole_pieces, otherwise)
            else:
                self._by_pieces()
            return
        blocks = source.blocks()
        if blocks is None:
            self._by_pieces()
            return
        with w.when(blocks.usable):
            self._by_blocks(blocks)
        with w.when(w.negated(blocks.usable)):
            self._by_components()

    def _by_blocks(self, blocks: DecodedBlocks) -> None:
        """Fill the tile with what is decoded from neighbouring blocks; each thread reads those of a few runs first."""
        w, units = self.code.w, self.tile.lines * self.tile.span // blocks.neighbours
        in_line, turns = self.tile.span // blocks.neighbours, -(-units // WARPGROUP)
        many = units % (_RUNS * WARPGROUP) == 0 and blocks.in_ring is None and not self.code.asked
        together = _RUNS if many else 1

        def runs(first: Val) -> list[PieceOfLine]:
            found = []
            for number in (w.add(first, word(WARPGROUP * k)) for k in range(together)):
                line, within = number, word(0)
                if in_line > 1 and blocks.in_ring is None:
                    line = w.binary("udiv", number, word(in_line))
                    within = w.sub(number, w.mul(line, word(in_line)))
                elif in_line > 1:
                    # Eight neighbouring threads have a run each of eight lines: what they store, and what a warp reads
                    # of lines that are four words longer than a multiple of 32, is in different banks.
                    eights = w.binary("udiv", number, word(8))
                    line = w.binary("udiv", eights, word(in_line))
                    within = w.sub(eights, w.mul(line, word(in_line)))
                    line = w.add(w.mul(line, word(8)), w.binary("and", number, word(7)))
                found.append(PieceOfLine(line, w.mul(within, word(blocks.neighbours))))
            return found

        def fill(first: Val) -> None:
            places = runs(first)
            held = [blocks.read(one.line, one.neighbour) for one in places]
            for place, run in zip(places, held, strict=True):
                for k in range(0, blocks.neighbours, self.count):
                    raw = [blocks.component(run, k + n) for n in range(self.count)]
                    piece = PieceOfLine(place.line, w.add(place.neighbour, word(k)))
                    self._store([piece], [_words(w, raw)])

        def body(values: tuple[Val, ...]) -> Sequence[Val]:
            fill(self.code.ptx.here(values[0]))
            return [w.add(values[0], word(WARPGROUP * together))]

        if turns == 1 and units == WARPGROUP:
            fill(self.thread)
        else:
            w.repeat([self.thread], lambda values: w.compare("slt", values[0], word(units)), body)

    def _by_components(self) -> None:
        """Fill the tile component by component: little code, for what is rare."""
        w, tile, ptx = self.code.w, self.tile, self.code.ptx

        def body(values: tuple[Val, ...]) -> Sequence[Val]:
            # Hidden from LLVM, which would find much of a place in front of all loops, and keep it in registers.
            number = ptx.here(values[0])
            piece = self._place(w.binary("udiv", number, word(self.count)))
            within = w.binary("urem", number, word(self.count))
            raw = self.source.component(PieceOfLine(piece.line, w.add(piece.neighbour, within)))
            place = w.add(self._address(piece), w.mul(within, word(tile.component.size)))
            ptx.store_component(place, w.convert("bitcast", raw, f"i{8 * tile.component.size}"))
            return [w.add(number, word(WARPGROUP))]

        end = word(tile.lines * tile.span)
        w.repeat([self.thread], lambda values: w.compare("slt", values[0], end), body)

    def _by_whole_pieces(self) -> list[Val]:
        """Fill the tile by aligned pieces, all of which are there."""
        w, source = self.code.w, self.source
        assert isinstance(source, PlainSource)
        turns, rest = divmod(self.pieces, WARPGROUP)
        together = 1 if rest else _most_together(turns, _TOGETHER)

        def body(values: tuple[Val, ...]) -> Sequence[Val]:
            pieces = [self._place(w.add(values[0], word(WARPGROUP * k))) for k in range(together)]
            self._store(pieces, [source.at_once(piece) for piece in pieces])
            return [w.add(values[0], word(WARPGROUP * together))]

        w.repeat([self.thread], lambda values: w.compare("slt", values[0], word(self.pieces)), body)
        return []

    def _by_words(self) -> list[Val]:
        """Fill the tile by words, with as few loads as its place allows."""
        w, source = self.code.w, self.source
        assert isinstance(source, PlainSource)
        lines = PlainLines(self.code, source, self.tile, self.thread, self.begin)
        w.either(
            source.simple,
            lambda: w.either(lines.even, lines.aligned, lines.shifted),
            lambda: w.either(source.side_by_side, lines.guarded, lines.scattered),
        )
        return []

    def _by_pieces(self) -> list[Val]:
        """Fill the tile by pieces, each from its components, one piece after the other."""
        w = self.code.w

        def body(values: tuple[Val, ...]) -> Sequence[Val]:
            piece = self._place(values[0])
            self._store([piece], [self.source.by_elements(piece)])
            return [w.add(values[0], word(WARPGROUP))]

        w.repeat([self.thread], lambda values: w.compare("slt", values[0], word(self.pieces)), body)
        return []

    def _store(self, pieces: Sequence[PieceOfLine], words: Sequence[Words]) -> None:
        for piece, held in zip(pieces, words, strict=True):
            self.code.ptx.store_piece(self._address(piece), held)

    def _place(self, number: Val) -> PieceOfLine:
        """The piece of a number: those of a line of a panel are neighbours, and so are the lines."""
        w, tile = self.code.w, self.tile
        in_line = tile.panel // self.count
        line_of_panels = w.binary("udiv", number, word(in_line))
        panel = w.binary("udiv", line_of_panels, word(tile.lines))
        within = w.sub(number, w.mul(line_of_panels, word(in_line)))
        line = w.sub(line_of_panels, w.mul(panel, word(tile.lines)))
        return PieceOfLine(line, w.add(w.mul(panel, word(tile.panel)), w.mul(within, word(self.count))))

    def _address(self, piece: PieceOfLine) -> Val:
        """The address of a piece in shared memory (`SharedTile.place`)."""
        w, tile = self.code.w, self.tile
        panel = w.binary("udiv", piece.neighbour, word(tile.panel))
        within = w.sub(piece.neighbour, w.mul(panel, word(tile.panel)))
        at = w.add(w.mul(panel, word(tile.panel_bytes)), w.mul(piece.line, word(tile.pitch)))
        at = w.add(at, w.mul(within, word(tile.component.size)))
        turned = w.binary("and", w.binary("lshr", at, word(3)), word(max(0, tile.swizzle - _PIECE)))
        return w.add(self.begin, w.binary("xor", at, turned))


# --- where components come from ----------------------------------------------------------------


class PlainSource:
    """The tile of a memref."""

    def __init__(self, code: TileCode, op: CooperativeMatrixLoad, tile: SharedTile) -> None:
        w, bounds = code.w, bounds_of(code, op)
        self.code, self.tile, size = code, tile, tile.component.size
        across, along = (0, 1) if tile.by_rows else (1, 0)
        steps: list[Operand] = bounds.steps()
        self.across, self.along = w.value(steps[across]), w.value(steps[along])
        self.memory = bounds.memref.pointer
        self.begin = w.at(self.memory, w.mul(bounds.first(), size))
        self.lines, self.neighbours = (
            _there(code, bounds.position[k], bounds.sizes[k], bounds.type.shape[k]) for k in (across, along)
        )
        number = w.convert("ptrtoint", self.begin, "i64")
        uneven = w.binary("and", w.binary("or", number, self.across), integer(_PIECE - 1))
        lines, neighbours = (bounds.type.shape[k] for k in (across, along))
        whole = w.binary("and", _covers(code, self.lines, lines), _covers(code, self.neighbours, neighbours))
        self.side_by_side = w.compare("eq", self.along, integer(size))
        """Whether neighbours of a line are neighbours in memory."""
        self.simple = w.binary("and", whole, self.side_by_side)
        """Whether all of the tile is there besides."""
        self.aligned_whole = w.binary("and", self.simple, w.compare("eq", uneven, integer(0)))
        """Whether every piece of a line is there besides, in 16 bytes that are aligned."""

    def blocks(self) -> DecodedBlocks | None:
        """None: nothing is decoded."""
        return None

    def component(self, at: PieceOfLine) -> Val:
        """Not asked for."""
        raise TypeError("a memref has no blocks")

    def _has_line(self, piece: PieceOfLine) -> Val:
        w, (first, end) = self.code.w, self.lines
        return w.binary("and", w.compare("sge", piece.line, first), w.compare("slt", piece.line, end))

    def _line(self, piece: PieceOfLine) -> Val:
        w = self.code.w
        return w.at(self.begin, w.mul(w.convert("zext", piece.line, "i64"), self.across))

    def at_once(self, piece: PieceOfLine) -> Words:
        """A piece that is whole, by one load."""
        w = self.code.w
        distance = w.mul(w.convert("zext", piece.neighbour, "i64"), integer(self.tile.component.size))
        return self.code.ptx.load_piece(w.at(self._line(piece), distance))

    def by_elements(self, piece: PieceOfLine) -> Words:
        """A piece by loads of its components; what is not there is zero."""
        w, component = self.code.w, self.tile.component
        type, (first, end) = memory_type(component), self.neighbours
        zero = integer(0, type) if type[0] == "i" else w.convert("bitcast", integer(0, f"i{8 * component.size}"), type)
        line, there = self._line(piece), self._has_line(piece)
        raw: list[Val] = []
        for k in range(_PIECE // component.size):
            neighbour = w.add(piece.neighbour, word(k))
            inside = w.binary("and", w.compare("sge", neighbour, first), w.compare("slt", neighbour, end))
            usable = w.binary("and", there, inside)
            address = w.at(line, w.mul(w.convert("zext", neighbour, "i64"), self.along))
            held = w.load(type, w.select(usable, address, self.memory), component.size)
            raw.append(w.select(usable, held, zero))
        return _words(w, raw)


def _covers(code: TileCode, there: tuple[Val, Val], extent: int) -> Val:
    """Whether all rows or columns of a tile are in its memory."""
    w, (first, end) = code.w, there
    return w.binary("and", w.compare("eq", first, word(0)), w.compare("eq", end, word(extent)))


def _has_words(tile: SharedTile) -> bool:
    """Whether all threads have words of whole lines of a tile, as many each, at places that repeat."""
    in_line = tile.pitch // _WORD
    return (
        tile.component.size <= _WORD
        and in_line * _WORD == tile.swizzle
        and WARPGROUP % in_line == 0
        and tile.lines * in_line % WARPGROUP == 0
    )


def _most_together(turns: int, most: int) -> int:
    """The largest divisor of a number of turns that is not above a limit."""
    return next((n for n in range(min(most, turns), 0, -1) if turns % n == 0), 1)


@dataclass(frozen=True, slots=True)
class LineWord:
    """A word of a line of a tile: its panel, the number of the line, its first neighbour, and its address."""

    panel: Val
    line: Val
    neighbour: Val
    place: Val


class PlainLines:
    """The words of a tile of a memref that a thread fills: one of each of some lines, in every panel the same.

    The lines of a thread are so far apart that all its words are aligned alike.
    """

    def __init__(self, code: TileCode, source: PlainSource, tile: SharedTile, thread: Val, begin: Val) -> None:
        w, in_line = code.w, tile.pitch // _WORD
        self.code, self.source, self.tile = code, source, tile
        self.apart = WARPGROUP // in_line
        self.turns = tile.lines // self.apart
        self.parts = _WORD // tile.component.size
        self.first = w.binary("udiv", thread, word(in_line))
        self.within = w.binary("and", thread, word(in_line - 1))
        self.begin = begin
        odd = w.binary("and", w.convert("ptrtoint", self._line(self.first), "i64"), integer(_WORD - 1))
        self.odd = w.convert("trunc", odd, "i32")
        """How many bytes words begin behind a multiple of their size, where neighbours of a line lie side by side."""
        self.even = w.compare("eq", self.odd, word(0))

    def _line(self, line: Val) -> Val:
        w = self.code.w
        return w.at(self.source.begin, w.mul(w.convert("zext", line, "i64"), self.source.across))

    # --- ways to load words --------------------------------------------------------------

    def aligned(self) -> list[Val]:
        """Fill the tile by aligned words, all of which are there."""
        return self._fill(lambda one: [self.code.ptx.load_part(one.place, _WORD)], lambda _, held: held[0])

    def shifted(self) -> list[Val]:
        """Fill the tile by words anywhere, all of which are there: each from the two aligned words that it lies in."""
        w, ptx = self.code.w, self.code.ptx

        def load(one: LineWord) -> Words:
            low = self._aligned(one)
            return [ptx.load_part(low, _WORD), ptx.load_part(w.at(low, _WORD), _WORD)]

        return self._fill(load, lambda _, held: self._joined(*held))

    def guarded(self) -> list[Val]:
        """The same where not all components are there; the others are zero."""
        return self._fill(
            lambda one: [self._load_used(one, 0), self._load_used(one, _WORD)],
            lambda one, held: self.code.w.binary("and", self._joined(*held), self._there(one)),
        )

    def scattered(self) -> list[Val]:
        """Fill the tile by loads of the components that are there, which may lie anywhere."""
        w, source, size = self.code.w, self.source, self.tile.component.size
        top, lines = source.lines[0], self._extent(source.lines)

        def load(one: LineWord) -> Words:
            found = []
            for k in range(self.parts):
                end = w.select(self._has_neighbour(one, k), lines, word(0))
                place = w.at(one.place, w.mul(source.along, integer(k)))
                found.append(self.code.ptx.load_part_below(place, size, w.sub(one.line, top), end))
            return found

        def whole(_: LineWord, held: Words) -> Val:
            found = held[0]
            for k, part in enumerate(held[1:], 1):
                found = w.binary("or", found, w.binary("shl", part, word(8 * size * k)))
            return found

        return self._fill(load, whole)

    def _aligned(self, one: LineWord) -> Val:
        """The address of the aligned word that has the first byte of a word."""
        w = self.code.w
        return w.at(one.place, w.sub(integer(0), w.convert("zext", self.odd, "i64")))

    def _joined(self, low: Val, high: Val) -> Val:
        return self.code.ptx.joined(low, high, self.code.w.mul(self.odd, word(8)))

    def _load_used(self, one: LineWord, ahead: int) -> Val:
        """The aligned word so far ahead of the first one of a word, zero if nothing of it is in the line's memory."""
        w, size = self.code.w, word(self.tile.component.size)
        begin = w.add(w.sub(w.mul(one.neighbour, size), self.odd), word(ahead))
        first, end = (w.mul(bound, size) for bound in self.source.neighbours)
        used = w.binary("and", w.compare("slt", begin, end), w.compare("sgt", w.add(begin, word(_WORD)), first))
        # A word that begins before all lines would be in none of them.
        used = w.binary("and", used, w.compare("slt", first, end))
        most = w.select(used, self._extent(self.source.lines), word(0))
        number = w.sub(one.line, self.source.lines[0])
        return self.code.ptx.load_part_below(w.at(self._aligned(one), ahead), _WORD, number, most)

    def _there(self, one: LineWord) -> Val:
        """The bits of a word that are components which are there."""
        w, bits = self.code.w, 8 * self.tile.component.size
        found = word(0)
        for k in range(self.parts):
            mask = ((1 << bits) - 1) << bits * k
            signed = mask - (1 << 32) if mask >> 31 else mask
            found = w.binary("or", found, w.select(self._has_neighbour(one, k), word(signed), word(0)))
        return found

    def _has_neighbour(self, one: LineWord, k: int) -> Val:
        """Whether a component of a word is there, if its line is."""
        w, bounds = self.code.w, self.source.neighbours
        return w.compare("ult", w.sub(w.add(one.neighbour, word(k)), bounds[0]), self._extent(bounds))

    def _extent(self, bounds: tuple[Val, Val]) -> Val:
        """How many lines or neighbours are there."""
        return self.code.w.larger(self.code.w.sub(bounds[1], bounds[0]), word(0))

    # --- the words of a thread -----------------------------------------------------------

    def _fill(self, load: Callable[[LineWord], Words], whole: Callable[[LineWord, Words], Val]) -> list[Val]:
        """Fill the tile; `load` begins to load a word, which `whole` makes of what came."""
        w, panels = self.code.w, self.tile.span // self.tile.panel
        together = _most_together(self.turns, _WORDS_TOGETHER)
        at_once = _most_together(panels, _WORDS_TOGETHER // together) if together == self.turns else 1

        def body(values: tuple[Val, ...]) -> Sequence[Val]:
            (number,) = values
            words = list(self._words(number, together, at_once))
            held = [load(one) for one in words]
            for one, loads in zip(words, held, strict=True):
                self.code.ptx.store_component(self._address(one), whole(one, loads))
            return [w.add(number, word(together * at_once))]

        w.repeat([word(0)], lambda values: w.compare("slt", values[0], word(self.turns * panels)), body)
        return []

    def _words(self, number: Val, count: int, panels: int) -> Iterator[LineWord]:
        """So many words of each of some panels from a turn of a number on."""
        w = self.code.w
        panel = w.binary("udiv", number, word(self.turns))
        turn = w.sub(number, w.mul(panel, word(self.turns)))
        for k in range(panels):
            yield from self._in_panel(w.add(panel, word(k)), turn, count)

    def _in_panel(self, panel: Val, turn: Val, count: int) -> Iterator[LineWord]:
        w, tile = self.code.w, self.tile
        line = w.add(self.first, w.mul(turn, word(self.apart)))
        neighbour = w.add(w.mul(panel, word(tile.panel)), w.mul(self.within, word(self.parts)))
        place = w.at(self._line(line), w.mul(w.convert("zext", neighbour, "i64"), self.source.along))
        step = w.mul(self.source.across, integer(self.apart))
        for k in range(count):
            yield LineWord(panel, w.add(line, word(k * self.apart)), neighbour, place)
            place = w.at(place, step)

    def _address(self, one: LineWord) -> Val:
        """The address of a word in shared memory (`SharedTile.place`)."""
        w, tile = self.code.w, self.tile
        at = w.add(w.mul(one.line, word(tile.pitch)), w.mul(self.within, word(_WORD)))
        turned = w.binary("and", w.binary("lshr", at, word(3)), word(tile.swizzle - _PIECE))
        return w.add(w.add(self.begin, w.mul(one.panel, word(tile.panel_bytes))), w.binary("xor", at, turned))


def _there(code: TileCode, position: Val, size: Val, extent: int) -> tuple[Val, Val]:
    """The first row or column of a tile that is in its memory, and the end of them, i32s."""
    w = code.w
    first = w.smaller(w.larger(w.sub(integer(0), position), integer(0)), integer(extent))
    end = w.larger(w.smaller(w.sub(size, position), integer(extent)), integer(0))
    return w.convert("trunc", first, "i32"), w.convert("trunc", end, "i32")


class TensorSource:
    """The tile of a tensor layout and a view, component by component, decoded where a region says how."""

    def __init__(self, code: TileCode, op: Op, tile: SharedTile, in_ring: BlocksInRing | None) -> None:
        assert isinstance(op, CooperativeMatrixLoadTensor)
        type = op.result.type
        assert isinstance(type, CoopMatrix)
        self.code, self.tile, self.columns, self.in_ring = code, tile, type.columns, in_ring
        self.tensor: GatheredTensor = gathered_tensor(code, op)
        self.legal = is_legal(self.tensor)
        self.before = EqualComponents(type, zero_parts(type.component))

    def blocks(self) -> DecodedBlocks | None:
        """The blocks that the tile is decoded from; None where components are read one by one."""
        return decoded_blocks(self.tensor, self.tile, self.in_ring) if self.legal else None

    def by_elements(self, piece: PieceOfLine) -> Words:
        """A piece by its components."""
        w = self.code.w
        places = [w.add(piece.neighbour, word(k)) for k in range(_PIECE // self.tile.component.size)]
        return _words(w, [self.component(PieceOfLine(piece.line, neighbour)) for neighbour in places])

    def component(self, at: PieceOfLine) -> Val:
        """A component of a line, as it is in memory; what an illegal layout or view gives is zero."""
        w = self.code.w
        row, column = (at.line, at.neighbour) if self.tile.by_rows else (at.neighbour, at.line)
        number = w.convert("zext", w.add(w.mul(row, word(self.columns)), column), "i64")
        parts = self.before.parts
        if self.legal:
            parts = loaded(self.tensor, self.before, Position(row, column, None), number)
        return to_memory(w, self.code.features, self.tile.component, parts[0])


def _words(w: Writer, raw: Sequence[Val]) -> Words:
    """Numbers as they are in memory, as words."""
    held = w.convert("bitcast", w.join(raw), wide("i32", _WORDS))
    return [w.extract(held, k) for k in range(_WORDS)]
