"""The collective matrix product on a device with matrices (003 "GEMM").

The factors and the sums must be a product that the profile lists; `plan` says which tiles. Where layouts may turn out
not to describe the memory when the kernel runs, the shader has loops of all threads as well, and the remark
`vulkan.lines` says what would be good to know. What goes by loops in any case, and why, is told by `vulkan.gemm`.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.collective.views import known_extents
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.linalg import products
from girih.back.llvm.lower.one_lane.linalg.lowerings import prepared
from girih.back.llvm.lower.one_lane.linalg.target import ScaledTarget
from girih.back.spirv.collective.blocks import BlockProduct, block_plan
from girih.back.spirv.collective.lines import CollectiveMatrix, LineMatrix, line_matrix
from girih.back.spirv.collective.plan import Holders, flexible_plan
from girih.back.spirv.collective.tensors import TensorMatrix, TensorProduct
from girih.back.spirv.matrix.code import MatrixCode
from girih.facts.remarks import product_by_loops, uneven_lines
from girih.ops.tile.linalg import Gemm

LOWERINGS = Lowerings[MatrixCode]()
"""The lowerings of this file."""


@LOWERINGS.of(Gemm)
def gemm(code: MatrixCode, op: Gemm) -> None:
    """c := alpha op1(a) op2(b) + beta c."""
    target, (a, b, c) = prepared(code, op)
    left, right, result = known_extents(a.turned(op.transpose_a), b.turned(op.transpose_b), c)
    transposes = (op.transpose_a, op.transpose_b, False)
    matrices = [
        CollectiveMatrix(view, code.multiples.memref(value).turned(transpose))
        for view, value, transpose in zip((left, right, result), (op.a, op.b, op.c), transposes, strict=True)
    ]
    product = _product(code, op, target, matrices)

    def loops() -> list[Val]:
        products.matrix_product(code, target, left, right)
        return []

    def tiles(product: TensorProduct | BlockProduct) -> list[Val]:
        product.write()
        return []

    if isinstance(product, str):
        code.remarks.note(product_by_loops(product), op.span)
        loops()
    elif isinstance(product, BlockProduct):
        tiles(product)
    else:
        if product.unknown:
            code.remarks.note(uneven_lines(product.unknown), op.span)
        suits = product.suits
        if suits.literal == 1:
            tiles(product)
        else:
            code.w.either(suits, lambda: tiles(product), loops)
    code.barrier()


def _product(
    code: MatrixCode, op: Gemm, target: ScaledTarget, matrices: Sequence[CollectiveMatrix]
) -> TensorProduct | BlockProduct | str:
    """The product by the device's matrices; else the reason why it goes by loops."""
    if op.atomic:
        return "the elements of the result are updated one by one, so that each update is atomic"
    a, b = (one.view.element for one in matrices[:2])
    if a != b:
        return f"the factors have elements of two types, {a} and {b}"
    subgroup = code.geometry.subgroup_size if code.geometry.subgroup_size == code.device_subgroup else 0
    holders = Holders(code.geometry.subgroups * code.geometry.subgroup_size, subgroup)
    straight = [line_matrix(one) for one in matrices]
    lines = [one for one in straight if one is not None]
    for name, found in zip("abc", straight, strict=True):
        if found is None:
            return f"no elements of `{name}` are known to be neighbours in memory, by rows or by columns"
    if code.profile.has("matrix_tensors", "matrix_per_element"):
        return _by_tensors(code, target, matrices, holders)
    plan = block_plan(code, target, lines, holders)
    return plan if isinstance(plan, str) else BlockProduct(code, target, plan, *lines)


def _by_tensors(
    code: MatrixCode, target: ScaledTarget, matrices: Sequence[CollectiveMatrix], holders: Holders
) -> TensorProduct | str:
    """The product by tiles that are loaded through layouts."""
    left, right, result = lines = _oriented(matrices)
    plan = flexible_plan(code.profile, holders, *(one.matrix.view for one in lines))
    if isinstance(plan, str):
        return plan
    tensors = (TensorMatrix.of(code, one, written=one is result) for one in (left, right, result))
    return TensorProduct(code, target, plan, *tensors)


def _oriented(matrices: Sequence[CollectiveMatrix]) -> tuple[LineMatrix, LineMatrix, LineMatrix]:
    """L, R and X with X = L R, where X is the target or its transpose, whichever has lines as its rows."""
    a, b, c = matrices
    for order in ((b.turned(True), a.turned(True), c.turned(True)), (a, b, c)):
        left, right, result = map(line_matrix, order)
        if left is not None and right is not None and result is not None and not result.turned:
            return left, right, result
    raise AssertionError("a matrix has lines as its rows, or its transpose has")
