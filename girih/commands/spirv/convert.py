"""Modules in another form: printed, assembled, specialised. Nothing is written where anything is wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import click

from girih.commands.parts.report import counted, print_items
from girih.commands.spirv.definitions import values_of
from girih.commands.spirv.files import module_of, write_file
from girih.diagnostics import CompileError, Diagnostic
from girih.front.shaders.files import TEXTS
from girih.spirv.module import Module


def disassemble_file(path: str, output: str | None, *, friendly_names: bool, indent: bool, header: bool) -> int:
    """Print the module of a file; 1 if it is none."""
    try:
        module, _ = module_of(path)
    except CompileError as error:
        return refuse(path, error.diagnostics)
    _write_text(module.to_text(friendly_names=friendly_names, indent=indent, header=header), output)
    return 0


def assemble_file(path: str, output: str | None) -> int:
    """Write the module of a file as bytes; 1 if the file is wrong."""
    if output is None:
        if path == "-":
            raise click.UsageError("standard input has no name: -o says where to write")
        output = os.path.splitext(path)[0] + ".spv"
        if os.path.abspath(output) == os.path.abspath(path):
            raise click.UsageError(f"{click.format_filename(path)} is a binary module already")
    try:
        module, _ = module_of(path)
    except CompileError as error:
        return refuse(path, error.diagnostics)
    write_file(output, module.to_bytes())
    return 0


def specialise_file(path: str, definitions: Mapping[str, str], output: str | None) -> int:
    """Write the specialised module of a file; 1 if the file or a definition is wrong."""
    try:
        module: Module = module_of(path)[0].specialise(values_of(definitions))
    except CompileError as error:
        return refuse(path, error.diagnostics)
    if output in (None, "-") or (output or "").lower().endswith(TEXTS):
        _write_text(module.to_text(), output)
    else:
        write_file(output or "-", module.to_bytes())
    return 0


def _write_text(text: str, output: str | None) -> None:
    if output in (None, "-"):
        click.echo(text, nl=False)
    else:
        write_file(output or "-", text.encode("utf-8", "surrogateescape"))


def refuse(path: str, problems: Sequence[Diagnostic]) -> int:
    """Print what is wrong with a file to standard error; the result is the exit status."""
    print_items(list(problems), to_stderr=True)
    name = "<stdin>" if path == "-" else click.format_filename(path)
    click.echo(f"{name}: {counted(list(problems))}", err=True)
    return 1
