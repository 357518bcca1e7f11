"""Loads, stores, prefetches and atomic accesses of cooperative matrices on the CPU (`girih.ops.tile.coopmatrix`)."""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix import transfers
from girih.back.llvm.cpu.matrix.apply import loaded
from girih.back.llvm.cpu.matrix.bounds import Window, shared_operand, together, window_of
from girih.back.llvm.cpu.matrix.fused_pass import Walk, to_tile
from girih.back.llvm.cpu.matrix.states import (
    InMemory,
    MatrixPiece,
    address,
    new_tile,
    operand,
    part,
    part_count,
    write_tile,
    zero_parts,
)
from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.access import shared_memref
from girih.back.llvm.lower.atomics import fence, fence_before_load, update
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.addresses import as_scalar
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import memory_type
from girih.ir.types import CoopMatrix, MemRef
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixAtomicAdd,
    CooperativeMatrixAtomicLoad,
    CooperativeMatrixAtomicMax,
    CooperativeMatrixAtomicMin,
    CooperativeMatrixAtomicStore,
    CooperativeMatrixLoad,
    CooperativeMatrixPrefetch,
    CooperativeMatrixStore,
    MatrixAtomicUpdate,
)

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""


@LOWERINGS.of(CooperativeMatrixLoad)
def load(code: CpuCode, op: CooperativeMatrixLoad) -> None:
    """The tile of a memref, which stays in memory if a product may read it there."""
    type = op.result.type
    assert isinstance(type, CoopMatrix)
    window = window_of(code, op, op.memory, op.row, op.column, type)
    code.set(op.result, transfers.load(code, op.result, window))


@LOWERINGS.of(CooperativeMatrixStore)
def store(code: CpuCode, op: CooperativeMatrixStore) -> None:
    """Write the tile to the memref."""
    m = operand(code, op.matrix)
    transfers.store(code, window_of(code, op, op.memory, op.row, op.column, m.type), m)


@LOWERINGS.of(CooperativeMatrixPrefetch)
def prefetch(code: CpuCode, op: CooperativeMatrixPrefetch) -> None:
    """Ask for the cache lines of a tile, mode by mode of the memref."""
    together(code, op)
    w = code.w
    memref = shared_memref(code, op, "memory", code.memref(op.memory))
    row, column = shared_operand(code, op, "row")[0], shared_operand(code, op, "column")[0]
    size = memref.element.size
    strides = [as_scalar(s).part for s in memref.strides]
    first = w.add(memref.offset.part, w.add(w.mul(row, strides[0]), w.mul(column, strides[1])))
    pointer = w.at(memref.pointer, w.mul(first, size))
    # Rows that are neighbours share lines; the last one may begin another.
    step = max(1, 64 // size) if strides[0].literal == 1 else 1
    locality = {0: 3, 1: 2}.get(op.level, 1)
    with w.loop(0, op.columns) as columns:
        line = w.at(pointer, w.mul(w.mul(columns.index, strides[1]), size))
        with w.loop(0, op.rows, step) as rows:
            place = w.at(line, w.mul(w.mul(rows.index, strides[0]), size))
            w.prefetch(place, locality=locality)


# --- atomic accesses ---------------------------------------------------------------------------


def _each(code: CpuCode, window: Window, tile: InMemory, body: Callable[[Val, Val], None]) -> None:
    """Go over the parts of the components that are there: their addresses in memory and in the workspace."""

    def one(line: Val, start: Val) -> None:
        for there, here in transfers.elements(code, window, tile, line, start):
            body(there, here)

    transfers.each_there(code, window, one)


def _zeros(code: CpuCode, tile: InMemory) -> None:
    Walk(code).everywhere(tile.type, lambda at: write_tile(code, tile, at, zero_parts(tile.type, at.count)), 2)


@LOWERINGS.of(CooperativeMatrixAtomicLoad)
def atomic_load(code: CpuCode, op: CooperativeMatrixAtomicLoad) -> None:
    """Part by part."""
    type = op.result.type
    assert isinstance(type, CoopMatrix)
    window = window_of(code, op, op.memory, op.row, op.column, type)
    tile = new_tile(code, type)
    if window.inside is not None:
        _zeros(code, tile)
    fence_before_load(code, op.semantics, "")
    size = part(type).size
    whole = f"i{8 * size}"

    def one(there: Val, here: Val) -> None:
        held = code.w.atomic_load(whole, there, size)
        code.w.store(held, here, size)

    _each(code, window, tile, one)
    fence(code, op.semantics, "")
    code.set(op.result, loaded(code, tile))


@LOWERINGS.of(CooperativeMatrixAtomicStore)
def atomic_store(code: CpuCode, op: CooperativeMatrixAtomicStore) -> None:
    """Part by part."""
    m = operand(code, op.matrix)
    window = window_of(code, op, op.memory, op.row, op.column, m.type)
    tile = to_tile(code, m)
    fence(code, op.semantics, "")
    size = part(m.type).size
    whole = f"i{8 * size}"

    def one(there: Val, here: Val) -> None:
        held = code.w.load(whole, here, size)
        code.w.atomic_store(held, there, size)

    _each(code, window, tile, one)


_OPERATORS: dict[type[MatrixAtomicUpdate], str] = {
    CooperativeMatrixAtomicAdd: "add",
    CooperativeMatrixAtomicMax: "max",
    CooperativeMatrixAtomicMin: "min",
}


@LOWERINGS.of(*_OPERATORS)
def atomic_update(code: CpuCode, op: MatrixAtomicUpdate) -> None:
    """Part by part; the result is what each was before, zero where a check leaves it out."""
    w, features = code.w, code.target.features
    m = operand(code, op.matrix)
    type = m.type
    window = window_of(code, op, op.memory, op.row, op.column, type)
    source, target = to_tile(code, m), new_tile(code, type)
    if window.inside is not None:
        _zeros(code, target)
    assert isinstance(op.memory.type, MemRef)
    scope = code.atomic_scope(op.scope, local=code.memref(op.memory).local)
    operator, element = _OPERATORS[op.__class__], part(type)
    fence(code, op.semantics, scope)

    def one(line: Val, start: Val) -> None:
        at = MatrixPiece(line, start, 1)
        pointer = transfers.element_address(code, window, line, start)
        for number in range(part_count(type)):
            value = w.load(memory_type(element), address(code, source, at, number), element.size)
            held = from_memory(w, features, element, value)
            old = update(code, operator, element, w.at(pointer, number * element.size), held, scope)
            w.store(to_memory(w, features, element, old), address(code, target, at, number), element.size)

    transfers.each_there(code, window, one)
    fence(code, op.semantics, scope)
    code.set(op.result, loaded(code, target))
