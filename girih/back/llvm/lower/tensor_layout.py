"""Tensor layouts and views in compiled code (`girih.ops.tile.tensor_layout`); numbers that are known leave no code.

Numbers that a layout or view cannot have are found as the interpreter finds them, one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from girih.back.llvm.emit.text import Val, integer, zero
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.tensor_values import I32_HIGH, I32_LOW, U32, LayoutHeld, ViewHeld, quotient
from girih.back.llvm.numbers import addresses
from girih.back.llvm.numbers.addresses import Extent, as_extent, as_scalar
from girih.back.llvm.numbers.values import uniform
from girih.facts import findings
from girih.ir.core import Op, Slice, Value
from girih.ir.types import I32, TensorLayoutType, TensorViewType
from girih.lazy_dataclass import dataclass
from girih.ops.tile.tensor_layout import (
    NO_LAYOUT,
    NO_VIEW,
    SetOfLayout,
    TensorLayoutCreate,
    TensorLayoutSetBlockSize,
    TensorLayoutSetClampValue,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
    TensorViewCreate,
    TensorViewSetClip,
    TensorViewSetDimension,
    TensorViewSetStride,
)

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of number: its name in messages, its range, and the section of the specification that sets it."""

    name: str
    low: int
    high: int
    section: str


_BLOCK_SIZE = _Kind("block_size", 1, U32, "001 8.X, Issue (4)")
_DIMENSION = _Kind("dimension", 1, U32, "000 OpTensorLayoutSetDimensionNV")
_STRIDE = _Kind("stride", 0, U32, "000 OpTensorLayoutSetStrideNV")
_OFFSET = _Kind("offset", I32_LOW, I32_HIGH, "000 OpTensorLayoutSliceNV")
_SPAN = _Kind("span", 1, U32, "001 8.X linearToSpanCoord")
_VIEW_DIMENSION = _Kind("dimension", 1, U32, "001 8.X linearToViewCoord")
_VIEW_STRIDE = _Kind("stride", 0, U32, "000 OpTensorViewSetStrideNV")
_CLIP = _Kind("clip", 0, U32, "000 OpTensorViewSetClipNV")


def _numbers(
    code: KernelCode, op: Op, kind: _Kind, held: Sequence[Value | int | None], what: str
) -> tuple[Extent, ...]:
    """The numbers of an instruction, each checked to be in its range."""
    return tuple(
        _checked(code, op, kind, f"{kind.name}[{position}]", as_extent(code.index(one)), what)
        for position, one in enumerate(held)
        if one is not None
    )


def _checked(code: KernelCode, op: Op, kind: _Kind, name: str, held: Extent, what: str) -> Extent:
    """A number, checked to be in its range."""
    w = code.w
    if isinstance(held, int) and kind.low <= held <= kind.high:
        return held
    scalar = as_scalar(held)
    number = addresses.vector(w, scalar, 1 if scalar.uniform else code.lanes)
    above = w.sub(number, integer(kind.low, number.type))
    bad = w.compare("ugt", above, integer(kind.high - kind.low, number.type))
    words = findings.number_outside(what, name, kind.low, kind.section)
    code.check(op, bad, words, index=(as_scalar(held),), shape=(kind.high,))
    return held


def _dense(code: KernelCode, op: Op, counts: Sequence[Extent], source: tuple[str, str, str]) -> tuple[Extent, ...]:
    """The strides of a dense array of `counts` blocks, outermost first; `source` has the words of a finding."""
    w = code.w
    stride: list[Extent] = [1]
    for count in reversed(counts[1:]):
        stride.append(addresses.multiply(w, stride[-1], count, code.lanes))
    stride.reverse()
    what, fix, section = source
    for position in range(len(counts) - 1, -1, -1):
        over = _above(code, stride[position], U32)
        if over is None:
            continue
        inner = counts[position + 1 :]
        words = findings.stride_too_large(what, position, len(inner), fix, section)
        code.check(op, over, words, index=inner, shape=(stride[position],))
    return tuple(stride)


