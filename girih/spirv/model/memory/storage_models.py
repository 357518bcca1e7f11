"""Storage classes that only some execution models have (Vulkan, "Vulkan Environment for SPIR-V"; SPIR-V 3.7)."""

from __future__ import annotations

from collections.abc import Mapping

from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList
from girih.spirv.vocabulary import RAY_MODELS, WORK_GROUP_MODELS

WITHOUT_OUTPUT = frozenset({*RAY_MODELS, "GLCompute"})

MODELS: Mapping[str, frozenset[str]] = {
    "CallableDataKHR": frozenset({"RayGenerationKHR", "ClosestHitKHR", "CallableKHR", "MissKHR"}),
    "IncomingCallableDataKHR": frozenset({"CallableKHR"}),
    "RayPayloadKHR": frozenset({"RayGenerationKHR", "ClosestHitKHR", "MissKHR"}),
    "IncomingRayPayloadKHR": frozenset({"AnyHitKHR", "ClosestHitKHR", "MissKHR"}),
    "HitAttributeKHR": frozenset({"IntersectionKHR", "AnyHitKHR", "ClosestHitKHR"}),
    "ShaderRecordBufferKHR": frozenset(RAY_MODELS),
    "TaskPayloadWorkgroupEXT": frozenset({"TaskEXT", "MeshEXT"}),
    "HitObjectAttributeNV": frozenset({"RayGenerationKHR", "ClosestHitKHR", "MissKHR"}),
    "HitObjectAttributeEXT": frozenset({"RayGenerationKHR", "ClosestHitKHR", "MissKHR"}),
}
"""The execution models of a storage class, in every environment."""

MODELS_IN_VULKAN: Mapping[str, frozenset[str]] = {
    "Workgroup": frozenset(WORK_GROUP_MODELS),
    "TileImageEXT": frozenset({"Fragment"}),
}
"""The execution models of a storage class in Vulkan (04645, 08720); Output is told by those that have none (04644)."""

DECLARING = frozenset({"OpVariable", "OpTypePointer"})


def storage_faults(facts: Facts) -> FaultList:
    """The uses of a storage class that an entry point's execution model lacks: in each function the first one."""
    found = FaultList()
    for one in facts.instructions:
        if one.name == "OpFunction":
            break
        if one.name in DECLARING and one.malformed is None:
            _check(facts, one, found)
    return found


def _check(facts: Facts, declared: Instruction, found: FaultList) -> None:
    operand = declared.operand("storage_class")
    name = grammar().kinds["StorageClass"].name_of(operand.value) if operand and isinstance(operand.value, int) else ""
    known = next((table for table in (MODELS, MODELS_IN_VULKAN) if name in table), None)
    if known is None and name != "Output":
        return
    rule = "storage_model" if known is MODELS else "storage_model_vulkan"
    seen: set[int] = set()
    for use in facts.uses.get(declared.result, ()):
        function = facts.function_of(use.instruction)
        if function is None or function.id in seen:
            continue
        models = facts.models_of(use.instruction)
        wrong = models & WITHOUT_OUTPUT if known is None else models - known[name]
        if wrong:
            seen.add(function.id)
            found.add(rule, use.instruction.index, Fault(f"{name} in {', '.join(sorted(wrong))}", (use.operand,)))
