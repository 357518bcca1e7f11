"""Arithmetic, comparisons, casts and constants on scalars and cooperative matrices (003 "Mixed instructions")."""

from __future__ import annotations

import math
from dataclasses import replace

from girih.ir.core import Op, Value
from girih.ir.define import Where, family, literal, node, op, operand, result
from girih.ir.floats import FORMATS, rounded
from girih.ir.kinds import BOOLEAN, CARRIED, NUMBER, NUMBER_OR_COOPMATRIX, SCALAR
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.terms import element, scope, shape, type_of, use
from girih.ir.types import EIGHT_BIT_FLOATS, INDEX, NUMBERS, PARTS, Boolean, CoopMatrix, Number, Use, element_type
from girih.ops.tile.language import TILE
from girih.ops.tile.stored import computes_row
from girih.rules.predicates import Holds, Satisfies
from girih.rules.row import Row, Undetermined
from girih.rules.terms import Term

BINARY = '003 "Arithmetic (binary)"'
UNARY = '003 "Arithmetic (unary)"'
COMPARISON = '003 "Comparison"'
CAST = '003 "Cast"'
BITCAST = 'SPIR-V 3.52.11 "OpBitcast"'
SELECT = 'SPIR-V 3.52.15 "OpSelect"'
CONSTANT = '003 "Constant"'


@node
class Binary(Op):
    """The base of the binary operations: operands and result have one type."""

    a: Value = operand(CARRIED, "first operand")
    b: Value = operand(CARRIED, "second operand")
    result: Value = result(CARRIED, "the type of both operands; component-wise on cooperative matrices")


def _families(words: str, *families: str) -> Satisfies:
    """The predicate that the element type of `a` belongs to one of some families of types; `bool` is a family too."""
    return Satisfies(
        element("a"), f"is {words}", lambda t: ("bool" if isinstance(t, Boolean) else t.family) in families
    )


_ANY_NUMBER = _families("a number type", "integer", "floating", "complex")
_REAL = _families("an integer or floating type", "integer", "floating")
_INTEGER = _families("an integer type", "integer")
_BITS = _families("bool or an integer type", "integer", "bool")


def _nonzero(s: Subject) -> bool:
    divisor = s.op.b
    type_ = element_type(divisor.type)
    if not isinstance(type_, Number) or type_.family != "integer":
        raise Undetermined
    return s.facts.constants.get(divisor) != 0


def _no_zero_divisor() -> Row:
    return Row(
        "zero",
        "b",
        Holds("b is not the constant 0", _nonzero, lambda s: f"%{s.op.b.name} is 0"),
        "an integer is not divided by the constant 0",
        BINARY,
    )


def _binary(mnemonic: str, allowed: Satisfies, doc: str, *more: Row) -> type[Binary]:
    declared = family(TILE, Binary, mnemonic, doc, Where.MIXED, BINARY, "a , b : result")
    computes = (computes_row(mnemonic, "a", "b"),) if allowed in (_ANY_NUMBER, _REAL) else ()
    TILE.rules(
        declared,
        *computes,
        Row("same", "a b", equal(type_of("a"), type_of("b")), "both operands have one type", BINARY, _convert_hint),
        Row("type", "a", allowed, f"`{mnemonic}` takes {allowed.words.removeprefix('is ')}", BINARY),
        Row(
            "result_type", "result a", equal(type_of("result"), type_of("a")), "the result has the type of `a`", BINARY
        ),
        *more,
    )
    return declared


def conversion(a: Value, b: Value) -> str | None:
    """The hint that makes one type of two numbers', or matrices': that of `a`, unless it loses a part or the fraction.

    None where a cast does not help.
    """
    first, second = element_type(a.type), element_type(b.type)
    if not isinstance(first, Number) or not isinstance(second, Number) or first == second:
        return None
    if type(a.type) is not type(b.type):
        return None
    if _holds(first) < _holds(second):
        a, b = b, a
    return f"convert one of them first: `%x = cast %{b.name} : {a.type}`"


def _holds(type: Number) -> tuple[int, bool]:
    """A rank of types: a higher one holds the numbers of a lower one, or what is near them, and computes with them."""
    return ("integer", "floating", "complex").index(type.family), type not in EIGHT_BIT_FLOATS


def _convert_hint(s: Subject) -> str | None:
    if isinstance(s.op.a.type, CoopMatrix) != isinstance(s.op.b.type, CoopMatrix):
        return "multiply a matrix by a scalar with `cooperative_matrix_scale`"
    return conversion(s.op.a, s.op.b)


