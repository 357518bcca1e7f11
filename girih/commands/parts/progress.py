"""A progress bar for what takes long: on a terminal, after a second; elsewhere lines, where they are asked for."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self

import click

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""The seconds before the bar is shown."""
LINES = 10.0
"""The seconds before each line where there is no terminal."""


class Bar(AbstractContextManager["Bar"]):
    """A bar on standard error; it is called with the number of work-groups that are done, and that of all.

    `unit` is what is counted. With `lines`, standard error that is no terminal gets a line every `LINES` seconds.
    """

    def __init__(
        self, title: str, patience: float = PATIENCE, *, unit: str = "work-groups", lines: bool = False
    ) -> None:
        self.title, self.unit = title, unit
        self.seen = sys.stderr is not None and sys.stderr.isatty()
        self.lines = lines and sys.stderr is not None and not self.seen
        self.begin = time.monotonic() + (LINES if self.lines else patience)
        self.bar: Progress | None = None
        self.task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: int, total: int) -> None:
        if not (self.seen or self.lines) or time.monotonic() < self.begin:
            return
        if self.lines:
            self.begin = time.monotonic() + LINES
            click.echo(f"{self.title}: {done} of {total} {self.unit}", err=True)
            return
        if self.bar is None:
            self.bar = self._started(total)
        if self.task is not None:
            self.bar.update(self.task, completed=done, total=total)

    def _started(self, total: int) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(self.unit)
        bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self.task = bar.add_task(self.title, total=total)
        bar.start()
        return bar

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()
