"""What the machine can do, and what is found on it: loops for every kind of processor, kernels of OpenBLAS, libxsmm."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from girih.back.llvm.assemble.assembler import Cpu, assemble
from girih.bench import machine
from girih.bench.machine import environment
from girih.bench.measuring import peak
from girih.bench.peers import libxsmm, openblas
from girih.runtime.cpu.rates import multiply_adds


@pytest.mark.parametrize(
    ("cpu", "type", "operations"),
    [
        # Lanes times two operations times 24 or 10 chains times 4.
        ("znver4", "f32", 16 * 2 * 24 * 4),
        ("znver4", "f64", 8 * 2 * 24 * 4),
        ("znver4", "bf16", 16 * 4 * 24 * 4),
        ("haswell", "f32", 8 * 2 * 10 * 4),
        ("haswell", "bf16", 8 * 2 * 10 * 4),
        ("neoverse-v1", "f64", 4 * 2 * 24 * 4),
        ("neoverse-n2", "f64", 2 * 2 * 24 * 4),
    ],
)
def test_the_loop_of_multiply_adds(cpu: str, type: str, operations: int) -> None:
    target = Cpu.named(cpu)
    text, counted = multiply_adds(type, target)
    assert counted == operations
    assert assemble(text, target)


def test_the_loops_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peak, "STEPS", 2)
    for meter in (peak.peak("f32"), peak.bandwidth.__wrapped__(1 << 12)):
        meter.call()
        assert meter.amount > 0
    peak.peak.cache_clear()


def test_openblas_is_left_alone_where_it_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str | None] = []
    seconds: dict[str | None, float] = {None: 2.0, "SkylakeX": 1.0, "Haswell": 1.5}

    def trial(core: str | None) -> float:
        tried.append(core)
        return seconds[core]

    monkeypatch.setattr(openblas, "_trial", trial)
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    flags = "flags : fma avx2 avx512f avx512dq avx512bw avx512vl\n"
    assert openblas.fastest_core(flags) == "SkylakeX"
    assert set(tried) == {None, "SkylakeX", "Haswell"}
    assert openblas.fastest_core("flags : fma avx2\n") == "Haswell"
    assert openblas.fastest_core("") is None
    seconds |= {"SkylakeX": 1.95, "Haswell": 2.1}
    assert openblas.fastest_core(flags) is None
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Zen")
    tried.clear()
    assert openblas.fastest_core(flags) is None
    assert tried == []


def test_a_library_that_is_none_is_not_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "libxsmm.so"
    path.write_bytes(b"no library")
    monkeypatch.setenv(libxsmm.ENVIRONMENT, str(path))
    assert libxsmm.find.__wrapped__() is None


def test_the_environment_names_versions() -> None:
    found = environment(2)
    assert found["threads"] == 2
    assert {"date", "cpu", "llvm", "numpy", "torch", "libxsmm", "python", "girih", "openblas_kernels"} <= set(found)


def test_the_commit_is_that_of_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def git(*words: str) -> str:
        who = ("-c", "user.name=A", "-c", "user.email=a@b")
        return subprocess.run(["git", "-C", str(tmp_path), *who, *words], capture_output=True, text=True).stdout.strip()

    place = tmp_path / "girih" / "bench" / "machine.py"
    place.parent.mkdir(parents=True)
    place.write_text("")
    monkeypatch.setattr(machine, "__file__", str(place))
    assert machine.commit() is None
    git("init")
    git("add", ".")
    git("commit", "-m", "all")
    assert machine.commit() == git("rev-parse", "--short=7", "HEAD")
    place.write_text("changed")
    assert machine.commit() == git("rev-parse", "--short=7", "HEAD") + "-dirty"
