"""The rows of tensor copies that are computed: where each begins in global and in local memory, and which of its bytes
the tensor has. What a map says is in its descriptor (`girih.back.llvm.lower.launch.descriptor`)."""

from __future__ import annotations

from abc import ABC, abstractmethod

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.launch import descriptor as layout
from girih.back.llvm.lower.launch.descriptor import MapField
from girih.ir.types import Number

CHUNK = 16
"""The bytes that are moved at a time; a swizzle moves them together."""


class BoxRows(ABC):
    """What is the same for all rows of a copy.

    The bytes `start` to `start + row_bytes` of dimension 0 make a row, of which those from `low` to before `high` of
    the row lie in the tensor, if the row does.
    """

    stores = True

    def __init__(self, w: Writer, descriptor: Val, local: Val, element: Number) -> None:
        self.w, self.descriptor, self.local = w, descriptor, local
        self.element = element
        self.base = w.load("ptr", w.at(descriptor, 8 * MapField.ADDRESS), 8)
        self.address = w.convert("ptrtoint", local, "i64")
        self.pitch = self.field(MapField.PITCH)
        self.row_bytes = self.field(MapField.ROW_BYTES)
        self.extent = self.field(MapField.STORE_EXTENT if self.stores else MapField.LOAD_EXTENT)
        start = self.operand(self.field(MapField.START_OPERAND))
        self.start = w.binary("ashr", w.mul(start, self.field(MapField.START_BITS)), integer(3))
        self.low = self.within(w.sub(integer(0), self.start))
        self.high = w.larger(self.low, self.within(w.sub(self.extent, self.start)))
        self.mask = self.field(MapField.SWIZZLE_MASK)
        self.shift = self.field(MapField.SWIZZLE_SHIFT)

    @abstractmethod
    def operand(self, number: Val) -> Val:
        """One of the numbers of the copy, by its position among them."""

    def field(self, number: int) -> Val:
        """A word of the descriptor."""
        return self.w.load("i64", self.w.at(self.descriptor, 8 * number), 8)

    def within(self, byte: Val) -> Val:
        """A byte of a row, brought into the range of the row."""
        return self.w.smaller(self.w.larger(byte, integer(0)), self.row_bytes)

    def place(self, number: Val, byte: Val) -> Val:
        """The address in local memory of a byte of a row, which is a multiple of 16 bytes before it is swizzled."""
        w = self.w
        linear = w.add(w.mul(number, self.pitch), byte)
        line = w.binary("lshr", w.add(self.address, linear), integer(7))
        moved = w.binary("shl", w.binary("and", line, self.mask), self.shift)
        swizzled = w.sub(w.binary("xor", w.add(self.address, linear), moved), self.address)
        return w.at(self.local, swizzled)

    def line(self, number: Val, byte: Val) -> Val:
        """The number of the line of local memory in which a byte of a row lies."""
        w = self.w
        return w.binary("lshr", w.add(self.address, w.add(w.mul(number, self.pitch), byte)), integer(7))


class Dimension:
    """The words of one dimension of a descriptor."""

    def __init__(self, rows: BoxRows, number: int) -> None:
        first = layout.dimension(number)
        self.coordinate = rows.operand(rows.field(first + layout.OPERAND))
        self.size = rows.field(first + layout.SIZE)
        self.stride = rows.field(first + layout.STRIDE)
        self.count = rows.field(first + layout.COUNT)
        self.step = rows.field(first + layout.STEP)
        self.low = rows.field(first + layout.LOW)
        self.high = rows.field(first + layout.HIGH)
