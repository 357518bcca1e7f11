"""The texts behind functions of arrays: canonical programs; those for CPUs alone, with every access checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import girih
from girih import kernels
from girih.front.text.format import format_source
from girih.functions.texts import array_kernel
from girih.ops.tile import TILE_LANGUAGE
from girih.source import Source
from tests.functions import references
from tests.functions.references import drawn, near, wide

TEXTS = sorted((Path(kernels.__file__).parent / "arrays").glob("*.tl"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_they_are_canonical_programs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert girih.check(text) == []
    assert girih.parse(str(girih.parse(text))) == girih.parse(text)
    assert format_source(Source(text, str(path)), TILE_LANGUAGE) == (text, [])


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.parametrize("length", [1, 5, 16])
def test_softmax_of_short_columns(length: int, target: str) -> None:
    x, y = drawn("f32", 20, length), np.zeros((20, length), np.float32)
    x[3] = -np.inf
    kernel = array_kernel("softmax", "softmax_short", target, lanes=16, columns=8)
    kernel(x, girih.uninitialized(y))
    assert np.all(y[3] == 0)
    rest = np.delete(np.arange(20), 3)
    near(y[rest], references.softmax(x[rest], -1))


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.parametrize("length", [1, 5, 16])
def test_other_functions_of_short_columns(length: int, target: str) -> None:
    x, weight, bias = drawn("f32", 20, length), drawn("f32", length, seed=1), drawn("f32", length, seed=2)
    for name, others, wanted in [
        ("scan", (), np.cumsum(wide(x), -1)),
        ("layernorm", (weight, bias, 0.1), references.layernorm(x, weight, bias, -1, 0.1)),
        ("rms_norm", (weight, 0.1), references.rms_norm(x, weight, -1, 0.1)),
    ]:
        y = np.zeros((20, length), np.float32)
        kernel = array_kernel(name, f"{name}_short", target, lanes=16, columns=8)
        kernel(x, *others, girih.uninitialized(y))
        near(y, wanted)
        again = x.copy()
        kernel(again, *others, again)
        assert np.array_equal(again, y)


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.parametrize("type_", ["f32", "f16", "i8"])
@pytest.mark.parametrize(
    ("name", "lanes", "length"), [("short", 16, 11), ("few", 8, 11), ("few", 8, 16), ("few", 8, 7)]
)
def test_largest_elements(name: str, lanes: int, length: int, type_: str, target: str) -> None:
    random = np.random.default_rng(length)
    x = random.integers(-3, 4, (20, length)).astype("i1" if type_ == "i8" else references.DTYPES[type_])
    x[2], lowest = -128, -128.0
    if type_ != "i8":
        x[random.random(x.shape) < 0.2], x[3], x[4, 1:5], lowest = np.nan, np.nan, -np.inf, -np.inf
    values, indices = np.zeros((20, 7), x.dtype), np.zeros((20, 7), np.int64)
    kernel = array_kernel("top_k", f"top_k_{name}", target, type=type_, lanes=lanes)
    kernel(x, girih.uninitialized(values), girih.uninitialized(indices))
    behind = np.lexsort((np.arange(length) * np.ones(x.shape), -wide(x), np.isnan(wide(x))))[:, :7]
    found = ~np.isnan(np.take_along_axis(wide(x), behind, -1))
    np.testing.assert_array_equal(indices, np.where(found, behind, -1))
    np.testing.assert_array_equal(wide(values), np.where(found, np.take_along_axis(wide(x), behind, -1), lowest))


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.parametrize("options", [(1, 0, 1), (1, 1, 1), (2, 2, 1), (1, 2, 2)])
def test_convolution_by_patches(options: tuple[int, int, int], target: str) -> None:
    stride, pad, dilation = options
    x, weight = drawn("f32", 2, 3, 7, 6), drawn("f32", 4, 3, 3, 2)
    wanted = references.conv2d(x, weight, None, stride, pad, dilation)
    _, filters, down, across = wanted.shape
    images: Any = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    taps: Any = np.ascontiguousarray(weight.transpose(0, 2, 3, 1)).reshape(4, -1)
    patches, y = np.zeros((3, 5, taps.shape[1]), np.float32), np.zeros((2 * down * across, filters), np.float32)
    kernel = array_kernel("convolution", "convolution", target, type="f32")
    kernel(stride, pad, dilation, 3, 2, down, across, images, taps, patches, y)
    near(y.reshape(2, down, across, filters).transpose(0, 3, 1, 2), wanted)


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.parametrize("tile", [4, 42])
@pytest.mark.parametrize("options", [(1, 0, 1), (1, 1, 1), (2, 2, 1), (1, 2, 2), (3, 4, 1)])
def test_convolution_by_planes(options: tuple[int, int, int], tile: int, target: str) -> None:
    stride, pad, dilation = options
    x, weight = drawn("f32", 2, 3, 7, 6), drawn("f32", 4, 3, 2, 3)
    x[0, 0, 0] = np.inf  # What lies beside the image is 0, whatever lies there in memory.
    x[0, 1, 2, 5] = np.nan
    with np.errstate(invalid="ignore"):
        wanted = references.conv2d(x, weight, None, stride, pad, dilation)
    _, filters, down, across = wanted.shape
    taps: Any = weight.reshape(4, -1)
    patches, y = np.zeros((3, taps.shape[1] + 3, tile), np.float32), np.zeros((2, filters, down * across), np.float32)
    kernel = array_kernel("convolution_planes", "convolution_planes", target, type="f32")
    kernel(stride, pad, dilation, 2, 3, across, x, taps, patches, y)
    near(y.reshape(wanted.shape), wanted)
    if tile == 4:
        last: Any = np.zeros((2, down * across, filters), np.float32)
        kernel = array_kernel("convolution_planes", "convolution_planes", target, type="f32", last=True)
        kernel(stride, pad, dilation, 2, 3, across, x, taps, patches, girih.uninitialized(last))
        near(last.transpose(0, 2, 1).reshape(wanted.shape), wanted)


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_cross_entropy_by_work_items(target: str) -> None:
    logits, targets = drawn("f32", 2, 21, 70), np.random.default_rng(0).integers(0, 21, (2, 70))
    targets[1, 3] = -100
    wanted = references.cross_entropy(logits.swapaxes(1, 2), targets, -100)
    losses = np.zeros((2, 70), np.float32)
    array_kernel("cross_entropy", "cross_entropy_across", target, lanes=16)(logits, targets, losses)
    near(losses, wanted)
    columns, short = np.ascontiguousarray(logits[1].T), np.zeros(70, np.float32)
    array_kernel("cross_entropy", "cross_entropy_short", target, lanes=16)(columns, targets[1], short)
    near(short, wanted[1])


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.parametrize("type_", ["f32", "f16"])
@pytest.mark.parametrize("parts", [1, 3])
def test_attention_of_few_queries(parts: int, type_: str, target: str) -> None:
    q, k, v = drawn(type_, 4, 3, 24), drawn(type_, 2, 50, 24, seed=1), drawn(type_, 2, 50, 24, seed=2)
    k[0, :20, 0], q[0, :, 0] = -np.inf, 1  # The first part has no weight, and neither has the first tile.
    with np.errstate(invalid="ignore"):
        wanted = references.attention(q[:1], k[:1], v[:1], causal=False, scale=0.25)
        more = references.attention(q[2:], k[1:], v[1:], causal=False, scale=0.25)
    options = {"headdim": 24, "type": type_}
    few = array_kernel("attention_few", "attention_few", target, queries=2, keys=16,
                       result="f32" if parts > 1 else type_, **options)  # fmt: skip
    made, sums = np.zeros((4, parts, 3, 24), np.float32 if parts > 1 else q.dtype), np.zeros((4, parts, 3), np.float32)
    few(0.25, q, k, v, sums, girih.uninitialized(made))
    result: Any = made[:, 0]
    if parts > 1:
        result = np.zeros((4, 3, 24), q.dtype)
        join = array_kernel("attention_few", "attention_join", target, **options)
        join(sums, made, girih.uninitialized(result))
    near(result[:1], wanted, type_)
    near(result[2:], more, type_)
