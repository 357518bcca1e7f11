"""`girih check`: every error and warning of files, with the lines. Imports neither NumPy nor rich."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from girih.commands.parts.calls import TWICE, analyzed, checked_definitions
from girih.commands.parts.verdict import report_files
from girih.diagnostics import Diagnostic


def check_files(paths: Sequence[str], definitions: Mapping[str, str], format: str) -> int:
    """Print the errors and warnings of each file in a format; 1 if any has an error."""
    if paths.count("-") > 1:
        raise click.UsageError(TWICE)
    return report_files([(path, _diagnostics(path, definitions)) for path in paths], format)


def _diagnostics(path: str, definitions: Mapping[str, str]) -> list[Diagnostic]:
    """What is wrong with a file: a SPIR-V module, or a source of one, by its ending, else a program."""
    from girih.front.shaders.files import is_module

    if is_module(path):
        from girih.commands.spirv.judge import judged

        return judged(path, definitions)
    return analyzed(path, checked_definitions(definitions))[1]
