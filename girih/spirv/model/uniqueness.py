"""Types that are declared again (SPIR-V 2.8)."""

from __future__ import annotations

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
