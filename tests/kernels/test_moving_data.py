"""Transposition, stencil, histogram and scan, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from girih import kernels
from girih.kernels.table import EVERY, FLOATING, INTEGER
from tests.cases import crossed, long
from tests.kernels.arrays import DTYPES, EPSILON, Array, random, wide, zeros

LENGTHS = [1, 31, 32, 1023, 1024, 1025, 5003]


@pytest.mark.parametrize(
    ("type_", "size"), crossed(EVERY, [(1, 1), (1, 37), (41, 1), (32, 64), (33, 31), (67, 97), (0, 3), (3, 0)])
)
def test_transpose(type_: str, size: tuple[int, int]) -> None:
    m, n = size
    a, b = random(type_, m, n), zeros(type_, n, m)
    kernels.transpose(type=type_)(a, b)
    np.testing.assert_array_equal(b, a.T)


def test_transpose_of_a_part() -> None:
    a, held = random("f32", 90, 90)[5:70, 3:50], zeros("f32", 100, 100)
    part = held[10:57, 20:85]
    kernels.transpose()[3, 2](a, part)
    np.testing.assert_array_equal(part, a.T)
    held[10:57, 20:85] = 0
    assert not held.any()


WEIGHTS = np.array([-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])


def stencil(weights: Array, u: Array) -> Array:
    """The sum of weighted shifts, in double precision."""
    middle = slice(4, -4)
    inner = wide(u)[middle, middle, middle]
    total = 3 * weights[0] * inner
    for axis in range(3):
        for d in range(1, 5):
            for shift in (d, -d):
                total = total + weights[d] * np.roll(wide(u), shift, axis)[middle, middle, middle]
    return np.asarray(total)


@pytest.mark.parametrize(
    ("shape", "type_"),
    crossed([(1, 1, 1), (32, 8, 2), (33, 9, 3), (7, 1, 5), (67, 13, 2), (0, 3, 2), (3, 2, 0)], ["f32", "f64"]),
)
def test_stencil(type_: str, shape: tuple[int, int, int]) -> None:
    w, u, v = WEIGHTS.astype(DTYPES[type_]), random(type_, *(n + 8 for n in shape)), zeros(type_, *shape)
    kernels.stencil(type=type_)(w, u, v)
    expected = stencil(wide(w), u)
    # 25 terms, each rounded a few times, of a magnitude below the sum of weights (about 20) times five.
    np.testing.assert_allclose(v, expected, atol=30 * 100 * EPSILON[type_])


def test_stencil_differentiates_polynomials() -> None:
    """A stencil of order 8 is exact for x^8: the sum of second derivatives of x^8 + y^3 + z^2."""
    x, y, z = np.meshgrid(*(0.1 * np.arange(-4, n + 4) for n in (9, 5, 3)), indexing="ij")
    u, v = np.asfortranarray(x**8 + y**3 + z**2), zeros("f64", 9, 5, 3)
    kernels.stencil(type="f64")[1, 1, 3](WEIGHTS / 0.1**2, u, v)
    expected = (56 * x**6 + 6 * y + 2)[4:-4, 4:-4, 4:-4]
    # Roundings of 2^-52 in values up to 12, divided by the square of the width.
    np.testing.assert_allclose(v, expected, atol=30 * 20 * 12 * 2.0**-52 / 0.01)


def test_a_stencil_without_its_rim_is_found(target: str) -> None:
    v = zeros("f32", 4, 4, 4)
    with pytest.raises(girih.KernelError):
        kernels.stencil()[1, 1, 4](WEIGHTS.astype(np.float32), random("f32", 12, 12, 11), v)
    assert target == "cpu" or not v.any(), "the interpreter leaves arrays as they were"


@pytest.mark.parametrize(
    ("size", "type_"), crossed([(0, 3), (1, 1), (1000, 100), (4096, 7), (4097, 19), (9001, 128)], INTEGER)
)
def test_histogram(size: tuple[int, int], type_: str) -> None:
    length, bins = size
    x = np.random.default_rng(length).integers(-20, 127, length).astype(DTYPES[type_])
    h = np.arange(bins, dtype=np.int32)
    kernels.histogram(type=type_, bins=bins)(x, h)
    expected = np.bincount(x[(x >= 0) & (x < bins)], minlength=bins) + np.arange(bins)
    np.testing.assert_array_equal(h, expected)


@pytest.mark.interpreter
@pytest.mark.parametrize(("seed", "length"), [(1, 1000), *long([(2, 10_000), (3, 10_000)])])
def test_histogram_whatever_an_implementation_chooses(seed: int, length: int) -> None:
    x, h = np.arange(length, dtype=np.int32) % 50, np.zeros(50, np.int32)
    kernels.histogram(bins=50).options(choices=girih.Choices(seed))[3](x, h)
    assert (h == length // 50).all()


def scan(x: Array, type_: str, choices: girih.Choices | None = None) -> Array:
    """The two launches of a scan."""
    grid = kernels.grid_for("scan", len(x))
    y, totals = zeros(type_, len(x)), zeros(type_, *grid)
    first, second = kernels.scan(type=type_)
    first.options(choices=choices)[grid](x, totals)
    second.options(choices=choices)[grid](x, totals, y)
    return y


@pytest.mark.parametrize(("length", "type_"), crossed([0, *LENGTHS], INTEGER))
def test_scan_of_integers(type_: str, length: int) -> None:
    x = random(type_, length)
    np.testing.assert_array_equal(scan(x, type_), x.astype(np.int64).cumsum().astype(DTYPES[type_]))


@pytest.mark.parametrize(("length", "type_"), crossed(LENGTHS, FLOATING))
def test_scan_of_numbers(type_: str, length: int) -> None:
    x = random(type_, length)
    # A sum has gone through one rounding for each row of its block, for each 32nd block and element of a block before,
    # and for each of ten steps of subgroup operations; what was rounded is below the sum of magnitudes.
    roundings = 32 + 32 + length // (1024 * 32) + 15
    bound = roundings * EPSILON[type_] * abs(wide(x)).cumsum()
    assert (abs(wide(scan(x, type_)) - wide(x).cumsum()) <= bound).all()


@pytest.mark.interpreter
@pytest.mark.parametrize("seed", [1, *long([2, 3])])
def test_scan_whatever_an_implementation_chooses(seed: int) -> None:
    x = random("i64", 2500)
    np.testing.assert_array_equal(scan(x, "i64", girih.Choices(seed)), x.cumsum())


def test_scan_with_many_blocks() -> None:
    """More blocks than a subgroup has work-items."""
    x = np.ones(40 * 1024 + 5, np.int32)
    np.testing.assert_array_equal(scan(x, "i32"), np.arange(1, len(x) + 1))


@pytest.mark.interpreter
@pytest.mark.parametrize("seed", [1, *long([2, 3])])
def test_transpose_and_stencil_whatever_an_implementation_chooses(seed: int) -> None:
    """Results are only written, so that what stood there may be anything."""
    choices = girih.Choices(seed)
    a, b = random("f32", 70, 41), np.full((41, 70), np.nan, np.float32, order="F")
    kernels.transpose().options(choices=choices)[3, 2](a, girih.uninitialized(b))
    np.testing.assert_array_equal(b, a.T)
    u, v = random("f64", 45, 19, 11), np.full((37, 11, 3), np.nan, order="F")
    kernels.stencil(type="f64").options(choices=choices)[2, 2, 3](WEIGHTS, u, girih.uninitialized(v))
    np.testing.assert_allclose(v, stencil(WEIGHTS, u), atol=30 * 100 * EPSILON["f64"])
