"""girih: tile kernels in the tensor language, and compute shaders in SPIR-V, checked and run on NumPy arrays.

Public names are loaded when they are first used; `import girih` alone imports neither NumPy nor the language.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "load": "girih.api",
    "loads": "girih.api",
    "check": "girih.program",
    "parse": "girih.program",
    "Kernel": "girih.api",
    "Launch": "girih.api",
    "Program": "girih.api",
    "kernel": "girih.decorated",
    "PythonKernel": "girih.decorated",
    "VariantWarning": "girih.decorated",
    "Buffer": "girih.runtime.spirv.buffer",
    "Group": "girih.arguments.arrays",
    "uninitialized": "girih.arguments.arrays",
    "Uninitialized": "girih.arguments.arrays",
    "Choices": "girih.interpreter.machine.choices",
    "Exploration": "girih.exploration",
    "explore": "girih.exploration",
    "TuningWarning": "girih.tuned.selection",
    "tune": "girih.tuning",
    "Trial": "girih.tuning",
    "Tuning": "girih.tuning",
    "TuningError": "girih.tuning",
    "CacheWarning": "girih.runtime.cache",
    "Diagnostic": "girih.diagnostics",
    "Finding": "girih.diagnostics",
    "MemoryAccess": "girih.diagnostics",
    "GirihError": "girih.diagnostics",
    "CompileError": "girih.diagnostics",
    "LaunchError": "girih.diagnostics",
    "KernelError": "girih.diagnostics",
    "InternalError": "girih.diagnostics",
    "Source": "girih.source",
    "Span": "girih.source",
}

_MODULES = ("functions", "jax", "kernels", "spirv", "torch")
"""Modules that are attributes of the package without an import of their own: `girih.kernels.gemm()`.

Those of libraries that may be missing are not in `__all__`, so that `from girih import *` does not need them.
"""

if TYPE_CHECKING:
    from girih import functions, kernels, spirv
    from girih import jax as jax
    from girih import torch as torch
    from girih.api import Kernel, Launch, Program, load, loads
    from girih.arguments.arrays import Group, Uninitialized, uninitialized
    from girih.decorated import PythonKernel, VariantWarning, kernel
    from girih.diagnostics import (
        CompileError,
        Diagnostic,
        Finding,
        GirihError,
        InternalError,
        KernelError,
        LaunchError,
        MemoryAccess,
    )
    from girih.exploration import Exploration, explore
    from girih.interpreter.machine.choices import Choices
    from girih.notebook import Shell
    from girih.program import check, parse
    from girih.runtime.cache import CacheWarning
    from girih.runtime.spirv.buffer import Buffer
    from girih.source import Source, Span
    from girih.tuned.selection import TuningWarning
    from girih.tuning import Trial, Tuning, TuningError, tune

__all__ = [
    "Buffer",
    "CacheWarning",
    "Choices",
    "CompileError",
    "Diagnostic",
    "Exploration",
    "Finding",
    "GirihError",
    "Group",
    "InternalError",
    "Kernel",
    "KernelError",
    "Launch",
    "LaunchError",
    "MemoryAccess",
    "Program",
    "PythonKernel",
    "Source",
    "Span",
    "Trial",
    "Tuning",
    "TuningError",
    "TuningWarning",
    "Uninitialized",
    "VariantWarning",
    "check",
    "explore",
    "functions",
    "kernel",
    "kernels",
    "load",
    "loads",
    "parse",
    "spirv",
    "tune",
    "uninitialized",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"girih.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'girih' has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: Shell) -> None:
    """What IPython calls for `%load_ext girih`: the cell magic `%%girih` is registered."""
    from girih.notebook import register

    register(shell)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
