"""The kernels that multiply matrices, against NumPy: every type, every transpose, every kind of size."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import erf, exp, pi, sqrt, tanh
from typing import Any

import numpy as np
import pytest

import girih
from girih import kernels
from girih.kernels.table import EVERY, WIDER
from tests.cases import crossed, every_case, long
from tests.kernels.arrays import EPSILON, Array, assert_product, number, random, wide, zeros

# Rows, columns and depth: primes, one, tiles, and one more than a tile in one mode only.
SIZES = [
    (1, 1, 1), (1, 37, 5), (41, 1, 67), (67, 97, 1), (131, 13, 40), (32, 32, 32), (64, 128, 96), (33, 65, 31),
    (33, 64, 32), (64, 33, 32), (64, 32, 33), (65, 64, 64), (64, 65, 64), (64, 64, 65),
]  # fmt: skip
TRANSPOSED = list(product((False, True), repeat=2))
FACTORS = [(1.0, 0.0), (2.0, 1.0), (-1.0, -3.0), (0.0, 1.0)]


def turned(array: Array, transpose: bool) -> Array:
    """The array to pass for one that the kernel is to transpose."""
    return np.asfortranarray(array.T) if transpose else array


# Each size with two of the transposes and two pairs of factors, of which `make test` takes one.
CASES, AGAIN = (
    [
        (size, TRANSPOSED[(position + 2 * again) % 4], FACTORS[(position + again) % 4])
        for position, size in enumerate(SIZES)
    ]
    for again in range(2)
)


@pytest.mark.parametrize("name", ["gemm", "gemm_collective"])
@pytest.mark.parametrize(("size", "transpose", "factors"), [*CASES, *long(AGAIN)])
def test_sizes(
    name: str, size: tuple[int, int, int], transpose: tuple[bool, bool], factors: tuple[float, float]
) -> None:
    (m, n, k), (alpha, beta) = size, factors
    a, b, c = random("f32", m, k), random("f32", k, n, seed=1), random("f32", m, n, seed=2)
    old = c.copy()
    load = kernels.gemm if name == "gemm" else kernels.gemm_collective
    kernel = load(transpose_a=transpose[0], transpose_b=transpose[1])
    kernel(alpha, turned(a, transpose[0]), turned(b, transpose[1]), beta, c)
    assert_product(c, a, b, alpha, beta, old, k, "f32")


@pytest.mark.parametrize(("type_", "transpose"), crossed(EVERY, TRANSPOSED))
def test_types_of_collective_gemm(type_: str, transpose: tuple[bool, bool]) -> None:
    m, n, k = 67, 65, 13
    a, b, c = random(type_, m, k), random(type_, k, n, seed=1), random(type_, m, n, seed=2)
    old = c.copy()
    kernel = kernels.gemm_collective(type=type_, transpose_a=transpose[0], transpose_b=transpose[1])
    alpha, beta = number(type_, 2.0), number(type_, -1.0)
    grid = kernels.grid_for("gemm_collective", m, n)
    kernel[grid](alpha, turned(a, transpose[0]), turned(b, transpose[1]), beta, c)
    assert_product(c, a, b, 2, -1, old, k, type_)


@pytest.mark.parametrize(
    ("type_", "accumulator"),
    [*((t, WIDER[t][0]) for t in EVERY), *long((t, wider) for t in EVERY for wider in WIDER[t][1:])],
)
def test_types_of_gemm(type_: str, accumulator: str) -> None:
    m, n, k = 33, 29, 37
    transpose = TRANSPOSED[len(type_ + accumulator) % 4]
    a, b, c = random(type_, m, k), random(type_, k, n, seed=1), random(accumulator, m, n, seed=2)
    old = c.copy()
    kernel = kernels.gemm(type=type_, accumulator=accumulator, transpose_a=transpose[0], transpose_b=transpose[1])
    alpha, beta = number(accumulator, 2.0), number(accumulator, -1.0)
    kernel[2, 1](alpha, turned(a, transpose[0]), turned(b, transpose[1]), beta, c)
    assert_product(c, a, b, 2, -1, old, k, accumulator)


def test_complex_factors() -> None:
    a, b, c = random("c32", 5, 7), random("c32", 7, 3, seed=1), random("c32", 5, 3, seed=2)
    old = c.copy()
    alpha, beta = 0.5 - 1.0j, 2.0j
    for kernel in (kernels.gemm(type="c32"), kernels.gemm_collective(type="c32")):
        c[...] = old
        kernel(alpha, a, b, beta, c)
        # Seven products and a handful of roundings, of sums of magnitude about ten.
        np.testing.assert_allclose(c, alpha * (a @ b) + beta * old, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["gemm", "gemm_collective"])
@pytest.mark.parametrize(("m", "n", "k"), [(0, 5, 3), (5, 0, 3), (0, 0, 0)])
def test_empty_results(name: str, m: int, n: int, k: int) -> None:
    load = kernels.gemm if name == "gemm" else kernels.gemm_collective
    c = zeros("f32", m, n)
    load()(1.0, zeros("f32", m, k), zeros("f32", k, n), 1.0, c)
    assert c.shape == (m, n)


@pytest.mark.parametrize(("transpose", "beta"), crossed(TRANSPOSED, [0.0, 3.0]))
@pytest.mark.parametrize("name", ["gemm", "gemm_collective"])
def test_empty_sums(name: str, beta: float, transpose: tuple[bool, bool]) -> None:
    """With nothing to add, C is multiplied by beta."""
    load = kernels.gemm if name == "gemm" else kernels.gemm_collective
    a, b = turned(zeros("f32", 5, 0), transpose[0]), turned(zeros("f32", 0, 66), transpose[1])
    c = random("f32", 5, 66)
    old = c.copy()
    kernel = load(transpose_a=transpose[0], transpose_b=transpose[1])
    kernel(2.0, a, b, beta, c)
    np.testing.assert_array_equal(c, beta * old)


def test_beta_zero_does_not_read() -> None:
    """What was never written may be overwritten; a run of 0 * NaN would show as well."""
    a, b = random("f32", 40, 7), random("f32", 7, 40, seed=1)
    for kernel in (kernels.gemm(), kernels.gemm_collective()):
        c = np.full((40, 40), np.nan, np.float32, order="F")
        kernel(1.0, a, b, 0.0, girih.uninitialized(c))
        assert_product(c, a, b, 1, 0, c, 7, "f32")
    for transpose in TRANSPOSED:
        turn_a, turn_b = transpose
        c = np.full((40, 40), np.nan, np.float32, order="F")
        passed = turned(a, transpose[0]), turned(b, transpose[1])
        kernels.gemm_batched_group(transpose_a=turn_a, transpose_b=turn_b)(1.0, [passed[0]], [passed[1]], 0.0, [c])
        assert_product(c, a, b, 1, 0, c, 7, "f32")
        c = np.full((40, 40), np.nan, np.float32, order="F")
        small = kernels.gemm_batched(m=40, n=40, k=7, transpose_a=turn_a, transpose_b=turn_b)
        small(1.0, passed[0][:, :, None], passed[1][:, :, None], 0.0, girih.uninitialized(c[:, :, None]))
        assert_product(c, a, b, 1, 0, c, 7, "f32")


def test_columns_may_lie_apart() -> None:
    held = random("f32", 170, 70)
    a, b = held[3:140, 1:20], random("f32", 50, 33, seed=1)[2:21]
    c = zeros("f32", 160, 40)
    part = c[5:142, 2:35]
    kernels.gemm_collective()[2, 1](1.0, a, b, 0.0, part)
    assert_product(part, a, b, 1, 0, part, 19, "f32")
    c[5:142, 2:35] = 0
    assert not c.any()


def test_matrices_that_do_not_fit_are_found(target: str) -> None:
    a, b, c = random("f32", 5, 7), random("f32", 8, 3), zeros("f32", 5, 3)
    with pytest.raises(girih.KernelError):
        kernels.gemm_collective()(1.0, a, b, 0.0, c)
    with pytest.raises(girih.KernelError):
        kernels.gemm_collective()(1.0, random("f32", 4, 8), b, 0.0, c)
    assert target == "cpu" or not c.any(), "the interpreter leaves arrays as they were"


@pytest.mark.interpreter
@pytest.mark.parametrize(("transpose", "seed"), crossed(TRANSPOSED, [1, 2, 3]))
def test_whatever_an_implementation_chooses(transpose: tuple[bool, bool], seed: int) -> None:
    m, n, k = 70, 67, 35
    a, b = random("f32", m, k), random("f32", k, n, seed=1)
    for name, load in (("gemm", kernels.gemm), ("gemm_collective", kernels.gemm_collective)):
        c = random("f32", m, n, seed=2)
        old = c.copy()
        kernel = load(transpose_a=transpose[0], transpose_b=transpose[1])[kernels.grid_for(name, m, n)]
        passed = turned(a, transpose[0]), turned(b, transpose[1])
        kernel.options(choices=girih.Choices(seed))(1.5, *passed, 0.5, c)
        assert_product(c, a, b, 1.5, 0.5, old, k, "f32")


@pytest.mark.parametrize(
    ("types", "size"),
    crossed(
        [("i8", "i32"), ("i16", "i64"), ("f16", "f32"), ("bf16", "f32")],
        [(1, 1, 1), (32, 64, 32), (37, 41, 67), (5, 33, 0)],
    ),
)
def test_mixed_precision(types: tuple[str, str], size: tuple[int, int, int]) -> None:
    (type_, accumulator), (m, n, k) = types, size
    a, b = random(type_, m, k), random(type_, k, n, seed=1)
    c = random(accumulator, m, n)
    kernels.gemm_mixed(type=type_, accumulator=accumulator)(a, b, c)
    assert_product(c, a, b, 1, 0, c, k, accumulator)


def test_mixed_precision_does_not_wrap_early() -> None:
    """Products of i8 need more than 8 bits: -128 times -128, 40 times."""
    a, b = np.full((3, 40), -128, np.int8, order="F"), np.full((40, 2), -128, np.int8, order="F")
    c = zeros("i32", 3, 2)
    kernels.gemm_mixed(type="i8")(a, b, c)
    assert (c == 40 * 128 * 128).all()


@pytest.mark.parametrize(("type_", "transpose"), crossed(EVERY, TRANSPOSED))
def test_batches_along_a_mode(type_: str, transpose: tuple[bool, bool]) -> None:
    m, n, k, count = 7, 1, 5, 6
    kernel = kernels.gemm_batched(m=m, n=n, k=k, type=type_, transpose_a=transpose[0], transpose_b=transpose[1])
    # The products lie apart: every second of twelve, and columns longer than what is used of them.
    a_shape, b_shape = (k, m) if transpose[0] else (m, k), (n, k) if transpose[1] else (k, n)
    a = random(type_, 9, 8, 2 * count)[: a_shape[0], : a_shape[1], ::2]
    b = random(type_, 9, 8, count, seed=1)[: b_shape[0], : b_shape[1]]
    c = random(type_, m, n, count, seed=2)
    old = c.copy()
    kernel(number(type_, 3), a, b, number(type_, -1), c)
    for index in range(count):
        a_now = a[:, :, index].T if transpose[0] else a[:, :, index]
        b_now = b[:, :, index].T if transpose[1] else b[:, :, index]
        assert_product(c[:, :, index], a_now, b_now, 3, -1, old[:, :, index], k, type_)


@pytest.mark.parametrize(("type_", "transpose"), crossed(EVERY, TRANSPOSED))
def test_batches_of_a_group(type_: str, transpose: tuple[bool, bool]) -> None:
    sizes = [(1, 1, 1), (7, 13, 5), (33, 2, 40), (1, 37, 3), (4, 4, 0), (0, 3, 2)]
    a = [random(type_, m, k) for m, _, k in sizes]
    b = [random(type_, k, n, seed=1) for _, n, k in sizes]
    c = [random(type_, m, n, seed=2) for m, n, _ in sizes]
    old = [array.copy() for array in c]
    kernel = kernels.gemm_batched_group(type=type_, transpose_a=transpose[0], transpose_b=transpose[1])
    passed = [turned(x, transpose[0]) for x in a], [turned(x, transpose[1]) for x in b]
    kernel[len(sizes)](number(type_, 2), *passed, number(type_, -1), c)
    for index, (_, _, k) in enumerate(sizes):
        assert_product(c[index], a[index], b[index], 2, -1, old[index], k, type_)


@pytest.mark.parametrize(
    ("type_", "case"),
    crossed(
        EVERY, [(1, 2, 0), (127, 2, 1), (128, 2, 0), (128, 2, 3), (257, 2, 0), (311, 2, 3), (129, 0, 1), (0, 1, 0)]
    ),
)
def test_tall_and_skinny(type_: str, case: tuple[int, int, int]) -> None:
    (m, alpha, beta), n, k = case, 5, 3
    a, b, c = random(type_, m, k), random(type_, k, n, seed=1), random(type_, m, n, seed=2)
    old = c.copy()
    kernel = kernels.gemm_tall_skinny(n=n, k=k, type=type_)
    kernel(number(type_, alpha), a, b, number(type_, beta), c)
    assert_product(c, a, b, alpha, beta, old, k, type_)


ACTIVATED: dict[str | None, Callable[[float], float]] = {
    None: lambda x: x,
    "gelu": lambda x: x / 2 * (1 + erf(x / sqrt(2))),
    "gelu_tanh": lambda x: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + exp(-x)),
    "relu": lambda x: max(x, 0.0),
}


@pytest.mark.parametrize(("bias", "residual", "activation", "type_"), [
    ("rows", False, "gelu", "f32"), ("columns", True, "silu", "bf16"), (None, True, "gelu_tanh", "f64"),
    ("rows", False, "relu", "f16"), ("columns", False, None, "f32"),
    *long(product([None, "rows", "columns"], [False, True], list(ACTIVATED), ["f32", "f64", "bf16", "f16"])),
])  # fmt: skip
def test_gemm_epilogue(bias: str | None, residual: bool, activation: str | None, type_: str) -> None:
    """Sizes with remainders and none; a residual that is the result."""
    kernel = kernels.gemm_epilogue(type=type_, bias=bias, activation=activation, residual=residual)
    summed = "f64" if type_ == "f64" else "f32"
    with every_case() as case:
        for m, n, k in [(33, 65, 31), (32, 64, 32), (1, 1, 1), (5, 40, 0)]:
            with case(f"{m} x {n} x {k}"):
                a, b, c = random(type_, m, k), random(type_, k, n), random(type_, m, n)
                ends = None if bias is None else random(summed, m if bias == "rows" else n)
                added = np.zeros(1) if ends is None else ends[:, None] if bias == "rows" else ends
                total = wide(a) @ wide(b) + added
                expected = np.vectorize(ACTIVATED[activation])(total) + (wide(c) if residual else 0)
                magnitude = abs(wide(a)) @ abs(wide(b)) + abs(added) + abs(wide(c))
                if residual:
                    kernel(a, b, ends, c, c)
                else:
                    c[...] = np.nan
                    kernel(a, b, ends, None, c)
                # No activation is steeper than 1.2; its own roundings are of numbers below the sum of magnitudes.
                bound = EPSILON[type_] * abs(expected) + (2 * k + 40) * EPSILON[summed] * (1 + np.nan_to_num(magnitude))
                assert (abs(wide(c) - expected) <= bound).all()


def test_activations_of_large_numbers() -> None:
    """Far from zero an activation is zero or its argument, and NaN is NaN."""
    one, c = np.ones((1, 1), np.float32, order="F"), np.zeros((6, 1), np.float32, order="F")
    a = np.array([[-1e30, -200, 200, 1e30, np.nan, np.inf]], np.float32, order="F").T
    for activation in ("gelu", "gelu_tanh", "silu", "relu"):
        kernels.gemm_epilogue(activation=activation)(np.asfortranarray(a), one, None, None, c)
        np.testing.assert_array_equal(c[:, 0], np.array([0, 0, 200, 1e30, np.nan, np.inf], np.float32))


@pytest.mark.parametrize(("options", "words"), [
    ({"bias": "row"}, "gemm_epilogue: bias is 'row'; it must be one of rows, columns"),
    ({"activation": "swish"}, "gemm_epilogue: activation is 'swish'; it must be one of gelu, gelu_tanh, silu, relu"),
    ({"residual": 1}, "gemm_epilogue: residual is 1; it must be one of false, true"),
])  # fmt: skip
def test_ends_that_are_not_offered(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        kernels.gemm_epilogue(**options)
    assert str(caught.value) == words
