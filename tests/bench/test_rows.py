"""Rows, goals and summaries: the arithmetic of the table, and its JSON."""

from __future__ import annotations

import json

import pytest

from girih.bench.measuring.rows import Goal, MeasuredSummary, Measurement, Versus, geometric_mean, rate


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


def test_a_row_is_as_good_as_the_worst_of_its_goals() -> None:
    goals = (Goal("of_peak", 0.85, 0.92), Goal("numpy", 0.95, 1.0), Goal("torch", 1.2, 2.0))
    row = Measurement(
        "gemm", "n=512", 1.0, against={"numpy": Versus(2.0, 0.97)}, figures={"of_peak": 0.95}, goals=goals
    )
    assert row.verdicts == {"of_peak": "world class", "numpy": "first"}
    assert row.verdict == "first"


def test_what_was_not_measured_has_no_verdict() -> None:
    assert Measurement("gemm", "n=512", goals=(Goal("torch", 1.2, 2.0),)).verdict is None
    assert Measurement("gemm", "n=512", figures={"of_peak": 0.1}).verdict is None


def test_a_lost_comparison_is_not_hidden() -> None:
    """A goal for the speed-up alone says nothing of a peer that is faster."""
    goals, figures = (Goal("speedup", 1.8, 1.93),), {"speedup": 1.97}
    lost = Measurement("threads", "n=1024", 1.0, 2, against={"numpy": Versus(0.74, 0.74)}, figures=figures, goals=goals)
    assert lost.verdicts == {"speedup": "world class", "numpy": "short"}
    assert lost.verdict == "short"
    won = Measurement("threads", "n=1024", 1.0, 2, against={"numpy": Versus(1.1, 1.1)}, figures=figures, goals=goals)
    assert won.verdict == "world class"
    assert Measurement("library", "n=1024", 1.0, against={"numpy": Versus(0.5, 0.5)}).verdict is None


def test_a_row_of_a_busy_machine_says_so() -> None:
    assert not Measurement("gemm", "n=512", load=1.2).busy
    assert Measurement("gemm", "n=512", load=2.5).busy
    assert not Measurement("gemm", "n=512", threads=2, load=2.5).busy
    assert not Measurement("gemm", "n=512").busy


def test_rates() -> None:
    row = Measurement("gemm", "n=512", 0.5, flops=4e9, bytes=1e9)
    assert (row.gflops, row.gigabytes) == (8.0, 2.0)
    assert rate(None, 1.0) is None
    assert rate(1e9, None) is None


def test_geometric_mean() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([1.0, 8.0, 1.0]) == pytest.approx(2.0)
    with pytest.raises(ValueError, match="no values"):
        geometric_mean([])


def small(name: str, ratio: float, group: str = "batched", peer: str = "libxsmm") -> Measurement:
    return Measurement(group, name, 1.0, against={peer: Versus(1.0, ratio)})


def test_a_summary_has_the_mean_and_the_worst_of_its_group() -> None:
    summary = MeasuredSummary("batched", "libxsmm", (0.95, 1.05), (0.85, 0.98))
    rows = [small("8", 0.8), small("16", 1.25), small("32", 9.0, group="other"), small("64", 9.0, peer="numpy")]
    mean, worst = summary.rows(rows)
    assert (mean.name, mean.verdict) == ("geometric mean", "first")
    assert mean.value("libxsmm") == pytest.approx(1.0)
    assert (worst.name, worst.value("libxsmm"), worst.verdict, worst.note) == ("worst", 0.8, "short", "8")
    assert summary.rows(rows[2:]) == []


def test_a_row_survives_json() -> None:
    row = Measurement(
        "gemm",
        "n=512",
        0.5,
        2,
        "bounds",
        1e9,
        2e9,
        "f32",
        {"numpy": Versus(0.6, 1.2)},
        {"of_peak": 0.9},
        (Goal("of_peak", 0.85, 0.92),),
        "a note",
        2.5,
    )
    held = json.loads(json.dumps(row.to_json()))
    assert Measurement.from_json(held) == row
    assert set(held) == {
        "group", "name", "threads", "checks", "seconds", "type", "flops", "bytes", "gflops", "gigabytes_per_second",
        "against", "figures", "goals", "verdicts", "verdict", "note", "load", "busy",
    }  # fmt: skip
    assert held["goals"] == [
        {"figure": "of_peak", "first": 0.85, "world_class": 0.92, "value": 0.9, "verdict": "first"}
    ]
