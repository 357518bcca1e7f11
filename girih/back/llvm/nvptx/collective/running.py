"""Running sums along a mode on a GPU, 16 bytes a thread (cumsum).

Along the first mode a warp goes through a line: each work-item adds up a piece of neighbours, and gets the sum of all
before its piece from a scan of the warp. Along other modes a thread goes through several neighbouring lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Operand, Val, integer, zero
from girih.back.llvm.lower.collective.views import View
from girih.back.llvm.lower.one_lane.linalg.dealing import deal
from girih.back.llvm.lower.one_lane.linalg.target import ScaledTarget
from girih.back.llvm.lower.one_lane.subgroup import scanned
from girih.back.llvm.numbers.values import vector_of
from girih.back.llvm.nvptx.collective.elementwise import MOST_BYTES
from girih.back.llvm.nvptx.collective.pieces import (
    ACCESS,
    in_two_ways,
    is_aligned,
    read_piece,
    result_piece,
    store_piece,
    suits,
)
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.lazy_dataclass import dataclass

_BATCH = 4
"""How many pieces a thread reads before it adds."""


def running_sums(code: CudaCode, target: ScaledTarget, a: View, mode: int, otherwise: Callable[[], None]) -> None:
    """target := alpha (running sums of a along a mode) + beta target; `otherwise` for memory without neighbours."""
    views = a, target.view
    if target.atomic or not suits(*views) or any(view.strides[0] != 1 for view in views):
        otherwise()
        return
    w, sizes = code.w, [view.element.size for view in views]
    count = max(1, min(ACCESS // min(sizes), MOST_BYTES // max(sizes)))
    aligned = w.binary("and", is_aligned(code, a, count), is_aligned(code, target.view, count))
    sums = _RunningSums(code, target, a, count)
    if mode == 0:
        in_two_ways(code, aligned, sums.along_lines, otherwise)
        return
    rest = w.binary("urem", w.value(a.shape[0]), integer(count))
    whole = w.binary("and", aligned, w.compare("eq", rest, integer(0)))
    in_two_ways(code, whole, lambda: sums.across_lines(mode), otherwise)


@dataclass(frozen=True, slots=True)
class _RunningSums:
    """Running sums, of pieces of `count` neighbours along the first mode."""

    code: CudaCode
    target: ScaledTarget
    a: View
    count: int

    def along_lines(self) -> None:
        """Lines along the first mode, each by a subgroup."""
        deal(self.code, self.a.shape[1:], self._line, to_subgroups=True)

    def _line(self, at: Sequence[Operand]) -> None:
        code, w, n, count = self.code, self.code.w, self.target.numbers, self.count
        size, length = code.geometry.subgroup_size, self.a.shape[0]
        lane = w.convert("zext", code.lane, "i64")
        pieces = w.binary("lshr", w.value(length), integer(count.bit_length() - 1))
        with w.loop(0, pieces, size, n.zero) as loop:
            piece = w.add(loop.index, lane)
            inside = w.compare("slt", piece, pieces)
            index = [w.mul(piece, count), *at]
            held = self._read_if(inside, index)
            sums = [w.extract(held, 0)]
            for k in range(1, count):
                sums += n.add((sums[-1],), (w.extract(held, k),))
            through = scanned(code, "add", n.compute, (sums[-1],))
            before = code.below(through[0], 1)
            before = w.select(w.compare("eq", code.lane, integer(0, "i32")), n.zero[0], before)
            base = n.add(loop.values, (before,))
            with w.when(inside):
                self._store(w.join([n.add(base, (one,))[0] for one in sums]), index, count)
            loop.following = n.add(loop.values, (code.exchanged(through[0], integer(size - 1, "i32")),))
        with w.loop(w.mul(pieces, count), length, 1, loop.results) as rest:
            index = [rest.index, *at]
            rest.following = n.add(rest.values, (read_piece(n, self.a, self.a.address(w, *index), 1),))
            with w.when(w.compare("eq", code.lane, integer(0, "i32"))):
                self._store(rest.following[0], index, 1)

    def _read_if(self, inside: Val, index: Sequence[Operand]) -> Val:
        w, n = self.code.w, self.target.numbers
        nothing = zero(vector_of(n.compute, self.count))
        (held,) = w.either(
            inside, lambda: [read_piece(n, self.a, self.a.address(w, *index), self.count)], lambda: [nothing]
        )
        return held

    def _store(self, held: Val, index: Sequence[Operand], count: int) -> None:
        place = self.target.view.address(self.code.w, *index)
        store_piece(self.target, result_piece(self.target, held, place, count), place, count)

    def across_lines(self, mode: int) -> None:
        """Lines along another mode, several neighbours by each thread."""
        w, n, count, shape = self.code.w, self.target.numbers, self.count, self.a.shape
        pieces = w.binary("udiv", w.value(shape[0]), integer(count))
        length = w.value(shape[mode])
        full = w.binary("and", length, integer(-_BATCH))

        def lines(at: Sequence[Operand]) -> None:
            def index(k: Operand) -> list[Operand]:
                return [w.mul(at[0], count), *at[1:mode], k, *at[mode:]]

            def read(k: Operand) -> Val:
                return read_piece(n, self.a, self.a.address(w, *index(k)), count)

            with w.loop(0, full, _BATCH, [zero(vector_of(n.compute, count))]) as loop:
                (sum,) = loop.values
                steps = [w.add(loop.index, k) for k in range(_BATCH)]
                for step, one in zip(steps, [read(step) for step in steps], strict=True):
                    (sum,) = n.add((sum,), (one,))
                    self._store(sum, index(step), count)
                loop.following = [sum]
            with w.loop(full, length, 1, loop.results) as rest:
                rest.following = n.add(rest.values, (read(rest.index),))
                self._store(rest.following[0], index(rest.index), count)

        deal(self.code, [pieces, *shape[1:mode], *shape[mode + 1 :]], lines)
