"""`girih targets`: the targets that kernels are compiled for, and what one of them executes, by its row and limits."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import click

from girih.commands.parts.reference import all_codes
from girih.commands.parts.report import print_json
from girih.ops.tile import TILE_LANGUAGE
from girih.rules.codes import Code
from girih.runtime.targets import (
    CHECKING,
    DEFAULT,
    ENVIRONMENT,
    FOR_GPUS,
    FORMS,
    PROGRAM_FORM,
    TARGETS,
    ResolvedTarget,
    Target,
    TargetError,
    named_by_environment,
    resolve,
)

WIDTH = 100

_MATRICES = "cooperative_matrix"
"""What the mnemonics of instructions on matrices begin with."""


def list_targets(*, as_json: bool) -> int:
    """Print every way to write a target with a line each, which one is the default, and which are for GPUs.

    As JSON: an array of {name, forms, emits}.
    """
    if as_json:
        print_json([_row(target) for target in TARGETS.values()])
        return 0
    _print_columns({form.text: form.says for target in TARGETS.values() for form in target.forms})
    named = named_by_environment()
    taken = DEFAULT if named is None else f"{named}, which {ENVIRONMENT} names,"
    click.echo(f"\nWhere no target is named, {taken} is taken, and by `girih run` {CHECKING}.")
    if named is None:
        click.echo(f"The environment variable {ENVIRONMENT} names another.")
    click.echo("`girih targets NAME` says more of one.")
    click.echo(f"{FOR_GPUS}.")
    return 0


def show_target(name: str, *, as_json: bool) -> int:
    """Print what a target can do, as text or as a JSON object."""
    try:
        target = resolve(name)
    except TargetError as error:
        raise click.UsageError(str(error)) from None
    described = _described(target)
    if as_json:
        print_json(described)
        return 0
    click.echo(f"{target}: {target.row.form(name).says}")
    for title, lines in _sections(described):
        click.echo(f"\n{title}")
        _print_columns(lines, "  ")
    return 0


def _row(target: Target) -> dict[str, object]:
    return {
        "name": target.name,
        "forms": [{"text": form.text, "says": form.says, "use": form.use} for form in target.forms],
        "emits": [PROGRAM_FORM, *target.emits],
    }


def _described(target: ResolvedTarget) -> dict[str, Any]:
    """The description of a target, as plain values."""
    summary, row = target.device.summary(), target.row
    return {
        "target": target.name,
        **_row(row),
        "device": dict(summary.facts),
        "types": dict(summary.types),
        "matrices": dict(summary.matrices),
        "matrix_rules": _matrix_rules(),
        "limits": {
            limit.name: {
                "value": getattr(row.limits, limit.name),
                "rules": [c.code for c in _rules_that_need(limit.name)],
            }
            for limit in fields(row.limits)
        },
        "settings": [
            {"name": one.name, "words": list(one.words), "default": one.words[0], "says": one.says}
            for one in row.settings
        ],
        "options": [{"name": one.name, "default": one.default(), "says": one.says} for one in row.options],
    }


def _rules_that_need(fact: str) -> list[Code]:
    """The codes of the rules that need a fact about the target."""
    return [code for code in all_codes(TILE_LANGUAGE).values() if code.needs == fact]


def _matrix_rules() -> dict[str, list[str]]:
    """The restrictions on matrices that the subgroup size sets, with the codes of their rules."""
    asked: dict[str, list[str]] = {}
    for code in _rules_that_need("subgroup_size"):
        if code.owner.startswith(_MATRICES):
            asked.setdefault(str(code.rule), []).append(code.code)
    return asked


def _sections(described: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The sections of a description: each a title and its lines by name."""
    yield "device", described["device"]
    yield "types", _merged(described["types"])
    yield "matrices", described["matrices"]
    yield (
        "matrices and the subgroup size",
        {rule: ", ".join(codes) for rule, codes in described["matrix_rules"].items()},
    )
    yield "limits", {name: _limit(**held) for name, held in described["limits"].items()}
    yield "girih emit --as", {name: FORMS[name].says if name in FORMS else "the canonical text"
                              for name in described["emits"]}  # fmt: skip
    yield "girih.load(...)", {f"{one['name']}={'|'.join(one['words'])}": f"{one['says']}; {one['default']} if left out"
                              for one in described["settings"]}  # fmt: skip
    if described["options"]:
        yield "kernel.options(...)", {one["name"]: f"{one['says']}; {one['default']} if left out"
                                      for one in described["options"]}  # fmt: skip


def _merged(types: Mapping[str, str]) -> dict[str, str]:
    """The lines of types and how they are executed; neighbouring types that are alike share a line."""
    lines: dict[str, str] = {}
    names: list[str] = []
    for name, says in types.items():
        if names and lines[" ".join(names)] == says:
            del lines[" ".join(names)]
            names.append(name)
        else:
            names = [name]
        lines[" ".join(names)] = says
    return lines


def _limit(value: int | Sequence[int], rules: Sequence[str]) -> str:
    shown = str(value) if isinstance(value, int) else ", ".join(map(str, value))
    return f"{shown} ({', '.join(rules)})" if rules else shown


def _print_columns(lines: Mapping[str, str], indent: str = "") -> None:
    """Print names and their texts in two columns."""
    width = max(map(len, lines))
    for name, says in lines.items():
        first = f"{indent}{name:<{width}}  "
        click.echo("\n".join(textwrap.wrap(says, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))))
