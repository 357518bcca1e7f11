"""What shaders do with cooperative matrices on the CPU (`girih.ops.device.matrices`)."""

from __future__ import annotations

from dataclasses import replace

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.apply import loaded
from girih.back.llvm.cpu.matrix.bounds import together
from girih.back.llvm.cpu.matrix.components import ComponentPlaces, extracted, holders_of, own_copy, places_of
from girih.back.llvm.cpu.matrix.elementwise import elementwise
from girih.back.llvm.cpu.matrix.fused_pass import to_tile
from girih.back.llvm.cpu.matrix.product import product
from girih.back.llvm.cpu.matrix.states import (
    Deferred,
    InMemory,
    Matrix,
    MatrixPiece,
    Parts,
    new_tile,
    operand,
    part,
    tile_bytes,
)
from girih.back.llvm.emit.text import integer, wide, zero
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import casts
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import Scalar, memory_type, register, uniform
from girih.facts import findings
from girih.ir.core import Value
from girih.ir.types import I32, I64, CoopMatrix, Number
from girih.ops.device.matrices import MatrixCheckDecode, MatrixExtract, MatrixInsert, MatrixLength, MatrixMulAdd
from girih.ops.tile.arith import Bitcast
from girih.ops.tile.coopmatrix_layout import ComponentLayout, layout_among, layout_of

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""


def _type_of(value: Value) -> CoopMatrix:
    assert isinstance(value.type, CoopMatrix)
    return value.type


# --- products of integers ----------------------------------------------------------------------


@LOWERINGS.of(MatrixMulAdd)
def multiply_add(code: CpuCode, op: MatrixMulAdd) -> None:
    """The product in the type of the result, or in 64 bits where it saturates: factors without signs become wider."""
    together(code, op)
    type = _type_of(op.result)
    total = I64 if op.saturating else type.component
    a, b, c = (
        _without_sign(code, operand(code, matrix), total) if unsigned else operand(code, matrix)
        for matrix, unsigned in ((op.a, op.unsigned_a), (op.b, op.unsigned_b), (op.c, op.unsigned_c))
    )
    found = product(code, replace(type, component=total), total, a, b, c)
    if op.saturating:
        found = loaded(code, to_tile(code, _saturated(code, type, found, unsigned=op.unsigned_result)))
    code.set(op.result, found)


def _without_sign(code: CpuCode, m: Matrix, total: Number) -> Matrix:
    """A matrix of integers that are not negative, in the type of the sums if that is wider."""
    if m.type.component.size >= total.size:
        return m

    def compute(at: MatrixPiece, parts: list[Parts]) -> Parts:
        return (code.w.convert("zext", parts[0][0], register(total)),)

    return Deferred(replace(m.type, component=total), (m,), compute, remaining=1, bound=True)


def _saturated(code: CpuCode, type: CoopMatrix, m: Matrix, *, unsigned: bool) -> Deferred:
    """Sums of 64 bits as components of a type: its smallest or largest number where they are outside."""
    bits = 8 * type.component.size
    low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
    m.remaining, m.bound = 1, True

    def compute(at: MatrixPiece, parts: list[Parts]) -> Parts:
        w, (total,) = code.w, parts[0]
        inside = w.larger(w.smaller(total, integer(high, total.type)), integer(low, total.type))
        return (w.convert("trunc", inside, register(type.component)),)

    return Deferred(type, (m,), compute, 3, remaining=1, bound=True)


# --- bits --------------------------------------------------------------------------------------


@LOWERINGS.of(Bitcast, giving=CoopMatrix)
def bitcast(code: CpuCode, op: Bitcast) -> None:
    """Component by component (SPIR-V 3.52.11 "OpBitcast")."""
    source, target = _type_of(op.a).component, _type_of(op.result).component

    def compute(at: MatrixPiece, parts: list[Parts]) -> Parts:
        return casts.reinterpreted(code.w, code.target.features, source, target, parts[0])

    elementwise(code, op.result, (operand(code, op.a),), compute)


# --- components that a work-item holds ---------------------------------------------------------


