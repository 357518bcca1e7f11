"""`girih.tune` over processes, that are forked and that are fresh ones; trials that hang, or end their process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import girih
import girih.language as gl
from girih.tuning import Trial, trial, watched
from tests.tuning.kernels_to_tune import halve
from tests.tuning.test_tune import add


def processes(method: str) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context(method))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.long)])
def test_processes_measure_kernels_of_both_kinds(method: str) -> None:
    halve(np.ones(10_000, np.float32))  # Threads of launches run before the fork.
    with processes(method) as executor:
        found = girih.tune(halve, (np.ones(64, np.float32),), {"tile": [8, 0]}, executor)
        assert [(one.definitions["tile"], one.outcome) for one in found.trials] == [(8, "timed"), (0, "refused")]
        text = girih.tune(add(), (np.ones(64, np.float32),), [{"tile": 8}, {"add": 2.0}], executor)
        assert [one.outcome for one in text.trials] == ["timed", "wrong"]


def test_a_limit_measures_in_a_fresh_process() -> None:
    found = girih.tune(halve, (np.ones(64, np.float32),), {"tile": [8, 0]}, limit=600)
    assert [(one.definitions["tile"], one.outcome) for one in found.trials] == [(8, "timed"), (0, "refused")]


def test_a_kernel_that_no_other_process_finds_is_told() -> None:
    @girih.kernel
    def inner(X: gl.Vector[gl.f32], tile: gl.constant = 1) -> None:
        X[0] = 0.0

    with processes("fork") as executor, pytest.raises(girih.TuningError) as raised:
        girih.tune(inner, (np.ones(4, np.float32),), {"tile": [1, 2]}, executor)
    assert "inner cannot be pickled: no module has a name for it" in str(raised.value)
    assert "find a kernel in Python by its name in a module that they can import" in str(raised.value)
    with pytest.raises(girih.TuningError, match="by its name in a module"):
        girih.tune(inner, (np.ones(4, np.float32),), {"tile": [1, 2]}, limit=60)


def test_an_executor_that_takes_nothing_is_told() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(girih.TuningError, match="RuntimeError: cannot schedule new futures after shutdown"):
        girih.tune(add(), (np.ones(4, np.float32),), {"tile": [4]}, executor)


def misbehaves(request: trial.TrialRequest) -> Trial:
    """A trial that hangs, one that ends its process, and others."""
    if request.definitions["tile"] == 8:
        time.sleep(600)
    if request.definitions["tile"] == 16:
        os.kill(os.getpid(), signal.SIGKILL)
    return trial.measure(request)


@pytest.fixture
def misbehaving(monkeypatch: pytest.MonkeyPatch) -> None:
    # Forks of this process have what is replaced here; a fresh process would not.
    monkeypatch.setattr(watched, "METHOD", "fork")
    monkeypatch.setattr(watched, "measure", misbehaves)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("over", [None, ThreadPoolExecutor])
def test_a_trial_that_hangs_or_ends_its_process_costs_itself(misbehaving: None, over: type[Executor] | None) -> None:
    executor = None if over is None else ThreadPoolExecutor(1)
    found = girih.tune(halve, (np.ones(64, np.float32),), {"tile": [4, 8, 16, 32]}, executor, limit=1.0)
    told = {one.definitions["tile"]: (one.outcome, one.reason) for one in found.trials}
    assert told[4] == told[32] == ("timed", "")
    assert told[8] == ("failed", "it took longer than the limit of 1 seconds")
    assert told[16] == ("failed", "its process was ended by signal 9 (SIGKILL)")
    if executor is not None:
        executor.shutdown()


def test_a_limit_is_a_number_of_seconds() -> None:
    for limit in (0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="limit is the most seconds of a trial, a number above 0"):
            girih.tune(add(), (np.ones(4, np.float32),), {"tile": [4]}, limit=limit)
