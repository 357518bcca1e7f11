"""The collective matrix product on a device with matrices (003 "GEMM").

The factors and the sums must be a product that the profile lists; `plan` says which tiles. Where layouts may turn out
not to describe the memory when the kernel runs, the shader has loops of all threads as well. What goes by loops in any
case, and why, is said by the remark `vulkan.gemm`.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.collective.views import View, known_extents
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.linalg import products
from girih.back.llvm.lower.one_lane.linalg.lowerings import prepared
from girih.back.llvm.lower.one_lane.linalg.target import ScaledTarget
from girih.back.spirv.collective.lines import LineMatrix, line_matrix
from girih.back.spirv.collective.plan import Holders, flexible_plan
from girih.back.spirv.collective.tensors import TensorMatrix, TensorProduct
from girih.back.spirv.matrix.code import MatrixCode
from girih.facts.remarks import product_by_loops, product_by_matrices
from girih.ops.tile.linalg import Gemm

LOWERINGS = Lowerings[MatrixCode]()
"""The lowerings of this file."""


@LOWERINGS.of(Gemm)
def gemm(code: MatrixCode, op: Gemm) -> None:
    """c := alpha op1(a) op2(b) + beta c."""
    target, (a, b, c) = prepared(code, op)
    left, right, result = known_extents(a.turned(op.transpose_a), b.turned(op.transpose_b), c)
    product = _product(code, op, target, (left, right, result))

    def loops() -> list[Val]:
        products.matrix_product(code, target, left, right)
        return []

    def tiles(product: TensorProduct) -> list[Val]:
        product.write()
        return []

    if isinstance(product, str):
        code.remarks.note(product_by_loops(product), op.span)
        loops()
    else:
        code.remarks.note(product_by_matrices(str(product.plan)), op.span)
        suits = product.suits
        if suits.literal == 1:
            tiles(product)
        else:
            code.w.either(suits, lambda: tiles(product), loops)
    code.barrier()


def _product(code: MatrixCode, op: Gemm, target: ScaledTarget, views: tuple[View, View, View]) -> TensorProduct | str:
    """The product by the device's matrices; else the reason why it goes by loops."""
    if op.atomic:
        return "the elements of the result are updated one by one, so that each update is atomic"
    if views[0].element != views[1].element:
        return f"the factors have elements of two types, {views[0].element} and {views[1].element}"
    if not code.profile.has("matrix_tensors", "matrix_per_element"):
        return f"{code.profile.name} has no loads and stores through tensor layouts"
    lines = _oriented(views)
    if isinstance(lines, str):
        return lines
    left, right, result = lines
    subgroup = code.geometry.subgroup_size if code.geometry.subgroup_size == code.device_subgroup else 0
    holders = Holders(code.geometry.subgroups * code.geometry.subgroup_size, subgroup)
    plan = flexible_plan(code.profile, holders, left.view, right.view, result.view)
    if isinstance(plan, str):
        return plan
    matrices = (TensorMatrix.of(code, one, written=one is result) for one in lines)
    return TensorProduct(code, target, plan, *matrices)


def _oriented(views: tuple[View, View, View]) -> tuple[LineMatrix, LineMatrix, LineMatrix] | str:
    """L, R and X with X = L R, where X is the target, or its transpose; its rows are lines if they can be."""
    a, b, c = views
    straight, turned = (a, b, c), (b.turned(True), a.turned(True), c.turned(True))
    both = [[line_matrix(view) for view in order] for order in (turned, straight)]
    for name, found in zip(("b", "a", "c"), both[0], strict=True):
        if found is None:
            return f"no elements of `{name}` are known to be neighbours in memory, by rows or by columns"
    for left, right, result in both:
        if left is not None and right is not None and result is not None and not result.turned:
            return left, right, result
    raise AssertionError("a matrix of lines has them as its rows, or its transpose has")
