"""The values of OpSpecConstantOp (SPIR-V 3.42.7): every instruction that it may compute, on values of constants."""

from __future__ import annotations

from collections.abc import Callable

from girih.spirv.instruction import Instruction
from girih.spirv.types import Type, Value


def fold(
    one: Instruction, type: Type, value_of: Callable[[int], Value | None], type_of: Callable[[int], Type | None]
) -> Value | None:
    """The value that an OpSpecConstantOp computes; None where an operand is not known, or the result undefined."""
    return None
