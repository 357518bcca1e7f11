"""The arithmetic of `tensor_reals` on integers of 64 bits, for machines that divide them as well as doubles."""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.tensor_reals import Real, Reals
from girih.back.llvm.numbers.addresses import Extent, as_scalar

_OPCODES = {"fadd": "add", "fsub": "sub", "fmul": "mul"}
_PREDICATES = {"olt": "slt", "ogt": "sgt", "oge": "sge"}


class WholeNumbers(Reals):
    """Arithmetic on whole numbers of one work-item; all results stay below 2^63."""

    def of(self, held: Extent) -> Real:
        part = as_scalar(held).part
        return part if part.literal is None else part.literal

    def of_integer(self, a: Val) -> Val:
        return a

    def cut(self, a: Real, most: int) -> Val:
        return self.w.smaller(self._value(a), most)

    def wide(self, a: Real) -> Val:
        return self._value(a)

    def integers(self, a: Real, where: Val) -> Val:
        return self._value(a) if isinstance(a, int) else self.w.select(where, a, integer(0))

    def quotient(self, a: Real, b: Real) -> Real:
        if isinstance(a, int) and isinstance(b, int):
            return a // b
        if b == 1 or a == 0:
            return a
        w, dividend = self.w, self._value(a)
        if isinstance(b, int) and b & (b - 1) == 0:
            return w.binary("ashr", dividend, b.bit_length() - 1)
        # What is divided by may be 0 in code whose result nobody uses, which must not end the process.
        divisor = w.larger(self._value(b), 1)
        found = w.binary("sdiv", dividend, divisor)
        below = w.compare("slt", w.sub(dividend, w.mul(found, divisor)), 0)
        return w.select(below, w.sub(found, 1), found)

    def rest(self, a: Real, quotient: Real, b: Real) -> Real:
        if isinstance(a, Val) and isinstance(b, int) and b & (b - 1) == 0:
            # LLVM knows then which bits are zero, and that neighbours are in one block.
            return self.w.binary("and", a, b - 1)
        return super().rest(a, quotient, b)

    def compare(self, predicate: str, a: Real, b: Real) -> Val:
        if isinstance(a, int) and isinstance(b, int):
            return super().compare(predicate, a, b)
        return self.w.compare(_PREDICATES[predicate], self._value(a), self._value(b))

    def _binary(self, opcode: str, a: Real, b: Real) -> Val:
        return self.w.binary(_OPCODES[opcode], self._value(a), self._value(b))

    def _alike(self, a: Real, b: Real) -> tuple[Val, Val]:
        return self._value(a), self._value(b)

    def _value(self, a: Real) -> Val:
        return integer(a) if isinstance(a, int) else a
