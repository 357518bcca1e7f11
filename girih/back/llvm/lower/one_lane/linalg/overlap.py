"""The check that the result of a collective instruction shares no element with another operand, where each work-item
is a thread.

What is known while the kernel is compiled decides most of it (`girih.back.llvm.lower.collective.apart`), and what the
launch has seen of its arguments (`OneLaneCode.arguments_apart`). Where ranges of addresses meet at run time, every
thread looks closer: `girih.facts.overlap.first_shared` as loops, one inside the other, for as many modes as both boxes
have. It needs no memory and no calls, and all threads find the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.collective.apart import OperandPair, pairs_to_check, span
from girih.back.llvm.lower.collective.views import View
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.numbers.values import index
from girih.lazy_dataclass import dataclass


def check_apart(code: OneLaneCode, op: Any, names: Sequence[str], views: Sequence[View]) -> None:
    """Find an operand that shares elements with the result, which is the last of the names and views."""
    if not code.checks:
        return
    for pair in pairs_to_check(_ThreadPair, code, op, names, views):
        if not (pair.of_one_memory and pair.decide()):
            pair.check()


class _ThreadPair(OperandPair[OneLaneCode]):
    """Two operands, looked at while the kernel runs."""

    @property
    def may_meet(self) -> bool:
        """Whether the operands may share memory at all: those in two arguments do not, where these are apart."""
        return self.of_one_memory or (not self.code.arguments_apart and super().may_meet)

    def check(self) -> None:
        """Find elements that are shared."""
        distance = self._distance()
        if distance is None:
            return
        w = self.code.w
        spans = span(w, self.other), span(w, self.result)
        past = w.add(distance, w.sub(spans[0], 1))
        near = w.compare("ult", past, w.sub(w.add(*spans), 1))
        w.unlikely(near, lambda: self._look_closer(distance), returns=True)

    def _distance(self) -> Val | None:
        """The number of bytes from the result to the operand; None if the machine has them in memories of their own."""
        w = self.code.w
        other, result = self.memrefs
        begin = self.code.distance(other.pointer, result.pointer)
        if begin is None:
            return None
        bytes = [w.mul(held.offset.part, held.element.size) for held in (other, result)]
        return w.add(begin, w.sub(*bytes))

    def _look_closer(self, distance: Val) -> None:
        w, result, other = self.code.w, _box(self.code.w, self.result), _box(self.code.w, self.other)
        byte = _first_shared(w, distance, result, other, len(result.modes) + len(other.modes))
        bad = w.compare("sge", byte, 0)
        for size in (*self.result.shape, *self.other.shape):
            bad = w.binary("and", bad, w.compare("sgt", size, 0))
        if self.same_is_fine:
            same = w.compare("eq", distance, 0)
            for mine, its in zip(result.modes, other.modes, strict=True):
                same = w.binary("and", same, w.compare("eq", mine.step, its.step))
            bad = w.binary("and", bad, w.negated(same))
        place = _index_at(w, byte, result)
        self.find(bad, list(map(index, place)), [index(w.value(n)) for n in self.result.shape])


@dataclass(frozen=True, slots=True)
class _SteppedMode:
    """The slices of a mode: how many follow the first one, and how many bytes apart they are; 0 where there is one."""

    behind: Val
    step: Val


@dataclass(frozen=True, slots=True)
class _SteppedBox:
    """A box of elements of a known number of bytes."""

    modes: tuple[_SteppedMode, ...]
    element: int

    def span(self, w: Writer) -> Val:
        """The number of bytes from the first to the last, both counted."""
        total = integer(self.element)
        for mode in self.modes:
            total = w.add(total, w.mul(mode.behind, mode.step))
        return total

    def sliced(self, w: Writer, step: Val) -> tuple[_SteppedBox, Val]:
        """A slice of the mode whose slices are `step` bytes apart, and how many follow it; itself and 0 without one."""
        modes, behind, nothing = [], integer(0), integer(0)
        for mode in self.modes:
            cut = w.compare("eq", mode.step, step)
            behind = w.select(cut, mode.behind, behind)
            modes.append(_SteppedMode(w.select(cut, nothing, mode.behind), w.select(cut, nothing, mode.step)))
        return _SteppedBox(tuple(modes), self.element), behind


def _box(w: Writer, view: View) -> _SteppedBox:
    modes = []
    for size, stride in zip(view.shape, view.strides, strict=True):
        behind = w.larger(w.sub(size, 1), 0)
        # The stride of a mode of size 1 leads nowhere.
        step = w.select(w.compare("sgt", behind, 0), w.mul(stride, view.element.size), integer(0))
        modes.append(_SteppedMode(behind, step))
    return _SteppedBox(tuple(modes), view.element.size)


def _first_shared(w: Writer, distance: Val, box: _SteppedBox, other: _SteppedBox, modes: int) -> Val:
    """The number of bytes from the begin of a box to the first that is in another box, too; -1 if none is.

    The other box begins `distance` bytes behind the first one. At most `modes` modes have several slices.
    """
    none, nothing = integer(-1), integer(0)
    if modes == 0:
        apart = w.binary(
            "or", w.compare("sge", distance, box.element), w.compare("sle", w.add(distance, other.element), 0)
        )
        return w.select(apart, none, w.larger(distance, nothing))
    step = integer(0)
    for mode in (*box.modes, *other.modes):
        step = w.larger(step, mode.step)
    # Slices of the box, of the other one, or pairs of both that are equally many slices apart; for a step of 0, both.
    (mine, before), (its, behind) = box.sliced(w, step), other.sliced(w, step)
    divisor = w.larger(step, 1)
    least = w.sub(0, _floor(w, w.sub(w.add(distance, its.span(w)), 1), divisor))
    most = _floor(w, w.sub(w.sub(mine.span(w), 1), distance), divisor)
    first, last = w.larger(w.sub(0, before), least), w.smaller(behind, most)
    with w.loop(first, w.add(last, 1), carried=(none,)) as loop:
        (best,) = loop.values
        moved = w.add(distance, w.mul(loop.index, step))
        byte = _first_shared(w, moved, mine, its, modes - 1)
        from_begin = w.add(byte, w.mul(w.larger(w.sub(0, loop.index), 0), step))
        shared = w.select(w.compare("slt", byte, 0), none, from_begin)
        # Seen as a number without a sign, -1 is larger than any other.
        loop.following = (w.select(w.compare("ult", shared, best), shared, best),)
    return loop.results[0]


def _index_at(w: Writer, byte: Val, box: _SteppedBox) -> list[Val]:
    """The index of the element of a box that has a byte."""
    place: list[Val] = []
    for mode in reversed(box.modes):
        position = w.select(w.compare("sgt", mode.step, 0), w.binary("sdiv", byte, w.larger(mode.step, 1)), integer(0))
        byte = w.sub(byte, w.mul(position, mode.step))
        place.append(position)
    return place[::-1]


def _floor(w: Writer, a: Val, b: Val) -> Val:
    """The quotient of two integers, rounded down; the second is positive."""
    quotient = w.binary("sdiv", a, b)
    rest = w.sub(a, w.mul(quotient, b))
    return w.add(quotient, w.convert("sext", w.compare("slt", rest, 0), "i64"))
