"""Tiles of memrefs: what the work-items of a subgroup share, where a tile lies, and which of its elements are there.

Every access is checked as a whole: two comparisons per mode, whatever the size of the tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.machine.work_group import of_work_group, waits
from girih.back.llvm.cpu.matrix.byte_bounds import check_bytes
from girih.back.llvm.cpu.matrix.states import InMemory, Parts, known, length, turned
from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.lower.access import check_null, shared_memref
from girih.back.llvm.numbers.addresses import Extent, as_scalar
from girih.back.llvm.numbers.values import BytesHeld, MemRefHeld, index
from girih.facts import findings
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix
from girih.ops.tile.coopmatrix import MatrixAccess
from girih.source import NOWHERE, Span


class Elsewhere(Protocol):
    """How a tile is moved that is not wholly inside its memory."""

    def copy_in(self, tile: InMemory) -> None:
        """Copy the tile of memory to the workspace."""

    def copy_out(self, tile: InMemory) -> None:
        """Copy the tile of the workspace to memory."""

    def swapped(self) -> Elsewhere:
        """The way for the transposed tile."""


@dataclass(frozen=True, slots=True)
class Window:
    """A tile of a memref, in the rows and columns of the matrix.

    `pointer` is that of component (0, 0); strides are in bytes. `inside` says at run time whether all of the tile is
    there, None where it must be; the components from (first_row, first_column) up to (end_row, end_column) are, unless
    `elsewhere` says how to find them.
    """

    type: CoopMatrix
    pointer: Val
    row_stride: Operand
    column_stride: Operand
    inside: Val | None
    first_row: Val
    end_row: Val
    first_column: Val
    end_column: Val
    elsewhere: Elsewhere | None = None
    span: Span = NOWHERE
    """The place of the access, which may be carried out elsewhere."""

    @property
    def along(self) -> Operand:
        """The distance of neighbours in a line."""
        return self.column_stride if turned(self.type) else self.row_stride

    @property
    def across(self) -> Operand:
        """The distance of lines."""
        return self.row_stride if turned(self.type) else self.column_stride

    @property
    def contiguous(self) -> bool:
        """Whether the components of a line are neighbours."""
        return known(self.along) == self.type.component.size or length(self.type) == 1

    def turned(self) -> Window:
        """The window of the transposed tile."""
        type = CoopMatrix(self.type.component, self.type.columns, self.type.rows, self.type.use)
        return Window(type, self.pointer, self.column_stride, self.row_stride, self.inside,
                      self.first_column, self.end_column, self.first_row, self.end_row,
                      None if self.elsewhere is None else self.elsewhere.swapped(), self.span)  # fmt: skip

    @property
    def line_range(self) -> tuple[Val, Val, Val, Val]:
        """First and end of the lines that are there, and of the components in them."""
        rows, columns = (self.first_row, self.end_row), (self.first_column, self.end_column)
        return (*rows, *columns) if turned(self.type) else (*columns, *rows)


# --- what a subgroup, or a work-group, shares --------------------------------------------------


def together(code: CpuCode, op: Op) -> None:
    """The beginning of every instruction on matrices: the checks and the waiting that it needs.

    An instruction that only some work-items of its subgroup or work-group meet is a finding. The other subgroups are
    waited for where `waits` says so.
    """
    code.met_by_all(op, work_group=of_work_group(op))
    if code.suspend is not None and waits(op):
        code.suspend()


def shared_operand(code: CpuCode, op: Op, name: str) -> Parts:
    """A scalar operand that the work-items share."""
    value: Value = getattr(op, name)
    return code.agreed(op, name, code.scalar(value))


# --- windows -----------------------------------------------------------------------------------


def window_of(code: CpuCode, op: MatrixAccess, memory: Value, row: Value, column: Value, type: CoopMatrix) -> Window:
    """The tile that an instruction accesses, checked."""
    together(code, op)
    memref = shared_memref(code, op, "memory", code.memref(memory))
    check_null(code, op, memref)
    position = [shared_operand(code, op, "row")[0], shared_operand(code, op, "column")[0]]
    sizes = [as_scalar(s).part for s in memref.shape]
    strides = list(memref.strides)
    if op.transpose:
        position, sizes, strides = position[::-1], sizes[::-1], strides[::-1]
    return _Bounds(code, op, memref, position, sizes, strides, type).window()


class _Bounds:
    """The part of a tile that is inside its memref; pairs are for the rows and the columns of the matrix."""

    def __init__(
        self,
        code: CpuCode,
        op: MatrixAccess,
        memref: MemRefHeld,
        position: list[Val],
        sizes: list[Val],
        strides: list[Extent],
        type: CoopMatrix,
    ) -> None:
        self.code, self.op, self.memref, self.type = code, op, memref, type
        self.position, self.sizes = position, sizes
        self.strides: list[Operand] = [s if isinstance(s, int) else s.part for s in strides]
        self.checked = (op.checked.rows, op.checked.columns)
        self.inside = [self._inside(k) for k in range(2)]

    def _inside(self, mode: int) -> Val:
        """Whether all rows, or all columns, are there."""
        w = self.code.w
        last = w.sub(self.sizes[mode], self.type.shape[mode])
        start = self.position[mode]
        return w.binary("and", w.compare("sge", start, 0), w.compare("sle", start, last))

    def _range(self, mode: int) -> tuple[Val, Val]:
        """The first row or column that is inside the memref, and the end of them."""
        w = self.code.w
        extent = self.type.shape[mode]
        first = w.larger(w.sub(0, self.position[mode]), 0)
        end = w.smaller(w.sub(self.sizes[mode], self.position[mode]), extent)
        return w.smaller(first, extent), w.larger(end, 0)

    def _outside(self) -> Val | None:
        """Whether an element is missing that no flag leaves out."""
        w = self.code.w
        bad: Val | None = None
        for mode in range(2):
            if self.checked[mode]:
                continue
            missing = w.negated(self.inside[mode])
            if self.checked[1 - mode]:
                first, end = self._range(1 - mode)
                missing = w.binary("and", missing, w.compare("slt", first, end))
            bad = missing if bad is None else w.binary("or", bad, missing)
        return bad

    def window(self) -> Window:
        """The window, behind the checks that report what is missing."""
        w = self.code.w
        self._report(self._outside())
        size = self.type.component.size
        first: Operand = self.memref.offset.part
        for mode in range(2):
            first = w.add(first, w.mul(self.position[mode], self.strides[mode]))
        pointer = w.at(self.memref.pointer, w.mul(first, size))
        steps = [s * size if isinstance(s, int) else w.mul(s, size) for s in self.strides]
        inside: Val | None = None
        for mode in range(2):
            if self.checked[mode]:
                inside = w.both(inside, self.inside[mode])
        if inside is not None and inside.literal == 1:
            inside = None
        ranges = [(integer(0), integer(n)) for n in self.type.shape] if inside is None else self._wanted()
        if isinstance(self.memref, BytesHeld):
            check_bytes(self.code, self.op, self.memref, w.mul(first, size), steps, ranges)
        return Window(self.type, pointer, steps[0], steps[1], inside, *ranges[0], *ranges[1], span=self.op.span)

    def _wanted(self) -> list[tuple[Val, Val]]:
        """The first row that no flag leaves out and the end of them, and the same for columns."""
        return [
            self._range(mode) if self.checked[mode] else (integer(0), integer(self.type.shape[mode]))
            for mode in range(2)
        ]

    def _report(self, bad: Val | None) -> None:
        """Name the first element that is missing; where it is, only matters where one is."""
        code, w = self.code, self.code.w
        if bad is None or not code.checks or bad.literal == 0:
            return
        words = findings.outside(self.op, self.memref.name)

        def cold() -> None:
            place = self._first_missing()
            named = [index(p) for p in (place[::-1] if self.op.transpose else place)]
            code.check(self.op, bad, words, argument=self.memref.name, index=named, shape=self.memref.shape,
                    by_lane=False)  # fmt: skip
            w.unreachable()

        w.unlikely(bad, cold)

    def _first_missing(self) -> list[Val]:
        """The first missing element, row by row."""
        w = self.code.w
        row, column = self.position
        rows, columns = self.sizes
        if self.checked[0]:
            return [w.larger(row, 0), w.select(w.compare("slt", column, 0), column, w.larger(column, columns))]
        gone = w.compare("uge", row, rows)
        if self.checked[1]:
            return [w.select(gone, row, rows), w.larger(column, 0)]
        narrow = w.compare("uge", column, columns)
        wide_ = w.compare("sgt", w.add(column, self.type.columns), columns)
        at_first_row = w.binary("or", gone, w.binary("or", narrow, wide_))
        return [
            w.select(at_first_row, row, rows),
            w.select(w.binary("or", gone, narrow), column, w.select(wide_, columns, column)),
        ]
