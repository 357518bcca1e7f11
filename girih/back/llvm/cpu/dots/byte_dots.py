"""Dot products of signed bytes, with sums in i32 that wrap around.

Where the processor multiplies four bytes and adds their products in each lane, that is one instruction for a vector.
One of x86 takes the bytes of one factor as unsigned: they are raised by 128 then, and the sums begin with what that is
too much. Elsewhere bytes are widened, and pairs of products are added, for which most processors have an instruction
that LLVM chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.cpu.dots import lane_sums
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.text import Val, integer, lanes, wide, zero
from girih.back.llvm.emit.writer import Writer

Piece = Callable[[int, int], Val]
"""Some bytes of a factor: from a number on, so many."""
Pieces = Callable[[Sequence[int], int, int], Val]
"""Such bytes of several factors, given by number, side by side."""


def step(target: CpuTarget, depth: int) -> int:
    """The bytes of each factor that are multiplied at a time: a power of two; 0 if vectors suit the depth badly."""
    found = min(depth & -depth, _most(target))
    return found if found >= 4 * _bytes_of_lane(target) else 0


def partial_dots(
    w: Writer, target: CpuTarget, depth: int, first: Piece, others: Pieces, number: int, onto: Sequence[Val] | None
) -> list[Val]:
    """The products of one factor with a `number` of others; `step` of the depth is not 0.

    `total` adds up the lanes of these registers; those of products with as many others may be added to, `onto`.
    """
    count = step(target, depth)
    groups = _most(target) // count
    form = _form(w, target, groups * count // _bytes_of_lane(target))
    starts = range(0, depth, count)
    given = [w.join([first(start, count)] * groups) for start in starts]
    begin = form.begin(given)
    registers = []
    for register in range(lane_sums.padded(number, groups) // groups):
        # What is computed beyond the last one is not used.
        mine = [min(k, number - 1) for k in lane_sums.members(register, groups)]
        held = begin if onto is None else w.add(onto[register], begin)
        for start, a in zip(starts, given, strict=True):
            held = form.multiply(held, a, others(mine, start, count))
        registers.append(held)
    return registers


def total(w: Writer, target: CpuTarget, depth: int, registers: Sequence[Val], number: int) -> Val:
    """The dot products as a vector, of a depth that their registers come from."""
    return w.part(lane_sums.sums(w, registers, _most(target) // step(target, depth)), 0, number)


def _bytes_of_lane(target: CpuTarget) -> int:
    return 2 if target.dot_of_bytes is None else 4


def _most(target: CpuTarget) -> int:
    """The bytes that fill the lanes of a vector."""
    dot = target.dot_of_bytes
    return target.vector_bytes // 2 if dot is None else dot.vector_bytes


class _Widened:
    """Bytes as numbers of 16 bits, of whose products neighbours are added."""

    def __init__(self, w: Writer, count: int) -> None:
        self.w, self.count = w, count

    def begin(self, given: Sequence[Val]) -> Val:
        """The sums before the first product."""
        return zero(wide("i32", self.count))

    def multiply(self, held: Val, a: Val, b: Val) -> Val:
        """The sums and the products of bytes."""
        w = self.w
        products = w.mul(self._wide(a), self._wide(b))
        even, odd = (w.shuffle(products, None, range(k, lanes(products.type), 2)) for k in range(2))
        return w.add(w.add(even, odd), held)

    def _wide(self, a: Val) -> Val:
        narrow = self.w.convert("sext", a, wide("i16", lanes(a.type)))
        return self.w.convert("sext", narrow, wide("i32", lanes(a.type)))


class _Signed(_Widened):
    """Quads of signed bytes, by an instruction."""

    def multiply(self, held: Val, a: Val, b: Val) -> Val:
        """The sums and the products of bytes."""
        w, count = self.w, lanes(a.type)
        wider = wide("i32", count)
        products = w.mul(w.convert("sext", a, wider), w.convert("sext", b, wider))
        name = f"llvm.vector.partial.reduce.add.v{self.count}i32.v{count}i32"
        return w.intrinsic(name, held.type, held, products)


class _Unsigned(_Widened):
    """Quads of unsigned and signed bytes, by an instruction of x86."""

    def begin(self, given: Sequence[Val]) -> Val:
        """The sums before the first product."""
        held = zero(wide("i32", self.count))
        for a in given:
            held = self._dot(held, integer(-128, a.type), a)
        return self.w.sub(zero(held.type), held)

    def multiply(self, held: Val, a: Val, b: Val) -> Val:
        """The sums and the products of bytes."""
        return self._dot(held, self.w.add(b, integer(-128, b.type)), a)

    def _dot(self, held: Val, unsigned: Val, signed: Val) -> Val:
        return self.w.intrinsic(f"llvm.x86.avx512.vpdpbusd.{32 * self.count}", held.type, held, unsigned, signed)


def _form(w: Writer, target: CpuTarget, count: int) -> _Widened:
    dot = target.dot_of_bytes
    if dot is None:
        return _Widened(w, count)
    return (_Signed if dot.signed else _Unsigned)(w, count)
