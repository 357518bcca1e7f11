"""The shaders of `examples/shaders` that multiply matrices, held against NumPy on both executors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.back.llvm.lower.code import geometry_of
from girih.ir.limits import DEFAULT_LIMITS
from girih.kernels.quantized import dequantize, quantize
from girih.ops.device.control import Loop
from tests.cases import every_case

SHADERS = Path(__file__).resolve().parents[3] / "examples" / "shaders"
TARGETS = ("interpreter", "cpu")


def numbers(*shape: int) -> NDArray[np.float16]:
    """Small numbers whose products and sums are exact."""
    return np.random.default_rng(list(shape)).integers(-4, 5, shape).astype(np.float16)


def product(
    name: str,
    target: str,
    definitions: dict[str, Any],
    tile: int,
    a: NDArray[Any],
    b: NDArray[Any],
    shape: tuple[int, ...],
) -> NDArray[np.float32]:
    """What a shader computes of two matrices, for sizes M x N x K; its numbers begin as NaN."""
    m, n, k = shape
    c = np.full((m, n), np.nan, np.float32)
    kernel = girih.load(SHADERS / name, target, definitions)["main"]
    kernel[-(-n // tile), -(-m // tile)](
        {(0, 0): a.reshape(-1), (0, 1): b.reshape(-1), (0, 2): c.reshape(-1)}, push_constants={"M": m, "N": n, "K": k}
    )
    return c


@pytest.mark.parametrize("target", TARGETS)
def test_products_are_those_of_numpy(target: str) -> None:
    a, b = numbers(64, 64), numbers(64, 64)
    small, other = numbers(24, 40), numbers(40, 33)
    w = quantize(np.random.default_rng(1).integers(-8, 8, (33, 64)) * np.float32(0.5), "q4_0")
    x = numbers(24, 64)
    with every_case() as case:
        for staged in (False, True):
            with case(f"matrices of subgroups, staged: {staged}"):
                found = product("matmul.spv", target, {"STAGED": staged}, 64, a, b, (64, 64, 64))
                assert np.array_equal(found, a.astype(np.float32) @ b)
        tiles = {"ROWS": 32, "COLUMNS": 32, "DEPTH": 32}
        with case("a matrix of the work-group"):
            found = product("matmul_cm2.spv", target, tiles, 32, small, other, (24, 33, 40))
            assert np.array_equal(found, small.astype(np.float32) @ other)
        with case("weights of four bits"):
            blocks = np.ascontiguousarray(w.T)
            found = product("matmul_q4_0.spv", target, tiles, 32, blocks, x, (24, 33, 64))
            assert np.array_equal(found, x.astype(np.float32) @ dequantize(w, "q4_0").T)


def test_matrices_of_the_work_group_are_computed_once() -> None:
    with every_case() as case:
        for name, size in (("matmul_cm2.spv", 128), ("matmul_q4_0.spv", 128), ("matmul.spv", 32)):
            with case(name):
                function = girih.load(SHADERS / name, "cpu")["main"].ir
                assert geometry_of(function, DEFAULT_LIMITS).subgroup_size == size


def test_a_loop_does_not_carry_the_matrices_that_each_iteration_fills() -> None:
    function = girih.load(SHADERS / "matmul_cm2.spv", "cpu")["main"].ir
    (loop,) = (op for op in function.walk() if isinstance(op, Loop))
    assert [str(value.type) for value in loop.carried] == ["coopmatrix<f32x64x64,matrix_acc,work_group>", "i32"]
