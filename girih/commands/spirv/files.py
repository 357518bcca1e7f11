"""Modules from files and to files. A file is a binary module, a text as spirv-as reads it, or a source for a compiler.

What a file is shows in its contents where they begin with SPIR-V's magic number, else in its name.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import click

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
    """Write a file at once or not at all. Raises `click.ClickException` on failure."""
    if path == "-":
        sys.stdout.buffer.write(data)
        return
    temporary = None
    try:
        folder = os.path.dirname(os.path.abspath(path))
        with tempfile.NamedTemporaryFile("wb", dir=folder, prefix=".girih-", delete=False) as file:
            temporary = file.name
            file.write(data)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        refuse_file(path, error)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def values_of(definitions: Mapping[str, str]) -> dict[int | str, object]:
    """Values of specialisation constants from the texts of `-D`: by SpecId where the name is a number."""
    return {int(name) if name.isdigit() else name: _value(name, text) for name, text in definitions.items()}


def _value(name: str, text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[-+]?(0[xX][0-9a-fA-F]+|[0-9]+)", text):
        return int(text, 0) if "x" in text.lower() else int(text)
    try:
        return float(text)
    except ValueError:
        known = "a number, true or false"
        raise click.BadParameter(f"the value of {name}: expected: {known}; found: {text!r}", param_hint="-D") from None
