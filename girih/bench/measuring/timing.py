"""Times functions in turns: what shares the machine slows all of them, so ratios of neighbours in time stay true.

Where one thread is measured, its time on the processor counts: what else runs in between does not.
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


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a sample takes at least, in seconds, and how many samples there are of each function."""

    seconds: float
    rounds: int


THOROUGH = Effort(0.01, 15)
QUICK = Effort(0.001, 5)


@dataclass(frozen=True, slots=True)
class Samples:
    """Seconds of a call, by function and round."""

    seconds: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        """The median time of a function."""
        return median(self.seconds[name])

    def ratio(self, name: str, over: str) -> float:
        """The median over the rounds of the time of one function over that of another."""
        return median(a / b for a, b in zip(self.seconds[name], self.seconds[over], strict=True))


def clock_for(threads: int) -> Clock:
    """The clock for calls that use so many threads."""
    return time.thread_time if threads == 1 else time.perf_counter


def interleaved(functions: Mapping[str, Call], effort: Effort, clock: Clock = time.perf_counter) -> Samples:
    """Time functions in turns, each round beginning with another one; every one has run before."""
    counts: dict[str, int] = {}
    round_seconds = 0.0
    for name, call in functions.items():
        counts[name], once = _count(call, effort.seconds, clock)
        round_seconds += counts[name] * once
    rounds = min(effort.rounds, max(FEWEST, int(LONGEST / max(round_seconds, 1e-9))))
    order = list(functions)
    found: dict[str, list[float]] = {name: [] for name in order}
    for _ in range(rounds):
        for name in order:
            found[name].append(_seconds(functions[name], counts[name], clock))
        order.append(order.pop(0))
    return Samples(found)


def _count(call: Call, seconds: float, clock: Clock) -> tuple[int, float]:
    """How many calls take so long, and what one takes."""
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
