"""What instructions compute that is known before a launch: a value that is there already, or a constant."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from girih.ir.core import Op, Value
from girih.ir.floats import FORMATS, rounded
from girih.ir.surroundings import Constant
from girih.ir.types import PARTS, Boolean, GroupType, MemRef, Number, element_type
from girih.ops.tile.arith import Cast, Select
from girih.ops.tile.memory import Size

_WHOLE: Mapping[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "min": min,
    "max": max,
}
_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less_than": operator.lt,
    "less_than_equal": operator.le,
    "greater_than": operator.gt,
    "greater_than_equal": operator.ge,
}
_DECIDED = {"and": False, "or": True}
"""The truth value that decides a connection of two, whatever the other one is."""


def folded(op: Op, known: Mapping[Value, Constant]) -> Value | Constant | None:
    """The operand that an instruction gives back, or the constant that it computes; None for neither."""
    if isinstance(op, Size):
        return _size(op)
    constants = [known.get(value) for value in op.operands]
    if isinstance(op, Select) and constants[0] is not None:
        return op.a if constants[0] else op.b
    if isinstance(op, Cast):
        if op.a.type == op.result.type:
            return op.a
        return None if constants[0] is None else _cast(constants[0], op)
    mnemonic, types = op.spec.mnemonic, [element_type(value.type) for value in op.operands]
    if types and all(isinstance(type, Boolean) for type in types):
        return _truth(mnemonic, list(op.operands), constants)
    a, b = constants if len(constants) == 2 else (None, None)
    if not isinstance(a, int) or not isinstance(b, int):
        return None
    if mnemonic in _COMPARED:
        return _COMPARED[mnemonic](a, b)
    return _fitting(_WHOLE[mnemonic](a, b), types[0]) if mnemonic in _WHOLE else None


def _size(op: Size) -> int | None:
    """The size of a mode, or the number of members of a group, where the type says it."""
    type = op.tensor.type
    if isinstance(type, GroupType):
        return type.size
    return type.shape[op.mode] if isinstance(type, MemRef) and 0 <= op.mode < type.order else None


def _truth(mnemonic: str, operands: list[Value], constants: list[Constant | None]) -> Value | bool | None:
    if mnemonic == "not":
        return None if constants[0] is None else not constants[0]
    if mnemonic not in _DECIDED:
        return None
    for constant, other in zip(constants, reversed(operands), strict=True):
        if constant is not None:
            return _DECIDED[mnemonic] if constant == _DECIDED[mnemonic] else other
    return None


def _cast(value: Constant, op: Cast) -> Constant | None:
    """The constant in the type of a cast, where it is the same number."""
    type = element_type(op.result.type)
    if not isinstance(type, Number) or isinstance(value, bool):
        return None
    if type.family == "integer":
        return _fitting(value, type) if isinstance(value, int) else None
    part = PARTS.get(type, type)
    numbers = (value.real, value.imag) if isinstance(value, complex) else (value,)
    if not all(_exact(number, part) for number in numbers):
        return None
    return complex(value) if type.family == "complex" else float(value.real)


def _exact(value: int | float, type: Number) -> bool:
    if math.isnan(value):
        return False
    if math.isinf(value):
        return FORMATS[type].infinite
    return rounded(value, type) == value


def _fitting(value: int, type: object) -> int | None:
    bits = 8 * type.size - 1 if isinstance(type, Number) else 0
    return value if -(2**bits) < value < 2**bits else None
