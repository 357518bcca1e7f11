"""The translation of one entry point, as the functions that translate instructions see it.

    @translates("OpFAdd")
    def add(t: Translation, one: Instruction) -> None:
        a, b = t.leaves(one.id("operand_1")), t.leaves(one.id("operand_2"))
        t.give(one, [t.one("add", x.type, a=x, b=y) for x, y in zip(a, b, strict=True)])

A value of SPIR-V is a tuple of values of the ir, its leaves (`girih.front.spirv.leaves`); calls are inlined, so that an
id may have other values each time that its function is called.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from girih.diagnostics import CompileError
from girih.front.spirv.codes import refused
from girih.front.spirv.constants import constant_leaves, in_range
from girih.front.spirv.latitude import LatitudeNotes
from girih.front.spirv.layout import ByteLayout
from girih.front.spirv.leaves import leaves
from girih.front.spirv.pointers import (
    TABLE,
    AddressPointer,
    BuiltInPointer,
    BytePointer,
    Pointer,
    VariablePointer,
    common,
)
from girih.front.spirv.tables import tables_of
from girih.front.spirv.variables import Variables
from girih.ir.build import RegionBuilder
from girih.ir.core import Region, Value
from girih.ir.types import I8, I64, INDEX, Boolean, CoopMatrix, MemRef, Number
from girih.ir.types import Type as IrType
from girih.rules.row import Undetermined
from girih.source import NOWHERE, Span
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.types import Pointer as PointerType
from girih.spirv.types import Type

if TYPE_CHECKING:
    from girih.front.spirv.emission import Emission


BUFFER = MemRef.packed(I8, (None,))
"""The type of a buffer, or of push constants: bytes."""


class Translation:
    """The state while an entry point is translated: the region being built, and what each id is at this place."""

    def __init__(
        self,
        facts: Facts,
        variables: Variables,
        local_size: tuple[int, int, int],
        head: RegionBuilder,
        notes: LatitudeNotes,
    ) -> None:
        self.facts = facts
        self.notes = notes
        """What is said of the numbers that instructions give."""
        self.local_size = local_size
        """The numbers of work-items of a work-group along x, y and z."""
        self.variables = variables
        self.span: Span = NOWHERE
        """The place of the instruction that is being translated, in the source where the module tells it."""
        self.head = head
        """What stands in front of the code of the entry point, and is seen everywhere: constants above all."""
        self.emission: Emission
        self.slots: dict[int, Value] = {}
        """The value of each slot here; what is missing was not given a value."""
        self.literals: dict[Value, bool | int | float] = {}
        """The values of constants."""
        self.sums: dict[Value, tuple[Value, int]] = {}
        """Values that are others plus a constant."""
        self.arrays: dict[int, Mapping[IrType, Value]] = {}
        """The private arrays of variables that are such: one for each type of leaves, each as long as the variable."""
        self.blocks: dict[Value, BytePointer] = {}
        """What addresses point to that are known to lie in a block which a function decodes."""
        self.descriptors: dict[Value, tuple[Value, Value]] = {}
        """Buffers of arrays of buffers, with the group and the number of each."""
        self.natural = ByteLayout(facts, natural=True)
        self.explicit = ByteLayout(facts)
        self.tables = tables_of(variables, self.natural)
        """The bytes of variables that always hold one constant."""
        self.explicit_work_group = False
        """Whether variables of the work-group are blocks with a layout of their own."""
        self.buffers: tuple[Value, Value] | None = None
        """The group of all buffers and the memref of their addresses, where the module has addresses."""
        self.known: Mapping[int, int] = {}
        """Integers and booleans of the function here that are known."""
        self._builder = head
        self._values: dict[int, tuple[Value, ...]] = {}
        self._pointers: dict[int, Pointer] = {}
        self._constants: dict[tuple[IrType, object], Value] = {}
        self._constant_leaves: dict[int, tuple[Value, ...]] = {}

    # --- what ids are --------------------------------------------------------------------

    def type_of(self, id: int) -> Type:
        """The type of a value, as SPIR-V declares it."""
        return self.facts.type_of(id)

    def leaf_types(self, one: Instruction) -> tuple[IrType, ...]:
        """The types of the leaves of an instruction's result."""
        return leaves(self.facts.type(one.result_type))

    def leaves(self, id: int) -> tuple[Value, ...]:
        """The leaves of a value, or of a constant. Raises `Undetermined` for an id that is neither."""
        if id in self.known:
            (type,) = leaves(self.type_of(id))
            assert isinstance(type, Number | Boolean)
            return (self.constant(bool(self.known[id]) if isinstance(type, Boolean) else self.known[id], type),)
        slots = self.variables.slots.get(id)
        if slots is not None:
            return tuple(map(self.slot, slots))
        found = self._values.get(id)
        if found is None:
            found = self._constant_leaves.get(id)
        if found is None:
            found = self._constant_leaves[id] = constant_leaves(self, id)
        return found

    def leaf(self, id: int) -> Value:
        """The only leaf of a scalar, matrix, layout or view."""
        (only,) = self.leaves(id)
        return only

    def slot(self, slot: int) -> Value:
        """The value of a slot, undefined where it was not given one."""
        found = self.slots.get(slot)
        return self.undefined(self.variables.types[slot]) if found is None else found

    def pointer(self, id: int) -> Pointer:
        """What a pointer points to. Raises `Undetermined` for an id that is none."""
        known = self._pointers.get(id)
        type = self.type_of(id)
        if isinstance(type, PointerType) and type.storage_class == "PhysicalStorageBuffer":
            alignment, matrix, address = self.alignment_of(type), None, self.leaf(id)
            if isinstance(known, AddressPointer | BytePointer):
                alignment, matrix = known.alignment, known.matrix
            block = self.blocks.get(address)
            if block is not None:
                return replace(block, pointee=self.facts.pointee(type), alignment=alignment, matrix=matrix)
            return AddressPointer(self.facts.pointee(type), address, alignment, matrix)
        if known is None:
            raise Undetermined
        slots = self.variables.slots.get(id)
        if slots is None or self._is_variable(id, known):
            return known
        return self._moved(known, *slots)

    def _moved(self, known: Pointer, first: int, second: int) -> Pointer:
        """A pointer whose computed parts came through the constructs around its instruction, in two slots."""
        match known:
            case BytePointer():
                return replace(known, memory=self._memory(known.memory, second), offset=self.slot(first))
            case VariablePointer():
                leaf = known.leaf if isinstance(known.leaf, int) else self.slot(first)
                return replace(known, leaf=leaf, component=known.component and self.slot(second))
            case BuiltInPointer() if isinstance(known.component, Value):
                return replace(known, component=self.slot(first))
        return known

    def _memory(self, memory: Value, slot: int) -> Value:
        """The buffer of a pointer; one of an array is looked up again where the pointer is used."""
        if memory not in self.descriptors:
            return memory
        group, number = self.descriptors[memory]
        return memory if number is self.slots.get(slot) else self.descriptor(group, self.slot(slot))

    def descriptor(self, group: Value, number: Value) -> Value:
        """A buffer of an array of buffers."""
        memory = self.one("load", BUFFER, tensor=group, indices=(number,))
        self.descriptors[memory] = (group, number)
        return memory

    def layout_of(self, pointer: Pointer) -> ByteLayout:
        """The layout of the memory that a pointer points into."""
        storage = pointer.storage if isinstance(pointer, BytePointer) else ""
        natural = storage == TABLE or (storage == "Workgroup" and not self.explicit_work_group)
        return self.natural if natural else self.explicit

    def bytes_at(self, pointer: Pointer, count: int) -> BytePointer:
        """The bytes that a pointer points to; an address is looked up for an access to `count` of them."""
        if isinstance(pointer, BytePointer):
            return pointer
        assert isinstance(pointer, AddressPointer) and self.buffers is not None
        group, addresses = self.buffers
        fields = {"address": pointer.address, "bytes": count, "buffers": group, "addresses": addresses}
        memory, offset = self.emit("buffer_at", BUFFER, INDEX, **fields)
        storage = "PhysicalStorageBuffer"
        return BytePointer(pointer.pointee, storage, memory, offset, pointer.alignment, pointer.matrix)

    def alignment_of(self, pointer: PointerType) -> int:
        """What an address of a type is a multiple of where nothing tells: the alignment of what it points to."""
        try:
            return self.explicit.alignment(self.facts.pointee(pointer))
        except Undetermined:
            return 1

    def integer(self, id: int) -> int:
        """The value of a constant that must be known, such as a scope."""
        return self.facts.integer(id)

    def give(self, one: Instruction, values: Sequence[Value]) -> None:
        """Say what the result of an instruction is from here on."""
        self.give_id(one.result, values)

    def give_id(self, id: int, values: Sequence[Value]) -> None:
        """Say what the leaves of an id are from here on."""
        slots = self.variables.slots.get(id)
        if slots is None:
            self._values[id] = tuple(values)
        else:
            self.slots.update(zip(slots, values, strict=True))

    def give_pointer(self, id: int, pointer: Pointer) -> None:
        """Say what an id points to from here on."""
        self._pointers[id] = pointer
        if isinstance(pointer, AddressPointer):
            self.give_id(id, (pointer.address,))
        elif isinstance(pointer, BytePointer) and pointer.storage == "PhysicalStorageBuffer":
            address = self.one("cast", I64, a=pointer.offset)
            self.blocks[address] = pointer
            self.give_id(id, (address,))
        elif id in self.variables.slots and not self._is_variable(id, pointer):
            given = zip(self.variables.slots[id], self._computed(pointer), strict=True)
            self.slots.update((slot, value) for slot, value in given if value is not None)

    def choose_pointer(self, id: int, pointer: Pointer) -> None:
        """Say what an id points to that a branch, or a condition, chooses; all that it may be lie in one memory.

        Raises `CompileError` where they do not.
        """
        known = self._pointers.get(id)
        if isinstance(pointer, BytePointer):
            pointer = replace(pointer, alignment=common(pointer.alignment, self._least(pointer)))
        if known is not None and not self._in_one_memory(known, pointer):
            expected = "pointers into one buffer, or one variable of the work-group"
            raise CompileError([refused("pointer", expected, "pointers into several", self.span)])
        self.give_pointer(id, pointer)

    def _least(self, pointer: BytePointer) -> int:
        """What each place of a type is a multiple of."""
        return self.layout_of(pointer).alignment(pointer.pointee, pointer.matrix)

    def _in_one_memory(self, a: Pointer, b: Pointer) -> bool:
        if isinstance(a, BytePointer) and isinstance(b, BytePointer):
            groups = [self.descriptors.get(one.memory, (one.memory, None))[0] for one in (a, b)]
            return groups[0] is groups[1]
        return isinstance(a, AddressPointer) and isinstance(b, AddressPointer)

    def _is_variable(self, id: int, pointer: Pointer) -> bool:
        return isinstance(pointer, VariablePointer) and pointer.variable.result == id

    def _computed(self, pointer: Pointer) -> tuple[Value | None, Value | None]:
        """What is computed of a pointer that is not an address, for two slots."""
        match pointer:
            case BytePointer():
                return pointer.offset, self.descriptors.get(pointer.memory, (None, None))[1]
            case VariablePointer():
                return (None if isinstance(pointer.leaf, int) else pointer.leaf), pointer.component
            case BuiltInPointer() if isinstance(pointer.component, Value):
                return pointer.component, None
        return None, None

    # --- what is built -------------------------------------------------------------------

    @property
    def builder(self) -> RegionBuilder:
        """The region that instructions are added to."""
        return self._builder

    @contextmanager
    def inside(self, builder: RegionBuilder) -> Iterator[RegionBuilder]:
        """Add instructions to another region; behind it, slots have the values again that they had before."""
        outer, slots = self._builder, self.slots
        self._builder, self.slots = builder, dict(slots)
        try:
            yield builder
        finally:
            self._builder, self.slots = outer, slots

    def emit(self, mnemonic: str, *types: IrType, **fields: Any) -> tuple[Value, ...]:
        """The results of a new instruction at the place of the one that is being translated."""
        results = self._builder.add(mnemonic, *types, span=self.span, **fields)
        self.notes.note(results)
        return results

    def one(self, mnemonic: str, type: IrType, **fields: Any) -> Value:
        """The result of a new instruction with one result."""
        (only,) = self.emit(mnemonic, type, **fields)
        return only

    def ahead(self, mnemonic: str, type: IrType, **fields: Any) -> Value:
        """The result of a new instruction in front of everything else, for what is the same everywhere."""
        (only,) = self.head.add(mnemonic, type, span=self.span, **fields)
        return only

    def constant(self, value: bool | int | float, type: Number | Boolean | CoopMatrix) -> Value:
        """A constant; an integer is taken modulo its width. A matrix has it in every component."""
        number = type.component if isinstance(type, CoopMatrix) else type
        if isinstance(number, Number):
            value = in_range(int(value), number) if number.family == "integer" else float(value)
        key = (type, struct.pack("<d", value) if isinstance(value, float) else value)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self.ahead("constant", type, value=value)
            self.literals[found] = value
        return found

    def undefined(self, type: IrType) -> Value:
        """An undefined value."""
        found = self._constants.get((type, None))
        if found is None:
            found = self._constants[type, None] = self.ahead("undef", type)
        return found

    # --- numbers of index type -----------------------------------------------------------

    def index(self, value: int) -> Value:
        """A constant of index type."""
        return self.constant(value, INDEX)

    def literal(self, value: Value) -> int | None:
        """The value of an integer that is a constant; None for any other."""
        found = self.literals.get(value)
        return found if isinstance(found, int) else None

    def plus(self, value: Value, more: int) -> Value:
        """An integer plus a constant; constants that were added before are added to it."""
        if value in self.sums:
            value, before = self.sums[value]
            more += before
        known = self.literal(value)
        assert isinstance(value.type, Number)
        if known is not None:
            return self.constant(known + more, value.type)
        if more == 0:
            return value
        found = self.one("add", value.type, a=value, b=self.constant(more, value.type))
        self.sums[found] = (value, more)
        return found

    def sum_of(self, a: Value, b: Value) -> Value:
        """The sum of two integers of one type."""
        rest = 0
        for value in (a, b):
            if value in self.sums:
                rest += self.sums[value][1]
        a, b = (self.sums[value][0] if value in self.sums else value for value in (a, b))
        if self.literal(b) is not None:
            a, b = b, a
        known = self.literal(a)
        if known is not None:
            return self.plus(b, known + rest)
        return self.plus(self.one("add", a.type, a=a, b=b), rest)

    def times(self, value: Value, factor: int) -> Value:
        """An integer times a constant."""
        known = self.literal(value)
        assert isinstance(value.type, Number)
        if known is not None:
            return self.constant(known * factor, value.type)
        if factor == 1:
            return value
        return self.one("mul", value.type, a=value, b=self.constant(factor, value.type))

    def as_type(self, value: Value, type: Number) -> Value:
        """An integer, which is signed, in another integer type."""
        if value.type == type:
            return value
        known = self.literal(value)
        return self.constant(known, type) if known is not None else self.one("cast", type, a=value)

    def as_address(self, value: Value) -> Value:
        """A signed integer as a number of bytes to add to an address."""
        return self.as_type(value, I64)

    def region_of(self, function: int, arguments: Mapping[int, Sequence[Value] | Pointer]) -> tuple[Region, Span]:
        """The body of a function as a region that ends with a `yield` of what it returns, for matrices' instructions.

        `arguments` has leaves, or a pointer, for the id of each parameter.
        """
        return self.emission.region_of(function, arguments)
