"""Access chains: from a pointer and indices to a pointer to a part (SPIR-V 3.52.8, OpAccessChain and its kin).

Offsets are worked out here, with what decorations say of memory; constants are folded. An index is signed, whatever its
type. An index into an array of fixed size is checked where it is not a constant inside the array (`array_index`).
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.front.spirv.leaves import leaves
from girih.front.spirv.pointers import (
    BEST_ALIGNMENT,
    AddressPointer,
    BuiltInPointer,
    BytePointer,
    DescriptorsPointer,
    Pointer,
    VariablePointer,
    common,
)
from girih.front.spirv.translation import Translation
from girih.front.spirv.variables import part_of
from girih.ir.core import Value
from girih.ir.types import I64, INDEX, Number
from girih.rules.row import Undetermined
from girih.spirv.instruction import Instruction
from girih.spirv.model.memory.layout import MatrixLayout
from girih.spirv.model.parts import member_type
from girih.spirv.types import CooperativeMatrix, Struct, Type, Vector

ROBUST = frozenset({"StorageBuffer", "Uniform"})
"""Storage classes for which robust access defines what is outside of an array."""


def stepped(t: Translation, base: Pointer, one: Instruction) -> Pointer:
    """A pointer moved by elements of the array that its type's ArrayStride tells (SPIR-V OpPtrAccessChain)."""
    stride = t.layout_of(base).pointer_stride(t.type_of(one.id("base")), base.pointee)
    index = t.as_type(t.leaf(one.id("element")), I64 if isinstance(base, AddressPointer) else INDEX)
    return moved(t, base, base.pointee, t.times(index, stride), stride, matrix_of(base))


def part(t: Translation, base: Pointer, indexes: Sequence[int], name: str) -> Pointer:
    """A pointer to the part that some indices select; `name` is what findings call the whole."""
    if isinstance(base, VariablePointer):
        return _part_of_variable(t, base, indexes, name)
    if isinstance(base, BuiltInPointer):
        return _component(t, base, indexes)
    if isinstance(base, DescriptorsPointer):
        base, indexes, name = _buffer_of(t, base, indexes[0], name), indexes[1:], f"{name}[]"
    layout = t.layout_of(base)
    for id in indexes:
        type, matrix = base.pointee, matrix_of(base)
        if isinstance(type, Struct):
            number = t.integer(id)
            member = layout.member(type, number)
            name = f"{name}.{t.facts.annotations.member_names.get((type.id, number)) or number}"
            base = moved(t, base, member.type, member.offset, 0, member.matrix)
            continue
        element, count = layout.element(type)
        stride = layout.stride(type, matrix)
        robust = isinstance(base, BytePointer) and base.storage in ROBUST
        wide = I64 if isinstance(base, AddressPointer) else INDEX
        index = _checked(t, id, count, name, wide, robust=robust, vector=isinstance(type, Vector))
        step = t.times(index, stride)
        name += "[]"
        known = t.literal(step)
        base = moved(t, base, element, step if known is None else known, stride, matrix)
    return base


def _buffer_of(t: Translation, base: DescriptorsPointer, index: int, name: str) -> BytePointer:
    """The pointer to a buffer of an array of buffers."""
    element, count = t.explicit.element(base.pointee)
    number = t.plus(_checked(t, index, count, name, INDEX), base.first)
    return BytePointer(element, base.storage, t.descriptor(base.group, number), t.index(0), BEST_ALIGNMENT)


def matrix_of(pointer: Pointer) -> MatrixLayout | None:
    """How the matrices lie in what a pointer points to."""
    return pointer.matrix if isinstance(pointer, BytePointer | AddressPointer) else None


def moved(
    t: Translation, base: Pointer, pointee: Type, step: int | Value, stride: int, matrix: MatrixLayout | None
) -> BytePointer | AddressPointer:
    """A pointer some bytes further on; a computed number of bytes is a multiple of `stride`."""
    assert isinstance(base, BytePointer | AddressPointer)
    alignment = common(base.alignment, step if isinstance(step, int) else stride)
    if isinstance(base, AddressPointer):
        place = t.plus(base.address, step) if isinstance(step, int) else t.sum_of(base.address, step)
        return AddressPointer(pointee, place, alignment, matrix)
    place = t.plus(base.offset, step) if isinstance(step, int) else t.sum_of(base.offset, step)
    return BytePointer(pointee, base.storage, base.memory, place, alignment, matrix)


def _checked(
    t: Translation, id: int, count: int | None, name: str, type: Number, *, robust: bool = False, vector: bool = False
) -> Value:
    """An index, found where it is not inside an array of some size, or a vector."""
    leaf = t.leaf(id)
    known = t.literal(leaf)
    if count is None or (known is not None and 0 <= known < count):
        return t.as_type(leaf, type)
    return t.as_type(t.one("array_index", INDEX, index=leaf, size=count, text=name, robust=robust, vector=vector), type)


def _part_of_variable(t: Translation, base: VariablePointer, indexes: Sequence[int], name: str) -> VariablePointer:
    type, leaf = base.pointee, base.leaf
    for id in indexes:
        if isinstance(type, CooperativeMatrix):
            return VariablePointer(type.component, base.variable, leaf, t.as_type(t.leaf(id), INDEX))
        known = t.literal(t.leaf(id))
        found = None if known is None else part_of(t.facts, type, known)
        if found is not None:
            leaf = leaf + found[0] if isinstance(leaf, int) else t.plus(leaf, found[0])
            type = found[1]
            continue
        element, count = t.explicit.element(type)
        step = t.times(_checked(t, id, count, name, INDEX, vector=isinstance(type, Vector)), len(leaves(element)))
        leaf = t.plus(step, leaf) if isinstance(leaf, int) else t.sum_of(leaf, step)
        type = element
    return VariablePointer(type, base.variable, leaf)


def _component(t: Translation, base: BuiltInPointer, indexes: Sequence[int]) -> BuiltInPointer:
    if not indexes:
        return base
    (id,) = indexes
    element, count = t.explicit.element(base.pointee)
    leaf = t.leaf(id)
    known = t.literal(leaf)
    if known is not None and count is not None and 0 <= known < count:
        return BuiltInPointer(element, base.name, known)
    return BuiltInPointer(element, base.name, _checked(t, id, count, base.name, INDEX, vector=True))


def name_of(t: Translation, id: int) -> str:
    """What findings call what an id points to: the name of the variable, and of members on the way to a part."""
    names: list[str] = []
    made = t.facts.definition(id)
    while made.name.endswith("AccessChain"):
        steps = _names_of_steps(t, made)
        names = steps + names
        made = t.facts.definition(made.id("base"))
    return (t.facts.annotations.names.get(made.result) or "the memory") + "".join(names)


def _names_of_steps(t: Translation, chain: Instruction) -> list[str]:
    pointer = t.type_of(chain.id("base"))
    try:
        type = t.facts.pointee(pointer)
    except Undetermined:
        return []
    names = []
    for id in chain.ids("indexes"):
        if isinstance(type, Struct):
            number = t.integer(id)
            names.append("." + (t.facts.annotations.member_names.get((type.id, number)) or str(number)))
            type = member_type(t.facts, type, number)
        else:
            names.append("[]")
            type = t.explicit.element(type)[0]
    return names
