"""The targets that the options `--target`, `--checks` and `--against` name."""

from __future__ import annotations

import click

from girih.runtime.targets import ResolvedTarget, TargetError, resolve


def target_of(name: str | None, checks: str | None = None) -> ResolvedTarget:
    """The target of `--target` and `--checks`, None for the default. Raises `click.UsageError` for the wrong option."""
    settings = {} if checks is None else {"checks": checks}
    try:
        return resolve(name, **settings)
    except TargetError as error:
        given = {"target": name, **settings}[error.blames]
        blamed = "" if given is None else f"--{error.blames} {given}: "
        raise click.UsageError(f"{blamed}{error}") from None


def known_other(name: str | None) -> None:
    """Raise `click.UsageError` where `--against` names a target that there is not, before anything runs."""
    if name is None:
        return
    try:
        resolve(name)
    except TargetError as error:
        raise click.UsageError(f"--against {name}: {error}") from None
