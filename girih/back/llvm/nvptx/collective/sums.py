"""Sums along a mode on a GPU, 16 bytes a thread: of vectors, of the rows of a matrix, also weighted (gemv).

Where summands are neighbours in memory, a warp computes a sum, and where there are fewer sums than warps, the
work-group does. Where sums have neighbours, a thread computes several, and where these are fewer than threads, several
threads have a part of the summands each. A thread reads several pieces before it adds the first one. The parts are
added in one order, whatever the threads do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Operand, Val, integer, zero
from girih.back.llvm.lower.collective.views import View
from girih.back.llvm.lower.one_lane.linalg.dealing import deal, thread_count
from girih.back.llvm.lower.one_lane.linalg.target import CollectiveNumbers, ScaledTarget
from girih.back.llvm.lower.one_lane.subgroup import reduced
from girih.back.llvm.numbers.values import vector_of
from girih.back.llvm.nvptx.collective.gemm import shared_bytes_left
from girih.back.llvm.nvptx.collective.pieces import at_once, in_two_ways, is_aligned, read_piece, suits
from girih.back.llvm.nvptx.machine.code import CudaCode
from girih.lazy_dataclass import dataclass

_BATCH = 4
"""How many pieces a thread reads before it adds."""

_SUMS = "sums"
"""The array with the sums of threads, or of subgroups, that are parts of one."""

Summands = Callable[[Operand, int], tuple[Val, ...]]
"""The numbers of `count` neighbouring summands from a position on: summands, and what each is multiplied by."""


def vector_sum(code: CudaCode, target: ScaledTarget, a: View, otherwise: Callable[[], None]) -> None:
    """target := alpha (sum of the vector a) + beta target; `otherwise` writes code for memory without neighbours."""
    n = target.numbers
    if not suits(a, target.view) or a.strides[0] != 1:
        otherwise()
        return
    line = _Line(n, a.shape[0], at_once(a.element), lambda k, count: (read_piece(n, a, a.address(code.w, k), count),))

    def summed() -> None:
        _write_by_work_group(code, target, line, [])

    in_two_ways(code, is_aligned(code, a, line.count), summed, otherwise)


def row_sums(code: CudaCode, target: ScaledTarget, a: View, b: View | None, otherwise: Callable[[], None]) -> None:
    """target := alpha (rows of a, each summed, or multiplied by the vector b) + beta target."""
    if not suits(a, target.view, *([] if b is None else [b])):
        otherwise()
    elif a.strides[0] == 1:
        _columns(code, target, a, b, otherwise)
    elif a.strides[1] == 1 and (b is None or b.strides[0] == 1):
        _rows(code, target, a, b, otherwise)
    else:
        otherwise()


@dataclass(frozen=True, slots=True)
class _Line:
    """The summands of a sum, of which `count` are read at once."""

    numbers: CollectiveNumbers
    length: Operand
    count: int
    summands: Summands

    def sum(self, first: Val, step: Operand) -> Val:
        """The sum of the pieces `first`, `first + step`, ..., and of the elements behind the last whole piece."""
        n, w, count = self.numbers, self.numbers.code.w, self.count
        pieces = w.binary("lshr", w.value(self.length), integer(count.bit_length() - 1))
        batch = w.mul(step, _BATCH)
        full = w.mul(w.binary("udiv", pieces, batch), batch)
        nothing = zero(vector_of(n.compute, count))
        with w.loop(first, full, batch, [nothing] * _BATCH) as loop:
            read = [self.summands(w.mul(w.add(loop.index, w.mul(step, k)), count), count) for k in range(_BATCH)]
            loop.following = [self.added(held, one) for held, one in zip(loop.values, read, strict=True)]
        a, b, c, d = ((held,) for held in loop.results)
        (total,) = n.add(n.add(a, b), n.add(c, d))
        with w.loop(w.add(full, first), pieces, step, [total]) as loop:
            loop.following = [self.added(loop.values[0], self.summands(w.mul(loop.index, count), count))]
        total = self._folded(loop.results[0])
        left = w.add(w.mul(pieces, count), first)
        with w.loop(left, self.length, step, [total]) as loop:
            loop.following = [self.added(loop.values[0], self.summands(loop.index, 1))]
        return loop.results[0]

    def added(self, held: Val, read: tuple[Val, ...]) -> Val:
        """The sum so far with one more summand of each."""
        n = self.numbers
        if len(read) == 1:
            return n.add((held,), read)[0]
        return n.accumulate((read[0],), (read[1],), (held,))[0]

    def _folded(self, held: Val) -> Val:
        """The sum of the elements of a vector, halves first."""
        w, count = self.numbers.code.w, self.count
        while count > 1:
            count //= 2
            (held,) = self.numbers.add((w.part(held, 0, count),), (w.part(held, count, count),))
        return held


def _write_by_work_group(code: CudaCode, target: ScaledTarget, line: _Line, at: Sequence[Operand]) -> None:
    """Write a sum that all threads compute together."""
    n, w = line.numbers, code.w
    threads, subgroups = thread_count(code), code.geometry.subgroups
    sum = reduced(code, "add", n.compute, (line.sum(code.thread, integer(threads)),))
    if subgroups > 1:
        bytes = n.compute.size
        memory = code.array(_SUMS, subgroups * bytes)
        with w.when(w.compare("eq", code.lane, integer(0, "i32"))):
            w.store(sum[0], w.at(memory, w.mul(code.subgroup, bytes)), bytes)
        code.barrier()
        parts = [w.load(sum[0].type, w.at(memory, k * bytes), bytes) for k in range(subgroups)]
        sum = (parts[0],)
        for one in parts[1:]:
            sum = n.add(sum, (one,))
    with w.when(w.compare("eq", code.thread, integer(0))):
        target.write(sum, *at)


def _rows(code: CudaCode, target: ScaledTarget, a: View, b: View | None, otherwise: Callable[[], None]) -> None:
    """Sums of neighbours: by subgroups, or by the work-group one after the other where they are fewer."""
    n, w, (rows, length) = target.numbers, code.w, a.shape
    count = at_once(a.element) if b is None else min(at_once(a.element), at_once(b.element))

    def line(row: Operand) -> _Line:
        def read(k: Operand, many: int) -> tuple[Val, ...]:
            held = read_piece(n, a, a.address(w, row, k), many)
            return (held,) if b is None else (held, read_piece(n, b, b.address(w, k), many))

        return _Line(n, length, count, read)

    def by_subgroup(at: Sequence[Operand]) -> None:
        lane = w.convert("zext", code.lane, "i64")
        sum = reduced(code, "add", n.compute, (line(at[0]).sum(lane, integer(code.geometry.subgroup_size)),))
        with w.when(w.compare("eq", code.lane, integer(0, "i32"))):
            target.write(sum, *at)

    def summed() -> None:
        few = isinstance(rows, int) and rows < code.geometry.subgroups
        if not few:
            deal(code, (rows,), by_subgroup, to_subgroups=True)
            return
        assert isinstance(rows, int)
        for row in range(rows):
            _write_by_work_group(code, target, line(row), [row])
            code.barrier()

    aligned = is_aligned(code, a.turned(True), count)
    if b is not None:
        aligned = w.binary("and", aligned, is_aligned(code, b, count))
    in_two_ways(code, aligned, summed, otherwise)


def _columns(code: CudaCode, target: ScaledTarget, a: View, b: View | None, otherwise: Callable[[], None]) -> None:
    """Neighbouring sums by each thread, and by several threads where they are few."""
    n, w, (rows, length) = target.numbers, code.w, a.shape
    count, threads = at_once(a.element, rows), thread_count(code)
    whole = w.compare("eq", w.binary("urem", w.value(rows), integer(count)), integer(0))
    pieces = w.binary("udiv", w.value(rows), integer(count))
    bytes = n.compute.size
    if threads * count * bytes > shared_bytes_left(code, _SUMS):
        otherwise()
        return
    memory = code.array(_SUMS, threads * count * bytes)

    def summed() -> None:
        # So many threads have parts of the summands of the same sums.
        parts = w.larger(w.binary("udiv", integer(threads), w.larger(pieces, 1)), 1)
        across = w.smaller(pieces, threads)
        part, own = (
            w.binary("udiv", code.thread, w.larger(across, 1)),
            w.binary("urem", code.thread, w.larger(across, 1)),
        )
        busy = w.compare("slt", part, parts)
        with w.loop(0, pieces, threads) as loop:
            piece = w.add(loop.index, own)
            inside = w.both(busy, w.compare("slt", piece, pieces))
            assert inside is not None
            row = w.mul(piece, count)

            def read(k: Operand, _: int) -> tuple[Val, ...]:
                held = read_piece(n, a, a.address(w, row, k), count)
                return (held,) if b is None else (held, w.splat(n.read(b, k)[0], count))

            line = _Line(n, length, 1, read)
            stop = w.select(inside, w.value(length), integer(0))
            sum = _strided(line, part, stop, parts, count)
            place = w.at(memory, w.mul(code.thread, count * bytes))
            w.store(sum, place, min(16, count * bytes))
            code.barrier()
            with w.when(w.binary("and", inside, w.compare("eq", part, 0))):
                with w.loop(1, parts, 1, [sum]) as others:
                    number = w.add(own, w.mul(others.index, across))
                    other = w.load(sum.type, w.at(memory, w.mul(number, count * bytes)), min(16, count * bytes))
                    others.following = n.add((others.values[0],), (other,))
                for k in range(count):
                    target.write((w.extract(others.results[0], k),), w.add(row, k))
            code.barrier()

    aligned = w.binary("and", is_aligned(code, a, count), whole)
    in_two_ways(code, aligned, summed, otherwise)


def _strided(line: _Line, first: Val, stop: Val, step: Val, count: int) -> Val:
    """The sums of `count` neighbours over every `step`th summand from the first on, several read at a time."""
    n, w = line.numbers, line.numbers.code.w
    batch = w.mul(step, _BATCH)
    left = w.larger(w.sub(stop, first), 0)
    full = w.add(first, w.mul(w.binary("udiv", left, batch), batch))
    with w.loop(first, full, batch, [zero(vector_of(n.compute, count))]) as loop:
        read = [line.summands(w.add(loop.index, w.mul(step, k)), 1) for k in range(_BATCH)]
        held = loop.values[0]
        for one in read:
            held = line.added(held, one)
        loop.following = [held]
    with w.loop(full, stop, step, [loop.results[0]]) as rest:
        rest.following = [line.added(rest.values[0], line.summands(rest.index, 1))]
    return rest.results[0]
