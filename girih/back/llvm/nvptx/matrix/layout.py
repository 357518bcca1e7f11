"""Fragments: which components of a matrix each thread of a warp holds.

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

Modes are padded to whole fragments; what is there is any number. A mode of one row or column is not dealt out: all
have it.
"""

from __future__ import annotations

from functools import lru_cache

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.ir.types import CoopMatrix, Use
from girih.lazy_dataclass import dataclass

GROUPS, THREADS = 8, 4
"""The groups of a warp, and the threads of a group."""

ROWS, COLUMNS = 16, 8
"""The rows and columns of a product of fragments."""

_MOST_NEIGHBOURS = {GROUPS: 8, THREADS: 16}
"""The pieces of neighbours are no larger. Two columns of an accumulator's fragment belong to a thread, where one of the
right factor's belongs to a group: so the piece of a thread is twice that of a group."""

_DEPTHS = {1: 32, 2: 16, 4: 8, 8: 4}
"""The depth of fragments, to which factors are padded, by the bytes of a component."""


@dataclass(frozen=True, slots=True)
class DealtMode:
    """The rows or the columns of a matrix, dealt out to `holders`: `extent` of them, padded to `padded`."""

    extent: int
    padded: int
    holders: int

    @property
    def shared(self) -> bool:
        """Whether all have the only row or column."""
        return self.extent == 1

    @property
    def count(self) -> int:
        """How many of them each holder has."""
        return 1 if self.shared else self.padded // self.holders

    @property
    def chunk(self) -> int:
        """How many neighbours each holder has, at multiples of that."""
        return min(self.count & -self.count, _MOST_NEIGHBOURS[self.holders])

    def begin(self, number: int) -> int:
        """The place of a holder's row or column of a number, but for what depends on the holder."""
        block, within = divmod(number, self.chunk)
        return block * self.chunk * self.holders + within

    def place(self, code: OneLaneCode, own: Val, number: int) -> Val:
        """The place of the row or column, an i32, that the holder `own` has under a number."""
        w = code.w
        if self.shared:
            return integer(0, "i32")
        return w.add(w.mul(own, integer(self.chunk, "i32")), integer(self.begin(number), "i32"))

    def place_of(self, code: OneLaneCode, own: Val, number: Val) -> Val:
        """The place of the row or column, an i32, that the holder `own` has under a number, an i32 of a loop."""
        w = code.w
        if self.shared:
            return integer(0, "i32")
        within = w.binary("and", number, integer(self.chunk - 1, "i32"))
        block = w.sub(number, within)
        first = w.add(w.mul(own, integer(self.chunk, "i32")), w.mul(block, integer(self.holders, "i32")))
        return w.add(first, within)

    def exists(self, code: OneLaneCode, own: Val, number: int) -> Val | None:
        """Whether that row or column is no padding; None where it is none for certain."""
        last = self.begin(number) + (self.holders - 1) * self.chunk
        if self.shared or last < self.extent:
            return None
        return code.w.compare("ult", self.place(code, own, number), integer(self.extent, "i32"))

    def owned(self, code: OneLaneCode, own: Val) -> Val | None:
        """Whether this holder is the one of those that share the only row or column which acts for them."""
        return code.w.compare("eq", own, integer(0, "i32")) if self.shared else None


def _up(extent: int, unit: int) -> int:
    return -(-extent // unit) * unit


@dataclass(frozen=True, slots=True)
class FragmentLayout:
    """The components of a matrix among the threads of a warp: the mode of the groups, and that of the threads.

    A thread numbers its components with the mode of the threads fastest.
    """

    groups: DealtMode
    threads: DealtMode
    turned: bool
    """Whether the columns are those of the groups."""

    @property
    def components(self) -> int:
        """How many components a thread holds."""
        return self.groups.count * self.threads.count

    def position(self, code: OneLaneCode, number: int) -> Position:
        """The place of one of the thread's components."""
        outer, inner = divmod(number, self.threads.count)
        group, thread = group_of(code), thread_of(code)
        places = self.groups.place(code, group, outer), self.threads.place(code, thread, inner)
        row, column = places[::-1] if self.turned else places
        exists = code.w.both(self.groups.exists(code, group, outer), self.threads.exists(code, thread, inner))
        return Position(row, column, exists)

    def position_of(self, code: OneLaneCode, outer: Val, inner: Val) -> Position:
        """The place of the component with two numbers, i32 that loops count: of the groups' mode and the threads'."""
        w = code.w
        places, exists = [], None
        for mode, own, number in ((self.groups, group_of(code), outer), (self.threads, thread_of(code), inner)):
            place = mode.place_of(code, own, number)
            places.append(place)
            if not mode.shared and mode.padded != mode.extent:
                exists = w.both(exists, w.compare("ult", place, integer(mode.extent, "i32")))
        row, column = places[::-1] if self.turned else places
        return Position(row, column, exists)

    def owned(self, code: OneLaneCode) -> Val | None:
        """Whether this thread acts for all that hold the same components; None where each has its own."""
        return code.w.both(self.groups.owned(code, group_of(code)), self.threads.owned(code, thread_of(code)))


@lru_cache(maxsize=64)
def fragment_layout(type: CoopMatrix) -> FragmentLayout:
    """The layout of a matrix of subgroup scope in a warp."""
    rows, columns = type.shape
    depth = max(THREADS, _DEPTHS[type.component.size])
    if type.use is Use.B:
        return FragmentLayout(
            DealtMode(columns, _up(columns, COLUMNS), GROUPS), DealtMode(rows, _up(rows, depth), THREADS), turned=True
        )
    wide = depth if type.use is Use.A else COLUMNS
    return FragmentLayout(
        DealtMode(rows, _up(rows, ROWS), GROUPS), DealtMode(columns, _up(columns, wide), THREADS), turned=False
    )


def group_of(code: OneLaneCode) -> Val:
    """The number of the thread's group in the warp, an i32."""
    return code.w.binary("lshr", code.lane, integer(2, "i32"))


def thread_of(code: OneLaneCode) -> Val:
    """The number of the thread in its group, an i32."""
    return code.w.binary("and", code.lane, integer(THREADS - 1, "i32"))
