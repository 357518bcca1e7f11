"""Reductions of matrices (003 "Cooperative matrix reduce")."""

from __future__ import annotations

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.folding import Combination, fold
from girih.back.llvm.lower.one_lane.matrix.held import (
    ComponentArrays,
    Parts,
    components,
    matrix,
    matrix_type,
    new_arrays,
    release,
    together,
    write,
)
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.back.llvm.numbers import arith, casts
from girih.facts.accumulators import accumulator
from girih.ir.types import I32
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixReduceAdd,
    CooperativeMatrixReduceMax,
    CooperativeMatrixReduceMin,
    Reduce,
)

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""

_OPERATORS: dict[type[Reduce], str] = {
    CooperativeMatrixReduceAdd: "add",
    CooperativeMatrixReduceMax: "max",
    CooperativeMatrixReduceMin: "min",
}


@LOWERINGS.of(*_OPERATORS)
def reduce(code: OneLaneCode, op: Reduce) -> None:
    """The sum, maximum or minimum of each row or column; integers of less than 32 bits are added up in 32."""
    m, type = matrix(code, op.a), matrix_type(op.result)
    together(code, op, type)
    component, operator = type.component, _OPERATORS[op.__class__]
    total = accumulator(component) if operator == "add" else component
    if component.family == "integer" and component.size < 4:
        total = I32
    rows, columns = m.type.shape

    def cast(parts: Parts, inwards: bool) -> Parts:
        source, target = (component, total) if inwards else (total, component)
        return casts.cast(code.w, code.features, source, target, parts)

    def place(at: Position, k: Val) -> tuple[Val, Val]:
        return (at.row, k) if op.along_row else (k, at.column)

    def pair(left: Parts, right: Parts, _: Position) -> Parts:
        return arith.binary(code.w, code.features, operator, total, left, right)

    arrays = new_arrays(code, component, components(code, type))
    result = ComponentArrays(type, arrays, op.result)
    how = Combination(total, lambda parts: cast(parts, True), type, columns if op.along_row else rows, place, pair)
    fold(code, m, how, lambda k, parts: write(code, result, k, cast(parts, False)))
    release(code, op)
    code.set(op.result, result)
