"""Calls of kernels in Python that are like earlier ones: no argument is looked at again, and nothing is mistaken."""

from __future__ import annotations

import functools
import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
import girih.language as gl
from girih.decorated.calls import KernelCalls

E = TypeVar("E", gl.f32, gl.f64)


@girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 4), target="cpu")
def scaled(X: gl.Matrix[E], Y: gl.Matrix[E], a: gl.f32, times: gl.constant = 1) -> None:
    first = gl.group_id(0) * 4
    for i, j in gl.foreach(min(4, X.shape[0] - first), X.shape[1]):
        Y[first + i, j] = X.dtype(a) * times * X[first + i, j]


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each call whose arguments were looked at."""
    found: list[object] = []
    look = KernelCalls.look

    @functools.wraps(look)
    def noted(self: KernelCalls, arguments: Any, key: Any) -> None:
        found.append(key)
        look(self, arguments, key)

    monkeypatch.setattr(KernelCalls, "look", noted)
    return found


def _in(order: str, rows: int = 5, dtype: Any = np.float32) -> NDArray[Any]:
    values = np.arange(rows * 3).reshape(rows, 3).astype(dtype)
    if order in "CF":
        return np.array(values, order="C" if order == "C" else "F")
    wide = np.zeros((rows, 8), dtype)
    wide[:, :3] = values
    return wide[:, :3] if order == "gaps" else np.array(wide[:, :6:2])


def test_calls_alike_are_looked_at_once(looked: list[object]) -> None:
    kernel = girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 4), target="cpu")(scaled.function)
    for x, y in itertools.product(("C", "F", "gaps"), repeat=2):
        for rows in (5, 9):
            X, Y = _in(x, rows), _in(y, rows)
            kernel(X, Y, 2.0)
            kernel(X, Y=Y, a=2.0)
            kernel(times=1, a=2.0, Y=Y, X=X)
            assert np.array_equal(Y, 2 * X), (x, y)
    # The distance of rows may be any, so that gaps between them make no difference.
    assert len(looked) == 4


def test_other_types_and_constants_are_looked_at(looked: list[object]) -> None:
    kernel = girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 4), target="cpu")(scaled.function)
    cases = [(np.float32, 1), (np.float64, 1), (np.float32, 2), (np.float32, 2.0), (np.float32, 0.5)]
    for dtype, times in cases:
        for _ in range(2):
            X, Y = _in("C", dtype=dtype), _in("C", dtype=dtype)
            kernel(X, Y, 2.0, times)
            assert np.array_equal(Y, 2 * times * X)
    assert len(looked) == len(cases)
    with pytest.raises(girih.LaunchError, match="E is f32 as of X"):
        kernel(_in("C"), _in("C", dtype=np.float64), 2.0)


def test_arrays_of_another_shape_than_a_known_call(looked: list[object]) -> None:
    kernel = girih.kernel(sizes={"X": (None, 3)}, target="cpu")(filled)
    X = _in("C")
    for _ in range(2):
        kernel(X)
    with pytest.raises(girih.LaunchError, match="must be 3, not 4"):
        kernel(np.zeros((5, 4), np.float32))
    with pytest.raises(girih.LaunchError, match="takes an array with 2 axes"):
        kernel(np.zeros(3, np.float32))
    with pytest.raises(girih.LaunchError, match="takes elements of"):
        kernel(np.zeros((5, 3), np.int32))
    kernel(X)
    assert np.array_equal(X, np.ones((5, 3)))


def filled(X: gl.Matrix[gl.f32]) -> None:
    for i, j in gl.foreach(X.shape[0], X.shape[1]):
        X[i, j] = 1.0


def test_parameters_of_any_name() -> None:
    @girih.kernel
    def named(quick: gl.Vector[gl.f32], key: gl.f32, a0: gl.f32, __missing: gl.constant, _key: gl.constant = 2) -> None:
        quick[0] = key + a0 * _key + __missing

    X = np.zeros(1, np.float32)
    for _ in range(2):
        named(X, 1.0, 2.0, 10)
        assert X[0] == 15
    named(_key=3, a0=2.0, quick=X, __missing=10, key=1.0)
    assert X[0] == 17


def test_a_default_may_stand_before_parameters_that_have_none() -> None:
    @girih.kernel(definitions={"n": 5})
    def fill(n: gl.constant, Y: gl.Vector[gl.f32]) -> None:
        Y[0] = n

    Y = np.zeros(1, np.float32)
    fill(Y=Y)
    assert Y[0] == 5
    fill(6, Y)
    assert Y[0] == 6
    with pytest.raises(girih.LaunchError, match="there is no argument for Y"):
        fill(3)


def test_kernels_without_arguments_at_run_time() -> None:
    @girih.kernel(target="cpu")
    def nothing(n: gl.constant = 1) -> None:
        assert n > 0

    for _ in range(2):
        nothing()
        nothing(n=2)
    with pytest.raises(girih.LaunchError, match="takes 1 argument, got 2"):
        nothing(1, 2)


def test_errors_inside_a_call_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise TypeError("from inside")

    monkeypatch.setattr(KernelCalls, "look", refuse)
    with pytest.raises(TypeError, match="from inside"):
        girih.kernel(filled)(_in("C"))


def test_what_is_known_is_forgotten_where_room_gets_scarce() -> None:
    @girih.kernel(most_variants=4)
    def fill(Y: gl.Vector[gl.f32], n: gl.constant) -> None:
        Y[0] = n

    Y = np.zeros(1, np.float32)
    for n in (0, 1, 2, 0, 0, 3, 1):
        fill(Y, n)
        assert Y[0] == n
    assert len(fill.variants) == 4


def test_threads_that_call_one_kernel_at_the_same_time() -> None:
    kernel = girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 4), target="cpu", most_variants=8)(scaled.function)

    def work(number: int) -> bool:
        X = _in("CF"[number % 2], 5 + number)
        Y = _in("CF"[number // 2 % 2], 5 + number) * 0
        for times in (1, 2):
            kernel(X, Y, a=2.0, times=times)
            if not np.array_equal(Y, 2 * times * X):
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(32)))
    assert len(kernel.variants) == 8
