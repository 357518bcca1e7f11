"""What is known of processors: the table by name, the caches that the system lists, and the leave to use tiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from girih.back.llvm.assemble.assembler import Cpu
from girih.back.llvm.assemble.processors import KNOWN
from girih.back.llvm.cpu.machine.description import GENERIC, MachineDescription, described
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


def cache(system: Path, number: int, *words: str) -> None:
    """What Linux says of a cache of the first CPU: level, type, size, CPUs; an empty word where it says nothing."""
    place = system / "cpu0" / "cache" / f"index{number}"
    place.mkdir(parents=True)
    for name, word in zip(("level", "type", "size", "shared_cpu_list"), words, strict=True):
        if word:
            (place / name).write_text(word + "\n")


def cores(system: Path, threads: dict[int, str]) -> None:
    """What Linux says of the threads of the cores that CPUs are of."""
    for cpu, listed in threads.items():
        place = system / f"cpu{cpu}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(listed + "\n")


def sizes(found: MachineDescription) -> tuple[int, int, int]:
    """The sizes of caches, in KiB."""
    return found.l1_bytes >> 10, found.l2_bytes >> 10, found.l3_bytes >> 10


def test_caches_are_those_that_the_system_lists(tmp_path: Path) -> None:
    cache(tmp_path, 0, "1", "Data", "64K", "0")
    cache(tmp_path, 1, "1", "Instruction", "128K", "0")
    cache(tmp_path, 2, "2", "Unified", "4M", "0-1")
    cache(tmp_path, 3, "3", "Unified", "49152K", "0-3,8-11")
    found = with_caches(described("haswell"), tmp_path)
    assert sizes(found) == (64, 2048, 6144)
    assert (found.model, found.multiply_adds) == ("haswell", 2)


def test_threads_of_a_core_are_one_core(tmp_path: Path) -> None:
    """Four cores of two threads each, whose second ones have the higher numbers, and two cores of one thread."""
    cache(tmp_path, 0, "1", "Data", "48K", "0,6")
    cache(tmp_path, 1, "2", "Unified", "2M", "0,6")
    cache(tmp_path, 2, "3", "Unified", "24M", "0-9")
    cores(tmp_path, {cpu: f"{cpu},{cpu + 6}" for cpu in range(4)})
    cores(tmp_path, {cpu + 6: f"{cpu},{cpu + 6}" for cpu in range(4)})
    cores(tmp_path, {4: "4", 5: "5"})
    assert sizes(with_caches(described("alderlake"), tmp_path)) == (48, 2048, 4096)


@pytest.mark.parametrize(
    ("threads", "l3"),
    [
        ({}, 3),
        ({0: "0-1", 1: "0-1"}, 4),
        ({0: "", 1: "nonsense", 2: "3-2", 3: "0-x"}, 3),
        (dict.fromkeys(range(4), "0-15"), 3),
        ({0: "2-3", 1: "2-3", 2: "0-1", 3: "0-1"}, 3),
        (dict.fromkeys(range(4), "0-99999999999999999999"), 3),
        (dict.fromkeys(range(4), "0-3"), 12),
    ],
    ids=("no lists", "some lists", "no numbers", "all are one core", "those of others", "endless", "four threads"),
)
def test_what_systems_say_of_threads(tmp_path: Path, threads: dict[int, str], l3: int) -> None:
    """Four CPUs share 12 MiB; where nothing credible is said of their cores, each is one."""
    cache(tmp_path, 0, "3", "Unified", "12M", "0-3")
    cores(tmp_path, threads)
    assert with_caches(described("haswell"), tmp_path).l3_bytes == l3 << 20


def test_caches_that_cannot_be_true_are_left_out(tmp_path: Path) -> None:
    table = described("haswell")
    assert with_caches(table, tmp_path / "missing") == table
    cache(tmp_path, 0, "1", "Data", "0K", "0")
    cache(tmp_path, 1, "2", "Unified", "lots", "x-y")
    cache(tmp_path, 2, "3", "Unified", "900000000K", "0")
    cache(tmp_path, 3, "7", "Unified", "64K", "0")
    cache(tmp_path, 4, "2", "Unified", "1M", "")
    cache(tmp_path, 5, "2", "Unified", "1M", "1-2")
    cache(tmp_path, 6, "2", "Unified", "1M", "0-99999999999")
    cache(tmp_path, 7, "", "", "", "")
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
