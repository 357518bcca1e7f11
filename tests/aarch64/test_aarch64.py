"""A sample of what `make test-aarch64` executes, where that has set its system up: kernels, a pool, a finding."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.aarch64 import emulator
from tests.aarch64.__main__ import main
from tests.aarch64.compiling import PLACE, serve
from tests.aarch64.emulator import CPUS, FOLDER, command, environment, is_ready

SCRIPT = """
import os
import numpy as np
import girih
from girih.back.llvm.assemble.assembler import Cpu
from tests.aarch64.compiling import ask
ask(os.environ["COMPILER_OF_TESTS"])
text = '''
func @product(%a: memref<f32x33x35>, %b: memref<f32x35x37>, %c: memref<f32x33x37>) {
    %one = constant 1.0 : f32
    %zero = constant 0.0 : f32
    gemm %one, %a, %b, %zero, %c
}
func @count(%A: memref<i32x?>) {
    %g = group_id.x : index
    %one = constant 1 : i32
    store %one, %A[%g]
}
'''
program = girih.loads(text)
a, b, c = (np.asfortranarray(np.arange(m * n, dtype="f4").reshape(m, n) % 7) for m, n in ((33, 35), (35, 37), (33, 37)))
program["product"][1](a, b, c)
counted = np.zeros(50_000, "i4")
program["count"][50_000](counted)
try:
    program["count"][50_001](counted)
except girih.KernelError as error:
    print(error.findings[0].code, error.findings[0].index)
from girih.runtime.cpu.pool import process_pool
print(np.array_equal(c, a @ b), counted.all(), process_pool().workers, Cpu.host().vector_bits)
"""


@pytest.mark.skipif(not is_ready(), reason="`make test-aarch64` has not set up its emulated system")
def test_kernels_a_pool_and_a_finding() -> None:
    with serve(FOLDER / "sample"):
        done = subprocess.run(
            command(CPUS["sve256"], "-c", SCRIPT),
            env=environment(**{PLACE: str(FOLDER / "sample")}, GIRIH_CACHE_SIZE="0", GIRIH_NUM_THREADS="3"),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout.splitlines() == ["run.out_of_bounds (50000,)", "True True 2 256"], done.stderr


def status_with(tools: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit status on a machine whose programs are some scripts, and where nothing has been set up."""
    for name, script in tools.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(emulator, "FOLDER", folder)
    monkeypatch.setattr(emulator, "_READY", folder / "ready")
    monkeypatch.setattr(sys, "argv", ["tests.aarch64"])
    return main()


def test_a_machine_without_an_emulator_fails_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_with({"apt-get": "", "dpkg-deb": ""}, tmp_path, monkeypatch) == 2
    assert capsys.readouterr().err == (
        "not tested on AArch64: this machine has no qemu-aarch64 (Debian's package qemu-user)\n"
    )


def test_packages_that_are_not_to_be_had_fail_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    offline = 'echo "W: no list" >&2; echo "E: Unable to locate package libstdc++6" >&2; exit 100'
    tools = {"apt-get": offline, "dpkg-deb": "", "qemu-aarch64": ""}
    assert status_with(tools, tmp_path, monkeypatch) == 2
    assert capsys.readouterr().err == (
        "not tested on AArch64: packages cannot be fetched: apt-get: E: Unable to locate package libstdc++6\n"
    )
