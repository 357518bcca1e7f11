"""Kernels as NVIDIA's assembler takes them: no error, no warning, no spills where none should be."""

from __future__ import annotations

from pathlib import Path

import pytest

import girih
from girih.back.llvm.nvptx.compile import compile_kernel
from girih.back.llvm.nvptx.machine.architecture import architecture_named
from girih.back.llvm.nvptx.machine.kernel import CudaVariant
from girih.diagnostics import CompileError
from girih.kernels import texts
from girih.kernels.table import TABLE
from tests.back.nvptx.assembling import needs_ptxas, ptxas
from tests.cases import crossed, every_case, one_in
from tests.ops import corpus

pytestmark = needs_ptxas

USUAL_ARCHITECTURE = "sm_90a"
OLDEST, NEWEST = "sm_80", "sm_120a"

SPILLING = {"attention": 160, "convolution": 256, "stencil": 128}
"""Kernels of the library that may spill, and how many bytes at most, stored and loaded.

The texts of the first two have the tiles of other targets where nobody asks for this one; the tiles that it has are
those of `test_registers.py`. The stencil asks for eight work-groups on a multiprocessor; what it spills is in front of
its loop, and in the version of the loop with checks. No other kernel may spill.
"""

PARTS = 24
"""Into how many tests the functions of a file are divided, of which `make test` has one."""

VARIANTS = [CudaVariant(narrow, disjoint) for narrow in (True, False) for disjoint in (True, False)]


@pytest.mark.parametrize(("path", "part"), crossed(corpus.files("run.tl"), range(PARTS)))
def test_run_vectors(path: Path, part: int, tmp_path: Path) -> None:
    """Functions of the corpus, each in the variant, for the architecture and with the checks that its number gives."""
    functions = [f for f in corpus.read(path).module.functions if f.name in corpus.functions_run(path)]
    with every_case() as case:
        for number, function in list(enumerate(functions))[part::PARTS]:
            name = (USUAL_ARCHITECTURE, OLDEST, USUAL_ARCHITECTURE, NEWEST)[number % 4]
            with case(f"@{function.name} for {name}"):
                architecture, variant = architecture_named(name), VARIANTS[number // 4 % 4]
                try:
                    kernel = compile_kernel(function, architecture, checks=number % 3 > 0, variant=variant)
                except CompileError as error:
                    assert {one.code for one in error.diagnostics} == {"run.target"}
                    continue
                assert ptxas(kernel.ptx, name, tmp_path).problems == ""


@pytest.mark.parametrize("checks", ["bounds", "off"])
@pytest.mark.parametrize("name", one_in(15, TABLE))
def test_kernels_of_the_library(name: str, checks: str, tmp_path: Path) -> None:
    architecture = architecture_named(USUAL_ARCHITECTURE)
    with every_case() as case:
        for function in girih.parse(texts.path(name).read_text(encoding="utf-8")).functions:
            with case(f"@{function.name}"):
                try:
                    kernel = compile_kernel(function, architecture, checks=checks == "bounds")
                except CompileError as error:
                    assert {one.code for one in error.diagnostics} == {"run.target"}
                    continue
                made = ptxas(kernel.ptx, USUAL_ARCHITECTURE, tmp_path)
                assert made.problems == ""
                assert made.spilled <= SPILLING.get(name, 0), made.log


@pytest.mark.parametrize("name", ["add", "abs", "WARP_SZ", "girih_local", "memset", "arguments", "x" * 3000])
def test_any_name_of_a_kernel_is_one_in_ptx(name: str, tmp_path: Path) -> None:
    text = f"func @{name}(%A: memref<f32x4>) {{\n%s = alloca : memref<f32x4,local>\n%0 = constant 0 : index\n"
    text += "%a = load %A[%0] : f32\nstore %a, %s[%0]\n%b = load %s[%0] : f32\nstore %b, %A[%0]\n}\n"
    (function,) = girih.parse(text).functions
    kernel = compile_kernel(function, architecture_named(USUAL_ARCHITECTURE))
    assert ptxas(kernel.ptx, USUAL_ARCHITECTURE, tmp_path).problems == ""


def test_spills_and_warnings_are_seen(tmp_path: Path) -> None:
    """What the assembler says of a kernel that it may give only few registers is read."""
    text = girih.loads(texts.path("rms_norm").read_text(encoding="utf-8"), target="cuda:sm_90a")["rms_norm"].ir
    ptx = compile_kernel(text, architecture_named(USUAL_ARCHITECTURE)).ptx
    few = ptxas(ptx.replace(".reqntid", ".maxnreg 24\n.reqntid"), USUAL_ARCHITECTURE, tmp_path)
    assert few.status == 0
    assert few.spilled > 0
    wrong = ptxas(ptx.replace("mov.u32", "mov.u99", 1), USUAL_ARCHITECTURE, tmp_path)
    assert wrong.status != 0
    assert "u99" in wrong.problems
