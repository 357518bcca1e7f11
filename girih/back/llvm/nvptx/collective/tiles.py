"""How a matrix product is shared out: which rows and columns a thread computes, of which factors the work-group has a
copy in shared memory.

A factor is seen by its lines: the rows of the left one and the columns of the right one are *lines*, each with as many
elements as the product has summands, its *depth*. In shared memory elements are neighbours along the same mode as in
memory, so that they are copied 16 bytes at a time; threads read them 16 bytes at a time in either order.

A thread computes the products of some rows and some columns, its *tile*. Its lines are apart, in pieces of neighbours,
so that neighbouring threads read neighbours of shared memory, and write neighbours of the target.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from girih.back.llvm.nvptx.collective.pieces import ACCESS
from girih.lazy_dataclass import dataclass

BANKS = 128
"""The bytes of shared memory that are read at once."""

EDGE = 8
"""The lines, and the steps of the depth, of a matrix that `ldmatrix` reads (PTX ISA "ldmatrix")."""


@dataclass(frozen=True, slots=True)
class FactorLayout:
    """A factor in shared memory: `lines` of `depth` elements of `size` bytes, neighbours along the depth or not.

    With `for_fragments` there is room for whole matrices of `EDGE` lines and steps, of lines for an even number of them
    or for one, and what is not neighbours is always an odd number of 16-byte pieces apart.
    """

    lines: int
    depth: int
    size: int
    along_depth: bool
    for_fragments: bool = False

    @property
    def pitch(self) -> int:
        """The elements from one line to the next, or else from one step of the depth to the next.

        Lines of 16-byte pieces are an odd number of pieces apart: then eight of them lie in different banks.
        """
        if self.for_fragments:
            return (-(-(self.depth if self.along_depth else self._room) // self.wide) | 1) * self.wide
        if not self.along_depth:
            return self.lines
        pieces, rest = divmod(self.depth, self.wide)
        return self.depth if rest or pieces % 2 else self.depth + self.wide

    @property
    def wide(self) -> int:
        """The elements of 16 bytes."""
        return ACCESS // self.size

    @property
    def elements(self) -> int:
        """How many elements there is room for."""
        return self.pitch * (self._room if self.along_depth else self.padded)

    @property
    def padded(self) -> int:
        """The steps of the depth that there is room for."""
        return -(-self.depth // EDGE) * EDGE if self.for_fragments else self.depth

    @property
    def _room(self) -> int:
        """The lines that there is room for."""
        if not self.for_fragments:
            return self.lines
        return EDGE if self.lines <= EDGE else -(-self.lines // (2 * EDGE)) * 2 * EDGE

    @property
    def piece(self) -> int:
        """How many lines that are neighbours in shared memory a thread reads at once."""
        return 1 if self.along_depth else gcd(self.lines, self.wide)

    @property
    def step(self) -> int:
        """How many steps of the depth a thread reads at once."""
        return gcd(self.depth, self.wide) if self.along_depth else 1

    def offset(self, line: int, depth: int) -> int:
        """The bytes from the first element to another one."""
        place = line * self.pitch + depth if self.along_depth else depth * self.pitch + line
        return place * self.size


@dataclass(frozen=True, slots=True)
class DealtLines:
    """The lines of a factor as threads have them: `pieces` of `piece` neighbours each, for `threads` threads.

    Thread t has the pieces t, t + threads, t + 2 threads, ...; there may be more places for pieces than pieces.
    """

    lines: int
    piece: int
    pieces: int
    threads: int

    @property
    def per_thread(self) -> int:
        """The lines of a thread."""
        return self.piece * self.pieces

    @property
    def all(self) -> int:
        """How many pieces the lines are."""
        return -(-self.lines // self.piece)

    @property
    def is_even(self) -> bool:
        """Whether there is a piece in each place."""
        return self.pieces * self.threads == self.all


@dataclass(frozen=True, slots=True)
class ProductTiling:
    """A product by threads, each with a tile of rows times columns."""

    rows: DealtLines
    columns: DealtLines

    @property
    def tiles(self) -> int:
        return self.rows.threads * self.columns.threads

    @property
    def sums(self) -> int:
        """How many sums a thread computes at once."""
        return self.rows.per_thread * self.columns.per_thread


SUMS = 64
"""How many sums of 32 bits a thread has in registers at most: 16 factors and addresses need room, too."""

_SMALL, _MEDIUM = 256, 2048
"""Targets of so many elements have tiles of at most 16, and of 32 sums.

What is small waits for memory, and many threads are quicker at that; what is large waits for shared memory, which
larger tiles read less often.
"""

_LINES = 8
"""The rows, or columns, of a tile at most."""


def tiling(rows: FactorLayout, columns: FactorLayout, threads: int | None) -> ProductTiling:
    """The tiling that keeps most threads busy with tiles that read little; of so many threads, or of as few as suit."""
    area = rows.lines * columns.lines
    most = 16 if area <= _SMALL else 32 if area <= _MEDIUM else SUMS
    most = most * 4 // max(4, rows.size)
    return max(
        (ProductTiling(*pair) for pair in _pairs(rows, columns) if pair[0].per_thread * pair[1].per_thread <= most),
        key=lambda one: (_worth(one, area, threads), one.rows.per_thread),
    )


def _pairs(rows: FactorLayout, columns: FactorLayout) -> Iterator[tuple[DealtLines, DealtLines]]:
    for left in _dealt(rows):
        for right in _dealt(columns):
            yield left, right


def _dealt(factor: FactorLayout) -> Iterator[DealtLines]:
    all = factor.lines // factor.piece
    for pieces in range(1, min(all, max(1, _LINES // factor.piece)) + 1):
        yield DealtLines(factor.lines, factor.piece, pieces, -(-all // pieces))


def _worth(one: ProductTiling, area: int, threads: int | None) -> float:
    """The part of all products that is asked for, and the part of the instructions that are products."""
    many = thread_count(one.tiles) if threads is None else -(-one.tiles // threads) * threads
    busy = area / (many * one.sums)
    return busy * one.sums / (one.sums + one.rows.per_thread + one.columns.per_thread)


def thread_count(tiles: int) -> int:
    """The threads for some tiles, one each: a power of two up to a warp, then whole warps."""
    return 1 << (tiles - 1).bit_length() if tiles <= 32 else -(-tiles // 32) * 32
