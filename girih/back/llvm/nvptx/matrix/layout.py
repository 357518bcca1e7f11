"""Fragments: which components of a matrix each thread holds, of a warp or of the warps of a work-group.

The instruction `mma` says it for matrices of 16 rows and 8 columns, and for k of the depth (PTX ISA "Matrix multiply-
accumulate operation using mma instruction"): one mode of a matrix is dealt out to the eight groups of four threads
(`lane / 4`), the other to the four threads of each group (`lane % 4`).

    matrix_a, M x K       rows to groups, columns to threads
    matrix_b, K x N       columns to groups, rows to threads
    matrix_acc, M x N     rows to groups, columns to threads

Which rows of a larger matrix form a fragment is free, as long as the factors and the sums agree. So a thread gets
neighbours, to move many bytes at once: of a mode of n components a group of threads has n / 8, and a thread n / 4, in
pieces of `chunk` neighbours. A matrix of an accumulator's columns and one of a factor's depth are then held alike, and
so are a matrix and its transpose as a right factor: such conversions move nothing.

A matrix of the work-group is dealt out to its warps first, which stand in a grid (`WarpGrid`): a warp of a row of the
grid has a part of the rows of `matrix_a` and `matrix_acc`, one of a column of it a part of the columns of `matrix_b`
and `matrix_acc`. So each warp has all of the factors that its part of the sums needs, and warps meet in no product; in
exchange several warps have the same part of a factor.

Modes are padded to whole fragments; what is there is any number. A mode of one row or column is not dealt out: all
have it.
"""

from __future__ import annotations

from functools import lru_cache

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.layout import Position, quotient_of, rest_of
from girih.ir.types import CoopMatrix, Use
from girih.lazy_dataclass import dataclass

GROUPS, THREADS = 8, 4
"""The groups of a warp, and the threads of a group."""

ROWS, COLUMNS = 16, 8
"""The rows and columns of a product of fragments."""

_MOST_NEIGHBOURS = {GROUPS: 8, THREADS: 16}
"""The pieces of neighbours are no larger. Two columns of an accumulator's fragment belong to a thread, where one of the
right factor's belongs to a group: so the piece of a thread is twice that of a group."""

_DEPTHS = {1: 32, 2: 16, 4: 8, 8: 4, 16: 4}
"""The depth of fragments, to which factors are padded, by the bytes of a component."""


@dataclass(frozen=True, slots=True)
class WarpGrid:
    """The warps that hold a matrix together: warp w is in row w % rows, and in column w / rows."""

    rows: int
    columns: int

    @property
    def count(self) -> int:
        """The number of warps."""
        return self.rows * self.columns


ONE_WARP = WarpGrid(1, 1)


@dataclass(frozen=True, slots=True)
class DealtMode:
    """The rows or the columns of a matrix, dealt out to `parts` warps, of each to `holders`: `extent` of them, padded
    to `padded`.

    Warps that have the next part stand `apart` in the numbers of warps.
    """

    extent: int
    padded: int
    holders: int
    parts: int = 1
    apart: int = 1

    @property
    def shared(self) -> bool:
        """Whether all have the only row or column."""
        return self.extent == 1

    @property
    def count(self) -> int:
        """How many of them each holder has."""
        return 1 if self.shared else self.part // self.holders

    @property
    def part(self) -> int:
        """How many of them each warp has, all neighbours."""
        return self.padded // self.parts

    @property
    def chunk(self) -> int:
        """How many neighbours each holder has, at multiples of that."""
        return min(self.count & -self.count, _MOST_NEIGHBOURS[self.holders])

    def begin(self, number: int) -> int:
        """The place of a holder's row or column of a number, but for what depends on the holder."""
        block, within = divmod(number, self.chunk)
        return block * self.chunk * self.holders + within

    def holder(self, code: OneLaneCode) -> Val:
        """The number of the thread among the holders of its warp, an i32."""
        return group_of(code) if self.holders == GROUPS else thread_of(code)

    def warp(self, code: OneLaneCode) -> Val:
        """The number of the part that the thread's warp has, an i32."""
        if self.parts == 1:
            return integer(0, "i32")
        return rest_of(code.w, quotient_of(code.w, warp_of(code), self.apart), self.parts)

    def first(self, code: OneLaneCode) -> Val:
        """The place of the first row or column that the thread has, an i32."""
        w = code.w
        if self.shared:
            return integer(0, "i32")
        own = w.mul(self.holder(code), integer(self.chunk, "i32"))
        return w.add(own, w.mul(self.warp(code), integer(self.part, "i32")))

    def place(self, code: OneLaneCode, number: int) -> Val:
        """The place of the row or column, an i32, that the thread has under a number."""
        if self.shared:
            return integer(0, "i32")
        return code.w.add(self.first(code), integer(self.begin(number), "i32"))

    def place_of(self, code: OneLaneCode, number: Val) -> Val:
        """The place of the row or column, an i32, that the thread has under a number, an i32 of a loop."""
        w = code.w
        if self.shared:
            return integer(0, "i32")
        within = w.binary("and", number, integer(self.chunk - 1, "i32"))
        block = w.sub(number, within)
        return w.add(w.add(self.first(code), w.mul(block, integer(self.holders, "i32"))), within)

    def exists(self, code: OneLaneCode, number: int) -> Val | None:
        """Whether that row or column is no padding; None where it is none for certain."""
        last = self.begin(number) + (self.holders - 1) * self.chunk + (self.parts - 1) * self.part
        if self.shared or last < self.extent:
            return None
        return code.w.compare("ult", self.place(code, number), integer(self.extent, "i32"))

    def owned(self, code: OneLaneCode) -> Val | None:
        """Whether this holder is the one of those that share the only row or column which acts for them."""
        return code.w.compare("eq", self.holder(code), integer(0, "i32")) if self.shared else None


