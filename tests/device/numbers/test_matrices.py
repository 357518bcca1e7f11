"""Instructions on numbers whose operands are cooperative matrices, against the same on NumPy arrays."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tests.cases import every_case
from tests.device.programs import TARGETS, findings, on_both

Array = NDArray[np.generic]
RNG = np.random.default_rng(31)
MATRIX = "coopmatrix<{}x4x8,matrix_a>"


def applied(lines: str, *types: str) -> str:
    """A function that loads %a and %b from its first two arrays, and stores %r to the last one."""
    parameters = ", ".join(f"%{name}: memref<{type}x4x8>" for name, type in zip("ABR", types, strict=True))
    a, b, r = (MATRIX.format(type) for type in types)
    return f"""
func @f({parameters}) attributes {{work_group_size=[8,1], subgroup_size=8}} {{
    parallel {{
        %zero = constant 0 : index
        %a = cooperative_matrix_load %A[%zero, %zero] : {a}
        %b = cooperative_matrix_load %B[%zero, %zero] : {b}
        {lines.format(a=a, b=b, r=r)}
        cooperative_matrix_store %r, %R[%zero, %zero]
    }}
}}
"""


def test_components_are_computed_as_numbers_are() -> None:
    a = RNG.integers(-(2**31), 2**31, (4, 8)).astype(np.int32)
    b = RNG.integers(1, 100, (4, 8)).astype(np.int32)
    x = RNG.uniform(0, 200, (4, 8)).astype(np.float32)
    bytes_ = RNG.integers(-128, 128, (4, 8)).astype(np.int8)
    unsigned = a.view(np.uint32)
    small = x.astype(np.float16)
    cases: list[tuple[str, tuple[str, ...], Array, Array, Array]] = [
        ("%r = unsigned_div %a, %b : {r}", ("i32", "i32", "i32"), a, b, (unsigned // b.view(np.uint32)).view(np.int32)),
        ("%r = signed_div %a, %b : {r}", ("i32", "i32", "i32"), a, b, np.trunc(a / b).astype(np.int32)),
        ("%r = signed_mod %a, %b : {r}", ("i32", "i32", "i32"), a, b, a % b),
        ("%r = zero_extend %a : {r}", ("i8", "i8", "i32"), bytes_, bytes_, bytes_.view(np.uint8).astype(np.int32)),
        ("%r = unsigned_to_float %a : {r}", ("i32", "i32", "f32"), a, a, unsigned.astype(np.float32)),
        ("%r = float_to_unsigned %a : {r}", ("f32", "f32", "i8"), x, x, x.astype(np.uint8).view(np.int8)),
        ("%r = float_to_signed %a : {r}", ("f32", "f32", "i32"), -x, x, (-x).astype(np.int32)),
        ("%r = float_cast %a : {r}", ("f32", "f32", "f8e4m3"), x, x, x.astype(ml_dtypes.float8_e4m3fn)),
        ("%s = float4_encode %a : " + MATRIX.format("i8") + "\n%r = float4_decode %s : {r}", ("f16", "f16", "f32"),
         small, small, np.clip(small, -6, 6).astype(ml_dtypes.float4_e2m1fn).astype(np.float32)),
    ]  # fmt: skip
    with every_case() as case:
        for lines, types, first, second, expected in cases:
            with case(lines):
                for *_, found in on_both(applied(lines, *types), first, second, np.zeros_like(expected)):
                    np.testing.assert_array_equal(found, expected)


def test_an_undefined_component_is_found() -> None:
    a, b = np.ones((4, 8), np.int32), np.ones((4, 8), np.int32)
    b[2, 3] = 0
    for target in TARGETS:
        (found,) = findings(applied("%r = signed_div %a, %b : {r}", "i32", "i32", "i32"), target, a, b, a)
        assert (found.code, found.message) == ("run.undefined_operation", "`signed_div` divides by zero")
