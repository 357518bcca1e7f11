"""The kernels of a file of Python in the tensor language, with their findings, for commands that launch nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import click

from girih.commands.parts.arrays import ArrayInputError
from girih.commands.parts.calls import unknown
from girih.commands.python.arguments import PythonArguments
from girih.commands.python.files import kernels_of
from girih.decorated.definition import DecoratedFunction
from girih.diagnostics import CompileError, Diagnostic, LaunchError
from girih.front.python.signature import Declared, shown
from girih.ir.core import Function, Module, Order
from girih.ir.limits import DeviceLimits
from girih.runtime.targets import resolve


def analyzed_python(
    path: str,
    name: str | None,
    arguments: Sequence[str],
    definitions: Mapping[str, str],
    order: Order | None = None,
    limits: DeviceLimits | None = None,
) -> tuple[Module | None, list[Diagnostic]]:
    """The kernels of a file, or one of them, for these arguments, and every error and warning; None for what is none.

    Without `limits` they are those of the target that a kernel names. A kernel with a constant that has no value is
    left out with a warning, unless it is the one that was named. Raises `click.UsageError` for wrong arguments.
    """
    try:
        kernels = kernels_of(path)
    except CompileError as error:
        return None, list(error.diagnostics)
    if name is not None and name not in kernels:
        unknown("kernel", name, kernels)
    if arguments and name is None and len(kernels) != 1:
        raise click.UsageError(f"{path}: arguments are for one kernel; name one of: {', '.join(kernels)}")
    constants = {p.name for kernel in kernels.values() for p in kernel.definition.parameters if p.kind == "constant"}
    for constant in definitions:
        if constant not in constants:
            unknown("constant", constant, constants)
    functions: list[Function] = []
    problems: list[Diagnostic] = []
    for key, kernel in kernels.items():
        if name in (None, key):
            several = name is None and len(kernels) > 1
            module, found = _analyzed(kernel.definition, arguments, definitions, order, limits, several)
            functions += [] if module is None else module.functions
            problems += found
    return Module(tuple(functions)), problems


def _analyzed(
    definition: DecoratedFunction,
    arguments: Sequence[str],
    definitions: Mapping[str, str],
    order: Order | None,
    limits: DeviceLimits | None,
    several: bool,
) -> tuple[Module | None, list[Diagnostic]]:
    """The module of one kernel, and what is wrong with it."""
    given = PythonArguments.of(definition, arguments, definitions, some=several)
    lacking = given.missing(definition, launched=False)
    if lacking:
        return None, [_no_value(definition, p, "warning" if several else "error") for p in lacking]
    if limits is None and definition.target is not None:
        limits = resolve(definition.target, **definition.settings).row.limits
    try:
        return definition.module(given.values(definition, order=order), limits)
    except (CompileError, LaunchError) as error:
        return None, list(error.diagnostics)
    except ArrayInputError as error:
        raise click.ClickException(str(error)) from None


def _no_value(definition: DecoratedFunction, p: Declared, severity: Literal["error", "warning"]) -> Diagnostic:
    message = f"{definition.name} is not looked at: {shown(p)} has no value"
    return Diagnostic("bind.arguments", message, p.span, severity, hint=f"give it one: -D {p.name}=64")
