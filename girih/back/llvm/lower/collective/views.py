"""The memory of a collective instruction's operands as boxes, and the type in which it computes."""

from __future__ import annotations

from girih.back.llvm.emit.text import Operand, Val
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.values import MemRefHeld, Scalar
from girih.ir.types import BF16, F16, F32, I8, I16, I32, I64, INDEX, Number
from girih.lazy_dataclass import dataclass

_COMPUTING = {I8: I32, I16: I32, INDEX: I64, BF16: F32, F16: F32}


def computing(element: Number) -> Number:
    """The type in which sums for a target with such elements are computed."""
    return _COMPUTING.get(element, element)


@dataclass(frozen=True, slots=True)
class View:
    """A box of elements in memory: element (i, j, ...) lies at pointer + size * (i * strides[0] + ...) bytes."""

    element: Number
    pointer: Val
    shape: tuple[Operand, ...]
    strides: tuple[Operand, ...]
    name: str = ""
    local: bool = False

    @property
    def contiguous(self) -> bool:
        """Whether the elements along the first mode are known to be neighbours."""
        return not self.strides or self.strides[0] == 1

    def address(self, w: Writer, *indices: Operand) -> Val:
        """The address of an element."""
        held = self.pointer
        for position, stride in zip(indices, self.strides, strict=True):
            held = w.at(held, w.mul(w.mul(position, stride), self.element.size))
        return held

    def turned(self, transpose: bool) -> View:
        """The transpose of a matrix, if asked for."""
        if not transpose or len(self.shape) != 2:
            return self
        return View(self.element, self.pointer, self.shape[::-1], self.strides[::-1], self.name, self.local)

    def inner(self, w: Writer, position: Operand) -> View:
        """The box at a position of the last mode."""
        moved = w.at(self.pointer, w.mul(w.mul(position, self.strides[-1]), self.element.size))
        return View(self.element, moved, self.shape[:-1], self.strides[:-1], self.name, self.local)


def view(w: Writer, held: MemRefHeld) -> View:
    """A memref that all work-items share."""
    shape, strides = (tuple(map(_extent, row)) for row in (held.shape, held.strides))
    pointer = w.at(held.pointer, w.mul(_extent(held.offset), held.element.size))
    return View(held.element, pointer, shape, strides, held.name, held.local)


def _extent(held: int | Scalar) -> Operand:
    if isinstance(held, int):
        return held
    known = held.part.literal
    return held.part if known is None else known


def known_extents(a: View, b: View, c: View) -> tuple[View, View, View]:
    """The factors and the target of a matrix product, each extent as well known as any operand knows it."""
    m = _known(a.shape[0], c.shape[0])
    n = _known(b.shape[1], c.shape[1])
    k = _known(a.shape[1], b.shape[0])
    return (
        View(a.element, a.pointer, (m, k), a.strides, a.name, a.local),
        View(b.element, b.pointer, (k, n), b.strides, b.name, b.local),
        View(c.element, c.pointer, (m, n), c.strides, c.name, c.local),
    )


def _known(a: Operand, b: Operand) -> Operand:
    return a if isinstance(a, int) else b