def _above(code: KernelCode, held: Extent, most: int) -> Val | None:
    """The condition that an unsigned number is larger than a bound; None if it is known not to be."""
    if isinstance(held, int):
        return integer(1, "i1") if held > most else None
    return _unsigned(code, "ugt", held, most)


def _unsigned(code: KernelCode, predicate: str, a: Extent, b: Extent) -> Val:
    x, y = as_scalar(a), as_scalar(b)
    count = 1 if x.uniform and y.uniform else code.lanes
    return code.w.compare(predicate, addresses.vector(code.w, x, count), addresses.vector(code.w, y, count))


# --- layouts -----------------------------------------------------------------------------------


@LOWERINGS.of(TensorLayoutCreate)
def create_layout(code: KernelCode, op: TensorLayoutCreate) -> None:
    """Make a layout whose block sizes are 1 and whose other numbers are 0."""
    type = op.result.type
    assert isinstance(type, TensorLayoutType)
    zeros: tuple[Extent, ...] = (0,) * type.dim
    code.set(op.result, LayoutHeld(type, (1,) * type.dim, zeros, zeros, zeros, zeros, uniform(I32, zero("i32"))))


def _layout(code: KernelCode, value: Value) -> LayoutHeld:
    held: LayoutHeld = code.env[value]
    return held


@LOWERINGS.of(TensorLayoutSetBlockSize)
def set_block_size(code: KernelCode, op: TensorLayoutSetBlockSize) -> None:
    """Replace the block sizes of a layout; its strides stay."""
    sizes = _numbers(code, op, _BLOCK_SIZE, op.numbers, NO_LAYOUT)
    code.set(op.result, replace(_layout(code, op.layout), block_size=sizes))


@LOWERINGS.of(TensorLayoutSetDimension)
def set_dimension(code: KernelCode, op: SetOfLayout) -> None:
    """Replace the dimensions of a layout; strides are those of whole blocks, the region is the whole tensor."""
    held = _layout(code, op.layout)
    sizes = _numbers(code, op, _DIMENSION, op.numbers, NO_LAYOUT)
    counts = [quotient(code, n, b, up=True) for n, b in zip(sizes, held.block_size, strict=True)]
    fix = "make the inner dimensions smaller, or describe a part of the tensor and move the base to it"
    stride = _dense(code, op, counts, (NO_LAYOUT, fix, _DIMENSION.section))
    zeros: tuple[Extent, ...] = (0,) * held.type.dim
    code.set(op.result, replace(held, dimension=sizes, span=sizes, offset=zeros, stride=stride))


@LOWERINGS.of(TensorLayoutSetStride)
def set_stride(code: KernelCode, op: SetOfLayout) -> None:
    """Replace the strides of a layout, each checked to be at least what the next dimension takes."""
    held = _layout(code, op.layout)
    steps = _numbers(code, op, _STRIDE, op.numbers, NO_LAYOUT)
    if code.checks:
        for position in range(held.type.dim - 1):
            _check_order(code, op, held, steps, position)
    code.set(op.result, replace(held, stride=steps))


def _check_order(code: KernelCode, op: Op, held: LayoutHeld, steps: Sequence[Extent], position: int) -> None:
    size, block = held.dimension[position + 1], held.block_size[position + 1]
    count = quotient(code, size, block, up=True)
    least = addresses.multiply(code.w, steps[position + 1], count, code.lanes)
    here = steps[position]
    if isinstance(here, int) and isinstance(least, int) and here >= least:
        return
    bad = _unsigned(code, "ult", here, least)
    index = (here, steps[position + 1], size, block)
    code.check(op, bad, findings.stride_too_small(position, _STRIDE.section), index=index, shape=(least,))


