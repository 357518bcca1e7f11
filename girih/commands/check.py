"""`girih check`: every error and warning of files, with the lines. Imports neither NumPy nor rich."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from girih.commands.calls import analyzed
from girih.commands.report import counted, print_items, print_json
from girih.diagnostics import Diagnostic, errors


def check_files(paths: Sequence[str], definitions: Mapping[str, object], *, as_json: bool) -> int:
    """Print what is wrong with each file; 1 if any has an error.

    As JSON: one array of all diagnostics (`Diagnostic.to_json`).
    """
    if paths.count("-") > 1:
        raise click.UsageError("standard input, `-`, can be read once only")
    found = [(path, analyzed(path, definitions)[1]) for path in paths]
    if as_json:
        print_json([d.to_json() for _, diagnostics in found for d in diagnostics])
    else:
        _print(found)
    return int(any(errors(diagnostics) for _, diagnostics in found))


def _print(found: Sequence[tuple[str, Sequence[Diagnostic]]]) -> None:
    shown = 0
    for path, diagnostics in found:
        shown = print_items(diagnostics, shown)
        name = "<stdin>" if path == "-" else click.format_filename(path)
        click.echo(f"{name}: {counted(diagnostics)}")