Add = _binary("add", _ANY_NUMBER, "The sum of the operands; integers wrap around.")
Sub = _binary("sub", _ANY_NUMBER, "The difference of the operands, `a` minus `b`; integers wrap around.")
Mul = _binary(
    "mul",
    _ANY_NUMBER,
    "The product of the operands. Integers wrap around; a complex product rounds each product and sum of its parts.",
)
Div = _binary(
    "div",
    _ANY_NUMBER,
    "The quotient of the operands, `a` by `b`; that of integers is truncated towards zero.",
    _no_zero_divisor(),
)
Rem = _binary(
    "rem",
    _REAL,
    "The remainder of the division of `a` by `b`; it has the sign of `a`.",
    _no_zero_divisor(),
)
Max = _binary("max", _REAL, "The larger operand; if one is NaN, the other one.")
Min = _binary("min", _REAL, "The smaller operand; if one is NaN, the other one.")
Shl = _binary("shl", _INTEGER, "`a` shifted left by `b` bits.")
Shr = _binary("shr", _INTEGER, "`a` shifted right by `b` bits; the sign is kept.")
And = _binary("and", _BITS, "The bitwise and of the operands.")
Or = _binary("or", _BITS, "The bitwise or of the operands.")
Xor = _binary("xor", _BITS, "The bitwise exclusive or of the operands.")


@node
class Unary(Op):
    """The base of the unary operations."""

    a: Value = operand(CARRIED, "operand")
    result: Value = result(CARRIED, "the result; component-wise on cooperative matrices")


def _part(s: Subject) -> bool:
    source, target = s.op.a.type, s.op.result.type
    component = element_type(source)
    if not isinstance(component, Number):
        raise Undetermined
    wanted = PARTS.get(component, component)
    if isinstance(source, CoopMatrix):
        return bool(target == replace(source, component=wanted))
    return bool(target == wanted)


def _unary(mnemonic: str, allowed: Satisfies, doc: str, *, part: bool = False) -> type[Unary]:
    declared = family(TILE, Unary, mnemonic, doc, Where.MIXED, UNARY, "a : result")
    words = "the result has the operand's type, or its floating-point part for a complex operand"
    came = Holds(words, _part, lambda s: f"{s.op.a.type} gives {s.op.result.type}")
    same = equal(type_of("result"), type_of("a"))
    says = words if part else "the result has the type of `a`"
    computes = (computes_row(mnemonic, "a"),) if allowed is _ANY_NUMBER else ()
    TILE.rules(
        declared,
        *computes,
        Row("type", "a", allowed, f"`{mnemonic}` takes {allowed.words.removeprefix('is ')}", UNARY),
        Row("result_type", "result a", came if part else same, says, UNARY),
    )
    return declared


_COMPLEX = _families("a complex type", "complex")

Abs = _unary(
    "abs",
    _ANY_NUMBER,
    "The absolute value. That of a complex number is within 1 ulp; the smallest integer stays as it is.",
    part=True,
)
Neg = _unary("neg", _ANY_NUMBER, "The operand with the opposite sign; the smallest integer stays as it is.")
Not = _unary("not", _BITS, "The operand with every bit inverted.")
Conj = _unary("conj", _COMPLEX, "The complex conjugate.")
Im = _unary("im", _COMPLEX, "The imaginary part of a complex number.", part=True)
Re = _unary("re", _COMPLEX, "The real part of a complex number.", part=True)


@node
class Comparison(Op):
    """The base of the comparisons."""

    a: Value = operand(NUMBER, "first operand")
    b: Value = operand(NUMBER, "second operand")
    result: Value = result(BOOLEAN, "whether the comparison holds; with a NaN only `not_equal` does")


def _comparison(mnemonic: str, allowed: Satisfies | None, doc: str, name: str = "") -> type[Comparison]:
    declared = family(TILE, Comparison, mnemonic, doc, Where.MIXED, COMPARISON, "a , b : result", name=name)
    same = equal(type_of("a"), type_of("b"))
    TILE.rules(
        declared,
        computes_row(mnemonic, "a", "b"),
        Row("same", "a b", same, "both operands have one type", COMPARISON, _convert_hint),
    )
    if allowed is not None:
        says = f"`{mnemonic}` takes {allowed.words.removeprefix('is ')}"
        TILE.rules(declared, Row("type", "a", allowed, says, COMPARISON))
    return declared


