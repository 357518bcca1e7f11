"""Rows and summaries: the arithmetic of the table, and its JSON."""

from __future__ import annotations

import json

import pytest

from girih.bench.measuring.rows import MeasuredSummary, Measurement, Versus, geometric_mean, rate


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
    summary = MeasuredSummary("batched", "libxsmm")
    rows = [small("8", 0.8), small("16", 1.25), small("32", 9.0, group="other"), small("64", 9.0, peer="numpy")]
    mean, worst = summary.rows(rows)
    assert mean.name == "geometric mean"
    assert mean.value("libxsmm") == pytest.approx(1.0)
    assert (worst.name, worst.value("libxsmm"), worst.note) == ("worst", 0.8, "8")
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
        "a note",
        2.5,
    )
    held = json.loads(json.dumps(row.to_json()))
    assert Measurement.from_json(held) == row
    assert set(held) == {
        "group", "name", "threads", "checks", "seconds", "type", "flops", "bytes", "gflops", "gigabytes_per_second",
        "against", "figures", "note", "load", "busy",
    }  # fmt: skip
