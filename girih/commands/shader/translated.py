"""The functions of a file, whatever it is: a program in the tensor language, a SPIR-V module, the source of one."""

from __future__ import annotations

from collections.abc import Mapping

from girih.commands.parts.calls import analyzed, checked_definitions
from girih.diagnostics import CompileError, Diagnostic
from girih.front.shaders.files import is_module
from girih.ir.core import Module
from girih.ir.limits import DEFAULT_LIMITS, DeviceLimits


def analyzed_file(
    path: str, definitions: Mapping[str, str], limits: DeviceLimits | None = None
) -> tuple[Module | None, list[Diagnostic]]:
    """The functions of a file, and every error and warning; `limits` are a target's.

    None where the file is no text, and where a module has errors; entry points are in the device language.
    """
    if not is_module(path):
        return analyzed(path, checked_definitions(definitions), limits)
    from girih.commands.spirv.definitions import values_of
    from girih.commands.spirv.files import module_of
    from girih.front.spirv.judged import ShaderModule

    values = values_of(definitions)
    try:
        module, told = module_of(path)
        judged = ShaderModule(module, values, told)
        functions = [judged.translated(name, limits or DEFAULT_LIMITS).function for name in judged.entry_points]
    except CompileError as error:
        return None, list(error.diagnostics)
    return Module(tuple(functions)), list(judged.warnings)
