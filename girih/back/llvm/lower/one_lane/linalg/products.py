"""Products of which each element of the target has its own: axpby, hadamard, ger and gemm.

A thread computes elements of the target; for gemm a small block of them, so that it uses each factor that it reads
several times. The rows of a block are apart, so that neighbouring threads have neighbouring rows; one that lies outside
is computed from another one's factors, and not written.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import product

from girih.back.llvm.emit.text import Operand, Val
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.collective.views import View
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.linalg.dealing import deal, thread_count
from girih.back.llvm.lower.one_lane.linalg.target import Parts, ScaledTarget
from girih.lazy_dataclass import dataclass

_COUNTS = (4, 2, 1)
"""How many rows or columns a block may have."""

_UNKNOWN = 2
"""How many it has where the matrix has a number that is known only at run time."""

_FEW = 8
"""One in so many rows or columns of all blocks may lie outside."""


def scaled_copy(code: OneLaneCode, target: ScaledTarget, a: View) -> None:
    """target := alpha a + beta target, element by element."""
    deal(code, target.view.shape, lambda at: target.write(target.numbers.read(a, *at), *at))


def entrywise(code: OneLaneCode, target: ScaledTarget, a: View, b: View) -> None:
    """target := alpha a * b + beta target, element by element."""
    n = target.numbers

    def element(at: Sequence[Operand]) -> None:
        target.write(n.multiply(n.read(a, *at), n.read(b, *at), contract=code.contract), *at)

    deal(code, target.view.shape, element)


def outer(code: OneLaneCode, target: ScaledTarget, a: View, b: View) -> None:
    """target := alpha a b^T + beta target."""
    n = target.numbers

    def element(at: Sequence[Operand]) -> None:
        target.write(n.multiply(n.read(a, at[0]), n.read(b, at[1]), contract=code.contract), *at)

    deal(code, target.view.shape, element)


def matrix_product(code: OneLaneCode, target: ScaledTarget, a: View, b: View) -> None:
    """target := alpha a b + beta target, for matrices whose extents are as well known as any operand knows them."""
    w, n = code.w, target.numbers
    (m, depth), columns = a.shape, b.shape[1]
    height, width = _block(m, columns, thread_count(code))
    down, across = _Places.of(w, m, height), _Places.of(w, columns, width)
    places = list(product(range(width), range(height)))
    parts = len(n.zero)

    def block(at: Sequence[Operand]) -> None:
        rows, those = down.at(w, at[0]), across.at(w, at[1])
        with w.loop(0, depth, 1, n.zero * len(places)) as loop:
            left = [n.read(a, row.within, loop.index) for row in rows]
            right = [n.read(b, loop.index, column.within) for column in those]
            sums = _grouped(loop.values, parts)
            following = [n.accumulate(left[i], right[j], held) for (j, i), held in zip(places, sums, strict=True)]
            loop.following = [part for held in following for part in held]
        for (j, i), held in zip(places, _grouped(loop.results, parts), strict=True):
            inside = w.both(rows[i].inside, those[j].inside)
            with nullcontext() if inside is None else w.when(inside):
                target.write(held, rows[i].position, those[j].position)

    deal(code, (down.distance, across.distance), block)


@dataclass(frozen=True, slots=True)
class _Place:
    """A row or column of a block: its position, whether it is in the matrix (None: always), and one that is."""

    position: Operand
    inside: Val | None
    within: Operand


@dataclass(frozen=True, slots=True)
class _Places:
    """The `count` rows or columns of a block, each `distance` from the one before; the last may lie outside."""

    extent: Operand
    count: int
    distance: Operand

    @staticmethod
    def of(w: Writer, extent: Operand, count: int) -> _Places:
        """Those that go to as many threads as there are parts of an extent with so many elements."""
        if isinstance(extent, int):
            return _Places(extent, count, -(-extent // count))
        return _Places(extent, count, w.binary("udiv", w.add(extent, count - 1), count) if count > 1 else extent)

    def at(self, w: Writer, first: Operand) -> list[_Place]:
        """The places of a block that begins at a position, which is in the matrix."""
        places = [_Place(first, None, first)]
        for number in range(1, self.count):
            position = w.add(first, w.mul(self.distance, number))
            if isinstance(self.extent, int) and self.extent % self.count == 0:
                places.append(_Place(position, None, position))
                continue
            inside = w.compare("slt", position, self.extent)
            places.append(_Place(position, inside, w.select(inside, position, w.value(first))))
        return places


def _block(rows: Operand, columns: Operand, threads: int) -> tuple[int, int]:
    """The rows and columns of the largest block with which no thread is idle, and few of its elements lie outside.

    Of an extent that is known only at run time, a block has two: more would be too many for a small matrix.
    """
    heights, widths = (_counts(extent) for extent in (rows, columns))
    if not isinstance(rows, int) or not isinstance(columns, int):
        return heights[0], widths[0]
    fitting = [
        (height, width)
        for height, width in product(heights, widths)
        if -(-rows // height) * -(-columns // width) >= threads
    ]
    return max(fitting, key=lambda block: (block[0] * block[1], block[0]), default=(1, 1))


def _counts(extent: Operand) -> list[int]:
    """How many elements along a mode a block may have, the most first."""
    if not isinstance(extent, int):
        return [_UNKNOWN]
    return [count for count in _COUNTS if (-extent % count) * _FEW <= extent]


def _grouped(flat: Parts, parts: int) -> list[Parts]:
    return [tuple(flat[k : k + parts]) for k in range(0, len(flat), parts)]
