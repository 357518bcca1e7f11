"""Which matrices of work-groups are flat: those that no product takes, where a thread's registers hold them."""

from __future__ import annotations

from collections.abc import Iterator

from girih.back.llvm.lower.one_lane.matrix.held import matrix_type
from girih.back.llvm.nvptx.flat.layout import WARP, FlatLayout, Rectangle, rectangle_for
from girih.ir.core import Function, Op, Value
from girih.ir.types import CoopMatrix
from girih.ops.tile.arith import Binary, Cast, Constant, Unary
from girih.ops.tile.control import For, If
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixConstruct,
    CooperativeMatrixLoad,
    CooperativeMatrixPrefetch,
    CooperativeMatrixScale,
    CooperativeMatrixStore,
    Reduce,
)
from girih.ops.tile.coopmatrix_regions import Combined, CooperativeMatrixApply, CooperativeMatrixCombine

MOST_REGISTERS = 128
"""Registers of 4 bytes that a matrix takes at most in a thread: the results of a step and its operands are 255."""

_MOST_SHARED = 48 * 1024
"""The bytes of shared memory that combinations of rows take at most."""

_WORD = 4
"""The bytes of a register, and of a small number on its way through shared memory."""

_FLAT = (
    Binary, Unary, Cast, Constant, For, If, CooperativeMatrixConstruct, CooperativeMatrixLoad, CooperativeMatrixStore,
    CooperativeMatrixPrefetch, CooperativeMatrixScale, Reduce, CooperativeMatrixApply,
    CooperativeMatrixCombine,
)  # fmt: skip
"""What computes with flat matrices."""


def flat_rectangle(function: Function, threads: int) -> Rectangle | None:
    """How threads stand for the matrices of the work-group of a function; None where it has none."""
    types = {
        value.type for op in function.walk() for value in (*op.operands, *op.results)
        if isinstance(value.type, CoopMatrix) and value.type.of_work_group
    }  # fmt: skip
    return rectangle_for(types, threads) if types else None


def against_flat(
    op: Op, matrices: list[Value], rectangle: Rectangle, threads: int, subgroup_size: int
) -> Iterator[str]:
    """What is against matrices of a work-group, which meet in an instruction, as flat ones."""
    if subgroup_size != WARP or threads & (threads - 1):
        yield f"a work-group has {threads} work-items by {subgroup_size}, not a power of two of them by {WARP}"
    if not isinstance(op, _FLAT):
        yield f"`{op.spec.word}` takes other forms of the matrices of a work-group"
    for value in matrices:
        type = matrix_type(value)
        layout = FlatLayout(*type.shape, rectangle)
        if type.component.family == "complex":
            yield f"{type} is complex"
        elif _registers(type, layout) > MOST_REGISTERS:
            yield f"{type} takes {_registers(type, layout)} registers of a work-item; {MOST_REGISTERS} are the most"
    if isinstance(op, CooperativeMatrixCombine):
        source = FlatLayout(*matrix_type(op.matrix).shape, rectangle)
        if op.along is Combined.BLOCK or source.padded:
            yield f"{matrix_type(op.matrix)} is combined in blocks, or is no whole number of pieces of all work-items"
    if isinstance(op, Reduce | CooperativeMatrixCombine):
        yield from _against_combination(op, rectangle)


def _against_combination(op: Reduce | CooperativeMatrixCombine, rectangle: Rectangle) -> Iterator[str]:
    by_rows = op.along_row if isinstance(op, Reduce) else op.along is Combined.ROW
    source = matrix_type(op.a if isinstance(op, Reduce) else op.matrix)
    need = (
        FlatLayout(*source.shape, rectangle).own_rows
        * rectangle.down
        * rectangle.across
        * max(4, source.component.size)
    )
    if by_rows and source.columns > 1 and rectangle.across > 1 and need > _MOST_SHARED:
        yield f"rows of {source} are combined through {need} bytes of shared memory; {_MOST_SHARED} are the most"


def _registers(type: CoopMatrix, layout: FlatLayout) -> int:
    return -(-layout.components * type.component.size // _WORD)
