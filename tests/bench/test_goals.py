"""The project's goals for the standard set: what reaches them, and that every goal is about a row that exists."""

from __future__ import annotations

import pytest

from benchmarks.cpu.goals import GOALS, Goal, goals_of, summary, verdicts
from girih.bench.child import groups
from girih.bench.measuring.rows import Measurement, Versus


@pytest.mark.parametrize(
    ("goal", "value", "verdict"),
    [
        (Goal("of_peak", 0.85, 0.92), 0.84, "short"),
        (Goal("of_peak", 0.85, 0.92), 0.85, "first"),
        (Goal("numpy", 0.95, 1.0), 1.0, "world class"),
        (Goal("ms", 25, 10), 26, "short"),
        (Goal("ms", 25, 10), 25, "first"),
        (Goal("us", 1.5, 0.5), 0.4, "world class"),
        (Goal("checks", 1.1, 1.02), 1.05, "first"),
    ],
)
def test_a_goal_is_reached_from_below_or_from_above(goal: Goal, value: float, verdict: str) -> None:
    assert goal.verdict(value) == verdict


def test_goals_in_words() -> None:
    assert str(Goal("of_peak", 0.85, 0.92)) == "at least 0.85, hoped for 0.92"
    assert str(Goal("ms", 25, 25)) == "at most 25"


def test_a_lost_comparison_is_not_hidden() -> None:
    """A goal for the speed-up alone says nothing of a peer that is faster."""
    figures = {"speedup": 1.97}
    lost = Measurement("threads", "n=1024", 1.0, 2, against={"numpy": Versus(0.74, 0.74)}, figures=figures)
    assert {goal.figure: verdict for goal, verdict in verdicts(lost).items()} == {
        "speedup": "world class",
        "numpy": "short",
    }
    assert goals_of(Measurement("library", "n=1024", 1.0, against={"numpy": Versus(0.5, 0.5)})) == ()


def test_the_summary_counts_rows_by_their_worst_figure() -> None:
    rows = [
        Measurement("gemm", "gemm f32 n=512", 2e-3, against={"numpy": Versus(2e-3, 1.01)}, figures={"of_peak": 0.9}),
        Measurement("gemm", "gemm f64 n=512", 4e-3, against={"numpy": Versus(3e-3, 0.75)}, figures={"of_peak": 0.95}),
        Measurement("calls", "call, 4 arrays and 4 scalars", 4e-7, figures={"us": 0.4}),
        Measurement("rows", "softmax f32 256 x 256", 1.0),
    ]
    assert summary(rows).splitlines() == [
        "goals: 1 world class, 1 first, 1 short",
        "  gemm: gemm f64 n=512: numpy 0.75, goal at least 0.95, hoped for 1",
    ]
    assert summary(rows[3:]) == ""


def test_every_goal_is_for_a_group_of_the_standard_set() -> None:
    assert {group for group, _, _ in GOALS} | {"threads"} == set(groups())
