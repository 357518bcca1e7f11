"""The tables: only columns that say something, goals in words, and what falls short at the end."""

from __future__ import annotations

import pytest

from girih.bench.measuring.rows import Goal, Measurement, Versus
from girih.bench.report import Results, cells, duration, goal_in_words, head, tail, verdict_in_words

PEAK = Goal("of_peak", 0.85, 0.92)
ROWS = [
    Measurement("gemm", "gemm f32 n=512", 2e-3, flops=2e8, bytes=1e6, type="f32", against={"numpy": Versus(2e-3, 1.01)},
        figures={"of_peak": 0.9}, goals=(PEAK, Goal("numpy", 0.95, 1.0))),
    Measurement("gemm", "gemm f64 n=512", 4e-3, flops=2e8, bytes=1e6, type="f64", against={"numpy": Versus(3e-3, 0.75)},
        figures={"of_peak": 0.95}, goals=(PEAK, Goal("numpy", 0.95, 1.0))),
    Measurement("calls", "call", 4e-7, figures={"us": 0.4}, goals=(Goal("us", 1.5, 0.5),)),
]  # fmt: skip
ENVIRONMENT = {"cpu": "A CPU", "llvm_cpu": "znver4", "llvm": "22.1.0", "numpy": "2.4", "openblas_kernels": "SkylakeX",
               "torch": None, "libxsmm": None, "load": 0.1}  # fmt: skip
MACHINE = {"gflops": {"f32": 110.4, "f64": 55.0}, "gigabytes_per_second": 40.0}


def results(*rows: Measurement) -> Results:
    made = Results()
    made.take({"event": "environment", "environment": ENVIRONMENT, "machine": MACHINE})
    for row in rows:
        made.take({"event": "row", "row": row.to_json()})
    return made


@pytest.mark.parametrize(
    ("seconds", "shown"), [(1.5, "1.5 s"), (0.0125, "12.5 ms"), (4.2e-5, "42 \N{MICRO SIGN}s"), (7e-8, "70 ns")]
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_goals_in_words() -> None:
    assert goal_in_words(PEAK) == "peak \N{GREATER-THAN OR EQUAL TO} 0.85 / 0.92"
    assert goal_in_words(Goal("ms", 25, 10)) == "ms \N{LESS-THAN OR EQUAL TO} 25 / 10"
    assert goal_in_words(Goal("numpy", 1, 1)) == "numpy \N{GREATER-THAN OR EQUAL TO} 1"


def test_a_table_has_the_columns_that_say_something() -> None:
    shown = cells(ROWS[:2])
    assert list(shown) == ["time", "GFLOP/s", "of peak", "\N{MULTIPLICATION SIGN} numpy", "goal"]
    assert shown["of peak"] == ["0.90", "0.95"]
    assert shown["GFLOP/s"] == ["100", "50"]
    assert list(cells(ROWS[2:])) == ["time", "goal"]
    assert verdict_in_words(ROWS[1]) == "short: numpy"


def test_other_processes_are_said_beside_the_verdict() -> None:
    busy = Measurement("calls", "call", 4e-7, figures={"us": 0.4}, goals=(Goal("us", 1.5, 0.5),), load=3.44)
    assert verdict_in_words(busy) == "world class, load 3.4"
    assert "1 of 4 rows were measured while other processes ran" in tail(results(*ROWS, busy))


def test_what_no_peer_was_there_for_is_said() -> None:
    assert verdict_in_words(Measurement("rows", "softmax", 1.0, goals=(Goal("torch", 1.2, 2.0),))) == "not measured"
    assert verdict_in_words(Measurement("rows", "softmax", 1.0, goals=(Goal("checks", 1.1, 1.02),))) == ""


def test_head_and_tail() -> None:
    made = results(*ROWS)
    assert "A CPU (znver4), LLVM 22.1.0, NumPy 2.4 (SkylakeX)" in head(made)
    assert "f32 110, f64 55 GFLOP/s" in head(made)
    assert "other processes" not in head(made)
    assert tail(made).splitlines() == [
        "goals: 1 world class, 1 first, 1 short",
        "  gemm: gemm f64 n=512: 0.75, goal numpy \N{GREATER-THAN OR EQUAL TO} 0.95 / 1",
    ]
    made.environment["load"] = 3.0
    assert "other processes are running (load 3.0)" in head(made)


def test_the_status_follows_problems_and_refusals() -> None:
    made = results(*ROWS)
    assert made.status == 0
    made.take({"event": "problem", "group": "gemm", "name": "n=512", "message": "wrong"})
    assert made.status == 1
    made.take({"event": "refused", "status": 2, "message": "no torch"})
    assert made.status == 2
    assert made.to_json()["problems"] == [{"group": "gemm", "name": "n=512", "message": "wrong"}]