@LOWERINGS.of(MatrixLength)
def length(code: CpuCode, op: MatrixLength) -> None:
    """The number of components that each work-item holds, which is known by now."""
    assert isinstance(op.of, CoopMatrix)
    count = layout_among(op.of, holders_of(code, op.of)).components
    code.set(op.result, uniform(I32, integer(count, "i32")))


def _places(code: CpuCode, op: MatrixExtract | MatrixInsert, layout: ComponentLayout) -> ComponentPlaces:
    """The places for an index that each work-item has; one outside is found."""
    w, type = code.w, _type_of(op.matrix)
    index = code.scalar(op.index)
    (held,) = code.vector(index)
    outside = w.compare("uge", held, integer(layout.components, held.type))
    words = findings.no_component(op, op.matrix.name)
    code.check(op, outside, words, argument=op.matrix.name, index=(index,), shape=(layout.components,))
    vector = wide("i32", code.lanes)
    return places_of(code, type, layout, w.select(outside, zero(vector), w.convert("trunc", held, vector)))


def _fixed(code: CpuCode, op: MatrixExtract | MatrixInsert) -> int | None:
    """The index where it is known and the tensor language has the same instruction; None elsewhere."""
    type, index = _type_of(op.matrix), code.constants.get(op.index)
    layout = None if type.of_work_group else layout_of(type, code.geometry.subgroup_size)
    if layout is None or index is None or not 0 <= index < layout.components:
        return None
    return index


@LOWERINGS.of(MatrixExtract)
def extract(code: CpuCode, op: MatrixExtract) -> None:
    """A component of each work-item; padding is zero."""
    w, type = code.w, _type_of(op.matrix)
    m, index = operand(code, op.matrix), _fixed(code, op)
    if index is not None:
        code.set(op.result, extracted(code, m, index))
        return
    places = _places(code, op, layout_among(type, holders_of(code, type)))
    tile = to_tile(code, m)
    vector = wide(memory_type(type.component), code.lanes)
    pointers = w.at(tile.pointer, places.distance)
    size = part(type).size
    if code.lanes == 1:
        held = w.select(places.exists, w.load(vector, pointers, size), zero(vector))
    else:
        held = w.gather(vector, pointers, places.exists, size, zero(vector))
    number = from_memory(w, code.target.features, type.component, held)
    code.set(op.result, Scalar(type.component, (number,)))


@LOWERINGS.of(MatrixInsert)
def insert(code: CpuCode, op: MatrixInsert) -> None:
    """A copy with one component of each active work-item replaced; the matrix itself where nobody else needs it.

    All subgroups of a work-group write into one copy of a matrix that it holds.
    """
    w, type = code.w, _type_of(op.matrix)
    places = _places(code, op, layout_among(type, holders_of(code, type)))
    m = operand(code, op.matrix)
    if not type.of_work_group or code.common is None:
        tile = own_copy(code, m)
        _write(code, op, tile, places)
        code.set(op.result, loaded(code, tile))
        return
    together(code, op)
    tile = to_tile(code, m)
    common = InMemory(type, code.common(tile_bytes(type)), owned=False)
    assert code.suspend is not None
    with w.when(w.compare("eq", w.value(code.place.subgroup), 0)):
        to_tile(code, InMemory(type, tile.pointer, owned=False), common)
    code.suspend()
    _write(code, op, common, places)
    code.suspend()
    code.set(op.result, loaded(code, to_tile(code, common, new_tile(code, type))))


def _write(code: CpuCode, op: MatrixInsert, tile: InMemory, places: ComponentPlaces) -> None:
    """Write the component of each active work-item."""
    w, one = code.w, tile.type.component
    (a,) = code.vector(code.scalar(op.a))
    held = to_memory(w, code.target.features, one, a)
    pointers = w.at(tile.pointer, places.distance)
    mask = places.exists if code.mask is None else w.binary("and", places.exists, code.mask)
    if code.lanes > 1:
        w.scatter(held, pointers, mask, one.size)
        return
    with w.when(mask):
        w.store(held, pointers, one.size)


# --- two ways of decoding ----------------------------------------------------------------------


@LOWERINGS.of(MatrixCheckDecode)
def check_decode(code: CpuCode, op: MatrixCheckDecode) -> None:
    """Nothing: a program that is compiled decodes in one way."""
