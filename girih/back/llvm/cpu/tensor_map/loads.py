"""Rows of tensor loads on the CPU: bytes of the tensor, rounded to tf32 where a map says so, and fills around."""

from __future__ import annotations

from girih.back.llvm.cpu.tensor_map.rows import WIDE, RowCopy
from girih.back.llvm.emit.text import Val, integer, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.launch.descriptor import MapField, Packing
from girih.back.llvm.lower.tensor_map.elements import rounded_to_tf32
from girih.back.llvm.lower.tensor_map.rows import CHUNK
from girih.ir.types import F32, I8, Number

BYTES = "<16 x i8>"
WORDS = "<4 x i32>"
HALVES = "<2 x i64>"


class LoadRows(RowCopy):
    """The rows of a load."""

    SPECIAL = (F32, I8)
    """The element types that a load may change: f32 is rounded to tf32, elements in bytes get padding."""

    stores = False

    def __init__(self, w: Writer, descriptor: Val, operands: Val, local: Val, element: Number) -> None:
        super().__init__(w, descriptor, operands, local, element)
        word = self.field(MapField.FILL)
        self.fill = w.convert("bitcast", w.splat(word, 2), BYTES)
        self.flip = self.field(MapField.FLIP)
        self.first = self._rounded_up(self.low)
        self.last = w.add(self.first, w.binary("and", w.sub(w.larger(self.high, self.first), self.first), -CHUNK))
        plain = w.binary("and", w.compare("eq", self.mask, integer(0)), w.compare("eq", self.flip, integer(0)))
        if element == F32:
            self.tf32 = w.compare("ne", self.field(MapField.TF32), integer(0))
            plain = w.binary("and", plain, w.negated(self.tf32))
        self.wide_last = w.add(self.first, w.binary("and", w.sub(self.last, self.first), -WIDE))
        self.wide_last = w.select(plain, self.wide_last, self.first)
        self.packing = self.field(MapField.PACKING)
        self._unchanged = w.binary("and", self.full, plain)

    @property
    def unchanged(self) -> Val:
        w = self.w
        packed = w.compare("ne", self.packing, integer(Packing.NONE))
        return w.binary("and", self._unchanged, w.negated(packed)) if self.element == I8 else self._unchanged

    def _rounded_up(self, byte: Val) -> Val:
        return self.w.binary("and", self.w.add(byte, CHUNK - 1), -CHUNK)

    def row(self, number: Val, offset: Val, inside: Val) -> None:
        if self.element != I8:
            self._plain(number, offset, inside)
            return
        w = self.w
        packed = w.compare("ne", self.packing, integer(Packing.NONE))

        def containers() -> list[Val]:
            self._containers(number, offset, inside)
            return []

        def plain() -> list[Val]:
            self._plain(number, offset, inside)
            return []

        w.either(packed, containers, plain)

    # --- whole elements ------------------------------------------------------------------

    def _plain(self, number: Val, offset: Val, inside: Val) -> None:
        w = self.w
        source = w.at(self.base, w.add(offset, self.start))
        none = self.row_bytes
        first, last = w.select(inside, self.first, none), w.select(inside, self.last, none)
        with w.loop(0, first, CHUNK) as loop:
            self._put(number, loop.index, self.fill)
        wide = w.select(inside, self.wide_last, none)
        with w.loop(first, wide, WIDE) as loop:
            held = w.load(f"<{WIDE} x i8>", w.at(source, loop.index), 1)
            w.store(held, self.unswizzled(number, loop.index), CHUNK)
        with w.loop(wide, last, CHUNK) as loop:
            self._put(number, loop.index, self._converted(w.load(BYTES, w.at(source, loop.index), 1)))
        rest = w.sub(self.high, self.last)
        partly = w.binary("and", inside, w.compare("sgt", rest, integer(0)))
        with w.when(partly):
            self._put(number, self.last, self._beginning(w.at(source, self.last), rest))
        after = w.add(last, w.select(partly, integer(CHUNK), integer(0)))
        with w.loop(after, self.row_bytes, CHUNK) as loop:
            self._put(number, loop.index, self.fill)

    def _beginning(self, source: Val, count: Val) -> Val:
        """The first bytes at an address, and fills after them."""
        w = self.w
        there = w.compare("ult", w.iota(CHUNK, "i8"), w.splat(w.convert("trunc", count, "i8"), CHUNK))
        return w.select(there, self._converted(w.masked_load(BYTES, source, there, 1, zero(BYTES))), self.fill)

    def _put(self, number: Val, byte: Val, held: Val) -> None:
        """Store 16 bytes of a row, the halves exchanged where the swizzle says so."""
        w = self.w
        odd = w.binary("and", self.line(number, byte), self.flip)
        halves = w.convert("bitcast", held, HALVES)
        turned = w.convert("bitcast", w.shuffle(halves, None, (1, 0)), BYTES)
        w.store(w.select(w.compare("ne", odd, integer(0)), turned, held), self.place(number, byte), CHUNK)

    def _converted(self, held: Val) -> Val:
        """Sixteen bytes of the tensor as they lie in local memory."""
        if self.element != F32:
            return held
        w = self.w
        bits = w.convert("bitcast", held, WORDS)
        result = rounded_to_tf32(w, bits)
        return w.select(self.tf32, w.convert("bitcast", result, BYTES), held)

    # --- padded elements -----------------------------------------------------------------

    def _containers(self, number: Val, offset: Val, inside: Val) -> None:
        """Copy the containers of a row, of 8 or 12 bytes, to 16 bytes each; what is between them stays."""
        w = self.w
        long = w.compare("eq", self.packing, integer(Packing.TWELVE_BYTES))
        size = w.select(long, integer(12), integer(8))
        source = w.at(self.base, w.add(offset, self.start))
        with w.loop(0, w.binary("sdiv", self.row_bytes, size)) as loop:
            byte = w.mul(loop.index, size)
            begun = w.compare("sge", byte, self.low)
            ended = w.compare("sle", w.add(byte, size), self.high)
            there = w.binary("and", inside, w.binary("and", begun, ended))
            target = self.place(number, w.mul(loop.index, CHUNK))

            def read(byte: Val = byte) -> list[Val]:
                return [w.load("i64", w.at(source, byte), 1)]

            (low,) = w.either(there, read, lambda: [integer(0)])
            w.store(low, target, CHUNK)
            with w.when(long):

                def read_rest(byte: Val = byte) -> list[Val]:
                    return [w.load("i32", w.at(source, w.add(byte, 8)), 1)]

                (rest,) = w.either(there, read_rest, lambda: [integer(0, "i32")])
                w.store(rest, w.at(target, 8), 4)
