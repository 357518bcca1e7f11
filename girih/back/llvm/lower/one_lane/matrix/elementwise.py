"""Matrices whose components depend on those at the same place only (003 "Arithmetic", "Cast", "Constant",
"Cooperative matrix construct", "... scale")."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Val, bits, integer
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.carried import PrivateMatrixCarrier
from girih.back.llvm.lower.one_lane.matrix.held import (
    ComponentArrays,
    EqualComponents,
    Matrix,
    Parts,
    components,
    each,
    matrix,
    matrix_type,
    new_arrays,
    read,
    release,
    result_arrays,
    together,
    write,
)
from girih.back.llvm.lower.one_lane.matrix.layout import position
from girih.back.llvm.lower.one_lane.matrix.staging import move, same_layout
from girih.back.llvm.numbers import arith, casts
from girih.facts import findings
from girih.ir.core import Op
from girih.ir.types import CoopMatrix
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Binary, Cast, Constant, Unary
from girih.ops.tile.coopmatrix import CooperativeMatrixConstruct, CooperativeMatrixScale

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""

LOWERINGS.carry(PrivateMatrixCarrier, CoopMatrix)

Compute = Callable[[Val, list[Parts]], Parts]
"""A component of the result from its number, and the operands' components of that number."""

_LONG = ("div", "rem")
"""Operations that are many instructions."""


def elementwise(code: OneLaneCode, op: Op, operands: Sequence[Matrix], compute: Compute, *, weight: int = 1) -> None:
    """Give the only result of an instruction the components that are computed from those of the same number."""
    (value,) = op.results
    if all(isinstance(m, EqualComponents) for m in operands):
        parts = compute(integer(0), [read(code, m, integer(0)) for m in operands])
        code.set(value, EqualComponents(matrix_type(value), parts))
        return
    result = result_arrays(code, op, value)

    def one(component: Val) -> None:
        write(code, result, component, compute(component, [read(code, m, component) for m in operands]))

    each(code, components(code, result.type), one, weight=weight)
    release(code, op)
    code.set(value, result)


@LOWERINGS.of(*TILE_LANGUAGE.family(Binary), giving=CoopMatrix)
def binary(code: OneLaneCode, op: Binary) -> None:
    """Component by component (003 "Arithmetic (binary)")."""
    mnemonic, type = op.spec.mnemonic, matrix_type(op.a)
    checked = type.component.family == "integer" and mnemonic in ("div", "rem", "shl", "shr")

    def compute(component: Val, parts: list[Parts]) -> Parts:
        if checked:
            check_second(code, op, position(code, type, component).exists, parts[1][0])
        return arith.binary(code.w, code.features, mnemonic, type.component, parts[0], parts[1], contract=code.contract)

    elementwise(code, op, (matrix(code, op.a), matrix(code, op.b)), compute, weight=4 if mnemonic in _LONG else 1)


def check_second(code: OneLaneCode, op: Binary, exists: Val | None, b: Val) -> None:
    """Find a division by zero or a shift that is too wide, unless the component is padding, which nobody sees."""
    if not code.checks:
        return
    w, width = code.w, bits(b.type)
    if op.spec.mnemonic in _LONG:
        bad, words = w.compare("eq", b, integer(0, b.type)), findings.division_by_zero()
    else:
        bad, words = w.compare("uge", b, integer(width, b.type)), findings.shift(width)
    bad = bad if exists is None else w.binary("and", bad, exists)
    code.check(op, bad, words, argument=op.b.name, by_lane=False)


@LOWERINGS.of(*TILE_LANGUAGE.family(Unary), giving=CoopMatrix)
def unary(code: OneLaneCode, op: Unary) -> None:
    """Component by component (003 "Arithmetic (unary)")."""
    mnemonic, type = op.spec.mnemonic, matrix_type(op.a).component

    def compute(_: Val, parts: list[Parts]) -> Parts:
        return arith.unary(code.w, code.features, mnemonic, type, parts[0])

    elementwise(code, op, (matrix(code, op.a),), compute)


@LOWERINGS.of(Cast, giving=CoopMatrix)
def cast(code: OneLaneCode, op: Cast) -> None:
    """Component by component (003 "Cast"); to another use also from other work-items, where they hold them."""
    source, target = matrix_type(op.a), matrix_type(op.result)
    held = matrix(code, op.a)

    def convert(parts: Parts) -> Parts:
        return casts.cast(code.w, code.features, source.component, target.component, parts)

    if same_layout(code, source, target) or isinstance(held, EqualComponents):
        weight = 1 if source.component == target.component else 2
        elementwise(code, op, (held,), lambda _, parts: convert(parts[0]), weight=weight)
        return
    arrays = new_arrays(code, target.component, components(code, target))
    result = ComponentArrays(target, arrays, op.result)
    move(code, held, result, lambda row, column: (row, column), convert)
    release(code, op)
    code.set(op.result, result)


@LOWERINGS.of(Constant, giving=CoopMatrix)
def constant(code: OneLaneCode, op: Constant) -> None:
    """The matrix whose components are all one constant (003 "Constant")."""
    type = matrix_type(op.result)
    code.set(op.result, EqualComponents(type, arith.constant(type.component, op.value)))


@LOWERINGS.of(CooperativeMatrixConstruct)
def construct(code: OneLaneCode, op: CooperativeMatrixConstruct) -> None:
    """The matrix whose components are all one number."""
    type = matrix_type(op.result)
    together(code, op, type)
    code.set(op.result, EqualComponents(type, code.agreed(op, "a", code.scalar(op.a))))


@LOWERINGS.of(CooperativeMatrixScale)
def scale(code: OneLaneCode, op: CooperativeMatrixScale) -> None:
    """A number times a matrix."""
    type = matrix_type(op.result)
    together(code, op, type)
    number = code.agreed(op, "a", code.scalar(op.a))

    def compute(_: Val, parts: list[Parts]) -> Parts:
        return arith.binary(code.w, code.features, "mul", type.component, number, parts[0], contract=code.contract)

    elementwise(code, op, (matrix(code, op.matrix),), compute)
