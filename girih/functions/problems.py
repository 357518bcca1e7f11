"""What is wrong with the arguments of a function of arrays, as diagnostics; and the warning that an array is copied."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from girih.diagnostics import Diagnostic, LaunchError, warn_user
from girih.source import NOWHERE


class CopyWarning(UserWarning):
    """An array is copied, because its strides are not such that a kernel could use it as it is."""


def refuse(function: str, code: str, message: str, hint: str | None = None) -> NoReturn:
    """Raise a `LaunchError` with one diagnostic, which begins with the name of the function."""
    raise LaunchError([Diagnostic(code, f"{function}: {message}", NOWHERE, hint=hint)])


def tell_copy(function: str, name: str, why: str) -> None:
    """Warn, at the caller's line, that an argument is copied."""
    warn_user(f"{function}: {name} is copied: {why}", CopyWarning)


def listed(values: Iterable[object]) -> str:
    """Choices in words: `f16, f32 or f64`."""
    words = [str(value) for value in values]
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
