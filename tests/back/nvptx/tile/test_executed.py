"""Tile programs executed by the machine for PTX: right in any order of threads, copies and products."""

from __future__ import annotations

from itertools import product as every

import ml_dtypes
import numpy as np
import pytest

from tests.back.harness import Array, Failed
from tests.back.nvptx.tile.emitted import added, emitted_from, of_bytes, of_tf32
from tests.back.nvptx.tile.executed import execute
from tests.tile.programs import attention, function_of, product

BF16 = np.dtype(ml_dtypes.bfloat16)
RAGGED = (264, 136, 72)
"""Rows, columns and depth of a product whose last tiles are not whole, in six work-groups and two steps."""
STORE_UNCHECKED = """%rounded = cast %product : coopmatrix<$type x $rows x $columns, matrix_acc, work_group>
        cooperative_matrix_store %rounded, %C[%row, %column]"""
TRANSPOSED = tuple(every((False, True), (False, True)))


def matrix(rows: int, columns: int, seed: int, type: np.dtype = BF16) -> Array:
    """A matrix of small whole numbers, whose products are exact."""
    found = np.random.default_rng(seed).integers(-4, 5, (rows, columns))
    return np.asarray(found, dtype=type, order="F")


def multiplied(
    shape: tuple[int, int, int] = RAGGED, *, transposed: tuple[bool, bool] = (False, False), rows: int = 128,
    columns: int = 64, depth: int = 64, copies: str = "at_once", seed: int | None = None, checks: bool = True,
) -> tuple[Array, Array]:  # fmt: skip
    """A product by a tile program, and by NumPy."""
    text = product(transpose_a=transposed[0], transpose_b=transposed[1], rows=rows, columns=columns, depth=depth)
    m, n, k = shape
    a = matrix(k, m, 1) if transposed[0] else matrix(m, k, 1)
    b = matrix(n, k, 2) if transposed[1] else matrix(k, n, 2)
    c = matrix(m, n, 3)
    grid = (-(-m // rows), -(-n // columns), 1)
    execute(function_of(text), emitted_from(text, checks=checks), grid, a, b, c, copies=copies, seed=seed)
    left, right = a.T if transposed[0] else a, b.T if transposed[1] else b
    return c, (left.astype(np.float32) @ right.astype(np.float32)).astype(BF16)


@pytest.mark.parametrize("transposed", TRANSPOSED)
def test_products_of_all_layouts(transposed: tuple[bool, bool]) -> None:
    found, wanted = multiplied(transposed=transposed)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("seed", range(4))
def test_in_any_order(seed: int) -> None:
    """Warps in any order, copies and products that end at any time."""
    found, wanted = multiplied(transposed=TRANSPOSED[seed], copies="late", seed=seed)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("rows", "columns", "depth"), [(64, 128, 64), (192, 32, 32), (256, 16, 16), (128, 160, 64)])
def test_other_tiles(rows: int, columns: int, depth: int) -> None:
    """One, two and three consumers, several blocks of rows, and swizzles of 128, 64 and 32 bytes."""
    found, wanted = multiplied(rows=rows, columns=columns, depth=depth)
    np.testing.assert_array_equal(found, wanted)


def test_what_is_added_to() -> None:
    """A matrix that each thread loads, computes with, and stores, at edges and inside."""
    a, b, c = matrix(264, 72, 1), matrix(72, 136, 2), matrix(264, 136, 3)
    before = c.astype(np.float32)
    text = added(columns=64)
    given = np.float32(2), np.float32(0.5), a, b, c
    execute(function_of(text), emitted_from(text, checks=True), (3, 3, 1), *given)
    product_ = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(c, (2 * product_ + np.float32(0.5) * before).astype(BF16))


def test_whole_numbers() -> None:
    """Factors of 8 bits, which lie along the depth, and results that each thread stores."""
    a, b, c = (matrix(n, m, seed, np.dtype(np.int8)) for seed, (n, m) in enumerate(((80, 264), (80, 144), (264, 144))))
    text = of_bytes(columns=64)
    execute(function_of(text), emitted_from(text, checks=True), (3, 3, 1), a, b, c, seed=2)
    np.testing.assert_array_equal(c, (a.T.astype(np.int32) @ b.astype(np.int32)).astype(np.int8))


def test_factors_of_tf32() -> None:
    """Results of 32 bits through shared memory."""
    a, b, c = (matrix(n, m, k, np.dtype(np.float32)) for k, (n, m) in enumerate(((72, 264), (72, 136), (264, 136))))
    text = of_tf32(columns=64)
    execute(function_of(text), emitted_from(text, checks=True), (3, 3, 1), a, b, c)
    np.testing.assert_array_equal(c, a.T @ b)


def test_attention_with_rows_combined() -> None:
    """Products whose left factor is in registers, rows combined by threads, a mask at the end, and turns."""
    queries, keys, length, heads = 256, 136, 64, 2
    rng = np.random.default_rng(5)
    q, k, v = (
        np.asarray(rng.standard_normal((length, n, heads)), dtype=BF16, order="F") for n in (queries, keys, keys)
    )
    o = np.zeros((length, queries, heads), BF16, order="F")
    text = attention(length=length, keys=64)
    scale = 0.2
    execute(function_of(text), emitted_from(text, checks=True), (2, heads, 1), q, k, v, o, np.float32(scale), seed=1)
    for head in range(heads):
        one, two, three = (x[:, :, head].astype(np.float64) for x in (q, k, v))
        weights = 2.0 ** (scale * (one.T @ two))
        wanted = (weights / weights.sum(axis=1, keepdims=True)) @ three.T
        np.testing.assert_allclose(o[:, :, head].astype(np.float64).T, wanted, atol=0.02)


def test_a_finding_ends_nobody() -> None:
    """A tile that lies outside is found by the producer; the others are as they would be without it."""
    text = product(rows=128, columns=64, checked="", epilogue=STORE_UNCHECKED)
    a, b, c = matrix(192, 64, 1), matrix(64, 64, 2), matrix(192, 64, 3)
    with pytest.raises(Failed) as found:
        execute(function_of(text), emitted_from(text, checks=True), (2, 1, 1), a, b, c)
    assert found.value.code == "run.out_of_bounds" and found.value.argument == "A"
    wanted = (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16)
    np.testing.assert_array_equal(c, wanted)
