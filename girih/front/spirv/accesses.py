"""Loads and stores through pointers, leaf by leaf: memory that is bytes, and variables of the work-item."""

from __future__ import annotations

from collections.abc import Sequence

from girih.front.spirv.built_ins import built_in
from girih.front.spirv.chains import matrix_of
from girih.front.spirv.layout import bytes_of, runs_of
from girih.front.spirv.leaves import leaves
from girih.front.spirv.pointers import (
    BEST_ALIGNMENT,
    TABLE,
    BuiltInPointer,
    BytePointer,
    Pointer,
    VariablePointer,
    common,
)
from girih.front.spirv.tables import words_of_bytes
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import I8, Boolean, CoopMatrix, MemRef, Number, PrivateArrayType, Type
from girih.spirv.instruction import Instruction
from girih.spirv.types import Type as PointeeType


def begin_variable(t: Translation, one: Instruction) -> None:
    """Let a variable of the work-item have its first value, or none."""
    pointee = t.variables.pointee(one.result)
    if one.result in t.tables:
        _begin_table(t, one.result, pointee)
        return
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


def _begin_table(t: Translation, id: int, pointee: PointeeType) -> None:
    """Let a variable be memory with the bytes of the constant that it always holds."""
    words = words_of_bytes(t.tables[id])
    memory = t.ahead("constant_bytes", MemRef.packed(I8, (4 * len(words),)), words=words)
    t.give_pointer(id, BytePointer(pointee, TABLE, memory, t.index(0), BEST_ALIGNMENT))


def load(t: Translation, pointer: Pointer, promised: int = 0, *, volatile: bool = False) -> tuple[Value, ...]:
    """The leaves of what a pointer points to. `promised` is an alignment of the place in bytes, 0 for none."""
    match pointer:
        case VariablePointer():
            return _load_own(t, pointer)
        case BuiltInPointer():
            return tuple(built_in(t, pointer.name, pointer.component))
    listed = t.layout_of(pointer).leaves(pointer.pointee, matrix_of(pointer))
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
    listed = t.layout_of(pointer).leaves(pointer.pointee, matrix_of(pointer))
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
    if pointer.component is not None:
        (matrix,) = _load_leaves(t, pointer, _matrix_types(t, pointer))
        (type,) = leaves(pointer.pointee)
        return (t.one("matrix_extract", type, matrix=matrix, index=pointer.component),)
    return _load_leaves(t, pointer, leaves(pointer.pointee))


def _load_leaves(t: Translation, pointer: VariablePointer, types: Sequence[Type]) -> tuple[Value, ...]:
    arrays = t.arrays.get(pointer.variable.result)
    if arrays is None:
        first = _first_slot(t, pointer)
        return tuple(t.slot(first + at) for at in range(len(types)))
    return tuple(
        t.one("private_load", type, array=arrays[type], index=_leaf_index(t, pointer, at))
        for at, type in enumerate(types)
    )


def _store_own(t: Translation, pointer: VariablePointer, values: Sequence[Value]) -> None:
    if pointer.component is not None:
        (matrix,) = _load_leaves(t, pointer, _matrix_types(t, pointer))
        (component,) = values
        values = t.emit("matrix_insert", matrix.type, a=component, matrix=matrix, index=pointer.component)
    arrays = t.arrays.get(pointer.variable.result)
    if arrays is None:
        t.slots.update(enumerate(values, _first_slot(t, pointer)))
        return
    for at, value in enumerate(values):
        t.emit("private_store", value=value, array=arrays[value.type], index=_leaf_index(t, pointer, at))


def _matrix_types(t: Translation, pointer: VariablePointer) -> tuple[Type]:
    """The type of the matrix that a pointer to a component points into."""
    arrays = t.arrays.get(pointer.variable.result)
    if arrays is None:
        return (t.variables.types[_first_slot(t, pointer)],)
    if isinstance(pointer.leaf, int):
        return (leaves(t.variables.pointee(pointer.variable.result))[pointer.leaf],)
    (matrix,) = (type for type in arrays if isinstance(type, CoopMatrix))
    return (matrix,)


def _first_slot(t: Translation, pointer: VariablePointer) -> int:
    assert isinstance(pointer.leaf, int)
    return t.variables.slots[pointer.variable.result].start + pointer.leaf


def _leaf_index(t: Translation, pointer: VariablePointer, at: int) -> Value:
    leaf = pointer.leaf
    return t.index(leaf + at) if isinstance(leaf, int) else t.plus(leaf, at)
