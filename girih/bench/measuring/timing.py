"""The timing of functions in turns: other processes slow all of them, so that ratios of neighbours in time stay true.

For one thread its time on the processor counts, without other processes that run in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

Call = Callable[[], object]
Clock = Callable[[], float]

LONGEST = 6.0
"""Seconds that the samples of one row take together at most, unless fewer than `FEWEST` would be left."""

FEWEST = 5

REST = 0.05
"""Seconds between functions that use several threads: OpenBLAS's and OpenMP's threads spin on after a call."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The least seconds of a sample, and the number of samples of each function."""

    seconds: float
    rounds: int


THOROUGH = Effort(0.01, 15)
QUICK = Effort(0.001, 5)


@dataclass(frozen=True, slots=True)
class Samples:
    """The seconds of a call, by function and round."""

    seconds: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        """The median seconds of a call of a function."""
        return median(self.seconds[name])

    def ratio(self, name: str, over: str) -> float:
        """The median over the rounds of the time of one function over that of another."""
        return median(a / b for a, b in zip(self.seconds[name], self.seconds[over], strict=True))


def clock_for(threads: int) -> Clock:
    """The clock for calls that use `threads` threads: of the processor for one, of the wall for more."""
    return time.thread_time if threads == 1 else time.perf_counter


def interleaved(
    functions: Mapping[str, Call], effort: Effort, clock: Clock = time.perf_counter, rest: float = 0.0
) -> Samples:
    """The times of functions called in turns; each round begins with another function, and all have run before.

    With a `rest`, so many seconds pass before each function's turn, which then begins with a call that is not timed:
    threads of another library that still spin would be measured, and those of this one sleep.
    """
    counts: dict[str, int] = {}
    round_seconds = 0.0
    for name, call in functions.items():
        time.sleep(rest)
        counts[name], once = _count(call, effort.seconds, clock)
        round_seconds += counts[name] * once + rest
    rounds = min(effort.rounds, max(FEWEST, int(LONGEST / max(round_seconds, 1e-9))))
    order = list(functions)
    found: dict[str, list[float]] = {name: [] for name in order}
    for _ in range(rounds):
        for name in order:
            if rest:
                time.sleep(rest)
                functions[name]()
            found[name].append(_seconds(functions[name], counts[name], clock))
        order.append(order.pop(0))
    return Samples(found)


def rest_for(threads: int) -> float:
    """The rest between functions that use `threads` threads."""
    return 0.0 if threads == 1 else REST


def _count(call: Call, seconds: float, clock: Clock) -> tuple[int, float]:
    """The number of calls that take a number of seconds, and the seconds of one call."""
    count = 1
    call()
    while (once := _seconds(call, count, clock)) * count < seconds / 2:
        count = max(2 * count, min(10 * count, int(seconds / max(once, 1e-9))))
    return max(1, round(seconds / once)), once


def _seconds(call: Call, count: int, clock: Clock) -> float:
    repeated = range(count)
    start = clock()
    for _ in repeated:
        call()
    return (clock() - start) / count
