"""Types and values of a module's declarations, found in one pass over them.

A specialisation constant has the value that stands in the module, which `Module.specialise` sets: so all that rules say
of values is said of the module as it will run. `Declarations.assumed` tells which values rest on such constants.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from girih.spirv.fold import fold
from girih.spirv.instruction import Instruction
from girih.spirv.types import (
    Array,
    Bool,
    CooperativeMatrix,
    Float,
    Int,
    Matrix,
    Struct,
    Type,
    TypeTable,
    Value,
    Vector,
)  # fmt: skip

CONSTANTS = frozenset({
    "OpConstantTrue", "OpConstantFalse", "OpConstant", "OpConstantComposite", "OpConstantNull",
    "OpConstantCompositeReplicateEXT",
})  # fmt: skip
"""Instructions whose results are constants that nothing changes."""

SPEC_CONSTANTS = frozenset({
    "OpSpecConstantTrue", "OpSpecConstantFalse", "OpSpecConstant", "OpSpecConstantComposite", "OpSpecConstantOp",
    "OpSpecConstantCompositeReplicateEXT",
})  # fmt: skip
"""Instructions whose results are specialisation constants."""

LARGEST_COMPOSITE = 4096
"""Components of the largest composite whose value is written out; of larger ones none is known."""


@dataclass
class Declarations:
    """What the declarations of a module tell: `types`, `values` by id, and the constants that are not fixed.

    `assumed` are the ids whose values rest on specialisation constants, with these constants.
    """

    values: dict[int, Value] = field(default_factory=dict)
    assumed: dict[int, frozenset[int]] = field(default_factory=dict)
    types: TypeTable = field(init=False)
    _types_of_constants: dict[int, Type] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.types = TypeTable(self.values.get)

    def declare(self, one: Instruction) -> None:
        """Take up a declaration: a type, or a constant."""
        if one.malformed is not None or not one.result:
            return
        if not one.result_type:
            self.types.declare(one)
            return
        if one.name not in CONSTANTS and one.name not in SPEC_CONSTANTS:
            return
        type = self.types.get(one.result_type)
        if type is None or one.result in self.values:
            return
        self._types_of_constants[one.result] = type
        value = self._value(one, type)
        if value is not None:
            self.values[one.result] = value
        parts = [self.assumed[o.value] for o in one.references if isinstance(o.value, int) and o.value in self.assumed]
        resting: frozenset[int] = frozenset().union(*parts)
        if one.name in ("OpSpecConstant", "OpSpecConstantTrue", "OpSpecConstantFalse"):
            resting |= {one.result}
        if resting:
            self.assumed[one.result] = resting

    def _value(self, one: Instruction, type: Type) -> Value | None:
        """The value of a constant; None where the declaration tells none."""
        match one.name:
            case "OpConstantTrue" | "OpSpecConstantTrue":
                return True
            case "OpConstantFalse" | "OpSpecConstantFalse":
                return False
            case "OpConstant" | "OpSpecConstant":
                words = one.get("value")
                return number_of(type, words) if isinstance(words, tuple) else None
            case "OpConstantNull":
                return null_of(type)
            case "OpSpecConstantOp":
                return self._folded(one, type)
            case "OpConstantCompositeReplicateEXT" | "OpSpecConstantCompositeReplicateEXT":
                count = component_count(type)
                value = self.values.get(one.id("value"))
                return None if count is None or count > LARGEST_COMPOSITE else (value,) * count
        parts = one.ids("constituents")
        return tuple(self.values.get(part) for part in parts) if len(parts) <= LARGEST_COMPOSITE else None

    def _folded(self, one: Instruction, type: Type) -> Value | None:
        return fold(one, type, self.values.get, self._types_of_constants.get)


def component_count(type: Type) -> int | None:
    """The number of constituents of a composite type; None for what has no fixed number."""
    match type:
        case Vector():
            return type.count
        case Matrix():
            return type.count
        case Array():
            return type.length
        case Struct():
            return len(type.members)
        case CooperativeMatrix():
            return 1
    return None


def component_type(type: Type, index: int) -> Type | None:
    """The type of a constituent of a composite type; None where it has none of that index."""
    match type:
        case Vector() | CooperativeMatrix():
            return type.component
        case Matrix():
            return type.column
        case Array():
            return type.element
        case Struct():
            return type.members[index] if 0 <= index < len(type.members) else None
    return None


def null_of(type: Type) -> Value | None:
    """The value of OpConstantNull of a type; None for pointers and for large or unknown composites."""
    match type:
        case Int():
            return 0
        case Float():
            return 0.0
        case Bool():
            return False
    count = component_count(type)
    if count is None or count > LARGEST_COMPOSITE:
        return None
    if not isinstance(type, Struct):
        part = component_type(type, 0)
        return (null_of(part) if part else None,) * count
    return tuple(null_of(member) if member else None for member in type.members)


def number_of(type: Type, words: Sequence[int]) -> int | float | None:
    """The number in the words of a literal of a type (SPIR-V 2.2.1); None where they are too few, or no number."""
    if not isinstance(type, Int | Float) or not 0 < type.width <= len(words) * 32:
        return None
    bits = sum(word << 32 * at for at, word in enumerate(words)) & (1 << type.width) - 1
    if isinstance(type, Int):
        return bits - (1 << type.width) if type.signed and bits >> type.width - 1 else bits
    formats = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}
    if type.encoding is not None or type.width not in formats:
        return None
    as_bits, as_float = formats[type.width]
    return float(struct.unpack(as_float, struct.pack(as_bits, bits))[0])
