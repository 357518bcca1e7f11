"""Arguments by name: those of a call, by position and by name, as one argument for each parameter in order.

The rules are Python's own: positional arguments come first, and each parameter gets one. Only names and counts are
looked at here; the values are looked at when they are bound.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from girih.diagnostics import Diagnostic, nearest
from girih.ir.core import Function, Parameter
from girih.ir.types import Type
from girih.source import NOWHERE, Span


class NamedParameter(Protocol):
    """A parameter as far as counting arguments needs it."""

    @property
    def name(self) -> str:
        """The name of the parameter, without `%`."""

    @property
    def type(self) -> Type:
        """The type of the parameter."""

    @property
    def span(self) -> Span:
        """The place where the program declares the parameter."""


def in_order(
    parameters: Sequence[Parameter], positional: Sequence[object], named: Mapping[str, object]
) -> tuple[object, ...] | None:
    """One argument for each parameter, in their order; None where names and counts do not match the parameters."""
    if len(positional) + len(named) != len(parameters):
        return None
    try:
        return (*positional, *[named[p.value.name] for p in parameters[len(positional) :]])
    except KeyError:
        return None


def name_problems(
    function: Function, signature: str, count: int, named: Collection[str], options: Mapping[str, str]
) -> list[Diagnostic]:
    """Everything that is wrong with a call of `count` arguments by position, and some by name.

    `options` has names that callers may take for arguments, and what to write instead. The code is `bind.count` where
    there are too many arguments by position or, without names, too few, and `bind.arguments` for names.
    """
    wanted = len(function.parameters)
    if not named and count < wanted:
        return [wrong_count(function.parameters, count)]
    too_many = [wrong_count(function.parameters, count)] if count > wanted else []
    return too_many + list(_problems(function, signature, count, named, options))


def wrong_count(parameters: Sequence[NamedParameter], given: int) -> Diagnostic:
    """The diagnostic of a number of arguments that is not the number of parameters."""
    wanted = len(parameters)
    listed = ", ".join(f"%{p.name}: {p.type}" for p in parameters) or "none"
    span = parameters[min(given, wanted - 1)].span if parameters else NOWHERE
    noun = "argument" if wanted == 1 else "arguments"
    message = f"the kernel takes {wanted} {noun}, got {given}"
    return Diagnostic("bind.count", message, span, hint=f"its parameters: {listed}")


def _problems(
    function: Function, signature: str, count: int, named: Collection[str], options: Mapping[str, str]
) -> Iterator[Diagnostic]:
    """The diagnostics of wrong names, those of the call first; a parameter that was probably meant is left out."""
    parameters = function.parameters
    numbers = {p.name: number for number, p in enumerate(parameters)}
    open = [p.name for p in parameters[count:] if p.name not in named]
    hint = f"the kernel is {signature}"
    for name in named:
        number = numbers.get(name)
        if number is None:
            instead, close = options.get(name), nearest(name, open)
            message = f"the kernel has no parameter {name!r}"
            if instead is None and close is not None:
                open.remove(close)
                message += f"; did you mean {close!r}?"
            yield _problem(message, function.span, instead or hint)
        elif number < count:
            message = f"%{name} is given twice: by position, as argument {number + 1}, and by name"
            yield _problem(message, parameters[number].span, hint)
    for name in open:
        parameter = parameters[numbers[name]]
        yield _problem(f"there is no argument for %{name}: {parameter.type}", parameter.span, hint)


def _problem(message: str, span: Span, hint: str) -> Diagnostic:
    return Diagnostic("bind.arguments", message, span, hint=hint)
