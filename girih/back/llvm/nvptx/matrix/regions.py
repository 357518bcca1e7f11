"""Functions of the components of fragments, written as regions (003 "Cooperative matrix apply")."""

from __future__ import annotations

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.matrix import regions as arrays
from girih.back.llvm.lower.one_lane.matrix.held import Parts, matrix_type, together, zero_parts
from girih.back.llvm.lower.one_lane.matrix.regions import agreed_outside, called, number_of
from girih.back.llvm.numbers.values import uniform
from girih.back.llvm.nvptx.matrix.code import FragmentCode
from girih.back.llvm.nvptx.matrix.exchange import through_arrays
from girih.back.llvm.nvptx.matrix.fragments import Fragments, fragments, in_registers, layout_of
from girih.back.llvm.nvptx.matrix.layout import DealtMode, FragmentLayout
from girih.ir.types import I32
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply

LOWERINGS = Lowerings[FragmentCode]()
"""The lowerings of this file."""


@LOWERINGS.of(CooperativeMatrixApply)
def apply(code: FragmentCode, op: CooperativeMatrixApply) -> None:
    """The matrix of what the region yields for each component; a single row or column is one that all threads have."""
    type = matrix_type(op.result)
    layout = layout_of(code, type)
    matrices = [fragments(code, value) for value in op.matrices]
    if not all(_fits(m.layout, layout) for m in matrices):
        through_arrays(code, op, arrays.apply)
        return
    together(code, op, type)
    found: list[Parts] = []
    with agreed_outside(code, op, type):
        for number in range(layout.components):
            at = layout.position(code, number)

            def call(number: int = number) -> Parts:
                place = layout.position(code, number)
                elements = [uniform(m.type.component, *_repeated(code, m, layout, number)) for m in matrices]
                values = (uniform(I32, place.row), uniform(I32, place.column), *elements)
                arguments = zip((op.row, op.column, *op.elements), values, strict=True)
                return called(code, op.body, number_of(code, place, type.columns), type.columns, arguments)

            parts = call() if at.exists is None else code.w.either(at.exists, call, lambda: zero_parts(type.component))
            found.append(tuple(parts))
    code.set(op.result, in_registers(code, type, found))


def _fits(own: FragmentLayout, wanted: FragmentLayout) -> bool:
    def fits(mode: DealtMode, other: DealtMode) -> bool:
        return mode.shared or mode == other

    return own.turned == wanted.turned and fits(own.groups, wanted.groups) and fits(own.threads, wanted.threads)


def _repeated(code: FragmentCode, m: Fragments, layout: FragmentLayout, number: int) -> Parts:
    """The component of a matrix, or of its only row or column, at the place of a component of a larger one."""
    group, thread = divmod(number, layout.threads.count)
    own = m.layout
    return m.part(code, (0 if own.groups.shared else group) * own.threads.count + (0 if own.threads.shared else thread))
