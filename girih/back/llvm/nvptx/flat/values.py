"""Flat matrices whose components depend on those at the same place only (003 "Arithmetic", "Cast", "Constant",
"Cooperative matrix construct", "... scale", "... apply")."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.held import Parts, matrix_type, together, zero_parts
from girih.back.llvm.lower.one_lane.matrix.pointwise import Compute, elementwise, pointwise
from girih.back.llvm.lower.one_lane.matrix.regions import agreed_outside, called, number_of
from girih.back.llvm.numbers import casts
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
from girih.ir.core import Op, Value
from girih.ir.types import I32, CoopMatrix
from girih.ops.tile.arith import Cast
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply


def in_flat(code: OneLaneCode, op: Op, operands: Sequence[Value], compute: Compute) -> FlatMatrix:
    """The only result of an instruction, component by component."""
    type = matrix_type(op.results[0])
    matrices, layout = [flat(code, value) for value in operands], layout_of(code, type)
    parts = [compute(integer(number), [m.part(code, number) for m in matrices]) for number in range(layout.components)]
    return in_registers(code, type, layout, parts)


def _exists(code: OneLaneCode, type: CoopMatrix, component: Val) -> Val | None:
    assert component.literal is not None
    return layout_of(code, type).position(code, component.literal).exists


LOWERINGS = pointwise(in_flat, _exists)
"""The lowerings of this file."""

LOWERINGS.carry(FlatCarrier, CoopMatrix)


@LOWERINGS.of(Cast, giving=CoopMatrix)
def cast(code: OneLaneCode, op: Cast) -> None:
    """Component by component (003 "Cast"): every type and use is spread alike."""
    source, target = matrix_type(op.a).component, matrix_type(op.result).component
    held = code.env[op.a]
    if isinstance(held, FlatMatrix) and narrows(source, target):
        floats = [part for number in range(held.layout.components) for part in held.part(code, number)]
        code.set(op.result, narrowed(code, matrix_type(op.result), held.layout, floats))
        return
    convert = partial(casts.cast, code.w, code.features, source, target)
    elementwise(code, op, (op.a,), lambda _, parts: convert(parts[0]), in_flat)


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
