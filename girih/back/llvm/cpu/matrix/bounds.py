"""Tiles of memrefs: what the work-items of a subgroup share, where a tile lies, and which of its elements are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.machine.work_group import of_work_group, waits
from girih.back.llvm.cpu.matrix.states import InMemory, Parts, known, length, turned
from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.lower.access import check_null, shared_memref
from girih.back.llvm.lower.tiles.bounds import TileBounds
from girih.back.llvm.numbers.values import BytesHeld, index
from girih.facts import findings
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass
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
    place = [shared_operand(code, op, "row")[0], shared_operand(code, op, "column")[0]]
    return _window(TileBounds(code, op, memref, place, type), code)


def _window(tile: TileBounds, code: CpuCode) -> Window:
    """The window, behind the checks that report what is missing."""
    w, op, memref, type = code.w, tile.op, tile.memref, tile.type
    _report(tile, code)
    size = type.component.size
    first = tile.first()
    pointer = w.at(memref.pointer, w.mul(first, size))
    steps = tile.steps()
    inside = tile.all_there()
    ranges = [(integer(0), integer(n)) for n in type.shape] if inside is None else tile.wanted()
    if isinstance(memref, BytesHeld):
        _check_bytes(code, op, memref, w.mul(first, size), steps, ranges)
    return Window(type, pointer, steps[0], steps[1], inside, *ranges[0], *ranges[1], span=op.span)


def _report(tile: TileBounds, code: CpuCode) -> None:
    """Name the first element that is missing; where it is, only matters where one is."""
    bad = tile.outside()
    if bad is None or not code.checks or bad.literal == 0:
        return
    w, memref = code.w, tile.memref
    missing = bad
    words = findings.outside(tile.op, memref.name)

    def cold() -> None:
        code.check(tile.op, missing, words, argument=memref.name, index=tile.first_missing(), shape=memref.shape,
                   by_lane=False)  # fmt: skip
        w.unreachable()

    w.unlikely(bad, cold)


# --- bytes -------------------------------------------------------------------------------------


def _check_bytes(
    code: CpuCode, op: Op, memref: BytesHeld, start: Val, steps: Sequence[Operand], ranges: Sequence[tuple[Val, Val]]
) -> None:
    """Find elements of a tile of bytes outside of the memory, of which the shape says less: the first one row by row.

    Element (row, column) lies at `start` + row * steps[0] + column * steps[1] bytes of the memref; the rows and columns
    in `ranges`, each with its first and its end, are accessed.
    """
    w, size = code.w, memref.element.size
    if not code.checks:
        return
    low = high = w.add(memref.begin, start)
    for step, (first, end) in zip(steps, ranges, strict=True):
        near, far = w.mul(first, step), w.mul(w.sub(end, 1), step)
        low, high = w.add(low, w.smaller(near, far)), w.add(high, w.larger(near, far))
    behind = w.compare("sgt", high, w.sub(memref.extent, size))
    bad = w.binary("or", w.compare("slt", low, 0), behind)
    for first, end in ranges:
        bad = w.binary("and", bad, w.compare("slt", first, end))
    w.unlikely(bad, lambda: _report_byte(code, op, memref, start, steps, ranges))


def _report_byte(
    code: CpuCode, op: Op, memref: BytesHeld, start: Val, steps: Sequence[Operand], ranges: Sequence[tuple[Val, Val]]
) -> None:
    from girih.facts.memory import bytes_outside

    w, size = code.w, memref.element.size
    (row, last_row), (column, last_column) = ranges
    place = w.add(memref.begin, start)
    with w.loop(row, last_row, 1, [integer(0, "i1"), integer(0)]) as rows:
        with w.loop(column, last_column, 1, rows.values) as columns:
            known, byte = columns.values
            here = w.add(w.add(place, w.mul(rows.index, steps[0])), w.mul(columns.index, steps[1]))
            outside = w.binary("or", w.compare("slt", here, 0), w.compare("sgt", here, w.sub(memref.extent, size)))
            columns.following = [w.binary("or", known, outside), w.select(known, byte, w.select(outside, here, byte))]
        rows.following = columns.results
    words = bytes_outside(op, size, memref.name)
    code.check(op, integer(1, "i1"), words, argument=memref.name, index=(index(rows.results[1]),),
               shape=(index(memref.extent),), by_lane=False)  # fmt: skip
    w.unreachable()
