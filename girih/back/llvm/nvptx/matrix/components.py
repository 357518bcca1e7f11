"""Single components of fragments, which 003 numbers in an order of its own: they go through shared memory."""

from __future__ import annotations

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.matrix import components
from girih.back.llvm.nvptx.matrix.code import FragmentCode
from girih.back.llvm.nvptx.matrix.exchange import through_arrays
from girih.facts.remarks import exchanged_components
from girih.ops.tile.coopmatrix import CooperativeMatrixExtract, CooperativeMatrixInsert

LOWERINGS = Lowerings[FragmentCode]()
"""The lowerings of this file."""


@LOWERINGS.of(CooperativeMatrixExtract)
def extract(code: FragmentCode, op: CooperativeMatrixExtract) -> None:
    """A component of each work-item (003 "Cooperative matrix extract")."""
    code.remarks.note(exchanged_components(), op.span)
    through_arrays(code, op, components.extract)


@LOWERINGS.of(CooperativeMatrixInsert)
def insert(code: FragmentCode, op: CooperativeMatrixInsert) -> None:
    """A copy with one component of each work-item replaced (003 "Cooperative matrix insert")."""
    code.remarks.note(exchanged_components(), op.span)
    through_arrays(code, op, components.insert)
