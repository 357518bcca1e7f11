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
from tests.tile.programs import kernel_of, product

HOPPER = architecture_named("sm_90a")


ADDED = """%scaled = cooperative_matrix_scale %alpha, %product
                : coopmatrix<f32 x $rows x $columns, matrix_acc, work_group>
        %old = cooperative_matrix_load.both_checked %C[%row, %column]
                : coopmatrix<bf16 x $rows x $columns, matrix_acc, work_group>
        %wide = cast %old : coopmatrix<f32 x $rows x $columns, matrix_acc, work_group>
        %kept = cooperative_matrix_scale %beta, %wide : coopmatrix<f32 x $rows x $columns, matrix_acc, work_group>
        %sum = add %scaled, %kept : coopmatrix<f32 x $rows x $columns, matrix_acc, work_group>
        %rounded = cast %sum : coopmatrix<bf16 x $rows x $columns, matrix_acc, work_group>
        cooperative_matrix_store.both_checked %rounded, %C[%row, %column]"""


def added(columns: int = 256) -> str:
    """C := alpha A B + beta C."""
    return product(epilogue=ADDED, columns=columns).replace("@product(", "@product(%alpha: f32, %beta: f32, ")


def of_bytes(columns: int = 256) -> str:
    """C := A^T B of whole numbers of 8 bits."""
    return product(type="i8", sum="i32", transpose_a=True, depth=128, columns=columns)


def of_tf32(columns: int = 256) -> str:
    """C := A^T B of f32, whose factors may be rounded."""
    text = product(type="f32", transpose_a=True, depth=32, columns=columns)
    return text.replace("subgroup_size=32", 'subgroup_size=32, allow=["tf32"]')


def emitted(kernel: TileKernel, *, checks: bool = False, parts: tuple[int, int] = (1, 1)) -> PtxKernel:
    """A tile kernel in PTX."""
    made, text = lower_tile(kernel, HOPPER, BUT_MATRICES, Remarks("cuda"), checks=checks, parts=parts)
    return replace(made, ptx=ptx_of(text, HOPPER))


@lru_cache(maxsize=32)
def emitted_from(text: str, *, checks: bool = False) -> PtxKernel:
    """A program in the language as a tile kernel in PTX."""
    return emitted(kernel_of(text, checks=checks), checks=checks)
