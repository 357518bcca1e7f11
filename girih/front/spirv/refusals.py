"""What a valid module has that girih does not execute, told before anything is translated."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from girih.diagnostics import Diagnostic
from girih.front.spirv.emission import SILENT, extended_name
from girih.front.spirv.handlers import FUNCTIONS, HANDLERS
from girih.front.spirv.variables import Reached
from girih.source import Span
from girih.spirv.instruction import Instruction
from girih.spirv.model.extended import is_extended, is_note
from girih.spirv.model.facts import Facts
from girih.spirv.vocabulary import TERMINATORS

TRANSLATION_CODES = {
    "spirv.translation.entry_point": "the entry point that is asked for is one of the module's",
    "spirv.translation.model": "the entry point is a compute shader (GLCompute)",
    "spirv.translation.local_size": "the entry point says how large a work-group is",
    "spirv.translation.instruction": "girih executes the instruction",
    "spirv.translation.variable": "girih has the memory or the built-in that a variable stands for",
    "spirv.translation.recursion": "no function calls itself",
    "spirv.translation.type": "girih has values of the type",
}
"""What is said of modules that are valid and not executed, by code."""


def refused(rule: str, expected: str, found: str, span: Span, hint: str | None = None) -> Diagnostic:
    """A diagnostic about what is valid and not executed."""
    return Diagnostic(f"spirv.translation.{rule}", f"expected: {expected}; found: {found}", span, hint=hint)


def refusals(facts: Facts, functions: Mapping[int, Reached], place: Callable[[Instruction], Span]) -> list[Diagnostic]:
    """What functions have that has no translation, each opcode and each function of an extended set once."""
    found: dict[str, Diagnostic] = {}
    for reached in functions.values():
        for one in reached.instructions:
            missing = _missing(facts, one)
            if missing and missing not in found:
                expected = "an instruction that girih executes"
                found[missing] = refused("instruction", expected, missing, place(one))
    return list(found.values())


def _missing(facts: Facts, one: Instruction) -> str | None:
    """The name of what has no translation."""
    if one.name in SILENT or one.name in TERMINATORS or one.name == "OpFunctionCall":
        return None
    if not is_extended(one):
        return None if one.name in HANDLERS else one.name
    name = extended_name(facts, one)
    return None if name in FUNCTIONS or is_note(facts.module, one) else " ".join(name)
