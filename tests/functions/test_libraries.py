"""Arrays of other libraries on the host, and plans that are kept."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import girih
from girih import functions
from girih.functions import plans
from tests.functions.references import drawn, near, softmax


class Exporter:
    """An array that only exports DLPack."""

    def __init__(self, array: np.ndarray[Any, Any], device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def test_what_exports_memory_is_taken() -> None:
    x = drawn("f32", 5, 7)
    near(functions.softmax(Exporter(x)), softmax(x, -1))
    near(functions.softmax(x.data), softmax(x, -1))
    near(functions.matmul(x, Exporter(x.T.copy())), x.astype(np.float64) @ x.T)


def test_arrays_on_a_device_that_no_function_takes() -> None:
    x = drawn("f32", 5, 7)
    with pytest.raises(girih.LaunchError, match="x does not give access to its memory: on a device, tensors of torch"):
        functions.softmax(Exporter(x, (2, 0)))


def test_subclasses_of_arrays() -> None:
    class Named(np.ndarray[Any, Any]):
        """An array with a name of its own."""

    x = drawn("f32", 5, 7)
    near(functions.softmax(x.view(Named)), softmax(x, -1))


def test_plans_are_kept_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MOST_PLANS", 3)
    plans._PLANS.clear()
    for size in range(1, 9):
        x = drawn("f32", size)
        for _ in range(3):
            near(functions.softmax(x), softmax(x, -1))
        assert len(plans._PLANS) <= 3


def test_threads_may_call_at_once() -> None:
    found: list[bool] = []

    def work(seed: int) -> None:
        for size in range(1, 30):
            x = drawn("f32", 4, size, seed=seed)
            found.append(np.allclose(functions.softmax(x), softmax(x, -1), atol=1e-6))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 * 29
    assert all(found)


def test_results_that_are_given_again_and_again() -> None:
    x = np.random.default_rng(0).standard_normal((6, 10)).astype(np.float32)
    wanted = functions.softmax(x)
    for _ in range(3):  # The first call makes a plan, later ones find it.
        out = np.empty_like(x)
        assert functions.softmax(x, out=out) is out
        assert np.array_equal(out, wanted)
        inside = x.copy()
        assert functions.softmax(inside, out=inside) is inside
        assert np.array_equal(inside, wanted)
        both = np.concatenate([x, x])
        functions.softmax(both[:6], out=both[3:9])
        assert np.array_equal(both[3:9], wanted)
        square = x[:, :6].copy()
        functions.matmul(square, square, out=square)
        assert np.allclose(square, x[:, :6] @ x[:, :6], atol=1e-5)
        out.flags.writeable = False
        with pytest.raises(girih.LaunchError, match="out must be writeable"):
            functions.softmax(x, out=out)
        values, indices = np.empty((6, 2), np.float32), np.empty((6, 2), np.int64)
        assert functions.topk(x, 2, out=[values, indices])[0] is values
        assert functions.topk(x, 2, out=(None, indices))[1] is indices
        assert np.array_equal(values, functions.topk(x, 2)[0])
        assert np.array_equal(indices, np.argsort(-x, axis=-1)[:, :2])
