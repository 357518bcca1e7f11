"""Loads, stores, prefetches and atomic accesses of matrices (`girih.ops.tile.coopmatrix`): each work-item moves what it
holds, component by component."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from girih.back.llvm.emit.text import Operand, Val
from girih.back.llvm.lower.access import check_null, part_count, part_type
from girih.back.llvm.lower.atomics import fence, fence_before_load, update
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.held import (
    ComponentArrays,
    Matrix,
    OwnMatrix,
    Parts,
    components,
    each,
    matrix,
    matrix_type,
    new_arrays,
    read,
    release,
    together,
    write,
    zero_parts,
)
from girih.back.llvm.lower.one_lane.matrix.layout import Position, position
from girih.back.llvm.lower.tiles.bounds import TileBounds
from girih.back.llvm.numbers.addresses import Extent, as_extent
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import MemRefHeld, Scalar, index, memory_type
from girih.facts import findings
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix, MemRef, Number
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixAtomicAdd,
    CooperativeMatrixAtomicLoad,
    CooperativeMatrixAtomicMax,
    CooperativeMatrixAtomicMin,
    CooperativeMatrixAtomicStore,
    CooperativeMatrixLoad,
    CooperativeMatrixPrefetch,
    CooperativeMatrixStore,
    MatrixAccess,
    MatrixAtomicUpdate,
)

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""


# --- tiles -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PrivateWindow:
    """A tile of a memref, in the rows and columns of the matrix: the address of component (0, 0), strides in bytes.

    Only the rows and columns in `ranges` are accessed, each with its first and its end; None stands for all.
    """

    pointer: Val
    steps: tuple[Operand, Operand]
    ranges: tuple[tuple[Val, Val] | None, tuple[Val, Val] | None]
    whole: Val | None
    """Whether all of it is accessed; None where that is certain."""

    def address(self, code: OneLaneCode, at: Position) -> Val:
        """The address of a component."""
        w, found = code.w, self.pointer
        for number, step in zip((at.row, at.column), self.steps, strict=True):
            found = w.at(found, w.mul(w.convert("zext", number, "i64"), step))
        return found

    def wanted(self, code: OneLaneCode, at: Position) -> Val | None:
        """Whether a component is accessed; None if it is for certain."""
        w, found = code.w, at.exists
        for number, range in zip((at.row, at.column), self.ranges, strict=True):
            if range is not None:
                wide = w.convert("zext", number, "i64")
                for one in (w.compare("sge", wide, range[0]), w.compare("slt", wide, range[1])):
                    found = w.both(found, one)
        return found


def shared_memory(code: OneLaneCode, op: Op, name: str, value: Value) -> MemRefHeld:
    """The memref of an operand, which all work-items must have alike."""
    held = code.memref(value)
    check_null(code, op, held)
    if not code.varies(value):
        return held
    code.agree_on_member(op, name)
    return shared_memory_of(code, op, name, held)


def shared_memory_of(code: OneLaneCode, op: Op, name: str, held: MemRefHeld) -> MemRefHeld:
    """A memref that differs between work-items, as the first one has it but for its memory; that is a finding."""

    def one(extent: Extent) -> Extent:
        return extent if isinstance(extent, int) else as_extent(index(code.agreed(op, name, extent)[0]))

    offset = index(code.agreed(op, name, held.offset)[0])
    return replace(held, offset=offset, shape=tuple(map(one, held.shape)), strides=tuple(map(one, held.strides)))


def checked_window(
    code: OneLaneCode, op: MatrixAccess, memory: Value, place: tuple[Value, Value], type: CoopMatrix
) -> PrivateWindow:
    """The tile that an instruction accesses, checked."""
    together(code, op, type)
    memref = shared_memory(code, op, "memory", memory)
    numbers = zip(("row", "column"), place, strict=True)
    tile = TileBounds(code, op, memref, [code.agreed(op, name, code.index(value))[0] for name, value in numbers], type)
    report_missing(code, tile)
    w = code.w
    pointer = w.at(memref.pointer, w.mul(tile.first(), type.component.size))
    rows, columns = tile.steps()
    whole = tile.all_there()
    ranges = [
        None if whole is None or not checked else range
        for checked, range in zip(tile.checked, tile.wanted(), strict=True)
    ]
    return PrivateWindow(pointer, (rows, columns), (ranges[0], ranges[1]), whole)


def report_missing(code: OneLaneCode, tile: TileBounds) -> None:
    """Name the first element that is missing; where it is, only matters where one is."""
    if not code.checks:
        return
    bad = tile.outside()
    if bad is None or bad.literal == 0:
        return
    words, memref = findings.outside(tile.op, tile.memref.name), tile.memref
    missing = bad

    def closely() -> None:
        where: list[Scalar] = tile.first_missing()
        code.check(tile.op, missing, words, argument=memref.name, index=where, shape=memref.shape, by_lane=False)

    code.w.unlikely(bad, closely, returns=True)


# --- components --------------------------------------------------------------------------------


def load_parts(code: OneLaneCode, type: Number, address: Val) -> Parts:
    """The number at an address."""
    one = part_type(type)
    return tuple(
        from_memory(
            code.w, code.features, one, code.w.load(memory_type(one), code.w.at(address, k * one.size), one.size)
        )
        for k in range(part_count(type))
    )


def store_parts(code: OneLaneCode, type: Number, address: Val, parts: Parts) -> None:
    """Store a number at an address."""
    one = part_type(type)
    for k, part in enumerate(parts):
        code.w.store(to_memory(code.w, code.features, one, part), code.w.at(address, k * one.size), one.size)


def filled(
    code: OneLaneCode,
    value: Value,
    there: Callable[[Position], Val | None],
    get: Callable[[Position, Val], Parts],
    *,
    into: ComponentArrays | None = None,
    alone: bool = False,
    weight: int = 2,
) -> Matrix:
    """A new matrix for a value: what `get` gives, by place and number, for components that are `there`; else zero.

    `into` are the arrays of the result, where they are known. What has effects is got `alone`, once for a component.
    """
    type = matrix_type(value)

    def parts_at(at: Position, component: Val) -> Parts:
        exists = there(at)
        if exists is None:
            return get(at, component)
        found = code.w.either(exists, lambda: get(at, component), lambda: zero_parts(type.component))
        return tuple(found)

    own = code.own_matrices
    if own is not None and value in own:
        held: Matrix = own.filled(code, value, parts_at, alone=alone)
        return held
    result = into or ComponentArrays(type, new_arrays(code, type.component, components(code, type)), value)

    def one(component: Val) -> None:
        write(code, result, component, parts_at(position(code, type, component), component))

    each(code, components(code, type), one, weight=weight)
    return result


def taken(
    code: OneLaneCode,
    m: Matrix,
    there: Callable[[Position], Val | None],
    body: Callable[[Position, Val], None],
    *,
    weight: int = 2,
) -> None:
    """Write code for the components of a matrix that are `there`, by place and number."""

    def one(at: Position, component: Val) -> None:
        exists = there(at)
        if exists is None:
            body(at, component)
            return
        with code.w.when(exists):
            body(at, component)

    if isinstance(m, OwnMatrix):
        m.each(code, one)
        return
    each(code, components(code, m.type), lambda k: one(position(code, m.type, k), k), weight=weight)


# --- instructions ------------------------------------------------------------------------------


@LOWERINGS.of(CooperativeMatrixLoad)
def load(code: OneLaneCode, op: CooperativeMatrixLoad) -> None:
    """The tile of a memref; what a check leaves out is zero."""
    type = matrix_type(op.result)
    window = checked_window(code, op, op.memory, (op.row, op.column), type)

    def get(at: Position, _: Val) -> Parts:
        return load_parts(code, type.component, window.address(code, at))

    code.set(op.result, filled(code, op.result, lambda at: window.wanted(code, at), get))


@LOWERINGS.of(CooperativeMatrixStore)
def store(code: OneLaneCode, op: CooperativeMatrixStore) -> None:
    """Write the matrix to the tile of a memref."""
    m = matrix(code, op.matrix)
    window = checked_window(code, op, op.memory, (op.row, op.column), m.type)

    def put(at: Position, component: Val) -> None:
        store_parts(code, m.type.component, window.address(code, at), read(code, m, component))

    taken(code, m, lambda at: window.wanted(code, at), put)
    release(code, op)


@LOWERINGS.of(CooperativeMatrixPrefetch)
def prefetch(code: OneLaneCode, op: CooperativeMatrixPrefetch) -> None:
    """Fetch nothing: the caches of such machines are left to themselves. What must be shared is looked at."""
    code.met_by_all(op)
    shared_memory(code, op, "memory", op.memory)
    for name in ("row", "column"):
        code.agreed(op, name, code.index(getattr(op, name)))


@LOWERINGS.of(CooperativeMatrixAtomicLoad)
def atomic_load(code: OneLaneCode, op: CooperativeMatrixAtomicLoad) -> None:
    """Part by part."""
    type = matrix_type(op.result)
    window = checked_window(code, op, op.memory, (op.row, op.column), type)
    one, w = part_type(type.component), code.w
    scope = code.atomic_scope(op.scope, local=code.memref(op.memory).local) or ""
    fence_before_load(code, op.semantics, scope)

    def get(at: Position, _: Val) -> Parts:
        address = window.address(code, at)
        raw = [
            w.atomic_load(memory_type(one), w.at(address, k * one.size), one.size, scope)
            for k in range(part_count(type.component))
        ]
        return tuple(from_memory(w, code.features, one, held) for held in raw)

    result = filled(code, op.result, lambda at: window.wanted(code, at), get)
    fence(code, op.semantics, scope)
    code.set(op.result, result)


@LOWERINGS.of(CooperativeMatrixAtomicStore)
def atomic_store(code: OneLaneCode, op: CooperativeMatrixAtomicStore) -> None:
    """Part by part."""
    m = matrix(code, op.matrix)
    window = checked_window(code, op, op.memory, (op.row, op.column), m.type)
    one, w = part_type(m.type.component), code.w
    scope = code.atomic_scope(op.scope, local=code.memref(op.memory).local) or ""
    fence(code, op.semantics, scope)

    def put(at: Position, component: Val) -> None:
        address = window.address(code, at)
        for k, part in enumerate(read(code, m, component)):
            w.atomic_store(to_memory(w, code.features, one, part), w.at(address, k * one.size), one.size, scope)

    taken(code, m, lambda at: window.wanted(code, at), put)
    release(code, op)


_OPERATORS: dict[type[MatrixAtomicUpdate], str] = {
    CooperativeMatrixAtomicAdd: "add",
    CooperativeMatrixAtomicMax: "max",
    CooperativeMatrixAtomicMin: "min",
}


@LOWERINGS.of(*_OPERATORS)
def atomic_update(code: OneLaneCode, op: MatrixAtomicUpdate) -> None:
    """Part by part; the result is what each was before, zero where a check leaves it out."""
    m = matrix(code, op.matrix)
    window = checked_window(code, op, op.memory, (op.row, op.column), m.type)
    assert isinstance(op.memory.type, MemRef)
    scope = code.atomic_scope(op.scope, local=code.memref(op.memory).local)
    operator, one = _OPERATORS[op.__class__], part_type(m.type.component)
    fence(code, op.semantics, scope)

    def get(at: Position, component: Val) -> Parts:
        address = window.address(code, at)
        return tuple(
            update(code, operator, one, code.w.at(address, k * one.size), part, scope)
            for k, part in enumerate(read(code, m, component))
        )

    result = filled(code, op.result, lambda at: window.wanted(code, at), get, alone=True)
    fence(code, op.semantics, scope)
    release(code, op)
    code.set(op.result, result)
