"""Each remark of a compiler: a program that gets it on the lines that say so, and a twin that does not.

The files `remarks/CODE.tl` hold the function @worse, with `; remark: CODE` on guilty lines, and the function @better.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import girih
from girih.back.llvm.cpu.compile import lower
from girih.back.spirv.machine.compile import compile_kernel
from girih.back.spirv.profiles.hopper import HOPPER
from girih.back.spirv.profiles.opencl import OPENCL_INTEL_CPU
from girih.back.spirv.profiles.profile import Profile
from girih.diagnostics import Diagnostic
from girih.facts.remarks import CPU_REMARKS, OPENCL_REMARKS, VULKAN_REMARKS, Remarks, RemarkWords
from girih.ir.core import Function
from girih.source import Source, Span
from tests.back.harness import TARGET
from tests.cases import every_case

FILES = sorted((Path(__file__).parent / "remarks").glob("*.tl"))
EXPECTED = re.compile(r"; remark: (.*)")
OF_MATRICES = {"vulkan.matrix", "vulkan.gemm", "vulkan.lines"}
"""The codes of what concerns devices with matrices."""

LONG = {"cpu.cut", "cpu.stack"}
"""The codes of very long kernels, whose programs are made here."""

TILED = {"cpu.amx", "cpu.amx_unused"}
"""The codes of processors with tiles (`test_amx.py`)."""


def remarks_on(function: Function) -> tuple[Diagnostic, ...]:
    return lower(function, TARGET).remarks


def remarks_for(function: Function, profile: Profile) -> tuple[Diagnostic, ...]:
    return compile_kernel(function, profile, checks=True).remarks


def test_a_program_gets_a_remark_and_its_twin_does_not() -> None:
    assert {path.stem for path in FILES} | LONG | TILED == {*CPU_REMARKS, *VULKAN_REMARKS}
    assert {code.replace("opencl", "vulkan") for code in OPENCL_REMARKS} == {*VULKAN_REMARKS} - OF_MATRICES
    with every_case() as case:
        for path in FILES:
            with case(path.stem):
                text = path.read_text(encoding="utf-8")
                module = girih.parse(text)
                worse, better = module.function("worse"), module.function("better")
                assert worse is not None and better is not None
                if path.stem in CPU_REMARKS:
                    assert_told(path.stem, text, remarks_on(worse), remarks_on(better))
                    continue
                assert_told(path.stem, text, remarks_for(worse, HOPPER), remarks_for(better, HOPPER))
                code = path.stem.replace("vulkan", "opencl")
                if code in OPENCL_REMARKS:
                    told = [remarks_for(one, OPENCL_INTEL_CPU) for one in (worse, better)]
                    assert_told(code, text.replace(path.stem, code), *told)


def assert_told(code: str, text: str, worse: tuple[Diagnostic, ...], better: tuple[Diagnostic, ...]) -> None:
    """The remarks on a program are those that its lines announce, the code is one, and its twin has none of it."""
    expected = [
        (number, announced)
        for number, line in enumerate(text.splitlines(), 1)
        for listed in EXPECTED.findall(line)
        for announced in listed.split(", ")
    ]
    assert [(remark.span.line, remark.code) for remark in worse] == expected
    assert code in {remark.code for remark in worse}
    assert all(remark.severity == "remark" and remark.hint for remark in worse)
    assert code not in {remark.code for remark in better}


def long_kernel(count: int, size: int) -> Function:
    """A kernel that loads `count` matrices, all of which are alive before they are added up."""
    type = f"coopmatrix<f32x{size}x{size},matrix_acc>"
    loads = [f"%a{k} = cooperative_matrix_load %A[%z, %z] : {type}" for k in range(count)]
    scaled = [f"%b{k} = cooperative_matrix_scale %x, %a{k} : {type}" for k in range(count)]
    sums = [f"%s{k} = add {'%b0' if k == 1 else f'%s{k - 1}'}, %b{k} : {type}" for k in range(1, count)]
    stored = f"cooperative_matrix_store %s{count - 1}, %A[%z, %z]"
    lines = "\n".join(("%z = constant 0 : index", "parallel {", *loads, *scaled, *sums, stored, "}"))
    (function,) = girih.parse(f"func @f(%A: memref<f32x{size}x{size}>, %x: f32) {{\n{lines}\n}}").functions
    return function


def test_long_kernels_are_remarked_on() -> None:
    found = {remark.code: remark for remark in remarks_on(scalars(500))}
    assert found["cpu.cut"].message.startswith("the region has about ")
    assert "cpu.cut" not in {remark.code for remark in remarks_on(scalars(5))}
    spilled = {remark.code: remark for remark in remarks_on(long_kernel(40, 16))}
    assert re.search("on a stack of its own, of [0-9]+ bytes", spilled["cpu.stack"].message)
    assert spilled["cpu.stack"].span.text.startswith("func @f")
    assert "cpu.stack" not in {remark.code for remark in remarks_on(long_kernel(2, 16))}


def scalars(count: int) -> Function:
    lines = "\n".join(f"%y{k} = mul %{'x' if k == 0 else f'y{k - 1}'}, %x : f32" for k in range(count))
    text = f"func @f(%A: memref<f32>, %x: f32) {{\n{lines}\nstore %y{count - 1}, %A[]\n}}"
    (function,) = girih.parse(text).functions
    return function


def test_remarks_are_in_source_order_and_each_is_there_once() -> None:
    source = Source("load\nstore\n", "text")
    first, second = Span(source, 0, 4), Span(source, 5, 10)
    remarks = Remarks("cpu")
    b, a = RemarkWords("b", "two", "mend"), RemarkWords("a", "one", "mend")
    for words, span in ((b, second), (b, first), (a, second), (b, second), (a, first)):
        remarks.note(words, span)
    assert [(d.code, d.span.line) for d in remarks.diagnostics()] == [
        ("cpu.a", 1), ("cpu.b", 1), ("cpu.a", 2), ("cpu.b", 2),
    ]  # fmt: skip
    nameless = Remarks()
    nameless.note(a, first)
    assert nameless.diagnostics() == ()


def test_a_kernel_has_remarks_whether_it_is_compiled_or_kept() -> None:
    text = (Path(__file__).parent / "remarks" / "cpu.gather.tl").read_text(encoding="utf-8")
    kernels = [girih.loads(text, target="cpu")["worse"] for _ in range(2)]
    assert [str(remark) for remark in kernels[0].remarks] == [str(remark) for remark in kernels[1].remarks]
    assert [remark.code for remark in kernels[0].remarks] == ["cpu.gather"]
    assert kernels[0][2].remarks == kernels[0].remarks
    assert kernels[0].ir.span.source is kernels[0].remarks[0].span.source
    assert "cpu.bounds" in {r.code for r in girih.loads(BOUNDS, target="cpu")["worse"].remarks}
    assert girih.loads(BOUNDS, target="cpu", checks="off")["worse"].remarks == ()
    interpreted = girih.loads(text, target="interpreter")["worse"]
    interpreted[1](np.zeros((8, 64), np.float32, order="F"), np.zeros(64, np.float32))
    assert interpreted.remarks == ()


BOUNDS = (Path(__file__).parent / "remarks" / "cpu.bounds.tl").read_text(encoding="utf-8")
