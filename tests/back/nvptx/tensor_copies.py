"""Kernels with tensor copies as PTX, made ready out of a text, for tests that compare what they move."""

from __future__ import annotations

from functools import cache

from girih.ir.core import Function
from girih.program import analyze
from girih.source import Source
from tests.back.nvptx.launch import PtxMachineKernel
from tests.tensor_maps.golden import Launch, Make


def function_of(text: str) -> Function:
    """The only kernel of a text, which has no mistakes."""
    module, diagnostics = analyze(Source(text))
    assert not [one for one in diagnostics if one.severity == "error"], diagnostics
    (function,) = module.functions
    return function


@cache
def kernel_of(text: str, architecture: str, copies: str = "at_once", *, checks: bool = True) -> PtxMachineKernel:
    """The kernel of a text for an architecture."""
    return PtxMachineKernel(function_of(text), checks, architecture, copies)


def machine(architecture: str, copies: str = "at_once") -> Make:
    """Launches of one work-group on the machine for PTX."""

    def make(text: str) -> Launch:
        one = kernel_of(text, architecture, copies)
        return lambda *arguments: one((1, 1, 1), *arguments)

    return make
