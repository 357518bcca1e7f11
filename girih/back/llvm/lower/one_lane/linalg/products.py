"""Products of which each element of the target has its own: axpby, hadamard, ger and gemm.

A thread computes elements of the target; for gemm a small block of them, where sizes are known, so that it uses each
factor that it reads several times. The rows of a block are apart, so that neighbouring threads have neighbouring rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from girih.back.llvm.emit.text import Operand
from girih.back.llvm.lower.collective.views import View
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.linalg.dealing import deal, thread_count
from girih.back.llvm.lower.one_lane.linalg.target import Parts, ScaledTarget

_WIDEST = 4
"""The most rows and columns of a block."""


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
    blocks = (_part(m, height), _part(columns, width))
    places = list(product(range(width), range(height)))
    parts = len(n.zero)

    def block(at: Sequence[Operand]) -> None:
        rows = [w.add(at[0], w.mul(blocks[0], k)) for k in range(height)]
        across = [w.add(at[1], w.mul(blocks[1], k)) for k in range(width)]
        with w.loop(0, depth, 1, n.zero * len(places)) as loop:
            left = [n.read(a, i, loop.index) for i in rows]
            right = [n.read(b, loop.index, j) for j in across]
            sums = _grouped(loop.values, parts)
            following = [n.accumulate(left[i], right[j], held) for (j, i), held in zip(places, sums, strict=True)]
            loop.following = [part for held in following for part in held]
        for (j, i), held in zip(places, _grouped(loop.results, parts), strict=True):
            target.write(held, rows[i], across[j])

    deal(code, blocks, block)


def _block(rows: Operand, columns: Operand, threads: int) -> tuple[int, int]:
    """The rows and columns of the largest block that divides a matrix of known size and leaves no thread idle."""
    if not isinstance(rows, int) or not isinstance(columns, int):
        return 1, 1
    sizes = (_WIDEST, _WIDEST // 2, 1)
    fitting = [
        (height, width)
        for height, width in product(sizes, sizes)
        if rows % height == 0 and columns % width == 0 and rows * columns // (height * width) >= threads
    ]
    return max(fitting, key=lambda block: (block[0] * block[1], block[0]), default=(1, 1))


def _part(extent: Operand, count: int) -> Operand:
    return extent // count if isinstance(extent, int) else extent


def _grouped(flat: Parts, parts: int) -> list[Parts]:
    return [tuple(flat[k : k + parts]) for k in range(0, len(flat), parts)]
