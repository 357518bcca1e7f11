"""The bounds of a tile of a memref: which of its elements are there, and which one is missing first.

Every access is looked at as a whole: two comparisons per mode, whatever the size of the tile.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.numbers.addresses import Extent, as_scalar
from girih.back.llvm.numbers.values import MemRefHeld, Scalar, index
from girih.ir.types import CoopMatrix
from girih.ops.tile.coopmatrix import MatrixAccess


class TileBounds:
    """The part of a tile that is inside its memref; pairs are for the rows and the columns of the matrix.

    `place` is the first row and column in the memref, whose modes change places where the access is transposed.
    """

    def __init__(
        self, code: KernelCode, op: MatrixAccess, memref: MemRefHeld, place: Sequence[Val], type: CoopMatrix
    ) -> None:
        self.code, self.op, self.memref, self.type = code, op, memref, type
        turn = -1 if op.transpose else 1
        self.position = list(place)[::turn]
        self.sizes = [as_scalar(s).part for s in memref.shape][::turn]
        strides: list[Extent] = list(memref.strides)[::turn]
        self.strides: list[Operand] = [s if isinstance(s, int) else s.part for s in strides]
        self.checked = (op.checked.rows, op.checked.columns)
        self.inside = [self._inside(k) for k in range(2)]

    def _inside(self, mode: int) -> Val:
        """Whether all rows, or all columns, are there."""
        w = self.code.w
        if (self.op, mode) in self.code.place.inside:
            return integer(1, "i1")
        last = w.sub(self.sizes[mode], self.type.shape[mode])
        start = self.position[mode]
        return w.binary("and", w.compare("sge", start, 0), w.compare("sle", start, last))

    def _range(self, mode: int) -> tuple[Val, Val]:
        """The first row or column that is inside the memref, and the end of them."""
        w = self.code.w
        extent = self.type.shape[mode]
        first = w.larger(w.sub(0, self.position[mode]), 0)
        end = w.smaller(w.sub(self.sizes[mode], self.position[mode]), extent)
        return w.smaller(first, extent), w.larger(end, 0)

    def outside(self) -> Val | None:
        """Whether an element is missing that no flag leaves out; None if none can be."""
        w = self.code.w
        bad: Val | None = None
        for mode in range(2):
            if self.checked[mode]:
                continue
            missing = w.negated(self.inside[mode])
            if self.checked[1 - mode]:
                first, end = self._range(1 - mode)
                missing = w.binary("and", missing, w.compare("slt", first, end))
            bad = missing if bad is None else w.binary("or", bad, missing)
        return bad

    def wanted(self) -> list[tuple[Val, Val]]:
        """The first row that no flag leaves out and the end of them, and the same for columns."""
        return [
            self._range(mode) if self.checked[mode] else (integer(0), integer(self.type.shape[mode]))
            for mode in range(2)
        ]

    def all_there(self) -> Val | None:
        """Whether flags leave nothing out; None if they never do."""
        w = self.code.w
        inside: Val | None = None
        for mode in range(2):
            if self.checked[mode]:
                inside = w.both(inside, self.inside[mode])
        return None if inside is not None and inside.literal == 1 else inside

    def first(self) -> Val:
        """The element of the memory at which the tile begins."""
        w = self.code.w
        first: Operand = self.memref.offset.part
        for mode in range(2):
            first = w.add(first, w.mul(self.position[mode], self.strides[mode]))
        return w.value(first)

    def steps(self) -> list[Operand]:
        """The distances of rows and of columns in bytes."""
        w, size = self.code.w, self.type.component.size
        return [s * size if isinstance(s, int) else w.mul(s, size) for s in self.strides]

    def first_missing(self) -> list[Scalar]:
        """The first element that is missing, row by row, as indices of the memref."""
        place = self._first_missing()
        return [index(p) for p in (place[::-1] if self.op.transpose else place)]

    def _first_missing(self) -> list[Val]:
        w = self.code.w
        row, column = self.position
        rows, columns = self.sizes
        if self.checked[0]:
            return [w.larger(row, 0), w.select(w.compare("slt", column, 0), column, w.larger(column, columns))]
        gone = w.compare("uge", row, rows)
        if self.checked[1]:
            return [w.select(gone, row, rows), w.larger(column, 0)]
        narrow = w.compare("uge", column, columns)
        wide_ = w.compare("sgt", w.add(column, self.type.columns), columns)
        at_first_row = w.binary("or", gone, w.binary("or", narrow, wide_))
        return [
            w.select(at_first_row, row, rows),
            w.select(w.binary("or", gone, narrow), column, w.select(wide_, columns, column)),
        ]
