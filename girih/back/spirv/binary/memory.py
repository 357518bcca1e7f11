"""The memories of shader code as variables of a module, and accesses to them, for Vulkan.

A storage buffer is one variable for each type of its elements, all at one binding. Shared and private memory is an
array; shared memory that is seen as several types has an explicit layout. What lies at an address is reached by a
pointer that is made of it. Members are those of the push-constant block, or of the parameter buffer.
"""

from __future__ import annotations

from typing import Protocol

from girih.back.llvm.emit.text import Val, bits
from girih.back.spirv.binary.assembly import Assembly, enumerant
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import ShaderCode
from girih.back.spirv.code.types import size_of
from girih.diagnostics import InternalError

STORAGE = {
    MemoryKind.BUFFER: "StorageBuffer",
    MemoryKind.SHARED: "Workgroup",
    MemoryKind.PRIVATE: "Function",
    MemoryKind.TABLE: "Private",
    MemoryKind.ADDRESS: "PhysicalStorageBuffer",
    MemoryKind.BLOCK: "PhysicalStorageBuffer",
}
"""The storage class of each kind of memory."""


class ModuleMemory(Protocol):
    """The memories of shader code in a module."""

    locals: list[tuple[int, int]]
    """Variables of the function that is being written: pointer type and id."""

    def pointer(self, memory: ShaderMemory, type: str, element: Val) -> int:
        """The pointer to an element, or to what lies at an address."""

    def element_type(self, type: str) -> int:
        """The type of an element in memory."""

    def operands(self, memory: ShaderMemory, type: str) -> tuple[int, ...]:
        """The memory operands of a load or store of one element."""

    def member(self, name: str) -> int:
        """What a member of the parameters is: for Vulkan a pointer, for OpenCL its value."""


_SHARED_ALIGNMENT = 16
"""What shared memory with an explicit layout begins at a multiple of, in bytes."""


