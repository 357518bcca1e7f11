"""`girih emit`: a checked file in another form: its canonical text, or the code that it is compiled to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress

import click

from girih.commands.parts.calls import refuse_file, unknown
from girih.commands.parts.report import counted, print_items
from girih.commands.parts.targets import target_of
from girih.commands.python.files import is_python
from girih.commands.shader.translated import analyzed_file
from girih.diagnostics import CompileError, errors, plural
from girih.ir.core import Function, Module, Order
from girih.lazy_dataclass import dataclass
from girih.runtime.targets import (
    ENVIRONMENT,
    FORMS,
    PROGRAM_FORM,
    REMARKS_FORM,
    ResolvedTarget,
    emitters,
    named_by_environment,
    no_form,
)


@dataclass(frozen=True, slots=True)
class EmitRequest:
    """A call of `girih emit`."""

    path: str
    function: str | None
    form: str
    target: str | None
    checks: str
    definitions: Mapping[str, str]
    output: str | None
    format: str = "text"
    arguments: tuple[str, ...] = ()
    """Of a kernel in Python: what it is specialised by, as `girih run` takes it."""
    order: Order | None = None


def emit_file(request: EmitRequest) -> int:
    """Write a program in a form to standard output or a file; 1 if it has an error, and then nothing is written."""
    target = _target(request)
    limits = None if target is None else target.row.limits
    module, problems = analyzed_file(
        request.path, request.definitions, limits, request.function, request.arguments, request.order
    )
    print_items(problems, to_stderr=True)
    if module is None or errors(problems):
        click.echo(f"{request.path}: {counted(problems)}", err=True)
        return 1
    if not is_python(request.path):
        module = _chosen(module, request.function)
    try:
        if request.form == REMARKS_FORM and target is not None:
            return _remarks(module, target, request)
        made = _compiled(module, target, request)
    except CompileError as error:
        print_items(error.diagnostics, to_stderr=True)
        click.echo(f"{request.path}: {counted(error.diagnostics)}", err=True)
        return 1
    if isinstance(made, bytes):
        write_bytes(made, request.output)
    else:
        write_text(made, request.output)
    return 0


def _chosen(module: Module, name: str | None) -> Module:
    """The module with the named function only; without a name, the module."""
    if name is None:
        return module
    function = module.function(name.removeprefix("@"))
    if function is None:
        unknown("kernel", name.removeprefix("@"), [f.name for f in module.functions])
    return Module((function,))


def _target(request: EmitRequest) -> ResolvedTarget | None:
    """The target whose limits the file is checked under, and that it is compiled for; None if none is needed.

    The canonical text needs a target only if `--target` names one. Raises `click.UsageError` if the target does not
    emit the form.
    """
    if request.format != "text" and request.form != REMARKS_FORM:
        raise click.UsageError(f"--format {request.format} is for --as {REMARKS_FORM}")
    if request.form == PROGRAM_FORM:
        return None if request.target is None else target_of(request.target, request.checks)
    form, others = request.form, emitters(request.form)
    name = request.target
    if name is None and named_by_environment() is None:
        name = next(iter((*FORMS[form].targets, *others)), None)
    target = target_of(name, request.checks)
    if form in target.row.emits:
        return target
    blamed = f"--as {form}"
    if others:
        blamed = f"--target {target}" if request.target is not None else f"{ENVIRONMENT}={target}"
    raise click.UsageError(f"{blamed}: {no_form(target.name, form)}")


def _remarks(module: Module, target: ResolvedTarget, request: EmitRequest) -> int:
    """Write the remarks on all kernels as text, or as one array (`Diagnostic.to_json`)."""
    remarks = [remark for function in module.functions for remark in target.remarks(function)]
    if request.format == "json":
        write_text(json.dumps([remark.to_json() for remark in remarks], indent=2) + "\n", request.output)
        return 0
    count = f"{request.path}: {plural(len(remarks), 'remark') if remarks else 'no remarks'}\n"
    if request.output in (None, "-"):
        print_items(remarks)
        click.echo(count, nl=False)
    else:
        write_text("\n".join([*(remark.render() + "\n" for remark in remarks), count]), request.output)
    return 0


def _compiled(module: Module, target: ResolvedTarget | None, request: EmitRequest) -> str | bytes:
    """The text of all kernels in a form, one after the other, or the bytes of one; they are not made ready to run."""
    form = request.form
    if target is None or form == PROGRAM_FORM:
        return str(module)
    targets = [target]
    if request.target is None and named_by_environment() is None:
        targets += [target_of(name, request.checks) for name in FORMS[form].targets[1:]]
    made = [_emitted(function, targets, form) for function in module.functions]
    if made and isinstance(made[0], bytes):
        if len(made) > 1:
            names = ", ".join(function.name for function in module.functions)
            raise click.UsageError(f"--as {form} writes one kernel to a file; name one of them: {names}")
        return made[0]
    return "\n".join(str(one) for one in made)


def _emitted(function: Function, targets: Sequence[ResolvedTarget], form: str) -> str | bytes:
    """A kernel in a form for the first target that accepts it. Raises the `CompileError` of the last one."""
    for target in targets[:-1]:
        with suppress(CompileError):
            return target.emit(function, form)
    return targets[-1].emit(function, form)


def write_bytes(content: bytes, output: str | None) -> None:
    """Write bytes to a file, or to standard output for None and `-`. Raises `click.ClickException` on failure."""
    if output in (None, "-"):
        click.echo(content, nl=False)
        return
    try:
        with open(output, "wb") as file:
            file.write(content)
    except (OSError, ValueError) as error:
        refuse_file(output, error)


def write_text(text: str, output: str | None) -> None:
    """Write a text to a file, or to standard output for None and `-`. Raises `click.ClickException` on failure."""
    if output in (None, "-"):
        click.echo(text, nl=False)
        return
    try:
        with open(output, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        refuse_file(output, error)
