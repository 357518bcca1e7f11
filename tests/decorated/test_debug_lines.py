"""Profilers and debuggers see the lines of a kernel's Python file: in PTX, in LLVM's locations, in DWARF."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import girih
import girih.language as gl
from girih.back.llvm.assemble.assembler import Cpu
from girih.decorated.variants import Variant
from girih.ir.limits import DEFAULT_LIMITS
from girih.runtime.cpu.executor import compiled


def doubled(x: gl.f32) -> gl.f32:
    return x + x  # helper


@girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 32))
def halve(X: gl.Vector[gl.f32]) -> None:
    for k in gl.foreach(32):
        i = gl.group_id(0) * 32 + k
        if i < X.shape[0]:  # condition
            half = 0.25 * doubled(X[i])  # load
            X[i] = half  # store


MARKS = {
    mark: number
    for number, line in enumerate(Path(__file__).read_text(encoding="utf-8").splitlines(), 1)
    if (mark := line.partition("  # ")[2])
}
FIRST, LAST = MARKS["helper"], MARKS["store"]


@pytest.fixture(scope="module")
def variant() -> Variant:
    return halve.variant(np.ones(40, np.float32))


def test_ptx_points_into_the_file(variant: Variant) -> None:
    files = dict(re.findall(r'\.file\s+(\d+) "([^"]*)"', variant.ptx))
    assert {Path(name).name for name in files.values()} == {Path(__file__).name}
    lines = {int(line) for line in re.findall(r"\.loc\s+\d+ (\d+)", variant.ptx)} - {0}
    assert lines >= {MARKS[mark] for mark in ("helper", "condition", "load", "store")}
    assert min(lines) >= FIRST
    assert max(lines) <= LAST


def test_a_store_has_the_line_of_its_statement(variant: Variant) -> None:
    before = variant.ptx.partition("st.global")[0]
    assert re.findall(r"\.loc\s+\d+ (\d+)", before)[-1] == str(MARKS["store"])


def test_code_for_the_cpu_points_into_the_file(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    text = variant.kernel.llvm_ir
    assert f'!DIFile(filename: "{Path(__file__).name}"' in text.replace(f"{Path(__file__).parent}/", "")
    lines = {int(line) for line in re.findall(r"!DILocation\(line: (\d+)", text)} - {0}
    assert lines >= {MARKS["load"], MARKS["store"]}
    assert FIRST <= min(lines) <= max(lines) <= LAST
    monkeypatch.setenv("GIRIH_DEBUGGER", "1")
    made = compiled(variant.ir, Cpu.host(), "off", DEFAULT_LIMITS).object
    assert b".debug_line" in made
    assert Path(__file__).name.encode() in made
