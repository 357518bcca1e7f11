"""Matrix products whose result is one row or one column: a matrix times a vector.

A row is computed as a column, of the transposed product. A vector whose elements are apart, but have to be neighbours
next to rows that are, is copied piece by piece.
"""

from __future__ import annotations

from dataclasses import replace

from girih.back.llvm.cpu.collective import sums
from girih.back.llvm.cpu.collective.elements import Elements, Parts
from girih.back.llvm.cpu.collective.elementwise import sweep
from girih.back.llvm.cpu.collective.scaling import Scaling
from girih.back.llvm.emit.text import Operand, Val
from girih.back.llvm.lower.collective.views import View


def possible(e: Elements, end: Scaling, a: View, b: View, c: View) -> bool:
    """Whether sums of parts of the depth may be added to the target one after the other, as copying takes."""
    return end.element == e.compute and not end.one_by_one and all(v.element == c.element for v in (a, b))


def column(e: Elements, end: Scaling, a: View, b: View, c: View, piece: Val) -> None:
    """c := alpha a b + beta c for a `b` of one column. `piece` points to `sums.PIECE_BYTES` to work in."""
    vector = View(b.element, b.pointer, b.shape[:1], b.strides[:1])
    target = View(c.element, c.pointer, c.shape[:1], c.strides[:1])
    if a.contiguous or a.strides[1] != 1 or vector.contiguous:
        sums.matrix_vector(e, end, a, vector, target, piece, brief=not isinstance(a.shape[0], int))
    else:
        _by_copies(e, end, a, vector, target, piece)


def row(e: Elements, end: Scaling, a: View, b: View, c: View, piece: Val) -> None:
    """c := alpha a b + beta c for an `a` of one row, by the product of the transposes."""
    column(e, end, b.turned(True), a.turned(True), c.turned(True), piece)


def _by_copies(e: Elements, end: Scaling, a: View, vector: View, target: View, piece: Val) -> None:
    """Parts of the vector are copied, and what they contribute is added."""
    w = e.w
    size = sums.PIECE_BYTES // e.compute.size
    scaled, left = replace(end, alpha=None), target.contiguous and not end.one_by_one

    def prepare(i: Operand, count: int, mask: Val | None) -> None:
        scaled.write(target.address(w, i), e.zero(count), mask)

    if end.overwrite or end.beta is not None:
        sweep(e, target.shape[0], prepare, vectors=left, unroll=1)
    with w.loop(0, a.shape[1], size) as loop:
        few = w.smaller(w.sub(a.shape[1], loop.index), size)
        with w.loop(0, few) as inner:
            held: Parts = e.load(vector.element, vector.address(w, w.add(loop.index, inner.index)))
            e.store(e.compute, w.at(piece, w.mul(inner.index, e.compute.size)), held)
        part = replace(a, pointer=a.address(w, 0, loop.index), shape=(a.shape[0], few))
        sums.matrix_vector(e, end.adding(), part, View(e.compute, piece, (few,), (1,)), target, piece, brief=True)
