"""Integers between two bounds that code computes, and arithmetic on them that is exact.

A bound is a value of the code plus a number, and it is known between which numbers it lies, so that nothing computed
here wraps around: what might is given up, or is a condition that must hold for the interval to be right (`needs`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer

_REACH = 2**40
"""What is not known is taken for a number of at most this size, which becomes a condition."""

_FACTOR = 2**30
"""The size of factors that are both unknown, likewise."""

_MOST = 2**62
"""Bounds beyond this are given up."""


@dataclass(frozen=True, slots=True)
class IntervalEnd:
    """The integer base + offset, or only the offset, which lies between `least` and `most`."""

    base: Val | None
    offset: int
    least: int
    most: int

    @staticmethod
    def of(number: int) -> IntervalEnd:
        """A number as a bound."""
        return IntervalEnd(None, number, number, number)

    @property
    def literal(self) -> int | None:
        """The number that the bound is, if that is known."""
        return self.offset if self.base is None else None

    def plus(self, number: int) -> IntervalEnd:
        """The bound plus a number."""
        return IntervalEnd(self.base, self.offset + number, self.least + number, self.most + number)

    def value(self, w: Writer) -> Val:
        """The bound as a value, an i64."""
        return integer(self.offset) if self.base is None else w.add(self.base, self.offset)


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from `low` to `high`, both included, provided that the conditions `needs` hold."""

    low: IntervalEnd
    high: IntervalEnd
    needs: tuple[Val, ...] = ()

    @property
    def single(self) -> bool:
        """Whether the interval has one integer."""
        return self.low == self.high

    def needing(self, *needs: Val) -> Interval:
        """The interval with further conditions."""
        return replace(self, needs=tuple(dict.fromkeys((*self.needs, *(n for n in needs if n.literal != 1)))))


def exactly(value: int) -> Interval:
    """The interval of one number."""
    return Interval(IntervalEnd.of(value), IntervalEnd.of(value))


def between(low: int, high: int) -> Interval:
    """The interval of the numbers from `low` to `high`."""
    return Interval(IntervalEnd.of(low), IntervalEnd.of(high))


