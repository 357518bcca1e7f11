"""Shifts, fields and counts of bits (SPIR-V 3.52.14)."""

from __future__ import annotations

from girih.front.spirv.handlers import translates
from girih.front.spirv.instructions.numbers.builders import NumberBuilder, componentwise
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import Number
from girih.spirv.instruction import Instruction

_SHIFTS = {
    "OpShiftLeftLogical": "shift_left",
    "OpShiftRightArithmetic": "signed_shift_right",
    "OpShiftRightLogical": "unsigned_shift_right",
}
_BITWISE = {"OpBitwiseAnd": "and", "OpBitwiseOr": "or", "OpBitwiseXor": "xor"}


@translates(*_SHIFTS)
def shift(t: Translation, one: Instruction) -> None:
    """A shift; amounts may be of another width."""
    mnemonic = _SHIFTS[one.name]
    componentwise(t, one, lambda a, amount: t.one(mnemonic, a.type, a=a, amount=amount), "base", "shift")


@translates(*_BITWISE)
def bitwise(t: Translation, one: Instruction) -> None:
    """An operation of each bit of two operands."""
    mnemonic = _BITWISE[one.name]
    componentwise(t, one, lambda a, b: NumberBuilder(t).binary(mnemonic, a, b), "operand_1", "operand_2")


@translates("OpNot")
def inverted(t: Translation, one: Instruction) -> None:
    """Every bit inverted."""
    componentwise(t, one, lambda a: NumberBuilder(t).unary("not", a), "operand")


@translates("OpBitReverse")
def reverse(t: Translation, one: Instruction) -> None:
    """The bits in the opposite order."""
    componentwise(t, one, lambda a: NumberBuilder(t).unary("bit_reverse", a), "base")


@translates("OpBitCount")
def count(t: Translation, one: Instruction) -> None:
    """The number of bits that are 1, in the type of the result."""
    n, (type, *_) = NumberBuilder(t), t.leaf_types(one)
    assert isinstance(type, Number)
    componentwise(t, one, lambda a: n.resized(n.unary("bit_count", a), type), "base")


_EXTRACTS = {"OpBitFieldSExtract": "signed_bit_field_extract", "OpBitFieldUExtract": "unsigned_bit_field_extract"}


@translates(*_EXTRACTS)
def extract(t: Translation, one: Instruction) -> None:
    """The same field of each component."""
    field = {"offset": t.leaf(one.id("offset")), "count": t.leaf(one.id("count"))}
    componentwise(t, one, lambda a: t.one(_EXTRACTS[one.name], a.type, base=a, **field), "base")


@translates("OpBitFieldInsert")
def insert(t: Translation, one: Instruction) -> None:
    """The same field of each component, replaced."""
    field = {"offset": t.leaf(one.id("offset")), "count": t.leaf(one.id("count"))}

    def build(base: Value, inserted: Value) -> Value:
        return t.one("bit_field_insert", base.type, base=base, insert=inserted, **field)

    componentwise(t, one, build, "base", "insert")
