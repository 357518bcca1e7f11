"""Offsets of elements as sums whose parts go in front of the loops in which they do not change.

An index is often a sum of what an outer loop and an inner loop count, as in `U[i, j + d, k]`. Its product with a stride
is a sum, too: j * stride + d * stride, and the first part is found once for all d. Of all parts of an offset those are
added first that change least. So accesses next to each other share all but their last sum, which is a number in the
instruction where the stride is known, and one sum of addresses where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.numbers.addresses import as_scalar
from girih.back.llvm.numbers.values import Linear, MemRefHeld, Scalar, index
from girih.back.llvm.nvptx.machine.writer import NvptxWriter
from girih.ir.types import INDEX


def offset_of(code: KernelCode, w: NvptxWriter, memref: MemRefHeld, indices: Sequence[Scalar]) -> Scalar | None:
    """How many elements behind its pointer a memref has those at some indices; None where that is no sum of such parts.

    It is one number, or grows evenly from lane to lane.
    """
    if not memref.offset.uniform:
        return None
    parts: list[tuple[Val, int]] = []
    known, growth = 0, 0
    for held, stride in [*zip(indices, memref.strides, strict=True), (memref.offset, 1)]:
        by = as_scalar(stride)
        if not by.uniform:
            return None
        if held.linear is not None:
            factor = by.part.literal
            if factor is None:
                return None
            growth += held.linear.stride * factor
            terms = w.terms_of(held.linear.base)
        elif held.uniform:
            terms = w.terms_of(held.part)
        else:
            return None
        for term, sign in terms:
            product = w.mul(term, by.part)
            if product.literal is not None:
                known += sign * product.literal
            else:
                parts.append((product, sign))
    parts.sort(key=lambda part: (part[0].level, part[1] < 0))
    most = max((part.level for part, _ in parts), default=0)
    outside = _sum(w, [part for part in parts if part[0].level < most])
    base = w.add(_sum(w, parts), known)
    inside = [part for part in parts if part[0].level == most]
    if outside.literal is None:
        w.note_offset(base, outside, _sum(w, inside), known)
    return index(base) if growth == 0 else Scalar(INDEX, (), Linear(base, growth))


def _sum(w: NvptxWriter, parts: Sequence[tuple[Val, int]]) -> Val:
    """The sum of parts times 1 or -1, from the first one on."""
    total = integer(0)
    for part, sign in parts:
        total = w.add(total, part) if sign > 0 else w.sub(total, part)
    return total
