"""Cooperative matrices on the CPU (`girih.ops.tile.coopmatrix`), and arithmetic on them (`girih.ops.tile.arith`)."""

from __future__ import annotations

from dataclasses import replace

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix import apply
from girih.back.llvm.cpu.matrix.apply import component_type
from girih.back.llvm.cpu.matrix.bounds import shared_operand, together
from girih.back.llvm.cpu.matrix.carried import MatrixCarrier, written_again
from girih.back.llvm.cpu.matrix.components import own_copy
from girih.back.llvm.cpu.matrix.elementwise import elementwise
from girih.back.llvm.cpu.matrix.fused_pass import to_columns, to_tile
from girih.back.llvm.cpu.matrix.product import mul_add
from girih.back.llvm.cpu.matrix.states import (
    Columns,
    Deferred,
    InMemory,
    Matrix,
    MatrixPiece,
    Parts,
    Reference,
    Splat,
    consume,
    in_registers,
    line_bytes,
    new_tile,
    operand,
    part,
    settled,
    turned,
)
from girih.back.llvm.cpu.matrix.transpose import turn
from girih.back.llvm.cpu.matrix.uses import plan_of
from girih.back.llvm.emit.text import bits, integer
from girih.back.llvm.lower.collective.operands import note_tf32
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import arith, casts
from girih.back.llvm.ranges.nests import nests_of
from girih.facts import findings
from girih.ir.types import PARTS, CoopMatrix
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Binary, Cast, Constant, Unary
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixConstruct,
    CooperativeMatrixMulAdd,
    CooperativeMatrixScale,
    CooperativeMatrixTranspose,
)

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""


LOWERINGS.carry(MatrixCarrier, CoopMatrix)
LOWERINGS.again(written_again, CoopMatrix)


# --- arithmetic --------------------------------------------------------------------------------


@LOWERINGS.of(*TILE_LANGUAGE.family(Binary), giving=CoopMatrix)
def binary(code: CpuCode, op: Binary) -> None:
    """Component by component (003 "Arithmetic (binary)")."""
    mnemonic, type = op.spec.mnemonic, component_type(op.a)
    checked = type.family == "integer" and mnemonic in ("div", "rem", "shl", "shr") and not _is_right(code, op)

    def compute(at: MatrixPiece, parts: list[Parts]) -> Parts:
        if checked:
            _check_second(code, op, parts[1], at)
        return arith.binary(code.w, code.target.features, mnemonic, type, parts[0], parts[1], contract=code.contract)

    elementwise(code, op.result, (operand(code, op.a), operand(code, op.b)), compute, _WEIGHTS.get(mnemonic, 1))


_WEIGHTS = {"div": 4, "rem": 40, "max": 3, "min": 3}


def _is_right(code: CpuCode, op: Binary) -> bool:
    """Whether all components are divided or shifted by one constant, by which they may be."""
    constant = nests_of(code.function).made.get(op.b)
    if not isinstance(constant, Constant) or not isinstance(constant.value, int):
        return False
    number = constant.value
    return number != 0 if op.spec.mnemonic in ("div", "rem") else 0 <= number < 8 * component_type(op.b).size


def _check_second(code: CpuCode, op: Binary, second: Parts, at: MatrixPiece) -> None:
    """Find divisions by zero and shifts that are too wide."""
    w, (b,) = code.w, second
    width = bits(b.type)
    with code.at(lanes=at.count, mask=None):
        if op.spec.mnemonic in ("div", "rem"):
            bad = w.any(w.compare("eq", b, integer(0, b.type)))
            words = findings.division_by_zero()
        else:
            bad = w.any(w.compare("uge", b, integer(width, b.type)))
            words = findings.shift(width)
        code.check(op, bad, words, argument=op.b.name, by_lane=False)


@LOWERINGS.of(*TILE_LANGUAGE.family(Unary), giving=CoopMatrix)
def unary(code: CpuCode, op: Unary) -> None:
    """Component by component (003 "Arithmetic (unary)")."""
    mnemonic, type = op.spec.mnemonic, component_type(op.a)

    def compute(at: MatrixPiece, parts: list[Parts]) -> Parts:
        return arith.unary(code.w, code.target.features, mnemonic, type, parts[0])

    elementwise(code, op.result, (operand(code, op.a),), compute)


