"""What becomes of the bytes of a row in a computed tensor copy: loaded with fills around, stored, or combined."""

from __future__ import annotations

from abc import abstractmethod

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.launch.descriptor import MapField, Packing
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.tensor_map.operands import CopyOperands
from girih.back.llvm.lower.one_lane.tensor_map.rows import SharedRows
from girih.back.llvm.lower.tensor_map.elements import combine, rounded_to_tf32, six_bits
from girih.back.llvm.lower.tensor_map.rows import CHUNK
from girih.back.llvm.numbers.values import memory_type
from girih.ir.types import F32, I8, Number
from girih.ops.tile.memory import Scope
from girih.ops.tile.tensor_map import CopyReduction, TensorCopy, TensorCopyReduce, TensorCopyStore

PIECE = "<4 x i32>"
HALF = 8
"""The bytes that change places in some swizzles, two of which are a piece."""
PACKED = 12
"""The bytes of memory that sixteen elements of six bits take."""


def rows_of(code: OneLaneCode, op: TensorCopy, given: CopyOperands) -> SharedRows:
    """The rows of a copy, ready to be made."""
    element = given.held.type.element
    if isinstance(op, TensorCopyReduce):
        return CombinedRows(code, given, element, op.reduction)
    return StoredRows(code, given, element) if isinstance(op, TensorCopyStore) else LoadedRows(code, given, element)


class _PackedRows(SharedRows):
    """Rows whose elements may be packed in one memory and not in the other (004 5.5.1.1.1)."""

    def row(self, number: Val, offset: Val, inside: Val) -> None:
        w = self.w
        there = w.at(self.base, w.add(offset, self.start))
        if self.element != I8:
            self.plain(number, there, inside)
            return
        packing = self.field(MapField.PACKING)

        def packed() -> list[Val]:
            self.packed(number, there, inside, packing)
            return []

        def plain() -> list[Val]:
            self.plain(number, there, inside)
            return []

        w.either(w.compare("ne", packing, integer(Packing.NONE)), packed, plain)

    @abstractmethod
    def plain(self, number: Val, there: Val, inside: Val) -> None:
        """Write the copy of the thread's pieces of a row that begins at `there` in global memory."""

    @abstractmethod
    def packed(self, number: Val, there: Val, inside: Val, packing: Val) -> None:
        """Write it for elements of less than a byte, which lie apart in local memory."""

    def is_there(self, byte: Val, size: int | Val, inside: Val) -> Val:
        """Whether the tensor has all bytes of a piece."""
        w = self.w
        begun, ended = w.compare("sge", byte, self.low), w.compare("sle", w.add(byte, size), self.high)
        return w.binary("and", inside, w.binary("and", begun, ended))


