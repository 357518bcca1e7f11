"""The numbers of a collective instruction in registers, and how results reach the target: alpha result + beta target.

Everything is computed in the computing type of the target (f32 for f16 and bf16) and rounded once. A product that goes
into a sum of many may be rounded with it or before it, whichever the machine does faster; elsewhere only where the
kernel permits to contract. A beta that is the constant 0 does not read the target.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import Operand, Val
from girih.back.llvm.lower.access import part_count, part_type
from girih.back.llvm.lower.atomics import update
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.collective.operands import factor, is_constantly
from girih.back.llvm.lower.collective.views import View, computing
from girih.back.llvm.numbers import arith
from girih.back.llvm.numbers.casts import cast
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import Scalar, memory_type
from girih.ir.core import Op
from girih.ir.types import Number
from girih.lazy_dataclass import dataclass
from girih.ops.tile.memory import Scope

Parts = tuple[Val, ...]


@dataclass(frozen=True, slots=True)
class CollectiveNumbers:
    """Arithmetic in the type in which an instruction computes."""

    code: KernelCode
    compute: Number

    @property
    def zero(self) -> Parts:
        """The number 0."""
        return self.code.zero(self.compute, 1)

    def read(self, view: View, *indices: Operand) -> Parts:
        """An element in the computing type."""
        code, one = self.code, part_type(view.element)
        place = view.address(code.w, *indices)
        loaded = [
            code.w.load(memory_type(one), code.w.at(place, k * one.size), one.size)
            for k in range(part_count(view.element))
        ]
        parts = tuple(from_memory(code.w, code.features, one, x) for x in loaded)
        return self.widened(view.element, parts)

    def widened(self, type: Number, parts: Parts) -> Parts:
        """A number of a type that promotes to the computing type, in it."""
        return cast(self.code.w, self.code.features, type, self.compute, parts)

    def add(self, a: Parts, b: Parts, *, contract: bool = False) -> Parts:
        """a + b."""
        return arith.binary(self.code.w, self.code.features, "add", self.compute, a, b, contract=contract)

    def multiply(self, a: Parts, b: Parts, *, contract: bool = False) -> Parts:
        """a b; of complex numbers each product and sum is rounded, unless they may be contracted."""
        return arith.binary(self.code.w, self.code.features, "mul", self.compute, a, b, contract=contract)

    def accumulate(self, a: Parts, b: Parts, c: Parts) -> Parts:
        """a b + c as a step of a sum of many products."""
        return self.add(self.multiply(a, b, contract=True), c, contract=True)


@dataclass(frozen=True, slots=True)
class ScaledTarget:
    """The target of an instruction; a factor of None is 1, and without `reads` the target is overwritten."""

    numbers: CollectiveNumbers
    view: View
    alpha: Parts | None
    beta: Parts | None
    reads: bool
    atomic: bool

    def write(self, parts: Parts, *indices: Operand) -> None:
        """Bring a result, computed but for alpha, to an element, for which one thread does this."""
        n, element = self.numbers, self.view.element
        contract = n.code.contract
        if self.alpha is not None:
            parts = n.multiply(parts, self.alpha, contract=contract)
        if self.atomic and self.reads:
            self._update(parts, *indices)
            return
        if self.reads:
            old = n.read(self.view, *indices)
            scaled = old if self.beta is None else n.multiply(old, self.beta, contract=contract)
            parts = n.add(parts, scaled, contract=contract)
        code, one = n.code, part_type(element)
        scope = self._scope if self.atomic else None
        place = self.view.address(code.w, *indices)
        for number, part in enumerate(cast(code.w, code.features, n.compute, element, parts)):
            held, where = to_memory(code.w, code.features, one, part), code.w.at(place, number * one.size)
            if scope is None:
                code.w.store(held, where, one.size)
            else:
                code.w.atomic_store(held, where, one.size, scope)

    def _update(self, parts: Parts, *indices: Operand) -> None:
        """Add what is rounded to the type of the elements first, part by part."""
        code, element = self.numbers.code, self.view.element
        one, place = part_type(element), self.view.address(code.w, *indices)
        for number, part in enumerate(cast(code.w, code.features, self.numbers.compute, element, parts)):
            update(code, "add", one, code.w.at(place, number * one.size), part, self._scope)

    @property
    def _scope(self) -> str | None:
        """That of the device; None for local memory, as no other thread has the element between two barriers."""
        return None if self.view.local else self.numbers.code.atomic_scope(Scope.DEVICE, local=False)


def scaled_target(code: KernelCode, op: Op, view: View, *, atomic: bool) -> ScaledTarget:
    """The target of an instruction with the factors `alpha` and `beta`."""
    numbers = CollectiveNumbers(code, computing(view.element))
    alpha, beta = (factor(code, op, name) for name in ("alpha", "beta"))

    def widened(held: Scalar) -> Parts | None:
        if is_constantly(held, 1) or not isinstance(held.type, Number):
            return None
        return numbers.widened(held.type, held.parts)

    return ScaledTarget(numbers, view, widened(alpha), widened(beta), not is_constantly(beta, 0), atomic)
