"""Products with quantised weights, and what makes and reads the blocks, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from girih import kernels
from tests.kernels.arrays import Array, random

BYTES = {"q4_0": 18, "q8_0": 34}


def random_blocks(format: str, rows: int, blocks: int) -> Array:
    """Blocks of random bytes whose scales are random finite numbers."""
    source = np.random.default_rng([rows, blocks])
    held = source.integers(0, 256, (rows, blocks, BYTES[format]), dtype=np.uint8)
    held[..., :2] = source.standard_normal((rows, blocks, 1)).astype(np.float16).view(np.uint8)
    return held.view(np.int8).T


def assert_close(found: Array, weights: Array, x: Array) -> None:
    """Sums of products in f32, in any order."""
    wide = weights.astype(np.float64)
    bound = (weights.shape[1] + 2) * 2.0**-23 * (abs(wide) @ abs(x.astype(np.float64)))
    assert (abs(found - wide @ x.astype(np.float64)) <= bound).all()


@pytest.mark.parametrize("type_", ["f32", "bf16"])
@pytest.mark.parametrize(("rows", "blocks"), [(1, 1), (8, 2), (64, 3), (71, 5), (130, 1), (0, 2), (3, 0)])
@pytest.mark.parametrize("format", ["q4_0"])
def test_gemv(format: str, rows: int, blocks: int, type_: str) -> None:
    name = f"gemv_{format}"
    w, x, y = random_blocks(format, rows, blocks), random(type_, 32 * blocks), np.full(rows, np.nan, np.float32)
    getattr(kernels, name)(type=type_)[kernels.grid_for(name, rows)](w, x, girih.uninitialized(y))
    assert_close(y, kernels.dequantize(w, format), x)
