"""The kernels that take a column for each work-group, against NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from girih import kernels
from girih.kernels.table import FLOATING, INTEGER
from tests.cases import crossed, long
from tests.kernels.arrays import DTYPES, EPSILON, Array, random, wide, zeros

# One element, around a subgroup, primes, and longer than the largest work-group.
SHAPES = [(1, 1), (1, 7), (31, 3), (32, 1), (33, 2), (97, 5), (1025, 2), (3001, 2)]
EMPTY = [(0, 3), (5, 0)]
SUMMED = {"f16": "f32", "bf16": "f32", "f32": "f32", "f64": "f64"}


def close(result: Array, expected: Array, length: int, type_: str, scale: float = 1.0) -> None:
    """A result that was rounded once in its type, and in that of the sums once for each element and 30 times more.

    The thirty are for exponential functions (3 units in the last place), logarithms, divisions and scaling.
    """
    tolerance = EPSILON[type_] + (length + 30) * EPSILON[SUMMED[type_]]
    np.testing.assert_allclose(wide(result), expected, rtol=tolerance, atol=tolerance * scale)


def softmax(a: Array) -> Array:
    """In double precision; zeros for a column of -inf."""
    with np.errstate(invalid="ignore"):
        weights = np.exp(wide(a) - wide(a).max(axis=0))
        return np.asarray(np.nan_to_num(weights / weights.sum(axis=0)))


@pytest.mark.parametrize(("shape", "type_"), crossed(SHAPES, FLOATING))
def test_softmax(type_: str, shape: tuple[int, int]) -> None:
    a = random(type_, *shape)
    a[:: shape[0] // 3 + 1, 0] = -np.inf
    b = zeros(type_, *shape)
    kernels.softmax(type=type_)(a, b)
    # The distance to the maximum is rounded, and exp makes a relative error of it: it is less than ten here. Weights
    # below the normal numbers of f16 are as far off as those numbers lie apart.
    np.testing.assert_allclose(
        wide(b), softmax(a), rtol=EPSILON[type_] + (shape[0] + 40) * EPSILON[SUMMED[type_]], atol=2.0**-24
    )


@pytest.mark.parametrize(("length", "type_"), crossed([1, 5, 32, 1500], FLOATING))
def test_softmax_of_masked_columns_is_zero(type_: str, length: int) -> None:
    a, b = random(type_, length, 3), random(type_, length, 3)
    a[:, 1] = -np.inf
    kernels.softmax(type=type_)[3](a, b)
    assert not b[:, 1].any()
    assert (wide(b)[:, [0, 2]].sum(axis=0) > 0.9).all()


def test_softmax_of_large_numbers_does_not_overflow() -> None:
    a, b = np.array([[1e38, -1e38], [3e38, 3e38]], np.float32, order="F"), zeros("f32", 2, 2)
    kernels.softmax()[2](a, b)
    np.testing.assert_array_equal(b, [[0, 0], [1, 1]])


def test_softmax_of_very_negative_numbers_does_not_vanish() -> None:
    a, b = np.array([[-5000.0], [-5000.0], [-6000.0]], np.float32, order="F"), zeros("f32", 3, 1)
    kernels.softmax()(a, b)
    np.testing.assert_array_equal(b[:, 0], [0.5, 0.5, 0])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_softmax_of_no_number_is_no_number(value: float) -> None:
    a, b = random("f32", 40, 2), zeros("f32", 40, 2)
    a[7, 1] = value
    kernels.softmax()[2](a, b)
    assert np.isfinite(b[:, 0]).all()
    assert np.isnan(b[7, 1])


@pytest.mark.parametrize(("shape", "type_"), crossed(SHAPES, FLOATING))
def test_layernorm(type_: str, shape: tuple[int, int]) -> None:
    x, gamma, beta = random(type_, *shape), random(type_, shape[0], seed=1), random(type_, shape[0], seed=2)
    y = zeros(type_, *shape)
    kernels.layernorm(type=type_)(x, gamma, beta, 1e-5, y)
    centred = wide(x) - wide(x).mean(axis=0)
    normal = centred / np.sqrt((centred**2).mean(axis=0) + 1e-5)
    # The result may be a small difference of numbers of the size of gamma times the largest element, which is below 5.
    close(y, wide(gamma)[:, None] * normal + wide(beta)[:, None], shape[0], type_, scale=20.0)


def test_layernorm_far_from_zero() -> None:
    """A mean a thousand times the deviation leaves the variance its digits: the squares are summed around the mean."""
    x = np.asfortranarray(random("f32", 500, 2) + np.float32(1000))
    one, nothing, y = np.ones(500, np.float32), np.zeros(500, np.float32), zeros("f32", 500, 2)
    kernels.layernorm()[2](x, one, nothing, 0.0, y)
    normal = (wide(x) - wide(x).mean(axis=0)) / wide(x).std(axis=0)
    # The mean is rounded to 2^-14, and its sum has rounded up to 16 times in each work-item and 5 times among them.
    np.testing.assert_allclose(y, normal, atol=21 * 2.0**-14)


@pytest.mark.parametrize(("shape", "type_"), crossed(SHAPES, FLOATING))
def test_rms_norm(type_: str, shape: tuple[int, int]) -> None:
    x, gamma = random(type_, *shape), random(type_, shape[0], seed=1)
    y = zeros(type_, *shape)
    kernels.rms_norm(type=type_)(x, gamma, 1e-5, y)
    close(y, wide(gamma)[:, None] * wide(x) / np.sqrt((wide(x) ** 2).mean(axis=0) + 1e-5), shape[0], type_)


@pytest.mark.parametrize("scale", [1e-19, 1e-18, 1e-3, 1e3, 1e18])
def test_rms_norm_of_any_magnitude(scale: float) -> None:
    x = np.asfortranarray(random("f32", 50, 2) * np.float32(scale))
    y = zeros("f32", 50, 2)
    kernels.rms_norm()[2](x, np.ones(50, np.float32), 0.0, y)
    close(y, wide(x) / np.sqrt((wide(x) ** 2).mean(axis=0)), 50, "f32")


@pytest.mark.parametrize("scale", [1e-19, 1e18])
def test_layernorm_of_any_magnitude(scale: float) -> None:
    x = np.asfortranarray(random("f32", 50, 2) * np.float32(scale))
    y, nothing = zeros("f32", 50, 2), np.zeros(50, np.float32)
    kernels.layernorm()[2](x, np.ones(50, np.float32), nothing, 0.0, y)
    np.testing.assert_allclose(y, (wide(x) - wide(x).mean(axis=0)) / wide(x).std(axis=0), atol=2e-6)


@pytest.mark.parametrize("shape", EMPTY)
def test_nothing_to_normalize(shape: tuple[int, int]) -> None:
    length, columns = shape
    x, y, weights = zeros("f32", *shape), zeros("f32", *shape), zeros("f32", length)
    kernels.softmax()[columns](x, y)
    kernels.layernorm()[columns](x, weights, weights, 1e-5, y)
    kernels.rms_norm()[columns](x, weights, 1e-5, y)
    assert y.shape == shape


@pytest.mark.parametrize(("shape", "type_"), crossed([*SHAPES, (5, 0)], [*INTEGER, *FLOATING]))
def test_argmax(type_: str, shape: tuple[int, int]) -> None:
    a, found = random(type_, *shape), np.full(shape[1], 7, np.int64)
    kernels.argmax(type=type_)(a, found)
    np.testing.assert_array_equal(found, a.astype(np.float64).argmax(axis=0))


def test_argmax_takes_the_first_of_many() -> None:
    a, found = np.zeros((100, 4), np.float32, order="F"), np.zeros(4, np.int64)
    a[[40, 72], 1] = a[[33, 64], 2] = 1
    a[:, 3] = -np.inf
    kernels.argmax()[4](a, found)
    assert found.tolist() == [0, 40, 33, 0]


def test_argmax_passes_over_what_is_no_number() -> None:
    a, found = random("f32", 70, 4), np.zeros(4, np.int64)
    a[0, 0] = a[50:, 1] = a[:69, 2] = a[:, 3] = np.nan
    kernels.argmax()[4](a, found)
    assert found.tolist() == [np.nanargmax(a[:, 0]), np.nanargmax(a[:, 1]), 69, -1]


def test_argmax_of_nothing() -> None:
    found = np.zeros(2, np.int64)
    kernels.argmax()[2](zeros("f32", 0, 2), found)
    assert found.tolist() == [-1, -1]


@pytest.mark.parametrize("type_", INTEGER)
def test_argmax_of_the_smallest_integers(type_: str) -> None:
    a, found = np.full((40, 1), np.iinfo(DTYPES[type_]).min, DTYPES[type_], order="F"), np.zeros(1, np.int64)
    kernels.argmax(type=type_)(a, found)
    assert found.tolist() == [0]


@pytest.mark.interpreter
@pytest.mark.parametrize("seed", [1, *long([2, 3])])
def test_whatever_an_implementation_chooses(seed: int) -> None:
    """Results are only written, so that what stood there may be anything."""
    choices = girih.Choices(seed)
    x, gamma = random("f32", 137, 9), random("f32", 137)
    y, found = np.full_like(x, np.nan), np.zeros(9, np.int64)
    kernels.softmax().options(choices=choices)[9](x, girih.uninitialized(y))
    close(y, softmax(x), 137, "f32")
    kernels.argmax().options(choices=choices)[9](x, girih.uninitialized(found))
    np.testing.assert_array_equal(found, x.argmax(axis=0))
    kernels.rms_norm().options(choices=choices)[9](x, gamma, 0.0, girih.uninitialized(y))
    close(y, wide(gamma)[:, None] * wide(x) / np.sqrt((wide(x) ** 2).mean(axis=0)), 137, "f32")
    kernels.layernorm().options(choices=choices)[9](x, gamma, gamma, 0.0, girih.uninitialized(y))
    normal = (wide(x) - wide(x).mean(axis=0)) / wide(x).std(axis=0)
    close(y, wide(gamma)[:, None] * (normal + 1), 137, "f32", scale=20.0)
