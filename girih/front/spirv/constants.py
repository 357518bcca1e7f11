"""The leaves of constants: of each id that stands for one, made once and in front of everything else."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from girih.diagnostics import CompileError
from girih.front.spirv.codes import refused
from girih.front.spirv.leaves import leaves
from girih.ir.core import Value
from girih.ir.types import BOOL, F16, F32, F64, I8, I16, I32, I64, INDEX, Boolean, CoopMatrix, Number
from girih.ir.types import Type as IrType
from girih.rules.row import Undetermined
from girih.spirv.instruction import Instruction
from girih.spirv.types import Float
from girih.spirv.values import component_count

if TYPE_CHECKING:
    from girih.front.spirv.translation import Translation

BITS_OF = {1: I8, 2: I16, 4: I32, 8: I64}
"""The integer that has the bits of a number of so many bytes."""

_FORMATS = {F16: ("<H", "<e"), F32: ("<I", "<f"), F64: ("<Q", "<d")}


def constant_leaves(t: Translation, id: int) -> tuple[Value, ...]:
    """The leaves of a constant, or of an OpUndef outside of functions. Raises `Undetermined` for another id."""
    one = t.facts.definition(id)
    type = t.facts.type(one.result_type)
    match one.name:
        case "OpConstantTrue" | "OpConstantFalse":
            return (t.constant(one.name == "OpConstantTrue", BOOL),)
        case "OpConstant":
            (leaf,) = leaves(type)
            words = one.get("value")
            if not isinstance(leaf, Number) or not isinstance(words, tuple):
                raise Undetermined
            return (_number(t, words, leaf, isinstance(type, Float) and type.width < 8),)
        case "OpConstantNull":
            return tuple(null(t, leaf) for leaf in leaves(type))
        case "OpUndef":
            return tuple(t.undefined(leaf) for leaf in leaves(type))
        case "OpConstantComposite":
            return composed(t, one, one.ids("constituents"), t.ahead)
        case "OpConstantCompositeReplicateEXT":
            return composed(t, one, (one.id("value"),) * (component_count(type) or 0), t.ahead)
        case "OpSpecConstantOp" | "OpSpecConstantComposite":
            expected = "constants that have a value, with the values of specialisation constants"
            hint = "give other values: SPIR-V leaves this one undefined, as it does a division by 0"
            raise CompileError([refused("constant", expected, t.facts.called(id), t.emission.place(one), hint)])
    raise Undetermined


def composed(t: Translation, one: Instruction, parts: Sequence[int], emit: Callable[..., Value]) -> tuple[Value, ...]:
    """The leaves of a composite of some parts; a matrix of work-items has its only part in every component.

    `emit` adds an instruction: `Translation.ahead` for constants, as they are made where they are first used.
    """
    types = t.leaf_types(one)
    if len(types) == 1 and isinstance(types[0], CoopMatrix):
        (part,) = t.leaves(parts[0])
        return (_matrix(t, part, types[0], emit),)
    return tuple(leaf for part in parts for leaf in t.leaves(part))


def _matrix(t: Translation, part: Value, type: CoopMatrix, emit: Callable[..., Value]) -> Value:
    value = t.literals.get(part)
    if value is not None:
        return t.constant(value, type)
    return emit("cooperative_matrix_construct", type, a=part)


def null(t: Translation, type: IrType) -> Value:
    """The null value of a leaf: zero, or a matrix of zeros. Raises `Undetermined` for what has none."""
    match type:
        case Boolean():
            return t.constant(False, type)
        case Number():
            return t.constant(0 if type.family == "integer" else 0.0, type)
        case CoopMatrix():
            return t.constant(0 if type.component.family == "integer" else 0.0, type)
    raise Undetermined


def _number(t: Translation, words: tuple[int, ...], type: Number, half_byte: bool) -> Value:
    """A number of the bits of a literal; what is NaN, or of another encoding, keeps its bits."""
    bits = sum(word << 32 * at for at, word in enumerate(words)) & (1 << 8 * type.size) - 1
    if type.family == "integer":
        return t.constant(bits & 15 if half_byte else bits, type)
    if type in _FORMATS:
        as_bits, as_float = _FORMATS[type]
        value = struct.unpack(as_float, struct.pack(as_bits, bits))[0]
        if not math.isnan(value):
            return t.constant(float(value), type)
    return t.ahead("bitcast", type, a=t.constant(bits, BITS_OF[type.size]))


def in_range(value: int, type: Number) -> int:
    """An integer modulo the width of its type, read with a sign."""
    bits = 64 if type == INDEX else 8 * type.size
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value
