"""Index arithmetic on values that are the same in all lanes, grow evenly from lane to lane, or vary in any way.

A uniform value stays one scalar, and one that grows evenly stays a base and a stride, so that neighbouring elements are
loaded as one vector.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import Val
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.values import Linear, Scalar, index, spread
from girih.ir.types import INDEX

Extent = int | Scalar
"""A size, stride or offset."""


def as_scalar(held: Extent) -> Scalar:
    """An extent as an index."""
    return index(held) if isinstance(held, int) else held


def as_extent(held: Scalar) -> Extent:
    """An index as an extent: a constant becomes a plain int."""
    known = held.part.literal if held.linear is None else None
    return held if known is None else known


def add(w: Writer, a: Extent, b: Extent, count: int) -> Extent:
    """The sum of two extents in `count` lanes."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a == 0 or b == 0:
        return b if a == 0 else a
    x, y = as_scalar(a), as_scalar(b)
    if x.uniform and y.uniform:
        return as_extent(index(w.add(x.part, y.part)))
    if x.uniform or y.uniform:
        same, other = (x, y) if x.uniform else (y, x)
        if other.linear is not None:
            return _linear(w.add(other.linear.base, same.part), other.linear.stride)
    elif x.linear is not None and y.linear is not None:
        return _linear(w.add(x.linear.base, y.linear.base), x.linear.stride + y.linear.stride)
    return index(w.add(vector(w, x, count), vector(w, y, count)))


def multiply(w: Writer, a: Extent, b: Extent, count: int) -> Extent:
    """The product of two extents in `count` lanes."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 0 or b == 0:
        return 0
    if a == 1 or b == 1:
        return b if a == 1 else a
    x, y = as_scalar(a), as_scalar(b)
    if x.uniform and y.uniform:
        return as_extent(index(w.mul(x.part, y.part)))
    for scalar, factor in ((x, b), (y, a)):
        if scalar.linear is not None and isinstance(factor, int):
            return _linear(w.mul(scalar.linear.base, factor), scalar.linear.stride * factor)
    return index(w.mul(vector(w, x, count), vector(w, y, count)))


def _linear(base: Val, stride: int) -> Scalar:
    return index(base) if stride == 0 else Scalar(INDEX, (), Linear(base, stride))


def vector(w: Writer, held: Scalar, count: int) -> Val:
    """An index as a vector with one element per lane."""
    if held.linear is not None:
        return spread(w, held.linear, count)
    return w.splat(held.part, count)
