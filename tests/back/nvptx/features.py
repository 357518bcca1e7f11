"""The kernels of `features.tl` and of the library as PTX, for tests that look at it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import girih
from girih.back.llvm.nvptx.compile import compile_kernel
from girih.back.llvm.nvptx.machine.architecture import architecture_named
from girih.back.llvm.nvptx.machine.kernel import USUAL, CudaVariant, PtxKernel
from girih.ir.core import Function, Module
from girih.kernels import texts

FEATURES = Path(__file__).resolve().parent / "features.tl"


@cache
def features() -> Module:
    """The kernels that show one thing each."""
    return girih.parse(FEATURES.read_text(encoding="utf-8"), "features.tl")


def feature(name: str) -> Function:
    """One of them."""
    found = features().function(name)
    assert found is not None, f"there is no @{name}"
    return found


def of_library(name: str, function: str) -> Function:
    """A kernel of the library with its usual definitions."""
    found = girih.parse(texts.path(name).read_text(encoding="utf-8"), f"{name}.tl").function(function)
    assert found is not None, f"there is no @{function}"
    return found


def kernel_of(
    function: Function, *, architecture: str = "sm_90a", checks: bool = False, variant: CudaVariant = USUAL
) -> PtxKernel:
    """A kernel as PTX, without checks where nobody asks for them."""
    return compile_kernel(function, architecture_named(architecture), checks=checks, variant=variant)


def ptx_of(name: str, *, architecture: str = "sm_90a", checks: bool = False, variant: CudaVariant = USUAL) -> str:
    """The PTX of a feature."""
    return kernel_of(feature(name), architecture=architecture, checks=checks, variant=variant).ptx


def instructions(ptx: str) -> list[str]:
    """The instructions with their operands, without guards."""
    lines = (re.sub(r"^@!?%p\d+\s+", "", line.strip()) for line in ptx.splitlines())
    return [re.sub(r"\s+", " ", line) for line in lines if re.match(r"[a-z][a-z0-9_.:]*(\s|;)", line)]


def count(ptx: str, pattern: str) -> int:
    """How many instructions begin with what a pattern matches."""
    return sum(re.match(pattern, one) is not None for one in instructions(ptx))
