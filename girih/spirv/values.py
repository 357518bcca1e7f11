"""Types and values of a module's declarations, found in one pass over them.

A specialisation constant has the value that stands in the module, which `Module.specialise` sets: so all that rules say
of values is said of the module as it will run. `Declarations.assumed` tells which values rest on such constants.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import field

from girih.lazy_dataclass import dataclass
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

ALL_CONSTANTS = CONSTANTS | SPEC_CONSTANTS
"""Instructions that SPIR-V calls constant instructions (2.2.1)."""

WIDEST_NUMBER = 64
"""Bits of the widest number whose value is known."""

LARGEST_COMPOSITE = 4096
"""Values in the largest composite, at any depth, that is written out; of larger ones none is known."""


@dataclass
class Declarations:
    """What the declarations of a module tell: `types`, `values` by id, and the constants that are not fixed.

    `assumed` are the ids whose values rest on specialisation constants, with these constants.
    """

    values: dict[int, Value] = field(default_factory=dict)
    assumed: dict[int, frozenset[int]] = field(default_factory=dict)
    types: TypeTable = field(init=False)
    _types_of_constants: dict[int, Type] = field(default_factory=dict)
    _nulls: Nulls = field(default_factory=lambda: Nulls())

    def __post_init__(self) -> None:
        self.types = TypeTable(self.values.get)

    def declare(self, one: Instruction) -> None:
        """Take up a declaration: a type, or a constant."""
        if one.malformed is not None or not one.result:
            return
        if not one.result_type:
            self.types.declare(one)
            made = self.types.get(one.result)
            if made is not None:
                self._nulls.take(made)
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
                return self._nulls.of(type)
            case "OpSpecConstantOp":
                return self._folded(one, type)
            case "OpConstantCompositeReplicateEXT" | "OpSpecConstantCompositeReplicateEXT":
                count = component_count(type)
                value = self.values.get(one.id("value"))
                return None if count is None or count > LARGEST_COMPOSITE else (value,) * count
        parts = one.ids("constituents")
        return tuple(self.values.get(part) for part in parts) if len(parts) <= LARGEST_COMPOSITE else None

    def _folded(self, one: Instruction, type: Type) -> Value | None:
        if isinstance(type, Int) and type.width > WIDEST_NUMBER:
            return None
        return fold(one, type, self.values.get, self._types_of_constants.get)


def declarations_of(instructions: Iterable[Instruction]) -> Declarations:
    """The types and constants that a module declares, which is before its first function."""
    made = Declarations()
    for one in instructions:
        if one.name == "OpFunction":
            break
        made.declare(one)
    return made


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


class Nulls:
    """The null value of each type, made from those of its parts, which are declared before it."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Value, int]] = {}

    def of(self, type: Type) -> Value | None:
        """The null value of a type; None for pointers, for what has none, and for large or unknown composites."""
        known = self._made.get(type.id)
        return known[0] if known else None

    def take(self, type: Type) -> None:
        """Take up the type that is declared next."""
        match type:
            case Bool():
                self._made[type.id] = (False, 1)
            case Int() if type.width <= WIDEST_NUMBER:
                self._made[type.id] = (0, 1)
            case Float():
                self._made[type.id] = (0.0, 1)
            case Vector() | Matrix() | Array() | Struct() | CooperativeMatrix():
                self._compose(type)

    def _compose(self, type: Type) -> None:
        """The null value of a composite, and how many values stand in it at any depth."""
        count = component_count(type)
        if count is None or count > LARGEST_COMPOSITE:
            return
        same = None if isinstance(type, Struct) else component_type(type, 0)
        parts = [same] * count if same else [component_type(type, at) for at in range(count)]
        known = [self._made.get(part.id) if part else None for part in parts]
        total = 1 + sum(one[1] for one in known if one)
        if total <= LARGEST_COMPOSITE:
            self._made[type.id] = (tuple(one[0] if one else None for one in known), total)


def number_of(type: Type, words: Sequence[int]) -> int | float | None:
    """The number in the words of a literal of a type (SPIR-V 2.2.1).

    None where the words are too few, where the type is none of numbers, and for widths that SPIR-V has not.
    """
    if not isinstance(type, Int | Float) or not 0 < type.width <= min(len(words) * 32, WIDEST_NUMBER):
        return None
    bits = sum(word << 32 * at for at, word in enumerate(words)) & (1 << type.width) - 1
    if isinstance(type, Int):
        return bits - (1 << type.width) if type.signed and bits >> type.width - 1 else bits
    formats = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}
    if type.encoding is not None or type.width not in formats:
        return None
    as_bits, as_float = formats[type.width]
    return float(struct.unpack(as_float, struct.pack(as_bits, bits))[0])
