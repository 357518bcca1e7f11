"""What is in a file: a module as bytes, a module as text, or a source for a compiler.

What a file is shows in its contents where they begin with SPIR-V's magic number, else in its name. Importing this
imports nothing else of girih.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from girih.diagnostics import Diagnostic
    from girih.spirv.module import Module

TEXTS = (".spvasm", ".spvas")
BINARIES = (".spv",)
SOURCES = (".comp", ".glsl", ".slang", ".hlsl")
"""The endings of files with modules as text, as bytes, and with sources that a compiler makes modules of."""

_INSTRUCTION = re.compile(r"(?:[ \t]*(?:;[^\n]*)?\n)*[ \t]*(?:%[^\s=]+\s*=\s*)?Op[A-Z]")
"""The beginning of a text whose first line that is no comment is an instruction of SPIR-V."""


def is_module(path: str) -> bool:
    """Whether a path is, by its ending, one of a SPIR-V module or of a source of one."""
    return path.lower().endswith((*TEXTS, *BINARIES, *SOURCES))


def is_binary(data: bytes) -> bool:
    """Whether bytes begin with SPIR-V's magic number (2.3), in either byte order."""
    return data[:4] in (b"\x03\x02\x23\x07", b"\x07\x23\x02\x03")


def is_assembly(text: str) -> bool:
    """Whether a text is a module as spirv-as reads it: its first words are an instruction."""
    return _INSTRUCTION.match(text) is not None


def module_in(data: bytes, name: str) -> tuple[Module, list[Diagnostic]]:
    """The module in the contents of a file, and what a compiler said of its source; `name` is that of the file.

    Raises `CompileError` with what is wrong with the contents.
    """
    from girih.spirv.module import Module

    if name.lower().endswith(SOURCES):
        from girih.front.shaders.compile import compile_shader

        return compile_shader(name, data)
    if is_binary(data) or (name.lower().endswith(BINARIES) and not _is_text(data)):
        return Module.from_bytes(data, name), []
    return Module.from_text(data.decode("utf-8", "surrogateescape"), name), []


def _is_text(data: bytes) -> bool:
    """Whether bytes look like a text: no zero byte among the first."""
    return bool(data) and 0 not in data[:64]
