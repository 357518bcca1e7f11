"""A call of `girih run`, and what runs of programs and of shaders share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import field, replace
from io import StringIO

import click

from girih.commands.parts.report import counted, print_items, print_json
from girih.diagnostics import Diagnostic, Finding, plural
from girih.ir.core import Order
from girih.lazy_dataclass import dataclass
from girih.runtime.targets import CHECKING, CHECKS, ResolvedTarget, targets_with, who_has_it


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A call of `girih run`; without a function, the only one of a shader is meant."""

    file: str
    function: str | None
    arguments: tuple[str, ...]
    grid: tuple[int, ...] | None
    definitions: Mapping[str, str]
    saves: tuple[str, ...]
    seed: int
    choices: int | None
    max_steps: int | None
    races: bool | None
    target: str
    checks: str
    order: Order
    as_json: bool
    push: str | None = None
    """Of shaders: the push constants as they are written."""
    expected: tuple[str, ...] = ()
    """Of shaders: buffers, and the files of what a driver wrote to them."""
    ulps: int = 0
    seeds: int = 4
    """Of shaders: how many seeds each latitude gets where a buffer is not as expected; 0 for no look at them."""
    against: str | None = None
    """The target whose results are compared, None for none."""
    python_order: Order | None = None
    """Of kernels in Python: the order of arrays, None for that of files and C."""
    python_checks: str | None = None
    """Of kernels in Python: the checks, None for what the decorator says."""
    printed: list[str] = field(default_factory=list)
    """The lines that the kernel has printed, where they are a part of the JSON."""


def request_against(request: RunRequest) -> RunRequest:
    """The same call on the other target, without what only the first one has."""
    target = request.against or request.target
    plain = CHECKS[0] if target == CHECKING else request.checks
    return replace(request, target=target, checks=plain, choices=None, max_steps=None, races=None)


_FLAGS = {"races": "--no-races"}
"""The options of the command that are not named as those of the launch."""


def launch_options_of(request: RunRequest, target: ResolvedTarget) -> dict[str, object]:
    """The options of the launch. Raises `click.UsageError` if the target lacks one."""
    given: dict[str, object] = {"choices": request.choices, "max_steps": request.max_steps, "races": request.races}
    lacking = [name for name, value in given.items() if value is not None and target.row.option(name) is None]
    if lacking:
        refused = f"the target {target.name!r} has no such option"
        flags = {name: _FLAGS.get(name, f"--{name.replace('_', '-')}") for name in lacking}
        raise click.UsageError(
            "\n".join(f"{flag}: {refused}; {who_has_it(targets_with(name))}" for name, flag in flags.items())
        )
    if request.choices is None:
        return given

    from girih.interpreter.machine.choices import Choices

    return {**given, "choices": Choices(request.choices)}


def refuse_run(
    request: RunRequest,
    diagnostics: Sequence[Diagnostic],
    findings: Sequence[Finding],
    message: str | None = None,
    verdict: str | None = None,
) -> int:
    """Print why a run failed; nothing was saved. The result is the exit status 1.

    `verdict` is what follows for a comparison of two targets.
    """
    if request.as_json:
        print_json({
            "diagnostics": [d.to_json() for d in diagnostics],
            "findings": [f.to_json() for f in findings],
            "printed": request.printed,
            "summary": None if message is None else {"error": message},
            **({} if verdict is None else {"against": {"target": request.against, "verdict": verdict}}),
        })  # fmt: skip
        return 1
    if message is not None:
        click.echo(f"error: {message}")
        return 1
    print_items([*diagnostics, *findings])
    nothing = f"; nothing was saved ({plural(len(request.saves), 'file')})" if request.saves else ""
    click.echo(f"{request.file}: {counted([*diagnostics, *findings])}{nothing}")
    if verdict is not None:
        click.echo(verdict)
    return 1


@contextmanager
def keeping_lines(request: RunRequest) -> Iterator[None]:
    """A context in which what the kernel prints goes into the JSON, if that is what the command prints."""
    if not request.as_json:
        yield
        return
    output = StringIO()
    try:
        with redirect_stdout(output):
            yield
    finally:
        request.printed.extend(output.getvalue().splitlines())
