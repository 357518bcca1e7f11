"""Tiles that a region decodes from blocks of bytes (003 "Cooperative matrix load tensor", `decode`), by whole blocks.

A thread reads one or two neighbouring blocks of a line as words, and has the region compute their components from what
it read. The place of a component in its block is known while the code is written, so that LLVM leaves nothing of the
indices: what is common to a block, such as its scale, is computed once, and bytes are taken out of words.
"""

from __future__ import annotations

from dataclasses import fields
from math import gcd

from girih.analysis.tensors import COLUMN, ROW
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.back.llvm.lower.one_lane.matrix.regions import called, number_of
from girih.back.llvm.lower.one_lane.matrix.tensor import PrivateTensorTile, block_of, shared_tensor, unit_of
from girih.back.llvm.lower.tensor_index import Element
from girih.back.llvm.lower.tiles.checks import element_is_there, whole_tensor_is_there
from girih.back.llvm.numbers.addresses import as_scalar
from girih.back.llvm.numbers.rounding import to_memory
from girih.back.llvm.numbers.values import MemRefHeld, index
from girih.back.llvm.nvptx.tile.code import TileCode
from girih.back.llvm.nvptx.tile.ptx import word
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor
from girih.tile.form import SharedTile

_WORD, _PIECE = 4, 16
"""The bytes that are read at once, and those that are stored at once."""
_MOST_NEIGHBOURS = 128
"""The components of a run of blocks are at most so many: more would be too much code."""


@dataclass(frozen=True)
class GatheredTensor(PrivateTensorTile):
    """A tensor of which the threads of the producer read a tile; where checks are asked for, only what is there."""

    code: TileCode

    def there(self, found: Element, at: Position) -> Val | None:
        """Whether a component has an element, in the memory of the argument if checks are asked for."""
        held = PrivateTensorTile.there(self, found, at)
        if not self.code.asked:
            return held
        return self.code.w.both(held, element_is_there(self, self.number(found)))


def gathered_tensor(code: TileCode, op: CooperativeMatrixLoadTensor) -> GatheredTensor:
    """The access of a load; nothing is checked."""
    assert isinstance(op.result.type, CoopMatrix)
    tensor = shared_tensor(code, op, op.result.type, unit_of(op))
    return GatheredTensor(**{one.name: getattr(tensor, one.name) for one in fields(PrivateTensorTile)})


@dataclass(frozen=True, slots=True)
class BlockRun:
    """Neighbouring blocks that a thread has read: its copy of their bytes, its words, where their components are."""

    copy: Val
    words: tuple[Val, ...]
    line: Val
    neighbour: Val
    element: Element


@dataclass(frozen=True, slots=True)
class BlocksInRing:
    """The blocks of a tile in a slot of a ring, which begins at a generic address, an i64."""

    tile: SharedTile
    begin: Val

    def address(self, w: Writer, line: Val, word_: Val) -> Val:
        """The address of a word of a line."""
        number = w.add(w.mul(line, word(self.tile.span)), word_)
        return w.add(self.begin, w.mul(w.convert("zext", number, "i64"), _WORD))


@dataclass(frozen=True, slots=True)
class DecodedBlocks:
    """The blocks of a tile: runs of `count` blocks with `length` components each, along `dimension` of the tensor.

    `usable` says whether the tile consists of such runs, all of it in memory, at multiples of four bytes; `came`
    whether those that are `in_ring` came as they are, for which lines have to be multiples of 16 bytes.
    """

    tensor: GatheredTensor
    by_rows: bool
    dimension: int
    length: int
    count: int
    usable: Val
    in_ring: BlocksInRing | None
    came: Val

    @property
    def neighbours(self) -> int:
        """The components of a run."""
        return self.count * self.length

    def read(self, line: Val, neighbour: Val) -> BlockRun:
        """The run that begins at a neighbour of a line."""
        tensor, code = self.tensor, self.tensor.code
        w, words = code.w, self.count * tensor.unit // _WORD
        element = tensor.element(self._position(line, neighbour), inside=True)
        address, copy = tensor.address(element), code.private("i32", words)
        if self.in_ring is None:
            held = tuple(code.ptx.load_word(w.at(address, _WORD * number)) for number in range(words))
        else:
            first = w.mul(w.binary("udiv", neighbour, word(self.neighbours)), word(words))
            near, far = self.in_ring.address(w, line, first), w.convert("ptrtoint", address, "i64")
            begin = w.select(self.came, near, far)
            held = tuple(code.ptx.load_word_of(w.add(begin, _WORD * number)) for number in range(words))
        for number, one in enumerate(held):
            w.store(one, w.at(copy, _WORD * number), _WORD)
        return BlockRun(copy, held, line, neighbour, element)

    def component(self, run: BlockRun, number: int) -> Val:
        """What the region yields for a component of a run, as it is in memory."""
        tensor, code = self.tensor, self.tensor.code
        w, op = code.w, tensor.op
        assert isinstance(op, CooperativeMatrixLoadTensor) and op.block is not None and op.body is not None
        block, place = divmod(number, self.length)
        type = block_of(op)
        assert type is not None
        shape, strides = (tuple(n or 0 for n in numbers) for numbers in (type.shape, type.strides))
        memory = w.at(run.copy, block * tensor.unit)
        code.words[memory.text] = run.words, block * tensor.unit
        held = MemRefHeld(
            type, memory, index(integer(0)), shape, strides, op.block.name, type.element.size, maybe_null=False
        )
        blocks, within = list(run.element.blocks), list(run.element.within)
        blocks[self.dimension] = tensor.one.add(blocks[self.dimension], block)
        within[self.dimension] = place
        columns = tensor.type.columns
        at = self._position(run.line, w.add(run.neighbour, word(number)))
        values = [held, *(index(n) for n in (*blocks, *within))]
        arguments = zip((op.block, *op.coordinates), values, strict=True)
        (part,) = called(code, op.body, number_of(code, at, columns), columns, arguments)
        return to_memory(w, code.features, tensor.type.component, part)

    def _position(self, line: Val, neighbour: Val) -> Position:
        row, column = (line, neighbour) if self.by_rows else (neighbour, line)
        return Position(row, column, None)


