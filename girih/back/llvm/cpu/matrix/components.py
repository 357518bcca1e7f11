"""Single components of cooperative matrices (003 "Cooperative matrix extract", "Cooperative matrix insert").

Neighbouring work-items hold runs of neighbouring components (`ops.tile.coopmatrix_layout`), which move as vectors.
"""

from __future__ import annotations

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.bounds import together
from girih.back.llvm.cpu.matrix.fused_pass import Walk, to_tile
from girih.back.llvm.cpu.matrix.states import (
    Columns,
    Deferred,
    InMemory,
    Matrix,
    MatrixPiece,
    Parts,
    Reference,
    Unloaded,
    consume,
    joined,
    length,
    line_bytes,
    line_count,
    new_tile,
    operand,
    part,
    part_count,
    plane_bytes,
    settled,
    turned,
    write_tile,
    zero_parts,
)
from girih.back.llvm.emit.text import Val, constant_vector, integer, lanes, wide, zero
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.values import Scalar, memory_type, uniform
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix import CooperativeMatrixExtract, CooperativeMatrixInsert
from girih.ops.tile.coopmatrix_layout import ComponentLayout, layout_among, layout_of

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""


@dataclass(slots=True)
class ComponentRun:
    """Components of a line from `start` on, held by the work-items from `lane` on; past the matrix for line None."""

    line: int | None
    start: int
    lane: int
    count: int


def runs_of(code: CpuCode, type: CoopMatrix, component: int) -> list[ComponentRun]:
    """The runs of components that the work-items of a subgroup hold at an index of their vectors."""
    layout = layout_of(type, code.geometry.subgroup_size)
    assert layout is not None
    found: list[ComponentRun] = []
    for lane in range(layout.subgroup_size):
        row, column = layout.position(lane, component)
        line, start = (row, column) if turned(type) else (column, row)
        here = line if column < type.columns else None
        last = found[-1] if found else None
        if last and last.line == here and (here is None or last.start + last.count == start):
            last.count += 1
        else:
            found.append(ComponentRun(here, start, lane, 1))
    return found


def holders_of(code: CpuCode, type: CoopMatrix) -> int:
    """The number of work-items that hold a matrix of a type."""
    geometry = code.geometry
    return geometry.subgroup_size * (geometry.subgroups if type.of_work_group else 1)


@dataclass(frozen=True, slots=True)
class ComponentPlaces:
    """The places in a tile of the components that work-items hold: their distance in bytes, and whether they exist."""

    distance: Val
    exists: Val


def places_of(code: CpuCode, type: CoopMatrix, layout: ComponentLayout, number: Val) -> ComponentPlaces:
    """The places for the number, an `i32` in each lane, of one of the components that each work-item holds."""
    w, count = code.w, code.lanes
    vector = wide("i32", count)
    lane = constant_vector(list(range(count)), "i32") if count > 1 else integer(0, "i32")
    if type.of_work_group:
        before = w.convert("trunc", w.mul(w.value(code.place.subgroup), code.geometry.subgroup_size), "i32")
        lane = w.add(lane, w.splat(before, count))

    def divided(a: Val, by: int) -> tuple[Val, Val]:
        divisor = integer(by, vector)
        return w.binary("udiv", a, divisor), w.binary("urem", a, divisor)

    span = layout.block_rows * layout.interleaved_blocks
    linear = w.add(lane, w.mul(number, integer(layout.subgroup_size, vector)))
    outer, rest = divided(linear, span * layout.padded_columns)
    column, rest = divided(rest, span)
    inner, row = divided(rest, layout.block_rows)
    block = w.add(inner, w.mul(outer, integer(layout.interleaved_blocks, vector)))
    row = w.add(row, w.mul(block, integer(layout.block_rows, vector)))
    exists = w.compare("ult", column, integer(type.columns, vector))
    column = w.smaller(column, integer(type.columns - 1, vector))
    line, start = (row, column) if turned(type) else (column, row)
    size = integer(part(type).size, vector)
    distance = w.add(w.mul(line, integer(line_bytes(type), vector)), w.mul(start, size))
    return ComponentPlaces(w.convert("zext", distance, wide("i64", count)), exists)


