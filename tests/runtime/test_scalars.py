"""Scalar arguments: what is taken, what it becomes, and what is refused in which words."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from girih.arguments.arrays import ParameterSpec, bind
from girih.diagnostics import Diagnostic, LaunchError
from girih.ir.types import BF16, BOOL, C32, C64, F8E4M3, F8E5M2, F16, F32, F64, I8, I16, I32, I64, INDEX, Type


def spec(type: Type) -> ParameterSpec:
    return ParameterSpec("x", type)


def problem(type: Type, value: object) -> Diagnostic:
    with pytest.raises(LaunchError) as caught:
        bind([spec(type)], [value])
    (found,) = caught.value.diagnostics
    return found


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        (BOOL, True, np.bool_(True)),
        (BOOL, np.bool_(False), np.bool_(False)),
        (I8, -128, np.int8(-128)),
        (I16, np.uint64(32767), np.int16(32767)),
        (I32, np.array(7, np.int64), np.int32(7)),
        (I64, 2**63 - 1, np.int64(2**63 - 1)),
        (INDEX, 5, np.int64(5)),
        (F16, 2, np.float16(2)),
        (BF16, 0.5, ml_dtypes.bfloat16(0.5)),
        (F8E4M3, 464, ml_dtypes.float8_e4m3fn(448)),
        (F8E4M3, 1.0625 + 2.0**-40, ml_dtypes.float8_e4m3fn(1.125)),
        (F8E5M2, float("-inf"), ml_dtypes.float8_e5m2(-np.inf)),
        (F8E5M2, ml_dtypes.float8_e4m3fn(1.125), ml_dtypes.float8_e5m2(1.0)),
        (F32, 0.1, np.float32(0.1)),
        (F32, np.float64(0.1), np.float32(0.1)),
        (F32, ml_dtypes.bfloat16(1.5), np.float32(1.5)),
        (F32, 2**24 + 1, np.float32(2**24)),
        (F32, float("inf"), np.float32(np.inf)),
        (F64, np.float16(0.25), np.float64(0.25)),
        (C32, 1 + 2j, np.complex64(1 + 2j)),
        (C32, 3, np.complex64(3)),
        (C64, np.complex64(1j), np.complex128(1j)),
        (C64, 0.5, np.complex128(0.5)),
    ],
)
def test_scalars_become_arrays_of_their_dtype(type: Type, value: object, expected: np.generic) -> None:
    (bound,) = bind([spec(type)], [value]).values
    assert isinstance(bound, np.ndarray)
    assert bound.shape == (1, 1, 1)
    assert bound.dtype == expected.dtype
    assert bound[0, 0, 0] == expected


def test_nan_stays_nan() -> None:
    (bound,) = bind([spec(C32)], [complex("nan+1j")]).values
    assert isinstance(bound, np.ndarray)
    assert np.isnan(bound[0, 0, 0].real)
    assert bound[0, 0, 0].imag == 1


@pytest.mark.parametrize(
    ("type", "value", "text"),
    [
        (I8, 128, "128 does not fit i8, which holds -128 to 127"),
        (I32, np.int64(2**31), "does not fit i32"),
        pytest.param(I64, 10**5000, "an integer of 16610 bits does not fit i64", id="giant"),
        (F8E4M3, 464.5, "464.5 does not fit f8e4m3, which holds magnitudes up to 448, no infinities"),
        (F8E4M3, -np.inf, "-inf does not fit f8e4m3, which holds magnitudes up to 448, no infinities"),
        (F8E5M2, 61440.0, "61440.0 does not fit f8e5m2, which holds magnitudes up to 57344"),
        (F16, 65520.0, "65520.0 does not fit f16, which holds magnitudes up to 65504"),
        (BF16, 3.4e38, "3.3895314e+38"),
        (F32, 1e39, "does not fit f32"),
        (F32, 10**39, "does not fit f32"),
        (F64, 10**400, "does not fit f64"),
        (C32, 1e39j, "3.4028235e+38 in each part"),
        (C64, -(10**400), "does not fit c64"),
    ],
)
def test_scalars_out_of_range_are_refused(type: Type, value: object, text: str) -> None:
    found = problem(type, value)
    assert found.code == "bind.range"
    assert text in found.message


@pytest.mark.parametrize(
    ("type", "value", "message", "hint"),
    [
        (I32, 2.0, "i32 takes an integer; got float 2.0", "pass 2 instead of 2.0"),
        (I32, 2.5, "got float 2.5", "round it first: int(x), or math.floor(x)"),
        (I32, True, "got bool True", "pass 1 instead of True"),
        (I32, np.bool_(True), "got bool True", "pass 1 instead of True"),
        (F32, True, "f32 takes a real number; got bool True", "pass 1 instead of True"),
        (F32, 1j, "got complex 1j", "pass its real part, x.real, or its magnitude, abs(x)"),
        (F64, np.longdouble(1), "got longdouble 1", "pass a Python number, a NumPy scalar or a 0-d array"),
        (I64, np.timedelta64(1, "s"), "got timedelta64", "pass a Python number, a NumPy scalar or a 0-d array"),
        (BOOL, 1, "bool takes True or False; got int 1", "pass True instead of 1"),
        (BOOL, 2, "got int 2", "pass a comparison: x != 0"),
        (C32, "1", "c32 takes a number; got str", "pass a Python number, a NumPy scalar or a 0-d array"),
        (
            F32,
            np.zeros(3),
            "got ndarray of float64 with shape (3,)",
            "pass a Python number, a NumPy scalar or a 0-d array",
        ),
        (F32, np.ma.masked_array(1.0), "got MaskedArray", "pass a Python number, a NumPy scalar or a 0-d array"),
        (F32, np.array(None, object), "got ndarray of object", "pass a Python number, a NumPy scalar or a 0-d array"),
    ],
)
def test_scalars_of_another_kind_are_refused(type: Type, value: object, message: str, hint: str | None) -> None:
    found = problem(type, value)
    assert found.code == "bind.type"
    assert message in found.message
    assert found.hint == hint
