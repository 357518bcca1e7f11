"""Kernels measured on a GPU: with a driver made of Python here, for what is measured and how it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import girih
from girih.bench.events import Event, MeasuringRequest
from girih.bench.measuring import gpu
from girih.bench.measuring.context import MeasuringContext
from girih.bench.measuring.work import Work, WrongResultError, measure
from girih.bench.report import Results, cells, head
from girih.commands.bench import serve_own
from girih.runtime.cuda import driver
from girih.runtime.cuda.device import opened
from tests.cli.helpers import AXPBY
from tests.cli.helpers import girih as command
from tests.runtime.cuda.conftest import install
from tests.runtime.cuda.fake import FakeDriver

SCALE = """
func @scale(%A: memref<f32x?>, %B: memref<f32x?>) attributes {subgroup_size=32, work_group_size=[32,1]} {
    %0 = constant 0 : index
    %n = size %A[0] : index
    foreach (%i) = (%0), (%n) {
        %a = load %A[%i] : f32
        %b = add %a, %a : f32
        store %b, %B[%i]
    }
}
"""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """A driver with one GPU; the meter of its bandwidth copies little."""
    gpu.bandwidth.cache_clear()
    small = gpu.bandwidth
    monkeypatch.setattr(gpu, "bandwidth", lambda device: small(device, 4096))
    return install(FakeDriver(), monkeypatch)


def test_arrays_are_put_there_with_their_strides(fake: FakeDriver) -> None:
    device = opened(0)
    whole = np.arange(24, dtype=np.int32).reshape(4, 6)
    for array in (whole, whole.T, whole[::2, ::-3], whole[:0], np.array(7, np.int32)):
        there: Any = gpu.there(device, array)
        held = there.__cuda_array_interface__
        assert (held["shape"], held["strides"]) == (array.shape, array.strides)
        assert held["data"][0] != array.ctypes.data
    assert gpu.byte_bounds(whole) == (whole.ctypes.data, whole.ctypes.data + 96)
    assert gpu.byte_bounds(whole[::2, ::-3]) == (whole.ctypes.data + 8, whole.ctypes.data + 48 + 24)
    assert gpu.byte_bounds(whole[:0])[0] == gpu.byte_bounds(whole[:0])[1]
    assert gpu.there(device, 2.5) == 2.5
    group: Any = gpu.there(device, girih.Group([whole], 3))
    assert isinstance(group, girih.Group) and group.offset == 3


def work_on(context: MeasuringContext, path: Path, expected: float) -> Work:
    a, b = np.full(100, 1.5, np.float32), np.zeros(100, np.float32)
    calls = context.calls(path, "scale", 1, (a, b))
    return Work(calls, b, np.full(100, expected, np.float32), 0.0, bytes=800.0)


def test_a_kernel_is_compared_and_timed_on_arrays_of_the_device(fake: FakeDriver, tmp_path: Path) -> None:
    path = tmp_path / "scale.tl"
    path.write_text(SCALE)
    context = MeasuringContext(("off", "bounds"), quick=True, target="cuda")
    row = measure(context, "own", "scale", work_on(context, path, 3.0))
    assert row.seconds is not None and row.seconds > 0
    assert set(row.figures) == {"of_bandwidth", "checks"}
    with pytest.raises(WrongResultError):
        measure(context, "own", "scale", work_on(context, path, 4.0))


def test_a_launch_that_is_timed_copies_nothing(
    fake: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scale.tl"
    path.write_text(SCALE)
    context = MeasuringContext(target="cuda")
    (call,) = work_on(context, path, 3.0).calls.values()

    def refused(*_: object) -> None:
        raise AssertionError("an array is copied")

    monkeypatch.setattr(fake, "cuMemcpyHtoDAsync", refused)
    call()
    gpu.clock(opened(0))
    with pytest.raises(AssertionError, match="an array is copied"):
        gpu.whole(call)()


def own(tmp_path: Path, **request: Any) -> Results:
    path = tmp_path / "axpby.tl"
    path.write_text(AXPBY)
    words = ["alpha=2", "beta=0.5", "A=random:f32:64", "B=random:f32:64"]
    details = {"file": str(path), "function": "axpby", "arguments": words, "grid": [1], "definitions": {}, "seed": 0,
               "validate": True, "flops": None}  # fmt: skip
    results = Results()
    events: list[Event] = list(serve_own(MeasuringRequest("own", quick=True, details=details, **request)))
    for event in events:
        results.take(event)
    return results


def test_a_kernel_of_a_file(fake: FakeDriver, tmp_path: Path) -> None:
    results = own(tmp_path, target="cuda")
    assert results.problems == [] and results.refusal is None
    (row,) = results.rows
    assert row.figures["of_bandwidth"] > 0
    assert {"time", "GB/s", "of bandwidth"} <= set(cells([row]))
    assert "compute capability" in head(results)
    assert "copies in its memory read and write" in head(results)


def test_without_a_driver_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_OPENED", {})
    monkeypatch.setattr(driver, "PACKAGE", "no_bindings_of_cuda")
    results = own(tmp_path, target="cuda")
    assert results.refusal is not None
    status, words = results.refusal
    assert status == 1
    assert words.startswith("error: cuda: cuda-bindings cannot be imported") and f"\n  hint: {driver.INSTALL}" in words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["softmax", "--target", "vulkan"], "girih bench measures on cpu, cuda, or a GPU by its number"),
        (["softmax", "--target", "cuda:sm_90a"], "girih bench measures on cpu, cuda, or a GPU by its number"),
        (["--target", "cuda"], "the standard set is about the CPU"),
        (["softmax", "--target", "cuda", "--against", "numpy"], "--against is for the CPU"),
    ],
)
def test_calls_that_are_wrong(words: list[str], said: str) -> None:
    done = command("bench", *words)
    assert done.status == 2
    assert said in done.output + done.errors


def test_a_tensor_map_is_refused_in_words(fake: FakeDriver) -> None:
    from girih.addressing import TensorMap

    array = np.zeros((32, 32), np.float32)
    bound = TensorMap.of(array, (32, 8)).bind(array)
    with pytest.raises(RuntimeError, match="a tensor map"):
        gpu.there(opened(0), bound)
