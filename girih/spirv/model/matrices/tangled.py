"""Tangled instructions: what the invocations of a tangle execute together (SPIR-V 2.2.5), and who reaches one by calls.

A function that a matrix instruction calls for its elements must not reach any, since nothing says which invocations
call it together.
"""

from __future__ import annotations

from collections.abc import Mapping

from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.model.functions import Function, called_by, called_from
from girih.spirv.types import CooperativeMatrix, Type

TANGLED_CLASSES = frozenset({"Group", "Non-Uniform", "Derivative"})
"""Classes of instructions that are all tangled (SPIR-V 3.42.16, 3.42.21, 3.42.24)."""

TANGLED = frozenset({
    "OpControlBarrier", "OpControlBarrierArriveINTEL", "OpControlBarrierWaitINTEL", "OpNamedBarrierInitialize",
    "OpMemoryNamedBarrier", "OpImageSampleImplicitLod", "OpImageSampleDrefImplicitLod",
    "OpImageSampleProjImplicitLod", "OpImageSampleProjDrefImplicitLod", "OpImageSparseSampleImplicitLod",
    "OpImageSparseSampleDrefImplicitLod", "OpImageQueryLod",
    "OpCooperativeMatrixLoadKHR", "OpCooperativeMatrixStoreKHR", "OpCooperativeMatrixMulAddKHR",
    "OpCooperativeMatrixLoadTensorNV", "OpCooperativeMatrixStoreTensorNV", "OpCooperativeMatrixReduceNV",
    "OpCooperativeMatrixConvertNV", "OpCooperativeMatrixTransposeNV", "OpCooperativeMatrixPerElementOpNV",
    "OpCooperativeMatrixLoadNV", "OpCooperativeMatrixStoreNV", "OpCooperativeMatrixMulAddNV",
})  # fmt: skip
"""Other tangled instructions (SPIR-V 2.2.5, SPV_KHR_cooperative_matrix and SPV_NV_cooperative_matrix2 2.2)."""

TANGLED_ON_MATRICES = frozenset({"Conversion", "Arithmetic"})
TANGLED_MAKERS = frozenset({"OpCompositeConstruct", "OpCompositeConstructReplicateEXT"})
"""Instructions that are tangled where they make or take a cooperative matrix (SPV_KHR_cooperative_matrix 2.2)."""


def is_tangled(facts: Facts, one: Instruction) -> bool:
    """Whether an instruction is tangled."""
    if one.spec is None:
        return False
    if one.name in TANGLED or one.spec.family in TANGLED_CLASSES:
        return True
    if is_tangled_by_matrix(one):
        return _is_matrix(facts.declarations.types.get(one.result_type))
    return False


def is_tangled_by_matrix(one: Instruction) -> bool:
    """Whether an instruction is tangled where, and because, it makes a cooperative matrix."""
    return one.name in TANGLED_MAKERS or (one.spec is not None and one.spec.family in TANGLED_ON_MATRICES)


def _is_matrix(type: Type | None) -> bool:
    return isinstance(type, CooperativeMatrix)


def tangled_functions(facts: Facts) -> Mapping[int, Instruction]:
    """The functions that reach a tangled instruction, themselves or by calls, each with one that it reaches."""
    found: dict[int, Instruction] = {}
    callers: dict[int, list[int]] = {}
    for function in facts.bodies.functions:
        for block in function.blocks:
            for one in block.body:
                for called in called_by(one):
                    callers.setdefault(called, []).append(function.id)
                if function.id not in found and is_tangled(facts, one):
                    found[function.id] = one
    waiting = list(found)
    while waiting:
        called = waiting.pop()
        for caller in callers.get(called, ()):
            if caller not in found:
                found[caller] = found[called]
                waiting.append(caller)
    return found


def reached_from(facts: Facts, function: int) -> Mapping[int, Function]:
    """The functions that a call of a function may reach, itself included; each function is asked for once."""
    known = facts.once(_reached)
    if function not in known:
        known[function] = called_from(function, facts.bodies.functions)
    return known[function]


def _reached(facts: Facts) -> dict[int, Mapping[int, Function]]:
    return {}
