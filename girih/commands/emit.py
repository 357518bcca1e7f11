"""`girih emit`: a checked file in another form: the canonical text, or what it is compiled to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import click

from girih.commands.parts.calls import analyzed, refuse_file, unknown
from girih.commands.parts.report import counted, print_items
from girih.diagnostics import CompileError, errors
from girih.ir.core import Function, Module

_NEEDS = {
    "ptx": ("PTX", "the target cuda"),
    "spirv": ("SPIR-V", "the target vulkan"),
}
"""What forms there will be, and the target that each needs."""


@dataclass(frozen=True, slots=True)
class EmitRequest:
    """A call of `girih emit`."""

    path: str
    function: str | None
    form: str
    target: str | None
    checks: str
    definitions: Mapping[str, object]
    output: str | None


def emit_file(request: EmitRequest) -> int:
    """Write a file in a form to standard output or a file; 1 if the program has an error, and nothing is written."""
    if request.form in _NEEDS:
        name, needs = _NEEDS[request.form]
        raise click.UsageError(f"--as {request.form}: {name} needs {needs}, which is not there yet; "
                               "there are --as ir, llvm and asm")  # fmt: skip
    module, problems = analyzed(request.path, request.definitions)
    print_items(problems, to_stderr=True)
    if module is None or errors(problems):
        click.echo(f"{request.path}: {counted(problems)}", err=True)
        return 1
    module = _chosen(module, request.function)
    try:
        text = str(module) if request.form == "ir" else _compiled(module, request)
    except CompileError as error:
        print_items(error.diagnostics, to_stderr=True)
        click.echo(f"{request.path}: {counted(error.diagnostics)}", err=True)
        return 1
    write_text(text, request.output)
    return 0


def _chosen(module: Module, name: str | None) -> Module:
    """The module with one function only, where one is named."""
    if name is None:
        return module
    found = module.function(name.removeprefix("@"))
    if found is None:
        unknown("kernel", name.removeprefix("@"), [f.name for f in module.functions])
    return Module((found,))


def _compiled(module: Module, request: EmitRequest) -> str:
    """LLVM IR or assembly, one kernel after the other; nothing is made ready to run."""
    from girih.runtime.executors import assembled, lowered, processor

    target = request.target or "cpu"
    if target.partition(":")[0] != "cpu":
        raise click.UsageError(f"--target {target}: --as {request.form} is for cpu, or cpu:NAME such as cpu:haswell")
    try:
        cpu = processor(target)
    except ValueError as error:
        raise click.UsageError(f"--target {target}: {error}") from None
    form: Callable[[Function], str] = {
        "llvm": lambda function: lowered(function, cpu, request.checks).text,
        "asm": lambda function: assembled(function, cpu, request.checks),
    }[request.form]
    return "\n".join(form(function) for function in module.functions)


def write_text(text: str, output: str | None) -> None:
    """Write a text to a file, to standard output for None; refuses a file that cannot be written."""
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with open(output, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        refuse_file(output, error)
