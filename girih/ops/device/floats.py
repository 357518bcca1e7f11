"""Floating-point numbers: whole numbers, exponents, and conversions that `cast` does not have (SPIR-V 3.52.11).

The arithmetic of floats, `cast` between them and from signed integers, and `bitcast` are the tensor language's.
"""

from __future__ import annotations

from girih.ir.core import Value
from girih.ir.define import Where, family, flag, node, op, operand, result
from girih.ir.kinds import NUMBER, NUMBER_OR_COOPMATRIX, exactly
from girih.ir.terms import element
from girih.ir.types import F16, F32, I8, I32
from girih.ops.device.language import DEVICE
from girih.ops.device.numeric import Numeric, alike, of_family, same_types
from girih.ops.tile.stored import computes_row
from girih.rules.predicates import Satisfies
from girih.rules.row import Row

CONVERSION = "SPIR-V 3.52.11"
GLSL = "GLSL.std.450"
SMALL = "SPV_EXT_ocp_microscaling_types"


@node
class Whole(Numeric):
    """The base of what rounds to a whole number, which keeps its sign if it is 0."""

    a: Value = operand(NUMBER, "the number")
    result: Value = result(NUMBER, "the type of `a`")


def _whole(mnemonic: str, name: str, doc: str) -> type[Whole]:
    section = f'{GLSL} "{name}"'
    declared = family(DEVICE, Whole, mnemonic, doc, Where.MIXED, section, "a : result")
    DEVICE.rules(
        declared,
        computes_row(mnemonic, "a"),
        of_family(mnemonic, "a", "floating", section),
        same_types("a", "result", section),
    )
    return declared


Floor = _whole("floor", "Floor", "The largest whole number that is not above the argument.")
Ceil = _whole("ceil", "Ceil", "The smallest whole number that is not below the argument.")
Truncate = _whole("truncate", "Trunc", "The argument without its fraction.")
RoundEven = _whole("round_even", "RoundEven", "The nearest whole number, of two the even one.")


@node
class FloatToInteger(Numeric):
    """The base of the conversions to integers."""

    a: Value = operand(NUMBER_OR_COOPMATRIX, "the number")
    result: Value = result(NUMBER_OR_COOPMATRIX, "the integer")


def _to_integer(mnemonic: str, name: str, words: str) -> type[FloatToInteger]:
    section = f'{CONVERSION} "{name}"'
    doc = (
        f"A floating-point number without its fraction as {words}. One outside the range, and NaN, is found "
        "(run.undefined_operation); it gives the nearest end of the range, and NaN gives 0."
    )
    declared = family(DEVICE, FloatToInteger, mnemonic, doc, Where.MIXED, section, "a : result")
    DEVICE.rules(
        declared,
        of_family(mnemonic, "a", "floating", section),
        of_family(mnemonic, "result", "integer", section),
        alike("a", "result", section),
    )
    return declared


FloatToSigned = _to_integer("float_to_signed", "OpConvertFToS", "a signed integer")
FloatToUnsigned = _to_integer("float_to_unsigned", "OpConvertFToU", "an unsigned integer")


@op(DEVICE, "unsigned_to_float", Where.MIXED, f'{CONVERSION} "OpConvertUToF"', "a : result")
class UnsignedToFloat(Numeric):
    """An unsigned integer as a floating-point number, rounded once to nearest even."""

    a: Value = operand(NUMBER_OR_COOPMATRIX, "the integer")
    result: Value = result(NUMBER_OR_COOPMATRIX, "the number")


DEVICE.rules(
    UnsignedToFloat,
    of_family("unsigned_to_float", "a", "integer", f'{CONVERSION} "OpConvertUToF"'),
    of_family("unsigned_to_float", "result", "floating", f'{CONVERSION} "OpConvertUToF"'),
    alike("a", "result", f'{CONVERSION} "OpConvertUToF"'),
)


