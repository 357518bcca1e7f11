"""A source compiled to a module, with what the compiler said as diagnostics that point into the source."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from girih.diagnostics import CompileError, Diagnostic
from girih.front.shaders.compilers import COMPILERS, GLSL, compiler_for
from girih.front.shaders.includes import LARGEST
from girih.front.shaders.messages import Message, Severity, messages_in
from girih.source import Source, Span
from girih.spirv.glsl_names import MISPRINTS
from girih.spirv.module import Module

COMPILE_CODES = {
    "spirv.compile.compiler": "a compiler for the source is installed",
    "spirv.compile.version": "a source in GLSL begins with a #version line, without which no compute shader compiles",
    "spirv.compile.error": "the compiler accepts the source",
    "spirv.compile.warning": "the compiler has nothing to remark on the source",
}
"""What is said of a source before there is a module."""

_VERSION = re.compile(r"^[ \t]*#[ \t]*version\b", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TOKEN = re.compile(r"'(?P<token>[^']+)' :")
"""The word of the source that glslang and glslc speak of."""


def compile_shader(path: str, data: bytes) -> tuple[Module, list[Diagnostic]]:
    """The module of a source file with these contents, and the compiler's warnings.

    Raises `CompileError` with the compiler's errors, or where there is no compiler for the file.
    """
    source = Source(data.decode("utf-8", "replace"), path)
    compiler = compiler_for(path)
    if compiler is None:
        raise CompileError([_no_compiler(source)])
    if path.lower().endswith(GLSL) and not _VERSION.search(_COMMENT.sub("", source.text)):
        raise CompileError([_no_version(source)])
    made = compiler.compile(source)
    files = _Files((source, *made.included))
    told = [_diagnostic(one, files) for one in messages_in(made.messages)]
    if made.data is None:
        if not any(one.severity == "error" for one in told):
            text = made.messages.strip() or "it ended without a module and without a word"
            told.append(_diagnostic(Message("error", f"{compiler.name}: {text}"), files))
        raise CompileError(told)
    return replace(Module.from_bytes(made.data, f"{path} (disassembled)"), sources=files.known()), told


def _no_compiler(source: Source) -> Diagnostic:
    ending = os.path.splitext(source.name)[1].lower()
    known = [one.name for one in COMPILERS if ending in one.endings]
    bundled = any(one.endswith("slangpy") for one in known)
    return Diagnostic(
        "spirv.compile.compiler",
        f"expected: a compiler of {ending} files ({', '.join(known)}); found: none",
        Span(Source("", source.name), 0, 0),
        hint="`pip install 'girih[glsl]'` brings slangpy" if bundled else None,
    )


def _no_version(source: Source) -> Diagnostic:
    # glslang and glslc print some thousand lines of their own declarations then, and no word that helps.
    return Diagnostic(
        "spirv.compile.version",
        "expected: a line #version 420 or later, or 310 es, before anything else; found: none",
        Span(source, 0, len(source.line(1))),
        hint="write #version 460 into the first line",
    )


class _Files:
    """The texts of the files that a compiler names: those that it was given, else as they are on the disk."""

    def __init__(self, given: tuple[Source, ...]) -> None:
        self._main = given[0]
        self._known: dict[str, Source | None] = {os.path.normpath(one.name): one for one in given}

    def known(self) -> tuple[Source, ...]:
        """The texts that were given or read, the compiled one first."""
        return tuple(one for one in self._known.values() if one is not None)

    def named(self, name: str) -> Source | None:
        """The text of a file; None where it cannot be read. glslang calls the file that it compiles 0 at times."""
        if name in ("", "0"):
            return self._main
        path = os.path.normpath(name)
        if path not in self._known:
            self._known[path] = _read(path)
        return self._known[path]


def _read(path: str) -> Source | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return Source(file.read(LARGEST), path)
    except (OSError, ValueError):
        return None


def _diagnostic(message: Message, files: _Files) -> Diagnostic:
    """The diagnostic of a message, with a label for what stands at its place and for each note."""
    code, place = f"spirv.compile.{message.severity}", _place(message, files)
    severity: Severity = message.severity
    notes = [(_place(one, files), one.text) for one in message.notes if one.line]
    label = "" if message.label == message.text else message.label
    own = [(place, label)] if label or notes else []
    return Diagnostic(code, message.text, place, severity, labels=(*own, *notes), hint=_right_name(message.text))


def _right_name(text: str) -> str | None:
    """The name that was meant, where a compiler does not know one that 001 misprints."""
    wrong = next((name for name in re.findall(r"\w+", text) if name in MISPRINTS), None)
    return f"the text of 001 misprints this name: write {MISPRINTS[wrong]}" if wrong else None


def _place(message: Message, files: _Files) -> Span:
    """The place of a message: what carets mark or what it speaks of, else its line; the file where it has no line."""
    source = files.named(message.file)
    nowhere = Span(Source("", files.known()[0].name), 0, 0)
    if source is None or message.line < 1:
        return nowhere
    try:
        line, start = source.line(message.line), source.start_of(message.line)
    except IndexError:
        return nowhere
    if 0 < message.column <= len(line):
        first = message.column - 1
        return Span(source, start + first, start + min(first + max(message.width, 1), len(line)))
    token = _TOKEN.match(message.text)
    word = re.search(rf"(?<!\w){re.escape(token['token'])}(?!\w)", line) if token else None
    if word is not None:
        return Span(source, start + word.start(), start + word.end())
    first = len(line) - len(line.lstrip())
    return Span(source, start + first, start + max(len(line.rstrip()), first + 1))
