"""`attention` and `conv2d` against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from girih import functions
from girih.functions import attending
from tests.functions import references
from tests.functions.references import TARGETS, drawn, near

QUERIES_KEYS = [(1, 1), (5, 40), (40, 5), (70, 65)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", QUERIES_KEYS)
def test_attention(sizes: tuple[int, int], causal: bool, target: str) -> None:
    q, k, v = drawn("f32", 2, 4, sizes[0], 24), *(drawn("f32", 2, 2, sizes[1], 24, seed=s) for s in (1, 2))
    wanted = references.attention(q, k, v, causal=causal, scale=24**-0.5)
    near(functions.attention(q, k, v, causal=causal, target=target), wanted)
    out = np.zeros((2, 4, sizes[0] + 3, 24), np.float32)[:, :, : sizes[0]]
    assert functions.attention(q, k, v, causal=causal, out=out, target=target) is out
    near(out, wanted)


@pytest.mark.parametrize("queries", [1, 5, 9, 16])
def test_attention_of_few_queries(queries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for heads, threads in [(2, 1), (6, 1), (2, 9)]:
        monkeypatch.setattr(attending, "sharing_groups", lambda target, threads=threads: threads)
        monkeypatch.setattr(attending, "PART", 64)
        q, k, v = (
            drawn("f32", heads, queries, 11 + threads),
            *(drawn("f32", 2, 37, 11 + threads, seed=s) for s in (1, 2)),
        )
        wanted = references.attention(q, k, v, causal=False, scale=0.3)
        near(functions.attention(q, k, v, scale=0.3), wanted)
        out = np.zeros((heads, queries + 1, 11 + threads), np.float32)[:, :queries]
        assert functions.attention(q, k, v, scale=0.3, out=out) is out
        near(out, wanted)
        cache = np.full((2, 50, 11 + threads), np.nan, np.float32)
        cache[:, :37] = k
        near(functions.attention(q, cache[:, :37], v, scale=0.3, out=q), wanted)


@pytest.mark.parametrize("type_", ["f16", "bf16", "f32"])
def test_types_and_scales_of_attention(type_: str) -> None:
    q, k, v = (drawn(type_, 3, 20, 32, seed=s) for s in range(3))
    wanted = references.attention(q, k, v, causal=False, scale=0.3)
    found = functions.attention(q, k, v, scale=0.3)
    assert found.dtype == q.dtype
    np.testing.assert_allclose(references.wide(found), wanted, atol=2e-2 if type_ != "f32" else 1e-5)
    near(functions.attention(q[0], k[0], v[0], scale=0.3, fast=True), wanted[0], "bf16")


def test_attention_of_other_layouts() -> None:
    q, k, v = (drawn("f32", 2, 30, 3, 16, seed=s).transpose(0, 2, 1, 3) for s in range(3))
    wanted = references.attention(q, k, v, causal=True, scale=0.25)
    with pytest.warns(functions.CopyWarning, match="attention: [qkv] is copied"):
        near(functions.attention(q, k, v, causal=True), wanted)
    straight = [np.ascontiguousarray(one) for one in (q, k, v)]
    out = np.zeros((2, 30, 3, 16), np.float32).transpose(0, 2, 1, 3)
    near(functions.attention(*straight, causal=True, out=out), wanted)
    near(functions.attention(*straight, causal=True, out=straight[0]), wanted)


def test_attention_without_queries_and_without_keys() -> None:
    q, k = np.ones((2, 3, 8), np.float32), np.zeros((2, 0, 8), np.float32)
    assert np.all(functions.attention(q, k, k) == 0)
    assert functions.attention(k, q, q).shape == (2, 0, 8)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("options", [(1, 0, 1), (1, 1, 1), (2, 1, 1), (1, 2, 2), (3, 0, 1)])
@pytest.mark.parametrize("biased", [False, True])
def test_conv2d(options: tuple[int, int, int], biased: bool, target: str) -> None:
    stride, padding, dilation = options
    x, weight, bias = drawn("f32", 2, 5, 9, 11), drawn("f32", 7, 5, 3, 3), drawn("f32", 7) if biased else None
    wanted = references.conv2d(x, weight, bias, stride, padding, dilation)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    for one in (x, last, np.asfortranarray(x)):
        y = functions.conv2d(one, weight, bias, stride=stride, padding=padding, dilation=dilation, target=target)
        near(y, wanted)
        assert (y if one is not last else y.transpose(0, 2, 3, 1)).flags.c_contiguous
        out = np.zeros(wanted.shape, np.float32)
        functions.conv2d(one, weight, bias, stride=stride, padding=padding, dilation=dilation, out=out, target=target)
        near(out, wanted)


@pytest.mark.parametrize("type_", references.DTYPES)
def test_types_of_conv2d(type_: str) -> None:
    x, weight, bias = drawn(type_, 1, 6, 8, 7), drawn(type_, 4, 6, 3, 3), drawn(type_, 4)
    y = functions.conv2d(x, weight, bias, padding="same")
    assert y.dtype == x.dtype
    near(y, references.conv2d(x, weight, bias, 1, 1, 1), "bf16" if type_ == "bf16" else type_)
    near(functions.conv2d(x, weight, padding="valid"), references.conv2d(x, weight, None, 1, 0, 1), type_)
    assert functions.conv2d(x[:0], weight).shape == (0, 4, 6, 5)
