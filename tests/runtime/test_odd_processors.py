"""Processors that are not what they seem: unknown to LLVM, with features hidden, or with tiles that are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from ml_dtypes import bfloat16

import girih
from girih.back.llvm.assemble import assembler
from girih.back.llvm.assemble.assembler import Cpu, llvm
from girih.runtime.cpu import machine

PRODUCT = """
func @product(%a: memref<bf16x70x70>, %b: memref<bf16x70x70>, %c: memref<f32x70x70>) {
    %one = constant 1.0 : bf16
    %zero = constant 0.0 : f32
    gemm %one, %a, %b, %zero, %c
}
"""
Pretend = Callable[..., Cpu]


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pretend]:
    """A function that makes LLVM say another name, or other features, of this machine's processor."""
    forgotten = (assembler._detected, machine.host_description, machine.amx_permitted)

    def other(name: str = "", **features: bool) -> Cpu:
        found = llvm().get_host_cpu_features()
        found.update({feature.replace("_", "-"): has for feature, has in features.items()})
        monkeypatch.setattr(llvm(), "get_host_cpu_features", lambda: found)
        if name:
            monkeypatch.setattr(llvm(), "get_host_cpu_name", lambda: name)
        for function in forgotten:
            function.cache_clear()
        return Cpu.host()

    yield other
    monkeypatch.undo()
    for function in forgotten:
        function.cache_clear()


def multiplies_right() -> str:
    """The assembly of a product of bf16, after its result was compared with NumPy's."""
    rng = np.random.default_rng(0)
    program = girih.loads(PRODUCT, target="cpu")
    a, b = (np.asfortranarray(rng.integers(-8, 8, (70, 70)).astype(np.float32)) for _ in range(2))
    c = np.zeros((70, 70), np.float32, order="F")
    program["product"][1](a.astype(bfloat16), b.astype(bfloat16), c)
    assert np.array_equal(c, a @ b)
    return program["product"].assembly


def test_a_processor_that_llvm_does_not_know(pretend: Pretend) -> None:
    cpu = pretend("generic")
    assert (cpu.name, machine.host_description().model) == ("generic", "generic")
    multiplies_right()


def test_features_that_a_hypervisor_hides(pretend: Pretend) -> None:
    if Cpu.host().family != "x86_64":
        pytest.skip("the features are those of x86-64")
    # Those that build on AVX are shown still.
    cpu = pretend(avx=False, vaes=True, avx512bf16=True, amx_tile=False, amx_bf16=True)
    assert cpu.vector_bits == 128
    assert not any(cpu.has(feature) for feature in ("fma", "avx2", "avx512f", "avx512bf16", "amx-bf16"))
    assembly = multiplies_right()
    assert "ymm" not in assembly and "zmm" not in assembly and "vfmadd" not in assembly


def test_tiles_that_the_system_refuses(pretend: Pretend, monkeypatch: pytest.MonkeyPatch) -> None:
    if Cpu.host().family != "x86_64":
        pytest.skip("the features are those of x86-64")
    cpu = pretend(amx_tile=True, amx_bf16=True, amx_int8=True)
    assert cpu.has("amx-bf16")
    monkeypatch.setattr(machine, "amx_permitted", lambda: False)
    assert "tdpbf16ps" not in multiplies_right()


def test_a_system_that_girih_has_no_code_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm(), "get_default_triple", lambda: "x86_64-pc-windows-msvc")
    with pytest.raises(ValueError, match=r"not compile for 'x86_64-pc-windows-msvc'; .*; .* target='interpreter'"):
        assembler._detected.__wrapped__()
