"""What every collective instruction of linear algebra ends with: target := alpha result + beta target.

Everything is computed in the computing type and rounded once. A beta that is the constant 0 does not read the target.
Atomic updates go element by element, those of complex numbers part by part; in local memory, which no other thread
sees, they are plain ones.
"""

from __future__ import annotations

from dataclasses import replace

from girih.back.llvm.cpu.collective.elements import Elements, Parts, part_of
from girih.back.llvm.emit.text import Val, floating, integer, lanes, scalar
from girih.back.llvm.lower.collective.operands import is_constantly
from girih.back.llvm.numbers.rounding import from_memory, round_to, to_memory
from girih.back.llvm.numbers.values import Scalar, memory_type
from girih.ir.types import PARTS, Number
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Scaling:
    """How computed elements reach a target with such elements; a factor of None is 1."""

    elements: Elements
    element: Number
    alpha: Parts | None = None
    beta: Parts | None = None
    overwrite: bool = True
    atomic: bool = False
    local: bool = False

    @property
    def one_by_one(self) -> bool:
        """Whether elements have to be written separately."""
        return self.atomic and not self.local

    def adding(self) -> Scaling:
        """The scaling for a further contribution to a target that has its first one."""
        return replace(self, beta=None, overwrite=False)

    @property
    def complex(self) -> bool:
        """Whether elements have two parts; a factor of 1 counts for these, as 0 times infinity is not a number."""
        return self.elements.compute in PARTS

    def where(self, first: Val) -> Scaling:
        """This scaling where `first` holds, `adding` elsewhere: for real numbers that are read in any case."""
        if self.beta is None:
            return self
        (beta,) = self.beta
        one = integer(1, beta.type) if beta.type[0] == "i" else floating(1.0, beta.type)
        return replace(self, beta=(self.elements.w.select(first, beta, one),))

    def write(self, pointer: Val, parts: Parts, mask: Val | None = None) -> None:
        """Bring results, computed but for alpha, to neighbouring elements."""
        e, count = self.elements, lanes(parts[0].type)
        if self.alpha is not None:
            parts = e.multiply(parts, e.spread(self.alpha, count))
        if self.one_by_one:
            self._atomic(pointer, parts)
            return
        if not self.overwrite:
            old = e.load(self.element, pointer, count, mask)
            if self.atomic:
                parts = e.widen(self.element, self._rounded(parts))
            parts = e.add(parts, old) if self.beta is None else e.multiply_add(old, e.spread(self.beta, count), parts)
        e.store(self.element, pointer, parts, mask)

    def _rounded(self, parts: Parts) -> Parts:
        """What an atomic update adds is rounded to the type of the elements first."""
        e, one = self.elements, part_of(self.element)
        return tuple(from_memory(e.w, e.target.features, one, p) for p in e.narrow(self.element, parts))

    def _atomic(self, pointer: Val, parts: Parts) -> None:
        e, one = self.elements, part_of(self.element)
        for number, held in enumerate(e.narrow(self.element, parts)):
            place = e.w.at(pointer, number * one.size)
            if self.overwrite:
                e.w.atomic_store(held, place, one.size)
            elif one.family == "integer" or memory_type(one)[0] != "i":
                opcode = "add" if scalar(held.type)[0] == "i" else "fadd"
                e.w.atomic_update(opcode, place, held, one.size)
            else:
                self._compare_and_swap(place, held, one)

    def _compare_and_swap(self, place: Val, held: Val, one: Number) -> None:
        """Add to a number that the machine knows only how to exchange."""
        w, features = self.elements.w, self.elements.target.features
        added = from_memory(w, features, one, held)
        start = w.atomic_load(held.type, place, one.size)

        def attempt(values: Parts) -> Parts:
            exact = w.binary("fadd", from_memory(w, features, one, values[0]), added)
            sum = to_memory(w, features, one, round_to(w, features, one, exact))
            pair = w.compare_exchange(place, values[0], sum, one.size)
            found, done = w.found(pair, held.type), w.exchanged(pair)
            return found, w.negated(done)

        w.repeat((start, integer(1, "i1")), lambda values: values[1], attempt)


def scaling(
    elements: Elements, element: Number, alpha: Scalar, beta: Scalar, *, atomic: bool = False, local: bool = False
) -> Scaling:
    """The end of an instruction whose factors have types that promote to the computing type."""
    factor = elements.widen(beta.type, beta.parts) if isinstance(beta.type, Number) else beta.parts
    first = elements.widen(alpha.type, alpha.parts) if isinstance(alpha.type, Number) else alpha.parts
    return Scaling(
        elements,
        element,
        None if is_constantly(alpha, 1) else first,
        None if is_constantly(beta, 1) else factor,
        is_constantly(beta, 0),
        atomic,
        local,
    )
