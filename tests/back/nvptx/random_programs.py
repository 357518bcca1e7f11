"""Random programs of work-items as PTX, on the machine that executes it, held against the interpreter.

    python -m tests.back.nvptx.random_programs --count 2000

What must be true is what `tests.back.one_lane.random_programs` asks.
"""

from __future__ import annotations

import sys

from girih.back.llvm.nvptx.machine.sizes import geometry_for
from girih.back.llvm.nvptx.table import CUDA
from girih.diagnostics import CompileError
from girih.facts.remarks import Remarks
from girih.ir.core import Function
from girih.ir.limits import DEFAULT_LIMITS
from tests.back.nvptx.launch import PtxMachineKernel
from tests.back.one_lane.random_programs import Executor, main


def is_refused(function: Function) -> bool:
    """Whether the target refuses a kernel: for an instruction, or for subgroups of more than a warp."""
    try:
        geometry_for(function, DEFAULT_LIMITS, Remarks("cuda"))
    except CompileError:
        return True
    return next(CUDA.refusals(function), None) is not None


PTX = Executor("ptx", lambda function, checks: PtxMachineKernel(function, checks), is_refused)

if __name__ == "__main__":
    sys.exit(main(PTX))
