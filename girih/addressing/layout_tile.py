"""`LayoutTile`: a whole access through a tensor layout: matrix shape, base, layout and view in one frozen value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from girih.addressing.access import Access
from girih.addressing.buffers import AnyArray
from girih.addressing.display import Drawn
from girih.addressing.errors import Violation
from girih.addressing.load_store import load_tensor, store_tensor
from girih.addressing.tensor_layout import TensorLayout
from girih.addressing.tensor_view import TensorView


@dataclass(frozen=True)
class LayoutTile(Drawn):
    """A matrix `[rows, columns]` that lies in memory as `layout` and `view` say (001 8.X).

    The base is `element_offset` elements from the start of a buffer. `access`, `load` and `store` raise
    `AddressingError` as those of `TensorLayout`, `load_tensor` and `store_tensor` do.
    """

    layout: TensorLayout
    rows: int
    columns: int
    view: TensorView | None = None
    element_offset: int = 0

    @classmethod
    def of_span(cls, layout: TensorLayout) -> LayoutTile:
        """The span of a layout as a matrix: the innermost dimension along the columns, all others along the rows."""
        return cls(layout, math.prod(layout.span[:-1]), layout.span[-1])

    def access(self) -> Access:
        """What a load touches; `element` counts from the start of the buffer."""
        access = self.layout.access(self.rows, self.columns, self.view)
        moved = np.where(access.element >= 0, access.element + self.element_offset, -1)
        return replace(access, element=moved)

    def load(self, buffer: AnyArray) -> AnyArray:
        """The matrix that lies in `buffer`, an array of components; elements that are skipped are 0."""
        empty = np.zeros((self.rows, self.columns), buffer.dtype)
        return load_tensor(empty, buffer, self.element_offset, self.layout, self.view)

    def store(self, buffer: AnyArray, matrix: AnyArray) -> None:
        """Write a matrix `[rows, columns]` into `buffer`, which changes in place."""
        store_tensor(matrix, buffer, self.element_offset, self.layout, self.view)

    def lints(self) -> tuple[Violation, ...]:
        """What is legal and probably not meant, in the layout, the view, and this access."""
        return self.layout.lints(self.rows, self.columns, self.view)
