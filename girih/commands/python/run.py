"""`girih run` of a kernel in Python: specialised by the arguments that are given, which are used as they are."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from girih.commands.parts.report import print_items, print_json
from girih.commands.parts.run_request import RunRequest, keeping_lines, launch_options_of, request_against
from girih.commands.parts.save import checked_saves, save_all
from girih.commands.parts.summary import LaunchSummary, arrays_of
from girih.commands.parts.targets import target_of
from girih.commands.python.arguments import PythonArguments
from girih.commands.python.files import kernel_of
from girih.commands.shader.against import (
    TargetComparison,
    compared_arrays,
    exit_status,
    found_by_other,
)
from girih.diagnostics import plural
from girih.front.python.signature import shown

if TYPE_CHECKING:
    from girih.decorated.python_kernel import PythonKernel


def run_python(request: RunRequest) -> int:
    """Run a kernel and print a summary; 1 if the kernel or an argument is wrong, or if the run has findings."""
    return exit_status(_run, request, "the kernel")


def _run(request: RunRequest) -> int:
    _refuse_others(request)
    options = launch_options_of(request, target_of(request.target, request.checks))
    kernel = kernel_of(request.file, request.function)
    kernel = kernel.on(request.target, checks=request.python_checks).options(**options)
    if request.grid is not None:
        kernel = kernel[request.grid]
    definition = kernel.definition
    given = PythonArguments.of(definition, request.arguments, request.definitions)
    lacking = [shown(p) for p in given.missing(definition, launched=True)]
    if lacking:
        raise click.UsageError(f"{kernel.name} needs {plural(len(lacking), 'value')} more: {', '.join(lacking)}")
    values = given.values(definition, request.seed, request.python_order)
    variant = kernel.variant(*values)
    function = variant.ir
    saves = checked_saves(function, given.arrays, request.saves)
    by_name = {p.name: value for p, value in zip(definition.parameters, values, strict=True)}
    summary = LaunchSummary(function, [by_name[p.name] for p in function.parameters])
    grid = kernel.grid or kernel.grid_for(*values)
    if not request.as_json:
        print_items(variant.warnings, to_stderr=True)
    start = time.perf_counter()
    with keeping_lines(request):
        kernel(*values)
    seconds = time.perf_counter() - start
    remarks = list(variant.kernel.executor.remarks)
    save_all([pair for s in saves for pair in zip(s.paths, arrays_of(by_name[s.name]), strict=True)])
    against = None if request.against is None else _against(request, kernel, given, by_name)
    status = 0 if against is None or against.agrees else 1
    if request.as_json:
        print_json({"diagnostics": [d.to_json() for d in (*variant.warnings, *remarks)], "findings": [],
                    "printed": request.printed, "summary": summary.to_json(grid, seconds),
                    **({} if against is None else {"against": against.to_json()})})  # fmt: skip
        return status
    print_items(remarks, to_stderr=True)
    click.echo(summary.render(grid, seconds))
    for save in saves:
        click.echo(f"saved {save.name} to {', '.join(save.paths)}")
    if against is not None:
        click.echo("\n".join(against.lines()))
    return status


def _against(
    request: RunRequest, kernel: PythonKernel, given: PythonArguments, mine: Mapping[str, object]
) -> TargetComparison:
    """The launch on the other target, with arguments as they were before the first, beside what the first one gave."""
    other = request_against(request)
    target_of(other.target, other.checks)
    definition = kernel.definition
    theirs = given.values(definition, request.seed, request.python_order)
    checks = None if request.python_checks is None else other.checks
    launched = kernel.options(choices=None, max_steps=None, races=None).on(other.target, checks=checks)
    with found_by_other("the kernel", request), keeping_lines(request):
        launched(*theirs)
        launched.synchronize()
    parameters = [(p, value) for p, value in zip(definition.parameters, theirs, strict=True) if p.kind != "constant"]
    pairs = [(p.name, arrays_of(mine[p.name]), arrays_of(value)) for p, value in parameters]
    found = compared_arrays(pairs, other.target, request.ulps)
    return TargetComparison(kernel.name, request.target, other.target, found)


def _refuse_others(request: RunRequest) -> None:
    """Raise `click.UsageError` for options that are for other files."""
    for given, flag, what in (
        (request.push, "--push", "shaders"),
        (request.expected, "--expect", "shaders"),
    ):
        if given:
            raise click.UsageError(f"{flag} is for {what}; {request.file} has kernels in Python")
