"""The shaders of `examples/shaders` without matrices of subgroups, held against NumPy on both executors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.kernels.quantized import dequantize, quantize
from tests.cases import every_case

SHADERS = Path(__file__).resolve().parents[3] / "examples" / "shaders"


def numbers(*shape: int) -> NDArray[np.float32]:
    """Normally distributed numbers, the same for the same shape."""
    return np.random.default_rng(list(shape)).standard_normal(shape, np.float32)


def written(
    name: str, target: str, grid: tuple[int, ...], inputs: tuple[NDArray[Any], ...], size: int, **push: int | float
) -> NDArray[np.float32]:
    """What a shader writes to its last binding, f32 numbers that begin as NaN."""
    result = np.full(size, np.nan, np.float32)
    bound = {(0, binding): array for binding, array in enumerate((*inputs, result))}
    girih.load(SHADERS / f"{name}.spv", target)["main"][grid](bound, push_constants=push)
    return result


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_plain_shaders_compute_what_numpy_does(target: str) -> None:
    a, b = numbers(64, 48), numbers(48, 64)
    rows, vector = numbers(3, 300), numbers(96)
    blocks = quantize(numbers(5, 96), "q4_0")
    with every_case() as case:
        with case("a sum"):
            found = written("add", target, (4,), (rows.reshape(-1), -2 * rows.reshape(-1)), 900, count=900)
            assert np.array_equal(found, -rows.reshape(-1))
        with case("rows over the root of the mean of their squares"):
            found = written("rms_norm", target, (3,), (rows.reshape(-1),), 900, columns=300, epsilon=0.5)
            expected = rows / np.sqrt((rows * rows).mean(1, keepdims=True) + np.float32(0.5))
            np.testing.assert_allclose(found.reshape(3, 300), expected, rtol=1e-5, atol=1e-6)
        with case("weights of four bits times a vector"):
            found = written("matvec_q4_0", target, (5,), (blocks.ravel("F"), vector), 5, columns=96)
            np.testing.assert_allclose(found, dequantize(blocks, "q4_0") @ vector, rtol=1e-4, atol=1e-5)
        with case("a product through shared memory"):
            found = written("matmul_scalar", target, (1, 1), (a.reshape(-1), b.reshape(-1)), 64 * 64, M=64, N=64, K=48)
            np.testing.assert_allclose(found.reshape(64, 64), a @ b, rtol=1e-4, atol=1e-4)
