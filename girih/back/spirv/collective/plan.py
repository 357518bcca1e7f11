"""How a device with matrices computes a collective matrix product: which matrices, of what size, or why none.

A product goes by tiles of the result. Their sizes follow from what is known of the sizes of the product, from what the
profile lists, and from how many sums a work-item can hold.
"""

from __future__ import annotations

from collections.abc import Iterator

from girih.back.llvm.emit.text import Operand
from girih.back.llvm.lower.collective.views import View, computing
from girih.back.spirv.matrix.choice import fits
from girih.back.spirv.profiles.profile import MatrixShape, Profile
from girih.ir.types import CoopMatrix, MatrixScope, Number, Use
from girih.lazy_dataclass import dataclass

_SUMS = {MatrixScope.WORK_GROUP: 128, MatrixScope.SUBGROUP: 64}
"""How many sums a work-item holds at most."""

_MOST_SIDE = 256
"""Rows or columns of a tile (NVIDIA's cooperativeMatrixFlexibleDimensionsMaxDimension has 256, too)."""

_OPEN_SIDE = 128
"""Rows or columns of a tile of a matrix whose size is known only at run time."""

_DEPTH_BYTES = 128
"""The part of a row of a left factor that one step of a product takes."""

_FEW = 8
"""Loops compute a product that is smaller than one in so many of its tile's."""


@dataclass(frozen=True, slots=True)
class TilePlan:
    """The tiles of a product: `rows` x `columns` of the result, by `depth` summands at a time.

    Factors have components of `factor`, sums of `sums`. `listed` says whether the device has accumulators with
    components of the result's type.
    """

    scope: MatrixScope
    rows: int
    columns: int
    depth: int
    factor: Number
    sums: Number
    listed: bool

    @property
    def left(self) -> CoopMatrix:
        """The type of a tile of the left factor."""
        return CoopMatrix(self.factor, self.rows, self.depth, Use.A, self.scope)

    @property
    def right(self) -> CoopMatrix:
        """The type of a tile of the right factor."""
        return CoopMatrix(self.factor, self.depth, self.columns, Use.B, self.scope)

    def result(self, component: Number) -> CoopMatrix:
        """The type of a tile of the result with some components."""
        return CoopMatrix(component, self.rows, self.columns, Use.ACC, self.scope)

    def __str__(self) -> str:
        of = "the work-group" if self.scope is MatrixScope.WORK_GROUP else "subgroups"
        return f"matrices of {of}, {self.rows}x{self.columns}x{self.depth} at a time"


@dataclass(frozen=True, slots=True)
class Holders:
    """Who holds matrices: `work_items` of a work-group, `subgroup` work-items of which hold those of a subgroup."""

    work_items: int
    subgroup: int

    def of(self, scope: MatrixScope) -> int:
        """The work-items that hold a matrix of a scope."""
        return self.work_items if scope is MatrixScope.WORK_GROUP else self.subgroup


def listed_products(profile: Profile, holders: Holders, factor: Number, sums: Number) -> Iterator[MatrixShape]:
    """The products of a profile of some types, those of the work-group first; `subgroup` 0 has none of subgroups."""
    for scope in (MatrixScope.WORK_GROUP, MatrixScope.SUBGROUP):
        for shape in profile.matrices:
            types = shape.a == shape.b == factor.name and shape.c == shape.result == sums.name
            suits = not shape.work_items or holders.work_items in shape.work_items
            if types and suits and not shape.saturating and shape.scope == scope.value and holders.of(scope):
                yield shape


def flexible_plan(profile: Profile, holders: Holders, left: View, right: View, result: View) -> TilePlan | str:
    """The tiles of a product whose matrices may have any multiple of a listed size; else why there are none."""
    factor, sums = left.element, computing(result.element)
    for shape in listed_products(profile, holders, factor, sums):
        if shape.flexible:
            break
    else:
        return no_product(profile, holders, left.element, right.element, sums)
    scope = MatrixScope(shape.scope)
    (rows, depth), columns = left.shape, right.shape[1]
    most = _SUMS[scope] * holders.of(scope)
    height, width = _tile(rows, columns, shape, most)
    most_depth = _DEPTH_BYTES // factor.size
    at_a_time = _rounded(min(depth, most_depth) if isinstance(depth, int) else most_depth, shape.k)
    plan = TilePlan(scope, height, width, at_a_time, factor, sums, listed=False)
    if isinstance(rows, int) and isinstance(columns, int) and isinstance(depth, int):
        padded = _rounded(rows, height) * _rounded(columns, width) * _rounded(depth, at_a_time)
        if rows * columns * depth * _FEW < padded:
            return f"a product of {rows}x{columns}x{depth} fills too little of a tile of {height}x{width}x{at_a_time}"
    accumulator = plan.result(result.element)
    same = [one for one in profile.matrices if one.scope == shape.scope and one.work_items == shape.work_items]
    return TilePlan(scope, height, width, at_a_time, factor, sums, listed=any(fits(one, accumulator) for one in same))


def no_product(profile: Profile, holders: Holders, a: Number, b: Number, sums: Number) -> str:
    """That a profile lists no product of some types, and which it has, in words."""
    words = dict.fromkeys(
        f"{one.a} into {one.result}"
        for one in profile.matrices
        if not one.work_items or holders.work_items in one.work_items
    )
    has = f"it has {', '.join(words)}" if words else "it has none for a work-group of this size"
    return f"{profile.name} has no product of {a} and {b} with sums of {sums}: {has}"


def _tile(rows: Operand, columns: Operand, shape: MatrixShape, most: int) -> tuple[int, int]:
    """The rows and columns of a tile: all of them where they are few, halved until no more than `most` are left."""
    height, width = (
        _rounded(min(extent, _MOST_SIDE) if isinstance(extent, int) else _OPEN_SIDE, unit)
        for extent, unit in ((rows, shape.m), (columns, shape.n))
    )
    while height * width > most:
        if width >= height and width > shape.n:
            width = _rounded(width // 2, shape.n)
        elif height > shape.m:
            height = _rounded(height // 2, shape.m)
        else:
            break
    return height, width


def _rounded(number: int, unit: int) -> int:
    """The least multiple of a unit, but 0, that is not less than a number."""
    return max(-(-number // unit), 1) * unit