def move_components(code: CpuCode, source: InMemory, target: InMemory, mask: Val) -> None:
    """Copy what the work-items of a mask hold of a matrix to another tile, in which the rest stays as it is."""
    w, type = code.w, source.type
    layout = layout_among(type, holders_of(code, type))
    stored, size = wide(memory_type(part(type)), code.lanes), part(type).size
    with w.loop(0, layout.components) as loop:
        number = w.splat(w.convert("trunc", loop.index, "i32"), code.lanes)
        places = places_of(code, type, layout, number)
        held = w.binary("and", places.exists, mask)
        for plane in range(part_count(type)):
            distance = w.add(places.distance, integer(plane * plane_bytes(type), places.distance.type))
            value = w.gather(stored, w.at(source.pointer, distance), held, size, zero(stored))
            w.scatter(value, w.at(target.pointer, distance), held, size)


def held_by(code: CpuCode, type: CoopMatrix, mask: Val) -> list[Val]:
    """For each line of a matrix of the subgroup, which of its components the work-items of a mask hold."""
    layout = layout_among(type, holders_of(code, type))

    def lane(line: int, at: int) -> int:
        return int(layout.holder(line, at) if turned(type) else layout.holder(at, line))

    return [
        code.w.shuffle(mask, None, [lane(line, at) for at in range(length(type))]) for line in range(line_count(type))
    ]


@LOWERINGS.of(CooperativeMatrixExtract)
def extract(code: CpuCode, op: CooperativeMatrixExtract) -> None:
    """A component of each work-item; padding is zero."""
    together(code, op)
    code.set(op.result, extracted(code, operand(code, op.matrix), op.index))


def extracted(code: CpuCode, m: Matrix, component: int) -> Scalar:
    """A component of each work-item of a matrix, which counts as read."""
    type = m.type
    if isinstance(settled(m), Deferred | Unloaded | Reference):
        held: Matrix = to_tile(code, m)
    else:
        held = settled(m)
        consume(m)
    walk = Walk(code, held)
    pieces = [
        zero_parts(type, r.count) if r.line is None else walk.piece(held, MatrixPiece(r.line, r.start, r.count))
        for r in runs_of(code, type, component)
    ]
    return uniform(type.component, *joined(code, pieces))


@LOWERINGS.of(CooperativeMatrixInsert)
def insert(code: CpuCode, op: CooperativeMatrixInsert) -> None:
    """A copy with one component of each work-item replaced; the matrix itself where it is not needed any more."""
    together(code, op)
    m = operand(code, op.matrix)
    new = code.vector(code.scalar(op.a))
    runs = [r for r in runs_of(code, m.type, op.index) if r.line is not None]
    found = settled(m)
    if isinstance(found, Columns):
        consume(m)
        code.set(op.result, _into_registers(code, found, runs, new))
        return
    tile = own_copy(code, m)
    for r in runs:
        write_tile(
            code, tile, MatrixPiece(r.line or 0, r.start, r.count), tuple(code.w.part(p, r.lane, r.count) for p in new)
        )
    code.set(op.result, tile)


def own_copy(code: CpuCode, m: Matrix) -> InMemory:
    """A matrix in a place of the workspace that nobody else reads."""
    tile = to_tile(code, m)
    if m.remaining == 0 and tile.owned:
        return InMemory(tile.type, tile.pointer, True, tile.slot, tile.offset)
    # The matrix is read once, which is noted by now: what is copied is another one in its place.
    return to_tile(code, InMemory(tile.type, tile.pointer, owned=False), new_tile(code, tile.type))


def _into_registers(code: CpuCode, m: Columns, runs: list[ComponentRun], new: Parts) -> Columns:
    columns = list(m.columns)
    for r in runs:
        assert r.line is not None
        columns[r.line] = tuple(_replaced(code, old, one, r) for old, one in zip(columns[r.line], new, strict=True))
    return Columns(m.type, columns)


def _replaced(code: CpuCode, old: Val, new: Val, run: ComponentRun) -> Val:
    """A line with a run of its components replaced."""
    count, end = lanes(old.type), run.start + run.count
    pieces = [code.w.part(new, run.lane, run.count) if run.count < lanes(new.type) else new]
    if run.start > 0:
        pieces.insert(0, code.w.part(old, 0, run.start))
    if end < count:
        pieces.append(code.w.part(old, end, count - end))
    return joined(code, [(p,) for p in pieces])[0]
