"""What a call of the command says of targets: `--target` and `--checks` become a target, or a wrong call."""

from __future__ import annotations

import click

from girih.runtime.targets import ResolvedTarget, TargetError, resolve


def target_of(name: str, checks: str | None = None) -> ResolvedTarget:
    """The target of `--target` and `--checks`; says what is wrong with the one that is to blame."""
    settings = {} if checks is None else {"checks": checks}
    try:
        return resolve(name, **settings)
    except TargetError as error:
        given = {"target": name, **settings}[error.blames]
        raise click.UsageError(f"--{error.blames} {given}: {error}") from None
