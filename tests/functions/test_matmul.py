"""`matmul` against NumPy: orders, batches, types, sizes, results that are given."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from girih import functions
from tests.functions.references import DTYPES, TARGETS, Array, drawn, laid_out, near, wide

SIZES = [(1, 1, 1), (7, 5, 9), (33, 64, 17), (1, 40, 6), (40, 3, 1), (65, 130, 70)]
BATCHES = [
    ((3, 4), (4, 5)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 6)),
    ((1, 2, 3, 4), (7, 1, 4, 5)),
    ((2, 3, 2, 3, 4), (2, 1, 2, 4, 5)),
    ((4,), (4,)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sizes", SIZES)
def test_orders(sizes: tuple[int, int, int], target: str) -> None:
    m, k, n = sizes
    a, b = drawn("f32", m, k), drawn("f32", k, n)
    for (_, x), (_, y), order in product(laid_out(a), laid_out(b), "CF"):
        out = np.full((n, m) if order == "F" else (m, n), np.nan, np.float32)
        out = out.T if order == "F" else out
        assert functions.matmul(x, y, out=out, target=target) is out
        near(out, wide(a) @ wide(b))
        near(functions.matmul(x, y, target=target), wide(a) @ wide(b))


def test_the_order_of_the_result() -> None:
    c, f = drawn("f32", 8, 8), np.asfortranarray(drawn("f32", 8, 8, seed=1))
    assert functions.matmul(c, c).flags.c_contiguous
    assert functions.matmul(c, f).flags.c_contiguous
    assert functions.matmul(f, f).flags.f_contiguous


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shapes", BATCHES)
def test_batches(shapes: tuple[tuple[int, ...], tuple[int, ...]], target: str) -> None:
    a, b = (drawn("f32", *shape) for shape in shapes)
    wanted = wide(a) @ wide(b)
    near(functions.matmul(a, b, target=target), np.asarray(wanted))
    if a.ndim > 1 and b.ndim > 1:
        x, y = (np.ascontiguousarray(one.swapaxes(-1, -2)).swapaxes(-1, -2) for one in (a, b))
        near(functions.matmul(x, y, target=target), wanted)
        near(functions.matmul(x, b, target=target), wanted)
        near(functions.matmul(a, y, target=target), wanted)
        turned = np.zeros((*wanted.shape[:-2], wanted.shape[-1], wanted.shape[-2]), np.float32).swapaxes(-1, -2)
        near(functions.matmul(a, y, out=turned, target=target), wanted)


def test_a_batch_of_large_products_is_launched_one_by_one() -> None:
    a, b = drawn("f32", 2, 210, 200), drawn("f32", 2, 200, 220)
    near(functions.matmul(a, b), wide(a) @ wide(b), "f16")
    heads = drawn("f32", 6, 4, 8).transpose(1, 0, 2)  # Rows of a head lie further apart than heads.
    near(functions.matmul(heads, heads.swapaxes(-1, -2)), wide(heads) @ wide(heads).swapaxes(-1, -2))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("type_", DTYPES)
def test_types(type_: str, target: str) -> None:
    a, b = drawn(type_, 3, 20, 50), drawn(type_, 50, 30)
    near(functions.matmul(a, b, target=target), wide(a) @ wide(b), "bf16" if type_ == "bf16" else type_)
    assert functions.matmul(a, b, target=target).dtype == DTYPES[type_]
    batch = drawn(type_, 3, 50, 30)
    near(functions.matmul(a, batch, target=target), wide(a) @ wide(batch), "bf16" if type_ == "bf16" else type_)


@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_sums_of_halves_are_wide_where_the_result_is(type_: str) -> None:
    a, b = drawn(type_, 3, 20, 50), drawn(type_, 50, 30)
    out = np.zeros((3, 20, 30), np.float32)
    near(functions.matmul(a, b, out=out), wide(a) @ wide(b))
    near(functions.matmul(a[0], b, out=out[1]), (wide(a) @ wide(b))[0])


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.complex64, np.complex128])
def test_integers_and_complex_numbers(dtype: Any) -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(-9, 9, shape).astype(dtype) for shape in ((2, 7, 5), (5, 6)))
    if np.issubdtype(dtype, np.complexfloating):
        a = a + a.dtype.type(1j) * a[::-1]
    np.testing.assert_array_equal(functions.matmul(a, b), a @ b)
    np.testing.assert_array_equal(functions.matmul(a, np.stack([b, b])), a @ b)


@pytest.mark.parametrize("shapes", [((0, 5), (5, 3)), ((4, 0), (0, 3)), ((0, 4, 5), (5, 3)), ((2, 4, 0), (0, 3))])
def test_nothing(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (np.zeros(shape, np.float32) for shape in shapes)
    wanted = a @ b
    out = np.full(wanted.shape, np.nan, np.float32)
    functions.matmul(a, b, out=out)
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(functions.matmul(a, b), wanted)


def test_a_result_may_share_memory_with_the_factors() -> None:
    a, b = drawn("f32", 9, 9), drawn("f32", 9, 9, seed=1)
    wanted = wide(a) @ wide(b)
    x = a.copy()
    assert functions.matmul(x, b, out=x) is x
    near(x, wanted)
    memory = np.zeros((10, 9), np.float32)
    memory[1:] = b
    near(functions.matmul(a, memory[1:], out=memory[:-1]), wanted)


def strange(array: Array) -> list[Array]:
    """The same elements in layouts that no kernel takes."""
    spread = np.zeros([2 * size for size in array.shape], array.dtype)
    spread[::2, ::2] = array
    return [spread[::2, ::2], np.ascontiguousarray(array[::-1])[::-1], np.ascontiguousarray(array[:, ::-1])[:, ::-1]]


def test_other_strides_are_copied_and_that_is_told() -> None:
    a, b = drawn("f32", 9, 8), drawn("f32", 8, 7)
    for x, y in zip(strange(a), strange(b), strict=True):
        with pytest.warns(functions.CopyWarning, match="matmul: a is copied: neither the rows nor the columns"):
            near(functions.matmul(x, b), wide(a) @ wide(b))
        with pytest.warns(functions.CopyWarning, match="matmul: b is copied"):
            near(functions.matmul(a, y), wide(a) @ wide(b))
    with pytest.warns(functions.CopyWarning):
        row = np.broadcast_to(b[0], b.shape)
        near(functions.matmul(a, row), wide(a) @ wide(row))
    out = np.zeros((18, 14), np.float32)[::2, ::2]
    near(functions.matmul(a, b, out=out), wide(a) @ wide(b))


def test_memory_that_is_not_aligned() -> None:
    memory = np.zeros(9 * 8 * 4 + 1, np.uint8)
    a = memory[1:].view(np.float32).reshape(9, 8)
    a[...] = drawn("f32", 9, 8)
    b = drawn("f32", 8, 7)
    near(functions.matmul(a, b), wide(a) @ wide(b))
    near(functions.matmul(a, b), wide(a) @ wide(b))
    out = np.zeros(9 * 7 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(9, 7)
    near(functions.matmul(a, b, out=out), wide(a) @ wide(b))
