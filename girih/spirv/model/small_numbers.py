"""Numbers of 8 and 16 bits that a module may store and not compute with (SPV_KHR_8bit_storage, SPV_KHR_16bit_storage).

Without capability Int8, Int16 or Float16 they are loaded, converted to another width, copied and stored.
"""

from __future__ import annotations

from girih.spirv.instruction import Instruction
from girih.spirv.model.extended import is_note
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, Faults
from girih.spirv.model.parts import is_restricted_number, types_containing

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

NOTES = ("OpName", "OpDecorate", "OpGroupDecorate", "OpEntryPoint")


def small_types(facts: Facts) -> frozenset[int]:
    """The types that are, or contain, numbers to be stored only; none in modules without capability Shader."""
    return types_containing(facts, is_restricted_number(facts)) if facts.has("Shader") else frozenset()


def small_uses(facts: Facts) -> Faults:
    """Uses of such numbers by instructions that compute with them. Values that may not exist are reported alone."""
    small = facts.once(small_types)
    if not small:
        return {}
    values = {
        one.result: one.result_type for one in facts.instructions
        if one.result_type in small and one.name not in MAKERS
    }  # fmt: skip
    faults: dict[int, Fault] = {}
    for one in facts.instructions:
        if one.name in USERS or _is_note(facts, one):
            continue
        used = next((operand for operand in one.references if operand.value in values), None)
        if used is not None:
            type = facts.type(values[used.value]) if isinstance(used.value, int) else None
            faults[one.index] = Fault(f"a value of type {type}", (used,))
    return faults


def _is_note(facts: Facts, one: Instruction) -> bool:
    """Whether an instruction tells something about values without using them."""
    return is_note(facts.module, one) or one.name.startswith(NOTES)
