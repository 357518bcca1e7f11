"""Tensor layouts and views as values in compiled code, with one value for each number that the instructions set.

Constant numbers are ints, so that all that follows from them is known while code is written. The others are indices of
64 bits.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import integer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.numbers import addresses
from girih.back.llvm.numbers.addresses import Extent, as_extent, as_scalar
from girih.back.llvm.numbers.values import Scalar, index, uniform
from girih.ir.core import Op
from girih.ir.types import ClampMode, TensorLayoutType, TensorViewType
from girih.lazy_dataclass import dataclass

U32 = 2**32 - 1
I32_LOW, I32_HIGH = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True)
class LayoutHeld:
    """A tensor layout; numbers are outermost first, strides count blocks, `clamp_value` is an i32."""

    type: TensorLayoutType
    block_size: tuple[Extent, ...]
    dimension: tuple[Extent, ...]
    stride: tuple[Extent, ...]
    offset: tuple[Extent, ...]
    span: tuple[Extent, ...]
    clamp_value: Scalar

    @property
    def mode(self) -> ClampMode:
        """The clamp mode, for coordinates outside the tensor."""
        return self.type.clamp_mode

    @property
    def has_dimensions(self) -> bool:
        """Whether dimensions were set, without which nothing can be accessed."""
        return all(n != 0 for n in (*self.dimension, *self.span))


@dataclass(frozen=True, slots=True)
class ViewHeld:
    """A tensor view; `clip` is (row offset, row span, column offset, column span)."""

    type: TensorViewType
    dimension: tuple[Extent, ...]
    stride: tuple[Extent, ...]
    clip: tuple[Extent, ...]

    @property
    def lacks_dimensions(self) -> bool:
        """Whether the view needs dimensions of its own that were not set."""
        return self.type.has_dimensions and any(n == 0 for n in self.dimension)


def shared_layout(code: KernelCode, op: Op, held: LayoutHeld) -> LayoutHeld:
    """The layout of an instruction in the first active work-item; it is a finding if another one's differs."""
    block_size, dimension, stride, offset, span = (
        _shared(code, op, "layout", numbers)
        for numbers in (held.block_size, held.dimension, held.stride, held.offset, held.span)
    )
    value = held.clamp_value
    if not value.uniform:
        value = uniform(value.type, *code.agreed(op, "layout", value))
    return LayoutHeld(held.type, block_size, dimension, stride, offset, span, value)


def shared_view(code: KernelCode, op: Op, held: ViewHeld) -> ViewHeld:
    """The view of an instruction in the first active work-item; it is a finding if another one's differs."""
    dimension, stride, clip = (
        _shared(code, op, "view", numbers) for numbers in (held.dimension, held.stride, held.clip)
    )
    return ViewHeld(held.type, dimension, stride, clip)


def _shared(code: KernelCode, op: Op, name: str, numbers: tuple[Extent, ...]) -> tuple[Extent, ...]:
    def one(extent: Extent) -> Extent:
        if isinstance(extent, int) or extent.uniform:
            return extent
        return as_extent(index(code.agreed(op, name, extent)[0]))

    return tuple(map(one, numbers))


def quotient(code: KernelCode, a: Extent, b: Extent, *, up: bool = False) -> Extent:
    """The quotient a / b of numbers that are not negative, rounded down or `up`; b counts as 1 if it is 0."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b) if up else a // b
    if b == 1:
        return a
    w, x, y = code.w, as_scalar(a), as_scalar(b)
    count = 1 if x.uniform and y.uniform else code.lanes
    p, q = addresses.vector(w, x, count), addresses.vector(w, y, count)
    # The division may be carried out before a check of the divisor, and must not end the process.
    q = w.larger(q, integer(1, q.type))
    if up:
        p = w.add(p, w.sub(q, integer(1, q.type)))
    return as_extent(index(w.binary("udiv", p, q)))
