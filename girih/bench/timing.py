"""Times functions in turns: what shares the machine slows all of them, so ratios of neighbours in time stay true."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

Call = Callable[[], object]


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


def interleaved(functions: Mapping[str, Call], effort: Effort) -> Samples:
    """Time functions in turns, each round beginning with another one; every one has run before."""
    counts = {name: _count(call, effort.seconds) for name, call in functions.items()}
    order = list(functions)
    found: dict[str, list[float]] = {name: [] for name in order}
    for _ in range(effort.rounds):
        for name in order:
            found[name].append(_seconds(functions[name], counts[name]))
        order.append(order.pop(0))
    return Samples(found)


def _count(call: Call, seconds: float) -> int:
    """How many calls take so long."""
    count = 1
    call()
    while (taken := _seconds(call, count) * count) < seconds / 2:
        count = max(2 * count, min(10 * count, int(count * seconds / max(taken, 1e-9))))
    return max(1, round(count * seconds / taken)) if taken < seconds else count


def _seconds(call: Call, count: int) -> float:
    repeated = range(count)
    start = time.perf_counter()
    for _ in repeated:
        call()
    return (time.perf_counter() - start) / count
