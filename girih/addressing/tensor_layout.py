"""`TensorLayout`: how a tensor of up to five dimensions lies in memory, and which region of it is accessed (000, 001).

Dimension 0 is outermost. A layout is a frozen value; every setter returns a changed copy, as the SPIR-V instructions
do, and the order of the calls matters: `set_block_size`, `set_dimension`, `set_stride`, `slice`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Self, SupportsIndex

import girih.addressing.tensor_rules as rules
from girih.addressing.access import Access
from girih.addressing.display import Drawn
from girih.addressing.errors import I32_HIGH, I32_LOW, U32, RuleReport, Violation, plural
from girih.addressing.tensor_index import tensor_access, tensor_lints
from girih.addressing.tensor_view import TensorView

ClampMode = Literal["undefined", "constant", "clamp_to_edge", "repeat", "mirror_repeat"]


@dataclass(frozen=True)
class TensorLayout(Drawn):
    """The layout of a tensor in memory and the slice of it that a load or store accesses (001 4.1.X).

    `dim` is 1 to 5; `clamp_mode` says what happens to coordinates outside: "undefined", "constant" (loads give the
    clamp value, stores are dropped), "clamp_to_edge", "repeat" or "mirror_repeat" (loads only; stores are dropped).

    The state, one number per dimension, outermost first: `block_size` in elements, `dimension` in elements, `stride`
    in blocks, `offset` and `span` of the slice in elements; `clamp_value`, 32 bits whose low bits fill.
    `stride_is_explicit` tells strides that were set from those that followed from the dimensions.

    Raises `AddressingError` for an illegal `dim` or `clamp_mode`.
    """

    dim: int
    clamp_mode: ClampMode = "undefined"
    block_size: tuple[int, ...] = field(init=False)
    dimension: tuple[int, ...] = field(init=False)
    stride: tuple[int, ...] = field(init=False)
    offset: tuple[int, ...] = field(init=False)
    span: tuple[int, ...] = field(init=False)
    clamp_value: int = field(init=False, default=0)
    stride_is_explicit: bool = field(init=False, default=False)
    floor_stride: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """The strides that a driver with the quirk "nvidia-580" uses."""
    block_size_is_late: bool = field(init=False, default=False, repr=False, compare=False)
    """Whether the block size was set after the strides had followed from the dimensions."""

    def __post_init__(self) -> None:
        report = RuleReport("TensorLayout")
        dim = report.integer("dim", self.dim, 1, 5, rules.LAYOUT_DIM)
        report.word("clamp_mode", self.clamp_mode, rules.CLAMP_MODES, rules.CLAMP_MODE)
        report.done()
        zeros = (0,) * dim
        self._put(dim=dim, block_size=(1,) * dim, dimension=zeros, stride=zeros, offset=zeros, span=zeros)
        self._put(floor_stride=zeros)

    def set_block_size(self, *block_size: SupportsIndex) -> TensorLayout:
        """A copy with these block sizes, in elements, outermost dimension first (000 OpTensorLayoutSetBlockSizeNV).

        Strides that were computed before stay.

        Raises `AddressingError` unless there is one block size of 1 .. 2^32-1 per dimension.
        """
        report = RuleReport("TensorLayout.set_block_size")
        sizes = self._operands(report, "block_size", block_size, 1, U32)
        report.done()
        late = any(self.dimension) and not self.stride_is_explicit and sizes != self.block_size
        return self._changed(block_size=sizes, block_size_is_late=late)

    def set_dimension(self, *dimension: SupportsIndex) -> TensorLayout:
        """A copy with these dimensions, in elements, outermost first (000 OpTensorLayoutSetDimensionNV).

        The span becomes the dimensions, the offset 0, and the strides, in blocks, those of a dense tensor: a block row
        counts `ceiling(dimension / block size)`. Raises `AddressingError` unless there is one dimension of 1 .. 2^32-1
        each, and when a stride would exceed 32 bits.
        """
        report = RuleReport("TensorLayout.set_dimension")
        sizes = self._operands(report, "dimension", dimension, 1, U32)
        report.done()
        counts = [-(-size // block) for size, block in zip(sizes, self.block_size, strict=True)]
        stride = _dense(counts)
        for position, number in enumerate(stride):
            if number > U32:
                report.add(
                    rules.IMPLICIT_STRIDE,
                    f"stride[{position}] would be {' * '.join(map(str, counts[position + 1 :]))} = {number}, "
                    f"over 2^32-1 = {U32}",
                    "make the inner dimensions smaller, or describe a part of the tensor and move the base to it",
                )
        report.done()
        floor = _dense([size // block for size, block in zip(sizes, self.block_size, strict=True)])
        return self._changed(
            dimension=sizes,
            span=sizes,
            offset=(0,) * self.dim,
            stride=stride,
            floor_stride=floor,
            stride_is_explicit=False,
            block_size_is_late=False,
        )

    def set_stride(self, *stride: SupportsIndex) -> TensorLayout:
        """A copy with these strides, in blocks, outermost dimension first (000 OpTensorLayoutSetStrideNV).

        Raises `AddressingError` unless there is one stride of 0 .. 2^32-1 per dimension, each at least the next one
        times the next dimension in blocks.
        """
        report = RuleReport("TensorLayout.set_stride")
        steps = self._operands(report, "stride", stride, 0, U32)
        report.done()
        for position in range(self.dim - 1):
            size, block = self.dimension[position + 1], self.block_size[position + 1]
            least = steps[position + 1] * -(-size // block)
            if steps[position] < least:
                report.add(
                    rules.STRIDE_ORDER,
                    f"stride[{position}] = {steps[position]} is less than stride[{position + 1}] * "
                    f"ceiling(dimension[{position + 1}] / block_size[{position + 1}]) = "
                    f"{steps[position + 1]} * ceiling({size} / {block}) = {least}",
                    f"make stride[{position}] at least {least}, or order dimensions by stride and permute in a view",
                )
        report.done()
        return self._changed(stride=steps, floor_stride=steps, stride_is_explicit=True, block_size_is_late=False)

    def slice(self, *slices: tuple[SupportsIndex, SupportsIndex]) -> TensorLayout:
        """A copy that accesses a region: one `(offset, span)` per dimension, in elements (000 OpTensorLayoutSliceNV).

        The outermost dimension is first. Offsets are signed, add to those of the layout and may point outside; spans
        replace those of the layout.
        Raises `AddressingError` for a wrong count, a span outside 1 .. 2^32-1, or an offset that leaves 32 bits.
        """
        report = RuleReport("TensorLayout.slice")
        self._count(report, "(offset, span) pair", slices)
        pairs = [_pair(report, position, one) for position, one in enumerate(slices)]
        report.done()
        moves = report.integers("offset", [pair[0] for pair in pairs], I32_LOW, I32_HIGH, rules.OFFSET)
        span = report.integers("span", [pair[1] for pair in pairs], 1, U32, rules.SPAN)
        offset = tuple(old + move for old, move in zip(self.offset, moves, strict=True))
        for position, number in enumerate(offset):
            if not I32_LOW <= number <= I32_HIGH:
                report.add(
                    rules.OFFSET,
                    f"offset[{position}] = {self.offset[position]} + {moves[position]} = {number} is no signed 32-bit "
                    "integer",
                    "slice the tensor once, from its origin",
                )
        report.done()
        return self._changed(offset=offset, span=span)

    def set_clamp_value(self, bits: SupportsIndex) -> TensorLayout:
        """A copy that fills with the low bits of this 32-bit value, a bit pattern (000 OpTensorLayoutSetClampValueNV).

        Raises `AddressingError` outside -2^31 .. 2^32-1; negative values stand for their two's complement.
        """
        report = RuleReport("TensorLayout.set_clamp_value")
        fix = "pass the bit pattern, such as int(np.float32(x).view(np.uint32))"
        value = report.integer("bits", bits, I32_LOW, U32, rules.CLAMP_VALUE, fix)
        report.done()
        return self._changed(clamp_value=value & U32)

    def access(
        self, rows: int, columns: int, view: TensorView | None = None, store: bool = False, *, quirks: str | None = None
    ) -> Access:
        """The elements that a load of a matrix `[rows, columns]` touches, or with `store` a store of one.

        `element` counts components, or blocks, from the base; `block` and `within` are `[rows, columns, dim]`. With
        `quirks="nvidia-580"` the answer is that driver's where it differs from the text (001 8.X Cooperative Matrix
        Functions).
        Raises `AddressingError` for an illegal shape, dimensions that were never set, a view that does not fit the
        layout, and indices beyond 32 bits.
        """
        return tensor_access(self, rows, columns, view, store, quirks)

    def lints(
        self,
        rows: int | None = None,
        columns: int | None = None,
        view: TensorView | None = None,
        store: bool = False,
    ) -> tuple[Violation, ...]:
        """The violations of severity `lint`: what is legal and probably not meant in the layout.

        With `rows` and `columns` also those of a load of such a matrix, or with `store` of a store. Raises
        `AddressingError` for operands that `access` refuses.
        """
        report = RuleReport("TensorLayout")
        self._lint_strides(report)
        for position, (size, span, offset) in enumerate(zip(self.dimension, self.span, self.offset, strict=True)):
            if self.clamp_mode == "mirror_repeat" and size == 1 and (offset < 0 or offset + span > 1):
                report.add(
                    rules.MIRROR_OF_ONE,
                    f"dimension[{position}] = 1 is mirrored, a remainder by 2*1-2 = 0; coordinate 0 is taken",
                    'use "clamp_to_edge", which says so',
                )
        violations = [*report.violations, *(view.lints() if view is not None else ())]
        if rows is not None and columns is not None:
            violations += tensor_lints(self, rows, columns, view, store)
        return tuple(violations)

    def _lint_strides(self, report: RuleReport) -> None:
        if self.block_size_is_late:
            report.add(
                rules.BLOCK_SIZE_LATE,
                f"block size {self.block_size} was set after dimension {self.dimension}; the strides {self.stride} "
                "are still those of the block size before",
                "call set_block_size before set_dimension",
            )
        if self.floor_stride != self.stride and not self.block_size_is_late:
            report.add(
                rules.PARTIAL_BLOCK,
                f"dimension {self.dimension} is no multiple of block size {self.block_size}; the implicit strides are "
                f"{self.stride}, and {self.floor_stride} where a driver rounds down",
                f"call set_stride{self.stride}",
            )
        if self.stride[-1] != 1 and any(self.dimension):
            report.add(
                rules.INNER_STRIDE,
                f"the innermost stride is {self.stride[-1]}",
                f"add an innermost dimension of {self.stride[-1]} with stride 1, and slice one element of it",
            )

    def _operands(
        self, report: RuleReport, name: str, values: Sequence[object], low: int, high: int
    ) -> tuple[int, ...]:
        self._count(report, name.replace("_", " "), values)
        return report.integers(name, values, low, high, _RANGES[name])

    def _count(self, report: RuleReport, name: str, values: Sequence[object]) -> None:
        if len(values) != self.dim:
            report.add(
                rules.LAYOUT_COUNT,
                f"{plural(len(values), name, ('is', 'are'))} given, the layout has {plural(self.dim, 'dimension')}",
                "give one for each dimension, outermost first",
            )

    def _changed(self, **state: object) -> Self:
        return copy.copy(self)._put(**state)

    def _put(self, **state: object) -> Self:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        return self


_RANGES = {"block_size": rules.BLOCK_SIZE, "dimension": rules.DIMENSION, "stride": rules.STRIDE}


def _dense(counts: Sequence[int]) -> tuple[int, ...]:
    """The strides of a dense array of these sizes, outermost first."""
    return tuple(math.prod(counts[position + 1 :]) for position in range(len(counts)))


def _pair(report: RuleReport, position: int, value: object) -> tuple[object, object]:
    if isinstance(value, tuple | list) and len(value) == 2:
        return value[0], value[1]
    report.add(rules.SLICE_PAIR, f"slice {position} is {value!r}", "pass (offset, span)")
    return 0, 1
