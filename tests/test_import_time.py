"""`import girih` is cheap: it loads no array library, no compiler and no terminal library, and takes milliseconds.

What it costs is told as a ratio of processor seconds to those of a bare Python, which start the same way on the same
machine: other work slows both down.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]

BUDGET = 3.5
"""What a process that imports girih may cost, in bare Pythons; it is 2.4 where this was measured. The one limit on time
among the tests: a slow import is a defect, not a figure."""

ROUNDS = 3
MOST_ROUNDS = 12

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


def test_the_command_checks_modules_without_arrays_and_without_rich(run_command: Command) -> None:
    module = Path(__file__).resolve().parent.parent / "examples" / "shaders" / "tile.spv"
    program = f"""
from girih.cli import main
try:
    main(["check", {str(module)!r}])
except SystemExit as end:
    assert end.code == 1, end.code
"""
    assert loaded_after(program, run_command) & {"numpy", "ml_dtypes", "llvmlite", "rich", "matplotlib"} == set()


def processor_seconds(program: str, run_command: Command) -> float:
    """What a fresh Python with a program costs, in user and system time."""
    from resource import RUSAGE_CHILDREN, getrusage

    before = getrusage(RUSAGE_CHILDREN)
    done = run_command(sys.executable, "-c", program)
    after = getrusage(RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stdout
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.skipif(os.name != "posix", reason="the processor time of children as POSIX has it")
def test_import_is_within_its_budget(run_command: Command) -> None:
    processor_seconds("import girih", run_command)  # writes the byte code, which an installed package has
    bare: list[float] = []
    imported: list[float] = []
    # The least of several is what remains where other work gets in the way.
    while len(bare) < ROUNDS or (len(bare) < MOST_ROUNDS and min(imported) > BUDGET * min(bare)):
        bare.append(processor_seconds("pass", run_command))
        imported.append(processor_seconds("import girih", run_command))
    ratio = min(imported) / min(bare)
    assert ratio <= BUDGET, f"import girih costs {ratio:.1f} times as much as bare Python; {BUDGET} times are allowed"


def test_a_kernel_in_python_loads_no_masked_arrays(run_command: Command, tmp_path: Path) -> None:
    path = tmp_path / "filled.py"
    path.write_text(
        "import sys, numpy as np, girih, girih.language as gl\n"
        "@girih.kernel\ndef fill(Y: gl.Vector[gl.f32], a: gl.f32) -> None:\n    Y[0] = a\n"
        "fill(np.zeros(1, np.float32), 2.0)\n"
        "sys.exit('numpy.ma' in sys.modules)\n",
        encoding="utf-8",
    )
    done = run_command(sys.executable, str(path))
    assert done.returncode == 0, done.stdout