class LoadedRows(_PackedRows):
    """The rows of a load."""

    stores = False

    def __init__(self, code: OneLaneCode, given: CopyOperands, element: Number) -> None:
        super().__init__(code, given, element)
        w = self.w
        word = self.field(MapField.FILL)
        self.fill = w.convert("bitcast", w.splat(word, 2), PIECE)
        self.flip = self.field(MapField.FLIP)
        if element == F32:
            self.tf32 = w.compare("ne", self.field(MapField.TF32), integer(0))

    def plain(self, number: Val, there: Val, inside: Val) -> None:
        w = self.w
        with self.pieces(integer(0), self.row_bytes, CHUNK) as loop:
            byte = loop.index
            target = self.place(number, byte)
            odd = w.compare("ne", w.binary("and", self.line(number, byte), self.flip), integer(0))
            source = w.at(there, byte)

            def whole(target: Val = target, odd: Val = odd, source: Val = source) -> list[Val]:
                held = self._converted(w.load(PIECE, source, CHUNK))
                turned = w.shuffle(held, None, (2, 3, 0, 1))
                w.store(w.select(odd, turned, held), target, CHUNK)
                return []

            def partly(byte: Val = byte, target: Val = target, odd: Val = odd, source: Val = source) -> list[Val]:
                w.store(self.fill, target, CHUNK)
                first = w.larger(w.sub(self.low, byte), integer(0))
                last = w.smaller(w.sub(self.high, byte), integer(CHUNK))
                turn = w.select(odd, integer(HALF), integer(0))
                with w.loop(first, w.select(inside, last, first), self.element.size) as elements:
                    held = w.load(f"i{8 * self.element.size}", w.at(source, elements.index), self.element.size)
                    into = w.at(target, w.binary("xor", elements.index, turn))
                    w.store(self._converted(held), into, self.element.size)
                return []

            w.either(self.is_there(byte, CHUNK, inside), whole, partly)

    def _converted(self, held: Val) -> Val:
        """Bits of the tensor as they lie in local memory."""
        return self.w.select(self.tf32, rounded_to_tf32(self.w, held), held) if self.element == F32 else held

    def packed(self, number: Val, there: Val, inside: Val, packing: Val) -> None:
        """Copy the containers of a row, of 8 or 12 bytes, to 16 bytes each; what is between them stays."""
        w = self.w
        long = w.compare("eq", packing, integer(Packing.TWELVE_BYTES))
        size = w.select(long, integer(PACKED), integer(HALF))
        with self.pieces(integer(0), self.row_bytes, size) as loop:
            byte = loop.index
            here = self.is_there(byte, size, inside)
            target = self.place(number, w.mul(w.binary("udiv", byte, size), CHUNK))
            source = w.at(there, byte)
            with w.when(w.negated(here)):
                w.store(integer(0), target, HALF)
            with w.when(here):
                for at in (0, 4):
                    w.store(w.load("i32", w.at(source, at), 4), w.at(target, at), 4)
            with w.when(long):

                def rest(source: Val = source) -> list[Val]:
                    return [w.load("i32", w.at(source, HALF), 4)]

                w.store(w.either(here, rest, lambda: [integer(0, "i32")])[0], w.at(target, HALF), 4)


class StoredRows(_PackedRows):
    """The rows of a store: pieces of 16 bytes that the tensor has, with the padding of its rows."""

    def plain(self, number: Val, there: Val, inside: Val) -> None:
        w = self.w
        with self.pieces(integer(0), self.row_bytes, CHUNK) as loop, w.when(self.is_there(loop.index, CHUNK, inside)):
            held = w.load(PIECE, self.place(number, loop.index), CHUNK)
            w.store(held, w.at(there, loop.index), CHUNK)

    def packed(self, number: Val, there: Val, inside: Val, packing: Val) -> None:
        """Store the low six bits of every byte of a row, sixteen elements in twelve bytes (004 5.5.1.1.1)."""
        w = self.w
        with self.pieces(integer(0), self.row_bytes, PACKED) as loop:
            byte = loop.index
            with w.when(self.is_there(byte, PACKED, inside)):
                source = self.place(number, w.mul(w.binary("udiv", byte, integer(PACKED)), CHUNK))
                low, high = (six_bits(w, w.load("i64", w.at(source, half), HALF)) for half in (0, HALF))
                first = w.binary("or", low, w.binary("shl", high, integer(48)))
                parts = [w.convert("trunc", w.binary("lshr", first, integer(shift)), "i32") for shift in (0, 32)]
                parts.append(w.convert("trunc", w.binary("lshr", high, integer(16)), "i32"))
                for at, part in enumerate(parts):
                    w.store(part, w.at(there, w.add(byte, 4 * at)), 4)


class CombinedRows(SharedRows):
    """The rows of a reduction: each element is combined by an atomic update of its own."""

    def __init__(self, code: OneLaneCode, given: CopyOperands, element: Number, reduction: CopyReduction) -> None:
        super().__init__(code, given, element)
        self.reduction = reduction
        self.signed = self.w.compare("ne", self.field(MapField.SIGNED), integer(0))
        self.scope = code.atomic_scope(Scope.DEVICE, local=False) or ""

    def row(self, number: Val, offset: Val, inside: Val) -> None:
        w, size = self.w, self.element.size
        there = w.at(self.base, w.add(offset, self.start))
        with self.pieces(self.low, w.select(inside, self.high, self.low), size) as loop:
            byte = loop.index
            piece = w.binary("and", byte, integer(-CHUNK))
            source = w.at(self.place(number, piece), w.sub(byte, piece))
            held = w.load(memory_type(self.element), source, size)
            combine(self.code, self.reduction, self.element, w.at(there, byte), held, self.signed, self.scope)
