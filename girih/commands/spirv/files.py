"""Modules from files and to files. A file is a binary module, a text as spirv-as reads it, or a source for a compiler.

What a file is shows in its contents where they begin with SPIR-V's magic number, else in its name.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from girih.commands.parts.calls import read_standard_input, refuse_file
from girih.spirv.binary import LARGEST_MODULE, MAGIC, SWAPPED_MAGIC

if TYPE_CHECKING:
    from girih.diagnostics import Diagnostic
    from girih.spirv.module import Module

TEXTS = (".spvasm", ".spvas")
BINARIES = (".spv",)
SOURCES = (".comp", ".glsl", ".slang", ".hlsl")
"""The endings of files with modules as text, as bytes, and with sources that a compiler makes modules of."""


def is_module(path: str) -> bool:
    """Whether a path is, by its ending, one of a SPIR-V module or of a source of one."""
    return path.lower().endswith((*TEXTS, *BINARIES, *SOURCES))


def module_of(path: str) -> tuple[Module, list[Diagnostic]]:
    """The module of a file, or of standard input for `-`, and what a compiler said of its source.

    Raises `CompileError` with what is wrong with the contents, `click.ClickException` if they cannot be read.
    """
    from girih.spirv.module import Module

    if path.lower().endswith(SOURCES):
        from girih.front.shaders import compile_shader

        return compile_shader(path, _contents(path))
    data, name = _contents(path), "<stdin>" if path == "-" else path
    if data[:4] in _MAGIC or (path.lower().endswith(BINARIES) and not _is_text(data)):
        return Module.from_bytes(data, name), []
    return Module.from_text(data.decode("utf-8", "surrogateescape"), name), []


_MAGIC = tuple(number.to_bytes(4, "little") for number in (MAGIC, SWAPPED_MAGIC))


def _is_text(data: bytes) -> bool:
    """Whether bytes look like a text: no zero byte among the first."""
    return bool(data) and 0 not in data[:64]


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
