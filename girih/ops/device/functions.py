"""Functions of angles and hyperbolas that the tensor language does not have (GLSL.std.450).

They take f16, bf16 and f32, and are within 1 ulp of f32, rounded once more in narrower types. Outside of its domain a
function is NaN, at a pole infinite, as IEEE 754 recommends.
"""

from __future__ import annotations

from girih.ir.core import Value
from girih.ir.define import Where, family, node, op, operand, result
from girih.ir.kinds import NUMBER
from girih.ir.terms import element
from girih.ir.types import BF16, F16, F32
from girih.ops.device.language import DEVICE
from girih.ops.device.numeric import Numeric, same_types
from girih.rules.predicates import Satisfies
from girih.rules.row import Row

GLSL = "GLSL.std.450"


@node
class SingleFunction(Numeric):
    """The base of the functions of one number."""

    a: Value = operand(NUMBER, "argument")
    result: Value = result(NUMBER, "the function's value")


def _computed(mnemonic: str, name: str, section: str) -> Row:
    allowed = Satisfies(element(name), "is f16, bf16 or f32", lambda t: t in (F16, BF16, F32))
    return Row(f"{name}_type", name, allowed, f"`{mnemonic}` takes f16, bf16 and f32", section)


def _function(mnemonic: str, name: str, doc: str) -> type[SingleFunction]:
    section = f'{GLSL} "{name}"'
    declared = family(DEVICE, SingleFunction, mnemonic, doc, Where.MIXED, section, "a : result")
    DEVICE.rules(declared, _computed(mnemonic, "a", section), same_types("a", "result", section))
    return declared


Tan = _function("tan", "Tan", "The tangent of an angle in radians.")
Asin = _function("asin", "Asin", "The angle from -pi/2 to pi/2 whose sine is the argument.")
Acos = _function("acos", "Acos", "The angle from 0 to pi whose cosine is the argument.")
Atan = _function("atan", "Atan", "The angle from -pi/2 to pi/2 whose tangent is the argument.")
Sinh = _function("sinh", "Sinh", "The hyperbolic sine.")
Cosh = _function("cosh", "Cosh", "The hyperbolic cosine.")
Asinh = _function("asinh", "Asinh", "The number whose hyperbolic sine is the argument.")
Acosh = _function("acosh", "Acosh", "The number from 0 on whose hyperbolic cosine is the argument.")
Atanh = _function("atanh", "Atanh", "The number whose hyperbolic tangent is the argument.")


@op(DEVICE, "atan2", Where.MIXED, f'{GLSL} "Atan2"', "y , x : result")
class ArcTangent2(Numeric):
    """The angle from -pi to pi of the point (x, y), with the sign of `y`; zeros and infinities as IEEE 754 says."""

    y: Value = operand(NUMBER, "the point's height")
    x: Value = operand(NUMBER, "the point's width")
    result: Value = result(NUMBER, "the angle in radians")


DEVICE.rules(
    ArcTangent2,
    _computed("atan2", "y", f'{GLSL} "Atan2"'),
    same_types("y", "x", f'{GLSL} "Atan2"'),
    same_types("y", "result", f'{GLSL} "Atan2"'),
)
