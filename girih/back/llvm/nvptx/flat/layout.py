"""Which components of a matrix of a work-group each thread holds where no product says so: neighbours, spread evenly.

Threads stand in a rectangle: `down` of them, one behind the other, share the rows of a matrix, and `across` share the
columns. A thread has pieces of `chunk` neighbouring rows, at multiples of `down` pieces, so that a warp moves whole
lines of memory with 16 bytes a thread. One rectangle serves all matrices of a kernel: components at the same place are
in the same thread, whatever their type and use, and a matrix of one row or column is in all threads that need it.
"""

from __future__ import annotations

from collections.abc import Iterable

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass

WARP = 32
"""The threads that combine numbers without shared memory."""

_PIECE_BYTES = 16
"""The bytes that a thread moves at once, of the type with the smallest numbers."""


@dataclass(frozen=True, slots=True)
class Rectangle:
    """How the threads of a work-group stand: a power of two each way. Thread t is number t % down of those down."""

    down: int
    across: int
    chunk: int


def rectangle_for(types: Iterable[CoopMatrix], threads: int) -> Rectangle:
    """The rectangle for the matrices of a kernel, whose work-groups have so many threads, a power of two.

    As many threads stand down as have a piece of the longest column; but no more than a warp, which combines columns
    by itself, where there are columns for the others.
    """
    types = tuple(types)
    chunk = _PIECE_BYTES // min(type.component.size for type in types)
    rows, columns = max(type.rows for type in types), max(type.columns for type in types)
    pieces = _power_from(-(-rows // chunk))
    beside = _power_from(columns + 1) // 2
    down = min(threads, pieces, max(WARP, threads // beside))
    return Rectangle(down, threads // down, chunk)


def _power_from(count: int) -> int:
    """The first power of two that is no less than a number."""
    return 1 << (count - 1).bit_length()


@dataclass(frozen=True, slots=True)
class FlatLayout:
    """The components of a matrix among the threads. A thread numbers its own column by column."""

    rows: int
    columns: int
    rectangle: Rectangle

    @property
    def own_rows(self) -> int:
        """How many rows a thread has; a matrix of one row is in all threads that stand down."""
        width = self.rectangle.down * self.rectangle.chunk
        return 1 if self.rows == 1 else -(-self.rows // width) * self.rectangle.chunk

    @property
    def own_columns(self) -> int:
        """How many columns a thread has; a matrix of one column is in all threads across."""
        return 1 if self.columns == 1 else -(-self.columns // self.rectangle.across)

    @property
    def components(self) -> int:
        """How many components a thread holds, padding included."""
        return self.own_rows * self.own_columns

    @property
    def padded(self) -> bool:
        """Whether some threads hold components that the matrix has not."""
        rectangle = self.rectangle
        below = self.rows > 1 and self.own_rows * rectangle.down != self.rows
        return below or (self.columns > 1 and self.own_columns * rectangle.across != self.columns)

    def first_row(self, own: int) -> int:
        """The row of a thread's number for its rows, in the thread that stands first."""
        block, within = divmod(own, self.rectangle.chunk)
        return block * self.rectangle.chunk * self.rectangle.down + within

    def row(self, code: OneLaneCode, own: int) -> Val:
        """The row, an i32, that a thread has under a number."""
        w = code.w
        if self.rows == 1:
            return integer(0, "i32")
        return w.add(w.mul(down_of(code, self.rectangle), integer(self.rectangle.chunk, "i32")), self.first_row(own))

    def column(self, code: OneLaneCode, own: int) -> Val:
        """The column, an i32, that a thread has under a number."""
        if self.columns == 1:
            return integer(0, "i32")
        return code.w.add(across_of(code, self.rectangle), integer(own * self.rectangle.across, "i32"))

    def row_exists(self, code: OneLaneCode, own: int) -> Val | None:
        """Whether the matrix has that row; None where it has for certain."""
        last = self.first_row(own) + (self.rectangle.down - 1) * self.rectangle.chunk
        if self.rows == 1 or last < self.rows:
            return None
        return code.w.compare("ult", self.row(code, own), integer(self.rows, "i32"))

    def column_exists(self, code: OneLaneCode, own: int) -> Val | None:
        """Whether the matrix has that column; None where it has for certain."""
        if self.columns == 1 or (own + 1) * self.rectangle.across <= self.columns:
            return None
        return code.w.compare("ult", self.column(code, own), integer(self.columns, "i32"))

    def position(self, code: OneLaneCode, number: int) -> Position:
        """The place of one of the thread's components."""
        column, row = divmod(number, self.own_rows)
        exists = code.w.both(self.row_exists(code, row), self.column_exists(code, column))
        return Position(self.row(code, row), self.column(code, column), exists)

    def owned(self, code: OneLaneCode) -> Val | None:
        """Whether this thread acts for all that hold the same components; None where each has its own."""
        w, found = code.w, None
        if self.rows == 1 and self.rectangle.down > 1:
            found = w.compare("eq", down_of(code, self.rectangle), integer(0, "i32"))
        if self.columns == 1 and self.rectangle.across > 1:
            found = w.both(found, w.compare("eq", across_of(code, self.rectangle), integer(0, "i32")))
        return found


def down_of(code: OneLaneCode, rectangle: Rectangle) -> Val:
    """The number of the thread among those that stand down, an i32."""
    return code.w.binary("and", _thread(code), integer(rectangle.down - 1, "i32"))


def across_of(code: OneLaneCode, rectangle: Rectangle) -> Val:
    """The number of the thread among those that stand across, an i32."""
    return code.w.binary("lshr", _thread(code), integer(rectangle.down.bit_length() - 1, "i32"))


def _thread(code: OneLaneCode) -> Val:
    return code.w.convert("trunc", code.thread, "i32")
