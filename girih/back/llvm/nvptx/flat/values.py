"""Flat matrices whose components depend on those at the same place only (003 "Arithmetic", "Cast", "Constant",
"Cooperative matrix construct", "... scale", "... apply")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.elementwise import check_second
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, Parts, matrix_type, together, zero_parts
from girih.back.llvm.lower.one_lane.matrix.regions import agreed_outside, called, number_of
from girih.back.llvm.numbers import arith, casts
from girih.back.llvm.numbers.values import uniform
from girih.back.llvm.nvptx.flat.held import (
    FlatCarrier,
    FlatMatrix,
    flat,
    in_registers,
    layout_of,
    narrowed,
    narrows,
)
from girih.back.llvm.nvptx.flat.layout import FlatLayout
from girih.ir.core import Value
from girih.ir.types import I32, CoopMatrix
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Binary, Cast, Constant, Unary
from girih.ops.tile.coopmatrix import CooperativeMatrixConstruct, CooperativeMatrixScale
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""

LOWERINGS.carry(FlatCarrier, CoopMatrix)

Compute = Callable[[int, list[Parts]], Parts]
"""A component of the result from its number, and the operands' components of that number."""


def elementwise(code: OneLaneCode, result: Value, operands: Sequence[Value], compute: Compute) -> None:
    """Give a value the components that are computed from those of the same number."""
    type = matrix_type(result)
    held = [code.env[value] for value in operands]
    if all(isinstance(one, EqualComponents) for one in held):
        code.set(result, EqualComponents(type, compute(0, [one.parts for one in held])))
        return
    matrices, layout = [flat(code, value) for value in operands], layout_of(code, type)
    parts = [compute(number, [m.part(code, number) for m in matrices]) for number in range(layout.components)]
    code.set(result, in_registers(code, type, layout, parts))


@LOWERINGS.of(*TILE_LANGUAGE.family(Binary), giving=CoopMatrix)
def binary(code: OneLaneCode, op: Binary) -> None:
    """Component by component (003 "Arithmetic (binary)")."""
    mnemonic, type = op.spec.mnemonic, matrix_type(op.a)
    checked = type.component.family == "integer" and mnemonic in ("div", "rem", "shl", "shr")
    layout = layout_of(code, type)

    def compute(number: int, parts: list[Parts]) -> Parts:
        if checked:
            check_second(code, op, layout.position(code, number).exists, parts[1][0])
        return arith.binary(code.w, code.features, mnemonic, type.component, parts[0], parts[1], contract=code.contract)

    elementwise(code, op.result, (op.a, op.b), compute)


@LOWERINGS.of(*TILE_LANGUAGE.family(Unary), giving=CoopMatrix)
def unary(code: OneLaneCode, op: Unary) -> None:
    """Component by component (003 "Arithmetic (unary)")."""
    mnemonic, type = op.spec.mnemonic, matrix_type(op.a).component
    elementwise(code, op.result, (op.a,), lambda _, parts: arith.unary(code.w, code.features, mnemonic, type, parts[0]))


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

    def compute(_: int, parts: list[Parts]) -> Parts:
        return arith.binary(code.w, code.features, "mul", type.component, number, parts[0], contract=code.contract)

    elementwise(code, op.result, (op.matrix,), compute)


@LOWERINGS.of(Cast, giving=CoopMatrix)
def cast(code: OneLaneCode, op: Cast) -> None:
    """Component by component (003 "Cast"): every type and use is spread alike."""
    source, target = matrix_type(op.a).component, matrix_type(op.result).component
    held = code.env[op.a]
    if isinstance(held, FlatMatrix) and narrows(source, target):
        floats = [part for number in range(held.layout.components) for part in held.part(code, number)]
        code.set(op.result, narrowed(code, matrix_type(op.result), held.layout, floats))
        return
    elementwise(code, op.result, (op.a,), lambda _, parts: casts.cast(code.w, code.features, source, target, parts[0]))


@LOWERINGS.of(CooperativeMatrixApply)
def apply(code: OneLaneCode, op: CooperativeMatrixApply) -> None:
    """The matrix of what the region yields for each component; a single row or column stands for all."""
    type = matrix_type(op.result)
    together(code, op, type)
    layout = layout_of(code, type)
    matrices = [flat(code, value) for value in op.matrices]
    found: list[Parts] = []

    def call(number: int) -> Parts:
        place = layout.position(code, number)
        elements = [uniform(m.type.component, *m.part(code, _repeated(m.layout, layout, number))) for m in matrices]
        values = (uniform(I32, place.row), uniform(I32, place.column), *elements)
        arguments = zip((op.row, op.column, *op.elements), values, strict=True)
        return called(code, op.body, number_of(code, place, type.columns), type.columns, arguments)

    with agreed_outside(code, op, type):
        for number in range(layout.components):
            exists = layout.position(code, number).exists
            if exists is None:
                found.append(call(number))
            else:
                found.append(tuple(code.w.either(exists, partial(call, number), lambda: zero_parts(type.component))))
    code.set(op.result, in_registers(code, type, layout, found))


def _repeated(own: FlatLayout, layout: FlatLayout, number: int) -> int:
    """The number of the component of a matrix, or of its only row or column, at the place of one of a larger matrix."""
    column, row = divmod(number, layout.own_rows)
    return (0 if own.columns == 1 else column) * own.own_rows + (0 if own.rows == 1 else row)
