"""Timing in turns, with a clock that the functions themselves move."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from girih.bench.measuring.timing import FEWEST, Effort, Samples, interleaved, rest_for


class Clock:
    """Time that passes only when a function says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[str] = []

    def __call__(self) -> float:
        return self.now

    def function(self, name: str, seconds: float) -> Callable[[], None]:
        def run() -> None:
            self.calls.append(name)
            self.now += seconds

        return run


def test_a_sample_is_long_enough_and_a_time_is_for_one_call() -> None:
    clock = Clock()
    samples = interleaved({"short": clock.function("short", 0.25)}, Effort(2.0, 3), clock)
    assert samples.seconds == {"short": [0.25] * 3}
    assert clock.calls[-24:] == ["short"] * 24


def test_functions_take_turns_and_another_one_begins_each_round() -> None:
    clock = Clock()
    functions = {name: clock.function(name, 2.0) for name in "ab"}
    interleaved(functions, Effort(1.0, 5), clock)
    assert "".join(clock.calls[-10:]) == "abbaabbaab"


def test_after_a_rest_the_first_call_is_not_timed() -> None:
    clock = Clock()
    samples = interleaved({name: clock.function(name, 2.0) for name in "ab"}, Effort(1.0, 5), clock, rest=1e-9)
    assert "".join(clock.calls[-20:]) == "aabbbbaaaabbbbaaaabb"
    assert samples.seconds == {name: [2.0] * 5 for name in "ab"}
    assert rest_for(1) == 0.0 < rest_for(2)


def test_long_calls_have_fewer_rounds() -> None:
    clock = Clock()
    samples = interleaved({"long": clock.function("long", 100.0)}, Effort(0.01, 50), clock)
    assert len(samples.seconds["long"]) == FEWEST


def test_the_ratio_is_the_median_of_ratios_of_neighbours() -> None:
    # The machine is twice as slow in the second round: the ratio is the same, that of the medians is not.
    samples = Samples({"ours": [1.0, 2.0, 1.0, 2.0], "peer": [3.0, 6.0, 3.0, 6.0]})
    assert samples.ratio("peer", "ours") == 3.0
    assert samples.median("ours") == pytest.approx(1.5)
