"""The elements of a cooperative matrix that each work-item holds (the layout that 003 names for extract and insert).

With subgroup size S, rows M, columns N: I = min(M, S), J = the smallest n >= N with I*n divisible by S, K = M / I.
Element (i + k*I, j), k = k1 + K1*k2, has the linear index i + k1*I + j*I*K1 + k2*I*K1*J; work-item p holds as component
v the element with linear index p + v*S. What lies past column N is zero. K1 = 1, except 2 for matrix_b with one-byte
components and M > S (where K is even: an odd K has no pairs).
"""

from __future__ import annotations

from math import gcd
from typing import Any, TypeVar

from girih.ir.types import CoopMatrix, Use
from girih.lazy_dataclass import dataclass

Index = TypeVar("Index", int, Any)


@dataclass(frozen=True, slots=True)
class ComponentLayout:
    """The layout of a matrix type for a subgroup size, in the numbers of this module's formulas."""

    subgroup_size: int
    rows: int
    columns: int
    block_rows: int
    padded_columns: int
    blocks: int
    interleaved_blocks: int

    @property
    def components(self) -> int:
        """The number of components that a work-item holds, padding included."""
        return self.block_rows * self.padded_columns * self.blocks // self.subgroup_size

    def position(self, lane: Index, component: Index) -> tuple[Index, Index]:
        """The row and column of a component of a work-item, `lane`; the column may lie past the matrix.

        Arrays of numbers give arrays.
        """
        linear = lane + component * self.subgroup_size
        span = self.block_rows * self.interleaved_blocks
        outer, rest = divmod(linear, span * self.padded_columns)
        column, rest = divmod(rest, span)
        inner, row = divmod(rest, self.block_rows)
        return row + (inner + self.interleaved_blocks * outer) * self.block_rows, column

    def holder(self, row: Index, column: Index) -> Index:
        """The work-item that holds the element of a row and column. Arrays of numbers give arrays."""
        block, row = divmod(row, self.block_rows)
        outer, inner = divmod(block, self.interleaved_blocks)
        span = self.block_rows * self.interleaved_blocks
        linear = row + inner * self.block_rows + column * span + outer * span * self.padded_columns
        return linear % self.subgroup_size


def layout_of(type: CoopMatrix, subgroup_size: int) -> ComponentLayout | None:
    """The layout of a matrix type; None if its rows are more than the subgroup size, but not a multiple of it."""
    block_rows = min(type.rows, subgroup_size)
    return None if type.rows % block_rows else _layout(type, subgroup_size, block_rows)


def layout_among(type: CoopMatrix, holders: int) -> ComponentLayout:
    """The layout of a matrix type for so many work-items that hold it, which is that of 003 where there is one.

    Blocks of rows that do not fit the work-items are as high as both allow.
    """
    return layout_of(type, holders) or _layout(type, holders, gcd(type.rows, holders))


def _layout(type: CoopMatrix, subgroup_size: int, block_rows: int) -> ComponentLayout:
    step = subgroup_size // gcd(block_rows, subgroup_size)
    blocks = type.rows // block_rows
    paired = type.use is Use.B and type.component.size == 1 and type.rows > subgroup_size and blocks % 2 == 0
    interleaved = 2 if paired else 1
    return ComponentLayout(
        subgroup_size, type.rows, type.columns, block_rows, -(-type.columns // step) * step, blocks, interleaved
    )
