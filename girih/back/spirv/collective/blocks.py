"""Matrix products by the matrices of subgroups that every device with matrices has (KHR_cooperative_matrix).

Such a matrix has a listed size, is all there, and its lines begin at multiples of 16 bytes. So these products are for
sizes that are known to be multiples, and for lines that are known to begin there. A subgroup computes a block of a few
matrices of the target, so that it uses each factor that it loads several times.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from girih.back.llvm.emit.text import Operand, Val, integer, zero
from girih.back.llvm.lower.one_lane.linalg.dealing import deal
from girih.back.llvm.lower.one_lane.linalg.target import ScaledTarget
from girih.back.llvm.numbers.values import register
from girih.back.spirv.code.memory import MemoryKind
from girih.back.spirv.collective.lines import LineMatrix
from girih.back.spirv.collective.plan import Holders, listed_products, no_product
from girih.back.spirv.collective.scaling import scaled
from girih.back.spirv.matrix.code import MatrixCode, matrix_word
from girih.back.spirv.matrix.lines import wanted_alignment
from girih.back.spirv.matrix.memory import MatrixPlace, matrix_place, seen_as
from girih.back.spirv.matrix.multiples import power_of_two
from girih.back.spirv.matrix.operations import Order
from girih.back.spirv.matrix.values import SIGNED, converted, splat
from girih.back.spirv.profiles.profile import MatrixShape
from girih.ir.types import F16, CoopMatrix, Number, Use
from girih.lazy_dataclass import dataclass

_COUNTS = (4, 2, 1)
"""How many matrices a block may have along a mode."""


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """A product by matrices of a listed shape, `rows` x `columns` of them in the block of a subgroup."""

    shape: MatrixShape
    factor: Number
    sums: Number
    rows: int
    columns: int

    @property
    def left(self) -> CoopMatrix:
        """The type of a part of the left factor."""
        return CoopMatrix(self.factor, self.shape.m, self.shape.k, Use.A)

    @property
    def right(self) -> CoopMatrix:
        """The type of a part of the right factor."""
        return CoopMatrix(self.factor, self.shape.k, self.shape.n, Use.B)

    def result(self, component: Number) -> CoopMatrix:
        """The type of a part of the result with some components."""
        return CoopMatrix(component, self.shape.m, self.shape.n, Use.ACC)


def block_plan(
    code: MatrixCode, target: ScaledTarget, lines: Sequence[LineMatrix], holders: Holders
) -> BlockPlan | str:
    """The matrices of a product, whose left and right factor and result have these lines; else why there are none."""
    left, right = (one.matrix.view for one in lines[:2])
    profile, sums, element = code.profile, target.numbers.compute, target.view.element
    extents = (*left.shape, right.shape[1])
    shapes = list(listed_products(profile, Holders(0, holders.subgroup), left.element, sums))
    if not shapes:
        return no_product(profile, holders, left.element, right.element, sums)
    told = f"whose matrices of {shapes[0].m}x{shapes[0].n}x{shapes[0].k} it has"
    if not all(isinstance(one, int) for one in extents):
        return f"the sizes of the product are not known, and {profile.name} has no tensor layouts, which clip"
    known = [one for one in extents if isinstance(one, int)]
    for shape in shapes:
        if not any(one % unit for one, unit in zip(known, (shape.m, shape.k, shape.n), strict=True)) and all(known):
            break
    else:
        sizes = "x".join(map(str, (known[0], known[2], known[1])))
        return f"a product of {sizes} is no multiple of what {profile.name} has, {told}"
    if element != sums and not _is_rounded(code, sums, element, shapes):
        return f"{profile.name} has no functions of elements, which would round sums of {sums} to {element}"
    plan = BlockPlan(shape, left.element, sums, *_counts(code, known[0] // shape.m, known[2] // shape.n))
    for one, type in zip(lines, (plan.left, plan.right, plan.result(element)), strict=True):
        if not _is_whole(code, one, type):
            name = one.matrix.view.name
            return (
                f"lines of `{name}` are not known to begin at multiples of 16 bytes, as `stride_gcd` of a parameter "
                f"could promise, and {profile.name} has no tensor layouts"
            )
    return plan


def _is_rounded(code: MatrixCode, sums: Number, element: Number, shapes: Sequence[MatrixShape]) -> bool:
    """Whether one instruction converts sums to the elements of the result, which may be accumulators."""
    listed = any(shape.c == element.name and shape.m == shapes[0].m for shape in code.profile.matrices)
    return listed and element == F16 and sums.family == "floating" and code.profile.has("round16")


def _is_whole(code: MatrixCode, lines: LineMatrix, type: CoopMatrix) -> bool:
    """Whether each matrix of this type may be loaded and stored as a whole, wherever in memory its block begins."""
    size, known = power_of_two(type.component.size), lines.matrix.known
    along = type.rows if lines.turned else type.columns
    place = code.recorder.place(lines.matrix.view.pointer)
    near = isinstance(lines.distance, int) or place.memory.kind is not MemoryKind.ADDRESS
    least = min(known.begin, lines.distance_multiple * size, power_of_two(along) * size)
    return near and least >= wanted_alignment(type, _order(lines))


def _order(lines: LineMatrix) -> Order:
    return "column" if lines.turned else "row"


def _counts(code: MatrixCode, rows: int, columns: int) -> tuple[int, int]:
    """How many matrices along each mode a block has: the largest with which no subgroup is idle."""
    fitting = [
        (height, width)
        for height, width in product(_COUNTS, _COUNTS)
        if rows % height == 0
        and columns % width == 0
        and (rows // height) * (columns // width) >= code.geometry.subgroups
    ]
    return max(fitting, key=lambda one: (one[0] * one[1], one[0]), default=(1, 1))


@dataclass(frozen=True, slots=True)
class BlockProduct:
    """The product of a left and a right factor by blocks of matrices."""

    code: MatrixCode
    target: ScaledTarget
    plan: BlockPlan
    left: LineMatrix
    right: LineMatrix
    result: LineMatrix

    def write(self) -> None:
        """Write the code of all blocks, which go to the subgroups one after the other."""
        w, plan = self.code.w, self.plan
        height, width = plan.rows * plan.shape.m, plan.columns * plan.shape.n
        rows, columns = self.result.matrix.view.shape
        assert isinstance(rows, int) and isinstance(columns, int)

        def block(at: Sequence[Operand]) -> None:
            self._block(w.mul(at[0], height), w.mul(at[1], width))

        deal(self.code, (rows // height, columns // width), block, to_subgroups=True)

    def _block(self, row: Operand, column: Operand) -> None:
        code, w, plan = self.code, self.code.w, self.plan
        shape = plan.shape
        rows = [w.add(row, k * shape.m) for k in range(plan.rows)]
        columns = [w.add(column, k * shape.n) for k in range(plan.columns)]
        nothing = splat(code, plan.result(plan.sums), (zero(register(plan.sums)),))
        places = list(product(range(plan.rows), range(plan.columns)))
        signed = SIGNED if plan.sums.family == "integer" else frozenset[str]()
        with w.loop(0, self.left.matrix.view.shape[1], shape.k, [nothing] * len(places)) as loop:
            left = [self._load(self.left, (at, loop.index), plan.left) for at in rows]
            right = [self._load(self.right, (loop.index, at), plan.right) for at in columns]
            loop.following = [
                code.node("matrix_mul_add", (left[i], right[j], sums), sums.type, (signed, False))
                for (i, j), sums in zip(places, loop.values, strict=True)
            ]
        for (i, j), sums in zip(places, loop.results, strict=True):
            self._finish(sums, (rows[i], columns[j]))

    def _finish(self, sums: Val, corner: tuple[Operand, Operand]) -> None:
        """Bring the sums of a matrix to the target."""
        code, plan = self.code, self.plan
        of_sums, of_target = plan.result(plan.sums), plan.result(self.target.view.element)
        old = None
        if self.target.reads:
            old = converted(code, self._load(self.result, corner, of_target), of_target, of_sums)
        # What is converted is stored, and nothing is computed with it.
        found = converted(code, scaled(code, self.target, sums, old), of_sums, of_target, moved=True)
        place = self._place(self.result, corner, written=True)
        operands = (found, place.element, self._stride(self.result))
        code.recorder.node("matrix_store", operands, None, (place.memory, place.type, _order(self.result)))

    def _load(self, lines: LineMatrix, corner: tuple[Operand, Operand], type: CoopMatrix) -> Val:
        place = self._place(lines, corner, written=False)
        operands = (place.element, self._stride(lines))
        details = (place.memory, place.type, _order(lines))
        return self.code.recorder.node("matrix_load", operands, matrix_word(type), details)

    def _place(self, lines: LineMatrix, corner: tuple[Operand, Operand], *, written: bool) -> MatrixPlace:
        w, view = self.code.w, lines.matrix.view
        size, distance = view.element.size, integer(0)
        for first, stride in zip(corner, view.strides, strict=True):
            distance = w.add(distance, w.mul(w.mul(first, stride), size))
        return matrix_place(self.code, view.pointer, distance, seen_as(view.element), size, written=written)

    def _stride(self, lines: LineMatrix) -> Val:
        return self.code.w.convert("trunc", self.code.w.value(lines.distance), "i32")
