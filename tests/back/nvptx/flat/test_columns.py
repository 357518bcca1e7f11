"""The texts that GPUs load for columns of a known length: the same numbers as those for any length, read once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import girih
from girih import kernels
from girih.back.llvm.nvptx.compile import compile_kernel
from girih.back.llvm.nvptx.machine.architecture import architecture_named
from girih.ir.types import NUMBERS
from girih.kernels.loading import gpu_text
from girih.runtime.cuda.target import CudaTarget
from tests.back.harness import copy_of, same
from tests.back.nvptx.assembling import needs_ptxas, ptxas
from tests.back.nvptx.launch import PtxMachineKernel
from tests.kernels.arrays import random, zeros

LENGTHS = [("bf16", 1000), ("bf16", 998), ("f16", 520), ("f32", 1024), ("f64", 300)]
NAMES = ("softmax", "rms_norm", "layernorm")
TOLERANCES = {"f16": 2e-3, "bf16": 1e-2, "f32": 1e-5, "f64": 1e-12}


def sums(type_: str) -> str:
    return "f64" if type_ == "f64" else "f32"


def definitions(type_: str, length: int, loaded: int = 1) -> dict[str, object]:
    """What the library defines for GPUs."""
    sizes = CudaTarget("sm_90a").column_by_work_group(NUMBERS[type_], NUMBERS[sums(type_)], loaded, length)
    assert sizes is not None
    return {"type": type_, "accumulator": sums(type_), **sizes}


def arguments(name: str, type_: str, length: int, columns: int) -> list[Any]:
    """The arguments of a kernel; the last one is written."""
    x, y = random(type_, length, columns), zeros(type_, length, columns)
    gamma, beta = random(type_, length), random(type_, length, seed=1)
    between: dict[str, list[Any]] = {"softmax": [], "rms_norm": [gamma, 1e-5], "layernorm": [gamma, beta, 1e-5]}
    return [x, *between[name], y]


def expected(name: str, type_: str, given: list[Any]) -> list[Any]:
    """What the kernel for columns of any length computes."""
    found = [copy_of(one) for one in given]
    getattr(kernels, name)(type=type_, target="cpu")(*found)
    return found


@pytest.mark.parametrize("where", ["interpreter", "cpu"])
@pytest.mark.parametrize("type_", TOLERANCES)
@pytest.mark.parametrize("name", NAMES)
def test_the_same_numbers_on_all_targets(name: str, type_: str, where: str) -> None:
    for length in (1, 31, 300):
        given = arguments(name, type_, length, 3)
        found = [copy_of(one) for one in given]
        girih.load(gpu_text(name), where, definitions(type_, length))[name](*found)
        same(found[-1], expected(name, type_, given)[-1], TOLERANCES[type_])


@pytest.mark.parametrize("schedule", ["together", "by_warp", "by_warp_reversed"])
@pytest.mark.parametrize(
    ("type_", "length"), [("bf16", 1000), ("bf16", 998), ("f16", 520), ("f32", 1024), ("f64", 300)]
)
@pytest.mark.parametrize("name", NAMES)
def test_the_same_numbers_as_ptx(name: str, type_: str, length: int, schedule: str) -> None:
    given = arguments(name, type_, length, 2)
    found = [copy_of(one) for one in given]
    kernel = girih.load(gpu_text(name), "interpreter", definitions(type_, length))[name]
    PtxMachineKernel(kernel.ir)((2, 1, 1), *found, schedule=schedule)
    same(found[-1], expected(name, type_, given)[-1], TOLERANCES[type_])


@pytest.mark.parametrize("where", ["interpreter", "ptx"])
def test_masked_columns_are_zero_and_infinite_ones_are_not_numbers(where: str) -> None:
    a, b = random("f32", 70, 3), np.ones((70, 3), np.float32, order="F")
    a[:, 1], a[5, 2] = -np.inf, np.nan
    kernel = girih.load(gpu_text("softmax"), "interpreter", definitions("f32", 70))["softmax"]
    if where == "ptx":
        PtxMachineKernel(kernel.ir)((3, 1, 1), a, b)
    else:
        kernel(a, b)
    assert abs(b[:, 0].sum() - 1) < 1e-6
    assert not b[:, 1].any()
    assert np.isnan(b[:, 2]).all()


def test_which_text_is_loaded() -> None:
    def source(kernel: girih.Kernel) -> str:
        return str(kernel.ir.span.source.name)

    for name in NAMES:
        load = getattr(kernels, name)
        for target in ("cuda:sm_90a", "cuda:sm_80"):
            assert source(load(type="bf16", length=8192, target=target)) == str(gpu_text(name))
            assert source(load(type="bf16", length=16384, target=target)) == str(gpu_text(name))
            assert source(load(type="bf16", length=16385, target=target)) == str(kernels.path(name))
            assert source(load(type="f64", length=8193, target=target)) == str(kernels.path(name))
            assert source(load(type="bf16", target=target)) == str(kernels.path(name))
        assert source(load(type="bf16", length=8192, target="cpu")) == str(kernels.path(name))


@pytest.mark.parametrize("length", [0, -1, 1.5, True])
def test_lengths_that_are_none(length: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"softmax: length is {length}; it must be a whole number from 1")):
        kernels.softmax(length=length)


def test_columns_of_another_length_are_refused() -> None:
    kernel = girih.load(gpu_text("softmax"), "interpreter", definitions("f32", 64))["softmax"]
    with pytest.raises(girih.LaunchError, match="64"):
        kernel(random("f32", 65, 2), zeros("f32", 65, 2))


def test_rows_of_row_major_arrays() -> None:
    a = np.ascontiguousarray(random("f32", 40, 3).T)
    b = np.zeros_like(a)
    text = girih.load(gpu_text("softmax"), "cpu", definitions("f32", 40), order="C")
    text["softmax"](a, b)
    np.testing.assert_allclose(b.sum(axis=1), 1, rtol=1e-6)


@needs_ptxas
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("type_", "length"), [("bf16", 8192), ("f32", 8192), ("bf16", 1000), ("bf16", 16384)])
def test_columns_stay_in_registers(tmp_path: Path, name: str, type_: str, length: int) -> None:
    arrays = {"softmax": 1, "rms_norm": 2, "layernorm": 3}[name]
    kernel = girih.load(gpu_text(name), "cuda:sm_90a", definitions(type_, length, arrays))[name]
    made = compile_kernel(kernel.ir, architecture_named("sm_90a"))
    assert [one.code for one in made.remarks if one.code in ("cuda.flat", "cuda.matrix")] == ["cuda.flat"]
    assembled = ptxas(made.ptx, "sm_90a", tmp_path)
    assert not assembled.problems and not assembled.spilled and not assembled.stack
    pieces = -(-length // (made.threads * (8 if type_ == "bf16" else 4)))
    assert len(re.findall(r"ld\.global(?:\.nc)?\.v4", made.ptx)) == arrays * pieces
    assert len(re.findall(r"st\.global\.v4", made.ptx)) == pieces


def test_work_items_of_a_column() -> None:
    """Long columns of two bytes have half as many work-items, where few columns are loaded."""
    found = {(type_, n): definitions(type_, length, n)["items"] for type_, n, length in (
        ("bf16", 1, 8192), ("f16", 2, 8192), ("bf16", 3, 8192), ("f32", 1, 8192),
    )}  # fmt: skip
    assert found == {("bf16", 1): 256, ("f16", 2): 256, ("bf16", 3): 512, ("f32", 1): 512}
    assert definitions("bf16", 1024)["items"] == definitions("f32", 1024)["items"] == 64
    assert definitions("bf16", 16384)["items"] == 512
