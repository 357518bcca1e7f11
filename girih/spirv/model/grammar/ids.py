"""Ids of a module: which are made and used where they may not be (SPIR-V 2.16.1, 2.16.2, 2.3).

Dominance and functions are looked at elsewhere: here an id stands before or after its use in the order of the module.
"""

from __future__ import annotations

from collections.abc import Mapping

from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction, Operand
from girih.spirv.model.extended import is_extended, is_non_semantic, is_note, set_of
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList, words_of
from girih.spirv.module import Module
from girih.spirv.vocabulary import DEBUG_SETS, NON_SEMANTIC

ANYTHING = frozenset({"*"})
"""All operands of an instruction."""

FORWARD: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            "OpExecutionMode", "OpExecutionModeId", "OpEntryPoint", "OpName", "OpMemberName", "OpSelectionMerge",
            "OpDecorate", "OpMemberDecorate", "OpMemberDecorateIdEXT", "OpDecorateId", "OpDecorateString",
            "OpMemberDecorateString", "OpBranch", "OpLoopMerge", "OpTypeForwardPointer",
            "OpConditionalEntryPointINTEL", "OpConditionalCapabilityINTEL", "OpConditionalExtensionINTEL",
            "OpExtInstWithForwardRefsKHR",
        ),
        ANYTHING,
    ),
    "OpGroupDecorate": frozenset({"targets"}),
    "OpGroupMemberDecorate": frozenset({"targets"}),
    "OpBranchConditional": frozenset({"true_label", "false_label"}),
    "OpSwitch": frozenset({"default", "target"}),
    "OpFunctionCall": frozenset({"function"}),
    "OpConstantFunctionPointerINTEL": frozenset({"function"}),
    "OpPhi": frozenset({"incoming"}),
    "OpEnqueueKernel": frozenset({"invoke"}),
    "OpGetKernelNDrangeSubGroupCount": frozenset({"invoke"}),
    "OpGetKernelNDrangeMaxSubGroupSize": frozenset({"invoke"}),
    "OpGetKernelWorkGroupSize": frozenset({"invoke"}),
    "OpGetKernelPreferredWorkGroupSizeMultiple": frozenset({"invoke"}),
    "OpCooperativeMatrixPerElementOpNV": frozenset({"func"}),
    "OpCooperativeMatrixReduceNV": frozenset({"combine_func"}),
    "OpCooperativeMatrixLoadTensorNV": frozenset({"DecodeFunc", "DecodeVectorFunc"}),
    "OpCooperativeMatrixStoreTensorNV": frozenset({"DecodeFunc", "DecodeVectorFunc"}),
    "OpGraphEntryPointARM": ANYTHING,
}  # fmt: skip
"""The operands that may name an id that is made later."""

FORWARD_DEBUG: Mapping[int, str] = {20: "function", 10: "members"}
"""The operands of DebugFunction and DebugTypeComposite, by number, that may name an id that is made later."""

TAKES_TYPES = frozenset({
    "OpSizeOf", "OpCooperativeMatrixLengthNV", "OpCooperativeMatrixLengthKHR", "OpUntypedArrayLengthKHR", "OpFunction",
    "OpAsmINTEL", "OpConstantSizeOfEXT", "OpBufferPointerEXT", "OpUntypedImageTexelPointerEXT", "OpAbortKHR",
    "OpUntypedVariableKHR", "OpUntypedAccessChainKHR", "OpUntypedInBoundsAccessChainKHR",
    "OpUntypedPtrAccessChainKHR", "OpUntypedInBoundsPtrAccessChainKHR",
})  # fmt: skip
"""Instructions of which an operand may be a type, besides those that declare types and those that describe ids."""

TAKES_OTHERS = frozenset({
    "OpBranch", "OpBranchConditional", "OpSwitch", "OpSelectionMerge", "OpLoopMerge", "OpPhi", "OpFunctionCall",
    "OpAsmINTEL", "OpAsmCallINTEL", "OpAliasScopeDeclINTEL", "OpAliasScopeListDeclINTEL",
})  # fmt: skip
"""Instructions with operands that are labels and the like: rules of their own look at these."""

TAKES_FUNCTIONS = frozenset({
    "OpFunctionCall", "OpConstantFunctionPointerINTEL", "OpEnqueueKernel", "OpGetKernelNDrangeSubGroupCount",
    "OpGetKernelNDrangeMaxSubGroupSize", "OpGetKernelWorkGroupSize", "OpGetKernelPreferredWorkGroupSizeMultiple",
    "OpCooperativeMatrixPerElementOpNV", "OpCooperativeMatrixReduceNV", "OpCooperativeMatrixLoadTensorNV",
    "OpCooperativeMatrixStoreTensorNV",
})  # fmt: skip
"""Instructions with operands that are functions."""

NOT_ONLY_VALUES = frozenset({"OpFunction", "OpExtInst", "OpExtInstWithForwardRefsKHR"})
"""Instructions with a result type whose results are not always values that other instructions may use."""

DESCRIBES = frozenset({"Debug", "Annotation"})
"""The classes of instructions that are about ids of any kind."""


def id_faults(facts: Facts) -> FaultList:
    """All that is wrong with the ids of a module."""
    return _IdWalk(facts).faults()


