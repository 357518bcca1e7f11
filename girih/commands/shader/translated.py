"""The functions of a file, whatever it is: a program in the tensor language, a SPIR-V module, the source of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from girih.commands.parts.calls import analyzed, checked_definitions
from girih.commands.python.files import is_python
from girih.diagnostics import CompileError, Diagnostic
from girih.front.shaders.files import is_module
from girih.ir.core import Module, Order
from girih.ir.limits import DEFAULT_LIMITS, DeviceLimits


def analyzed_file(
    path: str,
    definitions: Mapping[str, str],
    limits: DeviceLimits | None = None,
    name: str | None = None,
    arguments: Sequence[str] = (),
    order: Order | None = None,
) -> tuple[Module | None, list[Diagnostic]]:
    """The functions of a file, and every error and warning; `limits` are a target's.

    None where the file is no text, and where a module has errors; entry points are in the device language. Of a file of
    Python these are the kernel of the name, or all, for the arguments that are given, in an order; they are for no
    other file. Raises `click.UsageError`.
    """
    if is_python(path):
        from girih.commands.python.modules import analyzed_python

        return analyzed_python(path, name, arguments, definitions, order, limits)
    if arguments or order is not None:
        what = arguments[0] if arguments else f"--order {order}"
        raise click.UsageError(f"{what}: only kernels in Python are specialised by arguments; {path} is no .py file")
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