EqualTo = _comparison("equal", None, "Whether `a` equals `b`.", "EqualTo")
NotEqual = _comparison("not_equal", None, "Whether `a` differs from `b`.")
GreaterThan = _comparison("greater_than", _REAL, "Whether `a` is greater than `b`.")
GreaterThanEqual = _comparison("greater_than_equal", _REAL, "Whether `a` is greater than or equal to `b`.")
LessThan = _comparison("less_than", _REAL, "Whether `a` is less than `b`.")
LessThanEqual = _comparison("less_than_equal", _REAL, "Whether `a` is less than or equal to `b`.")


@op(TILE, "cast", Where.MIXED, CAST, "a : result")
class Cast(Op):
    """The value in another number type; that of a cooperative matrix, component by component.

    What becomes a floating or complex number is rounded to nearest even. A floating-point number becomes an integer by
    truncation; too large ones become the largest or smallest integer, NaN becomes 0. Integers wrap around. What is
    too large for f8e4m3 or f8e5m2, infinities included, becomes the largest finite number; NaN stays NaN.
    """

    a: Value = operand(NUMBER_OR_COOPMATRIX, "what to convert")
    result: Value = result(NUMBER_OR_COOPMATRIX, "the converted value")


def _both_or_neither(s: Subject) -> bool:
    return isinstance(s.op.a.type, CoopMatrix) == isinstance(s.op.result.type, CoopMatrix)


def _no_part_lost(s: Subject) -> bool:
    source, target = element_type(s.op.a.type), element_type(s.op.result.type)
    if not isinstance(source, Number) or not isinstance(target, Number):
        raise Undetermined
    return source.family != "complex" or target.family == "complex"


def _use_converts(s: Subject) -> bool:
    source, target = s.op.a.type, s.op.result.type
    if not isinstance(source, CoopMatrix) or not isinstance(target, CoopMatrix):
        raise Undetermined
    return source.use is target.use or source.use is Use.ACC


def _types(s: Subject) -> str:
    return f"{s.op.a.type} to {s.op.result.type}"


TILE.rules(
    Cast,
    Row("matrix", "a result", Holds("a and result are both matrices or both numbers", _both_or_neither, _types),
        "a cooperative matrix is cast to a cooperative matrix, a number to a number", CAST),
    Row("shape", "a result", equal(shape("result"), shape("a")), "a cast keeps the shape", CAST),
    Row("complex", "a result", Holds("complex goes to complex only", _no_part_lost, _types),
        "a complex type is not cast to a type that is not complex", CAST, "take a part with `re`, `im` or `abs`"),
    Row("use", "a result", Holds("use(a) = use(result), or use(a) = matrix_acc", _use_converts,
        lambda s: f"{use('a').value(s).value} to {use('result').value(s).value}"),
        "a cast keeps the use, or turns matrix_acc into matrix_a or matrix_b", CAST),
    Row("scope", "a result", equal(scope("result"), scope("a")), "a cast keeps the scope", '001 "Overview"'),
)  # fmt: skip


@op(TILE, "bitcast", Where.MIXED, BITCAST, "a : result")
class Bitcast(Op):
    """The number of another type with the same bits, such as the f16 scale of quantized weights that are loaded as i16.

    A signaling NaN of f16 may become the quiet NaN that differs from it in one bit only.
    """

    a: Value = operand(NUMBER, "what to read in another way")
    result: Value = result(NUMBER, "a number type of the same size; a complex number has its real part first")


def _size(name: str) -> Term:
    def value(s: Subject) -> int:
        type_ = element(name).value(s)
        if not isinstance(type_, Number):
            raise Undetermined
        return type_.size

    return Term(f"bytes({name})", value)


def _as_large(s: Subject) -> str | None:
    """The types that have as many bytes as the operand: integers, or others if it is the only integer of its size."""
    given, size = element("a").value(s), _size("a").value(s)
    alike = [t for t in NUMBERS.values() if t.size == size and t not in (given, INDEX)]
    names = " and ".join(str(t) for t in ([t for t in alike if t.family == "integer"] or alike))
    return f"{given} is as large as {names}" if names else None


TILE.rules(
    Bitcast,
    Row(
        "size",
        "a result",
        equal(_size("result"), _size("a")),
        "both types have the same number of bytes",
        BITCAST,
        _as_large,
    ),
)