class IntervalArithmetic:
    """The arithmetic of intervals in the code of one writer. A result is None where nothing useful is known."""

    def __init__(self, w: Writer) -> None:
        self.w = w

    def leaf(self, part: Val, *, positive: bool = False) -> Interval:
        """The interval of one value of the code, a scalar integer; a `positive` one is known not to be negative."""
        known = part.literal
        if known is not None:
            return exactly(known)
        bits = int(part.type[1:])
        least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        needs: tuple[Val, ...] = ()
        wide = self.w.convert("sext", part, "i64")
        if bits == 64:
            least, most = -_REACH, _REACH
            needs = (self._within(wide, _REACH, positive=positive),)
        bound = IntervalEnd(wide, 0, 0 if positive else least, most)
        return Interval(bound, bound, needs)

    def _within(self, held: Val, reach: int, *, positive: bool) -> Val:
        """The condition that a value is at most `reach` in size, or not negative and at most that."""
        w = self.w
        if positive:
            return w.compare("ult", held, integer(reach))
        return w.compare("ult", w.add(held, reach), integer(2 * reach))

    def _kept(self, low: IntervalEnd, high: IntervalEnd, *parts: Interval) -> Interval | None:
        if low.least <= -_MOST or high.most >= _MOST or low.most >= _MOST or high.least <= -_MOST:
            return None
        return Interval(low, high).needing(*(need for part in parts for need in part.needs))

    def _sum(self, a: IntervalEnd, b: IntervalEnd) -> IntervalEnd:
        if a.base is None or b.base is None:
            base = b.base if a.base is None else a.base
        else:
            base = self.w.add(a.base, b.base)
        return IntervalEnd(base, a.offset + b.offset, a.least + b.least, a.most + b.most)

    def _times(self, a: IntervalEnd, factor: int) -> IntervalEnd:
        """The product with a number."""
        base = None if a.base is None or factor == 0 else self.w.mul(a.base, factor)
        ends = (a.least * factor, a.most * factor)
        return IntervalEnd(base, a.offset * factor, min(ends), max(ends))

    def add(self, a: Interval, b: Interval) -> Interval | None:
        """The sums of numbers of two intervals."""
        return self._kept(self._sum(a.low, b.low), self._sum(a.high, b.high), a, b)

    def subtract(self, a: Interval, b: Interval) -> Interval | None:
        """The differences."""
        minus = self.multiply(b, exactly(-1))
        return None if minus is None else self.add(a, minus)

    def multiply(self, a: Interval, b: Interval) -> Interval | None:
        """The products. Of two unknown factors one is a single number, or none is negative: that is a condition."""
        known = b.low.literal if b.single else None
        if known is None and a.single and a.low.literal is not None:
            return self.multiply(b, a)
        if known is not None:
            # Factors, too, are far from the end of all numbers.
            ends = (a.low, a.high) if known >= 0 else (a.high, a.low)
            if abs(known) >= _MOST or max(abs(x) for end in ends for x in (end.least, end.most)) * abs(known) >= _MOST:
                return None
            return self._kept(self._times(ends[0], known), self._times(ends[1], known), a, b)
        if a.single and not b.single:
            return self.multiply(b, a)
        return self._unknown_product(a, b)

    def _unknown_product(self, a: Interval, b: Interval) -> Interval | None:
        needs: list[Val] = []

        def narrow(bound: IntervalEnd, *, positive: bool) -> IntervalEnd:
            if (0 if positive else -_FACTOR) <= bound.least and bound.most <= _FACTOR:
                return bound
            needs.append(self._within(bound.value(self.w), _FACTOR, positive=positive))
            return IntervalEnd(bound.base, bound.offset, 0 if positive else -_FACTOR, _FACTOR)

        first = [narrow(end, positive=not b.single) for end in (a.low, a.high)]
        second = [narrow(end, positive=True) for end in (b.low, b.high)]
        low, high = (self._product(x, y) for x, y in zip(first, second, strict=True))
        found = self._kept(low, high, a, b)
        return None if found is None else found.needing(*needs)

    def _product(self, a: IntervalEnd, b: IntervalEnd) -> IntervalEnd:
        ends = [x * y for x in (a.least, a.most) for y in (b.least, b.most)]
        if a.literal is not None and b.literal is not None:
            return IntervalEnd.of(a.literal * b.literal)
        return IntervalEnd(self.w.mul(a.value(self.w), b.value(self.w)), 0, min(ends), max(ends))

    def _smaller(self, a: IntervalEnd, b: IntervalEnd) -> IntervalEnd:
        if a.most <= b.least or b.most <= a.least:
            return a if a.most <= b.least else b
        least, most = min(a.least, b.least), min(a.most, b.most)
        if _alike(a, b):
            return replace(a if a.offset < b.offset else b, least=least, most=most)
        return IntervalEnd(self.w.smaller(a.value(self.w), b.value(self.w)), 0, least, most)

    def _larger(self, a: IntervalEnd, b: IntervalEnd) -> IntervalEnd:
        if a.least >= b.most or b.least >= a.most:
            return a if a.least >= b.most else b
        least, most = max(a.least, b.least), max(a.most, b.most)
        if _alike(a, b):
            return replace(a if a.offset > b.offset else b, least=least, most=most)
        return IntervalEnd(self.w.larger(a.value(self.w), b.value(self.w)), 0, least, most)

    def smaller(self, a: Interval, b: Interval) -> Interval | None:
        """The smaller of two numbers."""
        return self._kept(self._smaller(a.low, b.low), self._smaller(a.high, b.high), a, b)

    def larger(self, a: Interval, b: Interval) -> Interval | None:
        """The larger of two numbers."""
        return self._kept(self._larger(a.low, b.low), self._larger(a.high, b.high), a, b)

    def either(self, a: Interval, b: Interval) -> Interval | None:
        """The numbers of two intervals, and those between them."""
        return self._kept(self._smaller(a.low, b.low), self._larger(a.high, b.high), a, b)

    def at_most(self, a: Interval, limit: Interval) -> Interval | None:
        """The numbers of an interval that are not above another one."""
        return self._kept(a.low, self._smaller(a.high, limit.high), a, limit)

    def at_least(self, a: Interval, limit: Interval) -> Interval | None:
        """The numbers of an interval that are not below another one."""
        return self._kept(self._larger(a.low, limit.low), a.high, a, limit)

    def quotient(self, a: Interval, divisor: int) -> Interval | None:
        """The quotients by a positive number, rounded towards zero."""
        return self._kept(self._divided(a.low, divisor), self._divided(a.high, divisor), a)

    def _divided(self, a: IntervalEnd, divisor: int) -> IntervalEnd:
        def rounded(held: int) -> int:
            return abs(held) // divisor * (-1 if held < 0 else 1)

        if a.literal is not None:
            return IntervalEnd.of(rounded(a.literal))
        opcode = "udiv" if a.least >= 0 else "sdiv"
        return IntervalEnd(self.w.binary(opcode, a.value(self.w), divisor), 0, rounded(a.least), rounded(a.most))

    def remainder(self, a: Interval, divisor: int) -> Interval | None:
        """The remainders by a positive number, which have the sign of what is divided."""
        if a.low.least < 0:
            return between(1 - divisor, divisor - 1)
        # It may be a condition that nothing is negative.
        return between(0, divisor - 1).needing(*a.needs)

    def steps(self, start: Interval, stop: Interval, step: int) -> Interval | None:
        """The numbers start, start + step, ... below stop."""
        last = self._kept(start.low, stop.high.plus(-1), start, stop)
        if step == 1 or last is None or not start.single or not stop.single:
            return last
        distance = self.subtract(stop, start)
        there = None if distance is None else self.larger(distance, exactly(1))
        count = None if there is None else self.quotient(Interval(there.low.plus(-1), there.high.plus(-1)), step)
        way = None if count is None else self.multiply(count, exactly(step))
        end = None if way is None else self.add(start, way)
        return last if end is None else self._kept(start.low, end.high, start, stop)

    def fitting(self, a: Interval, bits: int) -> Interval:
        """The interval, on condition that it lies within the numbers of a signed type."""
        least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        if bits >= 64 or (a.low.least >= least and a.high.most <= most):
            return a
        w = self.w
        fits = (w.compare("sge", a.low.value(w), integer(least)), w.compare("sle", a.high.value(w), integer(most)))
        low = replace(a.low, least=max(a.low.least, least), most=min(a.low.most, most))
        high = replace(a.high, least=max(a.high.least, least), most=min(a.high.most, most))
        return replace(a, low=low, high=high).needing(*fits)


def _alike(a: IntervalEnd, b: IntervalEnd) -> bool:
    """Whether two bounds differ by a known number."""
    return a.base is not None and b.base is not None and a.base.text == b.base.text
