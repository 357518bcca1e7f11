"""Formats of floating-point numbers: those to compute with, and those that are stored and converted only."""

from __future__ import annotations

from girih.spirv.rules.row import rule
from girih.spirv.rules.terms import RESULT_TYPE, satisfies
from girih.spirv.types import CooperativeMatrix, Float, Matrix, Type, Vector

BFLOAT16 = 0
FLOAT8 = frozenset({4214, 4215})
MICROSCALING = frozenset({4223, 4224, 4225, 4226, 4227})
"""FPEncodings: Float6E2M3EXT, Float6E3M2EXT, Float4E2M1EXT, Float8UnsignedE8M0EXT, MXInt8EXT."""


def encoding_of(type: Type) -> int | None:
    """The FPEncoding of the components of a type; None for IEEE 754 and for what is no float."""
    part = type.column if isinstance(type, Matrix) else type
    part = part.component if isinstance(part, Vector | CooperativeMatrix) else part
    return part.encoding if isinstance(part, Float) else None


def is_computable(type: Type) -> bool:
    """Whether instructions compute with the components of a type; the others are stored and converted only."""
    encoding = encoding_of(type)
    return encoding != BFLOAT16 and encoding not in FLOAT8 and encoding not in MICROSCALING


COMPUTABLE = "a floating-point format that instructions compute with, which is IEEE 754"
FORMATS = "SPV_KHR_bfloat16, SPV_EXT_float8"

ENCODING = rule(
    "encoding", "result_type", satisfies(RESULT_TYPE, "is of a format to compute with", is_computable), COMPUTABLE,
    FORMATS,
)  # fmt: skip
"""The row `encoding`: the result is no number of a format that is stored and converted only."""
