"""Sums of parts of the depth: each consumer leaves its own in memory, and the last one there adds them all up.

Memory has counters, then, for each part of a work-group's depth and each consumer, its registers: four of each of 128
threads side by side. A thread reads what the threads with its number have written, and nobody waits for another CTA:
who counts last finds the others' sums, as counting is ordered behind them (PTX ISA "Memory Consistency Model"). The
last one leaves the counter at zero for the next launch.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.numbers.floats import real
from girih.back.llvm.nvptx.machine.kernel import COUNTER_BYTES
from girih.back.llvm.nvptx.tile.code import TileCode
from girih.back.llvm.nvptx.tile.ptx import WARPGROUP, word
from girih.lazy_dataclass import dataclass

_PIECE = 16
"""The bytes that a thread moves at a time."""
_TOGETHER = 32
"""The registers that are loaded before they are added."""


@dataclass(frozen=True, slots=True)
class SumsOfParts:
    """The sums of a consumer: its registers, and `number`, an i32, of what its CTA executes."""

    code: TileCode
    registers: Sequence[Val]
    number: Val

    @property
    def _parts(self) -> int:
        parts = self.code.kernel.parts
        assert parts is not None
        return parts.count

    @property
    def _thread(self) -> Val:
        w = self.code.w
        return w.binary("and", w.convert("trunc", self.code.thread, "i32"), word(WARPGROUP - 1))

    def _place(self, number: Val) -> Val:
        """The address of the thread's first piece of the sums with a number."""
        w, code = self.code.w, self.code
        assert code.sums is not None
        share = w.add(w.mul(number, word(code.consumers)), code.consumer)
        bytes = w.mul(w.convert("zext", share, "i64"), integer(4 * WARPGROUP * len(self.registers)))
        own = w.convert("zext", w.mul(self._thread, word(_PIECE)), "i64")
        return w.at(w.at(code.sums, w.add(bytes, integer(COUNTER_BYTES))), own)

    def offered(self, barrier: Val) -> Val:
        """Write the sums; whether those of all parts are there, for all threads of the consumer, which meet at a
        barrier."""
        w, ptx, code = self.code.w, self.code.ptx, self.code
        assert code.sums is not None
        begin = self._place(self.number)
        for first in range(0, len(self.registers), 4):
            words = [w.convert("bitcast", one, "i32") for one in self.registers[first : first + 4]]
            ptx.store_global(w.at(begin, 4 * WARPGROUP * first), words)
        ptx.fence_device()
        ptx.meet(barrier, WARPGROUP)
        group = w.binary("udiv", self.number, word(self._parts))
        share = w.add(w.mul(group, word(code.consumers)), code.consumer)
        counter = w.at(code.sums, w.mul(w.convert("zext", share, "i64"), integer(4)))
        most = self._parts - 1

        def counted() -> tuple[Val, ...]:
            before = ptx.count_around(counter, most)
            return (w.convert("zext", w.compare("eq", before, word(most)), "i32"),)

        (last,) = w.either(w.compare("eq", self._thread, word(0)), counted, lambda: (word(0),))
        return ptx.any_of(barrier, WARPGROUP, last)

    def united(self) -> list[Val]:
        """The sums of all parts, in their order."""
        w, ptx, parts = self.code.w, self.code.ptx, self._parts
        ptx.fence_device()
        first = w.mul(w.binary("udiv", self.number, word(parts)), word(parts))
        begin = self._place(first)
        apart = 4 * WARPGROUP * len(self.registers) * self.code.consumers
        zeros = [real(0, one) if one.type == "float" else word(0) for one in self.registers]

        def inside(values: tuple[Val, ...]) -> Val:
            return w.compare("slt", values[0], word(parts))

        def add(values: Sequence[Val]) -> list[Val]:
            part, *sums = values
            place = w.at(begin, w.mul(w.convert("zext", part, "i64"), integer(apart)))
            found: list[Val] = []
            for first in range(0, len(sums), _TOGETHER):
                some = sums[first : first + _TOGETHER]
                numbers = range(first, first + len(some), 4)
                words = [one for k in numbers for one in ptx.load_global(w.at(place, 4 * WARPGROUP * k))]
                found += [self._sum(total, raw) for total, raw in zip(some, words, strict=True)]
            return [w.add(part, word(1)), *found]

        return list(w.repeat([word(0), *zeros], inside, add))[1:]

    def _sum(self, total: Val, raw: Val) -> Val:
        w = self.code.w
        more = w.convert("bitcast", raw, total.type)
        return w.binary("fadd", total, more) if total.type == "float" else w.add(total, more)
