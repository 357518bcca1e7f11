"""Modules that may run: judged, specialised, and translated one entry point at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from girih.diagnostics import CompileError, Diagnostic, errors
from girih.front.spirv.translate import translate
from girih.front.spirv.translated import Translated
from girih.ir.limits import DEFAULT_LIMITS, DeviceLimits
from girih.recursion import recursion_room
from girih.source import Source, Span
from girih.spirv.judge.validate import validate
from girih.spirv.model.environment import ENVIRONMENTS
from girih.spirv.model.facts import EntryPoint, Facts
from girih.spirv.module import Module

ENVIRONMENT = "vulkan1.4"
"""The environment whose rules hold for modules that run; buffers have scalar layout."""

ENTRY_POINT_CODES = {
    "spirv.entry_point.compute": "a module that runs has an entry point of the execution model GLCompute",
    "spirv.entry_point.local_size": "the work-items of a work-group are at most as many as the target takes",
    "spirv.entry_point.local_memory": "the memory of a work-group is at most what the target has",
}
"""What is asked of the entry points that run, beside the rules of SPIR-V."""


class ShaderModule:
    """A module without errors, with values for its specialisation constants.

    `warnings` are those of the compiler that made the module, in `told`, and those of its rules. Raises `CompileError`
    with every rule that the module breaks, and where it has no compute shader.
    """

    def __init__(
        self, module: Module, definitions: Mapping[int | str, object] | None = None, told: Sequence[Diagnostic] = ()
    ) -> None:
        definitions = dict(definitions or {})
        problems = [*told, *validate(module, ENVIRONMENT, definitions)]
        if errors(problems):
            raise CompileError(problems)
        self.warnings = tuple(problems)
        self.facts = Facts(module.specialise(definitions), ENVIRONMENTS[ENVIRONMENT])
        self._translated: dict[str, Translated] = {}
        computing = [one for one in self.facts.entry_points if one.model_name == "GLCompute"]
        if not computing:
            raise CompileError([_no_compute(self.facts)])
        self.entry_points: Mapping[str, EntryPoint] = {one.name: one for one in computing}

    def translated(self, name: str, limits: DeviceLimits = DEFAULT_LIMITS) -> Translated:
        """An entry point in the device language. Raises `CompileError` for one that girih or the target cannot run."""
        known = self._translated.get(name)
        if known is None:
            with recursion_room():
                known = translate(self.facts.module, name)
            problems = list(_beyond_limits(known, limits))
            if problems:
                raise CompileError(problems)
            self._translated[name] = known
        return known


def _no_compute(facts: Facts) -> Diagnostic:
    found = ", ".join(f"`{one.name}` ({one.model_name})" for one in facts.entry_points) or "none"
    message = f"expected: an entry point of the execution model GLCompute; found: {found}"
    hint = "girih runs compute shaders; of others it checks the rules: `girih check`"
    return Diagnostic("spirv.entry_point.compute", message, Span(Source("", facts.module.name), 0, 0), hint=hint)


def _beyond_limits(translated: Translated, limits: DeviceLimits) -> list[Diagnostic]:
    """What a work-group of an entry point has more of than the target."""
    found: list[Diagnostic] = []
    items, span = prod(translated.local_size), translated.function.span
    if items > limits.work_group_items:
        size = " x ".join(map(str, translated.local_size))
        message = f"expected: at most {limits.work_group_items} work-items in a work-group; found: {size} = {items}"
        found.append(Diagnostic("spirv.entry_point.local_size", message, span))
    taken = sum(translated.local_bytes())
    if taken > limits.local_memory_bytes:
        message = f"expected: at most {limits.local_memory_bytes} bytes of shared variables; found: {taken}"
        found.append(Diagnostic("spirv.entry_point.local_memory", message, span))
    return found
