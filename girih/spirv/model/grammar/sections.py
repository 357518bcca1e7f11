"""The order of a module's instructions: sections, functions, and what may stand among them (SPIR-V 2.4).

Blocks and what stands in them are looked at where the flow of control is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from girih.spirv.instruction import Instruction
from girih.spirv.model.extended import is_extended, is_non_semantic
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList
from girih.spirv.model.grammar.ids import is_type
from girih.spirv.vocabulary import TERMINATORS

SECTIONS = (
    ("capabilities", "OpCapability OpConditionalCapabilityINTEL"),
    ("extensions", "OpExtension OpConditionalExtensionINTEL"),
    ("imports", "OpExtInstImport"),
    ("the memory model", "OpMemoryModel"),
    ("the addressing mode of samplers", "OpSamplerImageAddressingModeNV"),
    ("entry points", "OpEntryPoint OpConditionalEntryPointINTEL"),
    ("execution modes", "OpExecutionMode OpExecutionModeId"),
    ("sources", "OpString OpSource OpSourceExtension OpSourceContinued"),
    ("names", "OpName OpMemberName"),
    ("processing", "OpModuleProcessed"),
    (
        "annotations",
        "OpDecorate OpMemberDecorate OpMemberDecorateIdEXT OpGroupDecorate OpGroupMemberDecorate OpDecorationGroup "
        "OpDecorateId OpDecorateString OpMemberDecorateString OpAliasDomainDeclINTEL OpAliasScopeDeclINTEL "
        "OpAliasScopeListDeclINTEL",
    ),
    ("declarations", "OpTypeForwardPointer OpGraphConstantARM OpConstantStringAMDX OpSpecConstantStringAMDX"),
    ("functions", ""),
    ("graphs", "OpGraphEntryPointARM OpGraphARM OpGraphInputARM OpGraphSetOutputARM OpGraphEndARM"),
)
"""The sections in their order, with the instructions that stand there and nowhere else."""

_SECTION_OF: Mapping[str, int] = {name: at for at, (_, names) in enumerate(SECTIONS) for name in names.split()}

TYPES = _SECTION_OF["OpTypeForwardPointer"]
FUNCTIONS, GRAPHS = TYPES + 1, TYPES + 2

FLOATING = frozenset({
    "OpVariable", "OpUntypedVariableKHR", "OpExtInst", "OpExtInstWithForwardRefsKHR", "OpLine", "OpNoLine", "OpUndef",
    "OpPoisonKHR",
})  # fmt: skip
"""Instructions that stand among declarations and in functions."""

DEBUG_IN_FUNCTIONS: Mapping[str, frozenset[int]] = {
    "DebugInfo": frozenset({23, 24, 28, 29}),
    "OpenCL.DebugInfo.100": frozenset({23, 24, 28, 29}),
    "NonSemantic.Shader.DebugInfo": frozenset({23, 24, 28, 29, 101, 103, 104}),
}
"""Debug instructions that stand in functions: scopes, declarations, values, lines (their sets' specifications)."""

OPEN_AT_END = -1
"""The index of the fault that the last function does not end, which no instruction has."""


def order_faults(facts: Facts) -> FaultList:
    """All instructions that stand where they may not."""
    return _SectionWalk(facts).faults()


class _OpenFunction(NamedTuple):
    """The function in which a walk is, with what is known of it so far."""

    declaration: Instruction
    has_block: bool = False
    in_block: bool = False


class _SectionWalk:
    """One pass over a module, with the section and the function that it is in."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._section = 0
        self._function: _OpenFunction | None = None
        self._defined: Instruction | None = None
        self._found = FaultList()

    def faults(self) -> FaultList:
        previous: Instruction | None = None
        for one in self._facts.instructions:
            if one.spec is not None:
                self._step(one, previous)
            previous = one
        if self._function is not None:
            self._found.add("function_end", OPEN_AT_END, Fault("a last function without it"))
        return self._found

    def _step(self, one: Instruction, previous: Instruction | None) -> None:
        section = self._section_of(one)
        if section < self._section:
            if one.malformed is None:
                self._wrong("section", one, f"{one.name} after {SECTIONS[self._section][0]}")
        else:
            self._section = section
        if is_extended(one):
            self._extended(one)
        if section == FUNCTIONS:
            self._in_functions(one)
        elif one.name == "OpSourceContinued" and (
            previous is None or previous.name not in ("OpSource", "OpSourceContinued")
        ):
            self._wrong("continues", one, f"it follows {previous.name if previous else 'nothing'}")

    def _section_of(self, one: Instruction) -> int:
        known = _SECTION_OF.get(one.name)
        if known is not None:
            return known
        if is_type(one) or (one.spec is not None and one.spec.family == "Constant-Creation"):
            return TYPES
        if one.name in FLOATING and self._section <= TYPES:
            return TYPES
        return GRAPHS if self._section == GRAPHS else FUNCTIONS

    def _in_functions(self, one: Instruction) -> None:
        """Follow the functions; what stands in no function or block is told where the flow of control is judged."""
        inside = self._function
        match one.name:
            case "OpFunction":
                if inside is not None:
                    self._wrong("nested", one, f"it stands in function {self._facts.called(inside.declaration.result)}")
                self._function = _OpenFunction(one)
            case "OpFunctionParameter":
                if inside is None or inside.has_block:
                    self._wrong("parameter", one, "a place after a block" if inside else "a place in no function")
            case "OpFunctionEnd":
                if inside is None:
                    self._wrong("ends", one, "a place in no function")
                elif not inside.has_block and self._defined is not None:
                    came = f"it follows the definition of {self._facts.called(self._defined.result)}"
                    self._wrong("declared_first", inside.declaration, came)
                self._function = None
            case "OpLabel" if inside is not None:
                self._defined = inside.declaration
                self._function = inside._replace(has_block=True, in_block=True)
            case name if inside is not None and name in TERMINATORS:
                self._function = inside._replace(in_block=False)

    def _extended(self, one: Instruction) -> None:
        """Where an instruction of an extended set stands: semantic ones in blocks, others from the declarations on."""
        name = self._facts.module.set_name(one.id("set")) or ""
        family = "NonSemantic.Shader.DebugInfo" if name.startswith("NonSemantic.Shader.DebugInfo.") else name
        in_functions = DEBUG_IN_FUNCTIONS.get(family)
        inside = self._function
        if in_functions is not None:
            if one.id("instruction") in in_functions:
                if inside is None:
                    self._wrong("debug_place", one, "a place in no function")
            elif self._section != TYPES:
                self._wrong("debug_place", one, "a place after the declarations")
        elif is_non_semantic(self._facts.module, one):
            if inside is not None and not inside.in_block:
                self._wrong("debug_place", one, "a place in a function outside of its blocks")
        elif name and self._section <= TYPES:
            self._wrong("semantic_place", one, f"an instruction of {name} among declarations")

    def _wrong(self, rule: str, one: Instruction, came: str) -> None:
        self._found.add(rule, one.index, Fault(came))
