"""Types that are declared again, and function types that are used otherwise than by functions (SPIR-V 2.8, 3.42.6)."""

from __future__ import annotations

from collections.abc import Mapping

from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, Faults

AGGREGATES = frozenset({
    "OpTypeArray", "OpTypeRuntimeArray", "OpTypeStruct", "OpTypePointer", "OpTypeUntypedPointerKHR",
    "OpTypeForwardPointer", "OpTypeNodePayloadArrayAMDX",
})  # fmt: skip
"""Types that may be declared several times, with different decorations."""


def declared_again(facts: Facts) -> Faults:
    """Declarations of a type that another one has declared before."""
    first: dict[tuple[int, ...], Instruction] = {}
    faults: dict[int, Fault] = {}
    if "SPV_VALIDATOR_ignore_type_decl_unique" in facts.extensions:
        return faults
    for one in facts.instructions:
        if one.name == "OpFunction":
            break
        if one.malformed is not None or not one.name.startswith("OpType") or one.name in AGGREGATES:
            continue
        known = first.setdefault((one.opcode, *one.words[1:]), one)
        if known is not one:
            faults[one.index] = Fault(f"{facts.declarations.types.get(one.result) or one.name} is declared again")
    return faults


def uses_of_function_types(facts: Facts) -> Mapping[int, str]:
    """The name of an instruction that uses a function type, and is none that may, by the type's id.

    That no instruction takes a type for a value is a rule of all instructions.
    """
    types = {one.result for one in facts.instructions if one.name == "OpTypeFunction"}
    pointers = {"OpTypePointer"} if facts.has("FunctionPointersINTEL") else set()
    used: dict[int, str] = {}
    for one in facts.instructions:
        if one.result_type in types:
            used.setdefault(one.result_type, one.name)
        elif one.name.startswith("OpType") and one.name not in pointers:
            parts = (operand.value for operand in one.references if isinstance(operand.value, int))
            used.update({part: one.name for part in parts if part in types and part not in used})
    return used
