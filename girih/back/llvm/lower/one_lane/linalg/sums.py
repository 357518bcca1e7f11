"""Sums along a mode: of vectors and of the rows of a matrix, also weighted (gemv), and running sums.

A sum is computed by one thread where neighbouring threads then read neighbours; where the summands themselves are
neighbours, or sums are fewer than threads, by a subgroup, whose work-items put theirs together in a tree. The sum of a
vector is computed by all subgroups, whose sums are added one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.lower.collective.views import View
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.linalg.dealing import deal, thread_count
from girih.back.llvm.lower.one_lane.linalg.target import CollectiveNumbers, Parts, ScaledTarget
from girih.back.llvm.lower.one_lane.subgroup import reduced, scanned

Summands = Callable[[Operand, Parts], Parts]
"""The sum so far with one more summand, which is known by its position."""


def _suits_subgroups(code: OneLaneCode, lines: Sequence[Operand], length: Operand, *, neighbours: bool) -> bool:
    """Whether subgroups compute sums of `length` summands, which are `neighbours` in memory or not; see above."""
    size = code.geometry.subgroup_size
    if size == 1 or (isinstance(length, int) and length < size):
        return False
    count = 1
    for extent in lines:
        if not isinstance(extent, int):
            return neighbours
        count *= extent
    return neighbours or count < thread_count(code)


def _lane(code: OneLaneCode) -> Val:
    """The number of the work-item in its subgroup, as an index."""
    return code.w.convert("sext", code.lane, "i64")


def _summed(
    code: OneLaneCode, n: CollectiveNumbers, first: Operand, length: Operand, step: int, add: Summands
) -> Parts:
    """The sum of every `step`th summand from the first on."""
    with code.w.loop(first, length, step, n.zero, saturate=True) as loop:
        loop.following = add(loop.index, loop.values)
    return loop.results


def _summed_by_subgroup(
    code: OneLaneCode, n: CollectiveNumbers, first: Operand, length: Operand, step: int, add: Summands
) -> Parts:
    return reduced(code, "add", n.compute, _summed(code, n, first, length, step, add))


def vector_sum(code: OneLaneCode, target: ScaledTarget, a: View) -> None:
    """target := alpha (sum of the vector a) + beta target."""
    n, w = target.numbers, code.w
    sum = _summed_by_subgroup(
        code, n, code.thread, a.shape[0], thread_count(code), lambda i, held: n.add(held, n.read(a, i))
    )
    if code.geometry.subgroups > 1:
        with w.loop(0, code.geometry.subgroups, 1, n.zero) as loop:
            first = w.convert("trunc", w.mul(loop.index, code.geometry.subgroup_size), "i32")
            theirs = tuple(code.exchanged(part, first, work_group=True) for part in sum)
            loop.following = n.add(loop.values, theirs)
        sum = loop.results
    with w.when(w.compare("eq", code.thread, integer(0))):
        target.write(sum)


def row_sums(code: OneLaneCode, target: ScaledTarget, a: View, b: View | None) -> None:
    """target := alpha (rows of a, each summed, or multiplied by the vector b) + beta target."""
    n, (rows, length) = target.numbers, a.shape

    def summands(row: Operand) -> Summands:
        def add(k: Operand, held: Parts) -> Parts:
            one = n.read(a, row, k)
            return n.add(held, one) if b is None else n.accumulate(one, n.read(b, k), held)

        return add

    if not _suits_subgroups(code, (rows,), length, neighbours=a.strides[1] == 1 and a.strides[0] != 1):
        deal(code, (rows,), lambda at: target.write(_summed(code, n, 0, length, 1, summands(at[0])), *at))
        return

    def by_subgroup(at: Sequence[Operand]) -> None:
        sum = _summed_by_subgroup(code, n, _lane(code), length, code.geometry.subgroup_size, summands(at[0]))
        with code.w.when(code.w.compare("eq", code.lane, integer(0, "i32"))):
            target.write(sum, *at)

    deal(code, (rows,), by_subgroup, to_subgroups=True)


# --- running sums ------------------------------------------------------------------------------


def running_sums(code: OneLaneCode, target: ScaledTarget, a: View, mode: int) -> None:
    """target := alpha (running sums of a along a mode) + beta target."""
    lines, length = [*a.shape[:mode], *a.shape[mode + 1 :]], a.shape[mode]
    to_subgroups = _suits_subgroups(code, lines, length, neighbours=mode == 0)
    write = _running_by_subgroup if to_subgroups else _running_by_thread

    def line(at: Sequence[Operand]) -> None:
        write(code, target, a, length, lambda k: [*at[:mode], k, *at[mode:]])

    deal(code, lines, line, to_subgroups=to_subgroups)


Line = Callable[[Operand], list[Operand]]
"""The index of an element by its position in a line."""


def _running_by_thread(code: OneLaneCode, target: ScaledTarget, a: View, length: Operand, index: Line) -> None:
    n = target.numbers
    with code.w.loop(0, length, 1, n.zero) as loop:
        sum = n.add(loop.values, n.read(a, *index(loop.index)))
        target.write(sum, *index(loop.index))
        loop.following = sum


def _running_by_subgroup(code: OneLaneCode, target: ScaledTarget, a: View, length: Operand, index: Line) -> None:
    """As many neighbours at a time as there are work-items, with the sum of all before them carried along."""
    n, w, size = target.numbers, code.w, code.geometry.subgroup_size
    with w.loop(0, length, size, n.zero, saturate=True) as loop:
        place = w.add(loop.index, _lane(code))
        inside = w.compare("slt", place, length)
        held = tuple(w.either(inside, lambda: n.read(a, *index(place)), lambda: n.zero))
        sums = scanned(code, "add", n.compute, held)
        with w.when(inside):
            target.write(n.add(loop.values, sums), *index(place))
        last = tuple(code.exchanged(part, integer(size - 1, "i32")) for part in sums)
        loop.following = n.add(loop.values, last)
