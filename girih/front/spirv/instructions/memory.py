"""Loads, stores and copies of memory and of variables, and what declares variables (SPIR-V 3.52.8)."""

from __future__ import annotations

from collections.abc import Sequence

from girih.diagnostics import CompileError
from girih.front.spirv.handlers import translates
from girih.front.spirv.instructions import built_ins
from girih.front.spirv.instructions.chains import common, layout_of, matrix_of
from girih.front.spirv.layout import bytes_of, runs_of
from girih.front.spirv.leaves import leaves
from girih.front.spirv.pointers import BuiltInPointer, BytePointer, Pointer, VariablePointer
from girih.front.spirv.refusals import refused
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import INDEX, Boolean, CoopMatrix, Number, PrivateArrayType
from girih.spirv.instruction import Instruction
from girih.spirv.types import RuntimeArray, Struct

VOLATILE = 1
"""The bit of Memory Operands (SPIR-V 3.26)."""


@translates("OpVariable")
def variable(t: Translation, one: Instruction) -> None:
    """A variable of the work-item begins to be, each time that its function is called."""
    begin_variable(t, one)


def begin_variable(t: Translation, one: Instruction) -> None:
    """Let a variable of the work-item have its first value, or none."""
    pointee = t.variables.pointee(one.result)
    types = leaves(pointee)
    pointer = VariablePointer(pointee, one, 0)
    t.give_pointer(one.result, pointer)
    initial = one.id("initializer")
    if one.result in t.variables.arrays:
        t.arrays[one.result] = {
            type: t.one("private_array", PrivateArrayType(type, len(types)))
            for type in dict.fromkeys(types)
            if isinstance(type, Number | Boolean | CoopMatrix)
        }
    else:
        for slot in t.variables.slots[one.result]:
            t.slots.pop(slot, None)
    if initial:
        store(t, pointer, t.leaves(initial))


@translates("OpLoad")
def load_instruction(t: Translation, one: Instruction) -> None:
    """The value that a pointer points to."""
    values = load(t, t.pointer(one.id("pointer")), aligned(one), volatile=bool(one.id("memory_access") & VOLATILE))
    t.give(one, values)


@translates("OpStore")
def store_instruction(t: Translation, one: Instruction) -> None:
    """A value becomes what a pointer points to."""
    pointer, values = t.pointer(one.id("pointer")), t.leaves(one.id("object"))
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


def load(t: Translation, pointer: Pointer, promised: int = 0, *, volatile: bool = False) -> tuple[Value, ...]:
    """The leaves of what a pointer points to. `promised` is an alignment of the place in bytes, 0 for none."""
    match pointer:
        case VariablePointer():
            return _load_own(t, pointer)
        case BuiltInPointer():
            return _load_built_in(t, pointer)
    listed = layout_of(t, pointer).leaves(pointer.pointee, matrix_of(pointer))
    if not listed:
        return ()
    size = max(leaf.offset + bytes_of(leaf.type) for leaf in listed)
    place = t.bytes_at(pointer, size)
    alignment = max(place.alignment, promised)
    values: list[Value] = []
    for first, type, count in runs_of(listed):
        values += t.emit(
            "byte_load", *(type,) * count, memory=place.memory, offset=t.plus(place.offset, first),
            alignment=common(alignment, first), volatile=volatile,
        )  # fmt: skip
    return tuple(values)


def store(
    t: Translation, pointer: Pointer, values: Sequence[Value], promised: int = 0, *, volatile: bool = False
) -> None:
    """Make leaves what a pointer points to; bytes between them stay as they are."""
    if isinstance(pointer, VariablePointer):
        _store_own(t, pointer, values)
        return
    assert not isinstance(pointer, BuiltInPointer)
    listed = layout_of(t, pointer).leaves(pointer.pointee, matrix_of(pointer))
    if not listed:
        return
    size = max(leaf.offset + bytes_of(leaf.type) for leaf in listed)
    place = t.bytes_at(pointer, size)
    alignment = max(place.alignment, promised)
    at = 0
    for first, _, count in runs_of(listed):
        t.emit(
            "byte_store", values=tuple(values[at : at + count]), memory=place.memory,
            offset=t.plus(place.offset, first), alignment=common(alignment, first), volatile=volatile,
        )  # fmt: skip
        at += count


# --- variables of the work-item --------------------------------------------------------------


def _load_own(t: Translation, pointer: VariablePointer) -> tuple[Value, ...]:
    types = leaves(pointer.pointee)
    arrays = t.arrays.get(pointer.variable.result)
    if arrays is None:
        first = _first_slot(t, pointer)
        return tuple(t.slot(first + at) for at in range(len(types)))
    return tuple(
        t.one("private_load", type, array=arrays[type], index=_leaf_index(t, pointer, at))
        for at, type in enumerate(types)
    )


def _store_own(t: Translation, pointer: VariablePointer, values: Sequence[Value]) -> None:
    arrays = t.arrays.get(pointer.variable.result)
    if arrays is None:
        first = _first_slot(t, pointer)
        t.slots.update(enumerate(values, first))
        return
    for at, value in enumerate(values):
        t.emit("private_store", value=value, array=arrays[value.type], index=_leaf_index(t, pointer, at))


def _first_slot(t: Translation, pointer: VariablePointer) -> int:
    assert isinstance(pointer.leaf, int)
    return t.variables.slots[pointer.variable.result].start + pointer.leaf


def _leaf_index(t: Translation, pointer: VariablePointer, at: int) -> Value:
    leaf = pointer.leaf
    return t.index(leaf + at) if isinstance(leaf, int) else t.plus(leaf, at)


def _load_built_in(t: Translation, pointer: BuiltInPointer) -> tuple[Value, ...]:
    if pointer.name not in built_ins.NAMES:
        found = f"a load of {pointer.name or 'an input that is no built-in'}"
        raise CompileError([refused("variable", "a built-in of compute shaders", found, t.span)])
    return tuple(built_ins.built_in(t, pointer.name, pointer.component))
