"""Mathematical functions of scalars (003 "Math (unary)"), and those that 003 does not have.

The names and meanings of the latter are those of the OpenCL instruction set of SPIR-V, their bounds are our own.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.ir.core import Op, Value
from girih.ir.define import Where, family, node, op, operand, result
from girih.ir.kinds import NUMBER
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.terms import element, type_of
from girih.ir.types import Number
from girih.ops.tile.arith import conversion
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
_COMPLEX_TOO = Satisfies(element("a"), "is a floating or complex type", lambda t: t.family in ("floating", "complex"))


def opencl(name: str) -> str:
    """The section of an instruction that 003 does not have."""
    return f'SPIR-V OpenCL.std "{name}"'


def _cast_hint(s: Subject) -> str | None:
    """How an integer becomes an argument."""
    type_ = s.op.a.type
    if not isinstance(type_, Number) or type_.family != "integer":
        return None
    return f"convert it first: `%x = cast %{s.op.a.name} : f32`"


def _hint(instead: str | None) -> Callable[[Subject], str | None]:
    """The hint for an operand of a type that is not taken; `instead` is what to do with a complex one."""
    return lambda s: _cast_hint(s) or instead


def _taken(mnemonic: str, allowed: Satisfies, section: str, instead: str | None) -> tuple[Row, Row]:
    """The rows that `a` and the result have the same type, which is allowed."""
    same = equal(type_of("result"), type_of("a"))
    takes = f"`{mnemonic}` takes {allowed.words.removeprefix('is ')}"
    return (
        Row("type", "a", allowed, takes, section, _hint(instead)),
        Row("result_type", "result a", same, "the result has the type of `a`", section),
    )


def _function(
    mnemonic: str, allowed: Satisfies, doc: str, section: str = SECTION, instead: str | None = None
) -> type[Math]:
    declared = family(TILE, Math, mnemonic, doc, Where.MIXED, section, "a : result")
    TILE.rules(declared, computes_row(mnemonic, "a"), *_taken(mnemonic, allowed, section, instead))
    return declared


Cos = _function("cos", _FLOATING, "The cosine of an angle in radians, within 4 ulp.")
Sin = _function("sin", _FLOATING, "The sine of an angle in radians, within 4 ulp.")
Exp = _function(
    "exp", _COMPLEX_TOO, "e to the power of the argument, within 3 ulp; each part of a complex result within 6 ulp."
)
Exp2 = _function(
    "exp2", _COMPLEX_TOO, "2 to the power of the argument, within 3 ulp; each part of a complex result within 6 ulp."
)
Log = _function("log", _FLOATING, "The natural logarithm, within 3 ulp.")
Log2 = _function("log2", _FLOATING, "The logarithm to base 2, within 3 ulp.")


def _native(mnemonic: str, allowed: Satisfies, what: str) -> type[Math]:
    return _function(mnemonic, allowed, f"{what}; relative error at most 2^-10, in bf16 2^-8.")


NativeCos = _native("native_cos", _FLOATING, "The cosine of an angle in radians")
NativeSin = _native("native_sin", _FLOATING, "The sine of an angle in radians")
NativeExp = _native("native_exp", _COMPLEX_TOO, "e to the power of the argument")
NativeExp2 = _native("native_exp2", _COMPLEX_TOO, "2 to the power of the argument")
NativeLog = _native("native_log", _FLOATING, "The natural logarithm")
NativeLog2 = _native("native_log2", _FLOATING, "The logarithm to base 2")


# --- functions that 003 does not have -----------------------------------------------------------

Sqrt = _function(
    "sqrt",
    _COMPLEX_TOO,
    "The square root, correctly rounded; NaN below zero, and -0 of -0. Of a complex number the root with a real part "
    "that is not negative, each part within 4 ulp.",
    opencl("sqrt"),
)
Rsqrt = _function(
    "rsqrt",
    _FLOATING,
    "1 divided by the square root, within 2 ulp; of a zero the infinity with its sign.",
    opencl("rsqrt"),
    "write `sqrt`, then divide 1 by it with `div`",
)
Tanh = _function(
    "tanh",
    _COMPLEX_TOO,
    "The hyperbolic tangent, within 3 ulp and never beyond 1; each part of a complex result within 8 ulp.",
    opencl("tanh"),
)
Erf = _function("erf", _FLOATING, "The error function, within 3 ulp and never beyond 1.", opencl("erf"))


@op(TILE, "pow", Where.MIXED, opencl("pow"), "a , b : result")
class Power(Op):
    """`a` to the power of `b`, within 3 ulp; IEEE 754 says what zeros, infinities, NaN and negative numbers give.

    The power 0 of anything is 1, and any power of 1 is 1, even if the other operand is NaN. A negative `a` to a power
    that is not a whole number is NaN.
    """

    a: Value = operand(NUMBER, "base")
    b: Value = operand(NUMBER, "exponent")
    result: Value = result(NUMBER, "the power")


@op(TILE, "fma", Where.MIXED, opencl("fma"), "a , b , c : result")
class FusedMultiplyAdd(Op):
    """The product of `a` and `b`, plus `c`, rounded once, in every type."""

    a: Value = operand(NUMBER, "first factor")
    b: Value = operand(NUMBER, "second factor")
    c: Value = operand(NUMBER, "summand")
    result: Value = result(NUMBER, "the sum")


def _conversion(first: str, second: str) -> Callable[[Subject], str | None]:
    return lambda s: conversion(getattr(s.op, first), getattr(s.op, second))


TILE.rules(
    Power,
    computes_row("pow", "a", "b"),
    Row("same", "a b", equal(type_of("a"), type_of("b")), "base and exponent have one type", opencl("pow"),
        _conversion("a", "b")),
    *_taken("pow", _FLOATING, opencl("pow"), "there is no logarithm of complex numbers: write the power as `exp` of "
            "the exponent times the logarithm, where you know that"),
)  # fmt: skip
TILE.rules(
    FusedMultiplyAdd,
    computes_row("fma", "a", "b", "c"),
    Row("same", "a b", equal(type_of("a"), type_of("b")), "both factors have one type", opencl("fma"),
        _conversion("a", "b")),
    Row("summand", "a c", equal(type_of("a"), type_of("c")), "factors and summand have one type", opencl("fma"),
        _conversion("a", "c")),
    *_taken("fma", _FLOATING, opencl("fma"), "multiply and add complex numbers in two steps: `mul`, then `add`"),
)  # fmt: skip
