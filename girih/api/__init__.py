"""Loading programs and launching their kernels.

`load` and `loads` parse, check and compile for a target; a launch binds the arguments, runs, and changes the caller's
arrays only if nothing was found wrong.

`kernel`   programs and kernels, and launches as values
`shaders`  those of SPIR-V modules
`tuned`    those of texts with a file of `girih.tune`
`loading`  `load`, `loads`, and the same for modules of the ir
"""

from __future__ import annotations

from girih.api.kernel import Kernel, Launch, Program, program_of
from girih.api.loading import Definitions, compile_module, load, load_one, loads, resolved_target, shader_program
from girih.api.shaders import ShaderKernel, ShaderProgram

__all__ = [
    "Definitions",
    "Kernel",
    "Launch",
    "Program",
    "ShaderKernel",
    "ShaderProgram",
    "compile_module",
    "load",
    "load_one",
    "loads",
    "program_of",
    "resolved_target",
    "shader_program",
]
