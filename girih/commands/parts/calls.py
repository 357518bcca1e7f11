"""The parts that calls of the command share: sources, definitions, grids, names.

A wrong call raises `click.UsageError`, exit status 2; a file that cannot be read or written raises
`click.ClickException`, exit status 1.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

import click

from girih.diagnostics import CompileError, Diagnostic, nearest
from girih.ir.core import Module
from girih.ir.limits import DeviceLimits
from girih.source import Source

LARGEST_SIZE = 2**31 - 1
PROGRAM_ENDING = ".tl"
TWICE = "standard input, `-`, can be read once only"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*|[0-9]+", re.ASCII)


def named_values(texts: Iterable[str]) -> dict[str, str]:
    """The values of `NAME=VALUE` by name, whatever names and values are made of."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="-D")
        if name in values:
            raise click.BadParameter(f"{name} is given twice", param_hint="-D")
        values[name] = value
    return values


def definitions_of(texts: Iterable[str]) -> dict[str, str]:
    """The values of `NAME=VALUE`, also of `$NAME=VALUE`, by name: definitions of a program."""
    return checked_definitions(named_values(text.strip().removeprefix("$") for text in texts))


def checked_definitions(values: Mapping[str, str]) -> dict[str, str]:
    """Values by name, where both can stand in a program's definitions. Raises `click.BadParameter` otherwise."""
    definitions = {name.removeprefix("$"): value for name, value in values.items()}
    for name, value in definitions.items():
        if not _NAME.fullmatch(name):
            raise click.BadParameter(f"{name + '=' + value!r} is not NAME=VALUE", param_hint="-D")
        _refuse_bad_value(name, value)
    return definitions


def _refuse_bad_value(name: str, value: str) -> None:
    from girih.front.text.constant_parser import parse_definition
    from girih.ops.tile import TILE_LANGUAGE

    try:
        parse_definition(TILE_LANGUAGE, name, value)
    except ValueError as error:
        raise click.BadParameter(f"the value of ${name}, {value!r}: {error}", param_hint="-D") from None


def grid_of(text: str) -> tuple[int, ...]:
    """The numbers of work-groups in `X`, `X,Y` or `X,Y,Z`."""
    parts = text.replace("x", ",").split(",")
    if not 1 <= len(parts) <= 3 or not all(re.fullmatch(r"\s*[0-9]{1,10}\s*", part, re.ASCII) for part in parts):
        raise click.BadParameter(f"{text!r} is not one to three sizes such as 8,4", param_hint="--grid")
    sizes = tuple(int(part) for part in parts)
    if max(sizes) > LARGEST_SIZE:
        raise click.BadParameter(f"{text!r}: sizes lie between 0 and 2^31 - 1", param_hint="--grid")
    return sizes


def read_program(path: str) -> Source:
    """The text of a file, or of standard input for `-`. Raises `CompileError` if it is not text."""
    from girih.front.text.parser import LARGEST_TEXT
    from girih.program import read_source, source_of_bytes

    try:
        if path == "-":
            return source_of_bytes(read_standard_input(LARGEST_TEXT + 1), "<stdin>")
        return read_source(path)
    except (OSError, ValueError) as error:
        refuse_file(path, error)


def read_standard_input(most: int) -> bytes:
    """The first bytes of standard input, at most `most`. Raises `OSError` if it cannot be read."""
    if sys.stdin is None:
        raise OSError("it is closed")
    return sys.stdin.buffer.read(most)


def refuse_file(path: str, error: Exception) -> NoReturn:
    """Raise `click.ClickException` with why a file, or standard input for `-`, cannot be read or written."""
    shown = "standard input" if path == "-" else click.format_filename(path)
    folder = os.path.dirname(path)
    what = "file" if not folder or os.path.isdir(folder) else "folder"
    reasons: dict[type[Exception], str] = {
        FileNotFoundError: f"there is no such {what}",
        IsADirectoryError: "it is a directory",
        NotADirectoryError: "a part of the path is not a folder",
        PermissionError: "no permission",
    }
    why = reasons.get(type(error)) or getattr(error, "strerror", None) or str(error)
    raise click.ClickException(f"{shown}: {why}") from None


def analyzed(
    path: str, definitions: Mapping[str, object], limits: DeviceLimits | None = None
) -> tuple[Module | None, list[Diagnostic]]:
    """The module of a file, None if it is not text, and every error and warning; `limits` are a target's."""
    from girih.program import analyze

    try:
        module, problems = analyze(read_program(path), definitions, limits)
    except CompileError as error:
        return None, read_by_ending(path, error.diagnostics)
    return module, read_by_ending(path, problems)


def read_by_ending(path: str, problems: Sequence[Diagnostic]) -> list[Diagnostic]:
    """What is wrong with a program; of a file that is none by its syntax or its name, how it was read is said."""
    if path.endswith(PROGRAM_ENDING) or path == "-" or not problems or not problems[0].code.startswith("syntax."):
        return list(problems)
    from girih.front.shaders.files import BINARIES, SOURCES, TEXTS

    first, others = problems[0], (".py", *BINARIES, *TEXTS, *SOURCES)
    read = f"{click.format_filename(path)} is read as a program of the tensor language: it ends in none of "
    hint = f"{first.hint}; " if first.hint else ""
    return [replace(first, hint=f"{hint}{read}{', '.join(others)}"), *problems[1:]]


def unknown(what: str, name: str, known: Iterable[str]) -> NoReturn:
    """Raise `click.UsageError` for an unknown name, with the known one that was probably meant."""
    names = list(known)
    close = nearest(name, names)
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    hint = f"did you mean {close!r}?" if close else f"there is: {listed}" if names else "there is none"
    raise click.UsageError(f"there is no {what} {name!r}; {hint}")
