"""The lowerings of the matrices of a kernel: fragments, flat, or arrays of each work-item, whichever was chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from girih.back.llvm.lower.code import KernelGeometry
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode, OwnMatrices
from girih.back.llvm.lower.one_lane.matrix.meetings import in_both_forms
from girih.back.llvm.lower.one_lane.matrix.table import SOFT_MATRICES
from girih.back.llvm.lower.tiles import decisions
from girih.back.llvm.nvptx.flat.choice import flat_rectangle
from girih.back.llvm.nvptx.flat.held import FlatMatrices
from girih.back.llvm.nvptx.flat.table import FLAT
from girih.back.llvm.nvptx.matrix import components, memory, product, reduce, regions, tensor, values
from girih.back.llvm.nvptx.matrix.choice import choose_flat, choose_fragments
from girih.back.llvm.nvptx.matrix.fragments import FragmentMatrices
from girih.back.llvm.nvptx.matrix.grid import warp_grid
from girih.facts.remarks import Remarks, flat_matrices, matrices_in_arrays
from girih.ir.core import Function, Op, Value
from girih.ir.types import CoopMatrix
from girih.ops.tile.control import For

FRAGMENTS: Lowerings[Any] = (
    Lowerings[Any]()
    .joined(values.LOWERINGS, product.LOWERINGS, reduce.LOWERINGS, regions.LOWERINGS, components.LOWERINGS)
    .joined(memory.ELEMENTS, tensor.LOWERINGS)
)
"""How fragments are lowered."""


def with_matrices(
    function: Function, geometry: KernelGeometry, others: Lowerings[Any], remarks: Remarks
) -> tuple[Lowerings[Any], OwnMatrices]:
    """The lowerings of a kernel, and which of its matrices are in a form of the target's own.

    `others` are the lowerings of all but matrices.
    """
    size, threads = geometry.subgroup_size, geometry.subgroup_size * geometry.subgroups
    rectangle, warps = flat_rectangle(function, threads), warp_grid(function, geometry.subgroups)
    flat = frozenset[Value]() if rectangle is None else choose_flat(function, size, threads, rectangle)
    chosen, arrays = choose_fragments(function, size, warps, flat)
    for one in arrays:
        remarks.note(matrices_in_arrays(one.reason), one.span)
    table: Lowerings[Any] = in_both_forms(FRAGMENTS, SOFT_MATRICES, chosen)
    own: OwnMatrices = FragmentMatrices(chosen, warps)
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
