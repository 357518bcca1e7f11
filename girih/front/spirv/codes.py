"""Codes of what a valid module has that girih does not execute: told before anything runs, at its place."""

from __future__ import annotations

from girih.diagnostics import Diagnostic
from girih.source import Span

TRANSLATION_CODES = {
    "spirv.translation.entry_point": "the entry point that is asked for is one of the module's",
    "spirv.translation.model": "the entry point is a compute shader (GLCompute)",
    "spirv.translation.local_size": "the entry point says how large a work-group is",
    "spirv.translation.instruction": "girih executes the instruction",
    "spirv.translation.variable": "girih has the memory, or the built-in, that a variable stands for",
    "spirv.translation.pointer": "a pointer that is chosen at run time points into one buffer or variable",
    "spirv.translation.recursion": "no function calls itself",
    "spirv.translation.nesting": "constructs and calls nest at most as deep as regions may",
    "spirv.translation.constant": "constants have values when specialisation constants have theirs",
    "spirv.translation.form": "types, constants and pointers of an instruction are known before the shader runs",
    "spirv.translation.type": "girih has values of the type",
}
"""What is said of modules that are valid and not executed, by code."""


def refused(rule: str, expected: str, found: str, span: Span, hint: str | None = None) -> Diagnostic:
    """A diagnostic about what is valid and not executed; `rule` is the last part of its code."""
    return Diagnostic(f"spirv.translation.{rule}", f"expected: {expected}; found: {found}", span, hint=hint)
