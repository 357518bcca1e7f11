"""Softmax of columns against NumPy, and what holds for all kernels together."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from girih import kernels
from girih.interpreter.machine.choices import Choices

LENGTHS = [1, 2, 31, 32, 33, 64, 77, 1000]


def softmax(
    a: np.ndarray[tuple[int, ...], np.dtype[np.float32]], choices: Choices | None = None
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    out = np.zeros_like(a)
    girih.load(kernels.path("softmax"))["softmax"].options(choices=choices)[a.shape[1]](a, girih.uninitialized(out))
    return out


@pytest.mark.parametrize("length", LENGTHS)
def test_softmax(length: int) -> None:
    a = np.asfortranarray(np.random.default_rng(length).standard_normal((length, 9)).astype(np.float32) * 20)
    exact = np.exp(a.astype(np.float64) - a.max(0))
    np.testing.assert_allclose(softmax(a), exact / exact.sum(0), rtol=1e-5, atol=1e-30)


def test_nothing_to_do() -> None:
    assert softmax(np.zeros((5, 0), np.float32, order="F")).shape == (5, 0)


@pytest.mark.interpreter
def test_softmax_under_twenty_seeds() -> None:
    a = np.asfortranarray(np.random.default_rng(0).standard_normal((77, 50)).astype(np.float32))
    exact = np.exp(a.astype(np.float64))
    for seed in range(20):
        np.testing.assert_allclose(softmax(a, Choices(seed)), exact / exact.sum(0), rtol=1e-5)


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(KeyError, match="softmax"):
        kernels.path("soft_max")


@pytest.mark.parametrize("name", kernels.names())
def test_kernels_are_canonical_programs(name: str) -> None:
    program = girih.load(kernels.path(name))
    assert not program.warnings
    assert girih.parse(str(program)) == program.ir
