"""`girih kernels`: the kernels that come with girih; one of them as a text, its definitions in comments below it."""

from __future__ import annotations

import click

from girih.commands.parts.calls import unknown
from girih.commands.parts.report import print_json
from girih.kernels.table import TABLE, choices
from girih.kernels.texts import defaults, parts, path


def list_kernels(*, as_json: bool) -> int:
    """Print all kernels with a line each; as JSON: an array of {name, says}."""
    if as_json:
        print_json([{"name": name, "says": entry.says} for name, entry in TABLE.items()])
        return 0
    width = max(map(len, TABLE))
    for name, entry in TABLE.items():
        click.echo(f"{name:<{width}}  {entry.says}")
    return 0


def show_kernel(name: str, *, as_json: bool) -> int:
    """Print a kernel: its text, then its definitions as comments, so that what is printed is a program.

    As JSON: {name, says, path, functions, grid, definitions, text}. A definition has a default, and its choices in
    words; an entry of the grid has what is shared out, `of`, and how many of these go `to_a_work_group`.
    """
    if name not in TABLE:
        unknown("kernel", name, list(TABLE))
    if as_json:
        print_json(_described(name))
        return 0
    click.echo(path(name).read_text(encoding="utf-8"))
    given = defaults(name)
    width = max(len(f"{key}={value}") for key, value in given.items())
    click.echo("; Definitions, to be replaced with -D NAME=VALUE or `girih.load(path, definitions=...)`:")
    for key, value in given.items():
        click.echo(f";   {f'{key}={value}':<{width}}  {choices(TABLE[name].definitions[key])}")
    return 0


def _described(name: str) -> dict[str, object]:
    entry = TABLE[name]
    return {
        "name": name,
        "says": entry.says,
        "path": str(path(name)),
        "functions": list(entry.functions or (name,)),
        "grid": [{"of": of, "to_a_work_group": count} for of, count in parts(name)],
        "definitions": [
            {"name": key, "default": value, "choices": choices(entry.definitions[key])}
            for key, value in defaults(name).items()
        ],
        "text": path(name).read_text(encoding="utf-8"),
    }
