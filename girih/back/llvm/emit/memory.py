"""Accesses to memory: of one element, of vectors under masks, and atomic ones."""

from __future__ import annotations

from girih.back.llvm.emit.instructions import Instructions
from girih.back.llvm.emit.text import Operand, Val, bits, integer, lanes, mangled, scalar, stored_bytes, wide


class MemoryInstructions(Instructions):
    """A function that is being written: the accesses to memory."""

    # --- memory --------------------------------------------------------------------------

    def at(self, pointer: Val, offset: Operand) -> Val:
        """The pointer moved by `offset` bytes; of vectors, element by element."""
        offset = self.value(offset)
        if offset.literal == 0:
            return pointer
        type = wide(scalar(pointer.type), max(lanes(pointer.type), lanes(offset.type)))
        return self.pure(type, f"getelementptr i8, {pointer}, {offset}", (pointer, offset))

    def alloca(self, type: str, count: int) -> Val:
        """The address of a new array of `count` elements of a type, which the function has until it ends."""
        name = f"%{self.name()}"
        self._entry.append(f"  {name} = alloca [{count} x {type}], align {max(4, stored_bytes(type))}")
        return Val(name, "ptr")

    def load(self, type: str, pointer: Val, align: int) -> Val:
        """The value at an address, which is a multiple of `align` bytes."""
        return self.effect(type, f"load {type}, {pointer}, align {align}")

    def store(self, held: Val, pointer: Val, align: int) -> None:
        """Store a value at an address, which is a multiple of `align` bytes."""
        self.line(f"store {held}, {pointer}, align {align}")

    def masked_load(self, type: str, pointer: Val, mask: Val, align: int, otherwise: Val) -> Val:
        """The neighbouring elements for which the mask holds, `otherwise` for the others."""
        name = f"llvm.masked.load.{mangled(type)}.{mangled(pointer.type)}"
        self.module.declare(name, type, (pointer.type, mask.type, type))
        text = f"call {type} @{name}({pointer.type} align {align} {pointer.text}, {mask}, {otherwise})"
        return self.effect(type, text)

    def masked_store(self, held: Val, pointer: Val, mask: Val, align: int) -> None:
        """Store the neighbouring elements for which the mask holds."""
        if bits(held.type) < 32:
            mask = self.binary("and", mask, self._unknown_ones(lanes(mask.type)))
        name = f"llvm.masked.store.{mangled(held.type)}.{mangled(pointer.type)}"
        self.module.declare(name, "void", (held.type, pointer.type, mask.type))
        self.line(f"call void @{name}({held}, {pointer.type} align {align} {pointer.text}, {mask})")

    def _unknown_ones(self, count: int) -> Val:
        """A mask of all lanes, hidden from LLVM.

        If LLVM 22 knows that a mask is of one lane, it stores four bytes instead of one or two of a number that was
        made narrow.
        """
        if self._ones is None:
            text = self.module.hidden(integer(-1))
            if text is None:
                return integer(1, wide("i1", count))
            self._ones = Val("%ones", "i64")
            self._entry.append(f"  %ones = {text}{self.location}")
        if count > 64:
            return self.splat(self.convert("trunc", self._ones, "i1"), count)
        return self.convert("bitcast", self.convert("trunc", self._ones, f"i{count}"), wide("i1", count))

    def gather(self, type: str, pointers: Val, mask: Val, align: int, otherwise: Val) -> Val:
        """The elements at the addresses for which the mask holds, `otherwise` for the others."""
        name = f"llvm.masked.gather.{mangled(type)}.{mangled(pointers.type)}"
        self.module.declare(name, type, (pointers.type, mask.type, type))
        text = f"call {type} @{name}({pointers.type} align {align} {pointers.text}, {mask}, {otherwise})"
        return self.effect(type, text)

    def scatter(self, held: Val, pointers: Val, mask: Val, align: int) -> None:
        """Store elements at the addresses for which the mask holds; of equal addresses the last lane wins."""
        name = f"llvm.masked.scatter.{mangled(held.type)}.{mangled(pointers.type)}"
        self.module.declare(name, "void", (held.type, pointers.type, mask.type))
        self.line(f"call void @{name}({held}, {pointers.type} align {align} {pointers.text}, {mask})")

    # --- atomic accesses -----------------------------------------------------------------

    def atomic_load(self, type: str, pointer: Val, align: int, scope: str = "") -> Val:
        """The value at an address, loaded atomically for the threads of a scope; `""` is the whole system."""
        return self.effect(type, f"load atomic {type}, {pointer} {_among(scope)}monotonic, align {align}")

    def atomic_store(self, held: Val, pointer: Val, align: int, scope: str = "", ordering: str = "monotonic") -> None:
        """Store a value at an address, atomically for the threads of a scope; `""` is the whole system."""
        self.line(f"store atomic {held}, {pointer} {_among(scope)}{ordering}, align {align}")

    def atomic_update(self, opcode: str, pointer: Val, value: Val, align: int, scope: str = "") -> Val:
        """The value at an address before it is replaced, atomically, by its combination with another one."""
        text = f"atomicrmw {opcode} {pointer}, {value} {_among(scope)}monotonic, align {align}"
        return self.effect(value.type, text)

    def atomic_sum(self, type: str, pointer: Val, value: Val, scope: str) -> Val | None:
        """The float at an address before it is replaced, atomically, by its sum with another one of its type.

        None where the machine has no instruction for it.
        """
        return None

    def compare_exchange(self, pointer: Val, expected: Val, new: Val, align: int | None = None, scope: str = "") -> Val:
        """The pair for `found` and `exchanged` of an atomic replacement of a value in memory if it is as expected."""
        aligned = "" if align is None else f", align {align}"
        text = f"cmpxchg {pointer}, {expected}, {new} {_among(scope)}monotonic monotonic{aligned}"
        return self.effect(f"{{ {new.type}, i1 }}", text)

    def found(self, pair: Val, type: str) -> Val:
        """The value that a `compare_exchange` found in memory."""
        return self.effect(type, f"extractvalue {pair}, 0")

    def exchanged(self, pair: Val) -> Val:
        """Whether a `compare_exchange` replaced the value in memory."""
        return self.effect("i1", f"extractvalue {pair}, 1")

    def failed(self, exchanged: Val) -> Val:
        """Whether a `compare_exchange` has to be tried again."""
        return self.effect("i1", f"xor {exchanged}, true")

    def fence(self, ordering: str, scope: str = "") -> None:
        """Order the memory accesses before and after this place."""
        self.line(f"fence {_among(scope)}{ordering}")

    def prefetch(self, pointer: Val, *, write: bool = False, locality: int = 3) -> None:
        """Fetch the memory at an address ahead of its use; a locality of 3 keeps it in all caches, 0 in none."""
        name = f"llvm.prefetch.{mangled(pointer.type)}"
        self.module.declare(name, "void", (pointer.type, "i32", "i32", "i32"))
        self.line(f"call void @{name}({pointer}, i32 {int(write)}, i32 {locality}, i32 1)")


def _among(scope: str) -> str:
    """The text for the scope of an atomic access; empty for the whole system."""
    return f'syncscope("{scope}") ' if scope else ""
