"""`cooperative_matrix_apply` on the CPU: the components of a line are the lanes of the region."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from girih.analysis.effects import writes
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.machine.work_group import waits
from girih.back.llvm.cpu.matrix.bounds import together
from girih.back.llvm.cpu.matrix.elementwise import put_off
from girih.back.llvm.cpu.matrix.fused_pass import repeated, to_columns, to_tile
from girih.back.llvm.cpu.matrix.states import (
    Columns,
    Deferred,
    InMemory,
    Matrix,
    MatrixPiece,
    Parts,
    in_registers,
    length,
    new_tile,
    operand,
    read_tile,
    tile_bytes,
    turned,
    write_tile,
)
from girih.back.llvm.cpu.matrix.uses import plan_of
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.access import shared_memref
from girih.back.llvm.lower.code import Held
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.values import Linear, MemRefHeld, Scalar, uniform
from girih.ir.core import Op, Region, RegionKind, Value
from girih.ir.types import I32, CoopMatrix, Number
from girih.ir.uses import free_values
from girih.ops.tile.control import Yield
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply
from girih.ops.tile.math import Math, Power

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""


def component_type(value: Value) -> Number:
    """The component type of a matrix value."""
    assert isinstance(value.type, CoopMatrix)
    return value.type.component


@LOWERINGS.of(CooperativeMatrixApply)
def apply(code: CpuCode, op: CooperativeMatrixApply) -> None:
    """The matrix that the region yields: at once if the region writes memory, otherwise when it is needed."""
    together(code, op)
    shared = shared_values(code, op)
    type = op.result.type
    assert isinstance(type, CoopMatrix)
    given = [operand(code, matrix) for matrix in op.matrices]
    matrices = [m if m.type.shape == type.shape else repeated(code, m, type) for m in given]
    if code.common is not None and waits(op):
        code.set(op.result, _by_one_subgroup(code, op, type, matrices, shared, code.common(tile_bytes(type))))
        return
    at_once = bool(plan_of(code.function).writers[op.body])
    if _one_after_the_other(op, type):
        target = new_tile(code, type)
        _one_by_one(code, op, [to_tile(code, m) for m in matrices], shared, target)
        code.set(op.result, loaded(code, target))
        return
    put_off(code, op.result, _deferred(code, op, type, matrices, shared), at_once=at_once)


def _one_after_the_other(op: CooperativeMatrixApply, type: CoopMatrix) -> bool:
    """Whether the region sees one component at a time: those of a row where it asks for the column or writes."""
    return turned(type) and length(type) > 1 and (writes(op) or _reads(op.body, op.column))


def _deferred(
    code: CpuCode, op: CooperativeMatrixApply, type: CoopMatrix, matrices: Sequence[Matrix], shared: dict[Value, Held]
) -> Deferred:
    """The steps that call the region, line by line."""

    def compute(at: MatrixPiece, parts: list[Parts]) -> Parts:
        return _body(code, op, at, parts, shared)

    return Deferred(type, tuple(matrices), compute, 3 + 3 * weight_of_region(op.body), _reads_memory(op.body))


def _by_one_subgroup(
    code: CpuCode,
    op: CooperativeMatrixApply,
    type: CoopMatrix,
    matrices: Sequence[Matrix],
    shared: dict[Value, Held],
    common: Val,
) -> Matrix:
    """The result of a region that writes memory, once: the first subgroup calls it, and the others copy its matrix."""
    w = code.w
    # They are read here, which is noted by now; what reads them below does not count again.
    tiles = [to_tile(code, m) for m in matrices]
    sources = [InMemory(tile.type, tile.pointer, owned=False) for tile in tiles]
    result = InMemory(type, common, owned=False)
    with w.when(w.compare("eq", code.place.subgroup, 0)):
        if _one_after_the_other(op, type):
            _one_by_one(code, op, sources, shared, result)
        else:
            to_tile(code, _deferred(code, op, type, sources, shared), result)
    assert code.suspend is not None
    code.suspend()
    return loaded(code, to_tile(code, result, new_tile(code, type)))


def weight_of_region(region: Region) -> int:
    """About how many instructions the code of a region has."""
    return sum(1 + sum(map(weight_of_region, op.regions)) + 8 * isinstance(op, Math | Power)
               for op in region.ops)  # fmt: skip


def called(
    code: CpuCode, region: Region, count: int, number: Scalar, columns: int, arguments: Iterable[tuple[Value, Held]]
) -> Parts:
    """What a region yields for so many components, which have `number`s, row by row in so many columns."""
    location = code.w.location
    with code.at(kind=RegionKind.SPMD, lanes=count, mask=None, element_number=number, element_columns=columns):
        for value, held in arguments:
            code.set(value, held)
        code.region(region)
        last = region.terminator
        assert isinstance(last, Yield)
        found = code.vector(code.scalar(last.values[0]))
    code.w.location = location
    return found


def _any_op(region: Region, found: object) -> bool:
    assert callable(found)
    return any(found(op) or any(_any_op(r, found) for r in op.regions) for op in region.ops)


def _reads(region: Region, value: Value) -> bool:
    """Whether a value is read."""
    return _any_op(region, lambda op: value in tuple(op.operands))


def _reads_memory(region: Region) -> bool:
    return _any_op(region, _loads)


def _loads(op: Op) -> bool:
    return op.spec.reads


def shared_values(code: CpuCode, op: Op) -> dict[Value, Held]:
    """The values from outside a region that differ between work-items, as the first active one has them."""
    found: dict[Value, Held] = {}
    for value in free_values(op):
        held = code.env.get(value)
        if isinstance(held, Scalar) and not held.uniform:
            found[value] = uniform(held.type, *code.agreed(op, f"%{value.name}", held))
        elif isinstance(held, MemRefHeld) and not held.uniform:
            found[value] = shared_memref(code, op, f"%{value.name}", held)
    return found


@contextmanager
def agreed_outside(code: CpuCode, shared: dict[Value, Held]) -> Iterator[None]:
    """A context in which values from outside are what `shared_values` has for them."""
    outer = {value: code.env[value] for value in shared}
    code.env.update(shared)
    yield
    code.env.update(outer)


def _body(
    code: CpuCode, op: CooperativeMatrixApply, at: MatrixPiece, elements: Sequence[Parts], shared: dict[Value, Held]
) -> Parts:
    """The region for a piece of a line of each matrix: the components that it yields."""
    w = code.w
    type = op.result.type
    assert isinstance(type, CoopMatrix)
    line = w.convert("trunc", w.value(at.line), "i32")
    start = w.convert("trunc", w.value(at.start), "i32")
    along = Scalar(I32, (), Linear(start, 1, exact=True)) if at.count > 1 else uniform(I32, start)
    row, column = (uniform(I32, line), along) if turned(type) else (along, uniform(I32, line))
    step = 1 if turned(type) else type.columns
    first = w.add(line, w.mul(start, integer(step, "i32")))
    number = Scalar(I32, (), Linear(first, step, exact=True))
    held = [uniform(component_type(m), *parts) for m, parts in zip(op.matrices, elements, strict=True)]
    arguments = zip((op.row, op.column, *op.elements), (row, column, *held), strict=True)
    with agreed_outside(code, shared):
        return called(code, op.body, at.count, number, type.columns, arguments)


def _one_by_one(
    code: CpuCode, op: CooperativeMatrixApply, sources: Sequence[InMemory], shared: dict[Value, Held], target: InMemory
) -> None:
    """A row, component by component, as the column is one number in the region."""
    with code.w.loop(0, length(target.type)) as loop:
        at = MatrixPiece(0, loop.index, 1)
        write_tile(code, target, at, _body(code, op, at, [read_tile(code, s, at) for s in sources], shared))


def loaded(code: CpuCode, tile: InMemory) -> Matrix:
    """The matrix of a tile, in registers if its type is held there."""
    return Columns(tile.type, to_columns(code, tile)) if in_registers(code, tile.type) else tile
