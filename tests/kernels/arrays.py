"""Arrays for tests of kernels: random ones of every type, exact references, and how far off is right."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

DTYPES: dict[str, Any] = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "c32": np.complex64,
    "c64": np.complex128,
}

EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52, "c32": 2.0**-23, "c64": 2.0**-52}
"""The distance of 1 and the next number, by type; integers are exact."""

SUMMED_IN = {"f16": "f32", "bf16": "f32"}
"""The type in which sums of products are computed, where it is another one."""


def random(type_: str, *shape: int, seed: int = 0) -> Array:
    """Small integers, or numbers of a normal distribution, in the packed layout."""
    source = np.random.default_rng([seed, *shape])
    if type_.startswith("i"):
        values: Array = source.integers(-8, 9, shape)
    else:
        values = source.standard_normal(shape)
        if type_.startswith("c"):
            values = values + 1j * source.standard_normal(shape)
    return np.asfortranarray(values.astype(DTYPES[type_]))


def zeros(type_: str, *shape: int) -> Array:
    """Zeros in the packed layout."""
    return np.zeros(shape, DTYPES[type_], order="F")


def wide(array: Array) -> Array:
    """The same numbers in the widest type of their kind."""
    kind = array.dtype.kind
    return array.astype({"i": np.int64, "c": np.complex128}.get(kind, np.float64))


def number(type_: str, value: float) -> int | float | complex:
    """A scalar argument of a type."""
    return int(value) if type_.startswith("i") else value


def assert_product(
    result: Array, a: Array, b: Array, alpha: float, beta: float, old: Array, depth: int, type_: str
) -> None:
    """`result` is alpha a b + beta old, with matrices of `depth` columns and rows; see `assert_sum`."""
    assert_sum(result, wide(a) @ wide(b), abs(wide(a)) @ abs(wide(b)), alpha, beta, old, depth, type_)


def assert_sum(
    result: Array, total: Array, magnitude: Array, alpha: float, beta: float, old: Array, depth: int, type_: str
) -> None:
    """`result` is alpha total + beta old: exact for integers, which wrap around, else within the error of its sums.

    A sum of `depth` products rounds `depth` times in the type that it is computed in; scaling and adding round four
    times in the result's type. Both errors are relative to the sum of magnitudes. For beta = 0, `old` may be anything.
    """
    expected = alpha * total + (beta * wide(old) if beta else 0)
    if type_.startswith("i"):
        np.testing.assert_array_equal(result, expected.astype(DTYPES[type_]))
        return
    bound = abs(alpha) * magnitude + (abs(beta * wide(old)) if beta else 0)
    rounding = 4 * EPSILON[type_] + (depth + 2) * EPSILON[SUMMED_IN.get(type_, type_)]
    assert result.shape == expected.shape
    assert (abs(wide(result) - expected) <= rounding * bound).all()
