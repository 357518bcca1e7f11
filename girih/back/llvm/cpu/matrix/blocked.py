"""Cooperative matrices in interleaved blocks of memory on the CPU (002 3.X): group by group, as vectors of words.

A block is a vector of 16 words of 4 bytes: 4 rows of 16 bytes. Blocks of a group are told apart by their words, and the
4 components of each column of a block are neighbours in a line of the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.apply import loaded
from girih.back.llvm.cpu.matrix.bounds import shared_operand, together
from girih.back.llvm.cpu.matrix.fused_pass import to_tile
from girih.back.llvm.cpu.matrix.states import InMemory, MatrixPiece, address, new_tile, operand, part, part_count
from girih.back.llvm.emit.text import Val, integer, poison, wide
from girih.back.llvm.lower.access import check_null, shared_memref
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.addresses import as_scalar
from girih.back.llvm.numbers.values import index
from girih.facts import findings
from girih.ir.types import CoopMatrix
from girih.ops.tile.coopmatrix_tensor import (
    BLOCK_ROWS,
    ROW_BYTES,
    BlockOrder,
    CooperativeMatrixLoadBlockedInterleaved,
    CooperativeMatrixStoreBlockedInterleaved,
)

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""

Blocked = CooperativeMatrixLoadBlockedInterleaved | CooperativeMatrixStoreBlockedInterleaved

_WORDS = 16
"""Words of 4 bytes in a block."""

_MOST_AT_ONCE = 4
"""Groups of so many blocks are moved as one vector, larger ones word by word."""


@LOWERINGS.of(CooperativeMatrixLoadBlockedInterleaved)
def load(code: CpuCode, op: CooperativeMatrixLoadBlockedInterleaved) -> None:
    """The matrix that blocks of memory hold."""
    type = op.result.type
    assert isinstance(type, CoopMatrix)
    pointer = _place(code, op, type)
    tile = new_tile(code, type)

    def group(there: Val, row: Val, column: Val) -> None:
        if op.stride <= _MOST_AT_ONCE:
            for number, block in enumerate(_read_group(code, there, op)):
                _to_lines(code, tile, block, *_member(code, op, row, column, number))
            return
        with code.w.loop(0, op.stride) as loop:
            block = _read_words(code, code.w.at(there, code.w.mul(loop.index, 4)), op)
            _to_lines(code, tile, block, *_member(code, op, row, column, loop.index))

    _each_group(code, op, type, pointer, group)
    code.set(op.result, loaded(code, tile))


@LOWERINGS.of(CooperativeMatrixStoreBlockedInterleaved)
def store(code: CpuCode, op: CooperativeMatrixStoreBlockedInterleaved) -> None:
    """Write the matrix to its blocks of memory."""
    m = operand(code, op.matrix)
    pointer = _place(code, op, m.type)
    tile = to_tile(code, m)

    def group(there: Val, row: Val, column: Val) -> None:
        if op.stride <= _MOST_AT_ONCE:
            places = [_member(code, op, row, column, number) for number in range(op.stride)]
            _write_group(code, there, op, [_from_lines(code, tile, *place) for place in places])
            return
        with code.w.loop(0, op.stride) as loop:
            block = _from_lines(code, tile, *_member(code, op, row, column, loop.index))
            _write_words(code, code.w.at(there, code.w.mul(loop.index, 4)), op, block)

    _each_group(code, op, m.type, pointer, group)


def _place(code: CpuCode, op: Blocked, type: CoopMatrix) -> Val:
    """Where the matrix begins in memory, of which all of it must be there."""
    w = code.w
    together(code, op)
    memref = shared_memref(code, op, "memory", code.memref(op.memory))
    check_null(code, op, memref)
    (offset,) = shared_operand(code, op, "offset")
    count = type.rows * type.columns
    last = w.sub(as_scalar(memref.shape[0]).part, count)
    known = (op, 0) in code.place.inside
    inside = integer(1, "i1") if known else w.binary("and", w.compare("sge", offset, 0), w.compare("sle", offset, last))
    first = w.add(memref.offset.part, offset)
    words = findings.outside_blocks(op, count, memref.name)
    code.check(op, w.negated(inside), words, argument=memref.name, index=[index(offset)], shape=memref.shape,
               by_lane=False)  # fmt: skip
    return w.at(memref.pointer, w.mul(first, type.component.size))


# --- groups ------------------------------------------------------------------------------------


def _each_group(
    code: CpuCode, op: Blocked, type: CoopMatrix, pointer: Val, body: Callable[[Val, Val, Val], None]
) -> None:
    """Go over the groups in memory: the address of each, and row and column of its first block, in blocks."""
    w = code.w
    down, across = type.rows // BLOCK_ROWS, type.columns * type.component.size // ROW_BYTES
    in_rows = op.order is BlockOrder.ROW
    outer, inner = (down, across) if in_rows else (across, down)
    with w.loop(0, outer) as lines, w.loop(0, inner, op.stride) as groups:
        number = w.add(w.mul(lines.index, inner), groups.index)
        there = w.at(pointer, w.mul(number, 4 * _WORDS))
        body(there, *((lines.index, groups.index) if in_rows else (groups.index, lines.index)))


def _member(code: CpuCode, op: Blocked, row: Val, column: Val, number: Val | int) -> tuple[Val, Val]:
    """Row and column of a block in a group, in blocks."""
    add = code.w.add
    return (row, add(column, number)) if op.order is BlockOrder.ROW else (add(row, number), column)


def _read_group(code: CpuCode, there: Val, op: Blocked) -> list[Val]:
    """The blocks of a group, of which words alternate."""
    count = _WORDS * op.stride
    whole = code.w.load(wide("i32", count), there, _alignment(op))
    return [code.w.shuffle(whole, None, range(number, count, op.stride)) for number in range(op.stride)]


def _write_group(code: CpuCode, there: Val, op: Blocked, blocks: Sequence[Val]) -> None:
    whole = code.w.join(blocks)
    places = [number * _WORDS + word for word in range(_WORDS) for number in range(op.stride)]
    code.w.store(code.w.shuffle(whole, None, places), there, _alignment(op))


def _read_words(code: CpuCode, there: Val, op: Blocked) -> Val:
    """A block of a group of any size, from its first word on."""
    w = code.w
    block = poison(wide("i32", _WORDS))
    for word in range(_WORDS):
        block = w.insert(block, w.load("i32", w.at(there, 4 * op.stride * word), min(4, _alignment(op))), word)
    return block


def _write_words(code: CpuCode, there: Val, op: Blocked, block: Val) -> None:
    w = code.w
    for word in range(_WORDS):
        w.store(w.extract(block, word), w.at(there, 4 * op.stride * word), min(4, _alignment(op)))


def _alignment(op: Blocked) -> int:
    """The alignment of a group in bytes: that of an element, or of a part of it."""
    type = (op.result if isinstance(op, CooperativeMatrixLoadBlockedInterleaved) else op.matrix).type
    assert isinstance(type, CoopMatrix)
    return part(type).size


# --- blocks ------------------------------------------------------------------------------------


def _lines(code: CpuCode, tile: InMemory, row: Val, column: Val) -> list[Val]:
    """Where the parts of the columns of a block lie in the workspace."""
    w, type = code.w, tile.type
    width = ROW_BYTES // type.component.size
    start, first = w.mul(row, BLOCK_ROWS), w.mul(column, width)
    places = [MatrixPiece(w.add(first, k), start, 1) for k in range(width)]
    return [address(code, tile, at, number) for at in places for number in range(part_count(type))]


def _to_lines(code: CpuCode, tile: InMemory, block: Val, row: Val, column: Val) -> None:
    """A block to its place in the workspace."""
    w, size = code.w, part(tile.type).size
    parts = w.convert("bitcast", block, wide(f"i{8 * size}", 4 * _WORDS // size))
    width = ROW_BYTES // size
    turned = w.shuffle(parts, None, [row * width + place for place in range(width) for row in range(BLOCK_ROWS)])
    for number, here in enumerate(_lines(code, tile, row, column)):
        w.store(w.part(turned, number * BLOCK_ROWS, BLOCK_ROWS), here, size)


def _from_lines(code: CpuCode, tile: InMemory, row: Val, column: Val) -> Val:
    """A block from its place in the workspace."""
    w, size = code.w, part(tile.type).size
    vector = wide(f"i{8 * size}", BLOCK_ROWS)
    held = w.join([w.load(vector, here, size) for here in _lines(code, tile, row, column)])
    width = ROW_BYTES // size
    parts = w.shuffle(held, None, [place * BLOCK_ROWS + row for row in range(BLOCK_ROWS) for place in range(width)])
    return w.convert("bitcast", parts, wide("i32", _WORDS))
