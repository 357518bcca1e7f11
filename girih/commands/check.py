"""`girih check`: every error and warning of files, with the lines. Imports neither NumPy nor rich."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from girih.commands.parts.calls import TWICE, analyzed, checked_definitions
from girih.commands.parts.verdict import report_files
from girih.commands.python.files import is_python
from girih.diagnostics import Diagnostic


def check_files(paths: Sequence[str], definitions: Mapping[str, str], format: str) -> int:
    """Print the errors and warnings of each file in a format; 1 if any has an error."""
    if paths.count("-") > 1:
        raise click.UsageError(TWICE)
    return report_files([(path, _diagnostics(path, definitions)) for path in paths], format)


def _diagnostics(path: str, definitions: Mapping[str, str]) -> list[Diagnostic]:
    """What is wrong with a file: by its ending SPIR-V, a source of it, or Python with kernels; else a program."""
    from girih.front.shaders.files import is_module

    if is_module(path):
        from girih.commands.spirv.judge import judged

        return judged(path, definitions)
    if is_python(path):
        from girih.commands.python.modules import analyzed_python

        return analyzed_python(path, None, (), definitions)[1]
    return analyzed(path, checked_definitions(definitions))[1]
