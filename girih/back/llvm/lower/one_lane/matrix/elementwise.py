"""Matrices in arrays whose components depend on those at the same place only (003 "Arithmetic", "Cast", "Constant",
"Cooperative matrix construct", "... scale")."""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.carried import PrivateMatrixCarrier
from girih.back.llvm.lower.one_lane.matrix.held import (
    ComponentArrays,
    EqualComponents,
    Parts,
    components,
    each,
    matrix,
    matrix_type,
    new_arrays,
    read,
    release,
    result_arrays,
    write,
)
from girih.back.llvm.lower.one_lane.matrix.layout import position
from girih.back.llvm.lower.one_lane.matrix.pointwise import Compute, elementwise, instructions_of, pointwise
from girih.back.llvm.lower.one_lane.matrix.staging import move, same_layout
from girih.back.llvm.numbers import casts
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix
from girih.ops.tile.arith import Cast


def in_arrays(code: OneLaneCode, op: Op, operands: Sequence[Value], compute: Compute) -> ComponentArrays:
    """The only result of an instruction, component by component."""
    (value,) = op.results
    matrices = [matrix(code, operand) for operand in operands]
    result = result_arrays(code, op, value)

    def one(component: Val) -> None:
        write(code, result, component, compute(component, [read(code, m, component) for m in matrices]))

    each(code, components(code, result.type), one, weight=_weight(op))
    release(code, op)
    return result


def _weight(op: Op) -> int:
    """How many simple instructions a component is worth."""
    if isinstance(op, Cast):
        return 1 if matrix_type(op.a).component == matrix_type(op.result).component else 2
    return instructions_of(op)


LOWERINGS = pointwise(in_arrays, lambda code, type, component: position(code, type, component).exists)
"""The lowerings of this file."""

LOWERINGS.carry(PrivateMatrixCarrier, CoopMatrix)


@LOWERINGS.of(Cast, giving=CoopMatrix)
def cast(code: OneLaneCode, op: Cast) -> None:
    """Component by component (003 "Cast"); to another use also from other work-items, where they hold them."""
    source, target = matrix_type(op.a), matrix_type(op.result)
    held = matrix(code, op.a)

    def convert(parts: Parts) -> Parts:
        return casts.cast(code.w, code.features, source.component, target.component, parts)

    if same_layout(code, source, target) or isinstance(held, EqualComponents):
        elementwise(code, op, (op.a,), lambda _, parts: convert(parts[0]), in_arrays)
        return
    arrays = new_arrays(code, target.component, components(code, target))
    result = ComponentArrays(target, arrays, op.result)
    move(code, held, result, lambda row, column: (row, column), convert)
    release(code, op)
    code.set(op.result, result)
