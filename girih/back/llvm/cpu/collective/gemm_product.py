"""What a matrix product is while its code is written, and the block of sums that is kept in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from girih.back.llvm.cpu.collective.elements import Elements, Parts
from girih.back.llvm.cpu.collective.microkernel import accumulate, in_flight, multiply_add
from girih.back.llvm.cpu.collective.scaling import Scaling
from girih.back.llvm.emit.text import Operand, Val, wide, zero
from girih.back.llvm.lower.code import MemoryFrame
from girih.back.llvm.lower.collective.views import View
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ProductPiece:
    """Neighbouring rows that a vector holds: where they start, how many lanes, and which of them count."""

    start: Operand
    count: int
    mask: Val | None = None


@dataclass(slots=True)
class Product:
    """target := alpha a b + beta target in the making, all transposes resolved."""

    e: Elements
    end: Scaling
    a: View
    b: View
    target: View
    frame: MemoryFrame
    workspace: Val
    otherwise: tuple[Val, Scaling] | None = None
    """Another end, and the condition under which it stands in for `end`: only of code for which `may_end_twice`."""

    @property
    def parts(self) -> int:
        return len(self.e.zero(1))

    @property
    def direct(self) -> bool:
        """Whether rows are neighbours where they have to be."""
        return self.a.contiguous and self.target.contiguous and not self.end.one_by_one

    @property
    def turned(self) -> Product:
        """The product of the transposes, into the transpose."""
        return replace(self, a=self.b.turned(True), b=self.a.turned(True), target=self.target.turned(True))


def block(
    e: Elements,
    a: View,
    b: View,
    pieces: Sequence[ProductPiece],
    columns: Sequence[Val],
    finish: Callable[[int, int, Parts], None],
    *,
    padded: bool = False,
    ahead: int = 0,
) -> None:
    """Sums for pieces of rows of `a` and columns of `b` that start at addresses; `finish` gets each by column, piece.

    Where `a` is `padded`, lanes that do not count may be read. Rows are asked for so many depths `ahead`.
    """
    w, parts = e.w, len(e.zero(1))
    row_step, depth_a = a.element.size, w.mul(a.strides[1], a.element.size)
    depth_b = w.mul(b.strides[0], b.element.size)
    rows = [w.at(a.pointer, w.mul(piece.start, row_step)) for piece in pieces]

    def step(base: Operand, distance: int, values: Sequence[Val]) -> list[Val]:
        left: list[Val] = []
        for piece, row in zip(pieces, rows, strict=True):
            place = w.at(w.at(row, w.mul(base, depth_a)), w.mul(distance, depth_a))
            if ahead:
                w.prefetch(w.at(place, w.mul(ahead, depth_a)))
            left += e.load(a.element, place, piece.count, None if padded else piece.mask)
        right: list[Val] = []
        for column in columns:
            place = w.at(w.at(column, w.mul(base, depth_b)), w.mul(distance, depth_b))
            right += e.load(b.element, place)
        return multiply_add(w, left, right, values)

    start = [
        zero(wide(e.part, piece.count)) for _ in range(len(columns) * parts) for piece in pieces for _ in range(parts)
    ]
    sums = accumulate(w, a.shape[1], start, step, len(start), together=in_flight(e.target))
    for j in range(len(columns)):
        for i in range(len(pieces)):
            finish(j, i, _together(e, sums, len(pieces), j, i))


def _together(e: Elements, sums: list[Val], pieces: int, j: int, i: int) -> Parts:
    """The sum for a column and a piece; for complex numbers, put together from products of parts."""
    if len(e.zero(1)) == 1:
        return (sums[j * pieces + i],)
    rows = 2 * pieces
    real, imaginary = (sums[(2 * j + part) * rows + 2 * i :][:2] for part in range(2))
    w = e.w
    if real[0].type.endswith(("float", "float>", "double", "double>")):
        return w.binary("fsub", real[0], imaginary[1]), w.binary("fadd", imaginary[0], real[1])
    return w.sub(real[0], imaginary[1]), w.add(imaginary[0], real[1])
