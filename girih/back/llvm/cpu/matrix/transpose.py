"""Matrices moved between the workspace and memory in which the neighbours of a line are apart.

Square blocks go through registers where neighbouring lines are neighbours in memory, otherwise single components.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.states import (
    InMemory,
    MatrixPiece,
    address,
    known,
    length,
    line_bytes,
    line_count,
    part,
    part_count,
    plane_bytes,
    turned,
)
from girih.back.llvm.emit.text import Operand, Val, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.values import memory_type
from girih.ir.types import CoopMatrix

_BLOCK = 8


def move_in(code: CpuCode, pointer: Val, row_stride: Operand, column_stride: Operand, tile: InMemory) -> None:
    """A matrix from memory to the workspace; distances are in bytes."""
    _transpose(code, pointer, _strides(tile.type, row_stride, column_stride), tile, inwards=True)


def move_out(code: CpuCode, pointer: Val, row_stride: Operand, column_stride: Operand, tile: InMemory) -> None:
    """A matrix from the workspace to memory; distances are in bytes."""
    _transpose(code, pointer, _strides(tile.type, row_stride, column_stride), tile, inwards=False)


def turn(code: CpuCode, source: InMemory, target: InMemory) -> None:
    """The transpose of a matrix, from one place in the workspace to another; neither is a single line."""
    type = target.type
    block = gcd(gcd(length(type), line_count(type)), _BLOCK)
    for number in range(part_count(type)):
        with code.w.loop(0, length(type), block) as starts, code.w.loop(0, line_count(type), block) as lines:
            there = address(code, source, MatrixPiece(starts.index, lines.index, 1), number)
            here = address(code, target, MatrixPiece(lines.index, starts.index, 1), number)
            _move_block(code, type, block, (there, line_bytes(source.type)), (here, line_bytes(type)), inwards=True)


def _strides(type: CoopMatrix, row_stride: Operand, column_stride: Operand) -> tuple[Operand, Operand]:
    """The distances along and across lines."""
    return (column_stride, row_stride) if turned(type) else (row_stride, column_stride)


def _transpose(code: CpuCode, pointer: Val, strides: tuple[Operand, Operand], tile: InMemory, *, inwards: bool) -> None:
    w, type = code.w, tile.type
    along, across = strides
    neighbours = known(across) == type.component.size and part_count(type) == 1
    block = gcd(gcd(length(type), line_count(type)), _BLOCK) if neighbours else 1
    with w.loop(0, length(type), block) as starts, w.loop(0, line_count(type), block) as lines:
        there = w.at(w.at(pointer, w.mul(lines.index, across)), w.mul(starts.index, along))
        here = address(code, tile, MatrixPiece(lines.index, starts.index, 1))
        if block == 1:
            _move_one(code, type, there, here, inwards=inwards)
        else:
            _move_block(code, type, block, (there, along), (here, line_bytes(type)), inwards=inwards)


def _move_one(code: CpuCode, type: CoopMatrix, pointer: Val, here: Val, *, inwards: bool) -> None:
    w, size = code.w, part(type).size
    for number in range(part_count(type)):
        there, mine = w.at(pointer, number * size), w.at(here, number * plane_bytes(type))
        source, target = (there, mine) if inwards else (mine, there)
        w.store(w.load(memory_type(part(type)), source, size), target, size)


def _move_block(
    code: CpuCode,
    type: CoopMatrix,
    block: int,
    there: tuple[Val, Operand],
    here: tuple[Val, Operand],
    *,
    inwards: bool,
) -> None:
    """A square block from one place to another, transposed; a place is a pointer and the distance of its vectors."""
    w, size = code.w, part(type).size
    source, target = (there, here) if inwards else (here, there)
    vector = wide(memory_type(part(type)), block)
    held = [w.load(vector, w.at(source[0], w.mul(k, source[1])), size) for k in range(block)]
    for k, one in enumerate(transposed(w, held)):
        w.store(one, w.at(target[0], w.mul(k, target[1])), size)


def transposed(w: Writer, vectors: Sequence[Val]) -> list[Val]:
    """A square block of vectors, a power of two of them, with rows and columns swapped."""
    count = len(vectors)
    held = list(vectors)
    half = 1
    while half < count:
        low = [k + (count if k & half else 0) - (half if k & half else 0) for k in range(count)]
        high = [p + half for p in low]
        following = list(held)
        for k in range(count):
            if not k & half:
                following[k] = w.shuffle(held[k], held[k + half], low)
                following[k + half] = w.shuffle(held[k], held[k + half], high)
        held = following
        half *= 2
    return held
