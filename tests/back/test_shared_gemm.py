"""The library's product as a CPU computes it where no tile is asked for: any number of work-groups share the result."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest

import girih
from girih import kernels
from girih.kernels.loading import cpu_text, shares
from girih.kernels.table import EVERY, WIDER
from tests.cases import crossed, every_case, long
from tests.kernels.arrays import Array, assert_product, number, random, wide, zeros

SHARED = [(t, wider) for t in EVERY for wider in WIDER[t] if wider == t or (t in ("f16", "bf16") and wider == "f32")]
"""The types of products that have no need of tiles."""

TRANSPOSED = list(product((False, True), repeat=2))
SIZES = [(0, 5, 3), (5, 0, 3), (4, 5, 0), (0, 0, 0), (1, 1, 1), (1, 37, 5), (41, 1, 67), (33, 65, 31), (131, 257, 7)]
GRIDS: list[int | tuple[int, ...]] = [1, 2, 3, 7, (2, 3), (3, 2, 2), 64, 300]


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads, on whatever machine this is; how many the pool has does not matter here."""
    monkeypatch.setenv("GIRIH_NUM_THREADS", "2")


def turned(array: Array, transpose: bool) -> Array:
    return np.asfortranarray(array.T) if transpose else array


@pytest.mark.parametrize(("types", "transpose"), [
    *crossed(SHARED, TRANSPOSED), *long(product(SHARED, TRANSPOSED)),
])  # fmt: skip
def test_sizes_factors_and_grids(types: tuple[str, str], transpose: tuple[bool, bool]) -> None:
    """Every grid covers the result once; 1.001 is not a number of the narrow types."""
    type_, accumulator = types
    kernel = kernels.gemm(type=type_, accumulator=accumulator, target="cpu",
                          transpose_a=transpose[0], transpose_b=transpose[1])  # fmt: skip
    factors = [(1, 0), (2, -1), (0, 1)] if accumulator[0] == "i" else [(1, 0), (2, -1), (0, 1), (1.001, 0), (1.001, 2)]
    with every_case() as case:
        for position, (m, n, k) in enumerate(SIZES):
            alpha, beta = factors[position % len(factors)]
            grid = GRIDS[position % len(GRIDS)]
            for launched in (kernel, kernel[grid]):
                with case(f"{m} x {n} x {k}, {alpha}, {beta}, {launched.grid}"):
                    a, b = random(type_, m, k), random(type_, k, n, seed=1)
                    c = random(accumulator, m, n, seed=2)
                    old = c.copy()
                    one, other = number(accumulator, alpha), number(accumulator, beta)
                    launched(one, turned(a, transpose[0]), turned(b, transpose[1]), other, c)
                    assert_product(c, a, b, alpha, beta, old, k, accumulator)


@pytest.mark.parametrize("type_", ["f32", "f64", "bf16", "f16", "i32", "c32"])
def test_products_of_several_blocks(type_: str) -> None:
    """Of a great depth each block but the first one is added to what the one before has left, whatever beta is."""
    accumulator = WIDER[type_][0]
    kernel = kernels.gemm(type=type_, target="cpu")
    with every_case() as case:
        for m, n, k in [(67, 75, 1500), (110, 67, 1100)]:
            for alpha, beta in [(1, 0), (2, 3)]:
                with case(f"{m} x {n} x {k}, {alpha}, {beta}"):
                    a, b = random(type_, m, k), random(type_, k, n, seed=1)
                    c = random(accumulator, m, n, seed=2)
                    old = c.copy()
                    kernel(number(accumulator, alpha), a, b, number(accumulator, beta), c)
                    assert_product(c, a, b, alpha, beta, old, k, accumulator)


