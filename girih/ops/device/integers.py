"""Integers that are read as signed or unsigned (SPIR-V 3.52.13 "Arithmetic", 3.52.15 "Relational and Logical").

`add`, `sub`, `mul`, `min`, `max`, `abs`, `neg`, `equal` and the signed comparisons are the tensor language's.
"""

from __future__ import annotations

from girih.ir.core import Value
from girih.ir.define import Where, family, node, op, operand, result
from girih.ir.kinds import BOOLEAN, INTEGER, NUMBER_OR_COOPMATRIX
from girih.ir.surroundings import Subject
from girih.ops.device.language import DEVICE
from girih.ops.device.numeric import Numeric, alike, bits_of, of_family, same_types
from girih.rules.predicates import Holds
from girih.rules.row import Row

ARITHMETIC = "SPIR-V 3.52.13"
RELATION = "SPIR-V 3.52.15"
CONVERSION = "SPIR-V 3.52.11"


@node
class IntegerBinary(Numeric):
    """The base of the operations of two integers of one type."""

    a: Value = operand(NUMBER_OR_COOPMATRIX, "first operand")
    b: Value = operand(NUMBER_OR_COOPMATRIX, "second operand")
    result: Value = result(NUMBER_OR_COOPMATRIX, "the type of both operands; component-wise on cooperative matrices")


def _binary(mnemonic: str, name: str, doc: str, base: type[IntegerBinary] = IntegerBinary) -> type[IntegerBinary]:
    section = f'{ARITHMETIC} "{name}"'
    declared = family(DEVICE, base, mnemonic, doc, Where.MIXED, section, "a , b : result")
    DEVICE.rules(
        declared,
        of_family(mnemonic, "a", "integer", section),
        same_types("a", "b", section),
        same_types("a", "result", section),
    )
    return declared


@node
class Division(IntegerBinary):
    """The base of the divisions: by 0 is found (run.undefined_operation), and so is what overflows."""


_BY_ZERO = "Division by 0 is found (run.undefined_operation)"
_OVERFLOW = f"{_BY_ZERO}, and so is that of the smallest number by -1."

UnsignedDiv = _binary("unsigned_div", "OpUDiv", f"The quotient of unsigned numbers. {_BY_ZERO}.", Division)
UnsignedRem = _binary("unsigned_rem", "OpUMod", f"The remainder of unsigned numbers. {_BY_ZERO}.", Division)
SignedDiv = _binary("signed_div", "OpSDiv", f"The quotient, truncated towards zero. {_OVERFLOW}", Division)
SignedRem = _binary("signed_rem", "OpSRem", f"The remainder with the sign of `a`. {_OVERFLOW}", Division)
SignedMod = _binary("signed_mod", "OpSMod", f"The remainder with the sign of `b`. {_OVERFLOW}", Division)
UnsignedMin = _binary("unsigned_min", "UMin", "The smaller one of unsigned numbers.")
UnsignedMax = _binary("unsigned_max", "UMax", "The larger one of unsigned numbers.")
UnsignedMulHigh = _binary("unsigned_mul_high", "OpUMulExtended", "The upper half of the product of unsigned numbers.")
SignedMulHigh = _binary("signed_mul_high", "OpSMulExtended", "The upper half of the product of signed numbers.")
UnsignedAddSaturated = _binary(
    "unsigned_add_saturated", "OpUDotAccSat", "The sum of unsigned numbers; one too large is the largest number."
)
SignedAddSaturated = _binary(
    "signed_add_saturated", "OpSDotAccSat", "The sum of signed numbers; one outside the range is the nearest end of it."
)


@node
class UnsignedComparison(Numeric):
    """The base of the comparisons of unsigned numbers."""

    a: Value = operand(INTEGER, "first operand")
    b: Value = operand(INTEGER, "second operand")
    result: Value = result(BOOLEAN, "whether it holds")


def _comparison(mnemonic: str, name: str, doc: str) -> type[UnsignedComparison]:
    section = f'{RELATION} "{name}"'
    declared = family(DEVICE, UnsignedComparison, mnemonic, doc, Where.MIXED, section, "a , b : result")
    DEVICE.rules(declared, same_types("a", "b", section))
    return declared


UnsignedLessThan = _comparison("unsigned_less_than", "OpULessThan", "Whether `a` is less than `b`, both unsigned.")
UnsignedLessThanEqual = _comparison(
    "unsigned_less_than_equal", "OpULessThanEqual", "Whether `a` is less than or equal to `b`, both unsigned."
)


@op(DEVICE, "zero_extend", Where.MIXED, f'{CONVERSION} "OpUConvert"', "a : result")
class ZeroExtend(Numeric):
    """An unsigned number as one with more bits."""

    a: Value = operand(NUMBER_OR_COOPMATRIX, "the number")
    result: Value = result(NUMBER_OR_COOPMATRIX, "the same number in a wider type")


def _wider(s: Subject) -> bool:
    return bits_of(s, "result") >= bits_of(s, "a")


DEVICE.rules(
    ZeroExtend,
    of_family("zero_extend", "a", "integer", CONVERSION),
    of_family("zero_extend", "result", "integer", CONVERSION),
    alike("a", "result", CONVERSION),
    Row("wider", "result a", Holds("bits(result) ≥ bits(a)", _wider, lambda s: f"{s.op.a.type} to {s.op.result.type}"),
        "the result has no fewer bits than `a`", CONVERSION, "`cast` makes integers narrower"),
)  # fmt: skip
