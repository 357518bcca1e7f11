"""The lowerings of the matrices of a kernel: fragments, flat, or arrays of each work-item, whichever was chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode, OwnMatrices
from girih.back.llvm.lower.one_lane.matrix import blocked, tensor
from girih.back.llvm.lower.one_lane.matrix.meetings import in_both_forms
from girih.back.llvm.lower.one_lane.matrix.table import SOFT_MATRICES
from girih.back.llvm.lower.tiles import decisions
from girih.back.llvm.nvptx.flat.choice import flat_rectangle
from girih.back.llvm.nvptx.flat.held import FlatMatrices
from girih.back.llvm.nvptx.flat.table import FLAT
from girih.back.llvm.nvptx.matrix import components, decoded, memory, product, reduce, regions, values
from girih.back.llvm.nvptx.matrix.choice import choose_forms
from girih.back.llvm.nvptx.matrix.fragments import FragmentMatrices
from girih.facts.remarks import Remarks, flat_matrices, matrices_in_arrays
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
    function: Function, subgroup_size: int, threads: int, others: Lowerings[Any], remarks: Remarks
) -> tuple[Lowerings[Any], OwnMatrices]:
    """The lowerings of a kernel, and which of its matrices are in a form of the target's own.

    A work-group has so many `threads`; `others` are the lowerings of all but matrices.
    """
    rectangle = flat_rectangle(function, threads)
    chosen, flat, arrays = choose_forms(function, subgroup_size, threads, rectangle)
    for one in arrays:
        remarks.note(matrices_in_arrays(one.reason), one.span)
    table: Lowerings[Any] = in_both_forms(FRAGMENTS, SOFT_MATRICES, chosen)
    own: OwnMatrices = FragmentMatrices(chosen)
    if rectangle is not None and flat:
        remarks.note(flat_matrices(rectangle.down, rectangle.across, rectangle.chunk), function.span)
        table, own = in_both_forms(FLAT, table, flat), FlatMatrices(flat, rectangle, own)
    table.again(written_again, CoopMatrix)
    return others.joined(table, decisions.DECISIONS), own


def written_again(code: OneLaneCode, op: Op) -> Callable[[], None] | None:
    """What sets back the matrices before a loop: nothing, where those that it carries or gives are in registers.

    Arrays of others that a loop leaves free are free in its other version; what it carries would be in two places.
    """
    own = code.own_matrices
    carried = [*op.results, *(op.initial if isinstance(op, For) else ())]
    kept = all(own is not None and value in own for value in carried if isinstance(value.type, CoopMatrix))
    return (lambda: None) if kept else None
