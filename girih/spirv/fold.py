"""The values of OpSpecConstantOp (SPIR-V 3.42.7): every instruction that it may compute, on values of constants.

Integers are numbers as their types read them, vectors and other composites tuples. A result that SPIR-V leaves
undefined (division by zero, a shift by the width or more) has no value, and neither has one of pointers.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence

from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.types import Bool, Float, Int, Type, Value, Vector

Scalar = int | float | bool
ValueOf = Callable[[int], Value | None]
TypeOf = Callable[[int], Type | None]
Number = Callable[..., "Scalar | None"]


def fold(one: Instruction, type: Type, value_of: ValueOf, type_of: TypeOf) -> Value | None:
    """The value that an OpSpecConstantOp computes; None where an operand is not known, or the result undefined."""
    spec = grammar().opcode(one.id("opcode"))
    return result_of(spec.name if spec else "", one, type, value_of, type_of)


def result_of(name: str, one: Instruction, type: Type, value_of: ValueOf, type_of: TypeOf) -> Value | None:
    """What an instruction of a name computes from the operands of `one`: the same as `fold`, for any instruction."""
    operands = [operand.value for operand in one.operands if operand.kind == "IdRef"]
    ids = [id for id in operands if isinstance(id, int)]
    values = [value_of(id) for id in ids]
    if name in _COMPOSITES:
        return _COMPOSITES[name](one, values)
    if name == "OpSelect":
        return _select(values)
    types = [type_of(id) for id in ids]
    if name not in _SCALARS or any(value is None for value in values) or any(known is None for known in types):
        return None
    known_types = [known for known in types if known is not None]
    if isinstance(type, Vector):
        return _by_component(name, type, values, known_types)
    return _scalar(name, type, values, known_types)


def _by_component(name: str, type: Vector, values: Sequence[Value | None], types: Sequence[Type]) -> Value | None:
    """A vector, each component computed from those of the operands."""
    if any(not isinstance(value, tuple) or len(value) != type.count for value in values):
        return None
    rows = zip(*(value for value in values if isinstance(value, tuple)), strict=True)
    parts = [known.component if isinstance(known, Vector) else known for known in types]
    return tuple(_scalar(name, type.component, row, parts) for row in rows)


def _scalar(name: str, type: Type, values: Sequence[Value | None], types: Sequence[Type]) -> Scalar | None:
    """A scalar of a type, computed from scalars."""
    if not all(isinstance(value, int | float) for value in values):
        return None
    width = types[0].width if isinstance(types[0], Int | Float) else 1
    read = _SIGNS.get(name)
    if read is not None:
        values = [_as_signed(v, width, read == "s") if isinstance(v, int) else v for v in values]
    try:
        result = _SCALARS[name](*values, width)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return None if result is None else converted(result, type)


def converted(value: Scalar, type: Type) -> Scalar | None:
    """A number as a value of a type: integers modulo its width, floats rounded to it; None for another type."""
    match type:
        case Bool():
            return bool(value)
        case Int():
            return _as_signed(int(value), type.width, type.signed)
        case Float(encoding=None):
            return rounded(float(value), type.width)
    return None


def rounded(value: float, width: int) -> float | None:
    """A float rounded to the nearest of a width, ties to even; infinite where it is too large."""
    formats = {16: "<e", 32: "<f", 64: "<d"}
    if width not in formats:
        return None
    try:
        return float(struct.unpack(formats[width], struct.pack(formats[width], value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _as_signed(value: int, width: int, signed: bool) -> int:
    """The bits of an integer, read with or without a sign."""
    bits = value & (1 << width) - 1
    return bits - (1 << width) if signed and bits >> width - 1 else bits


def _quotient(a: int, b: int, width: int) -> int | None:
    """The quotient rounded towards zero; none for division by zero and for the one that overflows."""
    if b == 0 or (b == -1 and a == -(1 << width - 1)):
        return None
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int, width: int) -> int | None:
    """The remainder with the sign of the dividend."""
    quotient = _quotient(a, b, width)
    return None if quotient is None else a - quotient * b


def _modulo(a: int, b: int, width: int) -> int | None:
    """The remainder with the sign of the divisor."""
    return None if _quotient(a, b, width) is None else a % b


def _float_remainder(a: float, b: float, _: int) -> float | None:
    return math.fmod(a, b) if b else None


def _float_modulo(a: float, b: float, _: int) -> float | None:
    return a - b * math.floor(a / b) if b else None


def _to_half(value: float, _: int) -> float | None:
    """A float as a half sees it: denormals are zero (SPIR-V OpQuantizeToF16)."""
    result = rounded(value, 16)
    if result is not None and 0 < abs(result) < 2.0**-14:
        return math.copysign(0.0, value)
    return result


_SCALARS: Mapping[str, Number] = {
    "OpSConvert": lambda a, _: a, "OpUConvert": lambda a, _: a, "OpFConvert": lambda a, _: a,
    "OpQuantizeToF16": _to_half,
    "OpConvertFToS": lambda a, _: math.trunc(a), "OpConvertFToU": lambda a, _: math.trunc(a) if a > -1 else None,
    "OpConvertSToF": lambda a, _: float(a), "OpConvertUToF": lambda a, _: float(a),
    "OpSNegate": lambda a, _: -a, "OpFNegate": lambda a, _: -a, "OpNot": lambda a, _: ~a,
    "OpIAdd": lambda a, b, _: a + b, "OpISub": lambda a, b, _: a - b, "OpIMul": lambda a, b, _: a * b,
    "OpUDiv": lambda a, b, _: a // b if b else None, "OpSDiv": _quotient,
    "OpUMod": lambda a, b, _: a % b if b else None, "OpSRem": _remainder, "OpSMod": _modulo,
    "OpFAdd": lambda a, b, _: a + b, "OpFSub": lambda a, b, _: a - b, "OpFMul": lambda a, b, _: a * b,
    "OpFDiv": lambda a, b, _: a / b if b else None, "OpFRem": _float_remainder, "OpFMod": _float_modulo,
    "OpShiftRightLogical": lambda a, b, width: a >> b if b < width else None,
    "OpShiftRightArithmetic": lambda a, b, width: a >> b if 0 <= b < width else None,
    "OpShiftLeftLogical": lambda a, b, width: a << b if b < width else None,
    "OpBitwiseOr": lambda a, b, _: a | b, "OpBitwiseXor": lambda a, b, _: a ^ b, "OpBitwiseAnd": lambda a, b, _: a & b,
    "OpLogicalOr": lambda a, b, _: a or b, "OpLogicalAnd": lambda a, b, _: a and b, "OpLogicalNot": lambda a, _: not a,
    "OpLogicalEqual": lambda a, b, _: a == b, "OpLogicalNotEqual": lambda a, b, _: a != b,
    "OpIEqual": lambda a, b, _: a == b, "OpINotEqual": lambda a, b, _: a != b,
    "OpULessThan": lambda a, b, _: a < b, "OpSLessThan": lambda a, b, _: a < b,
    "OpUGreaterThan": lambda a, b, _: a > b, "OpSGreaterThan": lambda a, b, _: a > b,
    "OpULessThanEqual": lambda a, b, _: a <= b, "OpSLessThanEqual": lambda a, b, _: a <= b,
    "OpUGreaterThanEqual": lambda a, b, _: a >= b, "OpSGreaterThanEqual": lambda a, b, _: a >= b,
}  # fmt: skip
"""What instructions compute of scalars; the last argument is the width of the first operand in bits."""

_UNSIGNED = (
    "OpUConvert OpConvertUToF OpUDiv OpUMod OpShiftRightLogical OpShiftLeftLogical OpIEqual OpINotEqual OpULessThan "
    "OpUGreaterThan OpULessThanEqual OpUGreaterThanEqual"
)
_SIGNED = (
    "OpSConvert OpConvertSToF OpSNegate OpSDiv OpSRem OpSMod OpShiftRightArithmetic OpSLessThan OpSGreaterThan "
    "OpSLessThanEqual OpSGreaterThanEqual"
)
_SIGNS = {**dict.fromkeys(_UNSIGNED.split(), "u"), **dict.fromkeys(_SIGNED.split(), "s")}
"""How instructions read integers, where they do not read them as their types say."""


def _select(values: Sequence[Value | None]) -> Value | None:
    """The one of two values that a condition chooses, by component where it is a vector."""
    if len(values) != 3:
        return None
    condition, chosen, other = values
    if isinstance(condition, bool):
        return chosen if condition else other
    if isinstance(condition, tuple) and isinstance(chosen, tuple) and isinstance(other, tuple):
        if len({len(condition), len(chosen), len(other)}) > 1 or None in condition:
            return None
        return tuple(a if test else b for test, a, b in zip(condition, chosen, other, strict=True))
    return None


def _extract(one: Instruction, values: Sequence[Value | None]) -> Value | None:
    """The part of a composite that literal indexes name."""
    part = values[0] if values else None
    for index in one.ids("indexes"):
        part = part[index] if isinstance(part, tuple) and index < len(part) else None
    return part


def _insert(one: Instruction, values: Sequence[Value | None]) -> Value | None:
    """A composite with another part where literal indexes name one."""
    return _replaced(values[1], values[0], one.ids("indexes")) if len(values) == 2 else None


def _replaced(whole: Value | None, part: Value | None, indexes: Sequence[int]) -> Value | None:
    if not indexes:
        return part
    first, *rest = indexes
    if not isinstance(whole, tuple) or first >= len(whole) or len(indexes) > _DEEPEST:
        return None
    return (*whole[:first], _replaced(whole[first], part, rest), *whole[first + 1 :])


_DEEPEST = 64
"""Indexes of the deepest insertion that is followed."""


def _shuffle(one: Instruction, values: Sequence[Value | None]) -> Value | None:
    """A vector of components of two vectors; the component 0xFFFFFFFF has no value."""
    if len(values) != 2 or not isinstance(values[0], tuple) or not isinstance(values[1], tuple):
        return None
    both = (*values[0], *values[1])
    return tuple(both[index] if index < len(both) else None for index in one.ids("components"))


_COMPOSITES: Mapping[str, Callable[[Instruction, Sequence[Value | None]], Value | None]] = {
    "OpCompositeExtract": _extract,
    "OpCompositeInsert": _insert,
    "OpVectorShuffle": _shuffle,
}
