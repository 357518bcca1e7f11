"""The standard set as a table of cases; each is a function of a `MeasuringContext` that gives rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from girih.bench.measuring.context import MeasuringContext
from girih.bench.measuring.rows import Measurement


@dataclass(frozen=True, slots=True)
class Case:
    """Something to measure, and its number of threads: 1, or `MANY` for the number that `--threads` gives."""

    group: str
    name: str
    run: Callable[[MeasuringContext], Sequence[Measurement]]
    threads: int = 1


MANY = 0
