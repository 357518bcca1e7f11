"""A source compiled to a module, with what the compiler said as diagnostics that point into the source."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Literal

from girih.diagnostics import CompileError, Diagnostic
from girih.front.shaders.compilers import COMPILERS, compiler_for
from girih.source import Source, Span
from girih.spirv.module import Module

COMPILE_CODES = {
    "spirv.compile.compiler": "a compiler for the source is installed",
    "spirv.compile.error": "the compiler accepts the source",
    "spirv.compile.warning": "the compiler has nothing to remark on the source",
}
"""What is said of a source before there is a module."""

_MESSAGES = (
    re.compile(r"^(?P<kind>ERROR|WARNING): (?:(?P<file>.*?):(?P<line>\d+): )?(?P<text>.*)$"),
    re.compile(r"^(?P<file>.*?):(?P<line>\d+): (?P<kind>error|warning): (?P<text>.*)$"),
    re.compile(r"^(?P<file>.*?)\((?P<line>\d+)(?:,\d+)?\): (?P<kind>error|warning)\b[^:]*: (?P<text>.*)$"),
    re.compile(r"^(?:.*: )?(?P<kind>error|warning)(?: \w+)?: (?P<text>.*)$"),
)
"""How glslang, glslc, slangc, and all of them for what has no line, write a message."""

_COUNTS = re.compile(r"^(ERROR: )?\d+ (compilation )?(error|warning)s?\b")


def compile_shader(path: str, data: bytes) -> tuple[Module, list[Diagnostic]]:
    """The module of a source file with these contents, and the compiler's warnings.

    Raises `CompileError` with the compiler's errors, or where there is no compiler for the file.
    """
    source = Source(data.decode("utf-8", "replace"), path)
    compiler = compiler_for(path)
    if compiler is None:
        raise CompileError([_no_compiler(source)])
    made = compiler.compile(path)
    told = diagnostics_of(made.messages, source)
    if made.data is None:
        if not any(one.severity == "error" for one in told):
            text = made.messages.strip() or "it ended without a module and without a word"
            told.append(_diagnostic("error", f"{compiler.name}: {text}", source, 0))
        raise CompileError(told)
    return replace(Module.from_bytes(made.data, path), sources=(source,)), told


def _no_compiler(source: Source) -> Diagnostic:
    ending = os.path.splitext(source.name)[1].lower()
    known = [one.name for one in COMPILERS if ending in one.endings]
    return Diagnostic(
        "spirv.compile.compiler",
        f"expected: a compiler of {ending} files ({', '.join(known)}); found: none",
        Span(Source("", source.name), 0, 0),
        hint=None if ending == ".slang" else "`pip install girih[glsl]` brings one for GLSL",
    )


def diagnostics_of(messages: str, source: Source) -> list[Diagnostic]:
    """The messages of a compiler as diagnostics; lines that are no messages are left out."""
    made = []
    for line in messages.splitlines():
        match = None if _COUNTS.match(line) else next(filter(None, (one.match(line) for one in _MESSAGES)), None)
        if match is not None:
            parts = match.groupdict()
            number = int(parts["line"]) if parts.get("line") and _is_of(parts.get("file"), source) else 0
            made.append(_diagnostic(parts["kind"].lower(), parts["text"], source, number))
    return made


def _is_of(file: str | None, source: Source) -> bool:
    """Whether a compiler's name of a file means the source; glslang calls it 0 where it knows no name."""
    return file in (None, "", "0") or os.path.basename(file or "") == os.path.basename(source.name)


def _diagnostic(kind: str, text: str, source: Source, line: int) -> Diagnostic:
    severity: Literal["error", "warning"] = "error" if kind == "error" else "warning"
    span = Span(Source("", source.name), 0, 0)
    try:
        if line > 0:
            whole, start = source.line(line), source.start_of(line)
            first = len(whole) - len(whole.lstrip())
            span = Span(source, start + first, start + max(len(whole.rstrip()), first + 1))
    except IndexError:
        pass
    return Diagnostic(f"spirv.compile.{severity}", text.strip(), span, severity)
