"""Shifts, bit fields and single bits of integers (SPIR-V 3.52.14 "Bit", GLSL.std.450 FindILsb, FindUMsb).

What lies outside of the operand is found (run.undefined_operation), and gives 0, or the base where a field is
inserted.
"""

from __future__ import annotations

from girih.ir.core import Value
from girih.ir.define import Where, family, node, op, operand, result
from girih.ir.kinds import INTEGER
from girih.ops.device.language import DEVICE
from girih.ops.device.numeric import Numeric, same_types

BIT = "SPIR-V 3.52.14"
GLSL = "GLSL.std.450"


@node
class Shift(Numeric):
    """The base of the shifts. An amount that is not below the width is found (run.undefined_operation), and gives 0."""

    a: Value = operand(INTEGER, "what is shifted")
    amount: Value = operand(INTEGER, "by how many bits, unsigned; of any width")
    result: Value = result(INTEGER, "the type of `a`")


def _shift(mnemonic: str, name: str, doc: str) -> type[Shift]:
    section = f'{BIT} "{name}"'
    declared = family(DEVICE, Shift, mnemonic, doc, Where.MIXED, section, "a , amount : result")
    DEVICE.rules(declared, same_types("a", "result", section))
    return declared


_TOO_FAR = "An amount of the width or more is found (run.undefined_operation)."

ShiftLeft = _shift("shift_left", "OpShiftLeftLogical", f"`a` shifted left, zeros behind it. {_TOO_FAR}")
SignedShiftRight = _shift(
    "signed_shift_right", "OpShiftRightArithmetic", f"`a` shifted right, its sign before it. {_TOO_FAR}"
)
UnsignedShiftRight = _shift(
    "unsigned_shift_right", "OpShiftRightLogical", f"`a` shifted right, zeros before it. {_TOO_FAR}"
)


@node
class BitUnary(Numeric):
    """The base of what is computed from the bits of one integer."""

    a: Value = operand(INTEGER, "the integer")
    result: Value = result(INTEGER, "the type of `a`")


def _unary(mnemonic: str, section: str, doc: str) -> type[BitUnary]:
    declared = family(DEVICE, BitUnary, mnemonic, doc, Where.MIXED, section, "a : result")
    DEVICE.rules(declared, same_types("a", "result", section))
    return declared


BitCount = _unary("bit_count", f'{BIT} "OpBitCount"', "The number of bits that are 1.")
BitReverse = _unary("bit_reverse", f'{BIT} "OpBitReverse"', "The bits in the opposite order.")
LowestBit = _unary("lowest_bit", f'{GLSL} "FindILsb"', "The place of the lowest bit that is 1; -1 if there is none.")
HighestBit = _unary("highest_bit", f'{GLSL} "FindUMsb"', "The place of the highest bit that is 1; -1 if there is none.")


@node
class BitFieldExtract(Numeric):
    """The base of what takes a field of bits out. One that does not lie inside is found, and gives 0."""

    base: Value = operand(INTEGER, "the integer that has the field")
    offset: Value = operand(INTEGER, "its lowest bit, unsigned")
    count: Value = operand(INTEGER, "its number of bits, unsigned; 0 gives 0")
    result: Value = result(INTEGER, "the type of `base`")


def _extract(mnemonic: str, name: str, doc: str) -> type[BitFieldExtract]:
    section = f'{BIT} "{name}"'
    declared = family(DEVICE, BitFieldExtract, mnemonic, doc, Where.MIXED, section, "base , offset , count : result")
    DEVICE.rules(declared, same_types("base", "result", section))
    return declared


_OUTSIDE = "A field outside of `base` is found (run.undefined_operation)."

SignedBitFieldExtract = _extract(
    "signed_bit_field_extract", "OpBitFieldSExtract", f"A field of bits as a signed number. {_OUTSIDE}"
)
UnsignedBitFieldExtract = _extract(
    "unsigned_bit_field_extract", "OpBitFieldUExtract", f"A field of bits as an unsigned number. {_OUTSIDE}"
)


@op(DEVICE, "bit_field_insert", Where.MIXED, f'{BIT} "OpBitFieldInsert"', "base , insert , offset , count : result")
class BitFieldInsert(Numeric):
    """`base` with a field of bits replaced by the low bits of `insert`.

    A field outside of `base` is found (run.undefined_operation).
    """

    base: Value = operand(INTEGER, "the integer that has the field")
    insert: Value = operand(INTEGER, "what the field becomes")
    offset: Value = operand(INTEGER, "its lowest bit, unsigned")
    count: Value = operand(INTEGER, "its number of bits, unsigned")
    result: Value = result(INTEGER, "the type of `base`")


DEVICE.rules(
    BitFieldInsert,
    same_types("base", "insert", f'{BIT} "OpBitFieldInsert"'),
    same_types("base", "result", f'{BIT} "OpBitFieldInsert"'),
)
