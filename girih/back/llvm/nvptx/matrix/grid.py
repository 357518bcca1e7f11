"""How the warps of a work-group stand that hold its matrices: the grid by which a kernel takes least time, estimated.

A grid of one column leaves each row of a matrix to one warp: sums become left factors, and rows are reduced, without
another warp. A grid that is about as high as wide has the fewest components of factors in each warp.
"""

from __future__ import annotations

from collections.abc import Iterator

from girih.back.llvm.lower.one_lane.matrix.held import matrix_type
from girih.back.llvm.nvptx.matrix.fragments import register_count
from girih.back.llvm.nvptx.matrix.layout import FragmentLayout, WarpGrid, fragment_layout
from girih.ir.core import Function, Op
from girih.ir.types import CoopMatrix
from girih.ops.tile.arith import Cast
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd, CooperativeMatrixTranspose, Reduce
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixCombine

_REGISTERS = 224
"""So many registers of a thread, of 4 bytes, are there for sums and factors of a product."""
_SPILLED = 64
"""What a product costs more for each register that it lacks: a store, a load, and waiting for them."""
_LOADED = 11
"""Products that `mma` computes while a byte is loaded."""
_EXCHANGED = 64
"""Products that `mma` computes while a component goes through shared memory."""
_LANES = 32


def warp_grid(function: Function, warps: int) -> WarpGrid:
    """The grid for so many warps."""
    grids = [WarpGrid(rows, warps // rows) for rows in range(warps, 0, -1) if warps % rows == 0]
    return min(grids, key=lambda grid: sum(_costs(function, grid)))


def _costs(function: Function, warps: WarpGrid) -> Iterator[int]:
    """What instructions on matrices of the work-group cost a warp, in products that `mma` computes in that time."""
    for op in function.walk():
        matrices = [value for value in (*op.operands, *op.results) if isinstance(value.type, CoopMatrix)]
        if not matrices or not matrix_type(matrices[0]).of_work_group:
            continue
        for value in op.results:
            if isinstance(value.type, CoopMatrix):
                yield _LANES * fragment_layout(value.type, warps).components
        yield _cost(op, warps)


def _cost(op: Op, warps: WarpGrid) -> int:
    if isinstance(op, CooperativeMatrixMulAdd):
        types = [matrix_type(value) for value in (op.a, op.b, op.result)]
        a, b, sums = (fragment_layout(type, warps) for type in types)
        products = _LANES * sums.components * a.threads.padded
        loaded = sum(_LANES * held.components * type.component.size for held, type in zip((a, b), types, strict=False))
        missing = max(0, sum(register_count(type, warps) for type in types) - _REGISTERS)
        return products + _LOADED * loaded + _LANES * _SPILLED * missing
    if isinstance(op, Cast | CooperativeMatrixTranspose):
        (source,), turned = op.operands, isinstance(op, CooperativeMatrixTranspose)
        own, wanted = (fragment_layout(matrix_type(value), warps) for value in (source, op.result))
        return 0 if _alike(own, wanted, turned=turned) else _LANES * _EXCHANGED * (own.components + wanted.components)
    if isinstance(op, Reduce | CooperativeMatrixCombine):
        held = fragment_layout(matrix_type(op.a if isinstance(op, Reduce) else op.matrix), warps)
        lines = max(held.groups.count * (held.threads.parts > 1), held.threads.count * (held.groups.parts > 1))
        return _LANES * _EXCHANGED * lines
    return 0


def _alike(own: FragmentLayout, wanted: FragmentLayout, *, turned: bool) -> bool:
    """Whether threads hold the components of two matrices, or of one and the transpose of the other, alike."""
    return (own.groups, own.threads, own.turned != turned) == (wanted.groups, wanted.threads, wanted.turned)
