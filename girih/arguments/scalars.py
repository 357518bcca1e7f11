"""Scalar arguments: a value that fits the type exactly as the rules say, or a diagnostic; never a silent change.

Integers take whole numbers in range, floating types also integers (rounded to the nearest value), complex types real
numbers too. Booleans are not numbers. A finite value that would become infinite is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import isfinite, isinf
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from girih.arguments.report import ArgumentPlace, ArgumentReport
from girih.ir.floats import FORMATS, rounded
from girih.ir.types import BOOL, EIGHT_BIT_FLOATS, NUMBERS, PARTS, Boolean, Number

PythonNumber = bool | int | float | complex

DTYPES: dict[Number | Boolean, np.dtype[Any]] = {
    BOOL: np.dtype(np.bool_),
    NUMBERS["i8"]: np.dtype(np.int8),
    NUMBERS["i16"]: np.dtype(np.int16),
    NUMBERS["i32"]: np.dtype(np.int32),
    NUMBERS["i64"]: np.dtype(np.int64),
    NUMBERS["index"]: np.dtype(np.int64),
    NUMBERS["f8e4m3"]: np.dtype(ml_dtypes.float8_e4m3fn),
    NUMBERS["f8e5m2"]: np.dtype(ml_dtypes.float8_e5m2),
    NUMBERS["bf16"]: np.dtype(ml_dtypes.bfloat16),
    NUMBERS["f16"]: np.dtype(np.float16),
    NUMBERS["f32"]: np.dtype(np.float32),
    NUMBERS["f64"]: np.dtype(np.float64),
    NUMBERS["c32"]: np.dtype(np.complex64),
    NUMBERS["c64"]: np.dtype(np.complex128),
}
"""The NumPy dtype of the elements of every scalar type (003 "Scalar types")."""

_TAKES: dict[str, tuple[type[PythonNumber], ...]] = {
    "boolean": (bool,),
    "integer": (int,),
    "floating": (float, int),
    "complex": (complex, float, int),
}
_WORDS = {
    "boolean": "True or False",
    "integer": "an integer",
    "floating": "a real number",
    "complex": "a number",
}
_FROM_DTYPE: dict[str, Callable[[Any], PythonNumber]] = {
    "bool": bool,
    **{f"{sign}int{bits}": int for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64"), float),
    **dict.fromkeys(("complex64", "complex128"), complex),
}


def bind_scalar(
    type: Number | Boolean, value: object, place: ArgumentPlace, report: ArgumentReport
) -> NDArray[Any] | None:
    """The value as an array of shape (1, 1, 1) of the type's dtype; None after a problem was reported.

    Takes Python's bool, int, float and complex, NumPy scalars and 0-d arrays.
    Reports bind.null, bind.type and bind.range.
    """
    family = type.family if isinstance(type, Number) else "boolean"
    if value is None:
        report.add("bind.null", place, f"{place.declared(type)} takes {_WORDS[family]}; got None")
        return None
    number = _python_number(value)
    kind = number.__class__
    if number is None or kind not in _TAKES[family]:
        report.add(
            "bind.type",
            place,
            f"{place.declared(type)} takes {_WORDS[family]}; got {_describe(value)}",
            _hint(family, number),
        )
        return None
    result = _convert(type, number)
    if result is None:
        report.add(
            "bind.range", place, f"{_shown(number)} does not fit {place.declared(type)}, which holds {_range(type)}"
        )
    return result


def is_masked(value: object) -> bool:
    """Whether a value is an array of NumPy with a mask; there is none before `numpy.ma` is loaded, which takes long."""
    ma: Any = sys.modules.get("numpy.ma")
    return ma is not None and isinstance(value, ma.MaskedArray)


def _python_number(value: object) -> PythonNumber | None:
    """The value as a plain Python number of the same kind; None where it is not a number of a known precision."""
    if is_masked(value):
        return None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic):
        convert = _FROM_DTYPE.get(value.dtype.name)
        return None if convert is None else convert(value)
    plain: Any = value
    return next((kind(plain) for kind in (bool, int, float, complex) if isinstance(value, kind)), None)


def _convert(type: Number | Boolean, number: PythonNumber) -> NDArray[Any] | None:
    dtype = DTYPES[type]
    if isinstance(type, Boolean):
        return np.full((1, 1, 1), number, dtype)
    if type.family == "integer":
        bounds = np.iinfo(dtype)
        whole = isinstance(number, int) and bounds.min <= number <= bounds.max
        return np.full((1, 1, 1), number, dtype) if whole else None
    try:
        exact = complex(number)
    except OverflowError:
        return None
    source = exact if type.family == "complex" else exact.real
    if type in EIGHT_BIT_FLOATS:
        if isinf(exact.real) and not FORMATS[type].infinite:
            return None
        # ml_dtypes rounds to float32 first, and makes NaN of what is too large where there is no infinity.
        source = rounded(exact.real, type)
    with np.errstate(all="ignore"):
        result = np.array(source).astype(dtype).reshape(1, 1, 1)
    widened = complex(result[0, 0, 0])
    lost = any(isfinite(a) and not isfinite(b) for a, b in ((exact.real, widened.real), (exact.imag, widened.imag)))
    return None if lost else result


def _describe(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.__class__.__name__} of {value.dtype} with shape {value.shape}"
    if isinstance(value, np.generic | bool | int | float | complex):
        return f"{value.__class__.__name__} {_shown(value)}"
    return value.__class__.__name__


def _hint(family: str, number: PythonNumber | None) -> str | None:
    if number is None:
        return "pass a Python number, a NumPy scalar or a 0-d array"
    if family == "integer" and isinstance(number, float) and number.is_integer() and abs(number) < 2**63:
        return f"pass {int(number)} instead of {number!r}"
    if isinstance(number, bool):
        return f"pass {int(number)} instead of {number!r}"
    if family == "boolean":
        return f"pass {bool(number)} instead of {number!r}" if number in (0, 1) else "pass a comparison: x != 0"
    if isinstance(number, complex):
        return "pass its real part, x.real, or its magnitude, abs(x)"
    return "round it first: int(x), or math.floor(x)" if family == "integer" and isinstance(number, float) else None


def _shown(number: object) -> str:
    """The number in words; giant integers by their size, since Python refuses to print them."""
    if isinstance(number, int) and number.bit_length() > 128:
        return f"an integer of {number.bit_length()} bits"
    return str(number)


def _range(type: Number | Boolean) -> str:
    dtype = DTYPES[type]
    if isinstance(type, Number) and type.family == "integer":
        bounds = np.iinfo(dtype)
        return f"{bounds.min} to {bounds.max}"
    finfo: Any = ml_dtypes.finfo
    limit = finfo(dtype).max
    parts = " in each part" if isinstance(type, Number) and type.family == "complex" else ""
    infinities = "" if isinstance(type, Boolean) or FORMATS[PARTS.get(type, type)].infinite else ", no infinities"
    return f"magnitudes up to {float(limit):.8g}{parts}{infinities}"
