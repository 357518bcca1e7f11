"""Programs as users write them: each is accepted, printed, parsed again, and run against NumPy.

They go through the constructs that kernels of the tensor language are made of, as its implementations' own tests do:
products in every transposition, a chain of small products over a group, loops with remainders, views of views,
cooperative matrices with checks and casts of use, subgroups, atomics.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import girih

HERE = Path(__file__).resolve().parent
FILES = sorted(path.stem for path in HERE.glob("*.tl"))
SEEDS = (0, 1, 2)

UNITS: dict[str, dict[str, object]] = {"i8": {"one": 1, "zero": 0}, "c32": {"one": 1 + 0j, "zero": 0j}}
"""The constants 1 and 0 for the types whose literals are not floating-point numbers."""

Array = NDArray[Any]


def program(name: str, **definitions: object) -> girih.Program:
    return girih.load(HERE / f"{name}.tl", definitions=definitions)


def chosen(seed: int) -> girih.Choices | None:
    """One way of choosing what the language leaves open; compiled code has chosen."""
    return girih.Choices(seed) if os.environ["GIRIH_TARGET"] == "interpreter" else None


def zeros(*shape: int, dtype: Any = np.float32) -> Array:
    return np.zeros(shape, dtype, order="F")


def numbers(seed: int, *shape: int, dtype: Any = np.float32) -> Array:
    """Small integers of a type: their products and sums are exact."""
    return np.asfortranarray(np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype))


@pytest.mark.parametrize("name", FILES)
def test_printed_and_parsed_again(name: str) -> None:
    printed = str(program(name))
    assert girih.check((HERE / f"{name}.tl").read_text(encoding="utf-8")) == []
    assert str(girih.loads(printed)) == printed


@pytest.mark.parametrize(
    ("kernel", "first", "second"),
    [
        ("plain", (7, 5), (5, 9)),
        ("transposed_first", (5, 7), (5, 9)),
        ("transposed_second", (7, 5), (9, 5)),
        ("transposed_both", (5, 7), (9, 5)),
    ],
)
@pytest.mark.parametrize(
    ("type", "accumulator", "python", "wide"),
    [
        ("f32", "f32", np.float32, np.float32),
        ("f16", "f32", np.float16, np.float32),
        ("bf16", "f64", ml_dtypes.bfloat16, np.float64),
        ("i8", "i32", np.int8, np.int32),
        ("c32", "c64", np.complex64, np.complex128),
    ],
)
def test_products(
    kernel: str, first: tuple[int, int], second: tuple[int, int], type: str, accumulator: str, python: Any, wide: Any
) -> None:
    a, b, c = numbers(1, *first, dtype=python), numbers(2, *second, dtype=python), numbers(3, 7, 9, dtype=wide)
    left, right = a.astype(wide), b.astype(wide)
    expected = 2 * (left if first == (7, 5) else left.T) @ (right if second == (5, 9) else right.T) - 3 * c
    program("products", t=type, acc=accumulator, **UNITS.get(type, {}))[kernel](2, a, b, -3, c)
    assert_array_equal(c, expected)


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (13, 1, 2), (3, 17, 5), (4, 0, 3)])
def test_a_product_of_any_size(m: int, k: int, n: int) -> None:
    a, b, c = numbers(1, m, k), numbers(2, k, n), np.full((m, n), np.nan, np.float32, order="F")
    program("products")["any_size"](a, b, c)
    assert_array_equal(c, a @ b)


def test_work_groups_share_a_product() -> None:
    a, b, c = (numbers(i, *shape, dtype=np.float64) for i, shape in enumerate([(6, 12), (12, 4), (6, 4)]))
    expected = c + a @ b
    program("products")["split_inner"][4](a, b, c)
    assert_array_equal(c, expected)


def test_complex_and_integer_products() -> None:
    products = program("products")
    a, b = (numbers(i, *s) + 1j * numbers(i + 5, *s) for i, s in enumerate([(3, 4), (4, 2)]))
    a, b = np.asfortranarray(a.astype(np.complex64)), np.asfortranarray(b.astype(np.complex64))
    c = numbers(9, 3, 2, dtype=np.complex128)
    expected = a.astype(np.complex128) @ b + 1j * c
    products["complex"](1 + 0j, a, b, c)
    assert_array_equal(c, expected)

    x, y, z = numbers(1, 4, 64, dtype=np.int8), numbers(2, 64, 3, dtype=np.int8), numbers(3, 4, 3, dtype=np.int32)
    wanted = 4 * z + 2 * (x.astype(np.int32) @ y.astype(np.int32))
    products["bytes"](x, y, z)
    assert_array_equal(z, wanted)


def test_products_with_vectors() -> None:
    a, x, y = numbers(1, 4, 6, dtype=np.float64), numbers(2, 6, dtype=np.float64), numbers(3, 4, dtype=np.float64)
    z, r = np.full(6, np.nan), np.full((4, 6), np.nan, order="F")
    new_y = 2 * a @ x + 0.5 * y
    outer = 2 * np.outer(new_y, x)
    program("products")["vector_products"](a, x, y, z, r)
    assert_array_equal(y, new_y)
    assert_array_equal(z, 0.5 * a.T @ new_y)
    assert_array_equal(r, 0.5 * a * outer + 2 * outer)


@pytest.mark.parametrize(("rows", "columns"), [(20, 9), (35, 9), (4, 1)])
def test_a_chain_of_products(rows: int, columns: int) -> None:
    elements = 5
    k, p = numbers(1, rows, rows, dtype=np.float64), numbers(2, rows, columns, elements, dtype=np.float64)
    q = numbers(3, rows, columns, elements, dtype=np.float64)
    a = [numbers(4 + e, columns, columns, dtype=np.float64) for e in range(elements)]
    expected = np.stack([q[:, :, e] + k @ p[:, :, e] @ a[e] for e in range(elements)], axis=2)
    program("chain", rows=rows, columns=columns)["chain"][elements](k, p, a, q)
    assert_array_equal(q, expected)


def test_updates_of_every_order() -> None:
    s, v, m = np.float32(3), numbers(1, 11), numbers(2, 3, 5)
    wide_s, wide_v, wide_m = np.array(5.0), numbers(3, 11, dtype=np.float64), numbers(4, 5, 3, dtype=np.float64)
    expected = 2.0 * s + 0.5 * wide_s, 2.0 * v + 0.5 * wide_v, 2.0 * m.T + 0.5 * wide_m
    program("sums")["updates"](2.0, 0.5, np.array(s), wide_s, v, wide_v, m, wide_m)
    for found, wanted in zip((wide_s, wide_v, wide_m), expected, strict=True):
        assert_array_equal(found, wanted)


def test_sums() -> None:
    a, rows, columns, total = numbers(1, 4, 6), np.full(4, np.nan, np.float32), numbers(2, 6), np.array(7.0)
    expected = a.sum(axis=0) + columns
    program("sums")["sums"](a, rows, columns, total)
    assert_array_equal(rows, a.sum(axis=1))
    assert_array_equal(columns, expected)
    assert total == a.sum() + 14


def test_cumulative_sums() -> None:
    a, b, c = numbers(1, 3, 4, 2, dtype=np.int32), zeros(3, 4, 2, dtype=np.int64), numbers(2, 3, 4, 2, dtype=np.int64)
    along_one = 3 * np.cumsum(a, axis=1, dtype=np.int64)
    along_two = np.cumsum(along_one, axis=2) + c
    program("sums")["running"](a, b, c)
    assert_array_equal(b, along_one)
    assert_array_equal(c, along_two)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_sum_over_work_groups(seed: int) -> None:
    a, total = numbers(1, 8, 10, dtype=np.float64), np.array(1.0)
    program("sums")["total"].options(choices=chosen(seed))[10](a, total)
    assert total == 1 + a.sum()


def test_values_carried_through_loops() -> None:
    loops, out, steps = program("loops"), zeros(2, dtype=np.int64), np.array(0, np.int32)
    loops["fibonacci"](12, out)
    assert out.tolist() == [55, 89]
    loops["collatz"](27, steps)
    assert steps == 111


@pytest.mark.parametrize("seed", SEEDS)
def test_foreach(seed: int) -> None:
    loops, out, choices = program("loops"), zeros(3, 4, dtype=np.int32), chosen(seed)
    loops["powers"].options(choices=choices)(out)
    assert_array_equal(out, [[(i + 1) ** j for j in range(4)] for i in range(3)])
    a, b = numbers(1, 53), zeros(53)
    loops["reversed"].options(choices=choices)(a, b)
    assert_array_equal(b, a[::-1])


@pytest.mark.parametrize(("first", "m", "n"), [(0, 64, 16), (5, 64, 16), (3, 40, 7), (10, 10, 4), (0, 1, 1)])
def test_tiles_and_their_remainders(first: int, m: int, n: int) -> None:
    found, expected = zeros(64, 16, dtype=np.int32), np.zeros((64, 16), np.int32)
    for i in range(first, m, 32):
        for j in range(0, n, 3):
            expected[i, j] = min(32, m - i) * min(3, n - j)
    program("loops")["tiles"](first, m, n, found)
    assert_array_equal(found, expected)


def test_a_group_with_an_offset_and_a_null_pointer() -> None:
    stores = [np.arange(40, dtype=np.float32), None, np.arange(40, dtype=np.float32) + 100]
    arrays = [None if s is None else np.lib.stride_tricks.as_strided(s, (3, 4), (4, 12)) for s in stores]
    factors = np.array([1.0, 2.0, 3.0], np.float32)
    program("groups")["scale"][5](girih.Group(arrays, offset=0), factors)
    for array, first, factor in ((arrays[0], 0, 1), (arrays[2], 100, 3)):
        assert_array_equal(array, (np.arange(12).reshape(4, 3).T + first) * (2 + factor))


def test_what_is_given() -> None:
    given, out = program("groups")["given"], zeros(2, dtype=np.int32)
    group = [np.zeros(2, np.int8) for _ in range(3)]
    given(np.array(1, np.float32), group, out)
    assert out.tolist() == [1, 1]
    given(None, None, out)
    assert out.tolist() == [0, 0]


def test_views() -> None:
    views, a, b = program("views"), numbers(1, 24, 6), zeros(4, 6)
    views["blocks"](a, 6, b)
    assert_array_equal(b, a[8:12])

    cube, total = numbers(2, 4, 3, 5, dtype=np.float64), np.array(1.0)
    views["flat"](cube, total)
    assert total == 1 + cube.sum()

    square, blocks = numbers(3, 9, 8), zeros(2, 2, 4)
    views["diagonal_blocks"][4](square, 0, blocks)
    for g in range(4):
        assert_array_equal(blocks[:, :, g], square[2 * g : 2 * g + 2, 2 * g : 2 * g + 2])

    wide, row = numbers(4, 5, 7), zeros(7)
    views["row"](wide, 3, row)
    assert_array_equal(row, 2 * wide[3])


@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 16), (17, 5, 3), (1, 40, 33), (31, 32, 16)])
def test_a_product_of_tiles(m: int, n: int, k: int) -> None:
    a, b, c = numbers(1, m, k, dtype=np.float16), numbers(2, n, k, dtype=np.float16), zeros(m, n)
    program("tiles")["product"][-(-m // 16), -(-n // 16)](a, b, c)
    assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


def test_a_tile_through_local_memory() -> None:
    a, b = numbers(1, 64, 48, dtype=np.int32), zeros(64, 48, dtype=np.int32)
    program("tiles")["staged"](a, 32, 32, b)
    expected = zeros(64, 48, dtype=np.int32)
    expected[:16, :32] = a[32:64, 32:48].T
    expected[32:64, 32:48] = a[32:64, 32:48]
    assert_array_equal(b, expected)


def test_casts_of_use() -> None:
    a, b = numbers(1, 16, 16), zeros(16, 16)
    program("tiles")["twice"](a, b)
    assert_array_equal(b, a @ a @ a + a @ a)


def test_reductions_and_applied_functions() -> None:
    a, top, total, lower = numbers(1, 32, 7), zeros(32, 1), zeros(1, 7), zeros(32, 7)
    program("tiles")["reductions"](a, top, total, lower)
    assert_array_equal(top[:, 0], a.max(axis=1))
    assert_array_equal(total[0], a.sum(axis=0))
    assert_allclose(lower, np.tril(np.exp(0.5 * a)), rtol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_tiles_updated_by_all_work_groups(seed: int) -> None:
    c = zeros(20, 5, dtype=np.int64)
    program("tiles")["added"].options(choices=chosen(seed))[6](c)
    assert (c[:16] == 15).all()
    assert (c[16:] == 0).all()


def test_components_and_copies() -> None:
    a, b = numbers(1, 16, 4), zeros(16, 4)
    program("tiles")["doubled"](a, b)
    assert_array_equal(b, 2 * a)
    for m, n in ((64, 16), (33, 9), (5, 31), (1, 1)):
        x, y = numbers(2, m, n), zeros(m, n)
        program("tiles")["copied"](x, y)
        assert_array_equal(y, -x)


def test_subgroups_know_their_numbers() -> None:
    sizes, ids = zeros(4, dtype=np.int32), zeros(8, 4, dtype=np.int32)
    program("subgroups")["numbers"](sizes, ids)
    assert sizes.tolist() == [2, 2, 1, 8]
    assert_array_equal(ids, [[100 * (s % 2) + s // 2 + lane for s in range(4)] for lane in range(8)])


def test_scans() -> None:
    a = numbers(1, 16)
    before, upto, least, fifth = (zeros(16) for _ in range(4))
    program("subgroups")["scans"](a, before, upto, least, fifth)
    assert_array_equal(before, np.cumsum(a) - a)
    assert_array_equal(upto, np.maximum.accumulate(a))
    assert (least == a.min()).all()
    assert (fifth == a[4]).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_atomics(seed: int) -> None:
    subgroups, choices = program("subgroups"), chosen(seed)
    a, bins = np.arange(137, dtype=np.int32) ** 2, zeros(5, dtype=np.int32)
    subgroups["histogram"].options(choices=choices)(a, bins)
    assert_array_equal(bins, np.bincount(a % 5, minlength=5))

    tickets, counter, largest, smallest = zeros(50, dtype=np.int64), np.array(0), np.array(0), np.array(9, np.float32)
    subgroups["tickets"].options(choices=choices)(tickets, counter, largest, smallest)
    assert sorted(tickets) == list(range(50))
    assert (int(counter), int(largest), float(smallest)) == (50, 49, -49.0)

    z, total = np.asfortranarray((numbers(1, 9) + 1j * numbers(2, 9)).astype(np.complex64)), np.array(0, np.complex64)
    conjugate = z.conj()
    subgroups["exchanged"].options(choices=choices)(z, total)
    assert_array_equal(z, conjugate)
    assert total == conjugate.sum()


@pytest.mark.parametrize(("a", "b"), [(1000, 7), (-1000, 7), (-32768, -1), (32767, 32767), (5, -3)])
def test_integers(a: int, b: int) -> None:
    out = zeros(12, dtype=np.int16)
    program("scalars")["integers"](a, b, out)
    quotient = int(a / b)
    exact = [a + b, a - b, a * b, quotient, a - b * quotient, max(a, b), min(a, b), a << 3, a >> 3, a & b, a ^ b, ~a]
    assert_array_equal(out, np.array(exact, np.int64).astype(np.int16))


def test_casts() -> None:
    out = zeros(4, dtype=np.float64)
    program("scalars")["chain_of_casts"](-3.75, out)
    assert out.tolist() == [-3.0, -3.75, 0.0, -37.5]


def test_complex_numbers() -> None:
    z, out, size = 3 - 4j, zeros(3, dtype=np.complex128), np.array(0.0)
    program("scalars")["complex"](z, out, size)
    assert_allclose(out, [25, np.exp(z), z / 1j], rtol=1e-14)
    assert size == 5


def test_conditions() -> None:
    x = np.array([-2.0, -1.0, 0.25, 1.0, 3.0, np.inf], np.float32)
    program("scalars")["clamped"](x, -1.0, 1.0)
    assert x.tolist() == [-1.0, -1.0, 0.25, 1.0, 1.0, 1.0]


KERNELS = [(name, kernel) for name in FILES for kernel in girih.load(HERE / f"{name}.tl", "interpreter")]


def test_every_kernel_is_run() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    missing = [f"{name}: {kernel}" for name, kernel in KERNELS if f'"{kernel}"' not in text]
    assert not missing
