"""The bounds on functions, and the rounding of scalar code, as kernels see them."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.interpreter.launching import ONE_SUBGROUP, Array, kernel, spmd, zeros

DTYPES: dict[str, np.dtype[Any]] = {"bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16),
                                    "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}  # fmt: skip
DIGITS = {"bf16": 8, "f16": 11, "f32": 24, "f64": 53}
BOUNDS = {"exp": 3, "exp2": 3, "log": 3, "log2": 3, "sin": 4, "cos": 4}
EXACT = {"exp": math.exp, "exp2": math.exp2, "log": math.log, "log2": math.log2, "sin": math.sin, "cos": math.cos}


def through(name: str, type: str, values: Array) -> Array:
    out = np.zeros(values.size, DTYPES[type])
    body = "%g = group_id.x : index\n%b = mul %g, %eight : index\n%i = add %b, %lane : index\n"
    body += f"%x = load %A[%i] : {type}\n%y = {name} %x : {type}\nstore %y, %B[%i]"
    spmd(f"%A: memref<{type}x?>, %B: memref<{type}x?>", body, ONE_SUBGROUP)[values.size // 8](values, out)
    return out


def spacing(type: str, value: float) -> float:
    """The unit in the last place of a number."""
    least = {"f16": -14, "f64": -1022}.get(type, -126)
    exponent = max(math.frexp(value)[1] - 1, least)
    return math.ldexp(1.0, exponent - DIGITS[type] + 1)


@pytest.mark.parametrize("type", sorted(DTYPES))
@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_functions_keep_their_bounds(name: str, type: str) -> None:
    rng = np.random.default_rng(0)
    positive = name.startswith("log")
    values: Array = np.concatenate([rng.uniform(0.001 if positive else -9, 9, 400), rng.uniform(0.9, 1.1, 400)])
    values = values.astype(DTYPES[type])
    found, native = through(name, type, values), through(f"native_{name}", type, values)
    bound = 2 if type == "f16" else BOUNDS[name]
    for x, y, z in zip(values.tolist(), found.tolist(), native.tolist(), strict=True):
        exact = EXACT[name](float(x))
        assert abs(float(y) - exact) <= bound * spacing(type, exact)
        assert abs(float(z) - exact) <= max(2**-10, 2.0 ** (1 - DIGITS[type])) * abs(exact) + 1e-7


@pytest.mark.parametrize("type", sorted(DTYPES))
@pytest.mark.parametrize(
    ("name", "x", "y"),
    [("exp", -math.inf, 0), ("exp", math.inf, math.inf), ("log", 0, -math.inf), ("log", -1, math.nan),
     ("sin", 0, 0), ("cos", 0, 1), ("exp2", 3, 8), ("log2", 0.125, -3), ("sin", math.inf, math.nan),
     ("native_exp", -math.inf, 0)],
)  # fmt: skip
def test_functions_at_special_places(name: str, x: float, y: float, type: str) -> None:
    found = through(name, type, np.full(8, x).astype(DTYPES[type])).astype(np.float64)
    assert np.array_equal(found, np.full(8, y, np.float64), equal_nan=True)


def test_scalar_sums_round_after_every_step_and_collective_sums_once() -> None:
    ones = np.ones(4096, np.float16)
    stepwise, at_once = zeros(dtype=np.float16), zeros(dtype=np.float16)
    body = """
  %unit = constant 1.0 : f16
  %none = constant 0.0 : f16
  sum %unit, %A, %none, %S
  %end = constant 4096 : index
  %s = for %k=%c0,%end init(%t=%none) -> (f16) {
    %x = load %A[%k] : f16
    %u = add %t, %x : f16
    yield (%u)
  }
  store %s, %T[]
    """
    kernel("%A: memref<f16x?>, %S: memref<f16>, %T: memref<f16>", body)(ones, at_once, stepwise)
    assert at_once == 4096
    assert stepwise == 2048
