"""Pointers, loads, stores and copies of memory and of variables, and what declares variables (SPIR-V 3.52.8)."""

from __future__ import annotations

from girih.front.spirv.accesses import begin_variable, load, store
from girih.front.spirv.chains import name_of, part, stepped
from girih.front.spirv.handlers import translates
from girih.front.spirv.pointers import TABLE, BytePointer
from girih.front.spirv.translation import Translation
from girih.ir.types import INDEX
from girih.spirv.instruction import Instruction
from girih.spirv.types import Pointer as PointerType
from girih.spirv.types import RuntimeArray, Struct

VOLATILE = 1
"""The bit of Memory Operands (SPIR-V 3.26)."""


@translates("OpAccessChain", "OpInBoundsAccessChain", "OpPtrAccessChain", "OpInBoundsPtrAccessChain")
def access_chain(t: Translation, one: Instruction) -> None:
    """A pointer to a part of what another points to; `Ptr` steps over elements as in an array first."""
    base = t.pointer(one.id("base"))
    if "Ptr" in one.name:
        base = stepped(t, base, one)
    t.give_pointer(one.result, part(t, base, one.ids("indexes"), name_of(t, one.id("base"))))


@translates("OpCopyObject", "OpCopyLogical")
def copy(t: Translation, one: Instruction) -> None:
    """The same value; a copy of another type has the same leaves, wherever each lies in memory."""
    if isinstance(t.type_of(one.id("operand")), PointerType):
        t.give_pointer(one.result, t.pointer(one.id("operand")))
    else:
        t.give(one, t.leaves(one.id("operand")))


@translates("OpVariable")
def variable(t: Translation, one: Instruction) -> None:
    """A variable of the work-item begins to be, each time that its function is called."""
    begin_variable(t, one)


@translates("OpLoad")
def load_instruction(t: Translation, one: Instruction) -> None:
    """The value that a pointer points to."""
    values = load(t, t.pointer(one.id("pointer")), aligned(one), volatile=bool(one.id("memory_access") & VOLATILE))
    t.give(one, values)


@translates("OpStore")
def store_instruction(t: Translation, one: Instruction) -> None:
    """A value becomes what a pointer points to."""
    pointer = t.pointer(one.id("pointer"))
    if isinstance(pointer, BytePointer) and pointer.storage == TABLE:
        return
    values = t.leaves(one.id("object"))
    store(t, pointer, values, aligned(one), volatile=bool(one.id("memory_access") & VOLATILE))


@translates("OpCopyMemory")
def copy_memory(t: Translation, one: Instruction) -> None:
    """A value goes from one place to another."""
    masks = one.ids("memory_access")
    target, source = t.pointer(one.id("target")), t.pointer(one.id("source"))
    alignments = [o.value for o in one.operands if o.name == "Aligned" and isinstance(o.value, int)] or [0]
    reads, writes = bool(masks and masks[-1] & VOLATILE), bool(masks and masks[0] & VOLATILE)
    store(t, target, load(t, source, alignments[-1], volatile=reads), alignments[0], volatile=writes)


@translates("OpArrayLength")
def array_length(t: Translation, one: Instruction) -> None:
    """The number of whole elements that the buffer has room for in the runtime array at the end of a block."""
    pointer = t.pointer(one.id("structure"))
    assert isinstance(pointer, BytePointer) and isinstance(pointer.pointee, Struct)
    member = t.explicit.member(pointer.pointee, one.id("array_member"))
    assert isinstance(member.type, RuntimeArray)
    size = t.one("size", INDEX, tensor=pointer.memory, mode=0)
    room = t.plus(size, -member.offset - (t.literal(pointer.offset) or 0))
    stride = t.index(t.explicit.stride(member.type))
    count = t.one("max", INDEX, a=t.one("div", INDEX, a=room, b=stride), b=t.index(0))
    (type,) = t.leaf_types(one)
    t.give(one, [t.one("cast", type, a=count)])


def aligned(one: Instruction) -> int:
    """The alignment that the memory operands of an access promise; 0 where they promise none."""
    value = one.get("Aligned")
    return value if isinstance(value, int) else 0
