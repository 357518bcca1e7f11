"""`BlockedInterleaved`: matrices in blocks of 64 bytes, interleaved by words of 4 bytes (002), dense in memory.

A block holds 4 rows of 16 bytes, row-major. `stride` consecutive blocks form a group, in which word 0 of each block
comes first, then word 1 of each, and so on. Groups follow each other without gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from girih.addressing.access import Access, Kind, check_count
from girih.addressing.buffers import (
    TOO_SMALL,
    AnyArray,
    check_buffer,
    check_component,
    check_matrix,
    check_same_type,
    in_memory_order,
)
from girih.addressing.display import Drawn
from girih.addressing.errors import U32, Rule, RuleReport, Violation, plural, rule

ORDER = rule("blocked_interleaved.order", 'blocks are in order "row" or "column"', "002 3.X Cooperative Matrix Layout")
COMPONENT_SIZE = rule(
    "blocked_interleaved.component_size", "a component has 1, 2, 4 or 8 bytes", "002 3.X Cooperative Matrix Layout"
)
ROWS = rule("blocked_interleaved.rows", "rows are a multiple of 4", "002 2.16.1")
COLUMNS = rule("blocked_interleaved.columns", "columns are a multiple of 16 / component size", "002 2.16.1")
ROW_GROUP = rule(
    "blocked_interleaved.row_group",
    "in row order, columns are a multiple of 16 / component size * stride",
    "002 2.16.1",
)
COLUMN_GROUP = rule(
    "blocked_interleaved.column_group", "in column order, rows are a multiple of 4 * stride", "002 2.16.1"
)
STRIDE = rule("blocked_interleaved.stride", "the stride is 1 .. 2^32-1 blocks", "002 3.X Cooperative Matrix Layout")
STRIDE_2 = rule(
    "blocked_interleaved.stride_revision_2", "the stride is 1, 2 or 4", "SPV_ARM_cooperative_matrix_layouts revision 2"
)
STRIDE_LINT = rule(
    "blocked_interleaved.stride_later",
    "the stride is 1, 2 or 4, as revision 2 asks",
    "SPV_ARM_cooperative_matrix_layouts revision 2",
    "lint",
)
REVISION = rule("blocked_interleaved.revision", "revisions 1 and 2 of the extension exist", "002 Version")

BLOCK_BYTES, ROW_BYTES, WORD_BYTES, BLOCK_ROWS = 64, 16, 4, 4
"""A block, one row of it, the unit of interleaving, and the rows of a block (002 3.X)."""


@dataclass(frozen=True)
class BlockedInterleaved(Drawn):
    """A matrix `[rows, columns]` in interleaved blocks (002 RowBlockedInterleavedARM, ColumnBlockedInterleavedARM).

    `order` is that of the blocks, "row" or "column"; `component_size` 1, 2, 4 or 8 bytes; `stride` the number of blocks
    in a group; `revision` that of the extension whose rules are checked. A block has 4 rows and 16 / component_size
    columns. Raises `AddressingError` listing every rule that is broken.
    """

    order: Literal["row", "column"]
    rows: int
    columns: int
    component_size: int
    stride: int
    revision: int = 1

    def __post_init__(self) -> None:
        report = RuleReport("BlockedInterleaved")
        order = report.word("order", self.order, ("row", "column"), ORDER)
        rows = report.integer("rows", self.rows, 1, U32, ROWS)
        columns = report.integer("columns", self.columns, 1, U32, COLUMNS)
        size = report.integer("component_size", self.component_size, 1, 8, COMPONENT_SIZE, "use 1, 2, 4 or 8")
        stride = report.integer("stride", self.stride, 1, U32, STRIDE)
        revision = report.integer("revision", self.revision, 1, 2, REVISION)
        if size not in (1, 2, 4, 8):
            report.add(COMPONENT_SIZE, f"no component has component_size = {size} bytes", "use 1, 2, 4 or 8")
        if "rows" not in report.refused:
            _check_multiple(report, ROWS, "rows", rows, BLOCK_ROWS)
            if stride > 1 and order == "column":
                _check_multiple(report, COLUMN_GROUP, "rows", rows, BLOCK_ROWS, stride)
        if "columns" not in report.refused and size in (1, 2, 4, 8):
            _check_multiple(report, COLUMNS, "columns", columns, ROW_BYTES // size)
            if stride > 1 and order == "row":
                _check_multiple(report, ROW_GROUP, "columns", columns, ROW_BYTES // size, stride)
        if revision == 2 and stride not in (1, 2, 4):
            report.add(
                STRIDE_2, f"stride = {stride} is none of 1, 2 and 4", "use one of them, or check against revision 1"
            )
        report.done()
        for name, value in (("rows", rows), ("columns", columns), ("component_size", size), ("stride", stride)):
            object.__setattr__(self, name, value)

    @property
    def block_columns(self) -> int:
        """The columns of a block: 16 / component_size."""
        return ROW_BYTES // self.component_size

    @property
    def byte_size(self) -> int:
        """The bytes of the whole matrix in memory."""
        return self.rows * self.columns * self.component_size

    def byte(self, rows: NDArray[np.int64], columns: NDArray[np.int64], byte: int = 0) -> NDArray[np.int64]:
        """The offsets from the start, in bytes, of byte number `byte` of elements `[rows, columns]` (002 3.X).

        `rows` and `columns` are integer arrays that broadcast; the result is int64 of their common shape. Coordinates
        are not checked.
        """
        block_row, row = np.divmod(np.asarray(rows, np.int64), BLOCK_ROWS)
        block_column, column = np.divmod(np.asarray(columns, np.int64), self.block_columns)
        if self.order == "row":
            block = block_row * (self.columns // self.block_columns) + block_column
        else:
            block = block_column * (self.rows // BLOCK_ROWS) + block_row
        inside = row * ROW_BYTES + column * self.component_size + byte
        group, member = np.divmod(block, self.stride)
        word = group * (BLOCK_BYTES // WORD_BYTES * self.stride) + inside // WORD_BYTES * self.stride + member
        return np.asarray(word * WORD_BYTES + inside % WORD_BYTES, np.int64)

    def lints(self) -> tuple[Violation, ...]:
        """The rules of revision 2 that the matrix breaks, where revision 1 is the one that is checked."""
        report = RuleReport("BlockedInterleaved")
        if self.stride not in (1, 2, 4):
            report.add(STRIDE_LINT, f"stride = {self.stride} is legal in revision 1 only", "use 1, 2 or 4")
        return tuple(report.violations)

    @property
    def unit_bytes(self) -> int:
        """The unit of `Access.element` in bytes: a component, or 4 where interleaving tears components of 8 apart."""
        return WORD_BYTES if self.component_size > WORD_BYTES and self.stride > 1 else self.component_size

    def access(self) -> Access:
        """The place in memory of each element `[rows, columns]` (002 3.X); every element is in bounds.

        `element` counts components; `block` is the row and column of the element's block, `within` those inside it.
        Components of 8 bytes with a stride over 1 lie in two places: the access then has the shape `[rows, columns,
        2]`, and `element` counts words of 4 bytes (`unit_bytes`). Raises `AddressingError` for more than 2^28 elements.
        """
        check_count(RuleReport("BlockedInterleaved.access"), (self.rows, self.columns))
        torn = self.unit_bytes != self.component_size
        parts = [part // self.unit_bytes for part in self._parts()]
        element = np.stack(parts, -1) if torn else parts[0]
        return Access(element, np.full(element.shape, Kind.IN_BOUNDS, np.uint8), 0, self._places)

    def _places(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The values of `Access.block` and `Access.within`."""
        rows, columns = np.arange(self.rows, dtype=np.int32), np.arange(self.columns, dtype=np.int32)
        block = _grid(rows // BLOCK_ROWS, columns // self.block_columns)
        within = _grid(rows % BLOCK_ROWS, columns % self.block_columns)
        if self.unit_bytes == self.component_size:
            return block, within
        halves = self.component_size // self.unit_bytes
        return np.repeat(block[:, :, None], halves, 2), np.repeat(within[:, :, None], halves, 2)

    def _parts(self) -> list[NDArray[np.int64]]:
        """The byte offsets `[rows, columns]` of every unit of the elements: the row's share plus the column's."""
        rows, columns, first = (
            np.arange(self.rows)[:, None],
            np.arange(self.columns)[None, :],
            np.zeros((1, 1), np.int64),
        )
        down = self.byte(rows, first)
        return [down + self.byte(first, columns, part) for part in range(0, self.component_size, self.unit_bytes)]

    def load(self, buffer: AnyArray) -> AnyArray:
        """The matrix `[rows, columns]` that lies at the start of `buffer`, an array of components.

        Raises `AddressingError` for a buffer that is not a contiguous array of components of this size or is too small,
        and for more than 2^28 elements.
        """
        report = RuleReport("BlockedInterleaved.load")
        memory = self._memory(report, buffer, store=False)
        words = np.stack([memory[part // self.unit_bytes] for part in self._parts()], -1)
        return words.reshape(self.rows, -1).view(buffer.dtype)

    def store(self, buffer: AnyArray, matrix: AnyArray) -> None:
        """Write `matrix` `[rows, columns]` to the start of `buffer`, an array of the same components, in place.

        Raises `AddressingError` as `load`, for a read-only buffer, and for a matrix of another shape or type.
        """
        report = RuleReport("BlockedInterleaved.store")
        check_matrix(report, matrix, (self.rows, self.columns))
        if isinstance(matrix, np.ndarray) and isinstance(buffer, np.ndarray):
            check_same_type(report, buffer, matrix.dtype)
        memory = self._memory(report, buffer, store=True)
        words = np.ascontiguousarray(matrix).view(memory.dtype).reshape(self.rows, self.columns, -1)
        for number, part in enumerate(self._parts()):
            memory[part // self.unit_bytes] = words[..., number]

    def _memory(self, report: RuleReport, buffer: AnyArray, store: bool) -> AnyArray:
        """The buffer as a row of units; raises what `report` has and what is wrong with the buffer."""
        check_count(report, (self.rows, self.columns))
        if check_buffer(report, buffer, store):
            check_component(report, buffer.dtype, "buffer")
            if buffer.dtype.itemsize != self.component_size:
                given, wanted = plural(buffer.dtype.itemsize, "byte"), plural(self.component_size, "byte")
                report.add(
                    COMPONENT_SIZE,
                    f"the buffer has elements of {given}, the layout of {self.component_size}",
                    f"reinterpret the bytes: buffer.view of a type of {wanted}",
                )
            if buffer.size < self.rows * self.columns:
                report.add(
                    TOO_SMALL,
                    f"the buffer has {plural(buffer.size, 'element')}, the matrix is {self.rows} x {self.columns}",
                    f"pass a buffer of at least {plural(self.rows * self.columns, 'element')}",
                )
        report.done()
        return in_memory_order(buffer).view(np.dtype(f"u{self.unit_bytes}"))


def _grid(rows: NDArray[np.int32], columns: NDArray[np.int32]) -> NDArray[np.int32]:
    """Pairs (row number, column number) as an array `[rows, columns, 2]`."""
    pairs = np.empty((2, len(rows), len(columns)), np.int32)
    pairs[0], pairs[1] = rows[:, None], columns[None, :]
    return np.moveaxis(pairs, 0, -1)


def _check_multiple(report: RuleReport, broken: Rule, name: str, value: int, unit: int, stride: int = 1) -> None:
    """Note a `value` that is not a multiple of `unit * stride`."""
    step = unit * stride
    if value % step:
        report.add(
            broken,
            f"{name} = {value} is not a multiple of {f'{unit} * stride {stride} = ' if stride > 1 else ''}{step}",
            f"pad the matrix to {-(-value // step) * step} {name}",
        )
