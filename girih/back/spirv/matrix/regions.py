"""`cooperative_matrix_apply` and `cooperative_matrix_combine` on the device: their regions are routines (001)."""

from __future__ import annotations

from collections.abc import Iterable

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.code import Held
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.values import Scalar, uniform
from girih.back.spirv.matrix.code import (
    MatrixCode,
    component_of,
    component_word,
    matrix_of,
    matrix_type_of,
    matrix_word,
    per_element,
    register_of,
    together,
)
from girih.ir.core import Region, RegionKind, Value
from girih.ir.types import I32, Number
from girih.ir.uses import free_values
from girih.ops.tile.control import Yield
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply, CooperativeMatrixCombine

LOWERINGS = Lowerings[MatrixCode]()
"""The lowerings of this file."""


def yielded_by(code: MatrixCode, region: Region, type: Number, arguments: Iterable[tuple[Value, Held]]) -> Val:
    """The component that a region yields, which is recorded in a routine."""
    location, outer, span = code.w.location, dict(code.env), code.recorder.span
    with code.at(kind=RegionKind.SPMD):
        for value, held in arguments:
            code.set(value, held)
        code.region(region)
        last = region.terminator
        assert isinstance(last, Yield)
        found = component_of(code, type, code.scalar(last.values[0]).part)
    code.env.clear()
    code.env.update(outer)
    code.w.location, code.recorder.span = location, span
    return found


def number_of(code: MatrixCode, type: Number, component: Val) -> Scalar:
    """A component as a scalar of the language."""
    return uniform(type, register_of(code, type, component))


@LOWERINGS.of(CooperativeMatrixApply)
def apply(code: MatrixCode, op: CooperativeMatrixApply) -> None:
    """The matrix that the region yields; what it uses from outside goes along."""
    together(code, op)
    type = matrix_type_of(op.result).component
    first, *others = (matrix_of(code, matrix) for matrix in op.matrices)
    more = [(value.name, other) for value, other in zip(op.elements[1:], others, strict=True)]
    outside: list[tuple[Value, Scalar, int]] = []
    for value in free_values(op):
        held = code.scalar(value)
        if _is_constant(held):
            continue
        parts = code.agreed(op, f"%{value.name}", held)
        outside.append((value, held, len(parts)))
        more += [(value.name, part) for part in parts]

    def call(row: Val, column: Val, component: Val, given: tuple[Val, ...]) -> Val:
        count = len(others)
        elements = [number_of(code, type, one) for one in (component, *given[:count])]
        arguments: list[tuple[Value, Held]] = list(zip(op.elements, elements, strict=True))
        arguments += [(op.row, uniform(I32, row)), (op.column, uniform(I32, column))]
        for value, held, parts in outside:
            arguments.append((value, uniform(held.type, *given[count : count + parts])))
            count += parts
        return yielded_by(code, op.body, type, arguments)

    code.set(op.result, per_element(code, "apply", first, more, call))


def _is_constant(held: Scalar) -> bool:
    """Whether a scalar says itself, wherever it stands."""
    return held.linear is None and not any(part.text.startswith("%") for part in held.parts)


@LOWERINGS.of(CooperativeMatrixCombine)
def combine(code: MatrixCode, op: CooperativeMatrixCombine) -> None:
    """Rows, columns, all of the matrix, or its blocks (001 "coopMatReduceNV")."""
    together(code, op)
    type = matrix_type_of(op.result)
    component = type.component
    word = component_word(component)

    def body(given: tuple[Val, ...]) -> Val:
        pair = [number_of(code, component, one) for one in given]
        return yielded_by(code, op.body, component, zip((op.left, op.right), pair, strict=True))

    routine = code.routine("combine", [("left", word), ("right", word)], body)
    matrix = matrix_of(code, op.matrix)
    code.set(op.result, code.node("matrix_reduce", (matrix,), matrix_word(type), (op.along.value, routine)))
