"""`girih address`: the check of an address model, its numbers and its picture, as text, JSON, SVG or PNG."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

import click

from girih.addressing import Access, Violation
from girih.addressing.errors import plural
from girih.commands.address.models import MODELS, Answer, converted, describe
from girih.commands.address.parameters import Given, ParameterError, gathered
from girih.commands.parts.report import coloured, paint, print_json
from girih.lazy_dataclass import dataclass

TABLE = 16
"""Rows and columns of the largest tile whose elements stand in a table."""
MOST_JSON = 4096
"""Elements of the largest tile whose elements stand in JSON."""
LETTERS = "_FCSDU"
"""Letters of the kinds of elements in a table, in the order of their codes; those in bounds have none."""


@dataclass(frozen=True, slots=True)
class AddressCall:
    """One call of the command."""

    model: str
    options: Mapping[str, object]
    file: str | None = None
    paste: str | None = None
    symbols: Mapping[str, str] = field(default_factory=dict)
    to: str | None = None
    draw: str | None = None
    picture: bool = True
    as_json: bool = False
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Equivalent:
    """The equivalent model of another kind, or the reasons why there is none."""

    kind: str
    model: object = None
    reasons: tuple[Violation, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The kind, the parameters, and the reasons, as plain values."""
        parameters = describe(self.model)[1] if self.model is not None else None
        return {"model": self.kind, "parameters": parameters, "violations": [asdict(one) for one in self.reasons]}


def address(call: AddressCall) -> int:
    """Print the answer about a model; 1 if a rule is broken, an input cannot be read, or there is no equivalent."""
    try:
        given = gathered(call.model, call.options, call.file, call.paste, call.symbols)
    except ParameterError as error:
        _print_problems(call, error)
        return 1
    answer = MODELS[call.model](given.values)
    answer.notes[:0] = given.notes
    equivalent = Equivalent(call.to or "")
    if call.to and answer.is_legal:
        equivalent = Equivalent(call.to, *converted(answer, call.to, given.values))
    code = _code(call, answer)
    if call.as_json:
        print_json(_to_json(call, given, answer, equivalent) | ({"code": code} if call.language else {}))
    elif call.language:
        _print_code(answer, code)
    else:
        _print(call, answer, equivalent)
    if call.draw is not None and answer.is_legal:
        _save(answer, call)
    return int(not answer.is_legal or bool(equivalent.reasons))


def _code(call: AddressCall, answer: Answer) -> str | None:
    """The model and its copy in the language that was asked for; None without one, or if a rule is broken."""
    write = answer.code
    if call.language is None or write is None or not answer.is_legal:
        return None
    language = call.language
    return answer.attempt(lambda: write(language))


def _print_code(answer: Answer, code: str | None) -> None:
    """Print code alone, so that it can go into a file; what is wrong or doubtful goes to standard error."""
    for violation in answer.violations:
        click.echo(_violation(violation) + "\n", err=True)
    for note in answer.notes:
        click.echo(f"note: {note}", err=True)
    if code is not None:
        click.echo(code, nl=False)


def _print_problems(call: AddressCall, error: ParameterError) -> None:
    if call.as_json:
        problems = [problem.to_json() | {"file": error.name} for problem in error.problems]
        print_json({"model": call.model, "legal": False, "problems": problems})
        return
    for problem in error.problems:
        _echo(problem.render(error.name))
    click.echo(f"{error.name}: {plural(len(error.problems), 'error')}")


def _echo(text: str) -> None:
    colours = coloured(sys.stdout)
    click.echo(paint(text) if colours else text, color=colours)


# --- JSON ------------------------------------------------------------------------------------------


def _to_json(call: AddressCall, given: Given, answer: Answer, equivalent: Equivalent) -> dict[str, object]:
    access = answer.access
    is_small = access is not None and access.element.size <= MOST_JSON
    found: dict[str, object] = {
        "model": call.model,
        "legal": answer.is_legal,
        "parameters": given.values,
        "violations": [asdict(violation) for violation in answer.violations],
        "numbers": answer.numbers,
        "kinds": access.counts() if access is not None else None,
        "fill": access.fill if access is not None and "filled" in access.counts() else None,
        "elements": access.element.tolist() if access is not None and is_small else None,
        "element_kinds": access.words.tolist() if access is not None and is_small else None,
        "notes": answer.notes,
    }
    return found | ({"equivalent": equivalent.to_json()} if call.to else {})


# --- text ------------------------------------------------------------------------------------------


