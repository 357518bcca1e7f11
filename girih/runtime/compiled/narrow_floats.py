"""Numbers of Python for parameters of bf16 and f16, rounded in machine code (narrow_floats.ll)."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import ml_dtypes

from girih.arguments.arrays import DTYPES
from girih.ir.types import BF16, F16, Number

_DOUBLE_DIGITS = 52
_DIGITS = {F16: 10, BF16: 7}
"""The binary digits of the fraction of a number."""


def rounding_limits(type: Number) -> list[int] | None:
    """The three words by which `girih_round` rounds to a type: the least normal number, the largest one, the digits
    that are left out. None for other types."""
    digits = _DIGITS.get(type)
    if digits is None:
        return None
    finfo: Any = ml_dtypes.finfo
    limits = finfo(DTYPES[type])
    ends = struct.unpack("=2q", struct.pack("=2d", float(limits.smallest_normal), float(limits.max)))
    return [*map(int, ends), _DOUBLE_DIGITS - digits]


def rounding_text() -> str:
    """The function `girih_round` in LLVM IR."""
    return (Path(__file__).parent / "narrow_floats.ll").read_text(encoding="utf-8")
