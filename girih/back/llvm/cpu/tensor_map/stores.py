"""Rows of tensor stores on the CPU: pieces of 16 bytes that the tensor has, with the padding of its rows."""

from __future__ import annotations

from girih.back.llvm.cpu.tensor_map.loads import BYTES
from girih.back.llvm.cpu.tensor_map.rows import WIDE, RowCopy
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.launch.descriptor import MapField, Packing
from girih.back.llvm.lower.tensor_map.elements import six_bits
from girih.back.llvm.lower.tensor_map.rows import CHUNK
from girih.ir.types import I8, Number

PACKED_BYTES = 12
"""The bytes of memory that sixteen elements of six bits take."""


class StoreRows(RowCopy):
    """The rows of a store."""

    def __init__(self, w: Writer, descriptor: Val, operands: Val, local: Val, element: Number) -> None:
        super().__init__(w, descriptor, operands, local, element)
        self.first = w.binary("and", w.add(self.low, CHUNK - 1), -CHUNK)
        self.last = w.add(self.first, w.binary("and", w.sub(w.larger(self.high, self.first), self.first), -CHUNK))
        wide = w.add(self.first, w.binary("and", w.sub(self.last, self.first), -WIDE))
        self.wide_last = w.select(w.compare("eq", self.mask, integer(0)), wide, self.first)
        self.packing = self.field(MapField.PACKING)

    @property
    def unchanged(self) -> Val:
        w = self.w
        unchanged = w.binary("and", self.full, w.compare("eq", self.mask, integer(0)))
        packed = w.compare("eq", self.packing, integer(Packing.SIX_BITS))
        return w.binary("and", unchanged, w.negated(packed)) if self.element == I8 else unchanged

    def row(self, number: Val, offset: Val, inside: Val) -> None:
        w = self.w
        target = w.at(self.base, w.add(offset, self.start))
        with w.when(inside):
            if self.element != I8:
                self._plain(number, target)
                return
            packed = w.compare("eq", self.packing, integer(Packing.SIX_BITS))

            def six_bits() -> list[Val]:
                self._packed(number, target)
                return []

            def plain() -> list[Val]:
                self._plain(number, target)
                return []

            w.either(packed, six_bits, plain)

    def _plain(self, number: Val, target: Val) -> None:
        w = self.w
        with w.loop(self.first, self.wide_last, WIDE) as loop:
            w.store(w.load(f"<{WIDE} x i8>", self.unswizzled(number, loop.index), CHUNK), w.at(target, loop.index), 1)
        with w.loop(self.wide_last, self.last, CHUNK) as loop:
            w.store(w.load(BYTES, self.place(number, loop.index), CHUNK), w.at(target, loop.index), 1)

    def _packed(self, number: Val, target: Val) -> None:
        """Store the low six bits of every byte of a row, sixteen elements in twelve bytes (004 5.5.1.1.1)."""
        w = self.w
        with w.loop(0, w.binary("sdiv", self.row_bytes, integer(PACKED_BYTES))) as loop:
            byte = w.mul(loop.index, PACKED_BYTES)
            begun = w.compare("sge", byte, self.low)
            ended = w.compare("sle", w.add(byte, PACKED_BYTES), self.high)
            with w.when(w.binary("and", begun, ended)):
                source = self.place(number, w.mul(loop.index, CHUNK))
                low, high = (six_bits(w, w.load("i64", w.at(source, half), 8)) for half in (0, 8))
                w.store(w.binary("or", low, w.binary("shl", high, integer(48))), w.at(target, byte), 1)
                rest = w.convert("trunc", w.binary("lshr", high, integer(16)), "i32")
                w.store(rest, w.at(target, w.add(byte, 8)), 1)
