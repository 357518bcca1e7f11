"""A sample of what `make test-aarch64` executes, where that has set its system up: kernels, a pool, a finding."""

from __future__ import annotations

import subprocess

import pytest

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
