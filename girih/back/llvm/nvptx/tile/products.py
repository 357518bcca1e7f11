"""Products of consumers: started as groups that run on by themselves, and waited for (PTX ISA "wgmma").

What is in flight must not be copied, or the assembler waits for each product: sums are operands and results of the
instruction, and go through the wait; so do numbers from which a left factor in flight is computed anew behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.nvptx.tile.code import TileCode
from girih.back.llvm.nvptx.tile.factors import (
    BLOCK,
    MOST_COLUMNS,
    UNIT,
    ProductKind,
    StoredFactor,
    product_kind,
)
from girih.back.llvm.nvptx.tile.ptx import word
from girih.diagnostics import InternalError
from girih.lazy_dataclass import dataclass
from girih.tile.form import SharedTile, TileProduct


@dataclass(frozen=True, slots=True)
class PlacedFactor:
    """A factor in the slot of a ring: its tile, and the byte of shared memory where it begins, an i32."""

    factor: StoredFactor
    begin: Val

    @staticmethod
    def of(tile: SharedTile, begin: Val, *, left: bool) -> PlacedFactor:
        return PlacedFactor(StoredFactor(tile, left), begin)

    def descriptor(self, code: TileCode, first: Val | int, across: int, depth: int) -> Val:
        """The descriptor, an i64, from a byte behind the begin on, and a row or column and a place in the depth."""
        w = code.w
        begin = w.add(self.begin, first) if isinstance(first, Val) else self.begin
        low = w.convert("zext", w.binary("lshr", begin, word(UNIT.bit_length() - 1)), "i64")
        base = w.binary("or", low, integer(self.factor.constant))
        return w.add(base, self.factor.begin(across, depth) // UNIT)


@dataclass(frozen=True, slots=True)
class ProductCode:
    """The code of one product, of sums that a thread has as 32-bit registers."""

    code: TileCode
    product: TileProduct
    left: PlacedFactor | Sequence[Val]
    right: PlacedFactor

    def write(self, sums: Sequence[Val] | None) -> list[Val]:
        """The registers of the sums while the product runs; without sums before, they are set by it."""
        share, kind = self.code.share(self.product.sums), self._kind()
        columns = _columns_of(share.held.columns)
        found: list[Val] = []
        for block in range(share.blocks):
            for first in range(0, share.held.columns, columns):
                count, here = columns // 2, len(found)
                before = None if sums is None else sums[here : here + count]
                found += self._block(kind, block, first, columns, before, share.type)
        return found

    def _kind(self) -> ProductKind:
        sums, right = self.code.share(self.product.sums).component, self.right.factor.tile.component
        if isinstance(self.left, PlacedFactor):
            left = self.left.factor.tile.component
        else:
            left = self.code.kernel.held(str(self.product.left)).component
        try:
            return product_kind(left, right, sums)
        except ValueError as error:
            raise InternalError(f"in a tile program of @{self.code.function.name}: {error}") from None

    def _block(
        self, kind: ProductKind, block: int, first: int, columns: int, sums: Sequence[Val] | None, type: str
    ) -> list[Val]:
        """The sums of 64 rows and some columns: one instruction for each depth, all in one piece of assembly."""
        count, right = columns // 2, self.right.factor
        listed = "{" + ", ".join(f"${k}" for k in range(count)) + "}"
        operands: list[Val] = list(sums or ())
        letter = "f" if type == "float" else "r"
        constraints = [f"={'' if sums else '&'}{letter}"] * count + [str(k) for k in range(len(operands))]
        texts = []
        for number, depth in enumerate(range(0, right.depth, kind.depth)):
            a, place = self._left(kind, block, depth), count + len(operands)
            b = self.right.descriptor(self.code, 0, first, depth)
            names = [f"${place + k}" for k in range(len(a))]
            factor = names[0] if isinstance(self.left, PlacedFactor) else "{" + ", ".join(names) + "}"
            operands += [*a, b]
            constraints += [*["l" if one.type == "i64" else "r" for one in a], "l"]
            scale = int(bool(sums) or number > 0)
            texts.append(f"{kind.opcode(columns)} {listed}, {factor}, ${place + len(a)}, {scale}{self._flags(kind)};")
        return self.code.ptx.results(" ".join(texts), [type] * count, constraints, operands)

    def _left(self, kind: ProductKind, block: int, depth: int) -> list[Val]:
        """The operands of a left factor: a descriptor, or the registers of a depth."""
        if isinstance(self.left, PlacedFactor):
            factor = self.left.factor
            rows = self.code.share(self.product.sums).rows
            first = self.code.w.mul(self.code.consumer, word(factor.begin(rows, 0)))
            return [self.left.descriptor(self.code, first, BLOCK * block, depth)]
        words = len(self.left) // self.code.share(self.product.sums).blocks
        begin = block * words + depth // 4
        return list(self.left[begin : begin + kind.depth // 4])

    def _flags(self, kind: ProductKind) -> str:
        """The operands that change signs, and those that say which modes are contiguous."""
        flags = [1, 1] if kind.signed else []
        if kind.major:
            flags += [int(self.left.factor.turned)] if isinstance(self.left, PlacedFactor) else []
            flags += [int(self.right.factor.turned)]
        return "".join(f", {flag}" for flag in flags)


def _columns_of(columns: int) -> int:
    """The columns of an instruction: as many as it has at most, in equal parts."""
    parts = next(n for n in range(1, columns + 1) if columns % n == 0 and columns // n <= MOST_COLUMNS)
    if columns // parts % 8:
        raise InternalError(f"a tile of {columns} columns is no whole number of instructions")
    return columns // parts
