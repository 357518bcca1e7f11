"""The lowerings of the matrices of a kernel: fragments, or arrays of each work-item, whichever was chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix import blocked, tensor
from girih.back.llvm.lower.one_lane.matrix.meetings import in_both_forms
from girih.back.llvm.lower.one_lane.matrix.table import SOFT_MATRICES
from girih.back.llvm.lower.tiles import decisions
from girih.back.llvm.nvptx.matrix import components, decoded, memory, product, reduce, regions, values
from girih.back.llvm.nvptx.matrix.choice import choose_fragments
from girih.back.llvm.nvptx.matrix.fragments import FragmentMatrices
from girih.facts.remarks import Remarks, matrices_in_arrays
from girih.ir.core import Function, Op
from girih.ir.types import CoopMatrix
from girih.ops.tile.control import For

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
    mixed = in_both_forms(FRAGMENTS, table, chosen)
    mixed.again(written_again, CoopMatrix)
    return others.joined(mixed, decisions.DECISIONS), FragmentMatrices(chosen)


def written_again(code: OneLaneCode, op: Op) -> Callable[[], None] | None:
    """What sets back the matrices before a loop: nothing, where those that it carries or gives are fragments.

    Arrays of others that a loop leaves free are free in its other version; what it carries would be in two places.
    """
    own = code.own_matrices
    carried = [*op.results, *(op.initial if isinstance(op, For) else ())]
    kept = all(own is not None and value in own for value in carried if isinstance(value.type, CoopMatrix))
    return (lambda: None) if kept else None
