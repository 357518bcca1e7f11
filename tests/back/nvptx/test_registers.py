"""What the assembler makes of the library's kernels with matrices: no values that leave the registers.

Where there is no `ptxas`, the PTX is only looked at.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import girih
from girih import kernels
from girih.back.llvm.nvptx.compile import compile_kernel
from girih.back.llvm.nvptx.machine.architecture import ARCHITECTURES, architecture_named
from girih.back.llvm.nvptx.matrix.instructions import instructions_for
from girih.back.llvm.nvptx.matrix.tiles import product_tile
from girih.facts.accumulators import product_accumulator
from girih.ir.types import BF16, F32, F64, NUMBERS
from girih.runtime.cuda.code.resources import KernelResources
from tests.back.harness import same
from tests.back.nvptx.launch import PtxMachineKernel
from tests.back.nvptx.test_fragments import GEMM, PRODUCTS
from tests.cases import one_in

TARGET = "cuda:sm_90a"

KERNELS: dict[str, tuple[Callable[[], Any], str, int]] = {
    "gemm": (lambda: kernels.gemm(target=TARGET), "", 0),
    "gemm bf16": (lambda: kernels.gemm(type="bf16", target=TARGET), "m16n8k16.row.col.f32.bf16.bf16.f32", 140),
    "gemm f64": (lambda: kernels.gemm(type="f64", target=TARGET), "m16n8k16.row.col.f64.f64.f64.f64", 0),
    "gemm i8": (lambda: kernels.gemm(type="i8", target=TARGET), "m16n8k32.row.col.s32.s8.s8.s32", 140),
    "gemm_epilogue": (lambda: kernels.gemm_epilogue(target=TARGET), "", 0),
    "gemm_mixed": (lambda: kernels.gemm_mixed(target=TARGET), "m16n8k32", 140),
    "gemm_tall_skinny": (lambda: kernels.gemm_tall_skinny(k=16, n=16, target=TARGET), "", 0),
    "attention": (lambda: kernels.attention(headdim=64, target=TARGET), "", 0),
    "attention bf16": (lambda: kernels.attention(headdim=64, type="bf16", target=TARGET), "m16n8k16", 0),
    "gemm_q4_0": (lambda: kernels.gemm_q4_0(target=TARGET), "", 0),
    "gemm_q8_0": (lambda: kernels.gemm_q8_0(target=TARGET), "", 0),
}
"""Kernels, the instruction in their PTX, and how many bytes may be spilled at most.

Tiles of 64 x 64 sums take half of all registers; where such a kernel reads C it needs them twice, once for each tile.
Weights that gemm_q4_0 and gemm_q8_0 decode are never in registers together.
"""


@pytest.mark.parametrize("name", one_in(3, KERNELS))
def test_numbers_stay_in_registers(name: str, tmp_path: Path) -> None:
    make, instruction, most = KERNELS[name]
    architecture = architecture_named("sm_90a")
    made = compile_kernel(make().ir, architecture, checks=False)
    assert instruction in made.ptx
    assert ("mma.sync" in made.ptx) == bool(instruction)
    assert not re.search(r"\.local\b", made.ptx)
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        return
    file = tmp_path / "kernel.ptx"
    file.write_text(made.ptx)
    command = [ptxas, "-v", "-arch=sm_90a", str(file), "-o", str(tmp_path / "kernel.cubin")]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    found = KernelResources.in_log(log, made.entry)
    assert found is not None
    assert max(found.spill_stores, found.spill_loads) <= most, log


@pytest.mark.parametrize("name", ["q4_0", "q8_0"])
def test_decoded_factors_inside_and_at_edges(name: str) -> None:
    """Tiles of 64 rows and two blocks: one whole, one that lacks rows, and both once more that lack a block."""
    random = np.random.default_rng(5)
    weights = kernels.quantize(np.asfortranarray(random.normal(size=(70, 96)).astype(np.float32)), name)
    x = np.asfortranarray(random.normal(size=(96, 3)).astype(np.float32))
    found = np.zeros((70, 3), np.float32, order="F")
    make = {"q4_0": kernels.gemm_q4_0, "q8_0": kernels.gemm_q8_0}[name]
    PtxMachineKernel(make(target=TARGET).ir)((2, 1, 1), weights, x, found)
    same(found, kernels.dequantize(weights, name) @ x, 1e-5)


def test_tiles_of_products() -> None:
    """Half of the registers of a thread, a quarter where numbers are multiplied one by one."""
    for factors, sums, share in ((BF16, F32, 2), (F32, F32, 4), (F64, F64, 4)):
        rows, columns, _ = product_tile(factors, sums)
        assert rows * columns * sums.size // 4 // 32 == 256 // share


@pytest.mark.parametrize(("type", "dtype"), [("f32", np.float32), ("bf16", ml_dtypes.bfloat16)])
def test_products_of_the_library_with_edges(type: str, dtype: Any) -> None:
    kernel = kernels.gemm(type=type, transpose_b=True, target=TARGET)
    m, n, k = 70, 66, 40
    random = np.random.default_rng(3)
    shapes = ((m, k), (n, k), (m, n))
    a, b, c = (np.asfortranarray(random.integers(-3, 4, shape)).astype(np.float32) for shape in shapes)
    a, b = a.astype(dtype), b.astype(dtype)
    found = c.copy(order="F")
    PtxMachineKernel(kernel.ir)((2, 3, 1), 2.0, a, b, 3.0, found)
    same(found, 2 * a.astype(np.float32) @ b.astype(np.float32).T + 3 * c, 1e-5)


@pytest.mark.parametrize("name", one_in(4, ARCHITECTURES))
def test_products_are_code_for_every_architecture(name: str, tmp_path: Path) -> None:
    """The assembler takes the instructions that are chosen for an architecture, for factors of every type."""
    architecture, ptxas = architecture_named(name), shutil.which("ptxas")
    for types in PRODUCTS:
        a, b, c, r = types
        text = GEMM.format(a=a, b=b, c=c, r=r, m=32, n=16, k=32, ta="", tb="", more="")
        made = compile_kernel(girih.loads(text, target="interpreter")["f"].ir, architecture)
        sums = product_accumulator(NUMBERS[c], NUMBERS[r])
        instructions = instructions_for(NUMBERS[a], NUMBERS[b], sums, architecture.capability)
        assert ("mma.sync" in made.ptx) == bool(instructions)
        if ptxas is not None:
            file = tmp_path / f"{'_'.join(types)}.ptx"
            file.write_text(made.ptx)
            subprocess.run([ptxas, f"-arch={name}", str(file), "-o", str(tmp_path / "cubin")], check=True)