class VulkanMemory:
    """The variables of a module for Vulkan, declared when they are first needed."""

    def __init__(self, a: Assembly, code: ShaderCode) -> None:
        self._a = a
        self._code = code
        self._variables: dict[tuple[ShaderMemory, str], int] = {}
        self._members: tuple[int, str] | None = None
        self.locals: list[tuple[int, int]] = []
        """Variables of the function: pointer type and id."""

    # --- accesses ------------------------------------------------------------------------

    def pointer(self, memory: ShaderMemory, type: str, element: Val) -> int:
        """The pointer to an element, or to what lies at an address."""
        a = self._a
        storage = STORAGE[memory.kind]
        to = a.pointer_type(storage, self.element_type(type))
        if memory.kind is MemoryKind.BLOCK:
            assert memory.block is not None
            return a.result("OpAccessChain", to, a.id_of(memory.block), a.index(0), a.id_of(element))
        if memory.kind is MemoryKind.ADDRESS:
            a.capability("PhysicalStorageBufferAddresses", "Int64")
            return a.result("OpConvertUToPtr", to, a.id_of(element))
        variable = self.variable(memory, type)
        first = (a.index(0),) if self._is_block(memory) else ()
        return a.result("OpAccessChain", to, variable, *first, a.id_of(element))

    def element_type(self, type: str) -> int:
        """The type of an element in memory, which takes no arithmetic on it."""
        a = self._a
        if type == "half":
            return a.declare("OpTypeFloat", 16)
        if type == "i16":
            return a.declare("OpTypeInt", 16, 1)
        if type == "i8":
            return a.declare("OpTypeInt", 8, 1)
        return a.type(type)

    def operands(self, memory: ShaderMemory, type: str) -> tuple[int, ...]:
        """The memory operands of a load or store of one element."""
        # What nobody writes need not be made visible; to say so would hold back the driver's compiler.
        private = memory.kind in (MemoryKind.PRIVATE, MemoryKind.TABLE) or (
            memory.kind is MemoryKind.BUFFER and not memory.written
        )
        mask = 0 if private else enumerant("MemoryAccess", "NonPrivatePointer")
        if memory.kind in (MemoryKind.ADDRESS, MemoryKind.BLOCK):
            return (mask | enumerant("MemoryAccess", "Aligned"), size_of(type))
        return (mask,) if mask else ()

    def member(self, name: str) -> int:
        """The pointer to a member of the parameters."""
        a = self._a
        variable, storage = self._parameters()
        number, member = next((k, one) for k, one in enumerate(self._code.members) if one.name == name)
        return a.result("OpAccessChain", a.pointer_type(storage, a.type(member.type)), variable, a.index(number))

    # --- declarations --------------------------------------------------------------------

    def variable(self, memory: ShaderMemory, type: str) -> int:
        """The variable of a memory whose elements are seen as a type."""
        known = self._variables.get((memory, type))
        if known is None:
            declare = {
                MemoryKind.BUFFER: self._buffer,
                MemoryKind.SHARED: self._shared,
                MemoryKind.PRIVATE: self._private,
                MemoryKind.TABLE: self._table,
            }[memory.kind]
            known = self._variables[memory, type] = declare(memory, type)
            name = memory.name if type == next(iter(memory.types), type) else f"{memory.name}_{type}"
            self._a.name(known, name)
        return known

    def _is_block(self, memory: ShaderMemory) -> bool:
        return memory.kind is MemoryKind.BUFFER or (memory.kind is MemoryKind.SHARED and self._explicit())

    def _explicit(self) -> bool:
        """Whether shared memory has an explicit layout: all of it has, or none."""
        shared = [one for one in self._code.memories if one.kind is MemoryKind.SHARED]
        return any(len(one.types) > 1 for one in shared)

    def _buffer(self, memory: ShaderMemory, type: str) -> int:
        a = self._a
        width = bits(type)
        if width in (8, 16):
            a.capability(f"StorageBuffer{width}BitAccess")
        array = self._array("OpTypeRuntimeArray", type)
        block = self._block(memory, type, array)
        variable = self._global("StorageBuffer", block)
        a.decorate(variable, "DescriptorSet", 0)
        a.decorate(variable, "Binding", memory.binding)
        if not memory.written:
            a.decorate(variable, "NonWritable")
        if len(memory.types) > 1:
            a.decorate(variable, "Aliased")
        return variable

    def _array(self, kind: str, type: str, *length: int) -> int:
        """An array type with the distance of its elements."""
        a = self._a
        array = a.declare(kind, self.element_type(type), *length, key=(type, *length, "strided"))
        a.decorate(array, "ArrayStride", size_of(type))
        return array

    def _block(self, memory: ShaderMemory, type: str, array: int, offset: int = 0) -> int:
        """A block of its own with one array, which begins at a byte of it."""
        a = self._a
        block = a.declare("OpTypeStruct", array, key=(memory, type))
        a.name(block, f"{memory.name}_{type}_block")
        a.name_member(block, 0, "data")
        a.decorate(block, "Block")
        a.decorate_member(block, 0, "Offset", offset)
        return block

    def _global(self, storage: str, type: int) -> int:
        a = self._a
        pointer = a.pointer_type(storage, type)
        variable = a.declare_typed("OpVariable", pointer, enumerant("StorageClass", storage), new=True)
        a.interface.append(variable)
        return variable

    def _shared(self, memory: ShaderMemory, type: str) -> int:
        a = self._a
        count = -(-memory.size // size_of(type))
        length = a.index(count)
        if not self._explicit():
            if bits(type) in (8, 16) and type != "i1":
                a.type(type)
            return self._global("Workgroup", a.declare("OpTypeArray", a.type(type), length))
        a.capability("WorkgroupMemoryExplicitLayoutKHR")
        a.extension("SPV_KHR_workgroup_memory_explicit_layout")
        if bits(type) in (8, 16):
            a.capability(f"WorkgroupMemoryExplicitLayout{bits(type)}BitAccessKHR")
        array = self._array("OpTypeArray", type, length)
        variable = self._global("Workgroup", self._block(memory, type, array, self._begin(memory)))
        a.decorate(variable, "Aliased")
        return variable

    def _begin(self, memory: ShaderMemory) -> int:
        """The byte where shared memory with an explicit layout begins: all blocks lie over each other."""
        begin = 0
        for one in self._code.memories:
            if one is memory:
                break
            if one.kind is MemoryKind.SHARED:
                begin += -(-one.size // _SHARED_ALIGNMENT) * _SHARED_ALIGNMENT
        return begin

    def _private(self, memory: ShaderMemory, type: str) -> int:
        a = self._a
        if type != (memory.element or type):
            raise InternalError(f"private memory of {memory.element} is seen as {type}")
        count = -(-memory.size // size_of(type))
        pointer = a.pointer_type("Function", a.declare("OpTypeArray", a.type(type), a.index(count)))
        variable = a.fresh()
        self.locals.append((pointer, variable))
        return variable

    def _table(self, memory: ShaderMemory, type: str) -> int:
        a = self._a
        array = a.declare("OpTypeArray", a.type(type), a.index(len(memory.values)))
        values = a.declare_typed("OpConstantComposite", array, *(a.integer(one) for one in memory.values))
        storage = enumerant("StorageClass", "Private")
        variable = a.declare_typed("OpVariable", a.pointer_type("Private", array), storage, values, new=True)
        a.interface.append(variable)
        return variable

    def _parameters(self) -> tuple[int, str]:
        """The variable with the members, and its storage class."""
        if self._members is None:
            a, code = self._a, self._code
            block = a.declare("OpTypeStruct", *(a.type(one.type) for one in code.members), key=("parameters",))
            a.name(block, "Parameters")
            a.decorate(block, "Block")
            for number, one in enumerate(code.members):
                a.name_member(block, number, one.name)
                a.decorate_member(block, number, "Offset", one.offset)
            storage = "PushConstant" if code.parameters_at is None else "StorageBuffer"
            variable = self._global(storage, block)
            a.name(variable, "parameters")
            if code.parameters_at is not None:
                a.decorate(variable, "DescriptorSet", 0)
                a.decorate(variable, "Binding", code.parameters_at)
                a.decorate(variable, "NonWritable")
            self._members = variable, storage
        return self._members
