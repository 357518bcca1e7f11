"""`girih run`: a kernel on arrays from files or made for the run. Files are written only after success, all or none."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from girih.commands.parts.array_specifications import Specification, parse_argument
from girih.commands.parts.arrays import ArrayInputError, ArrayMaker
from girih.commands.parts.calls import checked_definitions, read_by_ending, read_program, unknown
from girih.commands.parts.progress import Bar
from girih.commands.parts.report import print_items, print_json
from girih.commands.parts.run_request import RunRequest, keeping_lines, launch_options_of, refuse_run, request_against
from girih.commands.parts.save import Save, checked_saves, save_all
from girih.commands.parts.summary import LaunchSummary, arrays_of
from girih.commands.parts.targets import known_other, target_of
from girih.commands.python.files import is_python
from girih.commands.shader.against import (
    FoundByOtherTarget,
    TargetComparison,
    compared_arrays,
    finding_verdict,
    found_by_other,
)
from girih.diagnostics import CompileError, Diagnostic, KernelError, LaunchError
from girih.front.shaders.files import is_module
from girih.ir.core import Function

if TYPE_CHECKING:
    from girih.api import Kernel

_GROUP_HINTS = {
    "bind.group_offset": "write it behind the list, as in [...]@3",
    "bind.group_shape": "write the shape of each memref behind the offset, as in [...]@3:[4x5,2x2]",
}
"""By code, what the command line writes where Python code passes a `girih.Group`."""


def run_kernel(request: RunRequest) -> int:
    """Run a kernel and print a summary; 1 if the program or an argument is wrong, or if the run has findings."""
    known_other(request.against)
    if is_module(request.file):
        from girih.commands.shader.run import run_shader

        return run_shader(request)
    if is_python(request.file):
        from girih.commands.python.run import run_python

        return run_python(request)
    try:
        return _run(request)
    except CompileError as error:
        return refuse_run(request, read_by_ending(request.file, error.diagnostics), [])
    except LaunchError as error:
        return refuse_run(request, [_in_words_of_the_command(d) for d in error.diagnostics], [])
    except FoundByOtherTarget as other:
        return refuse_run(request, [], other.findings, verdict=other.verdict)
    except KernelError as error:
        verdict = finding_verdict("the kernel", request.target, request.against) if request.against else None
        return refuse_run(request, [], error.findings, verdict=verdict)
    except ArrayInputError as error:
        return refuse_run(request, [], [], str(error))


def _run(request: RunRequest) -> int:
    kernel, warnings = _kernel(request)
    if not request.as_json:
        print_items(warnings, to_stderr=True)
    function = kernel.ir
    given = _given(function, request.arguments)
    saves = checked_saves(function, given, request.saves)
    maker = ArrayMaker(request.seed, function.order)
    values = [maker.value(p, number, given[p.name]) for number, p in enumerate(function.parameters, 1)]
    summary = LaunchSummary(function, values)
    grid = kernel.grid or kernel.grid_for(*values)
    with keeping_lines(request):
        seconds, remarks = _launch(kernel, values)
    save_all(_arrays(saves, function, values))
    against = None if request.against is None else _against(request, kernel, given, values)
    status = 0 if against is None or against.agrees else 1
    if request.as_json:
        print_json({"diagnostics": [d.to_json() for d in (*warnings, *remarks)], "findings": [],
                    "printed": request.printed, "summary": summary.to_json(grid, seconds),
                    **({} if against is None else {"against": against.to_json()})})  # fmt: skip
    else:
        print_items(remarks, to_stderr=True)
        click.echo(summary.render(grid, seconds))
        for save in saves:
            click.echo(f"saved {save.name} to {', '.join(save.paths)}")
        if against is not None:
            click.echo("\n".join(against.lines()))
    return status


def _against(
    request: RunRequest, kernel: Kernel, given: Mapping[str, Specification], values: Sequence[object]
) -> TargetComparison:
    """The launch on the other target, with arguments as they were before the first, beside what the first one gave."""
    other, _ = _kernel(request_against(request))
    function, maker = other.ir, ArrayMaker(request.seed, other.ir.order)
    theirs = [maker.value(p, number, given[p.name]) for number, p in enumerate(function.parameters, 1)]
    with found_by_other("the kernel", request), keeping_lines(request):
        _launch(other, theirs)
    pairs = [(p.name, arrays_of(mine), arrays_of(came))
             for p, mine, came in zip(function.parameters, values, theirs, strict=True)]  # fmt: skip
    found = compared_arrays(pairs, other.target, request.ulps)
    return TargetComparison(f"@{kernel.name}", kernel.target, other.target, found)


def _kernel(request: RunRequest) -> tuple[Kernel, tuple[Diagnostic, ...]]:
    from girih.api import program_of
    from girih.program import compile_source, in_order

    if request.function is None:
        raise click.UsageError("Missing argument 'FUNCTION'.")
    for given, flag in ((request.push, "--push"), (request.expected, "--expect")):
        if given:
            raise click.UsageError(f"{flag} is for shaders; {request.file} is a program")
    target = target_of(request.target, request.checks)
    options = launch_options_of(request, target)
    definitions = checked_definitions(request.definitions)
    module, warnings = compile_source(read_program(request.file), definitions, target.row.limits)
    program = program_of(in_order(module, request.order), target, warnings)
    name = request.function.removeprefix("@")
    if name not in program:
        unknown("kernel", name, program)
    kernel = program[name] if request.grid is None else program[name][request.grid]
    return kernel.options(**options), program.warnings


def _given(function: Function, texts: Sequence[str]) -> dict[str, Specification]:
    """The specification of every parameter by name."""
    known = [p.name for p in function.parameters]
    given: dict[str, Specification] = {}
    for text in texts:
        name, value = parse_argument(text)
        if name not in known:
            unknown("argument", name, known)
        if name in given:
            raise click.UsageError(f"the argument {name!r} is given twice")
        given[name] = value
    missing = [f"{p.name} ({p.type})" for p in function.parameters if p.name not in given]
    if missing:
        noun = "a value for" if len(missing) == 1 else "values for"
        raise click.UsageError(f"@{function.name} needs {noun} {', '.join(missing)}")
    return given


def _launch(kernel: Kernel, values: Sequence[object]) -> tuple[float, list[Diagnostic]]:
    """The seconds that the launch took, and its remarks; a progress bar is shown if the target reports progress."""
    start = time.perf_counter()
    if kernel.resolved.row.option("progress") is None:
        kernel(*values)
    else:
        with Bar(f"@{kernel.name}") as bar:
            kernel = kernel.options(progress=bar)
            kernel(*values)
    seconds = time.perf_counter() - start
    # What the compiler remarks is asked for with `girih emit`.
    return seconds, list(kernel.executor.remarks)


def _arrays(saves: Sequence[Save], function: Function, values: Sequence[object]) -> list[tuple[str, object]]:
    by_name = {p.name: value for p, value in zip(function.parameters, values, strict=True)}
    return [pair for save in saves for pair in zip(save.paths, arrays_of(by_name[save.name]), strict=True)]


def _in_words_of_the_command(problem: Diagnostic) -> Diagnostic:
    """A problem of the launch, whose hint names no Python where the command line has a notation of its own."""
    in_python = (problem.hint or "").startswith("pass girih.Group(")
    return replace(problem, hint=_GROUP_HINTS[problem.code]) if in_python else problem
