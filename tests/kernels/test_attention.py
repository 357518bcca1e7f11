"""Attention against NumPy in f64: types, head dimensions, lengths, causal or not."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih import kernels
from girih.interpreter.machine.choices import Choices
from tests.cases import crossed

Array = NDArray[Any]

DTYPES = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
TOLERANCES = {"f32": 3e-6, "f16": 4e-3, "bf16": 3e-2}

NATIVE = 2.0**-9
"""Numerator and denominator are sums of what `native_exp` gives, each within 2^-10 where it is compiled."""

LENGTHS = [1, 2, 31, 32, 33, 64, 77]


def reference(arrays: list[Array], scale: float, causal: bool) -> Array:
    """softmax(scale Q^T K) V in f64; the arrays are headdim x sequence x heads."""
    q, k, v = (x.astype(np.float64) for x in arrays)
    scores = np.einsum("dqh,dkh->hqk", q, k) * scale
    if causal:
        queries, keys = np.indices(scores.shape[1:])
        scores = np.where(keys <= queries, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(np.einsum("hqk,dkh->dqh", weights / weights.sum(-1, keepdims=True), v))


def tolerance(type: str, target: str) -> float:
    return max(TOLERANCES[type], 0.0 if target == "interpreter" else NATIVE)


def inputs(type: str, headdim: int, queries: int, keys: int, heads: int) -> list[Array]:
    rng = np.random.default_rng(queries)
    shapes = [(headdim, queries, heads), (headdim, keys, heads), (headdim, keys, heads)]
    return [np.asfortranarray(rng.standard_normal(shape).astype(DTYPES[type])) for shape in shapes]


def attend(type: str, causal: bool, arrays: list[Array], scale: float, choices: Choices | None = None) -> Array:
    q = arrays[0]
    headdim, queries, heads = q.shape
    definitions = {"headdim": headdim, "type": type, "causal": causal}
    program = girih.load(kernels.path("attention"), definitions=definitions)
    out = np.full(q.shape, np.nan, q.dtype, order="F")
    result = girih.uninitialized(out)
    program["attention"].options(choices=choices)[-(-queries // 32), heads](*arrays, result, scale)
    return out


@pytest.mark.parametrize(("causal", "headdim", "type"), crossed([False, True], [32, 64, 128], sorted(DTYPES)))
def test_attention(type: str, headdim: int, causal: bool, target: str) -> None:
    for length in LENGTHS:
        arrays = inputs(type, headdim, length, length, heads=2)
        scale = headdim**-0.5
        found = attend(type, causal, arrays, scale).astype(np.float64)
        expected = reference(arrays, scale, causal)
        near = tolerance(type, target)
        np.testing.assert_allclose(found, expected, rtol=near, atol=near)


@pytest.mark.parametrize(("queries", "keys"), [(5, 77), (77, 5), (33, 1), (1, 100)])
def test_fewer_or_more_keys_than_queries(queries: int, keys: int, target: str) -> None:
    arrays = inputs("f32", 64, queries, keys, heads=3)
    near = tolerance("f32", target)
    found = attend("f32", False, arrays, 0.125)
    np.testing.assert_allclose(found, reference(arrays, 0.125, False), rtol=near, atol=near)


def test_large_scores_do_not_overflow() -> None:
    arrays = [a * np.float32(30) for a in inputs("f32", 32, 40, 40, heads=1)]
    found = attend("f32", True, arrays, 1.0)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, reference(arrays, 1.0, True), rtol=2e-3, atol=2e-3)


@pytest.mark.interpreter
@pytest.mark.parametrize(("type", "seed"), crossed(sorted(DTYPES), range(20)))
def test_attention_under_twenty_seeds(type: str, seed: int) -> None:
    arrays = inputs(type, 32, 77, 77, heads=2)
    expected = reference(arrays, 0.2, True)
    found = attend(type, True, arrays, 0.2, Choices(seed)).astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=TOLERANCES[type], atol=TOLERANCES[type])


def test_no_queries() -> None:
    arrays = inputs("f32", 32, 0, 8, heads=2)
    assert attend("f32", False, arrays, 1.0).shape == (32, 0, 2)
