"""`TensorView`: another reading of the accessed region: its dimensions, their order, and a clip region (000, 001)."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self, SupportsIndex

import numpy as np

import girih.addressing.tensor_rules as rules
from girih.addressing.display import Drawn
from girih.addressing.errors import U32, RuleReport, Violation, plural


@dataclass(frozen=True)
class TensorView(Drawn):
    """A view of the span of a layout (001 4.1.X Tensor Layout Types); dimension 0 is outermost.

    `dim` is 1 to 5. With `has_dimensions`, `dimension` and `stride` (both in elements) replace those of the layout's
    span. `permutation` says in which order the matrix runs through the dimensions, outermost first; None is 0, 1, 2 ...
    `clip` is (row offset, row span, column offset, column span): matrix elements outside are not accessed.

    Raises `AddressingError` for an illegal `dim` or `permutation`.
    """

    dim: int
    has_dimensions: bool = False
    permutation: tuple[int, ...] | None = None
    dimension: tuple[int, ...] = field(init=False)
    stride: tuple[int, ...] = field(init=False)
    clip: tuple[int, int, int, int] = field(init=False, default=(0, U32, 0, U32))

    def __post_init__(self) -> None:
        report = RuleReport("TensorView")
        dim = report.integer("dim", self.dim, 1, 5, rules.VIEW_DIM)
        if not isinstance(self.has_dimensions, bool | np.bool_):
            report.add(
                rules.HAS_DIMENSIONS, f"has_dimensions = {self.has_dimensions!r} is no boolean", "use True or False"
            )
        report.done()
        given = range(dim) if self.permutation is None else self.permutation
        values = report.sequence("permutation", given, "dimension numbers")
        report.done()
        order = report.integers("permutation", values, 0, dim - 1, rules.PERMUTATION)
        report.done()
        if sorted(order) != list(range(dim)):
            report.add(
                rules.PERMUTATION,
                f"permutation = {order} is no permutation of {tuple(range(dim))}",
                f"name each of 0 .. {dim - 1} once",
            )
        report.done()
        self._put(dim=dim, has_dimensions=bool(self.has_dimensions), permutation=order)
        self._put(dimension=(0,) * dim, stride=(0,) * dim)

    @property
    def order(self) -> tuple[int, ...]:
        """The permutation, also where it was left out: 0, 1, 2 ..."""
        return self.permutation or ()

    def set_dimension(self, *dimension: SupportsIndex) -> TensorView:
        """A copy with these dimensions, in elements, and the strides of a dense array (000 OpTensorViewSetDimensionNV).

        Raises `AddressingError` unless there is one dimension of 1 .. 2^32-1 each, and when a stride would exceed
        32 bits.
        """
        report = RuleReport("TensorView.set_dimension")
        self._count(report, "dimension", dimension)
        sizes = report.integers("dimension", dimension, 1, U32, rules.VIEW_DIMENSION)
        report.done()
        stride = tuple(math.prod(sizes[position + 1 :]) for position in range(self.dim))
        for position, number in enumerate(stride):
            if number > U32:
                report.add(
                    rules.VIEW_IMPLICIT_STRIDE,
                    f"stride[{position}] would be {' * '.join(map(str, sizes[position + 1 :]))} = {number}, "
                    f"over 2^32-1 = {U32}",
                    "make the inner dimensions smaller",
                )
        report.done()
        return copy.copy(self)._put(dimension=sizes, stride=stride)

    def set_stride(self, *stride: SupportsIndex) -> TensorView:
        """A copy with these strides, in elements of the span (000 OpTensorViewSetStrideNV).

        Raises `AddressingError` unless there is one stride of 0 .. 2^32-1 per dimension.
        """
        report = RuleReport("TensorView.set_stride")
        self._count(report, "stride", stride)
        steps = report.integers("stride", stride, 0, U32, rules.VIEW_STRIDE)
        report.done()
        return copy.copy(self)._put(stride=steps)

    def set_clip(
        self,
        row_offset: SupportsIndex,
        row_span: SupportsIndex,
        column_offset: SupportsIndex,
        column_span: SupportsIndex,
    ) -> TensorView:
        """A copy that accesses only this part of the matrix (000 OpTensorViewSetClipNV).

        Elements outside are skipped. The matrix is read in rows of `min(columns, column_span)` elements.
        Raises `AddressingError` for a number outside 0 .. 2^32-1.
        """
        report = RuleReport("TensorView.set_clip")
        names = ("row_offset", "row_span", "column_offset", "column_span")
        values = (row_offset, row_span, column_offset, column_span)
        clip = tuple(report.integer(name, value, 0, U32, rules.CLIP) for name, value in zip(names, values, strict=True))
        report.done()
        return copy.copy(self)._put(clip=clip)

    def lints(self) -> tuple[Violation, ...]:
        """The violations of severity `lint`: what is legal and probably not meant in the view, whatever its layout."""
        report = RuleReport("TensorView")
        for axis, offset, span in (("row", *self.clip[:2]), ("column", *self.clip[2:])):
            if span == 0:
                fix = f"clip to one {axis} or more, or leave the matrix whole"
                report.add(rules.CLIP_EMPTY, f"the {axis} span of the clip is 0: every element is skipped", fix)
            if offset + span > U32:
                report.add(
                    rules.CLIP_WRAP,
                    f"clip {axis} offset {offset} + span {span} = {offset + span} is past 2^32-1",
                    f"set the {axis} span to what the matrix has behind {axis} {offset}",
                )
        if not self.has_dimensions and any((*self.dimension, *self.stride)):
            report.add(
                rules.VIEW_IGNORED,
                f"dimension {self.dimension} and stride {self.stride} of a view without has_dimensions are not used",
                "create it with has_dimensions=True",
            )
        return tuple(report.violations)

    def _count(self, report: RuleReport, name: str, values: Sequence[object]) -> None:
        if len(values) != self.dim:
            count = plural(len(values), name, ("is", "are"))
            message = f"{count} given, the view has {plural(self.dim, 'dimension')}"
            report.add(rules.VIEW_COUNT, message, "give one for each dimension, outermost first")

    def _put(self, **state: object) -> Self:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        return self
