"""The check that the result of a collective instruction shares no element with another operand.

What is known while the kernel is compiled decides most of it (`girih.back.llvm.lower.collective.apart`). Two arguments
are told apart before the loop over work-groups, two views of one memory by a comparison where they stand. Only where
ranges of addresses meet, a routine looks closer (`girih.facts.overlap`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from girih.back.llvm.cpu.collective.overlap_routine import OverlapTable
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.collective.apart import OperandPair, pairs_to_check, span
from girih.back.llvm.lower.collective.views import View
from girih.back.llvm.numbers.values import index


def check_apart(code: CpuCode, op: Any, names: Sequence[str], views: Sequence[View]) -> None:
    """Find an operand that shares elements with the result, which is the last of the names and views."""
    if not code.checks:
        return
    to_check = pairs_to_check(_Pair, code, op, names, views)
    for of_one_memory, run in groupby(to_check, lambda pair: pair.of_one_memory):
        if of_one_memory:
            for pair in run:
                pair.check_views()
        else:
            _check_arguments(code.w, list(run))


def _check_arguments(w: Writer, pairs: Sequence[_Pair]) -> None:
    """Find elements that views of different arguments share."""
    meet = integer(0, "i1")
    for pair in pairs:
        meet = w.binary("or", meet, _near(w, *pair.whole))
    w.unlikely(w.settled(meet), lambda: _look_closer(pairs), returns=True)


def _look_closer(pairs: Sequence[_Pair]) -> None:
    for pair in pairs:
        pair.look_closer()


def _near(w: Writer, other: View, result: View) -> Val:
    """Whether the ranges of addresses of two views meet, where they are not empty."""
    spans = span(w, other), span(w, result)
    past = w.add(_distance(w, other, result), w.sub(spans[0], 1))
    most = w.sub(w.add(*spans), 1)
    # Unlike a comparison, this is moved before the loops in which its operands do not change.
    return w.pure("i1", f"icmp ult {past}, {most.text}", (past, most))


def _distance(w: Writer, other: View, result: View) -> Val:
    return w.sub(*(w.convert("ptrtoint", box.pointer, "i64") for box in (other, result)))


class _Pair(OperandPair[CpuCode]):
    """Two operands, looked at while the kernel runs."""

    def check_views(self) -> None:
        """Find elements that two views of one memory share."""
        if not self.decide():
            w = self.code.w
            w.unlikely(_near(w, self.other, self.result), self.look_closer, returns=True)

    def look_closer(self) -> None:
        """Find elements that are shared, at run time, where ranges of addresses may meet."""
        code, other, result = self.code, self.other, self.result
        w = code.w
        used = code.frame.used
        table = OverlapTable(code.take(OverlapTable.bytes(result, other)), result, other)
        code.frame.used = used
        table.fill(w)
        distance = _distance(w, other, result)
        byte = table.first_shared(w, distance)
        bad = w.compare("sge", byte, 0)
        if self.same_is_fine:
            same = w.binary("and", w.compare("eq", distance, 0), table.same_steps(w))
            bad = w.binary("and", bad, w.negated(same))
        place, shape = table.index_and_shape(w, byte)
        self.find(bad, list(map(index, place)), list(map(index, shape)))
