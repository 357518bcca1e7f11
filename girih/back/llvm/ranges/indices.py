"""The ranges that integers of a program have in a loop, as code in front of the loop computes them.

What comes from outside of the loop is asked for by `leaf`; counters lie between their ends, and arithmetic follows the
program. Where an instruction stands in a branch, what the branch has asked for holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from girih.back.llvm.ranges.intervals import Interval, IntervalArithmetic, between, exactly
from girih.back.llvm.ranges.nests import CountedLoop, FoundAccess, Nests
from girih.ir.core import Op, Value
from girih.ir.types import Boolean, Number
from girih.ops.tile.arith import Binary, Bitcast, Cast, Comparison, Constant, Select
from girih.ops.tile.control import For, Foreach, If
from girih.ops.tile.memory import Size

_DEEPEST = 24
"""The number of instructions behind each other that are followed."""

Limits = dict[Value, list[tuple[bool, Value, int]]]
"""What holds of integers: each is at most (True) or at least (False) another value plus a number."""

_ORDER: Mapping[str, tuple[tuple[bool, int], ...]] = {
    "less_than": ((True, -1),),
    "less_than_equal": ((True, 0),),
    "greater_than": ((False, 1),),
    "greater_than_equal": ((False, 0),),
    "equal": ((True, 0), (False, 0)),
    "not_equal": (),
}
"""What a comparison says of its first operand: whether it is a limit above, and how far from the second operand."""

_OPPOSITE = {
    "less_than": "greater_than_equal",
    "greater_than_equal": "less_than",
    "greater_than": "less_than_equal",
    "less_than_equal": "greater_than",
    "equal": "not_equal",
    "not_equal": "equal",
}


def limits_of(access: FoundAccess, loop: Op, made: Mapping[Value, Op]) -> Limits:
    """What the branches in a loop that lead to an access say of integers."""
    found: Limits = {}
    for op, holds in access.within(loop):
        if isinstance(op, If):
            _assume(op.condition, holds, made, found)
    return found


def _assume(condition: Value, holds: bool, made: Mapping[Value, Op], found: Limits) -> None:
    op = made.get(condition)
    if isinstance(op, Binary) and op.spec.mnemonic == ("and" if holds else "or"):
        _assume(op.a, holds, made, found)
        _assume(op.b, holds, made, found)
    elif isinstance(op, Comparison) and isinstance(op.a.type, Number) and op.a.type.family == "integer":
        mnemonic = op.spec.mnemonic if holds else _OPPOSITE[op.spec.mnemonic]
        for above, distance in _ORDER[mnemonic]:
            found.setdefault(op.a, []).append((above, op.b, distance))
            found.setdefault(op.b, []).append((not above, op.a, -distance))


def _is_integer(value: Value) -> bool:
    return isinstance(value.type, Number) and value.type.family == "integer"


def is_followed(nests: Nests, loop: Op, value: Value | int, depth: int = _DEEPEST) -> bool:
    """Whether the range of an integer in a loop follows from what is outside of it."""
    if isinstance(value, int) or not nests.contains(loop, value):
        return True
    op = nests.made[value]
    if depth == 0 or not isinstance(op, For | Foreach | Constant | Binary | Cast | Bitcast | Select | Size):
        return False
    if isinstance(op, For):
        return value is op.variable and all(is_followed(nests, loop, v, depth - 1) for v in (op.start, op.stop))
    if isinstance(op, Foreach):
        at = op.variables.index(value)
        return all(is_followed(nests, loop, v, depth - 1) for v in (op.start[at], op.stop[at]))
    if isinstance(op, Size):
        return not nests.contains(loop, op.tensor)
    operands = (op.a, op.b) if isinstance(op, Binary | Select) else (op.a,) if isinstance(op, Cast | Bitcast) else ()
    return all(_is_integer(v) and is_followed(nests, loop, v, depth - 1) for v in operands)


@dataclass(slots=True)
class LoopRanges:
    """The ranges of integers in a loop; `leaf` gives those of values from outside, `size` those of sizes of memrefs.

    Results are None where nothing is known.
    """

    arithmetic: IntervalArithmetic
    nests: Nests
    loop: CountedLoop
    leaf: Callable[[Value], Interval | None]
    size: Callable[[Size], Interval | None]
    _known: dict[Value, Interval | None] = field(default_factory=dict)

    def of(self, value: Value | int, limits: Limits | None = None) -> Interval | None:
        """The range of an integer, where the limits hold."""
        return _Following(self, limits or {}).of(value, _DEEPEST)


@dataclass(slots=True)
class _Following:
    """The ranges of integers where some limits hold."""

    ranges: LoopRanges
    limits: Limits
    known: dict[Value, Interval | None] = field(default_factory=dict)

    def of(self, value: Value | int, depth: int) -> Interval | None:
        if isinstance(value, int):
            return exactly(value)
        known = self.known if self.limits else self.ranges._known
        if value not in known:
            known[value] = None
            known[value] = self._limited(value, self._of(value, depth), depth)
        return known[value]

    def _limited(self, value: Value, found: Interval | None, depth: int) -> Interval | None:
        """A range without what limits leave out."""
        arithmetic, everywhere = self.ranges.arithmetic, _Following(self.ranges, {})
        ends: list[tuple[bool, Interval]] = []
        for above, other, distance in self.limits.get(value, ()):
            end = everywhere.of(other, depth - 1) if depth else None
            moved = None if end is None else arithmetic.add(end, exactly(distance))
            if moved is not None:
                ends.append((above, moved))
        if found is None:
            lows = [end for above, end in ends if not above]
            highs = [end for above, end in ends if above]
            if not lows or not highs:
                return None
            found = Interval(lows[0].low, highs[0].high).needing(*lows[0].needs, *highs[0].needs)
        for above, end in ends:
            better = arithmetic.at_most(found, end) if above else arithmetic.at_least(found, end)
            found = better or found
        return found

    def _of(self, value: Value, depth: int) -> Interval | None:
        nests, loop = self.ranges.nests, self.ranges.loop
        if not _is_integer(value):
            return None
        if not nests.contains(loop, value):
            return self.ranges.leaf(value)
        return self._made(nests.made[value], value, depth - 1) if depth else None

    def _made(self, op: Op, value: Value, depth: int) -> Interval | None:
        arithmetic = self.ranges.arithmetic
        match op:
            case For():
                step = None if op.step is None else self.of(op.step, depth)
                known = 1 if op.step is None else None if step is None or not step.single else step.low.literal
                return self._counter(op.start, op.stop, known, depth) if value is op.variable else None
            case Foreach():
                at = op.variables.index(value)
                return self._counter(op.start[at], op.stop[at], 1, depth)
            case Constant():
                return exactly(op.value) if isinstance(op.value, int) else None
            case Size():
                return self.ranges.size(op)
            case Cast() | Bitcast() if _is_integer(op.a):
                found = self.of(op.a, depth)
            case Select():
                found = self._combined((op.a, op.b), arithmetic.either, depth)
            case Binary():
                found = self._binary(op, depth)
            case _:
                return None
        return None if found is None else arithmetic.fitting(found, _bits(value))

    def _counter(self, start: Value, stop: Value, step: int | None, depth: int) -> Interval | None:
        first, end = self.of(start, depth), self.of(stop, depth)
        if first is None or end is None:
            return None
        # A step that is not known makes no counter larger than one of 1.
        return self.ranges.arithmetic.steps(first, end, step if step is not None and step > 0 else 1)

    def _combined(
        self, operands: Sequence[Value], rule: Callable[[Interval, Interval], Interval | None], depth: int
    ) -> Interval | None:
        a, b = (self.of(operand, depth) for operand in operands)
        return None if a is None or b is None else rule(a, b)

    def _binary(self, op: Binary, depth: int) -> Interval | None:
        arithmetic = self.ranges.arithmetic
        rules = {
            "add": arithmetic.add,
            "sub": arithmetic.subtract,
            "mul": arithmetic.multiply,
            "min": arithmetic.smaller,
            "max": arithmetic.larger,
        }
        rule = rules.get(op.spec.mnemonic)
        if rule is not None:
            return self._combined((op.a, op.b), rule, depth)
        second = self.of(op.b, depth)
        known = None if second is None or not second.single else second.low.literal
        if known is None or known < 0:
            return None
        mnemonic = op.spec.mnemonic
        if mnemonic == "and":
            return between(0, known)
        first = self.of(op.a, depth)
        if first is None:
            return None
        if mnemonic in ("div", "rem") and known > 0:
            return arithmetic.quotient(first, known) if mnemonic == "div" else arithmetic.remainder(first, known)
        if mnemonic in ("shl", "shr") and known < _bits(op.result):
            return (arithmetic.multiply if mnemonic == "shl" else _shifted(arithmetic))(first, exactly(2**known))
        return None


def _shifted(arithmetic: IntervalArithmetic) -> Callable[[Interval, Interval], Interval | None]:
    """The quotient rounded down, which is that towards zero only of what is not negative."""

    def rule(a: Interval, factor: Interval) -> Interval | None:
        return arithmetic.quotient(a, factor.low.offset) if a.low.least >= 0 else None

    return rule


def _bits(value: Value) -> int:
    return 64 if isinstance(value.type, Boolean) or not isinstance(value.type, Number) else 8 * value.type.size
