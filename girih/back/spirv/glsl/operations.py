"""The operations of shader code as GLSL: a table from the operation to its text (GLSL 4.60, sections 5 and 8).

An operand takes the place `{0}`, `{1}`, ... of its form. Forms say how tightly what stands in a place must bind, and
whether integers are signed there. What GLSL has no word for is a function of a few lines, which is written into the
shader where it is used.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from girih.back.llvm.emit.text import bits
from girih.back.spirv.glsl.expression import (
    AND,
    ANYTHING,
    BOTH,
    CHOICE,
    EITHER,
    EQUALITY,
    EXCLUSIVE,
    OR,
    PRIMARY,
    PRODUCT,
    RELATION,
    SHIFT,
    SUM,
    UNARY,
    XOR,
    Expression,
    called,
    composed,
    negated,
)
from girih.back.spirv.glsl.types import SIGNED, UNSIGNED, as_type, float_constant, integer_constant, with_sign, word
from girih.diagnostics import InternalError
from girih.lazy_dataclass import dataclass

Sign = Literal["signed", "unsigned", "any"]


@dataclass(frozen=True, slots=True)
class GlslForm:
    """How an operation is written: `places` has what binds loosest in each place.

    `result` is the type that it gives, a word of GLSL; where it is empty, that of the operands. `helper` names the
    function that it calls.
    """

    pattern: str
    precedence: int
    places: tuple[int, ...]
    sign: Sign = "any"
    result: str = ""
    helper: str = ""


def _infix(operator: str, precedence: int, sign: Sign = "any", result: str = "") -> GlslForm:
    return GlslForm(f"{{0}} {operator} {{1}}", precedence, (precedence, precedence - 1), sign, result)


def _function(name: str, count: int, sign: Sign = "any", result: str = "", helper: str = "") -> GlslForm:
    listed = ", ".join(f"{{{number}}}" for number in range(count))
    return GlslForm(f"{name}({listed})", PRIMARY, (ANYTHING,) * count, sign, result, helper)


def _of_bits(pattern: str, precedence: int = SUM, helper: str = "") -> GlslForm:
    return GlslForm(pattern, precedence, (ANYTHING,), "signed", "int", helper)


FORMS: Mapping[str, GlslForm] = {
    "add": _infix("+", SUM), "sub": _infix("-", SUM), "mul": _infix("*", PRODUCT),
    "sdiv": _infix("/", PRODUCT, "signed"), "udiv": _infix("/", PRODUCT, "unsigned"),
    "srem": _function("signed_remainder", 2, "signed", helper="signed_remainder"),
    "urem": _infix("%", PRODUCT, "unsigned"),
    "and": _infix("&", AND), "or": _infix("|", OR), "xor": _infix("^", XOR),
    "shl": _infix("<<", SHIFT), "lshr": _infix(">>", SHIFT, "unsigned"), "ashr": _infix(">>", SHIFT, "signed"),
    "and i1": _infix("&&", BOTH), "or i1": _infix("||", EITHER), "xor i1": _infix("^^", EXCLUSIVE),
    "fadd": _infix("+", SUM), "fsub": _infix("-", SUM), "fmul": _infix("*", PRODUCT), "fdiv": _infix("/", PRODUCT),
    "frem": _function("float_remainder", 2, helper="float_remainder"),
    "fneg": GlslForm("-{0}", UNARY, (PRIMARY,)),
    "eq": _infix("==", EQUALITY, result="bool"), "ne": _infix("!=", EQUALITY, result="bool"),
    "slt": _infix("<", RELATION, "signed", "bool"), "sle": _infix("<=", RELATION, "signed", "bool"),
    "sgt": _infix(">", RELATION, "signed", "bool"), "sge": _infix(">=", RELATION, "signed", "bool"),
    "ult": _infix("<", RELATION, "unsigned", "bool"), "ule": _infix("<=", RELATION, "unsigned", "bool"),
    "ugt": _infix(">", RELATION, "unsigned", "bool"), "uge": _infix(">=", RELATION, "unsigned", "bool"),
    "oeq": _infix("==", EQUALITY, result="bool"), "une": _infix("!=", EQUALITY, result="bool"),
    "olt": _infix("<", RELATION, result="bool"), "ole": _infix("<=", RELATION, result="bool"),
    "ogt": _infix(">", RELATION, result="bool"), "oge": _infix(">=", RELATION, result="bool"),
    "one": _function("ordered_not_equal", 2, result="bool", helper="ordered_not_equal"),
    "ord": GlslForm("!isnan({0}) && !isnan({1})", BOTH, (ANYTHING, ANYTHING), result="bool"),
    "uno": GlslForm("isnan({0}) || isnan({1})", EITHER, (ANYTHING, ANYTHING), result="bool"),
    "fma": _function("fma", 3), "sqrt": _function("sqrt", 1), "exp": _function("exp", 1),
    "exp2": _function("exp2", 1), "fabs": _function("abs", 1),
    # What `max` gives for NaN is open (GLSL 8.3).
    "fmax": _function("larger", 2, helper="larger"), "fmin": _function("smaller", 2, helper="smaller"),
    "floor": _function("floor", 1), "truncate": _function("trunc", 1), "rint": _function("roundEven", 1),
    "umin": _function("min", 2, "unsigned"), "umax": _function("max", 2, "unsigned"),
    "smin": _function("min", 2, "signed"), "smax": _function("max", 2, "signed"),
    "umulh": _function("high_product", 2, "signed", helper="high_product"),
    "ctpop i32": _of_bits("bitCount({0})", PRIMARY),
    "ctlz i32": _of_bits("31 - findMSB(uint({0}))"),
    "cttz i32": _of_bits("int(min(uint(findLSB({0})), 32u))", PRIMARY),
    "bitreverse i32": _of_bits("bitfieldReverse({0})", PRIMARY),
    "ctpop i64": _of_bits("count_bits({0})", PRIMARY, "count_bits"),
    "ctlz i64": _of_bits("leading_zeros({0})", PRIMARY, "leading_zeros"),
    "cttz i64": _of_bits("trailing_zeros({0})", PRIMARY, "trailing_zeros"),
    "bitreverse i64": replace(_of_bits("reverse_bits({0})", PRIMARY, "reverse_bits"), result="int64_t"),
    "ctpop i16": _of_bits("bitCount(uint(uint16_t({0})))", PRIMARY),
    "ctlz i16": _of_bits("15 - findMSB(uint(uint16_t({0})))"),
    "cttz i16": _of_bits("int(min(uint(findLSB(int({0}))), 16u))", PRIMARY),
    "bitreverse i16": _of_bits("bitfieldReverse(int({0})) >> 16", SHIFT),
    "ctpop i8": _of_bits("bitCount(uint(uint8_t({0})))", PRIMARY),
    "ctlz i8": _of_bits("7 - findMSB(uint(uint8_t({0})))"),
    "cttz i8": _of_bits("int(min(uint(findLSB(int({0}))), 8u))", PRIMARY),
    "bitreverse i8": _of_bits("bitfieldReverse(int({0})) >> 24", SHIFT),
}  # fmt: skip
"""The operations without effects by name, with the type of their operands where it matters."""

_BITS_OF = {
    "float": ("floatBitsToInt", "intBitsToFloat"),
    "double": ("doubleBitsToInt64", "int64BitsToDouble"),
    "half": ("float16BitsToInt16", "int16BitsToFloat16"),
    "bfloat": ("bfloat16BitsToIntEXT", "intBitsToBFloat16EXT"),
    "f8e4m3": ("floate4m3BitsToIntEXT", "intBitsToFloate4m3EXT"),
    "f8e5m2": ("floate5m2BitsToIntEXT", "intBitsToFloate5m2EXT"),
}
"""The functions that give the bits of a float, and a float of its bits."""

_FORMATS = {"float": ("<i", "<f"), "double": ("<q", "<d"), "half": ("<h", "<e")}
"""The formats of the bits of a float, an integer with a sign, and of the float."""

OPPOSITE = {
    "eq": "!=", "ne": "==", "slt": ">=", "sle": ">", "sgt": "<=", "sge": "<", "ult": ">=", "ule": ">", "ugt": "<=",
    "uge": "<", "oeq": "!=", "une": "==",
}  # fmt: skip
"""The operator of the comparison that holds where one does not."""

HELPERS = {
    "signed_remainder": "{T} signed_remainder({T} a, {T} b) {{\n    return a - a / b * b;\n}}",
    "float_remainder": "spirv_instruction(id = 140)\n{T} float_remainder({T} a, {T} b);",
    "ordered_not_equal": "bool ordered_not_equal({T} a, {T} b) {{\n    return a < b || a > b;\n}}",
    "larger": "{T} larger({T} a, {T} b) {{\n    return b > a || isnan(a) ? b : a;\n}}",
    "smaller": "{T} smaller({T} a, {T} b) {{\n    return b < a || isnan(a) ? b : a;\n}}",
    "high_product": "int high_product(int a, int b) {{\n    uint high, low;\n"
    "    umulExtended(uint(a), uint(b), high, low);\n    return int(high);\n}}",
    "count_bits": "int count_bits(int64_t a) {{\n    return bitCount(uint(a)) + bitCount(uint(a >> 32));\n}}",
    "leading_zeros": "int leading_zeros(int64_t a) {{\n    uint high = uint(a >> 32);\n"
    "    return high != 0u ? 31 - findMSB(high) : 63 - findMSB(uint(a));\n}}",
    "trailing_zeros": "int trailing_zeros(int64_t a) {{\n    uint low = uint(a);\n"
    "    return low != 0u ? findLSB(low) : 32 + int(min(uint(findLSB(uint(a >> 32))), 32u));\n}}",
    "reverse_bits": "int64_t reverse_bits(int64_t a) {{\n    uint64_t high = bitfieldReverse(uint(a));\n"
    "    return int64_t(high << 32 | bitfieldReverse(uint(a >> 32)));\n}}",
}  # fmt: skip
"""The functions that GLSL has not; `{T}` is the type of the operands."""


def helper_text(name: str, type: str) -> str:
    """The text of a helper for operands of a type of shader code."""
    return HELPERS[name].format(T=word(type))


def form_of(op: str, type: str) -> GlslForm:
    """The form of an operation on operands of a type. Raises `InternalError` for those that the table has not."""
    form = FORMS.get(f"{op} {type}") or FORMS.get(op)
    if form is None:
        raise InternalError(f"GLSL has no form for the operation `{op}` on `{type}`")
    return form


def applied(op: str, type: str, operands: Sequence[Expression]) -> Expression:
    """The expression of an operation whose first operand has the type `type` of shader code."""
    simple = _simplified(op, operands)
    if simple is not None:
        return simple
    form = form_of(op, type)
    listed = _agreeing(op, form, operands)
    texts = [one.within(place) for one, place in zip(listed, form.places, strict=True)]
    given = form.result or listed[0].type
    made = composed(form.pattern.format(*texts), given, form.precedence, listed)
    operator = form.pattern[4:-4]
    if len(texts) == 2 and form.pattern == f"{{0}} {operator} {{1}}":
        made = replace(made, sides=(texts[0], operator, texts[1]))
        if op in OPPOSITE:
            made = replace(made, opposite=f"{texts[0]} {OPPOSITE[op]} {texts[1]}")
    return made


def _simplified(op: str, operands: Sequence[Expression]) -> Expression | None:
    """What a reader would write in place of the operation; None where that is the operation."""
    if len(operands) != 2:
        return None
    first, second = operands
    if op in ("ord", "uno") and first.text == second.text:
        test = called("isnan", "bool", first)
        return test if op == "uno" else negated(test)
    if first.type in ("float", "double", "float16_t"):
        return None
    if op == "xor" and second.text == "true":
        return negated(first)
    if op == "xor" and first.text == "true":
        return negated(second)
    if op == "xor" and second.number == -1:
        return composed(f"~{first.within(PRIMARY)}", first.type, UNARY, (first,))
    if op == "sub" and first.number == 0 and second.number is None:
        return composed(f"-{second.within(PRIMARY)}", second.type, UNARY, (second,))
    if op == "add" and second.number is not None and second.number < 0 and second.text.startswith("-"):
        return applied("sub", "", (first, integer_constant(-second.number, second.type)))
    return None


def _agreeing(op: str, form: GlslForm, operands: Sequence[Expression]) -> list[Expression]:
    """The operands with the signs that the operation asks for; those that any sign suits get the same one."""
    if op in ("shl", "lshr", "ashr"):
        shifted, count = operands
        sign = form.sign if form.sign != "any" else _common_sign((shifted,))
        number = count.number
        return [_signed(shifted, sign), count if number is None else integer_constant(number, "int")]
    sign = form.sign if form.sign != "any" else _common_sign(operands)
    return [_signed(one, sign) for one in operands]


def _common_sign(operands: Sequence[Expression]) -> str:
    known = [
        one.type in SIGNED for one in operands if one.number is None and (one.type in SIGNED or one.type in UNSIGNED)
    ]
    return "unsigned" if known and all(known) else "signed"


def _signed(one: Expression, sign: str) -> Expression:
    return as_type(one, with_sign(one.type, sign))


def chosen(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """The expression of `select`, or of a branch without statements."""
    if yes.type == "bool":
        if no.text == "false":
            return applied("and", "i1", (condition, yes))
        if yes.text == "true":
            return applied("or", "i1", (condition, no))
        if no.text == "true":
            return applied("or", "i1", (negated(condition), yes))
        if yes.text == "false":
            return applied("and", "i1", (negated(condition), no))
    sign = _common_sign((yes, no))
    yes, no = _signed(yes, sign), _signed(no, sign)
    if yes.type not in SIGNED and yes.type not in UNSIGNED:
        return _choice(condition, yes, no)
    if condition.sides == (yes.text, ">", no.text) or condition.sides == (no.text, "<", yes.text):
        return _largest("max", yes, no, condition)
    if condition.sides == (yes.text, "<", no.text) or condition.sides == (no.text, ">", yes.text):
        return _largest("min", yes, no, condition)
    return _choice(condition, yes, no)


def _choice(condition: Expression, yes: Expression, no: Expression) -> Expression:
    text = f"{condition.within(EITHER)} ? {yes.within(CHOICE - 1)} : {no.within(CHOICE)}"
    return composed(text, yes.type, CHOICE, (condition, yes, no))


def _largest(function: str, yes: Expression, no: Expression, condition: Expression) -> Expression:
    """The larger or the smaller one of two integers that a condition compared."""
    made = called(function, yes.type, yes, no)
    return replace(made, variables=made.variables | condition.variables)


def converted(op: str, one: Expression, source: str, target: str) -> Expression:
    """The expression of a conversion from one type of shader code to another."""
    to = word(target)
    if op == "bitcast":
        return _same_bits(one, source, target)
    if source == "i1":
        return _of_condition(op, one, to)
    if op == "trunc" and target == "i1":
        bit = applied("and", source, (one, integer_constant(1, one.type)))
        return applied("ne", source, (bit, integer_constant(0, one.type)))
    if one.number is not None and abs(one.number) <= _EXACT:
        if op == "sitofp":
            return float_constant(float(one.number), target)
        if op in ("sext", "trunc"):
            return integer_constant(one.number, to)
    if op not in _TAKEN:
        raise InternalError(f"GLSL has no form for the conversion `{op}`")
    to = with_sign(to, "unsigned") if op == "fptoui" else to
    made = called(to, to, _signed(one, _TAKEN[op]) if _TAKEN[op] else one)
    if op in ("zext", "sext") and source == "i32":
        return replace(made, widened=_signed(one, _TAKEN[op]))
    return made


def _of_condition(op: str, one: Expression, to: str) -> Expression:
    """A condition as a number: 1 where it holds, or -1 in operations with a sign."""
    if op not in ("sext", "sitofp"):
        return called(to, to, one)
    zero, minus = ("0.0", "-1.0") if op == "sitofp" else ("0", "-1")
    return chosen(one, called(to, to, Expression(minus, "")), called(to, to, Expression(zero, "")))


_TAKEN = {
    "zext": "unsigned", "uitofp": "unsigned", "sext": "signed", "sitofp": "signed",
    "trunc": "", "fptosi": "", "fptoui": "", "fptrunc": "", "fpext": "",
}  # fmt: skip
"""The conversions by a constructor, and the sign that they take; bits that are cut off have none."""

_EXACT = 2**11
"""Integers up to this are numbers of every type of floats that is computed with."""

CONVERSIONS = frozenset(
    {"trunc", "zext", "sext", "sitofp", "uitofp", "fptosi", "fptoui", "fptrunc", "fpext", "bitcast"}
)
"""The operations whose type is that of the result."""


def _same_bits(one: Expression, source: str, target: str) -> Expression:
    if source in _BITS_OF and target in _BITS_OF:
        whole = f"i{bits(source)}"
        return _same_bits(_same_bits(one, source, whole), whole, target)
    if source in _BITS_OF:
        return called(_BITS_OF[source][0], word(target), one)
    if target in _FORMATS and one.number is not None:
        of_bits, of_float = _FORMATS[target]
        return float_constant(struct.unpack(of_float, struct.pack(of_bits, one.number))[0], target)
    if target in _BITS_OF:
        return called(_BITS_OF[target][1], word(target), as_type(one, with_sign(one.type, "signed")))
    return one
