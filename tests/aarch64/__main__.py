"""Tests on AArch64, executed by QEMU: `python -m tests.aarch64 [--cpu NAME]... [PYTEST'S ARGUMENTS]`.

Run vectors of all instructions, kernels of the library and shaders run with their machine code alone in the emulator
(`running.py`); launches with threads and signals run there as whole processes, whose kernels are compiled outside
(`compiling.py`). With arguments for pytest, these tests run in the first way. The exit status is 1 if a test
failed, and 2 where the system cannot be set up, which standard error says why.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.aarch64.compiling import PLACE, PYTHON, serve
from tests.aarch64.emulator import CPUS, FOLDER, ROOT, SetUpError, command, environment, set_up
from tests.aarch64.running import CPU

KERNELS: Sequence[Sequence[str]] = (
    ("tests/ops/test_ops.py", "-k", "test_run and cpu"),
    ("tests/kernels",),
    ("-m", "", "tests/shaders/test_shaders.py", "-k", "cpu or stops"),
)
PROCESSES: Sequence[str] = (
    "tests/runtime/test_cpu_launch.py",
    "-k",
    "(interrupt or signal_handlers or finding or each_thread or work_group_runs or several_python) and not fork",
)
"""Launches on the pool. QEMU 7.2 itself fails where a forked child starts threads, so that forks are left out."""

COMPILER = FOLDER / "compiler"


@dataclass(frozen=True, slots=True)
class Run:
    """A process of pytest: the name of a processor, arguments, and whether all of the process is emulated."""

    cpu: str
    arguments: Sequence[str]
    whole: bool = False

    def tested(self) -> int:
        """The exit status of pytest; what it says is printed when it has ended."""
        plugin = "compiling" if self.whole else "running"
        words = ["-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "-p", f"tests.aarch64.{plugin}"]
        done = subprocess.run(
            command(CPUS[self.cpu], *words, *self.arguments)
            if self.whole
            else [sys.executable, *words, *self.arguments],
            cwd=ROOT,
            env=environment(**self._variables()) if self.whole else {**os.environ, CPU: self.cpu},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        print(f"--- {self.cpu}: {' '.join(self.arguments)}\n{done.stdout}", flush=True)
        return done.returncode

    def _variables(self) -> Mapping[str, str]:
        """Those of an emulated process; among them is a program that starts another one, as this system cannot."""
        python = FOLDER / f"python-{self.cpu}"
        paths = shlex.quote(environment()["PYTHONPATH"])
        words = shlex.join(command(CPUS[self.cpu]))
        python.write_text(f'#!/bin/sh\nPYTHONPATH={paths} exec {words} "$@"\n', encoding="utf-8")
        python.chmod(0o755)
        return {PLACE: str(COMPILER), PYTHON: str(python), "SECONDS_OF_TESTS": "1200"}


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.aarch64", description="Tests on AArch64, executed by QEMU.")
    parser.add_argument("--cpu", action="append", choices=list(CPUS), help="a processor; without it, all of them")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    known, rest = parser.parse_known_args()
    try:
        set_up()
    except SetUpError as error:
        print(f"not tested on AArch64: {error}", file=sys.stderr)
        return 2
    chosen = [Run(name, words) for name in known.cpu or CPUS for words in ([rest] if rest else KERNELS)]
    if not rest:
        chosen.append(Run((known.cpu or ["sve256"])[0], PROCESSES, whole=True))
    with serve(COMPILER), ThreadPoolExecutor(known.jobs) as several:
        statuses = list(several.map(Run.tested, chosen))
    return int(any(statuses))


if __name__ == "__main__":
    sys.exit(main())
