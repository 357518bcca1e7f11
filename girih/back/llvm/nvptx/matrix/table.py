"""The lowerings of the matrices of a kernel: fragments, or arrays of each work-item, whichever was chosen."""

from __future__ import annotations

from typing import Any

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.matrix import blocked, tensor
from girih.back.llvm.lower.one_lane.matrix.meetings import in_both_forms
from girih.back.llvm.lower.one_lane.matrix.table import SOFT_MATRICES
from girih.back.llvm.nvptx.matrix import components, decoded, memory, product, reduce, regions, values
from girih.back.llvm.nvptx.matrix.choice import choose_fragments
from girih.back.llvm.nvptx.matrix.fragments import FragmentMatrices
from girih.facts.remarks import Remarks, matrices_in_arrays
from girih.ir.core import Function

FRAGMENTS: Lowerings[Any] = (
    Lowerings[Any]()
    .joined(values.LOWERINGS, product.LOWERINGS, reduce.LOWERINGS, regions.LOWERINGS, components.LOWERINGS)
    .joined(memory.ELEMENTS, blocked.LOWERINGS, tensor.LOWERINGS.replaced(decoded.LOWERINGS))
)
"""How fragments are lowered."""


def with_matrices(
    function: Function, subgroup_size: int, others: Lowerings[Any], remarks: Remarks
) -> tuple[Lowerings[Any], FragmentMatrices]:
    """The lowerings of a kernel, and which of its matrices are fragments; `others` are those of all but matrices."""
    chosen, arrays = choose_fragments(function, subgroup_size)
    for one in arrays:
        remarks.note(matrices_in_arrays(one.reason), one.span)
    table: Lowerings[Any] = SOFT_MATRICES
    return others.joined(in_both_forms(FRAGMENTS, table, chosen)), FragmentMatrices(chosen)
