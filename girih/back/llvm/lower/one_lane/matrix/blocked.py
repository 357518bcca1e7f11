"""Matrices in interleaved blocks of memory (002 3.X): each work-item moves what it holds, word by word.

A block has 4 rows of 16 bytes. The blocks of a group, `stride` of them, alternate by words of 4 bytes.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.access import part_count, part_type
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.held import Parts, matrix, matrix_type, read, release, together
from girih.back.llvm.lower.one_lane.matrix.layout import Position, quotient_of, rest_of, times
from girih.back.llvm.lower.one_lane.matrix.memory import filled, shared_memory, taken
from girih.back.llvm.numbers.addresses import as_scalar
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import index, memory_type
from girih.facts import findings
from girih.ir.types import CoopMatrix
from girih.ops.tile.coopmatrix_tensor import (
    BLOCK_ROWS,
    ROW_BYTES,
    BlockOrder,
    CooperativeMatrixLoadBlockedInterleaved,
    CooperativeMatrixStoreBlockedInterleaved,
)

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""

Blocked = CooperativeMatrixLoadBlockedInterleaved | CooperativeMatrixStoreBlockedInterleaved

_WORD = 4
"""The bytes of a word, by which blocks alternate."""


@LOWERINGS.of(CooperativeMatrixLoadBlockedInterleaved)
def load(code: OneLaneCode, op: CooperativeMatrixLoadBlockedInterleaved) -> None:
    """The matrix that blocks of memory hold."""
    type = matrix_type(op.result)
    begin = _begin(code, op, type)
    one = part_type(type.component)

    def get(at: Position, _: Val) -> Parts:
        w = code.w

        def part(k: int) -> Val:
            words = _addresses(code, op, type, begin, at, k * one.size)
            if len(words) == 1:
                return w.load(memory_type(one), words[0], one.size)
            low, high = (w.convert("zext", w.load("i32", word, _WORD), "i64") for word in words)
            whole = w.binary("or", low, w.binary("shl", high, integer(8 * _WORD)))
            return w.convert("bitcast", whole, memory_type(one))

        return tuple(from_memory(w, code.features, one, part(k)) for k in range(part_count(type.component)))

    code.set(op.result, filled(code, op.result, lambda at: at.exists, get))


@LOWERINGS.of(CooperativeMatrixStoreBlockedInterleaved)
def store(code: OneLaneCode, op: CooperativeMatrixStoreBlockedInterleaved) -> None:
    """Write the matrix to its blocks of memory."""
    m = matrix(code, op.matrix)
    begin = _begin(code, op, m.type)
    one = part_type(m.type.component)

    def put(at: Position, component: Val) -> None:
        w = code.w
        for k, part in enumerate(read(code, m, component)):
            words = _addresses(code, op, m.type, begin, at, k * one.size)
            held = to_memory(w, code.features, one, part)
            if len(words) == 1:
                w.store(held, words[0], one.size)
                continue
            whole = w.convert("bitcast", held, "i64")
            for number, word in enumerate(words):
                shifted = w.binary("lshr", whole, integer(8 * _WORD * number))
                w.store(w.convert("trunc", shifted, "i32"), word, _WORD)

    taken(code, m, lambda at: at.exists, put)
    release(code, op)


def _begin(code: OneLaneCode, op: Blocked, type: CoopMatrix) -> Val:
    """The address at which the matrix begins in memory, of which all of it must be there."""
    w = code.w
    together(code, op, type)
    memref = shared_memory(code, op, "memory", op.memory)
    (offset,) = code.agreed(op, "offset", code.index(op.offset))
    count = type.rows * type.columns
    last = w.sub(as_scalar(memref.shape[0]).part, count)
    known = (op, 0) in code.place.inside
    inside = integer(1, "i1") if known else w.binary("and", w.compare("sge", offset, 0), w.compare("sle", offset, last))
    words = findings.outside_blocks(op, count, memref.name)
    code.check(op, w.negated(inside), words, argument=memref.name, index=[index(offset)], shape=memref.shape,
               by_lane=False)  # fmt: skip
    return w.at(memref.pointer, w.mul(w.add(memref.offset.part, offset), type.component.size))


def _addresses(code: OneLaneCode, op: Blocked, type: CoopMatrix, begin: Val, at: Position, byte: int) -> list[Val]:
    """The addresses of the words, or of what is smaller, of a part that begins at a byte of a component."""
    w, size = code.w, type.component.size
    width = ROW_BYTES // size
    down, row = quotient_of(w, at.row, BLOCK_ROWS), rest_of(w, at.row, BLOCK_ROWS)
    across, column = quotient_of(w, at.column, width), rest_of(w, at.column, width)
    if op.order is BlockOrder.ROW:
        block = w.add(times(w, down, type.columns // width), across)
    else:
        block = w.add(times(w, across, type.rows // BLOCK_ROWS), down)
    group, member = quotient_of(w, block, op.stride), rest_of(w, block, op.stride)
    within = w.add(w.add(times(w, row, ROW_BYTES), times(w, column, size)), integer(byte, "i32"))
    found = []
    for number in range(max(1, part_type(type.component).size // _WORD)):
        place = w.add(within, integer(_WORD * number, "i32"))
        word = w.add(times(w, quotient_of(w, place, _WORD), op.stride), member)
        bytes = w.add(times(w, group, BLOCK_ROWS * ROW_BYTES * op.stride), times(w, word, _WORD))
        bytes = w.add(bytes, rest_of(w, place, _WORD))
        found.append(w.at(begin, w.convert("zext", bytes, "i64")))
    return found
