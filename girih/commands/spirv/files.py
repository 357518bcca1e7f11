"""Modules from files and to files, as the command line names them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from girih.commands.parts.calls import read_standard_input, refuse_file
from girih.front.shaders.files import module_in
from girih.spirv.binary import LARGEST_MODULE

if TYPE_CHECKING:
    from girih.diagnostics import Diagnostic
    from girih.spirv.module import Module


def module_of(path: str) -> tuple[Module, list[Diagnostic]]:
    """The module of a file, or of standard input for `-`, and what a compiler said of its source.

    Raises `CompileError` with what is wrong with the contents, `click.ClickException` if they cannot be read.
    """
    return module_in(_contents(path), "<stdin>" if path == "-" else path)


def _contents(path: str) -> bytes:
    try:
        if path == "-":
            return read_standard_input(LARGEST_MODULE + 1)
        with open(path, "rb") as file:
            return file.read(LARGEST_MODULE + 1)
    except (OSError, ValueError) as error:
        refuse_file(path, error)


def write_file(path: str, data: bytes) -> None:
    """Write a file at once or not at all; `-` is standard output. Raises `click.ClickException` on failure."""
    if path == "-":
        sys.stdout.buffer.write(data)
        return
    from girih.commands.parts.whole_files import write_whole

    write_whole(path, data)
