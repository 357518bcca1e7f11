"""The kernels around the product against NumPy: sizes with remainders and none, factors, transposes, seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih import kernels
from girih.arguments.brackets import Grid
from girih.interpreter.machine.choices import Choices
from tests.cases import crossed, long

Array = NDArray[Any]
SEEDS = [None, *range(20)]
FACTORS = [(1.0, 0.0), (2.5, -1.0), (-1.0, 1.0)]


def random(seed: int, *shape: int) -> Array:
    return np.asfortranarray(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def launch(
    name: str,
    grid: Grid,
    arguments: Sequence[object],
    seed: int | None,
    function: str | None = None,
    **definitions: object,
) -> None:
    program = girih.load(kernels.path(name), definitions=definitions)
    program[function or name].options(choices=None if seed is None else Choices(seed))[grid](*arguments)


def close(found: Array, expected: Array) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def updated(beta: float, seed: int, *shape: int) -> tuple[Array, Array]:
    """What is updated, and what of it counts: NaN must not come through a factor of 0."""
    c = random(seed, *shape)
    if beta == 0:
        c[...] = np.nan
    return c, np.zeros_like(c) if beta == 0 else beta * c


def op(x: Array, transpose: bool) -> Array:
    return x.swapaxes(0, 1) if transpose else x


def blocks(size: int, block: int) -> int:
    return -(-size // block)


@pytest.mark.parametrize(("length", "factors"), crossed([0, 1, 1023, 1024, 2500], FACTORS))
def test_vectors(length: int, factors: tuple[float, float], target: str) -> None:
    alpha, beta = factors
    for seed in SEEDS[:3] if target == "interpreter" else [None]:
        x, y = random(1, length), random(2, length)
        out, kept = updated(beta, 3, length)
        launch("axpby", blocks(length, 1024), (alpha, x, beta, out), seed)
        close(out, alpha * x + kept)
        out, kept = updated(beta, 3, length)
        launch("hadamard", blocks(length, 1024), (alpha, x, y, beta, out), seed)
        close(out, alpha * x * y + kept)


@pytest.mark.parametrize(
    ("transpose", "size", "factors"),
    crossed([False, True], [(1, 1), (64, 64), (65, 1), (100, 77), (600, 3), (0, 5), (5, 0)], FACTORS),
)
def test_matrix_times_vector_and_update(
    size: tuple[int, int], factors: tuple[float, float], transpose: bool, target: str
) -> None:
    (m, n), (alpha, beta) = size, factors
    for seed in SEEDS[:3] if target == "interpreter" else [None]:
        a, x, y = random(1, m, n), random(2, n), random(3, m)
        out, kept = updated(beta, 4, m)
        stored = np.asfortranarray(a.T) if transpose else a
        launch("gemv", blocks(m, 512), (alpha, stored, x, beta, out), seed, transpose_a=transpose)
        close(out, alpha * (a @ x) + kept)
        c, kept = updated(beta, 5, m, n)
        launch("ger", (blocks(m, 64), blocks(n, 64)), (alpha, y, x, beta, c), seed)
        close(c, alpha * np.outer(y, x) + kept)


@pytest.mark.parametrize(
    ("size", "factors", "letters"),
    crossed([(64, 64, 64), (65, 3, 1), (37, 41, 100), (5, 0, 7), (0, 4, 4)], FACTORS, ["nn", "nt", "tn", "tt"]),
)
def test_products(size: tuple[int, int, int], factors: tuple[float, float], letters: str) -> None:
    (m, k, n), (alpha, beta) = size, factors
    turn_a, turn_b = (letter == "t" for letter in letters)
    a, b = random(1, m, k), random(2, k, n)
    stored = [np.asfortranarray(op(a, turn_a)), np.asfortranarray(op(b, turn_b))]
    for name, tile in (("gemm", 32), ("gemm_collective", 128)):
        c, kept = updated(beta, 3, m, n)
        grid = (blocks(m, tile), blocks(n, tile))
        launch(name, grid, (alpha, *stored, beta, c), None, transpose_a=turn_a, transpose_b=turn_b)
        close(c, alpha * (a @ b) + kept)


@pytest.mark.parametrize(("rows", "factors"), crossed([1, 127, 128, 300], FACTORS))
def test_tall_and_skinny(rows: int, factors: tuple[float, float]) -> None:
    alpha, beta = factors
    a, b = random(1, rows, 5), random(2, 5, 3)
    c, kept = updated(beta, 3, rows, 3)
    launch("gemm_tall_skinny", blocks(rows, 128), (alpha, a, b, beta, c), None, K=5, N=3)
    close(c, alpha * (a @ b) + kept)


def batched(letters: str, alpha: float, beta: float, seed: int | None) -> None:
    m, k, n, count = 5, 7, 3, 200
    turn_a, turn_b = (letter == "t" for letter in letters)
    a, b = random(1, m, k, count), random(2, k, n, count)
    c, kept = updated(beta, 3, m, n, count)
    stored = [np.asfortranarray(op(a, turn_a)), np.asfortranarray(op(b, turn_b))]
    function = f"gemm_batched_{letters}"
    launch("gemm_batched", count, (alpha, *stored, beta, c), seed, function, M=m, K=k, N=n)
    close(c, alpha * np.einsum("mkb,knb->mnb", a, b) + kept)


def grouped(letters: str, alpha: float, beta: float, seed: int | None) -> None:
    sizes = [(m, k, n) for m in (1, 3, 8) for k in (1, 5) for n in (2, 17)]
    turn_a, turn_b = (letter == "t" for letter in letters)
    a, b = [random(i, m, k) for i, (m, k, _) in enumerate(sizes)], [random(9, k, n) for _, k, n in sizes]
    targets = [updated(beta, 5, m, n) for m, _, n in sizes]
    c = [held for held, _ in targets]
    stored = [[np.asfortranarray(op(x, turned)) for x in xs] for xs, turned in ((a, turn_a), (b, turn_b))]
    launch("gemm_batched_group", len(sizes), (alpha, *stored, beta, c), seed, transpose_a=turn_a, transpose_b=turn_b)
    for x, y, found, (_, kept) in zip(a, b, c, targets, strict=True):
        close(found, alpha * (x @ y) + kept)


@pytest.mark.parametrize(("letters", "factors"), crossed(["nn", "nt", "tn", "tt"], FACTORS))
def test_batches(letters: str, factors: tuple[float, float]) -> None:
    batched(letters, *factors, None)
    grouped(letters, *factors, None)


def mixed(seed: int | None) -> None:
    rng = np.random.default_rng(0)
    a, b = (np.asfortranarray(rng.integers(-128, 128, s).astype(np.int8)) for s in ((40, 70), (70, 33)))
    c = np.zeros((40, 33), np.int32, order="F")
    launch("gemm_mixed", (2, 2), (a, b, c), seed)
    assert (c == a.astype(np.int32) @ b.astype(np.int32)).all()


def test_mixed_precision() -> None:
    mixed(None)


@pytest.mark.interpreter
@pytest.mark.parametrize("seed", [*SEEDS[:3], *long(SEEDS[3:])])
def test_all_under_twenty_seeds(seed: int | None) -> None:
    a, b, x, y = random(1, 70, 90), random(2, 90, 65), random(3, 90), random(4, 70)
    out = np.zeros((70, 65), np.float32, order="F")
    launch("gemm_collective", 1, (1.0, a, b, 0.0, out), seed)
    close(out, a @ b)
    tall = np.zeros((70, 65), np.float32, order="F")
    launch("gemm_tall_skinny", 1, (1.0, a, b, 1.0, tall), seed, K=90, N=65)
    close(tall, a @ b)
    column = y.copy()
    launch("gemv", 1, (1.0, a, x, 2.0, column), seed)
    close(column, a @ x + 2 * y)
    outer = np.zeros((70, 90), np.float32, order="F")
    launch("ger", (2, 2), (1.0, y, x, 0.0, outer), seed)
    close(outer, np.outer(y, x))
    line = np.zeros(90, np.float32)
    launch("axpby", 1, (3.0, x, 0.0, line), seed)
    launch("hadamard", 1, (1.0, x, x, 1.0, line), seed)
    close(line, 3 * x + x * x)
    batched("nt", 1.0, 0.0, seed)
    grouped("tn", 1.0, 2.0, seed)
    mixed(seed)
