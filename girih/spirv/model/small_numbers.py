"""Numbers of 8 and 16 bits that a module may store and not compute with (SPV_KHR_8bit_storage, SPV_KHR_16bit_storage).

Without capability Int8, Int16 or Float16 they are loaded, converted to another width, copied and stored.
"""

from __future__ import annotations

from girih.spirv.instruction import Instruction, Operand
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, Faults
from girih.spirv.model.parts import element_of, is_restricted_number
from girih.spirv.types import Pointer, Struct, Type

MAKERS = frozenset({
    "OpConstant", "OpConstantComposite", "OpConstantNull", "OpConstantCompositeReplicateEXT", "OpSpecConstant",
    "OpSpecConstantComposite", "OpSpecConstantCompositeReplicateEXT", "OpSpecConstantOp", "OpUndef",
    "OpVectorExtractDynamic", "OpVectorInsertDynamic", "OpVectorShuffle", "OpCompositeConstruct",
    "OpCompositeConstructReplicateEXT", "OpCompositeExtract", "OpCompositeInsert", "OpTranspose", "OpCopyLogical",
    "OpConvertFToU", "OpConvertFToS", "OpConvertSToF", "OpConvertUToF", "OpBitcast",
})  # fmt: skip
"""Instructions that may not make such numbers."""

USERS = frozenset({"OpStore", "OpCopyObject", "OpFConvert", "OpUConvert", "OpSConvert"})
"""Instructions that may use them."""

DEBUG_SETS = ("NonSemantic.", "OpenCL.DebugInfo", "DebugInfo")
NOTES = ("OpName", "OpDecorate", "OpGroupDecorate", "OpEntryPoint")


def small_types(facts: Facts) -> frozenset[int]:
    """The types that are, or contain, numbers to be stored only; none in modules without capability Shader."""
    found: set[int] = set()
    if not facts.has("Shader"):
        return frozenset()
    restricted = is_restricted_number(facts)
    for one in facts.instructions:
        if one.name == "OpFunction":
            break
        type = facts.declarations.types.get(one.result) if one.name.startswith("OpType") else None
        if type is not None and (restricted(type) or any(part.id in found for part in _parts(type))):
            found.add(one.result)
    return frozenset(found)


def _parts(type: Type) -> tuple[Type, ...]:
    if isinstance(type, Struct):
        return tuple(member for member in type.members if member is not None)
    element = None if isinstance(type, Pointer) else element_of(type)
    return () if element is None else (element,)


def small_uses(facts: Facts) -> Faults:
    """Uses of such numbers by instructions that compute with them. Values that may not exist are reported alone."""
    small = facts.once(small_types)
    if not small:
        return {}
    values = {one.result for one in facts.instructions if one.result_type in small and one.name not in MAKERS}
    faults: dict[int, Fault] = {}
    for one in facts.instructions:
        if one.name in USERS or _is_note(facts, one):
            continue
        used = next((operand for operand in one.references if operand.value in values), None)
        if used is not None:
            faults[one.index] = Fault(_words(facts, used), (used,))
    return faults


def _is_note(facts: Facts, one: Instruction) -> bool:
    """Whether an instruction tells something about values without using them."""
    if one.name.startswith("OpExtInst"):
        return (facts.module.set_name(one.id("set")) or "").startswith(
            ("NonSemantic.", "OpenCL.DebugInfo", "DebugInfo")
        )
    return one.name.startswith(NOTES)


def _words(facts: Facts, used: Operand) -> str:
    value = used.value if isinstance(used.value, int) else 0
    return f"a value of type {facts.type_of(value)}"
