"""The tiled product against NumPy: sizes with and without remainders, alpha and beta, mixed types."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih import kernels
from girih.interpreter.machine.choices import Choices
from tests.cases import crossed, long

Array = NDArray[Any]

SHAPES = [
    (32, 32, 32), (64, 32, 96), (37, 41, 43), (1, 50, 1), (1, 1, 1), (97, 1, 2), (31, 33, 65), (3, 128, 5),
    (0, 4, 5), (4, 0, 5), (4, 5, 0), (0, 0, 0),
]  # fmt: skip
FACTORS = [(1.0, 0.0), (2.5, -1.0), (0.0, 1.0), (-1.0, 0.5)]
DTYPES: dict[str, np.dtype[Any]] = {
    "i8": np.dtype(np.int8), "i16": np.dtype(np.int16), "i32": np.dtype(np.int32), "i64": np.dtype(np.int64),
    "bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16), "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64), "c32": np.dtype(np.complex64), "c64": np.dtype(np.complex128),
}  # fmt: skip


def random(rng: np.random.Generator, dtype: np.dtype[Any], *shape: int) -> Array:
    if dtype.kind == "i":
        info = np.iinfo(dtype)
        return np.asfortranarray(rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True))
    if dtype.kind == "c":
        return np.asfortranarray((rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype))
    return np.asfortranarray(rng.standard_normal(shape).astype(dtype))


def multiply(
    type: str, accumulator: str, alpha: Any, a: Array, b: Array, beta: Any, c: Array, choices: Choices | None = None
) -> Array:
    program = girih.load(kernels.path("gemm"), definitions={"type": type, "accumulator": accumulator})
    result = c.copy(order="F")
    grid = (-(-c.shape[0] // 32), -(-c.shape[1] // 32))
    program["gemm"].options(choices=choices)[grid](alpha, a, b, beta, result)
    return result


@pytest.mark.parametrize(("shape", "factors"), crossed(SHAPES, FACTORS))
def test_shapes_and_factors(shape: tuple[int, int, int], factors: tuple[float, float]) -> None:
    (m, k, n), (alpha, beta) = shape, factors
    rng = np.random.default_rng(m + k + n)
    f32 = DTYPES["f32"]
    a, b, c = random(rng, f32, m, k), random(rng, f32, k, n), random(rng, f32, m, n)
    expected = alpha * (a.astype(np.float64) @ b) + beta * c
    np.testing.assert_allclose(multiply("f32", "f32", alpha, a, b, beta, c), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("type", "accumulator", "tolerance"),
    [("f16", "f32", 1e-5), ("bf16", "f32", 1e-5), ("f32", "f32", 1e-5), ("f64", "f64", 1e-13), ("f32", "f64", 1e-13),
     ("c32", "c32", 1e-5), ("c64", "c64", 1e-13), ("f16", "f16", 1e-2), ("i8", "f32", 1e-5)],
)  # fmt: skip
def test_types(type: str, accumulator: str, tolerance: float) -> None:
    rng = np.random.default_rng(1)
    a, b = random(rng, DTYPES[type], 45, 37), random(rng, DTYPES[type], 37, 50)
    c = random(rng, DTYPES[accumulator], 45, 50)
    wide = np.complex128 if accumulator[0] == "c" else np.float64
    expected = 2 * (a.astype(wide) @ b.astype(wide)) - c.astype(wide)
    found = multiply(type, accumulator, 2.0, a, b, -1.0, c).astype(wide)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize(
    ("type", "accumulator"), [("i8", "i32"), ("i8", "i8"), ("i16", "i32"), ("i32", "i64"), ("i64", "i64")]
)
def test_integers_wrap_around(type: str, accumulator: str) -> None:
    rng = np.random.default_rng(2)
    a, b = random(rng, DTYPES[type], 45, 37), random(rng, DTYPES[type], 37, 50)
    wide = DTYPES[accumulator]
    c = random(rng, wide, 45, 50)
    if wide == np.int64:
        # Promotion of i32 to i64 is exact, so Python's integers tell what wraps.
        exact = 3 * (a.astype(object) @ b.astype(object)) - 5 * c.astype(object)
        expected = ((exact + 2**63) % 2**64 - 2**63).astype(wide)
    else:
        expected = (3 * (a.astype(np.int64) @ b.astype(np.int64)) - 5 * c.astype(np.int64)).astype(wide)
    assert (multiply(type, accumulator, 3, a, b, -5, c) == expected).all()


def test_strided_views() -> None:
    rng = np.random.default_rng(3)
    a, b, c = (random(rng, DTYPES["f32"], 80, 80) for _ in range(3))
    before = c.copy(order="F")
    text = kernels.path("gemm").read_text(encoding="utf-8").replace("? x ?>", "? x ?, strided<1,?>>")
    program = girih.loads(text)
    program["gemm"][2, 2](1.0, a[5:50, 3:40], b[1:38, 7:50], 1.0, c[2:47, 4:47])
    before[2:47, 4:47] += a[5:50, 3:40] @ b[1:38, 7:50]
    np.testing.assert_allclose(c, before, rtol=1e-5, atol=1e-5)
    outside = np.ones(c.shape, bool)
    outside[2:47, 4:47] = False
    assert (c[outside] == before[outside]).all()


def test_tiles_suit_the_target_and_any_grid_that_covers_the_result(target: str) -> None:
    rng = np.random.default_rng(5)
    a, b, c = (random(rng, DTYPES["f32"], *shape) for shape in ((130, 70), (70, 200), (130, 200)))
    expected = 2 * (a.astype(np.float64) @ b) + 3 * c
    compiled, chosen = kernels.gemm(), kernels.gemm(rows=64, columns=50, depth=24)
    sizes = compiled.grid_for(2.0, a, b, 3.0, c)
    assert sizes == (5, 7, 1) if target == "interpreter" else sizes[0] * sizes[1] < 5 * 7
    assert chosen.grid_for(2.0, a, b, 3.0, c) == (3, 4, 1)
    for call in (compiled, chosen, compiled[kernels.grid_for("gemm", 130, 200)]):
        found = c.copy(order="F")
        call(2.0, a, b, 3.0, found)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)
    with pytest.raises(ValueError, match="gemm: rows is 40; it must be"):
        kernels.gemm(rows=40)
    with pytest.raises(ValueError, match="nowhere"):
        kernels.gemm(target="nowhere")


@pytest.mark.interpreter
@pytest.mark.parametrize(("type", "accumulator"), [("f32", "f32"), ("f16", "f32"), ("i8", "i32")])
@pytest.mark.parametrize("seed", [0, 1, *long(range(2, 20))])
def test_the_product_under_twenty_seeds(type: str, accumulator: str, seed: int) -> None:
    rng = np.random.default_rng(4)
    a, b = random(rng, DTYPES[type], 70, 90), random(rng, DTYPES[type], 90, 65)
    c = np.zeros((70, 65), DTYPES[accumulator], order="F")
    exact = a.astype(np.float64) @ b.astype(np.float64)
    one = 1 if accumulator[0] == "i" else 1.0
    found = multiply(type, accumulator, one, a, b, one, c, Choices(seed))
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-4)


def test_sizes_that_do_not_fit_are_found(target: str) -> None:
    a, b, c = (np.ones(shape, np.float32, order="F") for shape in ((64, 64), (64, 64), (32, 64)))
    program = girih.load(kernels.path("gemm"))
    with pytest.raises(girih.KernelError) as caught:
        program["gemm"][2, 2](1.0, a, b[:, :40].copy(order="F")[:32], 0.0, c)
    assert {f.code for f in caught.value.findings} == {"run.out_of_bounds"}
    assert target == "cpu" or (c == 1).all(), "the interpreter leaves arrays as they were"
