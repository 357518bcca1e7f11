"""The table of kernels on a GPU: verdicts, turns and words, without one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import girih
from benchmarks.gpu import cuda
from benchmarks.gpu.cuda_problems import COPY, GATHER, PROBLEMS, QUICK
from tests.cases import every_case


def test_verdicts() -> None:
    problem = PROBLEMS[0]
    assert not problem.of_peer
    rates = {cuda.OURS: 650.0, cuda.UNCHECKED: 720.0, cuda.COPIED: COPY}
    assert cuda.verdict(problem, rates, {}) == "first"
    assert cuda.verdict(problem, {**rates, cuda.COPIED: 2 * COPY}, {}) == "short", "goals go with the copy"
    assert cuda.verdict(problem, {**rates, cuda.UNCHECKED: 1700.0}, {}) == "world class"
    other = replace(problem, of_peer=True, goals=(0.8, 1.0))
    same = {cuda.OURS: 100.0, cuda.UNCHECKED: 100.0}
    assert cuda.verdict(other, same, {"torch": 0.7, "cupy": 2.0, cuda.COPIED: 0.5}) == "short"
    assert cuda.verdict(other, same, {"torch": 0.9, "cupy": 2.0, cuda.COPIED: 0.5}) == "first"
    assert cuda.verdict(other, same, {"torch": 0.7, cuda.COPIED: 1.0}) == "world class"


class FakeEvents:
    """CUDA events whose time is the number of calls so far, in milliseconds."""

    def __init__(self) -> None:
        self.now = 0.0
        outer = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                self.at = 0.0

            def record(self) -> None:
                self.at = outer.now

            def synchronize(self) -> None:
                assert self.at == outer.now

            def elapsed_time(self, end: Event) -> float:
                return end.at - self.at

        self.cuda = SimpleNamespace(Event=Event)


def test_functions_are_timed_in_turns() -> None:
    torch, order = FakeEvents(), []

    def call(name: str, milliseconds: float) -> Any:
        def run(number: int) -> None:
            assert 0 <= number < 3
            order.append(name)
            torch.now += milliseconds

        return run

    times = cuda.in_turns(torch, {"a": call("a", 2.0), "b": call("b", 4.0)}, sets=3, rounds=4)
    assert times == {"a": [0.002] * 4, "b": [0.004] * 4}
    assert cuda.ratio(times, "b", "a") == 2.0
    first = ["a"] * 6 + ["b"] * 6
    turns = [["a"] * 9, ["b"] * 3]
    later = [name for number in range(4) for turn in (turns[::-1] if number % 2 else turns) for name in turn]
    assert order == first + later, "each round begins with another one"


def test_problems_have_kernels_that_compile() -> None:
    with every_case() as case:
        for problem in QUICK:
            with case(problem.name):
                assert problem.sets * problem.bytes >= 320 * 2**20
                text = problem.text if isinstance(problem.text, str) else problem.text.read_text(encoding="utf-8")
                module = girih.parse(text, definitions=problem.definitions)
                assert all(module.function(name) is not None for name, _ in problem.launches)
    assert not girih.check(GATHER)
    assert not girih.check(cuda.SMALL)
    assert len({problem.name for problem in PROBLEMS}) == len(PROBLEMS)


def test_rows_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    cuda.show({"name": "x", "refused": "wrong: 3 times"})
    cuda.show({"name": "y", "us": {"girih": 5.0}, "beyond": 0.8, "verdict": "first"})
    cuda.show({"name": "z", "GB/s": {"girih": 99.6}, "ratios": {"torch": 1.5}, "checks": 0.9, "verdict": "short"})
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert said == ["x wrong: 3 times", "y girih 5.00 us; beyond 0.80 us: first",
                    "z GB/s: girih 100; 1.50 x torch; checks 0.90: short"]  # fmt: skip


def test_without_a_gpu_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(cuda, "torch_on_cuda", lambda: None)
    assert cuda.main([]) == 2
    assert capsys.readouterr().err.startswith("not measured: PyTorch")


def test_rows_are_kept_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is cut off leaves what it has measured."""
    monkeypatch.setattr(cuda, "RESULTS", tmp_path)
    arguments = cuda.parser_of("").parse_args(["--save", "--only", "gemm"])
    where, shown = {"date": "2026-01-01"}, list[dict[str, Any]]()

    def rows() -> Iterator[dict[str, Any]]:
        yield {"name": "one"}
        kept = json.loads((tmp_path / "2026-01-01-cuda.json").read_text(encoding="utf-8"))
        assert kept == {"environment": where, "rows": [{"name": "one"}]}
        yield {"name": "two", "refused": "wrong: twice as far"}

    kept = cuda.kept_rows(rows(), shown.append, where, arguments, "cuda")
    assert kept == shown == [{"name": "one"}, {"name": "two", "refused": "wrong: twice as far"}]
    assert [cuda.status_of(kept[:1]), cuda.status_of(kept)] == [0, 1]
