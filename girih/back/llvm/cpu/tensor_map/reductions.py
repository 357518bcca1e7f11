"""Rows of tensor reductions on the CPU: elements of the tensor are combined by atomic updates.

Where the processor can exchange 16 bytes atomically, and their elements are combined alike, one update is of so many;
else each element has an update of its own.
"""

from __future__ import annotations

from dataclasses import replace

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.tensor_map.loads import BYTES
from girih.back.llvm.cpu.tensor_map.rows import RowCopy
from girih.back.llvm.emit.text import Val, integer, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.atomics import exchange_halves
from girih.back.llvm.lower.launch.descriptor import MapField
from girih.back.llvm.lower.tensor_map.elements import WORDS, combine
from girih.back.llvm.lower.tensor_map.rows import CHUNK
from girih.back.llvm.numbers import arith
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import memory_type
from girih.ir.types import Number
from girih.ops.tile.tensor_map import CopyReduction

_ALIKE = frozenset((CopyReduction.ADD, CopyReduction.AND, CopyReduction.OR, CopyReduction.XOR))
"""The reductions of integers that are one instruction for vectors, whatever their sign."""

EVERYWHERE = ""
"""Other threads may combine the same elements."""


class ReduceRows(RowCopy):
    """The rows of a reduction."""

    def __init__(
        self,
        w: Writer,
        descriptor: Val,
        operands: Val,
        local: Val,
        element: Number,
        code: CpuCode,
        reduction: CopyReduction,
    ) -> None:
        super().__init__(w, descriptor, operands, local, element)
        self.code = replace(code, w=w)
        self.reduction = reduction
        self.signed = w.compare("ne", self.field(MapField.SIGNED), integer(0))

    def row(self, number: Val, offset: Val, inside: Val) -> None:
        w = self.w
        target = w.at(self.base, w.add(offset, self.start))
        with w.when(inside):
            if not self._by_pieces:
                self._one_by_one(number, target, self.low, self.high)
                return
            first, last = self._pieces(target)
            self._one_by_one(number, target, self.low, first)
            with w.loop(first, last, CHUNK) as loop:
                held = w.load(BYTES, self.place(number, loop.index), self.element.size)
                self._combine_piece(w.at(target, loop.index), held)
            self._one_by_one(number, target, last, self.high)

    # --- element by element --------------------------------------------------------------

    def _one_by_one(self, number: Val, target: Val, start: Val, stop: Val) -> None:
        """Combine the elements of some bytes of a row."""
        w, size = self.w, self.element.size
        with w.loop(start, stop, size) as loop:
            held = w.load(memory_type(self.element), self.place(number, loop.index), size)
            self._combine(w.at(target, loop.index), held)

    def _combine(self, pointer: Val, held: Val) -> None:
        """Combine an element of the tensor with one of local memory."""
        combine(self.code, self.reduction, self.element, pointer, held, self.signed, EVERYWHERE)

    # --- by pieces of 16 bytes -----------------------------------------------------------

    @property
    def _by_pieces(self) -> bool:
        """Whether 16 bytes can be combined by one update."""
        alike = self.element.family != "integer" or self.reduction in _ALIKE
        return self.code.target.exchanges_16_bytes and self.element.size < CHUNK and alike

    def _pieces(self, target: Val) -> tuple[Val, Val]:
        """The bytes of a row between which pieces lie: multiples of 16 in global memory, side by side in local memory.

        There are none where a swizzle would take their bytes apart.
        """
        w = self.w
        address = w.add(w.convert("ptrtoint", target, "i64"), self.low)
        first = w.add(self.low, w.binary("and", w.sub(integer(0), address), CHUNK - 1))
        swizzled = w.compare("ne", self.mask, integer(0))
        apart = w.binary("and", swizzled, w.compare("ne", w.binary("and", first, CHUNK - 1), integer(0)))
        first = w.select(apart, self.high, w.smaller(first, self.high))
        return first, w.add(first, w.binary("and", w.sub(self.high, first), -CHUNK))

    def _combine_piece(self, pointer: Val, held: Val) -> None:
        """Combine 16 bytes of the tensor with as many of local memory, by one atomic update."""
        w, element = self.w, self.element
        type = wide(memory_type(element), CHUNK // element.size)
        given = w.convert("bitcast", held, type)

        def combined(old: Val) -> Val:
            if element.family == "integer":
                return w.binary(WORDS[self.reduction], old, given)
            features = self.code.features
            values = [(from_memory(w, features, element, one),) for one in (old, given)]
            (new,) = arith.binary(w, features, self.reduction.value, element, *values)
            return to_memory(w, features, element, new)

        exchange_halves(w, type, pointer, combined, EVERYWHERE)
