"""Single components of matrices (003 "Cooperative matrix extract", "... insert"), and their transposes (001)."""

from __future__ import annotations

from girih.back.llvm.emit.text import integer
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.held import (
    ComponentArrays,
    EqualComponents,
    Parts,
    components,
    copy,
    matrix,
    matrix_type,
    new_arrays,
    read,
    release,
    result_arrays,
    together,
    write,
    zero_parts,
)
from girih.back.llvm.lower.one_lane.matrix.layout import position
from girih.back.llvm.lower.one_lane.matrix.staging import move
from girih.back.llvm.numbers import casts
from girih.back.llvm.numbers.values import uniform
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixExtract,
    CooperativeMatrixInsert,
    CooperativeMatrixTranspose,
)

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file."""


@LOWERINGS.of(CooperativeMatrixExtract)
def extract(code: OneLaneCode, op: CooperativeMatrixExtract) -> None:
    """A component of each work-item; padding is zero."""
    m = matrix(code, op.matrix)
    together(code, op, m.type)
    component = integer(op.index)
    parts, exists = read(code, m, component), position(code, m.type, component).exists
    if exists is not None:
        zeros = zero_parts(m.type.component)
        parts = tuple(code.w.select(exists, a, b) for a, b in zip(parts, zeros, strict=True))
    release(code, op)
    code.set(op.result, uniform(m.type.component, *parts))


@LOWERINGS.of(CooperativeMatrixInsert)
def insert(code: OneLaneCode, op: CooperativeMatrixInsert) -> None:
    """A copy with one component of each work-item replaced; the matrix itself where nobody else reads it."""
    m = matrix(code, op.matrix)
    together(code, op, m.type)
    result = result_arrays(code, op, op.result)
    if not isinstance(m, ComponentArrays) or m.arrays != result.arrays:
        copy(code, m, result.arrays)
    write(code, result, integer(op.index), code.scalar(op.a).parts)
    release(code, op)
    code.set(op.result, result)


@LOWERINGS.of(CooperativeMatrixTranspose)
def transpose(code: OneLaneCode, op: CooperativeMatrixTranspose) -> None:
    """The transpose, in the component type of the result."""
    m, type = matrix(code, op.matrix), matrix_type(op.result)
    together(code, op, type)

    def convert(parts: Parts) -> Parts:
        return casts.cast(code.w, code.features, m.type.component, type.component, parts)

    if isinstance(m, EqualComponents):
        code.set(op.result, EqualComponents(type, convert(m.parts)))
        return
    arrays = new_arrays(code, type.component, components(code, type))
    result = ComponentArrays(type, arrays, op.result)
    move(code, m, result, lambda row, column: (column, row), convert)
    release(code, op)
    code.set(op.result, result)
