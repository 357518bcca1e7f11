"""A machine that executes PTX as its specification defines it, in NumPy: girih's code is judged without a GPU.

    module = PtxModule.parse(text)
    record = module.launch("axpy", grid=(4, 1, 1), threads=128, parameters=packed, memory=[x, y])

All threads of a CTA are executed at once: a register is an array with one element a thread. What PTX leaves undefined,
and what would hang or fault on a GPU, is an error that names instruction, line and thread; an instruction that is not
known is one too. It does not judge speed, and memory is that of one CTA after the other: it finds no races of CTAs.

| file | what |
| --- | --- |
| `parser`, `syntax`, `types` | the text |
| `layout`, `memory` | where variables lie; what may be touched |
| `masks`, `special` | which threads do something; what they read of themselves |
| `build`, `table`, `instructions` | how instructions are made ready, and all of them |
| `floats` | arithmetic that is rounded as PTX says |
| `matrix` | fragments of matrices, and their products |
| `order` | who may rely on what, where copies and products go on beside the threads |
| `cta`, `schedule`, `module` | how threads are scheduled; launches |
"""

from tests.back.nvptx.ptx_machine.errors import (
    BudgetSpent,
    Deadlock,
    Fault,
    PtxError,
    PtxSyntaxError,
    UnknownInstruction,
)
from tests.back.nvptx.ptx_machine.module import LaunchRecord, PtxModule

__all__ = [
    "BudgetSpent",
    "Deadlock",
    "Fault",
    "LaunchRecord",
    "PtxError",
    "PtxModule",
    "PtxSyntaxError",
    "UnknownInstruction",
]
