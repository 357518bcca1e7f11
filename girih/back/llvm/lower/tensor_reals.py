"""Whole numbers below 2^53 as doubles: processors divide vectors of them, which they do not of integers.

Guarantees: sums, differences, products and quotients rounded down are exact if all of them stay below 2^53, and the
divisor below 2^32. Nothing traps. Numbers that are known are ints and cost nothing.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, floating, integer, lanes, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.addresses import Extent, as_scalar
from girih.lazy_dataclass import dataclass

Real = int | Val
"""A number: known, the same in all lanes, or one for each."""


@dataclass(frozen=True, slots=True)
class Reals:
    """Arithmetic on whole numbers in a number of lanes."""

    w: Writer
    count: int

    # --- from and to integers ------------------------------------------------------------

    def of(self, held: Extent) -> Real:
        """The number of an extent that all lanes share."""
        scalar = as_scalar(held)
        known = scalar.part.literal
        return known if known is not None else self.w.convert("sitofp", scalar.part, "double")

    def of_integer(self, a: Val) -> Val:
        """The number that an `i64` is, or each of a vector of them."""
        return self.w.convert("sitofp", a, "double")

    def cut(self, a: Real, most: int) -> Val:
        """A number of one lane as an `i64`; `most` if it is larger."""
        limit = floating(float(most), "double")
        return self.w.convert("fptosi", self.w.overloaded("minnum", self.wide(a), limit), "i64")

    def lanes_from(self, start: Real) -> Real:
        """The numbers start, start + 1, ..., one for each lane."""
        if self.count == 1:
            return start
        steps = ", ".join(str(floating(float(k), "double")) for k in range(self.count))
        return self.add(start, Val(f"<{steps}>", wide("double", self.count)))

    def wide(self, a: Real) -> Val:
        """A number as a vector with one element for each lane."""
        held = floating(float(a), "double") if isinstance(a, int) else a
        return self.w.splat(held, self.count)

    def integers(self, a: Real, where: Val) -> Val:
        """A number as `i64`, one for each lane; 0 in lanes for which a condition does not hold."""
        if isinstance(a, int):
            return self.w.splat(integer(a), self.count)
        kept = self.w.select(self.mask(where), self.wide(a), self.wide(0))
        return self.w.convert("fptosi", kept, "i64")

    def mask(self, where: Val) -> Val:
        """A condition as a vector with one element for each lane."""
        return self.w.splat(where, self.count)

    # --- arithmetic ----------------------------------------------------------------------

    def add(self, a: Real, b: Real) -> Real:
        """The sum a + b."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self._binary("fadd", a, b)

    def sub(self, a: Real, b: Real) -> Real:
        """The difference a - b."""
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self._binary("fsub", a, b)

    def mul(self, a: Real, b: Real) -> Real:
        """The product a b."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 0 or b == 0:
            return 0
        if a == 1 or b == 1:
            return b if a == 1 else a
        return self._binary("fmul", a, b)

    def quotient(self, a: Real, b: Real) -> Real:
        """The quotient a / b, rounded down; b is positive."""
        if isinstance(a, int) and isinstance(b, int):
            return a // b
        if b == 1 or a == 0:
            return a
        if isinstance(b, int) and b & (b - 1) == 0:
            x, y = self._alike(a, floating(1 / b, "double"))
            return self.w.overloaded("floor", self.w.binary("fmul", x, y))
        return self.w.overloaded("floor", self._binary("fdiv", a, b))

    def remainder(self, a: Real, b: Real) -> Real:
        """The remainder of a by b: the difference from the largest multiple of b that is not above a."""
        return 0 if b == 1 else self.rest(a, self.quotient(a, b), b)

    def rest(self, a: Real, quotient: Real, b: Real) -> Real:
        """What a number that is not negative has beyond its `quotient` by b times b."""
        return self.sub(a, self.mul(quotient, b))

    def smaller(self, a: Real, b: Real) -> Real:
        """The smaller of two numbers."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return self.select(self.compare("olt", a, b), a, b)

    def larger(self, a: Real, b: Real) -> Real:
        """The larger of two numbers."""
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        return self.select(self.compare("ogt", a, b), a, b)

    def compare(self, predicate: str, a: Real, b: Real) -> Val:
        """Whether a relation holds, as one `i1` or one for each lane."""
        if isinstance(a, int) and isinstance(b, int):
            return integer(int(_KNOWN[predicate](a, b)), "i1")
        x, y = self._alike(a, b)
        return self.w.compare(predicate, x, y)

    def select(self, condition: Val, a: Real, b: Real) -> Real:
        """The number a in lanes for which a condition holds, b in the others."""
        if condition.literal is not None:
            return a if condition.literal else b
        if lanes(condition.type) > 1:
            return self.w.select(condition, self.wide(a), self.wide(b))
        x, y = self._alike(a, b)
        return self.w.select(self.w.splat(condition, lanes(x.type)), x, y)

    def either(self, a: Val, b: Val) -> Val:
        """Whether one of two conditions holds."""
        return self._logic("or", a, b)

    def both(self, a: Val, b: Val) -> Val:
        """Whether two conditions hold."""
        return self._logic("and", a, b)

    def outside(self, a: Real, low: Real, end: Real) -> Val:
        """Whether a number is below `low`, or not below `end`."""
        return self.either(self.compare("olt", a, low), self.compare("oge", a, end))

    def _logic(self, opcode: str, a: Val, b: Val) -> Val:
        for known, other in ((a, b), (b, a)):
            if known.literal is not None:
                return other if bool(known.literal) == (opcode == "and") else known
        count = max(lanes(a.type), lanes(b.type))
        return self.w.binary(opcode, self.w.splat(a, count), self.w.splat(b, count))

    def _binary(self, opcode: str, a: Real, b: Real) -> Val:
        return self.w.binary(opcode, *self._alike(a, b))

    def _alike(self, a: Real, b: Real) -> tuple[Val, Val]:
        """Two numbers with the same number of lanes."""
        x, y = (floating(float(k), "double") if isinstance(k, int) else k for k in (a, b))
        count = max(lanes(x.type), lanes(y.type))
        return self.w.splat(x, count), self.w.splat(y, count)


_KNOWN = {"olt": int.__lt__, "ogt": int.__gt__, "oge": int.__ge__}

Arithmetic = type[Reals]
"""`Reals`, or what computes the same in another way."""