@LOWERINGS.of(Cast, giving=CoopMatrix)
def cast(code: CpuCode, op: Cast) -> None:
    """Component by component (003 "Cast"); a cast to another use alone changes nothing."""
    source, target = component_type(op.a), component_type(op.result)

    def compute(at: MatrixPiece, parts: list[Parts]) -> Parts:
        return casts.cast(code.w, code.target.features, source, target, parts[0])

    elementwise(code, op.result, (operand(code, op.a),), compute, 0 if source == target else 3, casts=True)


@LOWERINGS.of(Constant, giving=CoopMatrix)
def constant(code: CpuCode, op: Constant) -> None:
    """The matrix whose components are all one constant (003 "Constant")."""
    assert isinstance(op.result.type, CoopMatrix)
    code.set(op.result, Splat(op.result.type, arith.constant(component_type(op.result), op.value)))


@LOWERINGS.of(CooperativeMatrixConstruct)
def construct(code: CpuCode, op: CooperativeMatrixConstruct) -> None:
    """The matrix whose components are all one number."""
    together(code, op)
    assert isinstance(op.result.type, CoopMatrix)
    code.set(op.result, Splat(op.result.type, shared_operand(code, op, "a")))


@LOWERINGS.of(CooperativeMatrixScale)
def scale(code: CpuCode, op: CooperativeMatrixScale) -> None:
    """A number times a matrix."""
    together(code, op)
    type = component_type(op.result)
    assert isinstance(op.result.type, CoopMatrix)
    number: Matrix = Splat(op.result.type, shared_operand(code, op, "a"))

    def compute(at: MatrixPiece, parts: list[Parts]) -> Parts:
        return arith.binary(code.w, code.target.features, "mul", type, parts[0], parts[1], contract=code.contract)

    elementwise(code, op.result, (number, operand(code, op.matrix)), compute)


@LOWERINGS.of(CooperativeMatrixMulAdd)
def multiply_add(code: CpuCode, op: CooperativeMatrixMulAdd) -> None:
    """The product of two matrices plus a third one."""
    together(code, op)
    note_tf32(code, component_type(op.a), component_type(op.b))
    code.set(op.result, mul_add(code, op, operand(code, op.a), operand(code, op.b), operand(code, op.c)))


# --- transposition -----------------------------------------------------------------------------


@LOWERINGS.of(CooperativeMatrixTranspose)
def transpose(code: CpuCode, op: CooperativeMatrixTranspose) -> None:
    """The transpose, in the component type of the result."""
    together(code, op)
    source, type = op.matrix.type, op.result.type
    assert isinstance(source, CoopMatrix)
    assert isinstance(type, CoopMatrix)
    m = operand(code, op.matrix)
    if source.component != type.component:

        def compute(at: MatrixPiece, parts: list[Parts]) -> Parts:
            return casts.cast(code.w, code.target.features, source.component, type.component, parts[0])

        m = Deferred(replace(source, component=type.component), (m,), compute, 3, remaining=1, bound=True)
    code.set(op.result, _turned(code, type, m, multiplied=plan_of(code.function).only_multiplied(op.result)))


def _turned(code: CpuCode, type: CoopMatrix, m: Matrix, *, multiplied: bool) -> Matrix:
    """The transpose; a product reads its right factor component by component, so that it may lie as it is."""
    found = settled(m)
    if isinstance(found, Splat):
        consume(m)
        return Splat(type, found.parts)
    one_line = turned(type) or turned(m.type)
    if one_line and in_registers(code, type):
        return Columns(type, to_columns(code, m))
    if one_line:
        return InMemory(type, own_copy(code, m).pointer)
    if multiplied and type.component not in PARTS:
        held = own_copy(code, m)
        return Reference(type, held.pointer, line_bytes(held.type), part(type).size)
    source, target = to_tile(code, m), new_tile(code, type)
    turn(code, source, target)
    return apply.loaded(code, target)
