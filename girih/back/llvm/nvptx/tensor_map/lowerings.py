"""Tensor copies on NVIDIA's GPUs: by their engine where it has the mode, else computed by all threads.

What ends the context on a device, an instruction that its engine refuses, is checked in all kernels, also in those
without other checks.
"""

from __future__ import annotations

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.tensor_map import lowerings as computed
from girih.back.llvm.lower.one_lane.tensor_map.operands import CopyOperands
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.back.llvm.nvptx.tensor_map import engine
from girih.ops.tile.tensor_map import (
    TensorCopy,
    TensorCopyLoad,
    TensorCopyLoadIm2col,
    TensorCopyReduce,
    TensorCopyStore,
)

LOWERINGS = Lowerings[CudaCode]()
"""The lowerings of this file."""


@LOWERINGS.of(TensorCopyLoad, TensorCopyLoadIm2col, TensorCopyStore, TensorCopyReduce)
def tensor_copy(code: CudaCode, op: TensorCopy) -> None:
    """Lower a tensor copy: the work-group makes it once."""
    ready = not code.writer.apart
    code.met_by_all(op, work_group=True)
    given = CopyOperands.of(code, op)
    asked, code.checks = code.checks, True
    computed.check(code, op, given)
    code.checks = asked
    if code.has_engine_for(op):
        engine.start(code, op, given, ready=ready)
    else:
        computed.compute(code, op, given)