@LOWERINGS.of(TensorLayoutSlice)
def slice_layout(code: KernelCode, op: TensorLayoutSlice) -> None:
    """Add to the offsets of a layout, and replace its spans."""
    held = _layout(code, op.layout)
    moves = tuple(
        as_extent(code.index(one)) if (op, position) in code.place.inside
        else _checked(code, op, _OFFSET, f"{_OFFSET.name}[{position}]", as_extent(code.index(one)), NO_LAYOUT)
        for position, one in enumerate(part.offset for part in op.slices)
    )  # fmt: skip
    span = _numbers(code, op, _SPAN, _sizes(op.slices), NO_LAYOUT)
    offset: list[Extent] = []
    for position, (before, move) in enumerate(zip(held.offset, moves, strict=True)):
        total = addresses.add(code.w, before, move, code.lanes)
        if before != 0:
            _check_offset(code, op, position, (before, move), total)
        offset.append(total)
    code.set(op.result, replace(held, offset=tuple(offset), span=span))


def _check_offset(code: KernelCode, op: Op, position: int, added: tuple[Extent, Extent], total: Extent) -> None:
    if isinstance(total, int) and I32_LOW <= total <= I32_HIGH:
        return
    moved = addresses.add(code.w, total, -I32_LOW, code.lanes)
    bad = _unsigned(code, "ugt", moved, U32)
    code.check(op, bad, findings.offset_too_large(position, _OFFSET.section), index=added, shape=(total,))


@LOWERINGS.of(TensorLayoutSetClampValue)
def set_clamp_value(code: KernelCode, op: TensorLayoutSetClampValue) -> None:
    """Replace the clamp value of a layout."""
    code.set(op.result, replace(_layout(code, op.layout), clamp_value=code.scalar(op.value)))


def _sizes(slices: Sequence[Slice]) -> list[Value | int | None]:
    return [one.size for one in slices]


# --- views -------------------------------------------------------------------------------------


@LOWERINGS.of(TensorViewCreate)
def create_view(code: KernelCode, op: TensorViewCreate) -> None:
    """Make a view whose numbers are 0, and which clips nothing."""
    type = op.result.type
    assert isinstance(type, TensorViewType)
    zeros: tuple[Extent, ...] = (0,) * type.dim
    code.set(op.result, ViewHeld(type, zeros, zeros, (0, U32, 0, U32)))


def _view(code: KernelCode, value: Value) -> ViewHeld:
    held: ViewHeld = code.env[value]
    return held


@LOWERINGS.of(TensorViewSetDimension)
def set_view_dimension(code: KernelCode, op: TensorViewSetDimension) -> None:
    """Replace the dimensions of a view; strides are those of a dense array."""
    sizes = _numbers(code, op, _VIEW_DIMENSION, op.numbers, NO_VIEW)
    source = (NO_VIEW, "make the inner dimensions smaller", "000 OpTensorViewSetDimensionNV")
    code.set(op.result, replace(_view(code, op.view), dimension=sizes, stride=_dense(code, op, sizes, source)))


@LOWERINGS.of(TensorViewSetStride)
def set_view_stride(code: KernelCode, op: TensorViewSetStride) -> None:
    """Replace the strides of a view, which may be any."""
    steps = _numbers(code, op, _VIEW_STRIDE, op.numbers, NO_VIEW)
    code.set(op.result, replace(_view(code, op.view), stride=steps))


@LOWERINGS.of(TensorViewSetClip)
def set_clip(code: KernelCode, op: TensorViewSetClip) -> None:
    """Replace the rows and columns that a view accesses."""
    parts = [part for one in op.slices for part in (one.offset, one.size) if part is not None]
    names = ("row_offset", "row_span", "column_offset", "column_span")
    clip = [
        _checked(code, op, _CLIP, name, as_extent(code.index(part)), NO_VIEW)
        for name, part in zip(names, parts, strict=True)
    ]
    code.set(op.result, replace(_view(code, op.view), clip=tuple(clip)))
