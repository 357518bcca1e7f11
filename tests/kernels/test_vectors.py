"""The kernels on vectors, against NumPy: every type, lengths around the block of a work-group, elements apart."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from girih import kernels
from girih.kernels.table import EVERY, FLOATING
from tests.cases import crossed, every_case
from tests.kernels.arrays import DTYPES, EPSILON, Array, assert_product, assert_sum, number, random, wide, zeros

LENGTHS = [0, 1, 7, 1023, 1024, 1025, 2500]
FACTORS = [(2, 0), (2, 1), (-1, 3), (0, 1), (3, -2)]
SIZES = [(1, 1), (64, 13), (65, 64), (131, 1), (1, 97), (130, 61), (67, 0), (0, 5)]

# Each size with two pairs of factors, one with and one without what was there before.
MATRICES = [(size, factors) for i, size in enumerate(SIZES) for factors in (FACTORS[0], FACTORS[1 + i % 4])]
VECTORS = [(length, FACTORS[i % 5]) for i, length in enumerate(LENGTHS)]


def assert_elements(result: Array, x: Array, y: Array, alpha: float, beta: float, old: Array, type_: str) -> None:
    """`result` is alpha x y + beta old, element by element."""
    products = wide(x) * wide(y)
    assert_sum(result, products, abs(products), alpha, beta, old, 1, type_)


@pytest.mark.parametrize("type_", EVERY)
def test_axpby(type_: str) -> None:
    with every_case() as case:
        for length, factors in VECTORS:
            with case(f"{length} by {factors}"):
                (alpha, beta), x, y = factors, random(type_, length), random(type_, length, seed=1)
                old = y.copy()
                kernel = kernels.axpby(type=type_)[kernels.grid_for("axpby", length)]
                kernel(number(type_, alpha), x, number(type_, beta), y)
                assert_elements(y, np.ones_like(x), x, alpha, beta, old, type_)


@pytest.mark.parametrize("type_", EVERY)
def test_hadamard(type_: str) -> None:
    with every_case() as case:
        for length, factors in VECTORS:
            with case(f"{length} by {factors}"):
                alpha, beta = factors
                x, y, z = random(type_, length), random(type_, length, seed=1), random(type_, length, seed=2)
                old = z.copy()
                kernel = kernels.hadamard(type=type_)[kernels.grid_for("hadamard", length)]
                kernel(number(type_, alpha), x, y, number(type_, beta), z)
                assert_elements(z, x, y, alpha, beta, old, type_)


def test_elements_may_lie_apart() -> None:
    x, y = random("f64", 3000)[::2], zeros("f64", 4500)[::3]
    kernels.axpby(type="f64")[2](2.0, x, 0.0, y)
    np.testing.assert_array_equal(y, 2.0 * x)
    kernels.hadamard(type="f64")[2](1.0, x, x, 1.0, y)
    # One rounding of the square and one of the sum.
    np.testing.assert_allclose(y, 2.0 * x + x * x, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("type_", EVERY)
def test_ger(type_: str) -> None:
    with every_case() as case:
        for size, factors in MATRICES:
            with case(f"{size} by {factors}"):
                (m, n), (alpha, beta) = size, factors
                x, y, c = random(type_, m), random(type_, n, seed=1), random(type_, m, n, seed=2)
                old = c.copy()
                kernel = kernels.ger(type=type_)[kernels.grid_for("ger", m, n)]
                kernel(number(type_, alpha), x, y, number(type_, beta), c)
                assert_product(c, x[:, None], y[None, :], alpha, beta, old, 1, type_)


@pytest.mark.parametrize("type_", EVERY)
@pytest.mark.parametrize("transpose", [False, True])
def test_gemv(type_: str, transpose: bool) -> None:
    with every_case() as case:
        for size, factors in MATRICES:
            with case(f"{size} by {factors}"):
                (m, k), (alpha, beta) = size, factors
                a, x, y = random(type_, m, k), random(type_, k, seed=1), random(type_, m, seed=2)
                old = y.copy()
                kernel = kernels.gemv(type=type_, transpose_a=transpose)[kernels.grid_for("gemv", m)]
                kernel(number(type_, alpha), np.asfortranarray(a.T) if transpose else a, x, number(type_, beta), y)
                assert_product(y, a, x, alpha, beta, old, k, type_)


@pytest.mark.parametrize("transpose", [False, True])
def test_a_vector_that_does_not_fit_is_found(transpose: bool) -> None:
    a, y = random("f32", 6, 6), zeros("f32", 6)
    for length in (5, 7):
        with pytest.raises(girih.KernelError):
            kernels.gemv(transpose_a=transpose)(1.0, a, random("f32", length), 1.0, y)
    assert not y.any()


def test_beta_zero_does_not_read() -> None:
    x = random("f32", 1500)
    y = np.full(1500, np.nan, np.float32)
    kernels.axpby()[2](1.0, x, 0.0, girih.uninitialized(y))
    np.testing.assert_array_equal(y, x)
    y[...] = np.nan
    kernels.hadamard()[2](1.0, x, np.ones_like(x), 0.0, girih.uninitialized(y))
    np.testing.assert_array_equal(y, x)
    y[...] = np.nan
    kernels.gemv()[3](1.0, np.asfortranarray(x[:, None]), np.ones(1, np.float32), 0.0, girih.uninitialized(y))
    np.testing.assert_array_equal(y, x)
    c = np.full((1500, 1), np.nan, np.float32, order="F")
    kernels.ger()[24](1.0, x, np.ones(1, np.float32), 0.0, girih.uninitialized(c))
    np.testing.assert_array_equal(c[:, 0], x)


@pytest.mark.interpreter
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_whatever_an_implementation_chooses(seed: int) -> None:
    choices = girih.Choices(seed)
    a, x, y = random("f32", 520, 67), random("f32", 67), random("f32", 520, seed=1)
    old = y.copy()
    kernels.gemv().options(choices=choices)[2](2.0, a, x, 0.5, y)
    assert_product(y, a, x, 2, 0.5, old, 67, "f32")
    a, y = a[:70], y[:70]
    c = a.copy("F")
    kernels.ger().options(choices=choices)[2, 2](1.0, y, x, 1.0, c)
    assert_product(c, y[:, None], x[None, :], 1, 1, a, 1, "f32")


@pytest.mark.parametrize(("type_", "interleaved"), crossed(FLOATING, [False, True]))
def test_rotary(type_: str, interleaved: bool) -> None:
    """Pairs as complex numbers, times numbers on the unit circle; turned back, they are what they were."""
    summed = "f64" if type_ == "f64" else "f32"
    kernel = kernels.rotary(type=type_, interleaved=interleaved)
    with every_case() as case:
        for size, places, heads in [(2, 1, 1), (64, 16, 1), (66, 17, 2), (130, 33, 1), (8, 0, 2), (0, 3, 1)]:
            with case(f"{size} x {places} x {heads}"):
                x, y = random(type_, size, places, heads), zeros(type_, size, places, heads)
                angles = np.arange(places) / 100.0 ** (np.arange(size // 2)[:, None] / max(size, 1))
                c, s = (np.asfortranarray(turn(angles).astype(DTYPES[summed])) for turn in (np.cos, np.sin))
                grid = kernels.grid_for("rotary", places, heads)
                kernel[grid](x, c, s, y)
                firsts, seconds = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (
                    slice(0, size // 2), slice(size // 2, None))  # fmt: skip
                pairs = (wide(x)[firsts] + 1j * wide(x)[seconds]) * (wide(c) + 1j * wide(s))[:, :, None]
                bound = (EPSILON[type_] + 4 * EPSILON[summed]) * abs(pairs)
                assert (abs(wide(y)[firsts] - pairs.real) <= bound).all()
                assert (abs(wide(y)[seconds] - pairs.imag) <= bound).all()
                before = x.copy()
                kernel[grid](x, c, s, x)
                np.testing.assert_array_equal(x, y)
                kernel[grid](x, c, -s, x)
                np.testing.assert_allclose(wide(x), wide(before), atol=16 * EPSILON[type_])
