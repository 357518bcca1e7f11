"""Variables that stand for what is bound to a shader: which pointers reach buffers, images and tensors."""

from __future__ import annotations

from girih.rules.row import Undetermined
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.parts import data_type_of, unwrapped
from girih.spirv.types import Opaque, Pointer, Struct, Type
from girih.spirv.vocabulary import VARIABLES

BLOCKS = {
    "Uniform": ("Block", "BufferBlock"), "StorageBuffer": ("Block",), "PhysicalStorageBuffer": ("Block",),
}  # fmt: skip
"""The decorations of structs that are buffers, by storage class."""

STORAGE_IMAGE = 2
"""The operand Sampled of an image that is read and written without a sampler."""


def storage_name(value: int) -> str:
    """The name of a storage class."""
    return grammar().kinds["StorageClass"].name_of(value)


def storage_of(one: Instruction) -> str:
    """The name of the storage class of a variable."""
    return storage_name(one.id("storage_class"))


def pointers_to_resources(facts: Facts) -> frozenset[int]:
    """The pointer types through which a variable reaches a buffer, a storage image or a tensor."""
    found = {
        one.result_type
        for one in facts.instructions
        if one.name in VARIABLES and one.malformed is None and _is_buffer(facts, one)
    }
    handles = (facts.declarations.types.get(one.result) for one in facts.instructions if one.name == "OpTypePointer")
    return frozenset(found | {type.id for type in handles if isinstance(type, Pointer) and _is_handle(facts, type)})


def _is_buffer(facts: Facts, variable: Instruction) -> bool:
    wanted = BLOCKS.get(storage_of(variable), ())
    try:
        held = unwrapped(data_type_of(facts, variable.result)) if wanted else None
    except Undetermined:
        return False
    return isinstance(held, Struct) and any(facts.annotations.has(held.id, name) for name in wanted)


def _is_handle(facts: Facts, pointer: Pointer) -> bool:
    if pointer.storage_class != "UniformConstant":
        return False
    held: Type | None = facts.declarations.types.get(pointer.pointee_id)
    if held is not None:
        held = unwrapped(held)
    if not isinstance(held, Opaque):
        return False
    return held.name == "OpTypeTensorARM" or (
        held.name == "OpTypeImage" and held.instruction.id("sampled") == STORAGE_IMAGE
    )


def is_heap(facts: Facts, variable: int) -> bool:
    """Whether a variable is one of the heaps of descriptors, which are bound without a set."""
    heaps = {grammar().kinds["BuiltIn"].value(name) for name in ("SamplerHeapEXT", "ResourceHeapEXT")}
    return any(one.parameters and one.parameters[0] in heaps for one in facts.annotations.of(variable, "BuiltIn"))
