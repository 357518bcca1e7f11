"""The check that the result of a collective instruction shares no element with another operand.

Most of it is decided while the kernel is compiled: allocations lie apart from all else, members of groups from all
other arguments. Two arguments are told apart before the loop over work-groups, two views of one memory by a comparison
where they stand. Only where ranges of addresses meet, a routine looks closer (`girih.facts.overlap`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

from girih.analysis.effects import roots_of
from girih.back.llvm.cpu.collective.elements import View, view
from girih.back.llvm.cpu.collective.overlap_routine import OverlapTable
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.values import Scalar, index
from girih.facts import findings
from girih.facts.overlap import ByteBox, byte_box, first_shared, index_at
from girih.ir.core import Function, Value
from girih.ir.types import GroupType, MemRef
from girih.ops.tile.linalg import same_view_has_meaning


def check_apart(code: CpuCode, op: Any, names: Sequence[str], views: Sequence[View]) -> None:
    """Find an operand that shares elements with the result, which is the last of the names and views."""
    if not code.checks:
        return
    pairs = [
        _Pair(code, op, (name, names[-1]), other, views[-1]) for name, other in zip(names, views[:-1], strict=False)
    ]
    to_check = (pair for pair in pairs if pair.may_meet and code.w.first_time(*pair.facts))
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


@lru_cache(maxsize=4)
def _roots(function: Function) -> dict[Value, Value]:
    return roots_of(function)


def _is_memref_parameter(function: Function, root: Value) -> bool:
    return isinstance(root.type, MemRef) and any(p.value is root for p in function.parameters)


def _is_known(box: View) -> bool:
    return all(isinstance(n, int) for n in (*box.shape, *box.strides))


def _same_strides(a: View, b: View) -> bool:
    """Whether two views of one shape are known to have the same strides."""
    return all(size == 1 or _equal(s, t) for size, s, t in zip(a.shape, a.strides, b.strides, strict=True))


def _equal(a: Operand, b: Operand) -> bool:
    return a == b if isinstance(a, int) or isinstance(b, int) else a.text == b.text


def _near(w: Writer, other: View, result: View) -> Val:
    """Whether the ranges of addresses of two views meet, where they are not empty."""
    spans = _span(w, other), _span(w, result)
    past = w.add(_distance(w, other, result), w.sub(spans[0], 1))
    most = w.sub(w.add(*spans), 1)
    # Unlike a comparison, this is moved before the loops in which its operands do not change.
    return w.pure("i1", f"icmp ult {past}, {most.text}", (past, most))


def _distance(w: Writer, other: View, result: View) -> Val:
    return w.sub(*(w.convert("ptrtoint", box.pointer, "i64") for box in (other, result)))


def _span(w: Writer, box: View) -> Val:
    """The number of bytes from the first to the last of a view, both counted, if it is not empty."""
    span: Operand = 1
    for size, stride in zip(box.shape, box.strides, strict=True):
        span = w.add(span, w.mul(w.sub(size, 1), stride))
    return w.mul(span, box.element.size)


class _Pair:
    """The result of an instruction and another operand, which may lie in one memory."""

    def __init__(self, code: CpuCode, op: Any, names: tuple[str, str], other: View, result: View) -> None:
        self._code, self._op = code, op
        self._operands = [getattr(op, name) for name in names]
        self._words = findings.operands_overlap(op, *names)
        self._other, self._result = other, result
        self._same_is_fine = same_view_has_meaning(op) and other.element == result.element

    @property
    def roots(self) -> list[Value]:
        """The parameters or allocations that the operand and the result are views of."""
        return [_roots(self._code.function)[operand] for operand in self._operands]

    @property
    def facts(self) -> tuple[str, ...]:
        """What is known of code behind the check."""
        return "apart", str(self._same_is_fine), repr(self._other), repr(self._result)

    @property
    def of_one_memory(self) -> bool:
        """Whether both are views of one argument or allocation, or of members of one group."""
        theirs, mine = self.roots
        return theirs is mine

    @property
    def may_meet(self) -> bool:
        """Whether the operands may share memory at all: if it is not one memory, then two arguments, and no members."""
        return self.of_one_memory or all(_is_memref_parameter(self._code.function, root) for root in self.roots)

    @property
    def whole(self) -> list[View]:
        """All of the arguments, or where not both are at hand, as in a function for a part of a kernel, the views."""
        code = self._code
        if not all(root in code.env for root in self.roots):
            return [self._other, self._result]
        return [view(code.w, code.memref(root)) for root in self.roots]

    def check_views(self) -> None:
        """Find elements that two views of one memory share."""
        other, result = self._other, self._result
        distance = self._known_distance()
        if distance == 0 and self._same_is_fine and _same_strides(other, result):
            return
        if distance is not None and _is_known(other) and _is_known(result):
            self._decide(distance)
            return
        w = self._code.w
        w.unlikely(_near(w, other, result), self.look_closer, returns=True)

    def _known_distance(self) -> int | None:
        """The number of bytes from the result to the operand, where it is a constant."""
        other, result = (self._code.memref(operand) for operand in self._operands)
        if isinstance(self.roots[0].type, GroupType) or not (other.uniform and result.uniform):
            return None
        theirs, mine = other.offset.part, result.offset.part
        if theirs.text == mine.text:
            return 0
        first, second = theirs.literal, mine.literal
        return None if first is None or second is None else (first - second) * other.element.size

    def _decide(self, distance: int) -> None:
        """Find elements that are shared, where shapes, strides and distance are known."""
        other, result = self._other, self._result
        box, its = _known_box(result), _known_box(other)
        shared = None if box is None or its is None else first_shared(distance, box, its)
        if shared is None:
            return
        shape, strides = _known(result.shape), _known(result.strides)
        place = index_at(shared, shape, strides, result.element.size)
        self._find(integer(1, "i1"), list(map(index, place)), list(map(index, shape)))

    def look_closer(self) -> None:
        """Find elements that are shared, at run time, where ranges of addresses may meet."""
        code, other, result = self._code, self._other, self._result
        w = code.w
        used = code.frame.used
        table = OverlapTable(code.take(OverlapTable.bytes(result, other)), result, other)
        code.frame.used = used
        table.fill(w)
        distance = _distance(w, other, result)
        byte = table.first_shared(w, distance)
        bad = w.compare("sge", byte, 0)
        if self._same_is_fine:
            same = w.binary("and", w.compare("eq", distance, 0), table.same_steps(w))
            bad = w.binary("and", bad, w.negated(same))
        place, shape = table.index_and_shape(w, byte)
        self._find(bad, list(map(index, place)), list(map(index, shape)))

    def _find(self, bad: Val, place: Sequence[Scalar], shape: Sequence[Scalar]) -> None:
        self._code.check(self._op, bad, self._words, argument=self._result.name, index=place, shape=shape)


def _known(extents: Sequence[Operand]) -> list[int]:
    return [n for n in extents if isinstance(n, int)]


def _known_box(box: View) -> ByteBox | None:
    return byte_box(_known(box.shape), _known(box.strides), box.element.size)
