"""`girih emit`: a checked file in another form; today the canonical text."""

from __future__ import annotations

from collections.abc import Mapping

import click

from girih.commands.calls import analyzed, refuse_file
from girih.commands.report import counted, print_items
from girih.diagnostics import errors

_NEEDS = {
    "llvm": ("LLVM IR", "a compiling target such as cpu"),
    "asm": ("assembly", "a compiling target such as cpu"),
    "ptx": ("PTX", "the target cuda"),
    "spirv": ("SPIR-V", "the target vulkan"),
}
"""What forms there will be, and the target that each needs."""


def emit_file(path: str, form: str, target: str | None, definitions: Mapping[str, object], output: str | None) -> int:
    """Write a file in a form to standard output or a file; 1 if the program has an error, and nothing is written."""
    if form in _NEEDS:
        name, needs = _NEEDS[form]
        raise click.UsageError(f"--as {form}: {name} needs {needs}, which is not there yet; there is --as ir")
    if target not in (None, "interpreter"):
        raise click.UsageError(f"--target {target}: this target is not there yet; the canonical text needs none")
    module, problems = analyzed(path, definitions)
    print_items(problems, to_stderr=True)
    if module is None or errors(problems):
        click.echo(f"{path}: {counted(problems)}", err=True)
        return 1
    write_text(str(module), output)
    return 0


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
