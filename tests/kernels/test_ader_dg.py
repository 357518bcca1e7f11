"""The chain of products of an ADER-DG predictor, against the same chain in NumPy, for every order."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest

import girih
from girih import kernels
from tests.cases import crossed, long
from tests.kernels.arrays import EPSILON, Array, random, wide, zeros

ORDERS = range(2, 8)
QUANTITIES = 9


def functions(order: int) -> int:
    """How many basis functions there are of a degree below `order` in three dimensions."""
    return order * (order + 1) * (order + 2) // 6


def inputs(order: int, elements: int, type_: str) -> tuple[Array, Array, Array]:
    """Stiffness matrices that lower the degree, as derivatives of polynomials do; star matrices; coefficients."""
    p = functions(order)
    k, a = random(type_, p, p, 3), random(type_, QUANTITIES, QUANTITIES, 3, elements, seed=1)
    degree = np.repeat(np.arange(order), [functions(n + 1) - functions(n) for n in range(order)])
    k[degree[:, None] >= degree[None, :]] = 0
    k /= np.asarray(p, k.dtype)
    return k, a, random(type_, p, QUANTITIES, elements, seed=2)


def predictor(order: int, dt: float, k: Array, a: Array, q: Array) -> Array:
    """The Taylor series in double precision, every derivative with all its rows."""
    derivative, total = wide(q), dt * wide(q)
    for n in range(1, order):
        derivative = np.einsum("pid,iqe,qrde->pre", wide(k), derivative, wide(a))
        total = total + dt ** (n + 1) / factorial(n + 1) * derivative
    return np.asarray(total)


@pytest.mark.parametrize(("order", "type_", "elements"), crossed(ORDERS, ["f32", "f64"], [0, 1, 5]))
def test_predictor(order: int, elements: int, type_: str) -> None:
    k, a, q = inputs(order, elements, type_)
    result = zeros(type_, *q.shape)
    kernels.ader_dg(convergence_order=order, type=type_)(0.3, k, a, q, result)
    # Terms are summed with errors relative to the sum of magnitudes, which the same chain on magnitudes gives.
    magnitude = predictor(order, 0.3, abs(k), abs(a), abs(q))
    roundings = 2 * order * (functions(order) + 3 * QUANTITIES + 5)
    assert (abs(wide(result) - predictor(order, 0.3, k, a, q)) <= roundings * EPSILON[type_] * magnitude).all()


@pytest.mark.parametrize("order", [2, 5, *long([3, 4, 6, 7])])
def test_rows_that_a_derivative_does_not_have_are_not_used(order: int) -> None:
    k, a, q = inputs(order, 2, "f64")
    spoiled = k.copy("F")
    spoiled[functions(order - 1) :] = np.nan
    results = [zeros("f64", *q.shape) for _ in range(2)]
    for matrices, result in zip((k, spoiled), results, strict=True):
        kernels.ader_dg(convergence_order=order, type="f64")[2](0.1, matrices, a, q, girih.uninitialized(result))
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.interpreter
@pytest.mark.parametrize("seed", [1, *long([2, 3])])
def test_whatever_an_implementation_chooses(seed: int) -> None:
    k, a, q = inputs(4, 3, "f64")
    result = zeros("f64", *q.shape)
    kernels.ader_dg(convergence_order=4, type="f64").options(choices=girih.Choices(seed))[3](0.3, k, a, q, result)
    np.testing.assert_allclose(result, predictor(4, 0.3, k, a, q), rtol=1e-11, atol=1e-11)
