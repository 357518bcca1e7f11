"""Tensor copies where each work-item is a thread, and no engine copies boxes: the threads share the rows."""

from __future__ import annotations

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.tensor_map.operands import CopyOperands
from girih.back.llvm.lower.one_lane.tensor_map.pieces import rows_of
from girih.back.llvm.lower.tensor_map.checks import OperandChecks
from girih.ops.tile.tensor_map import (
    TensorCopy,
    TensorCopyLoad,
    TensorCopyLoadIm2col,
    TensorCopyReduce,
    TensorCopyStore,
)

LOWERINGS = Lowerings[OneLaneCode]()
"""The lowerings of this file, of machines whose memory has addresses."""


@LOWERINGS.of(TensorCopyLoad, TensorCopyLoadIm2col, TensorCopyStore, TensorCopyReduce)
def tensor_copy(code: OneLaneCode, op: TensorCopy) -> None:
    """Lower a tensor copy: the work-group makes it once."""
    code.met_by_all(op, work_group=True)
    given = CopyOperands.of(code, op)
    check(code, op, given)
    compute(code, op, given)


def check(code: OneLaneCode, op: TensorCopy, given: CopyOperands) -> None:
    """Check the operands of a copy."""
    OperandChecks(code, op, given.held, lambda number: given.chosen(code, number)).all(given.coordinates, given.offsets)


def compute(code: OneLaneCode, op: TensorCopy, given: CopyOperands) -> None:
    """Let the threads make a copy. In a collective region they wait for each other before and after it."""
    code.in_step()
    rows_of(code, op, given).make(op.mode)
    code.in_step()