@pytest.mark.parametrize("grid", GRIDS)
def test_each_grid_shares_the_result(grid: int | tuple[int, ...]) -> None:
    """With beta 1 an element that two work-groups add to would show, as would one that none does."""
    kernel = kernels.gemm(target="cpu")[grid]
    with every_case() as case:
        for m, n in [(1, 1), (31, 33), (32, 320), (320, 32), (65, 1), (1, 65), (97, 203)]:
            with case(f"{m} x {n}"):
                a, b, c = random("f32", m, 5), random("f32", 5, n, seed=1), random("f32", m, n, seed=2)
                old = c.copy()
                kernel(1.0, a, b, 1.0, c)
                assert_product(c, a, b, 1, 1, old, 5, "f32")


@pytest.mark.parametrize(
    ("type_", "alpha"), [("f32", 1.0), ("f64", 0.1), ("bf16", 1.0), ("bf16", 1.001), ("f16", -3.7)]
)
def test_numbers_that_are_none(type_: str, alpha: float) -> None:
    """What C held is not read where beta is 0; NaN of a factor is NaN in its row or column, and only there."""
    summed = "f32" if type_ in ("f16", "bf16") else type_
    a, b, c = random(type_, 70, 40), random(type_, 40, 50, seed=1), zeros(summed, 70, 50)
    kernel = kernels.gemm(type=type_, target="cpu")
    for depth in (40, 0):
        c[...] = np.nan
        kernel(alpha, np.asfortranarray(a[:, :depth]), np.asfortranarray(b[:depth]), 0.0, girih.uninitialized(c))
        assert np.isfinite(c).all()
    a[3, 5], b[7, 11] = np.nan, np.inf
    kernel(alpha, a, b, 0.0, c)
    bad = np.zeros(c.shape, bool)
    bad[3], bad[:, 11] = True, True
    assert (np.isfinite(c) == ~bad).all()
    assert np.isnan(c[3]).all()
    kernel(0.0, a, b, 1.0, c)
    assert np.isnan(c[bad]).all()
    kernel(alpha, a[:, :0].copy(order="F"), b[:0].copy(order="F"), 0.0, c)
    assert (c == 0).all()


def test_row_major_arrays() -> None:
    """In order C the kernel computes the transpose, of arrays whose axes are reversed."""
    for type_, transpose in product(("f64", "bf16"), TRANSPOSED):
        summed = "f32" if type_ == "bf16" else type_
        kernel = kernels.gemm(type=type_, order="C", transpose_a=transpose[0], transpose_b=transpose[1], target="cpu")
        a, b, c = random(type_, 45, 70), random(type_, 70, 130, seed=1), random(summed, 45, 130, seed=2)
        old = c.copy()
        kernel(2.0, turned(a, transpose[0]).T, turned(b, transpose[1]).T, 3.0, c.T)
        assert_product(c, a, b, 2, 3, old, 70, summed)


def test_the_grid_follows_from_the_work() -> None:
    """A work-group for 64^3 multiply-adds, at most two for each thread: small products stay on the calling thread."""
    kernel = kernels.gemm(target="cpu")
    grids = {n: kernel.grid_for(1.0, *(zeros("f32", n, n),) * 2, 0.0, zeros("f32", n, n)) for n in (0, 1, 64, 90, 300)}
    assert grids == {0: (1, 1, 1), 1: (1, 1, 1), 64: (1, 1, 1), 90: (2, 1, 1), 300: (4, 1, 1)}
    assert kernel.grid is None
    deep = zeros("f32", 4, 10**6), zeros("f32", 10**6, 4), zeros("f32", 4, 4)
    assert kernel.grid_for(1.0, deep[0], deep[1], 0.0, deep[2]) == (4, 1, 1)


def test_one_thread_needs_no_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIRIH_NUM_THREADS", "1")
    kernel = kernels.gemm(target="cpu")
    a, b, c = random("f32", 300, 200), random("f32", 200, 301, seed=1), zeros("f32", 300, 301)
    assert kernel.grid == kernel.grid_for(1.0, a, b, 0.0, c) == (1, 1, 1)
    kernel(1.0, a, b, 0.0, c)
    assert_product(c, a, b, 1, 0, c, 200, "f32")