@op(TILE, "select", Where.MIXED, SELECT, "condition , a , b : result")
class Select(Op):
    """`a` where the condition holds, otherwise `b`.

    Both are computed before, whatever the condition is; what must not happen where it fails belongs into an `if`.
    """

    condition: Value = operand(BOOLEAN, "which of the two")
    a: Value = operand(SCALAR, "the value where it holds")
    b: Value = operand(SCALAR, "the value elsewhere")
    result: Value = result(SCALAR, "the chosen value")


TILE.rules(
    Select,
    Row(
        "same",
        "a b",
        equal(type_of("a"), type_of("b")),
        "both values have one type",
        SELECT,
        lambda s: conversion(s.op.a, s.op.b),
    ),
    Row("result_type", "result a", equal(type_of("result"), type_of("a")), "the result has the type of `a`", SELECT),
)


@op(TILE, "constant", Where.MIXED, CONSTANT, "value : result")
class Constant(Op):
    """The value of a literal; a cooperative matrix has it in every component."""

    value: bool | int | float | complex = literal("the constant")
    result: Value = result(CARRIED, "a scalar type, or a cooperative matrix of it")


_LITERALS: dict[type, str] = {bool: "boolean", int: "integer", float: "floating", complex: "complex"}


def _literal_family(s: Subject) -> tuple[str, str]:
    type_ = element_type(s.op.result.type)
    if type_ is None:
        raise Undetermined
    return _LITERALS[type(s.op.value)], "boolean" if isinstance(type_, Boolean) else type_.family


def _article(word: str) -> str:
    return ("an " if word[0] in "aeiou" else "a ") + word


def _literal_hint(s: Subject) -> str | None:
    came, wanted = _literal_family(s)
    value = s.op.value
    if came == "integer" and wanted == "floating":
        return f"write {value}.0"
    if came == "floating" and wanted == "integer" and float(value).is_integer():
        return f"write {int(value)}"
    if came in ("integer", "floating") and wanted == "complex":
        return f"write [{float(value)}, 0.0]"
    if came == "integer" and wanted == "boolean":
        return "write true or false"
    return None


def _overflows(value: float, type: Number) -> bool:
    """Whether a finite value is too large for a type, once rounded."""
    return math.isfinite(value) and math.isinf(rounded(value, type))


def _lacks(value: float, type: Number) -> bool:
    """Whether a value is an infinity that a type does not have."""
    return math.isinf(value) and not FORMATS[type].infinite


def _integers(type: Number) -> tuple[int, int]:
    """The least and the largest integer that a literal of a type may be."""
    most = int(2 ** (8 * type.size - 1)) - 1
    return -most - (type.size != 8), most


def _in_range(s: Subject) -> bool:
    came, wanted = _literal_family(s)
    if came != wanted or wanted == "boolean":
        raise Undetermined
    type_, value = element_type(s.op.result.type), s.op.value
    if not isinstance(type_, Number):
        raise Undetermined
    if wanted == "integer":
        least, most = _integers(type_)
        return bool(least <= value <= most)
    part = PARTS.get(type_, type_)
    parts = (value.real, value.imag) if wanted == "complex" else (value,)
    return not any(_overflows(v, part) or _lacks(v, part) for v in parts)


def _range_came(s: Subject) -> str:
    type_, value = element_type(s.op.result.type), s.op.value
    if type_ in FORMATS and _lacks(value, type_):
        return f"{type_} has no infinity"
    return f"{value} does not fit {type_}"


def _range_hint(s: Subject) -> str | None:
    type_ = element_type(s.op.result.type)
    if not isinstance(type_, Number):
        return None
    if type_.family == "integer":
        return "{} holds {} to {}".format(type_, *_integers(type_))
    part = PARTS.get(type_, type_)
    return f"the largest {part} is {FORMATS[part].largest!r}"


TILE.rules(
    Constant,
    Row("literal", "value result", Holds("the literal fits the type", lambda s: len(set(_literal_family(s))) == 1,
        lambda s: "{} literal for {} type".format(*map(_article, _literal_family(s)))),
        "a boolean, integer, floating or complex type takes a literal of its own kind", CONSTANT, _literal_hint),
    Row("range", "value result", Holds("the literal is in the range of the type", _in_range, _range_came),
        "the constant is in the range of its type", '003 "Constants"', _range_hint),
)  # fmt: skip
