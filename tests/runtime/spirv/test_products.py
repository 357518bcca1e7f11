"""The shaders of `examples/shaders` that multiply matrices, held against NumPy on both executors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
from tests.cases import every_case, long

SHADERS = Path(__file__).resolve().parents[3] / "examples" / "shaders"
TARGETS = ("interpreter", "cpu")
TILES = {"ROWS": 32, "COLUMNS": 32, "DEPTH": 32}


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


def subgroups(target: str, *, staged: bool) -> None:
    a, b = numbers(64, 64), numbers(64, 64)
    found = product("matmul.spv", target, {"STAGED": staged}, 64, a, b, (64, 64, 64))
    np.testing.assert_array_equal(found, a.astype(np.float32) @ b)


def work_group(target: str) -> None:
    a, b = numbers(24, 40), numbers(40, 33)
    found = product("matmul_cm2.spv", target, TILES, 32, a, b, (24, 33, 40))
    np.testing.assert_array_equal(found, a.astype(np.float32) @ b)


def four_bits(target: str) -> None:
    w = quantize(np.random.default_rng(1).integers(-8, 8, (33, 64)) * np.float32(0.5), "q4_0")
    x = numbers(24, 64)
    found = product("matmul_q4_0.spv", target, TILES, 32, np.ascontiguousarray(w.T), x, (24, 33, 64))
    np.testing.assert_array_equal(found, x.astype(np.float32) @ dequantize(w, "q4_0").T)


@pytest.mark.parametrize(
    "run",
    [
        partial(subgroups, staged=True),
        four_bits,
        *long([partial(subgroups, staged=False), work_group]),
    ],
)
def test_products_are_those_of_numpy(run: Callable[[str], None]) -> None:
    with every_case() as case:
        for target in TARGETS:
            with case(target):
                run(target)


def test_matrices_of_the_work_group_are_computed_once_and_not_carried() -> None:
    subgroup, group = (
        girih.load(SHADERS / name, "interpreter")["main"].ir for name in ("matmul.spv", "matmul_cm2.spv")
    )
    assert geometry_of(subgroup, DEFAULT_LIMITS).subgroup_size == 32
    assert geometry_of(group, DEFAULT_LIMITS).subgroup_size == 128
    (loop,) = (op for op in group.walk() if isinstance(op, Loop))
    assert [str(value.type) for value in loop.carried] == ["coopmatrix<f32x64x64,matrix_acc,work_group>", "i32"]
