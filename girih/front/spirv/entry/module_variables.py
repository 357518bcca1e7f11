"""What the variables of a module point to, and the first values of those that have some (SPIR-V 3.7)."""

from __future__ import annotations

from collections.abc import Sequence

from girih.front.spirv.accesses import begin_variable
from girih.front.spirv.entry.parameters import ParameterList, built_in_of
from girih.front.spirv.pointers import BEST_ALIGNMENT, BuiltInPointer, BytePointer
from girih.front.spirv.translation import Translation
from girih.front.spirv.variables import OWN
from girih.ir.build import RegionBuilder
from girih.ir.core import Dictionary, Entry, Value, is_name
from girih.ir.types import BOOL, I8, I32, INDEX, AddressSpace, MemRef
from girih.ops.tile.memory import Scope, Semantics
from girih.spirv.instruction import Instruction
from girih.spirv.model.declared.bindings import ShaderInterface
from girih.spirv.types import Pointer, Struct


def declare_variables(
    t: Translation, used: Sequence[Instruction], interface: ShaderInterface, given: ParameterList, body: RegionBuilder
) -> None:
    """Give the variables that an entry point uses what they are; `body` is the code of the work-group."""
    if given.addresses is not None and given.group is not None:
        t.buffers = given.group.value, given.addresses.value
    work_group: list[Instruction] = []
    for one in used:
        type = t.facts.type(one.result_type)
        assert isinstance(type, Pointer)
        storage, pointee = type.storage_class, t.facts.pointee(type)
        t.span = t.emission.place(one)
        if storage in OWN:
            begin_variable(t, one)
        elif storage == "Input":
            t.give_pointer(one.result, BuiltInPointer(pointee, built_in_of(t.facts, one.result)))
        elif storage == "Workgroup":
            work_group.append(one)
        elif storage == "PushConstant":
            assert given.push is not None
            t.give_pointer(one.result, BytePointer(pointee, storage, given.push.value, t.index(0), BEST_ALIGNMENT))
        else:
            t.give_pointer(one.result, given.pointer_to(t, interface.resource_of[one.result], pointee, storage))
    _declare_work_group(t, work_group, body)


def _declare_work_group(t: Translation, listed: Sequence[Instruction], body: RegionBuilder) -> None:
    """Give variables of the work-group memory: each its own, but blocks, which all lie in the same bytes.

    (SPV_KHR_workgroup_memory_explicit_layout.)
    """
    blocks = [one for one in listed if _is_block(t, one)]
    t.explicit_work_group = bool(blocks)
    cleared: dict[Value, int] = {}
    shared = None
    if blocks:
        shared = _memory(
            t, max(t.explicit.size(t.variables.pointee(one.result)) for one in blocks), "shared_blocks", body
        )
    for one in listed:
        t.span = t.emission.place(one)
        size = t.natural.size(t.variables.pointee(one.result)) if shared is None else 0
        memory = shared or _memory(t, size, t.facts.annotations.names.get(one.result) or f"variable_{one.result}", body)
        _give(t, one, memory)
        if one.id("initializer"):
            needed = t.explicit.size(t.variables.pointee(one.result)) if shared else size
            cleared[memory] = max(needed, cleared.get(memory, 1))
    for memory, size in cleared.items():
        _clear(t, memory, size)
    if cleared:
        order = {"scope": Scope.WORK_GROUP, "semantics": Semantics.ACQUIRE_RELEASE, "local_fence": True}
        t.emit("work_group_barrier", **order)


def _clear(t: Translation, memory: Value, size: int) -> None:
    """Store zeros to all bytes of a memory, the work-items of the work-group one after the other.

    The only initialiser of a variable of a work-group is OpConstantNull (SPV_KHR_zero_initialize_workgroup_memory).
    """
    unit = I32 if size % I32.size == 0 else I8
    x, y, z = t.local_size
    first = t.one("cast", INDEX, a=t.one("local_index", I32))
    place = Value("", INDEX, t.span)
    with t.inside(t.builder.inner()) as around:
        with t.inside(around.inner()) as iteration:
            with t.inside(iteration.inner()) as beyond:
                t.emit("leave", depth=1)
            inside = t.one("less_than", BOOL, a=place, b=t.index(size // unit.size))
            t.emit("branch", condition=t.one("not", BOOL, a=inside), then=beyond.region(t.span))
            offset = t.times(place, unit.size)
            zero = t.constant(0, unit)
            t.emit("byte_store", values=(zero,), memory=memory, offset=offset, alignment=unit.size)
            t.emit("leave", depth=0, values=(t.plus(place, x * y * z),))
        t.emit("loop", carried=(place,), initial=(first,), body=iteration.region(t.span))
    t.emit("block", body=around.region(t.span))


def _is_block(t: Translation, one: Instruction) -> bool:
    pointee = t.variables.pointee(one.result)
    return isinstance(pointee, Struct) and t.facts.annotations.has(pointee.id, "Block")


def _memory(t: Translation, size: int, name: str, body: RegionBuilder) -> Value:
    type = MemRef.packed(I8, (max(size, 1),), AddressSpace.LOCAL)
    attributes = Dictionary((Entry("alignment", BEST_ALIGNMENT),))
    names = [name] if is_name(name) else []
    (memory,) = body.add("alloca", type, attributes=attributes, names=names, span=t.span)
    return memory


def _give(t: Translation, one: Instruction, memory: Value) -> None:
    pointee = t.variables.pointee(one.result)
    t.give_pointer(one.result, BytePointer(pointee, "Workgroup", memory, t.index(0), BEST_ALIGNMENT))
