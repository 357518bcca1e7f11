"""`LayoutTile`: a whole access through a tensor layout: matrix shape, base, layout and view in one frozen value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

import girih.addressing.tensor_rules as rules
from girih.addressing.access import Access, check_count
from girih.addressing.buffers import ELEMENT_OFFSET, AnyArray, check_buffer, check_component
from girih.addressing.display import Drawn
from girih.addressing.errors import I64_HIGH, U32, RuleReport, Violation, what_it_is
from girih.addressing.load_store import load_tensor, store_tensor
from girih.addressing.tensor_layout import TensorLayout
from girih.addressing.tensor_view import TensorView


@dataclass(frozen=True)
class LayoutTile(Drawn):
    """A matrix `[rows, columns]` that lies in memory as `layout` and `view` say (001 8.X).

    The base is `element_offset` elements from the start of a buffer. Raises `AddressingError` for a `layout` or `view`
    of another type and for numbers out of range: rows and columns are 1 to 2^32-1, the offset 0 to 2^63-1.
    """

    layout: TensorLayout
    rows: int
    columns: int
    view: TensorView | None = None
    element_offset: int = 0

    def __post_init__(self) -> None:
        report = RuleReport("LayoutTile")
        if not isinstance(self.layout, TensorLayout):
            report.add(rules.LAYOUT_TYPE, f"the layout is {what_it_is(self.layout)}", "pass a TensorLayout")
        if self.view is not None and not isinstance(self.view, TensorView):
            report.add(rules.VIEW_TYPE, f"the view is {what_it_is(self.view)}", "pass a TensorView, or None")
        numbers = {
            "rows": report.integer("rows", self.rows, 1, U32, rules.MATRIX_SHAPE),
            "columns": report.integer("columns", self.columns, 1, U32, rules.MATRIX_SHAPE),
            "element_offset": report.integer("element_offset", self.element_offset, 0, I64_HIGH, ELEMENT_OFFSET),
        }
        report.done()
        for name, number in numbers.items():
            object.__setattr__(self, name, number)

    @classmethod
    def of_span(cls, layout: TensorLayout) -> LayoutTile:
        """The span of a layout as a matrix: the innermost dimension along the columns, all others along the rows.

        Raises `AddressingError` for a `layout` of another type or without dimensions, and for over 2^32-1 rows.
        """
        report = RuleReport("LayoutTile.of_span")
        if not isinstance(layout, TensorLayout):
            report.add(rules.LAYOUT_TYPE, f"the layout is {what_it_is(layout)}", "pass a TensorLayout")
        elif not all(layout.span):
            message = f"the dimensions of the layout were never set: they are {layout.dimension}"
            report.add(rules.NO_DIMENSION, message, "call set_dimension, and slice after it")
        report.done()
        return cls(layout, math.prod(layout.span[:-1]), layout.span[-1])

    def access(self) -> Access:
        """The elements that a load touches, `[rows, columns]`; `element` counts from the start of the buffer (001 8.X).

        Raises `AddressingError` for what `TensorLayout.access` refuses, and for an index over 2^63-1.
        """
        access = self.layout.access(self.rows, self.columns, self.view)
        self._check_last(int(access.element.max(initial=-1)))
        moved = np.where(access.element >= 0, access.element + self.element_offset, -1)
        return replace(access, element=moved)

    def _check_last(self, highest: int) -> None:
        """Raise where the index of the last element, counted from the start of the buffer, leaves 64 bits."""
        report = RuleReport("LayoutTile.access")
        if self.element_offset + highest > I64_HIGH:
            message = f"element_offset = {self.element_offset} + {highest} is over 2^63-1"
            report.add(ELEMENT_OFFSET, message, "choose a smaller offset")
        report.done()

    def load(self, buffer: AnyArray) -> AnyArray:
        """The matrix `[rows, columns]` that lies in `buffer`, an array of components; skipped elements are 0.

        Raises `AddressingError` for arrays, layouts and views that `load_tensor` refuses.
        """
        report = RuleReport("LayoutTile.load")
        check_count(report, (self.rows, self.columns))
        if check_buffer(report, buffer, store=False):
            check_component(report, buffer.dtype, "buffer")
        report.done()
        empty = np.zeros((self.rows, self.columns), buffer.dtype)
        return load_tensor(empty, buffer, self.element_offset, self.layout, self.view)

    def store(self, buffer: AnyArray, matrix: AnyArray) -> None:
        """Write `matrix`, `[rows, columns]` components, into `buffer`, an array of the same components, in place.

        Raises `AddressingError` for arrays, layouts and views that `store_tensor` refuses, before anything is written.
        """
        store_tensor(matrix, buffer, self.element_offset, self.layout, self.view)

    def lints(self) -> tuple[Violation, ...]:
        """The violations of severity `lint`: what is legal and probably not meant in layout, view and load."""
        return self.layout.lints(self.rows, self.columns, self.view)
