"""A result is held against NumPy's before anything is timed; the error names the element."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from girih.bench.measuring.context import Array, MeasuringContext, MissingPeerError, find_peers
from girih.bench.measuring.timing import Samples
from girih.bench.measuring.work import OTHER, OURS, Peer, Work, WrongResultError, compare, measure, verify
from girih.bench.peers import libxsmm

QUICK = MeasuringContext(quick=True, peers={"numpy": np})
EXPECTED: Array = np.array([[1.0, 2.0], [3.0, 4.0]])


def writing(output: Array, values: Array) -> Work:
    def call() -> None:
        output[...] = values

    return Work({"off": call}, output, EXPECTED, 0.0, flops=8.0, bytes=32.0)


def test_a_right_result_is_timed() -> None:
    row = measure(QUICK, "gemm", "tiny", writing(np.zeros((2, 2)), EXPECTED))
    assert row.seconds is not None
    assert row.gflops is not None
    assert (row.group, row.name, row.checks) == ("gemm", "tiny", "off")


def test_a_wrong_result_is_refused_with_its_place() -> None:
    wrong = EXPECTED.copy()
    wrong[1, 0] = 3.5
    with pytest.raises(WrongResultError, match=r"girih with checks off gives 3.5 at \(1, 0\), NumPy 3.0"):
        measure(QUICK, "gemm", "tiny", writing(np.zeros((2, 2)), wrong))


def test_what_is_not_written_is_wrong() -> None:
    work = Work({"off": lambda: None}, EXPECTED.copy(), EXPECTED, 0.0)
    with pytest.raises(WrongResultError, match="nan"):
        verify(work, work.calls["off"], "girih")


def test_a_wrong_peer_is_refused_too() -> None:
    work = writing(np.zeros((2, 2)), EXPECTED)
    peered = Work(work.calls, work.output, EXPECTED, 0.0, peers={"numpy": Peer(lambda: None, lambda: EXPECTED + 1)})
    with pytest.raises(WrongResultError, match="numpy gives"):
        measure(QUICK, "gemm", "tiny", peered)


def test_a_result_of_another_shape_is_wrong() -> None:
    with pytest.raises(WrongResultError, match=r"the shape \(2,\)"):
        compare(np.zeros(2), EXPECTED, 0.0, "girih")


def test_checks_and_ratios_become_figures() -> None:
    work = writing(np.zeros((2, 2)), EXPECTED)
    both = Work({"off": work.calls["off"], "bounds": work.calls["off"]}, work.output, EXPECTED, 0.0,
                peers={"numpy": Peer(work.calls["off"]), "torch": Peer(work.calls["off"])})  # fmt: skip
    row = measure(QUICK, "gemm", "tiny", both)
    assert set(row.figures) == {"checks"}
    assert set(row.against) == {"numpy"}


def test_checks_cost_the_same_whichever_mode_is_compared_with_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    work = writing(np.zeros((2, 2)), EXPECTED)
    seconds = {"off": 2.0, "bounds": 3.0}
    for main, other in (("off", "bounds"), ("bounds", "off")):
        samples = Samples({OURS: [seconds[main]], OTHER: [seconds[other]]})
        monkeypatch.setattr("girih.bench.measuring.work.interleaved", lambda *_, samples=samples: samples)
        both = Work({main: work.calls["off"], other: work.calls["off"]}, work.output, EXPECTED, 0.0)
        row = measure(QUICK, "gemm", "tiny", both)
        assert (row.checks, row.seconds, row.figures) == (main, seconds[main], {"checks": 1.5})


def test_a_missing_peer_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module stands for torch, whose import takes seconds where it is installed."""
    threads: list[int] = []
    torch: Any = ModuleType("torch")
    torch.set_num_threads, torch.set_grad_enabled = threads.append, lambda _: None
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(libxsmm, "find", lambda: None)
    assert set(find_peers((), 3)) == {"numpy", "torch"}
    assert threads == [3]
    with pytest.raises(MissingPeerError, match="there is no libxsmm to compare with; install"):
        find_peers(("libxsmm",), 1)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPeerError, match="there is no torch to compare with; install"):
        find_peers(("torch",), 1)
