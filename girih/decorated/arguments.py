"""The arguments of a call, by position and by name, as one for each parameter in order: Python's own rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import Parameter

from girih.diagnostics import Diagnostic, LaunchError, nearest
from girih.front.python.signature import Declared, shown
from girih.source import Span


def in_order(
    parameters: Sequence[Declared],
    arguments: Sequence[object],
    named: Mapping[str, object],
    *,
    head: Span,
    signature: str,
    instead: Mapping[str, str],
) -> tuple[object, ...]:
    """One argument for each parameter. Raises `LaunchError` with everything that is wrong.

    `head` is the place of the function, `signature` its name and parameters; `instead` has names that callers may take
    for parameters, with what to write.
    """
    problems = list(_problems(parameters, arguments, named, head, signature, instead))
    if problems:
        raise LaunchError(problems)
    rest = (named.get(p.name, p.default) for p in parameters[len(arguments) :])
    return (*arguments, *rest)


def _problems(
    parameters: Sequence[Declared],
    arguments: Sequence[object],
    named: Mapping[str, object],
    head: Span,
    signature: str,
    instead: Mapping[str, str],
) -> Iterator[Diagnostic]:
    """Everything that is wrong with names and counts."""
    hint = f"the kernel is {signature}"
    numbers = {p.name: number for number, p in enumerate(parameters)}
    if len(arguments) > len(parameters):
        most = f"{len(parameters)} argument{'' if len(parameters) == 1 else 's'}"
        yield Diagnostic("bind.count", f"the kernel takes {most}, got {len(arguments)}", head, hint=hint)
    open = [p.name for p in parameters[len(arguments) :] if p.name not in named]
    for name in named:
        number = numbers.get(name)
        if number is None:
            close = nearest(name, open)
            message = f"the kernel has no parameter {name!r}"
            if name not in instead and close is not None:
                open.remove(close)
                message += f"; did you mean {close!r}?"
            yield Diagnostic("bind.arguments", message, head, hint=instead.get(name, hint))
        elif number < len(arguments):
            message = f"{name} is given twice: by position, as argument {number + 1}, and by name"
            yield Diagnostic("bind.arguments", message, parameters[number].span, hint=hint)
    for name in open:
        parameter = parameters[numbers[name]]
        if parameter.default is Parameter.empty:
            message = f"there is no argument for {shown(parameter)}"
            yield Diagnostic("bind.arguments", message, parameter.span, hint=instead.get(name, hint))