@op(DEVICE, "float_cast", Where.MIXED, f'{CONVERSION} "OpFConvert"', "a : result")
class FloatCast(Numeric):
    """A floating-point number in another type, rounded once.

    What is too large becomes infinite, in f8e4m3 NaN; unless it is rounded towards zero, or saturates in f8e4m3 and
    f8e5m2: then it becomes the largest number. An infinity that does not saturate is treated as such a number is.
    """

    toward_zero: bool = flag("toward_zero", "rounded towards zero, not to nearest even (FPRoundingMode RTZ)")
    saturated: bool = flag("saturated", "SaturatedToLargestFloat8NormalConversionEXT")
    a: Value = operand(NUMBER_OR_COOPMATRIX, "the number")
    result: Value = result(NUMBER_OR_COOPMATRIX, "the rounded number")


DEVICE.rules(
    FloatCast,
    of_family("float_cast", "a", "floating", f'{CONVERSION} "OpFConvert"'),
    of_family("float_cast", "result", "floating", f'{CONVERSION} "OpFConvert"'),
    alike("a", "result", f'{CONVERSION} "OpFConvert"'),
)


def _exactly(mnemonic: str, name: str, words: str, *types: object) -> Row:
    allowed = Satisfies(element(name), f"is {words}", lambda t: t in types)
    return Row(f"{name}_type", name, allowed, f"`{name}` of `{mnemonic}` is {words}", SMALL)


@op(DEVICE, "float4_decode", Where.MIXED, SMALL, "a : result")
class Float4Decode(Numeric):
    """The number that a float of four bits (e2m1) is: 0, 0.5, 1, 1.5, 2, 3, 4, 6, or one of these below 0.

    It has one bit of sign, two of exponent with bias 1, and one of fraction, in the low half of an i8.
    """

    a: Value = operand(NUMBER_OR_COOPMATRIX, "the four bits; the others are not read")
    result: Value = result(NUMBER_OR_COOPMATRIX, "the number")


@op(DEVICE, "float4_encode", Where.MIXED, SMALL, "a : result")
class Float4Encode(Numeric):
    """The float of four bits (e2m1) next to a number, of two the even one; those beyond 6, and infinities, become 6.

    NaN becomes 6 too, with its sign, for there is none in this type. The upper half of the i8 is 0.
    """

    a: Value = operand(NUMBER_OR_COOPMATRIX, "the number")
    result: Value = result(NUMBER_OR_COOPMATRIX, "the four bits")


DEVICE.rules(
    Float4Decode,
    _exactly("float4_decode", "a", "i8", I8),
    _exactly("float4_decode", "result", "f16 or f32", F16, F32),
    alike("a", "result", SMALL),
)
DEVICE.rules(
    Float4Encode,
    _exactly("float4_encode", "a", "f16 or f32", F16, F32),
    _exactly("float4_encode", "result", "i8", I8),
    alike("a", "result", SMALL),
)


@op(DEVICE, "ldexp", Where.MIXED, f'{GLSL} "Ldexp"', "a , exponent : result")
class LoadExponent(Numeric):
    """`a` times a power of 2, rounded once."""

    a: Value = operand(NUMBER, "the number")
    exponent: Value = operand(exactly(I32), "the signed exponent of the power of 2")
    result: Value = result(NUMBER, "the type of `a`")


@op(DEVICE, "frexp", Where.MIXED, f'{GLSL} "FrexpStruct"', "a : significand , exponent")
class FractionExponent(Numeric):
    """`a` as a number from 0.5 to 1, or a 0, with the sign of `a`, times a power of 2; infinities and NaN times 1."""

    a: Value = operand(NUMBER, "the number")
    significand: Value = result(NUMBER, "the type of `a`")
    exponent: Value = result(exactly(I32), "the exponent of the power of 2; 0 for a 0")


DEVICE.rules(
    LoadExponent,
    computes_row("ldexp", "a"),
    of_family("ldexp", "a", "floating", f'{GLSL} "Ldexp"'),
    same_types("a", "result", f'{GLSL} "Ldexp"'),
)
DEVICE.rules(
    FractionExponent,
    computes_row("frexp", "a"),
    of_family("frexp", "a", "floating", f'{GLSL} "FrexpStruct"'),
    same_types("a", "significand", f'{GLSL} "FrexpStruct"'),
)