def test_tiles_that_are_asked_for_stay() -> None:
    """So do those of sums that the instruction does not make, and those of targets that have no use for it."""
    a, b, c = zeros("f32", 130, 8), zeros("f32", 8, 200), zeros("f32", 130, 200)
    for kernel, grid in (
        (kernels.gemm(target="cpu", rows=64), 3),
        (kernels.gemm(target="cpu", columns=50), 2),
        (kernels.gemm(target="cpu", depth=16), 2),
    ):
        assert kernel.grid_for(1.0, a, b, 0.0, c)[0] == grid
    for wide_sums in (("i8", "i32"), ("i16", "i64"), ("f32", "f64"), ("c32", "c64")):
        assert shares("cpu", *wide_sums) is None
    assert shares("interpreter", "f32", "f32") is None
    assert kernels.gemm(target="interpreter").grid_for(1.0, a, b, 0.0, c) == (5, 7, 1)


def test_the_kernel_is_a_kernel_like_others() -> None:
    """It says what it is, and goes to other processes."""
    kernel = kernels.gemm(type="bf16", target="cpu")
    tiles = kernels.gemm(type="bf16", target="interpreter")
    assert kernel.signature == tiles.signature
    assert "on the grid [max(1, min(4, floor(size(%A, 0) * size(%A, 1) * size(%C, 1), 262144)))]" in repr(kernel)
    assert kernel.ir.span.source.name == str(cpu_text("gemm"))
    again = pickle.loads(pickle.dumps(kernel))
    assert repr(again) == repr(kernel)
    a, b, c = random("bf16", 90, 90), random("bf16", 90, 90, seed=1), zeros("f32", 90, 90)
    again.bind(1.0, a, b, 0.0, c).run()
    assert_product(c, a, b, 1, 0, c, 90, "f32")
    assert {remark.severity for remark in kernel.remarks} <= {"remark"}


@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_mixed_precision_needs_no_tiles(type_: str) -> None:
    kernel = kernels.gemm_mixed(type=type_, target="cpu")
    assert kernel.ir.span.source.name == str(cpu_text("gemm_mixed"))
    tiles = kernels.gemm_mixed(type=type_, target="cpu", depth=32)
    assert tiles.ir.span.source.name == str(kernels.path("gemm_mixed"))
    with every_case() as case:
        for position, (m, n, k) in enumerate([*SIZES, (90, 70, 80)]):
            for launched in (kernel, kernel[GRIDS[position % len(GRIDS)]]):
                with case(f"{m} x {n} x {k}, {launched.grid}"):
                    a, b, c = random(type_, m, k), random(type_, k, n, seed=1), zeros("f32", m, n)
                    c[...] = np.nan
                    launched(a, b, girih.uninitialized(c))
                    assert_product(c, a, b, 1, 0, c, k, "f32")


def test_sizes_that_do_not_fit_are_found() -> None:
    kernel = kernels.gemm(target="cpu")
    for shapes in (((5, 7), (8, 3), (5, 3)), ((4, 8), (8, 3), (5, 3)), ((5, 8), (8, 2), (5, 3))):
        a, b, c = (zeros("f32", *shape) for shape in shapes)
        with pytest.raises(girih.KernelError):
            kernel(1.0, a, b, 0.0, c)


def test_threads_share_a_kernel() -> None:
    """Launches from several threads at once, of different sizes."""
    from concurrent.futures import ThreadPoolExecutor

    kernel = kernels.gemm(type="f64", target="cpu")

    def launch(seed: int) -> None:
        m, n, k = 40 + 31 * (seed % 4), 150 - 17 * (seed % 5), 30 + seed
        a, b, c = random("f64", m, k, seed=seed), random("f64", k, n, seed=seed + 1), zeros("f64", m, n)
        for _ in range(20):
            c[...] = np.nan
            kernel(1.0, a, b, 0.0, c)
            np.testing.assert_allclose(c, wide(a) @ wide(b), rtol=1e-10, atol=1e-10)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(launch, range(16)))
