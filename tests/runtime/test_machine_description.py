"""What is known of processors: the table by name, the caches that the system lists, and the leave to use tiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from girih.back.llvm.assemble.assembler import Cpu
from girih.back.llvm.assemble.processors import KNOWN
from girih.back.llvm.cpu.machine.description import GENERIC, described
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.ir.types import BF16, F16, I8
from girih.program import compile_source
from girih.runtime.cpu import machine, rates
from girih.runtime.cpu.machine import code_identity, host_description, target_of, with_caches
from girih.runtime.cpu.rates import dot_bf16_rate
from girih.source import Source

PRODUCT = """
func @product(%a: memref<bf16x32x32>, %b: memref<bf16x32x32>, %c: memref<f32x32x32>) {
    %one = constant 1.0 : bf16
    %zero = constant 0.0 : f32
    gemm %one, %a, %b, %zero, %c
}
"""
COPY = """
func @copy(%a: memref<f32x32>, %b: memref<f32x32>) {
    %one = constant 1.0 : f32
    %zero = constant 0.0 : f32
    axpby %one, %a, %zero, %b
}
"""


def test_every_processor_has_a_description() -> None:
    unknown = {name for names in KNOWN.values() for name in names if described(name) == GENERIC}
    assert unknown == {"generic", "x86-64", "x86-64-v2", "core2", "penryn", "k8", "opteron", "athlon64"}
    assert described("of tomorrow") == GENERIC
    for name in KNOWN["x86_64"] | KNOWN["aarch64"]:
        found = described(name)
        assert 16 << 10 <= found.l1_bytes < found.l2_bytes and 1 <= found.multiply_adds <= 4


def cache(folder: Path, number: int, *words: str) -> None:
    """A folder as Linux describes a cache: level, type, size, CPUs."""
    place = folder / f"index{number}"
    place.mkdir()
    for name, word in zip(("level", "type", "size", "shared_cpu_list"), words, strict=True):
        (place / name).write_text(word + "\n")


def test_caches_are_those_that_the_system_lists(tmp_path: Path) -> None:
    cache(tmp_path, 0, "1", "Data", "64K", "0")
    cache(tmp_path, 1, "1", "Instruction", "128K", "0")
    cache(tmp_path, 2, "2", "Unified", "4M", "0-1")
    cache(tmp_path, 3, "3", "Unified", "49152K", "0-3,8-11")
    found = with_caches(described("haswell"), tmp_path)
    assert (found.l1_bytes, found.l2_bytes, found.l3_bytes) == (64 << 10, 2 << 20, 6 << 20)
    assert (found.model, found.multiply_adds) == ("haswell", 2)


def test_caches_that_cannot_be_true_are_left_out(tmp_path: Path) -> None:
    table = described("haswell")
    assert with_caches(table, tmp_path / "missing") == table
    cache(tmp_path, 0, "1", "Data", "0K", "0")
    cache(tmp_path, 1, "2", "Unified", "lots", "x-y")
    cache(tmp_path, 2, "3", "Unified", "900000000K", "0")
    cache(tmp_path, 3, "7", "Unified", "64K", "0")
    assert with_caches(table, tmp_path) == table


def test_tiles_are_asked_for_by_products_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    product, copy = (compile_source(Source(text, "<text>"))[0].functions[0] for text in (PRODUCT, COPY))
    rapids, granite = (Cpu.named(f"x86_64-linux-gnu:{name}") for name in ("sapphirerapids", "graniterapids"))
    assert target_of(product, rapids).amx == {BF16, I8}
    assert target_of(product, granite).amx == {BF16, I8, F16}
    assert target_of(copy, rapids).amx == frozenset()
    asked: list[bool] = []

    def permitted() -> bool:
        asked.append(True)
        return False

    monkeypatch.setattr(machine, "amx_permitted", permitted)
    monkeypatch.setattr(Cpu, "host", staticmethod(lambda: rapids))
    before = code_identity(product, rapids)
    assert target_of(product, rapids).amx == frozenset()
    assert target_of(copy, rapids).amx == frozenset() and len(asked) == 2
    monkeypatch.setattr(machine, "amx_permitted", lambda: True)
    assert code_identity(product, rapids) != before


def test_dot_products_are_used_where_they_are_faster() -> None:
    assert CpuTarget.of(Cpu.named("x86_64-linux-gnu:znver5")).dot_bf16
    assert not CpuTarget.of(Cpu.named("x86_64-linux-gnu:emeraldrapids")).dot_bf16


def test_rates_are_measured_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert dot_bf16_rate(Cpu.host()) > 0.0
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "cache"))
    measured: list[Cpu] = []

    def rate(cpu: Cpu) -> float:
        measured.append(cpu)
        return 1.2345

    unknown = Cpu("of tomorrow", "", Cpu.host().triple, frozenset(("avx512bf16",)))
    monkeypatch.setattr(Cpu, "host", staticmethod(lambda: unknown))
    monkeypatch.setattr(rates, "dot_bf16_rate", rate)
    for _ in range(2):
        assert host_description.__wrapped__().dot_bf16 == 1.2
    assert measured == [unknown]
