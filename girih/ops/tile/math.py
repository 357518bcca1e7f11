"""Mathematical functions of scalars (003 "Math (unary)")."""

from __future__ import annotations

from girih.ir.core import Op, Value
from girih.ir.define import Where, family, node, operand, result
from girih.ir.kinds import NUMBER
from girih.ir.predicates import equal
from girih.ir.terms import element, type_of
from girih.ops.tile.language import TILE
from girih.ops.tile.stored import computes_row
from girih.rules.predicates import Satisfies
from girih.rules.row import Row

SECTION = '003 "Math (unary)"'


@node
class Math(Op):
    """The base of the mathematical functions."""

    a: Value = operand(NUMBER, "argument")
    result: Value = result(NUMBER, "the function's value")


_FLOATING = Satisfies(element("a"), "is a floating type", lambda t: t.family == "floating")
_EXPONENTIAL = Satisfies(element("a"), "is a floating or complex type", lambda t: t.family in ("floating", "complex"))


def _function(mnemonic: str, allowed: Satisfies, doc: str) -> type[Math]:
    declared = family(TILE, Math, mnemonic, doc, Where.MIXED, SECTION, "a : result")
    TILE.rules(
        declared,
        computes_row(mnemonic, "a"),
        Row("type", "a", allowed, f"`{mnemonic}` takes {allowed.words.removeprefix('is ')}", SECTION),
        Row(
            "result_type", "result a", equal(type_of("result"), type_of("a")), "the result has the type of `a`", SECTION
        ),
    )
    return declared


Cos = _function("cos", _FLOATING, "The cosine of an angle in radians, within 4 ulp.")
Sin = _function("sin", _FLOATING, "The sine of an angle in radians, within 4 ulp.")
Exp = _function(
    "exp", _EXPONENTIAL, "e to the power of the argument, within 3 ulp; each part of a complex result within 6 ulp."
)
Exp2 = _function(
    "exp2", _EXPONENTIAL, "2 to the power of the argument, within 3 ulp; each part of a complex result within 6 ulp."
)
Log = _function("log", _FLOATING, "The natural logarithm, within 3 ulp.")
Log2 = _function("log2", _FLOATING, "The logarithm to base 2, within 3 ulp.")


def _native(mnemonic: str, allowed: Satisfies, what: str) -> type[Math]:
    return _function(mnemonic, allowed, f"{what}; relative error at most 2^-10, in bf16 2^-8.")


NativeCos = _native("native_cos", _FLOATING, "The cosine of an angle in radians")
NativeSin = _native("native_sin", _FLOATING, "The sine of an angle in radians")
NativeExp = _native("native_exp", _EXPONENTIAL, "e to the power of the argument")
NativeExp2 = _native("native_exp2", _EXPONENTIAL, "2 to the power of the argument")
NativeLog = _native("native_log", _FLOATING, "The natural logarithm")
NativeLog2 = _native("native_log2", _FLOATING, "The logarithm to base 2")