def _print(call: AddressCall, answer: Answer, equivalent: Equivalent) -> None:
    for violation in answer.violations:
        _echo(_violation(violation) + "\n")
    errors = sum(violation.severity == "error" for violation in answer.violations)
    lints = len(answer.violations) - errors
    counts = [plural(number, noun) for number, noun in ((errors, "error"), (lints, "warning")) if number]
    click.echo(f"{answer.title}: " + ", ".join(counts if errors else ["no errors", *counts]))
    for note in answer.notes:
        click.echo(f"note: {note}")
    for name, value in _rows(answer):
        click.echo(f"  {name:<24}{value}".rstrip())
    if equivalent.kind and answer.is_legal:
        _print_equivalent(equivalent)
    if answer.access is not None and answer.is_legal:
        table = _table(answer.access)
        if table:
            click.echo("\nelements\n" + table)
    if call.picture and answer.drawn is not None and answer.is_legal:
        click.echo("\n" + _picture(answer), nl=False)


def _print_equivalent(equivalent: Equivalent) -> None:
    if equivalent.reasons:
        click.echo(f"\nno {equivalent.kind} says the same")
        for reason in equivalent.reasons:
            _echo(_violation(reason))
        return
    click.echo(f"\nthe same as {equivalent.kind}, element by element")
    for name, value in describe(equivalent.model)[1].items():
        click.echo(f"  {name:<24}{_in_words(value)}")


def _violation(violation: Violation) -> str:
    severity = "error" if violation.severity == "error" else "warning"
    return f"{severity}[{violation.rule}]: {violation.message}\n  hint: {violation.fix}\n  source: {violation.source}"


def _rows(answer: Answer) -> list[tuple[str, str]]:
    """The numbers of an answer as rows of a name and a text."""
    rows = []
    for name, value in answer.numbers.items():
        if name == "bank_conflicts":
            rows += [("reads in shared memory" if not k else "", _read(one)) for k, one in enumerate(value)]
        elif name == "tensor_map":
            rows += [(f"map {key}", _in_words(one)) for key, one in value.items()]
        else:
            rows.append(
                (name.replace("_", " "), _in_words(value, " x " if name in ("tile", "block", "blocks") else ", "))
            )
    if answer.access is not None:
        for word, count in answer.access.counts().items():
            fill = f", with {answer.access.fill:#x}" if word == "filled" else ""
            rows.append((word.replace("_", " "), f"{count}{fill}"))
    return rows


def _in_words(value: object, between: str = ", ") -> str:
    if isinstance(value, list):
        return between.join(f"({_in_words(one)})" if isinstance(one, list) else str(one) for one in value) or "none"
    return str(value)


def _read(one: Mapping[str, Any]) -> str:
    passes = f"{one['passes']} {'pass' if one['passes'] == 1 else 'passes'} over the banks, at best {one['ideal']}"
    other = one["passes_without_swizzle"]
    return f"{one['read']}: {passes}" + (f"; {other} without the swizzle" if other != one["passes"] else "")


def _table(access: Access) -> str:
    """The memory element of each element of a small tile, outer axes as rows; letters mark those out of bounds."""
    columns = access.shape[-1] if access.shape else 1
    element, kind = access.element.reshape(-1, columns), access.kind.reshape(-1, columns)
    if max(element.shape) > TABLE:
        return ""
    texts = [
        [_cell(code, number) for code, number in zip(*line, strict=True)]
        for line in zip(kind.tolist(), element.tolist(), strict=True)
    ]
    width = max(len(text) for line in texts for text in line)
    return "\n".join("  " + " ".join(text.rjust(width) for text in line) for line in texts)


def _cell(code: int, number: int) -> str:
    return (LETTERS[code] if code else "") + (str(number) if number >= 0 else "")


# --- pictures ----------------------------------------------------------------------------------------


def _picture(answer: Answer) -> str:
    from girih import draw

    try:
        return draw.text(answer.drawn, **answer.options)
    except draw.DrawingError as error:
        return f"no picture: {error}\n"


def _save(answer: Answer, call: AddressCall) -> None:
    from girih import draw

    assert call.draw is not None
    try:
        draw.save(answer.drawn, call.draw, **answer.options)
    except draw.DrawingError as error:
        wrong = click.ClickException if isinstance(error.__cause__, OSError) else click.UsageError
        raise wrong(f"--draw: {error}") from None
    click.echo(f"saved the picture to {click.format_filename(call.draw)}", err=call.as_json)
