"""Tile programs as PTX, for tests of what is emitted."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from girih.back.llvm.nvptx.assemble import ptx_of
from girih.back.llvm.nvptx.machine.architecture import architecture_named
from girih.back.llvm.nvptx.machine.kernel import PtxKernel
from girih.back.llvm.nvptx.table import BUT_MATRICES
from girih.back.llvm.nvptx.tile.kernel import lower_tile
from girih.facts.remarks import Remarks
from girih.tile.form import TileKernel
from tests.tile.programs import kernel_of

HOPPER = architecture_named("sm_90a")


def emitted(kernel: TileKernel, *, checks: bool = False) -> PtxKernel:
    """A tile kernel in PTX."""
    made, text = lower_tile(kernel, HOPPER, BUT_MATRICES, Remarks("cuda"), checks=checks)
    return replace(made, ptx=ptx_of(text, HOPPER))


@lru_cache(maxsize=32)
def emitted_from(text: str, *, checks: bool = False) -> PtxKernel:
    """A program in the language as a tile kernel in PTX."""
    return emitted(kernel_of(text, checks=checks), checks=checks)
