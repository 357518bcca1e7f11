"""Kernels with matrices of the work-group against NumPy: tiles of several sizes, and sizes that have remainders."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import girih
from girih import kernels
from tests.cases import crossed
from tests.kernels.arrays import DTYPES, EPSILON, Array, random, wide
from tests.kernels.test_attention_heads import attention
from tests.kernels.test_quantized import decoded, random_blocks

SMALL: dict[str, Any] = {"rows": 32, "columns": 64, "depth": 32, "items": 64}
OTHER: dict[str, Any] = {"rows": 64, "columns": 16, "depth": 64, "items": 128}


def assert_close(found: Array, a: Array, b: Array, type_: str) -> None:
    """Sums of products in f32, in any order, rounded to a type."""
    exact, parts = wide(a) @ wide(b), abs(wide(a)) @ abs(wide(b))
    assert found.shape == exact.shape
    assert (abs(wide(found) - exact) <= (a.shape[1] + 2) * 2.0**-23 * parts + EPSILON[type_] * abs(exact)).all()


@pytest.mark.parametrize(("result", "tile", "type_"), crossed(["f16", "bf16", "f32"], [SMALL, OTHER], ["f16", "bf16"]))
def test_gemm(result: str, tile: dict[str, Any], type_: str) -> None:
    kernel = kernels.gemm_work_group(type=type_, result=result, **tile)
    # Whole tiles, whole tiles with rows that begin anywhere, remainders along each mode, and nothing to sum.
    for m, n, k in [(64, 64, 64), (65, 64, 64), (72, 65, 40), (7, 5, 0), (0, 3, 8)]:
        a, b = random(type_, m, k), random(type_, k, n, seed=1)
        c = np.full((m, n), np.nan, DTYPES[result], order="F")
        kernel(a, b, girih.uninitialized(c))
        assert_close(c, a, b, result)


@pytest.mark.interpreter
def test_gemm_gives_the_type_of_its_factors() -> None:
    assert kernels.gemm_work_group(type="bf16").signature.count("bf16") == 3


@pytest.mark.parametrize(
    ("format", "tile", "type_"), crossed(["q4_0", "q8_0"], [SMALL, OTHER], ["f16", "bf16"])
)  # fmt: skip
def test_gemm_of_blocks(format: str, tile: dict[str, Any], type_: str) -> None:
    kernel = getattr(kernels, f"gemm_{format}_work_group")(type=type_, **tile)
    for rows, blocks, columns in [(1, 1, 1), (64, 4, 64), (77, 3, 35), (7, 0, 2), (0, 1, 2)]:
        w, x = random_blocks(format, rows, blocks), random(type_, 32 * blocks, columns)
        c = np.full((rows, columns), np.nan, np.float32, order="F")
        kernel(w, x, girih.uninitialized(c))
        assert_close(c, decoded(w, format).astype(DTYPES[type_]), x, "f32")


@pytest.mark.parametrize(
    ("causal", "sizes", "type_"),
    crossed(
        [False, True],
        # headdim, queries, keys, heads, key heads; queries and keys at once.
        [(16, 33, 65, 4, 2, 32, 16), (64, 64, 64, 2, 1, 32, 64), (32, 1, 40, 2, 2, 16, 32), (16, 71, 1, 6, 3, 64, 32)],
        ["f16", "bf16"],
    ),
)
def test_attention(causal: bool, sizes: tuple[int, ...], type_: str) -> None:
    headdim, queries, keys, heads, key_heads, rows, columns = sizes
    q, o = random(type_, headdim, queries, heads), np.full((headdim, queries, heads), np.nan, DTYPES[type_], order="F")
    k, v = (random(type_, headdim, keys, key_heads, seed=seed) for seed in (1, 2))
    kernel = kernels.attention_work_group(
        type=type_, headdim=headdim, causal=causal, fast=causal, queries=rows, keys=columns, items=64
    )
    kernel(q, k, v, girih.uninitialized(o), headdim**-0.5)
    # As in test_attention_heads: exponentials to 2^-10, in weights and sum, and both roundings to the type.
    tolerance = (2 * 2.0**-10 + 2 * EPSILON[type_]) * float(abs(wide(v)).max())
    np.testing.assert_allclose(wide(o), attention(q, k, v, headdim**-0.5, causal), atol=tolerance)


@pytest.mark.parametrize("format", ["q4_0", "q8_0"])
def test_sizes_that_do_not_fit_are_found(format: str) -> None:
    w, tile = random_blocks(format, 5, 2), SMALL
    weighted = getattr(kernels, f"gemm_{format}_work_group")(**tile)
    for x_shape, c_shape, argument in [((63, 2), (5, 2), "X"), ((64, 2), (4, 2), "C"), ((64, 2), (5, 3), "C")]:
        with pytest.raises(girih.KernelError) as found:
            weighted(w, random("f16", *x_shape), random("f32", *c_shape))
        assert (found.value.findings[0].code, found.value.findings[0].argument) == ("run.expand", argument)
    product = kernels.gemm_work_group(**tile)
    for b_shape, c_shape, argument in [((7, 2), (5, 2), "B"), ((8, 2), (4, 2), "C"), ((8, 2), (5, 3), "C")]:
        with pytest.raises(girih.KernelError) as found:
            product(random("f16", 5, 8), random("f16", *b_shape), random("f16", *c_shape))
        assert (found.value.findings[0].code, found.value.findings[0].argument) == ("run.expand", argument)


@pytest.mark.interpreter
def test_sizes_that_no_device_has_are_refused_with_the_choices() -> None:
    with pytest.raises(ValueError, match=re.escape("gemm_work_group: rows is 24; it must be one of 16, 32, 64, 128")):
        kernels.gemm_work_group(rows=24)
    with pytest.raises(ValueError, match=re.escape("gemm_q4_0_work_group: depth is 16; it must be one of 32, 64, 128")):
        kernels.gemm_q4_0_work_group(depth=16)
    with pytest.raises(ValueError, match="headdim is 20; it must be a multiple of 16 from 16 to 512"):
        kernels.attention_work_group(headdim=20)
