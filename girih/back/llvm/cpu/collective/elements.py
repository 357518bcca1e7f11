"""Elements of memrefs on their way between memory and the registers in which collective instructions compute.

They compute in the accumulator type of the target (`computing`): f32 for f16 and bf16, and for the narrow integers i32,
whose low bits are those of the narrow sums. A complex value is two registers, real and imaginary part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from girih.back.llvm.cpu.collective.microkernel import fused
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.text import Operand, Val, constant_vector, integer, lanes, scalar, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.rounding import from_memory, round_to, to_memory
from girih.back.llvm.numbers.values import memory_type, register
from girih.facts.remarks import RemarkWords
from girih.ir.types import BF16, PARTS, Number
from girih.lazy_dataclass import dataclass

Parts = tuple[Val, ...]


def part_of(type: Number) -> Number:
    """The type of a part: that of a complex number, or the type itself."""
    return PARTS.get(type, type)


@dataclass(frozen=True, slots=True)
class Elements:
    """Loads, stores and arithmetic for one computing type."""

    w: Writer
    target: CpuTarget
    compute: Number
    contract: bool = False
    """Whether products may be rounded together with the sums that they go into, outside of sums of many."""
    note: Callable[[RemarkWords], None] = field(default=lambda words: None, compare=False, repr=False)
    """Where remarks go on how the instruction is computed."""

    @property
    def part(self) -> str:
        """The LLVM type of a part."""
        return register(part_of(self.compute))

    @property
    def part_size(self) -> int:
        """Bytes of a part."""
        return part_of(self.compute).size

    @property
    def count(self) -> int:
        """How many elements a vector has."""
        return self.target.lanes_of(self.part_size)

    @property
    def masked(self) -> bool:
        """Whether vectors of any element type can be loaded and stored in part."""
        return self.target.vector_bytes >= 64

    def zero(self, count: int) -> Parts:
        """Zeros in every lane."""
        return (zero(wide(self.part, count)),) * (2 if self.compute in PARTS else 1)

    def spread(self, parts: Parts, count: int) -> Parts:
        """A value in every lane."""
        return tuple(self.w.splat(p, count) for p in parts)

    def first(self, count: int, remaining: Operand) -> Val | None:
        """The mask of the first `remaining` lanes; None for all."""
        if isinstance(remaining, int):
            if remaining >= count:
                return None
            return constant_vector([int(k < remaining) for k in range(count)], "i1")
        few = self.w.convert("trunc", self.w.smaller(remaining, count), "i32")
        return self.w.compare("slt", self.w.iota(count, "i32"), self.w.splat(few, count))

    # --- conversion ----------------------------------------------------------------------

    def widen(self, source: Number, parts: Parts) -> Parts:
        """Values of a type that promotes to the computing type, in it; integers drop bits that do not matter."""
        to = part_of(self.compute)
        held = tuple(self._widen_part(part_of(source), p, to) for p in parts)
        if self.compute in PARTS and source not in PARTS:
            return (held[0], zero(held[0].type))
        return held

    def _widen_part(self, source: Number, held: Val, target: Number) -> Val:
        if source.family == "integer" and target.family == "integer":
            return self.w.convert("sext" if source.size <= target.size else "trunc", held, register(target))
        if source.family == "integer":
            return self.w.convert("sitofp", held, register(target))
        return self.w.convert("fpext", held, register(target))

    def narrow(self, target: Number, parts: Parts) -> Parts:
        """Computed values as they are stored: rounded once."""
        one = part_of(target)
        if one.family == "integer":
            return tuple(self.w.convert("trunc", p, register(one)) for p in parts)
        features = self.target.features
        if one != BF16 and features.f16:
            return tuple(to_memory(self.w, features, one, p) for p in parts)
        return tuple(to_memory(self.w, features, one, round_to(self.w, features, one, p)) for p in parts)

    # --- memory --------------------------------------------------------------------------

    def load(self, element: Number, pointer: Val, count: int = 1, mask: Val | None = None) -> Parts:
        """`count` neighbouring elements in the computing type; zeros where the mask does not hold."""
        one = part_of(element)
        parts = self._loaded(one, 2 if element in PARTS else 1, pointer, count, mask)
        return self.widen(element, tuple(from_memory(self.w, self.target.features, one, p) for p in parts))

    def _loaded(self, one: Number, parts: int, pointer: Val, count: int, mask: Val | None) -> list[Val]:
        w, type = self.w, memory_type(one)
        vector = wide(type, count * parts)
        if mask is None:
            held = w.load(vector, pointer, one.size)
        else:
            held = w.masked_load(vector, pointer, self._mask(mask, parts), one.size, zero(vector))
        if parts == 1:
            return [held]
        if count == 1:
            return [w.extract(held, k) for k in range(2)]
        return [w.shuffle(held, None, range(k, 2 * count, 2)) for k in range(2)]

    def _mask(self, mask: Val, parts: int) -> Val:
        """A mask for elements as one for their parts."""
        if parts == 1:
            return mask
        return self.w.shuffle(mask, None, [k // 2 for k in range(2 * lanes(mask.type))])

    def store(self, element: Number, pointer: Val, parts: Parts, mask: Val | None = None) -> None:
        """Write neighbouring elements, rounded once, where the mask holds."""
        w, size = self.w, part_of(element).size
        held = self.narrow(element, parts)
        if len(held) == 2:
            count = lanes(held[0].type)
            both = [k // 2 + (k % 2) * count for k in range(2 * count)]
            joined = w.shuffle(held[0], held[1], both) if count > 1 else w.join(held)
        else:
            joined = held[0]
        if mask is None:
            w.store(joined, pointer, size)
        else:
            w.masked_store(joined, pointer, self._mask(mask, len(held)), size)

    # --- arithmetic ----------------------------------------------------------------------

    def add(self, a: Parts, b: Parts) -> Parts:
        """a + b."""
        return tuple(self._binary("add", x, y) for x, y in zip(a, b, strict=True))

    def multiply(self, a: Parts, b: Parts) -> Parts:
        """a b; of complex numbers each product and sum is rounded, unless they may be contracted."""
        if len(a) == 1:
            return (self._binary("mul", a[0], b[0]),)
        real, imaginary = self._binary("mul", a[1], b[1]), self._binary("mul", a[1], b[0])
        if self.contract:
            return fused(self.w, a[0], b[0], self._negated(real)), fused(self.w, a[0], b[1], imaginary)
        first = self._binary("sub", self._binary("mul", a[0], b[0]), real)
        return first, self._binary("add", self._binary("mul", a[0], b[1]), imaginary)

    def multiply_add(self, a: Parts, b: Parts, c: Parts) -> Parts:
        """a b + c; the product is rounded, unless it may be contracted."""
        return self.fused(a, b, c) if self.contract else self.add(self.multiply(a, b), c)

    def fused(self, a: Parts, b: Parts, c: Parts) -> Parts:
        """a b + c as a step of a sum of many products, in which these are not rounded."""
        w = self.w
        if len(a) == 1:
            return (fused(w, a[0], b[0], c[0]),)
        real = fused(w, a[0], b[0], fused(w, self._negated(a[1]), b[1], c[0]))
        return real, fused(w, a[0], b[1], fused(w, a[1], b[0], c[1]))

    def total(self, parts: Parts) -> Parts:
        """The sum of the lanes of vectors."""
        return tuple(self._total(p) for p in parts)

    def _total(self, held: Val) -> Val:
        while lanes(held.type) > 1:
            half = lanes(held.type) // 2
            held = self._binary("add", self.w.part(held, 0, half), self.w.part(held, half, half))
        return held

    def _binary(self, opcode: str, a: Val, b: Val) -> Val:
        return self.w.binary(opcode if scalar(a.type)[0] == "i" else f"f{opcode}", a, b)

    def _negated(self, held: Val) -> Val:
        return self.w.negative(held)


def quotient(w: Writer, a: Operand, b: int) -> Val:
    """a / b for a that is not negative."""
    held = w.value(a)
    if held.literal is not None:
        return integer(held.literal // b)
    return w.binary("udiv", held, b)
