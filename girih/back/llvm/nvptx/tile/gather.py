"""Tiles that the threads of the producer fill: 16 bytes of a line at a time, from wherever their components lie.

Each thread fills several pieces of 16 bytes of a tile in turn, and loads all of a few before it stores them, so that
many loads are on their way. Where the memory of these pieces is whole and aligned, one load has each of them. Blocks
that a region decodes are read as a whole (`girih.back.llvm.nvptx.tile.blocks`).
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Operand, Val, integer, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, zero_parts
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.back.llvm.lower.one_lane.matrix.tensor import loaded
from girih.back.llvm.lower.tiles.checks import is_legal
from girih.back.llvm.numbers.rounding import to_memory
from girih.back.llvm.numbers.values import memory_type
from girih.back.llvm.nvptx.tile.blocks import DecodedBlocks, GatheredTensor, decoded_blocks, gathered_tensor
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
_RUNS = 2
"""So many runs of blocks are read before they are decoded."""

Words = list[Val]


@dataclass(frozen=True, slots=True)
class PieceOfLine:
    """A piece of a line of a tile: the numbers of the line and of its first neighbour, i32s."""

    line: Val
    neighbour: Val


class GatheredTile:
    """A tile of a slot, and the code of a thread of the producer that fills its part of it."""

    def __init__(self, code: TileCode, op: Op, tile: SharedTile, begin: Val) -> None:
        self.code, self.tile, self.begin = code, tile, begin
        self.count = _PIECE // tile.component.size
        self.pieces = tile.bytes // _PIECE
        self.thread = code.w.binary("and", code.w.convert("trunc", code.thread, "i32"), word(WARPGROUP - 1))
        self.source = (
            PlainSource(code, op, tile) if isinstance(op, CooperativeMatrixLoad) else TensorSource(code, op, tile)
        )

    def write(self) -> None:
        """Fill the tile; behind it, others have not seen it yet."""
        blocks = self.source.blocks()
        if blocks is None:
            self._by_pieces()
            return
        w = self.code.w
        with w.when(blocks.usable):
            self._by_blocks(blocks)
        with w.when(w.negated(blocks.usable)):
            self._by_components()

    def _by_blocks(self, blocks: DecodedBlocks) -> None:
        """Fill the tile with what is decoded from neighbouring blocks; each thread reads those of a few runs first."""
        w, units = self.code.w, self.tile.lines * self.tile.span // blocks.neighbours
        in_line, turns = self.tile.span // blocks.neighbours, -(-units // WARPGROUP)
        together = _RUNS if units % (_RUNS * WARPGROUP) == 0 else 1

        def runs(first: Val) -> list[PieceOfLine]:
            found = []
            for number in (w.add(first, word(WARPGROUP * k)) for k in range(together)):
                line = w.binary("udiv", number, word(in_line))
                within = w.sub(number, w.mul(line, word(in_line)))
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
            fill(values[0])
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

    def _by_pieces(self) -> None:
        w = self.code.w
        turns = self.pieces // WARPGROUP
        together = next((n for n in range(min(_TOGETHER, turns), 0, -1) if turns % n == 0), 1)

        def body(values: tuple[Val, ...]) -> Sequence[Val]:
            pieces = [self._place(w.add(values[0], word(WARPGROUP * k))) for k in range(together)]
            whole = self.source.whole(pieces)
            following = w.add(values[0], word(WARPGROUP * together))
            if whole is None:
                self._by_elements(values[0], following)
                return [following]
            with w.when(whole):
                self._store(pieces, [self.source.at_once(piece) for piece in pieces])
            with w.when(w.negated(whole)):
                self._by_elements(values[0], following)
            return [following]

        w.repeat([self.thread], lambda values: w.compare("slt", values[0], word(self.pieces)), body)

    def _by_elements(self, first: Val, end: Val) -> None:
        """Fill the thread's pieces of some numbers one after the other."""
        w = self.code.w

        def body(values: tuple[Val, ...]) -> Sequence[Val]:
            piece = self._place(values[0])
            self._store([piece], [self.source.by_elements(piece)])
            return [w.add(values[0], word(WARPGROUP))]

        w.repeat([first], lambda values: w.compare("slt", values[0], end), body)

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
        together = w.compare("eq", self.along, integer(size))
        self.even = w.binary("and", w.compare("eq", uneven, integer(0)), together)
        some = (w.compare("slt", first, end) for first, end in (self.lines, self.neighbours))
        self.some = w.binary("and", *some)

    def blocks(self) -> DecodedBlocks | None:
        """None: nothing is decoded."""
        return None

    def component(self, at: PieceOfLine) -> Val:
        """Not asked for."""
        raise TypeError("a memref has no blocks")

    def whole(self, pieces: Sequence[PieceOfLine]) -> Val | None:
        """Whether all of some pieces are there, and each in 16 bytes that are aligned."""
        found = self.even
        for piece in pieces:
            found = self.code.w.binary("and", found, self._is_whole(piece))
        return found

    def _is_whole(self, piece: PieceOfLine) -> Val:
        w, end = self.code.w, self.code.w.add(piece.neighbour, word(_PIECE // self.tile.component.size))
        inside = w.binary(
            "and", w.compare("sge", piece.neighbour, self.neighbours[0]), w.compare("sle", end, self.neighbours[1])
        )
        return w.binary("and", inside, self._has_line(piece))

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
        return list(self.code.w.either(self.some, lambda: self._elements(piece), lambda: [word(0)] * _WORDS))

    def _elements(self, piece: PieceOfLine) -> Words:
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


def _there(code: TileCode, position: Val, size: Val, extent: int) -> tuple[Val, Val]:
    """The first row or column of a tile that is in its memory, and the end of them, i32s."""
    w = code.w
    first = w.smaller(w.larger(w.sub(integer(0), position), integer(0)), integer(extent))
    end = w.larger(w.smaller(w.sub(size, position), integer(extent)), integer(0))
    return w.convert("trunc", first, "i32"), w.convert("trunc", end, "i32")


class TensorSource:
    """The tile of a tensor layout and a view, component by component, decoded where a region says how."""

    def __init__(self, code: TileCode, op: Op, tile: SharedTile) -> None:
        assert isinstance(op, CooperativeMatrixLoadTensor)
        type = op.result.type
        assert isinstance(type, CoopMatrix)
        self.code, self.tile, self.columns = code, tile, type.columns
        self.tensor: GatheredTensor = gathered_tensor(code, op)
        self.legal = is_legal(self.tensor)
        self.before = EqualComponents(type, zero_parts(type.component))

    def blocks(self) -> DecodedBlocks | None:
        """The blocks that the tile is decoded from; None where components are read one by one."""
        return decoded_blocks(self.tensor, self.tile) if self.legal else None

    def whole(self, pieces: Sequence[PieceOfLine]) -> Val | None:
        """None: every component has a place of its own."""
        return None

    def at_once(self, piece: PieceOfLine) -> Words:
        """Not asked for."""
        raise TypeError("components of a tensor come one by one")

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
