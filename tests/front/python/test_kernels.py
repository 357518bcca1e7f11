"""Small kernels in Python give what NumPy gives, whatever the order of their arrays."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import numpy as np
import pytest

import girih.language as gl
from girih.diagnostics import CompileError
from tests.front.python.facts import run, translated

ORDERS = [(a, b) for a in "CF" for b in "CF"]


def scale(alpha: gl.f32, A: gl.Matrix[gl.f32], beta: gl.f32, B: gl.Matrix[gl.f32]) -> None:
    gl.axpby(alpha, A, beta, B)


def scale_points(alpha: gl.f32, X: gl.Vector[gl.f32], Y: gl.Vector[gl.f32], block: gl.constant) -> None:
    first = gl.group_id(0) * block
    for i in gl.foreach(block):
        if first + i < X.shape[0]:
            Y[first + i] += alpha * X[first + i]


def square(x: gl.f32) -> gl.f32:
    return x * x


def norms(X: gl.Matrix[gl.f32], Y: gl.Vector[gl.f32]) -> None:
    for i in gl.foreach(X.shape[0]):
        total: Any = 0
        largest = X[i, 0]
        for k in range(X.shape[1]):
            x = X[i, k]
            total += square(x)
            if x > largest and X[i, k] > 0:
                largest = x
        Y[i] = total + largest if i % 3 == 1 else -total


def matmul(A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32]) -> None:
    i, j = gl.group_id(0) * 16, gl.group_id(1) * 8
    with gl.parallel():
        total = A[i : i + 16, 0:4] @ B[0:4, j : j + 8]
        for k in range(4, A.shape[1], 4):
            total += A[i : i + 16, k : k + 4] @ B[k : k + 4, j : j + 8]
        C[i : i + 16, j : j + 8] = total * 2.0


T = TypeVar("T", gl.f32, gl.f64)
SHAPE = (2, 3)


def shifted(X: gl.Vector[T], Y: gl.Vector[T], what: gl.constant, scale: gl.constant) -> None:
    if X.shape[0] < 2:
        return
    for i in gl.foreach(X.shape[0]):
        moved = X.dtype(3) if what == "far" else X.dtype(1)
        rows, columns = SHAPE
        Y[i] = X[i] * scale + moved * (rows * columns)


def planes(X: gl.Array[gl.f32, Literal[3]], Y: gl.Matrix[gl.f32]) -> None:
    plane = X[1]
    for i, j in gl.foreach(X.shape[1], (1, X.shape[2])):
        Y[i, j] = plane[i, j] + X[0, i, j] + X[:, i, :].T[j, 0]
    gl.axpby(1.0, X[0], 1.0, Y)
    gl.axpby(1.0, X[0].T, 1.0, Y.T)


def sums(A: gl.Group[gl.Vector[gl.f32]], Y: gl.Vector[gl.f32]) -> None:
    for i in range(len(A)):
        member: gl.Vector[gl.f32] = A[i]
        total = 0.0
        for k in range(len(member)):
            total += member[k]
        Y[i] = total


def without_negative(X: gl.Matrix[gl.f32], Y: gl.Vector[gl.f32]) -> None:
    for i in gl.foreach(X.shape[0]):
        if X[i, 0] < 0:
            Y[i] = -1.0
            continue
        total = 0.0
        for j in range(X.shape[1]):
            if X[i, j] < 0:
                continue
            total += X[i, j]
        Y[i] = total


def numbers(shape: tuple[int, ...], order: str = "C") -> np.ndarray:
    drawn = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    return np.array(drawn, order="F" if order == "F" else "C")


@pytest.mark.parametrize("orders", ORDERS, ids="".join)
def test_a_collective_takes_arrays_in_any_order(orders: tuple[str, str]) -> None:
    A, B = numbers((3, 5), orders[0]), numbers((3, 5), orders[1])
    expected = np.float32(2) * A + np.float32(0.5) * B
    run(scale, 2.0, A, 0.5, B)
    np.testing.assert_allclose(B, expected, rtol=1e-6)


def test_points_and_a_constant() -> None:
    X, Y = numbers((70,)), np.ones(70, np.float32)
    run(scale_points, 3.0, X, Y, 32, grid=(3,))
    np.testing.assert_allclose(Y, 1 + np.float32(3) * X, rtol=1e-6)


@pytest.mark.parametrize("order", "CF")
def test_loops_carry_what_they_change(order: str) -> None:
    X, Y = numbers((7, 6), order), np.zeros(7, np.float32)
    run(norms, X, Y)
    total, largest = (X * X).sum(1), X.max(1)
    largest = np.where(largest > 0, largest, X[:, 0])
    np.testing.assert_allclose(Y, np.where(np.arange(7) % 3 == 1, total + largest, -total), rtol=1e-5)


@pytest.mark.parametrize("orders", ORDERS, ids="".join)
def test_views_are_loaded_where_they_are_multiplied(orders: tuple[str, str]) -> None:
    A, B, C = numbers((32, 12), orders[0]), numbers((12, 16), orders[1]), numbers((32, 16), orders[0])
    run(matmul, A, B, C, grid=(2, 2))
    np.testing.assert_allclose(C, 2 * (A @ B), rtol=1e-4, atol=1e-5)


def test_the_text_of_a_kernel() -> None:
    text = str(translated(matmul, *(numbers((2, 2), "F") for _ in range(3))))
    assert text.count("cooperative_matrix_mul_add") == 2
    assert "cooperative_matrix_load %A[%i, %k]" in text
    turned = str(translated(matmul, *(numbers((2, 2), "C") for _ in range(3))))
    assert "cooperative_matrix_load.t %A[%k, %i]" in turned


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("what", ["far", "near"])
def test_a_type_variable_is_the_type_of_the_array(dtype: type[np.floating[Any]], what: str) -> None:
    X, Y = np.arange(4, dtype=dtype), np.zeros(4, dtype)
    run(shifted, X, Y, what, 2)
    assert Y.tolist() == (2 * X + (18 if what == "far" else 6)).tolist()


def test_a_kernel_may_end_early() -> None:
    Y = np.zeros(1, np.float32)
    run(shifted, np.ones(1, np.float32), Y, "far", 2)
    assert Y.tolist() == [0.0]


@pytest.mark.parametrize("order", "CF")
def test_arrays_of_three_axes(order: str) -> None:
    X, Y = numbers((2, 3, 4), order), np.zeros((3, 4), np.float32)
    run(planes, X, Y)
    expected = X[1] + 2 * X[0]
    expected[:, 0] = 0
    np.testing.assert_allclose(Y, expected + 2 * X[0], rtol=1e-5)


def test_groups_have_members() -> None:
    Y = np.zeros(2, np.float32)
    run(sums, [np.ones(3, np.float32), np.ones(5, np.float32)], Y)
    assert Y.tolist() == [3.0, 5.0]


def countdown(X: gl.Vector[gl.f32]) -> None:
    countdown(X)


def even(x: gl.f32) -> gl.f32:
    return odd(x)


def odd(x: gl.f32) -> gl.f32:
    return even(x)


def parity(X: gl.Vector[gl.f32]) -> None:
    X[0] = even(X[0])


@pytest.mark.parametrize("function", [countdown, parity])
def test_recursion_is_refused(function: Any) -> None:
    with pytest.raises(CompileError) as error:
        translated(function, np.zeros(1, np.float32))
    assert [d.code for d in error.value.diagnostics] == ["python.recursion"]


def test_continue_ends_an_iteration_and_a_point() -> None:
    X, Y = numbers((9, 6)), np.zeros(9, np.float32)
    run(without_negative, X, Y)
    assert (X[:, 0] < 0).any() and (X[:, 0] > 0).any()
    np.testing.assert_allclose(Y, np.where(X[:, 0] < 0, -1, np.maximum(X, 0).sum(1)), rtol=1e-5)
