"""The tables: only columns that say something, and what was measured on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from girih.bench.measuring.rows import Measurement, Versus
from girih.bench.report import Results, cells, duration, head, remark, tail, title

ROWS = [
    Measurement("gemm", "gemm f32 n=512", 2e-3, flops=2e8, bytes=1e6, type="f32", against={"numpy": Versus(2e-3, 1.01)},
        figures={"of_peak": 0.9}),
    Measurement("gemm", "gemm f64 n=512", 4e-3, flops=2e8, bytes=1e6, type="f64", against={"numpy": Versus(3e-3, 0.75)},
        figures={"of_peak": 0.95}),
    Measurement("calls", "call", 4e-7, figures={"us": 0.4}),
]  # fmt: skip
ENVIRONMENT = {"cpu": "A CPU", "llvm_cpu": "znver4", "description": "like znver4", "amx": False,
               "llvm": "22.1.0", "numpy": "2.4", "openblas_kernels": "SkylakeX",
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


def test_a_table_has_the_columns_that_say_something() -> None:
    shown = cells(ROWS[:2])
    assert list(shown) == ["time", "GFLOP/s", "of peak", "\N{MULTIPLICATION SIGN} numpy"]
    assert shown["of peak"] == ["0.90", "0.95"]
    assert shown["GFLOP/s"] == ["100", "50"]
    assert list(cells(ROWS[2:])) == ["time"]
    assert title("gemm", ROWS[:2]) == "Large products, one instruction, one thread, checks off"


def test_a_comparison_of_checks_has_a_direction() -> None:
    row = Measurement("own", "@axpby on 1", 2e-3, figures={"checks": 1.25}, checks="off")
    assert cells([row])["time with checks / without"] == ["1.25"]
    assert title("own", [row]) == "Kernel, checks off, compared with checks"
    assert title("own", [replace(row, checks="bounds")]) == "Kernel, checks bounds, compared with none"


def test_other_processes_are_said_beside_the_row() -> None:
    busy = Measurement("calls", "call", 4e-7, figures={"us": 0.4}, note="a note", load=3.44)
    assert remark(busy) == "load 3.4, a note"
    assert [remark(row) for row in ROWS] == ["", "", ""]
    assert tail(results(*ROWS, busy)) == "1 of 4 rows were measured while other processes ran"
    assert tail(results(*ROWS)) == ""


def test_head() -> None:
    made = results(*ROWS)
    assert "A CPU (znver4), LLVM 22.1.0, NumPy 2.4 (SkylakeX)" in head(made)
    assert "f32 110, f64 55 GFLOP/s" in head(made)
    assert "other processes" not in head(made)
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
