"""A progress bar for long launches: on a terminal only, and only after a second."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""The seconds before the bar is shown."""


class Bar(AbstractContextManager["Bar"]):
    """A bar on standard error; it is called with the number of work-groups that are done, and that of all."""

    def __init__(self, title: str, patience: float = PATIENCE) -> None:
        self.title = title
        self.seen = sys.stderr.isatty()
        self.begin = time.monotonic() + patience
        self.bar: Progress | None = None
        self.task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: int, total: int) -> None:
        if not self.seen or time.monotonic() < self.begin:
            return
        if self.bar is None:
            self.bar = self._started(total)
        if self.task is not None:
            self.bar.update(self.task, completed=done, total=total)

    def _started(self, total: int) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("work-groups")
        bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self.task = bar.add_task(self.title, total=total)
        bar.start()
        return bar

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()
