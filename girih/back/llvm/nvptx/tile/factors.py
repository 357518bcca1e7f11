"""Factors of products in shared memory, as `wgmma` takes them: descriptors, and where each depth begins.

PTX ISA "Asynchronous warpgroup level matrix shared memory layout" and "Matrix descriptor"; docs/design/tile.md has the
table of strides.
"""

from __future__ import annotations

from collections.abc import Mapping

from girih.ir.types import BF16, F8E4M3, F8E5M2, F16, F32, I8, I32, Number
from girih.lazy_dataclass import dataclass
from girih.tile.form import SharedTile

DEPTH_BYTES = 32
"""The bytes of a line of a factor that an instruction multiplies."""
BLOCK = 64
"""The rows of the sums of an instruction."""
MOST_COLUMNS = 256
"""The columns of the sums of an instruction at most."""
UNIT = 16
"""Addresses and distances in descriptors count pieces of so many bytes."""

_SWIZZLE_CODES = {32: 3, 64: 2, 128: 1}
_GROUP = 8
"""The lines that a swizzle goes over, from which the next ones are a stride away."""

_FACTORS: Mapping[Number, str] = {F16: "f16", BF16: "bf16", F32: "tf32", F8E4M3: "e4m3", F8E5M2: "e5m2", I8: "s8"}
_SUMS: Mapping[Number, str] = {F32: "f32", I32: "s32"}


@dataclass(frozen=True, slots=True)
class StoredFactor:
    """A factor as a tile: left factors have rows and a depth, right ones a depth and columns.

    `across` is the mode that is not the depth: rows of a left factor, columns of a right one.
    """

    tile: SharedTile
    left: bool

    @property
    def turned(self) -> bool:
        """Whether neighbours are along the rows of a left factor, or the columns of a right one ("MN-major")."""
        return self.tile.by_rows != self.left

    @property
    def depth(self) -> int:
        """The number of components along the depth."""
        return self.tile.lines if self.turned else self.tile.span

    @property
    def constant(self) -> int:
        """A descriptor but for its address."""
        tile = self.tile
        leading = tile.panel_bytes // UNIT if self.turned else 1
        stride = _GROUP * tile.pitch // UNIT
        return leading << 16 | stride << 32 | _SWIZZLE_CODES[tile.swizzle] << 62

    def begin(self, across: int, depth: int) -> int:
        """The byte of the tile at which an instruction begins, from a row or column and a place in the depth on."""
        line, neighbour = (depth, across) if self.turned else (across, depth)
        panel, within = divmod(neighbour, self.tile.panel)
        return panel * self.tile.panel_bytes + line * self.tile.pitch + within * self.tile.component.size


@dataclass(frozen=True, slots=True)
class ProductKind:
    """An instruction for factors of some types: its name but for the columns, and its depth in components."""

    types: str
    depth: int
    major: bool
    """Whether it has operands that say which mode is contiguous; types of 16 bits have."""
    signed: bool
    """Whether it has operands that change signs; types of floating numbers have."""

    def opcode(self, columns: int) -> str:
        """The name of the instruction for so many columns."""
        return f"wgmma.mma_async.sync.aligned.m64n{columns}k{self.depth}.{self.types}"


def product_kind(left: Number, right: Number, sums: Number) -> ProductKind:
    """The instruction for factors and sums of some types. Raises `ValueError` where there is none."""
    eight = (F8E4M3, F8E5M2)
    alike = left == right or (left in eight and right in eight)
    if not alike or left not in _FACTORS or sums not in _SUMS or (left == I8) != (sums == I32):
        raise ValueError(f"no product of {left} and {right} in {sums}")
    types = f"{_SUMS[sums]}.{_FACTORS[left]}.{_FACTORS[right]}"
    return ProductKind(types, DEPTH_BYTES // left.size, left.size == 2, left != I8)
