"""Rows of tensor reductions on the CPU: each element of the tensor is combined by an atomic update of its own."""

from __future__ import annotations

from dataclasses import replace

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.tensor_map.rows import RowCopy
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.atomics import update
from girih.back.llvm.lower.launch.descriptor import MapField
from girih.back.llvm.numbers.rounding import from_memory
from girih.back.llvm.numbers.values import memory_type
from girih.ir.types import Number
from girih.ops.tile.tensor_map import CopyReduction

_WORDS = {
    CopyReduction.ADD: "add",
    CopyReduction.AND: "and",
    CopyReduction.OR: "or",
    CopyReduction.XOR: "xor",
    CopyReduction.INC: "uinc_wrap",
    CopyReduction.DEC: "udec_wrap",
}
"""The words of LLVM for atomic updates of integers, whatever their sign."""

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
        w, size = self.w, self.element.size
        target = w.at(self.base, w.add(offset, self.start))
        with w.when(inside), w.loop(self.low, self.high, size) as loop:
            held = w.load(memory_type(self.element), self.place(number, loop.index), size)
            self._combine(w.at(target, loop.index), held)

    def _combine(self, pointer: Val, held: Val) -> None:
        """Combine an element of the tensor with one of local memory."""
        w, element = self.w, self.element
        if element.family != "integer":
            value = from_memory(w, self.code.features, element, held)
            update(self.code, self.reduction.value, element, pointer, value, EVERYWHERE)
            return
        if self.reduction in _WORDS:
            w.atomic_update(_WORDS[self.reduction], pointer, held, element.size)
            return
        word = self.reduction.value

        def signed() -> list[Val]:
            w.atomic_update(word, pointer, held, element.size)
            return []

        def unsigned() -> list[Val]:
            w.atomic_update(f"u{word}", pointer, held, element.size)
            return []

        w.either(self.signed, signed, unsigned)
