"""What is wrong with the module of a file."""

from __future__ import annotations

from collections.abc import Mapping

from girih.commands.spirv.definitions import values_of
from girih.commands.spirv.files import module_of
from girih.diagnostics import CompileError, Diagnostic
from girih.spirv import validate


def judged(
    path: str, definitions: Mapping[str, str], environment: str = "vulkan1.4", block_layout: str = "scalar"
) -> list[Diagnostic]:
    """Every error and warning of a file's module, and what a compiler said of its source."""
    try:
        module, told = module_of(path)
    except CompileError as error:
        return list(error.diagnostics)
    return [*told, *validate(module, environment, values_of(definitions), block_layout=block_layout)]
