"""Functions of angles and hyperbolas, against those of NumPy in f64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from girih.ir.types import F16, F32
from tests.cases import every_case
from tests.device.numbers.evaluating import TARGETS, Applied, Array, evaluate

FUNCTIONS = {
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}
SPECIAL = [0.0, 1.0, math.inf, math.nan, 2.0**-149, 2.0**-126, 3.4e38, 88.8, 89.5, 90.0, 2.0, 1e-7, 1e30]


def arguments() -> Array:
    random = np.random.default_rng(3)
    parts = [
        random.uniform(0, 1, 1500),
        random.uniform(1, 100, 1000),
        1 + random.uniform(0, 1, 300) * 2.0**-10,
        np.exp(random.uniform(-80, 80, 1000)),
        # Around where series begin and end.
        2.0**-6 + random.uniform(-1, 1, 200) * 2.0**-10,
        math.tan(math.pi / 8) + random.uniform(-1, 1, 200) * 2.0**-10,
        np.array(SPECIAL),
    ]
    found = np.concatenate(parts).astype(np.float32)
    return np.concatenate([found, -found])


def distance(found: Array, exact: Array) -> Array:
    """The error in units of the last place of the exact value; 0 where both are NaN, or the same infinity."""
    expected = exact.astype(found.dtype)
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(expected)).astype(np.float64)
        error = np.abs(found.astype(np.float64) - exact) / unit
    right = (np.isnan(found) & np.isnan(expected)) | (np.isinf(expected) & (found == expected))
    return np.where(right, 0.0, np.where(np.isnan(error), np.inf, error))


@pytest.mark.parametrize("target", TARGETS)
def test_functions_are_within_one_ulp(target: str) -> None:
    a = arguments()
    half = a.astype(np.float16)
    found = evaluate(target, *(Applied(name, (a,), (F32,)) for name in FUNCTIONS))
    short = evaluate(target, *(Applied(name, (half,), (F16,)) for name in FUNCTIONS))
    with every_case() as case:
        for (name, function), (single,), (narrow,) in zip(FUNCTIONS.items(), found, short, strict=True):
            with case(name):
                exact = function(a.astype(np.float64))
                assert distance(single, exact).max() <= 0.501
                same = ~np.isnan(exact) & (single != 0)
                assert np.array_equal(np.signbit(single[same]), np.signbit(exact[same]))
                assert distance(narrow, function(half.astype(np.float64))).max() <= 0.51


@pytest.mark.parametrize("target", TARGETS)
def test_the_angle_of_a_point(target: str) -> None:
    edges = np.array([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0**-149, -(2.0**-149), 3e38])
    random = np.random.default_rng(5).normal(size=2000) * np.exp(np.random.default_rng(6).uniform(-20, 20, 2000))
    y = np.concatenate([np.repeat(edges, len(edges)), random[:1000]]).astype(np.float32)
    x = np.concatenate([np.tile(edges, len(edges)), random[1000:]]).astype(np.float32)
    (found,) = evaluate(target, Applied("atan2", (y, x), (F32,)))[0]
    exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    assert distance(found, exact).max() <= 0.501
    assert np.array_equal(np.signbit(found[~np.isnan(exact)]), np.signbit(exact[~np.isnan(exact)]))
