"""`import girih` is cheap: it loads no array library, no compiler and no terminal library, and takes milliseconds."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]

BUDGET = 0.060
"""Seconds over bare Python. The one limit on time among the tests: a slow import is a defect, not a figure."""

ROUNDS = 7
ATTEMPTS = 4

HEAVY = {"numpy", "ml_dtypes", "llvmlite", "click", "rich", "matplotlib"}

VALID = "func @f(%alpha: f32, %A: memref<f32x4>, %B: memref<f32x4>) {\n    axpby %alpha, %A, %alpha, %B\n}\n"
AFTER_CHECK = f"""
import sys, girih
assert girih.check({VALID!r}) == []
"""


def loaded_after(program: str, run_command: Command) -> set[str]:
    """The packages that a fresh Python holds after a program."""
    done = run_command(sys.executable, "-c", f"{program}\nimport json, sys\nprint(json.dumps(list(sys.modules)))")
    assert done.returncode == 0, done.stdout
    return {name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


def test_import_loads_nothing_heavy(run_command: Command) -> None:
    loaded = loaded_after("import girih", run_command)
    assert "girih" in loaded
    assert loaded & HEAVY == set()


def test_checking_loads_neither_arrays_nor_terminal(run_command: Command) -> None:
    assert loaded_after(AFTER_CHECK, run_command) & HEAVY == set()


def test_the_command_checks_without_arrays_and_without_rich(run_command: Command, tmp_path: Path) -> None:
    path = tmp_path / "valid.tl"
    path.write_text(VALID, encoding="utf-8")
    program = f"""
from girih.cli import main
try:
    main(["check", {str(path)!r}])
except SystemExit as end:
    assert not end.code, end.code
"""
    assert loaded_after(program, run_command) & {"numpy", "ml_dtypes", "llvmlite", "rich", "matplotlib"} == set()


def seconds(program: str, run_command: Command) -> float:
    start = time.perf_counter()
    done = run_command(sys.executable, "-c", program)
    elapsed = time.perf_counter() - start
    assert done.returncode == 0, done.stdout
    return elapsed


def import_cost(run_command: Command) -> float:
    """Seconds of `import girih` over bare Python: the median of differences of neighbours in time."""
    differences = [seconds("import girih", run_command) - seconds("pass", run_command) for _ in range(ROUNDS)]
    return statistics.median(differences)


def test_import_is_within_its_budget(run_command: Command) -> None:
    seconds("import girih", run_command)  # writes the byte code, which an installed package has
    costs: list[float] = []
    while len(costs) < ATTEMPTS:
        costs.append(import_cost(run_command))
        if costs[-1] <= BUDGET:
            return
    # A busy machine is slow once; a slow import is slow every time.
    pytest.fail(f"import girih took {[round(1000 * cost) for cost in costs]} ms over bare Python, allowed are 60")