def decoded_blocks(tensor: GatheredTensor, tile: SharedTile, in_ring: BlocksInRing | None) -> DecodedBlocks | None:
    """The blocks of a load that decodes, which may be in a ring.

    None where neighbours of a line are not whole blocks of known lengths.
    """
    op, layout, code = tensor.op, tensor.layout, tensor.code
    assert isinstance(op, CooperativeMatrixLoadTensor)
    dimension = _along(tensor, COLUMN if tile.by_rows else ROW)
    if block_of(op) is None or dimension is None:
        return None
    lengths = list(layout.block_size)
    length = lengths.pop(dimension)
    if not isinstance(length, int) or any(one != 1 for one in lengths):
        return None
    count = _WORD // gcd(_WORD, tensor.unit)
    neighbours = count * length
    if (
        neighbours > _MOST_NEIGHBOURS
        or tile.span % neighbours
        or neighbours * tile.component.size % _PIECE
        or (count > 1 and layout.stride[dimension] != 1)
    ):
        return None
    usable = _usable(code, tensor, dimension, neighbours)
    came = _came(code, tensor, dimension, length)
    return DecodedBlocks(tensor, tile.by_rows, dimension, length, count, usable, in_ring, came)


def _along(tensor: GatheredTensor, axis: int) -> int | None:
    """The dimension of the tensor along which neighbours lie; None if they do not lie along one alone."""
    if tensor.digits is None:
        return None
    moved = [
        (dimension, digit)
        for dimension, digits in enumerate(tensor.digits)
        for digit in digits
        if digit.axis == axis and digit.count > 1
    ]
    if len(moved) != 1:
        return None
    (dimension, digit) = moved[0]
    simple = digit.divisor == digit.weight == 1 and digit.whole and len(tensor.digits[dimension]) == 1
    return dimension if simple else None


def _came(code: TileCode, tensor: GatheredTensor, dimension: int, length: int) -> Val:
    """Whether lines of blocks are multiples of 16 bytes (`girih.tile.places.BlocksPlace`)."""
    w = code.w
    size = as_scalar(tensor.layout.dimension[dimension]).part
    odd = w.mul(w.binary("udiv", w.add(size, length - 1), integer(length)), tensor.unit)
    for number, stride in enumerate(tensor.layout.stride):
        if number != dimension:
            odd = w.binary("or", odd, w.mul(as_scalar(stride).part, tensor.unit))
    return w.compare("eq", w.binary("and", odd, integer(_PIECE - 1)), integer(0))


def _usable(code: TileCode, tensor: GatheredTensor, dimension: int, neighbours: int) -> Val:
    """Whether a tile lies inside of its tensor and its memory, in whole runs at multiples of four bytes."""
    w, found = code.w, tensor.inside
    if code.asked:
        found = w.binary("and", found, whole_tensor_is_there(tensor))
    first = as_scalar(tensor.layout.offset[dimension]).part
    uneven = w.binary("urem", first, integer(neighbours))
    odd = w.convert("ptrtoint", tensor.base, "i64")
    for number, stride in enumerate(tensor.layout.stride):
        if number != dimension:
            odd = w.binary("or", odd, w.mul(as_scalar(stride).part, tensor.unit))
    uneven = w.binary("or", uneven, w.binary("and", odd, integer(_WORD - 1)))
    return w.binary("and", found, w.compare("eq", uneven, integer(0)))
