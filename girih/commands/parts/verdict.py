"""What is wrong with files, in each format of `girih check`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from girih.commands.parts.report import counted, print_items, print_json
from girih.diagnostics import Diagnostic, errors


def report_files(found: Sequence[tuple[str, Sequence[Diagnostic]]], format: str) -> int:
    """Print the diagnostics of files; the result is 1 if any is an error.

    As "json": one array of all diagnostics (`Diagnostic.to_json`); as "github": workflow commands; as "sarif": a log.
    """
    if format == "text":
        _print(found)
    else:
        _print_for_programs([d for _, diagnostics in found for d in diagnostics], format)
    return int(any(errors(diagnostics) for _, diagnostics in found))


def _print_for_programs(diagnostics: Sequence[Diagnostic], format: str) -> None:
    if format == "json":
        print_json([d.to_json() for d in diagnostics])
        return
    from girih.commands.parts.exchange_formats import github, sarif

    if format == "sarif":
        print_json(sarif(diagnostics))
        return
    for line in github(diagnostics):
        click.echo(line)


def _print(found: Sequence[tuple[str, Sequence[Diagnostic]]]) -> None:
    shown = 0
    for path, diagnostics in found:
        shown = print_items(diagnostics, shown)
        name = "<stdin>" if path == "-" else click.format_filename(path)
        click.echo(f"{name}: {counted(diagnostics)}")
