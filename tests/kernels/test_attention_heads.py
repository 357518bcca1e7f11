"""Attention with heads that share keys and values, against NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from girih import kernels
from tests.cases import crossed
from tests.kernels.arrays import EPSILON, Array, random, wide, zeros


def attention(q: Array, k: Array, v: Array, scale: float, causal: bool) -> Array:
    """softmax(scale Q^T K) V in double precision; neighbouring heads share keys and values."""
    k, v = (np.repeat(wide(x), q.shape[2] // x.shape[2], axis=2) for x in (k, v))
    scores = np.einsum("dqh,dkh->hqk", wide(q), k) * scale
    if causal:
        queries, keys = scores.shape[1:]
        scores = np.where(np.arange(keys) <= np.arange(queries)[:, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.asarray(np.einsum("hqk,dkh->dqh", weights, v))


@pytest.mark.parametrize(
    ("causal", "sizes", "type_"),
    crossed(
        [False, True],
        [(16, 33, 65, 4, 2), (64, 32, 32, 3, 1), (17, 1, 97, 2, 2), (1, 71, 1, 6, 3)],
        ["f16", "bf16", "f32"],
    ),
)
def test_shared_heads(causal: bool, sizes: tuple[int, int, int, int, int], type_: str) -> None:
    headdim, queries, keys, heads, key_heads = sizes
    q, o = random(type_, headdim, queries, heads), zeros(type_, headdim, queries, heads)
    k, v = (random(type_, headdim, keys, key_heads, seed=seed) for seed in (1, 2))
    kernel = kernels.attention(type=type_, headdim=headdim, causal=causal)
    scale = headdim**-0.5
    kernel(q, k, v, o, scale)
    # A native exponential function is right to 2^-10, in the weights and in their sum; weights and result are rounded
    # to the type. All of it is relative to the largest value.
    tolerance = (2 * 2.0**-10 + 2 * EPSILON[type_]) * float(abs(wide(v)).max())
    np.testing.assert_allclose(wide(o), attention(q, k, v, scale, causal), atol=tolerance)


def test_very_negative_scores_do_not_vanish() -> None:
    """Where all scores are -5000, all keys have the same weight; one in the second tile of keys is still better."""
    q, k, o = np.full((8, 3, 1), 25.0, np.float32), np.full((8, 40, 1), -25.0, np.float32), zeros("f32", 8, 3, 1)
    v = random("f32", 8, 40, 1)
    arrays = [np.asfortranarray(array) for array in (q, k, v)]
    kernels.attention(headdim=8)(*arrays, o, 1.0)
    # Forty roundings, and the native exponential function of 0 to 2^-10, in weights and sum.
    tolerance = (2 * 2.0**-10 + 40 * EPSILON["f32"]) * float(abs(v).max())
    np.testing.assert_allclose(o[:, :, 0], np.repeat(v.mean(axis=1), 3, axis=1), atol=tolerance)
    arrays[1][:, 35] = -24.0
    kernels.attention(headdim=8)(*arrays, o, 1.0)
    np.testing.assert_allclose(o[:, :, 0], np.repeat(v[:, 35], 3, axis=1), atol=tolerance)


def test_no_heads_and_no_queries() -> None:
    for queries, heads in ((0, 2), (3, 0)):
        o = zeros("f32", 8, queries, heads)
        q, k = zeros("f32", 8, queries, heads), random("f32", 8, 5, max(heads, 1))
        kernels.attention(headdim=8)(q, k, k, o, 1.0)
        assert o.shape == (8, queries, heads)


@pytest.mark.parametrize(("heads", "key_heads"), [(3, 2), (5, 3), (2, 4), (7, 3)])
def test_heads_that_cannot_share_are_found(heads: int, key_heads: int, target: str) -> None:
    q, k, o = random("f32", 8, 4, heads), random("f32", 8, 4, key_heads), zeros("f32", 8, 4, heads)
    with pytest.raises(girih.KernelError):
        kernels.attention(headdim=8)[1, heads](q, k, k, o, 1.0)
    assert target == "cpu" or not o.any(), "the interpreter leaves arrays as they were"
