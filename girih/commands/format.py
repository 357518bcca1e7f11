"""`girih fmt`: files in canonical layout, written at once or not at all. Imports neither NumPy nor rich."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff

import click

from girih.commands.parts.calls import TWICE, read_program
from girih.commands.parts.report import counted, print_items
from girih.commands.parts.whole_files import write_whole
from girih.commands.python.files import is_python
from girih.diagnostics import CompileError, Diagnostic, plural
from girih.front.shaders.files import is_module
from girih.source import Source, Span


def format_files(paths: Sequence[str], *, check: bool, diff: bool) -> int:
    """Format files in place; `-` reads standard input and writes standard output.

    `check` names the files that would change, and `diff` shows how; with either, nothing is written. The result is 1 if
    a file has errors of syntax or types, which are shown while the file stays, or if one would change with `check`.
    """
    if paths.count("-") > 1:
        raise click.UsageError(TWICE)
    wrong = changed = 0
    for path in paths:
        before, after, problems = _formatted(path)
        wrong += bool(problems)
        if problems:
            print_items(problems, to_stderr=True)
            click.echo(f"{_name(path)}: {counted(problems)}, left as it is", err=True)
        elif before is None or before == after:
            _pass_on(path, after, check=check, diff=diff)
        else:
            changed += 1
            _report(path, before, after, check=check, diff=diff, aside="-" in paths)
    if check:
        click.echo(f"{plural(changed, 'file')} would change, {len(paths) - changed - wrong} would not", err=True)
    return int(wrong > 0 or (check and changed > 0))


def _formatted(path: str) -> tuple[str | None, str, list[Diagnostic]]:
    """The text of a file before and after, and its errors; the text before is None if the file is not text."""
    from girih.front.text.format import format_source
    from girih.ops.tile import TILE_LANGUAGE

    if is_module(path) or is_python(path):
        found = "Python" if is_python(path) else "a SPIR-V module or a shader"
        message = f"expected: a program in the tensor language; found: by its ending {found}"
        hint = "`girih spirv dis` prints a module in one layout"
        if is_python(path):
            hint = "a formatter of Python, such as `ruff format`, is for kernels in Python too"
        return None, "", [Diagnostic("syntax.module", message, Span(Source("", path), 0, 0), hint=hint)]
    try:
        source: Source = read_program(path)
    except CompileError as error:
        return None, "", list(error.diagnostics)
    text, problems = format_source(source, TILE_LANGUAGE)
    return source.text, text, problems


def _pass_on(path: str, text: str, *, check: bool, diff: bool) -> None:
    """Write a text that came from standard input to standard output, also if nothing changed."""
    if path == "-" and not check and not diff:
        click.echo(text, nl=False)


def _report(path: str, before: str, after: str, *, check: bool, diff: bool, aside: bool) -> None:
    """Write a changed file, or show what would change; with `aside`, names go to standard error."""
    name = _name(path)
    if diff:
        lines = unified_diff(_lines(before), _lines(after), name, f"{name}, formatted")
        click.echo("".join(lines), nl=False)
    elif check:
        click.echo(f"would change {name}")
    elif path == "-":
        click.echo(after, nl=False)
    else:
        write_whole(path, after.encode("utf-8"))
        click.echo(f"changed {name}", err=aside)


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends, as in a patch: only a line feed ends one, a last one without is marked."""
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([f"{rest}\n\\ No newline at end of file\n"] if rest else [])


def _name(path: str) -> str:
    return "<stdin>" if path == "-" else click.format_filename(path)
