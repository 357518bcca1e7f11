"""Functions of the components of cooperative matrices: for each by itself, and of what is combined
(SPV_NV_cooperative_matrix2).

The function becomes the region of one instruction. What it is given besides is seen from inside the region.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.front.spirv.handlers import translates
from girih.front.spirv.instructions.matrices import matrix_type, type_of
from girih.front.spirv.pointers import Pointer
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import I32, CoopMatrix
from girih.ops.tile.coopmatrix_regions import Combined
from girih.spirv.instruction import Instruction
from girih.spirv.types import Pointer as PointerType

ALONG = {1: Combined.ROW, 2: Combined.COLUMN, 3: Combined.ALL, 4: Combined.BLOCK}
"""What is combined with each other, by the mask Cooperative Matrix Reduce."""


def parameters_of(t: Translation, function: int) -> Sequence[int]:
    """The ids of the parameters of a function."""
    (found,) = (one for one in t.facts.bodies.functions if one.id == function)
    return [one.result for one in found.parameters]


@translates("OpCooperativeMatrixPerElementOpNV")
def per_element(t: Translation, one: Instruction) -> None:
    """The matrix of what a function gives for each row, column and component; further operands go along.

    A further matrix has the type of the first one, and gives its component at the same place.
    """
    type, function = matrix_type(t, one), one.id("func")
    row, column = (Value("", I32, t.span) for _ in range(2))
    matrices = [t.leaf(one.id("matrix"))]
    elements = [Value("", type_of(matrices[0]).component, t.span)]
    given: list[Sequence[Value] | Pointer] = []
    for id in one.ids("operands"):
        if isinstance(t.type_of(id), PointerType):
            given.append(t.pointer(id))
            continue
        values = t.leaves(id)
        if len(values) == 1 and isinstance(values[0].type, CoopMatrix):
            matrices.append(values[0])
            elements.append(Value("", values[0].type.component, t.span))
            values = (elements[-1],)
        given.append(values)
    arguments = dict(zip(parameters_of(t, function), ((row,), (column,), (elements[0],), *given), strict=True))
    body, _ = t.region_of(function, arguments)
    fields = {"row": row, "column": column, "elements": tuple(elements), "matrices": tuple(matrices)}
    t.give(one, t.emit("cooperative_matrix_apply", type, **fields, body=body))


@translates("OpCooperativeMatrixReduceNV")
def reduce(t: Translation, one: Instruction) -> None:
    """The matrix of combinations of rows, columns, all components, or blocks of two rows and two columns."""
    type, matrix, function = matrix_type(t, one), t.leaf(one.id("matrix")), one.id("combine_func")
    left, right = (Value("", type.component, t.span) for _ in range(2))
    body, _ = t.region_of(function, dict(zip(parameters_of(t, function), ((left,), (right,)), strict=True)))
    fields = {"along": ALONG[one.id("reduce")], "left": left, "right": right, "matrix": matrix}
    t.give(one, t.emit("cooperative_matrix_combine", type, **fields, body=body))