def _up(extent: int, unit: int) -> int:
    return -(-extent // unit) * unit


@dataclass(frozen=True, slots=True)
class FragmentLayout:
    """The components of a matrix among the threads that hold it: the mode of the groups, and that of the threads.

    A thread numbers its components with the mode of the threads fastest.
    """

    groups: DealtMode
    threads: DealtMode
    turned: bool
    """Whether the columns are those of the groups."""

    warps: int = 1
    """The warps that hold the matrix together."""

    @property
    def components(self) -> int:
        """How many components a thread holds."""
        return self.groups.count * self.threads.count

    @property
    def repeated(self) -> bool:
        """Whether several threads hold the same components, those of several warps or of one."""
        return self.in_warps_repeated or self.groups.shared or self.threads.shared

    @property
    def in_warps_repeated(self) -> bool:
        """Whether several warps hold the same components."""
        return self.warps > self.groups.parts * self.threads.parts

    def position(self, code: OneLaneCode, number: int) -> Position:
        """The place of one of the thread's components."""
        outer, inner = divmod(number, self.threads.count)
        places = self.groups.place(code, outer), self.threads.place(code, inner)
        row, column = places[::-1] if self.turned else places
        exists = code.w.both(self.groups.exists(code, outer), self.threads.exists(code, inner))
        return Position(row, column, exists)

    def position_of(self, code: OneLaneCode, outer: Val, inner: Val) -> Position:
        """The place of the component with two numbers, i32 that loops count: of the groups' mode and the threads'."""
        w = code.w
        places, exists = [], None
        for mode, number in ((self.groups, outer), (self.threads, inner)):
            place = mode.place_of(code, number)
            places.append(place)
            if not mode.shared and mode.padded != mode.extent:
                exists = w.both(exists, w.compare("ult", place, integer(mode.extent, "i32")))
        row, column = places[::-1] if self.turned else places
        return Position(row, column, exists)

    def owned(self, code: OneLaneCode) -> Val | None:
        """Whether this thread acts for all that hold the same components; None where each has its own."""
        held = code.w.both(self.groups.owned(code), self.threads.owned(code))
        if not self.in_warps_repeated:
            return held
        return code.w.both(held, code.w.compare("eq", self.owner(code), warp_of(code)))

    def owner(self, code: OneLaneCode) -> Val:
        """The number of the warp, an i32, that acts for all that hold the same components."""
        w = code.w
        numbers = (w.mul(mode.warp(code), integer(mode.apart, "i32")) for mode in (self.groups, self.threads))
        return w.add(*numbers)


@lru_cache(maxsize=256)
def fragment_layout(type: CoopMatrix, warps: WarpGrid = ONE_WARP) -> FragmentLayout:
    """The layout of a matrix in a warp, or, if it is of work-group scope, in a grid of warps."""
    rows, columns = type.shape
    grid = warps if type.of_work_group else ONE_WARP
    depth = max(THREADS, _DEPTHS[type.component.size])
    if type.use is Use.B:
        across = _dealt(columns, COLUMNS, GROUPS, grid.columns, grid.rows)
        return FragmentLayout(across, DealtMode(rows, _up(rows, depth), THREADS), turned=True, warps=grid.count)
    down = _dealt(rows, ROWS, GROUPS, grid.rows, 1)
    if type.use is Use.A:
        along = DealtMode(columns, _up(columns, depth), THREADS)
    else:
        along = _dealt(columns, COLUMNS, THREADS, grid.columns, grid.rows)
    return FragmentLayout(down, along, turned=False, warps=grid.count)


def _dealt(extent: int, unit: int, holders: int, warps: int, apart: int) -> DealtMode:
    """A mode dealt out in whole units to as many warps as have one, which divides how many there are."""
    units = 1 if extent == 1 else -(-extent // unit)
    parts = max(count for count in range(1, warps + 1) if warps % count == 0 and count <= units)
    return DealtMode(extent, _up(extent, unit * parts), holders, parts, apart)


def warp_of(code: OneLaneCode) -> Val:
    """The number of the thread's warp in the work-group, an i32."""
    return code.w.convert("trunc", code.subgroup, "i32")


def group_of(code: OneLaneCode) -> Val:
    """The number of the thread's group in the warp, an i32."""
    return code.w.binary("lshr", code.lane, integer(2, "i32"))


def thread_of(code: OneLaneCode) -> Val:
    """The number of the thread in its group, an i32."""
    return code.w.binary("and", code.lane, integer(THREADS - 1, "i32"))