class _IdWalk:
    """One pass over the instructions of a module, with the ids that were made so far."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._module = facts.module
        self._definitions = facts.module.definitions
        self._made: dict[int, Instruction] = {}
        self._forward_pointers: set[int] = set()
        self._found = FaultList()

    def faults(self) -> FaultList:
        for one in self._module.instructions:
            if one.malformed is None:
                self._uses(one)
                if one.name == "OpTypeForwardPointer":
                    self._forward_pointers.add(one.id("pointer_type"))
            if one.result or any(operand.kind == "IdResult" for operand in one.operands):
                self._makes(one)
        return self._found

    def _makes(self, one: Instruction) -> None:
        made = one.result
        blamed = tuple(operand for operand in one.operands if operand.kind == "IdResult")
        if not made:
            self._found.add("zero", one.index, Fault("0", blamed))
        elif made >= self._module.header.bound:
            self._found.add("bound", one.index, Fault(f"{made}, bound {self._module.header.bound}", blamed))
        if made and made in self._made:
            name = self._facts.called(made)
            self._found.add("redefined", one.index, Fault(f"{name}, which {self._made[made].name} makes", blamed))
        elif made:
            self._made[made] = one

    def _uses(self, one: Instruction) -> None:
        self._forward_uses = 0
        for operand in one.references:
            if operand.name == "operands" and self._is_unread(one):
                continue  # The operands of a set that the grammar does not have may be literals.
            assert isinstance(operand.value, int)
            made = self._made.get(operand.value)
            fault = self._not_made(one, operand) if made is None else self._wrong_kind(one, operand, made)
            if fault is not None:
                self._found.add(fault[0], one.index, Fault(fault[1], (operand,), self._hint(one, operand)))
        if one.name == "OpExtInstWithForwardRefsKHR" and not self._forward_uses:
            self._found.add("forward_references", one.index, Fault("ids that are all made before it"))

    def _hint(self, one: Instruction, operand: Operand) -> str | None:
        """The fix for an id 0 that glslang 16 writes for the type of what debug information has no type for."""
        name = set_of(self._module, one) if is_extended(one) else ""
        if operand.value or not name.startswith("NonSemantic.Shader.DebugInfo"):
            return None
        return "glslang writes it for tensor layouts and views: compile with -g in place of -gVS"

    def _is_unread(self, one: Instruction) -> bool:
        name = set_of(self._module, one) if is_extended(one) else ""
        return bool(name) and not name.startswith(NON_SEMANTIC) and grammar().extended(name) is None

    def _not_made(self, one: Instruction, operand: Operand) -> tuple[str, str] | None:
        id = operand.value
        assert isinstance(id, int)
        if not id:
            return "zero", "0"
        later = self._definitions.get(id)
        if later is None:
            return "undefined", f"{self._shown(one, operand)}, which nothing makes"
        if operand.kind != "IdResultType" and self._may_be_later(one, operand, id):
            self._forward_uses += 1
            return None
        maker = "which it makes itself" if later is one else f"which {later.name} makes later"
        return "order", f"{self._facts.called(id)}, {maker}"

    def _shown(self, one: Instruction, operand: Operand) -> str:
        """An operand as the text has it to which diagnostics point."""
        span = self._module.shown.operand_span(one.index, operand.word)
        return span.source.text[span.start : span.end]

    def _may_be_later(self, one: Instruction, operand: Operand, id: int) -> bool:
        allowed = FORWARD.get(one.name)
        if allowed is not None:
            return allowed is ANYTHING or operand.name in allowed
        if one.name.startswith("OpType"):
            return id in self._forward_pointers
        if one.name == "OpExtInst" and set_of(self._module, one) in DEBUG_SETS:
            return FORWARD_DEBUG.get(one.id("instruction")) == operand.name
        return False

    def _wrong_kind(self, one: Instruction, operand: Operand, made: Instruction) -> tuple[str, str] | None:
        """What is wrong with an operand whose id is made before it: the rule, and what came."""
        if operand.kind == "IdResultType":
            return None if is_type(made) else ("type", f"{self._facts.called(made.result)}, which {made.name} makes")
        if made.result_type and made.name not in NOT_ONLY_VALUES:
            return None
        if describes(self._module, one):
            return None
        if is_non_semantic(self._module, made):
            return "non_semantic", f"{words_of(operand.name)} is an instruction of {set_of(self._module, made)}"
        if is_type(made):
            return None if self._takes_types(one) else ("value", f"{words_of(operand.name)} is a type")
        if made.result_type and (made.name != "OpFunction" or one.name in TAKES_FUNCTIONS):
            return None
        if one.name in TAKES_OTHERS or operand.name == "set" or made.name.startswith("OpAlias"):
            return None
        return "value", f"{words_of(operand.name)} is {_NOUNS.get(made.name, made.name)}"

    def _takes_types(self, one: Instruction) -> bool:
        if one.name == "OpSpecConstantOp":
            inner = grammar().opcode(one.id("opcode"))
            return inner is not None and inner.name in TAKES_TYPES
        return one.name.startswith("OpType") or one.name in TAKES_TYPES


_NOUNS = {
    "OpLabel": "a label", "OpFunction": "a function", "OpString": "a string", "OpDecorationGroup": "a group",
    "OpExtInstImport": "a set of instructions",
}  # fmt: skip


def is_type(one: Instruction) -> bool:
    """Whether an instruction declares a type."""
    return one.name.startswith("OpType") and bool(one.result)


def describes(module: Module, one: Instruction) -> bool:
    """Whether an instruction says something about ids of any kind: names, annotations, debug information."""
    if is_extended(one):
        return is_note(module, one)
    return one.spec is not None and one.spec.family in DESCRIBES
