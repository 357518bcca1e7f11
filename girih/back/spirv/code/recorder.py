"""The writer that records shader code: the methods of `girih.back.llvm.emit.writer.Writer`, for one work-item.

Lowerings with one lane write through it as they write LLVM IR. What it records is a tree (`nodes`): pure instructions
are folded where their operands are constants, and written once where they repeat. A method that would write LLVM's text
is a defect here (`InternalError`); so are vectors.

Numbers that Vulkan leaves wider than the language are written out (`exact`), as far as the device's `Abilities` ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from girih.back.llvm.emit.text import Operand, Val, bits, integer
from girih.back.llvm.emit.writer import Loop
from girih.back.spirv.code import angles
from girih.back.spirv.code.atomics import access_in_word
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory, ShaderPlace
from girih.back.spirv.code.nodes import (
    BranchStatement,
    CarriedValue,
    LeaveStatement,
    LoopStatement,
    RepeatStatement,
    ShaderBlock,
)
from girih.back.spirv.code.numbers import NumberRecording
from girih.back.spirv.code.types import is_float, size_of

Key = tuple[object, ...]


class Recorder(NumberRecording):
    """A shader that is being recorded: all instructions, loops and branches."""

    # --- memory --------------------------------------------------------------------------

    def pointer(self, place: ShaderPlace) -> Val:
        """A place as a value."""
        self._values += 1
        made = Val(f"%p{self._values}", "ptr")
        self._places[made.text] = place
        return made

    def at(self, pointer: Val, offset: Operand) -> Val:
        """The place moved by `offset` bytes."""
        moved = self.value(offset)
        if moved.literal == 0:
            return pointer
        held = self.place(pointer)
        return self.pointer(ShaderPlace(held.memory, self.add(held.offset, moved), held.address, held.missing))

    def where(self, pointer: Val, type: str) -> tuple[ShaderMemory, Val]:
        """The memory of a place and the element there as an i64, or its address; the memory has elements of a type."""
        held = self.place(pointer)
        memory = held.memory
        memory.types.setdefault(type)
        if memory.kind is MemoryKind.ADDRESS:
            assert held.address is not None
            return memory, self.add(held.address, held.offset)
        return memory, self.divided(held.offset, size_of(type))

    def divided(self, offset: Val, size: int) -> Val:
        """A number of bytes, which is a multiple of a size, in units of that size."""
        known = self._divided(offset, size)
        if known is not None:
            return known
        return self.binary("lshr", offset, integer(size.bit_length() - 1, offset.type))

    def _divided(self, offset: Val, size: int) -> Val | None:
        if size == 1:
            return offset
        if offset.literal is not None:
            return integer(offset.literal // size, offset.type) if offset.literal % size == 0 else None
        made = self.maker(offset)
        if made is None or made.op not in ("add", "sub", "mul", "shl"):
            return None
        a, b = made.operands
        if made.op == "mul":
            for one, other in ((a, b), (b, a)):
                if one.literal is not None and one.literal % size == 0:
                    return self.mul(other, integer(one.literal // size, other.type))
            return None
        if made.op == "shl":
            by = b.literal or 0
            return self.binary("shl", a, by - size.bit_length() + 1) if 1 << by >= size else None
        first, second = self._divided(a, size), self._divided(b, size)
        return None if first is None or second is None else self.binary(made.op, first, second)

    def load(self, type: str, pointer: Val, align: int) -> Val:
        """The value at a place; of type `ptr`, the place that an address there is."""
        if type == "ptr":
            address = self.load("i64", pointer, align)
            memory = self.memory_of_addresses(self.place(pointer).memory)
            missing = self.compare("eq", address, integer(0))
            return self.pointer(ShaderPlace(memory, integer(0), address, missing))
        memory, element = self.where(pointer, type)
        return self.node("load", (element,), type, (memory, type))

    def table(self, name: str, values: tuple[int, ...]) -> ShaderMemory:
        """An array of constants of 32 bits; the same one again for the same name."""
        for memory in self.code.memories:
            if memory.kind is MemoryKind.TABLE and memory.name == name:
                return memory
        made = ShaderMemory(MemoryKind.TABLE, name, size=4 * len(values), element="i32", values=values)
        self.code.memories.append(made)
        return made

    def table_word(self, table: ShaderMemory, number: Val) -> Val:
        """A number of a table."""
        table.types.setdefault("i32")
        return self.node("load", (number,), "i32", (table, "i32"))

    def far_angle(self, name: str, unit: int, known: int, x: Val) -> tuple[Val, Val] | None:
        """The angle of x units without whole turns, in two parts."""
        return angles.angle_of(self, x, name, (unit, known))

    def memory_of_addresses(self, table: ShaderMemory) -> ShaderMemory:
        """What is reached by the addresses in a table."""
        name = f"{table.name}_members"
        for memory in self.code.memories:
            if memory.kind is MemoryKind.ADDRESS and memory.name == name:
                return memory
        made = ShaderMemory(MemoryKind.ADDRESS, name)
        self.code.memories.append(made)
        return made

    def store(self, held: Val, pointer: Val, align: int) -> None:
        """Store a value at a place."""
        memory, element = self.where(pointer, held.type)
        memory.written = True
        self.node("store", (held, element), None, (memory, held.type))

    def atomic(
        self, operation: str, pointer: Val, type: str, values: Sequence[Val], scope: str, ordering: str = ""
    ) -> Val:
        """An atomic access: the value from before, for a store nothing of use.

        Floats are accessed as integers: devices need a feature for them.
        """
        if is_float(type):
            word = f"i{bits(type)}"
            held = self.atomic(
                operation, pointer, word, [self.convert("bitcast", one, word) for one in values], scope, ordering
            )
            return held if operation == "store" else self.convert("bitcast", held, type)
        if bits(type) < 32:
            return access_in_word(self, operation, pointer, type, values, scope, ordering)
        memory, element = self.where(pointer, type)
        memory.atomic = True
        memory.written = memory.written or operation != "load"
        result = None if operation == "store" else type
        return self.node("atomic", (element, *values), result, (memory, type, operation, scope or "device", ordering))

    def atomic_load(self, type: str, pointer: Val, align: int, scope: str = "") -> Val:
        return self.atomic("load", pointer, type, (), scope)

    def atomic_store(self, held: Val, pointer: Val, align: int, scope: str = "", ordering: str = "monotonic") -> None:
        self.atomic("store", pointer, held.type, (held,), scope, ordering.removeprefix("monotonic"))

    def atomic_update(self, opcode: str, pointer: Val, value: Val, align: int, scope: str = "") -> Val:
        operation = {"max": "smax", "min": "smin"}.get(opcode, opcode)
        return self.atomic(operation, pointer, value.type, (value,), scope)

    def atomic_sum(self, type: str, pointer: Val, value: Val, scope: str) -> Val | None:
        """None: sums of floats are made by exchanges."""
        return None

    def compare_exchange(self, pointer: Val, expected: Val, new: Val, align: int | None = None, scope: str = "") -> Val:
        """The value that an atomic replacement found; `found` and `exchanged` read it."""
        old = self.atomic("compare_exchange", pointer, new.type, (expected, new), scope)
        if old.text not in self._replaced:
            self.replaced(old, self.compare("eq", old, expected))
        return old

    def replaced(self, pair: Val, condition: Val) -> None:
        """Note the condition on which the atomic replacement that gave a pair was made."""
        self._replaced[pair.text] = condition

    def found(self, pair: Val, type: str) -> Val:
        return pair

    def exchanged(self, pair: Val) -> Val:
        return self._replaced[pair.text]

    def failed(self, exchanged: Val) -> Val:
        return self.negated(exchanged)

    def fence(self, ordering: str, scope: str = "") -> None:
        self.node("fence", (), None, (scope or "device", ordering))

    def prefetch(self, pointer: Val, *, write: bool = False, locality: int = 3) -> None:
        """Nothing: shaders have no instruction for it."""

    # --- control -------------------------------------------------------------------------

    @property
    def level(self) -> int:
        return 0

    @contextmanager
    def loop(
        self, start: Operand, stop: Operand, step: Operand = 1, carried: Sequence[Val] = (), *, saturate: bool = False
    ) -> Iterator[Loop]:
        """A loop of `start`, `start + step`, ... below `stop`, signed."""
        first, end, distance = self.value(start), self.value(stop), self.value(step)
        index = self.fresh(first.type)
        values = tuple(self.fresh(one.type) for one in carried)
        body = ShaderBlock()
        made = LoopStatement(index, first, end, distance, body=body, wraps=saturate, span=self.span)
        opened = Loop(index, values)
        with self._in(body):
            yield opened
        made.carried = [
            CarriedValue(value, initial, following)
            for value, initial, following in zip(values, carried, opened.following, strict=True)
        ]
        self._here.statements.append(made)
        opened.results = values

    def repeat(
        self,
        carried: Sequence[Val],
        condition: Callable[[tuple[Val, ...]], Val],
        body: Callable[[tuple[Val, ...]], Sequence[Val]],
    ) -> tuple[Val, ...]:
        """The last carried values of a loop: while the condition holds for them, the body gives the next ones."""
        values = tuple(self.fresh(one.type) for one in carried)
        made = RepeatStatement(span=self.span)
        with self._in(made.head):
            made.condition = condition(values)
        with self._in(made.body):
            following = body(values)
        made.carried = [
            CarriedValue(value, initial, later)
            for value, initial, later in zip(values, carried, following, strict=True)
        ]
        self._here.statements.append(made)
        return values

    @contextmanager
    def inside(self) -> Iterator[None]:
        """A context for code that is not always executed where the code around it is."""
        with self._in(self._here):
            yield

    @contextmanager
    def when(self, condition: Val) -> Iterator[None]:
        """A context for code that is executed only if a condition holds."""
        made = BranchStatement(condition, span=self.span)
        with self._in(made.then):
            yield
        if condition.literal is None:
            self._here.statements.append(made)
        elif condition.literal:
            self._here.statements += made.then.statements

    def either(
        self,
        condition: Val,
        then: Callable[[], Sequence[Val]],
        otherwise: Callable[[], Sequence[Val]],
        *,
        rare: bool = False,
    ) -> list[Val]:
        """The values of one of two pieces of code, of which the condition decides which is executed."""
        made = BranchStatement(condition, span=self.span)
        with self._in(made.then):
            first = list(then())
        with self._in(made.otherwise):
            second = list(otherwise())
        merged: list[Val] = []
        for a, b in zip(first, second, strict=True):
            if a.text == b.text:
                merged.append(a)
                continue
            held = self.fresh(a.type)
            made.results.append((held, a, b))
            merged.append(held)
        self._here.statements.append(made)
        return merged

    def unlikely(self, condition: Val, body: Callable[[], None], *, returns: bool = False) -> None:
        """Execute code if a condition holds, which ends with `leave` unless it `returns` to this place."""
        if condition.literal == 0:
            return
        with self.when(condition):
            body()

    def leave(self) -> None:
        """End the shader for the work-item."""
        self._here.statements.append(LeaveStatement(self.span))
