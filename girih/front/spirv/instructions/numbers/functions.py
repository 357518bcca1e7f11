"""The functions of GLSL.std.450 on numbers, component by component.

Where the specification leaves a result undefined, as below 0 of a root or a logarithm, it is what IEEE 754 recommends:
NaN or an infinity. That is no undefined behaviour, and is not found.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from girih.front.spirv.accesses import store
from girih.front.spirv.handlers import translates_function
from girih.front.spirv.instructions.numbers.builders import NumberBuilder, componentwise, function_name, number
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import I32, Number
from girih.spirv.instruction import Instruction

GLSL = "GLSL.std.450"

_UNARY = {
    "Round": "round_even",
    "RoundEven": "round_even",
    "Trunc": "truncate",
    "FAbs": "abs",
    "SAbs": "abs",
    "Floor": "floor",
    "Ceil": "ceil",
    "Sin": "sin",
    "Cos": "cos",
    "Tan": "tan",
    "Asin": "asin",
    "Acos": "acos",
    "Sinh": "sinh",
    "Cosh": "cosh",
    "Tanh": "tanh",
    "Asinh": "asinh",
    "Acosh": "acosh",
    "Atanh": "atanh",
    "Exp": "exp",
    "Log": "log",
    "Exp2": "exp2",
    "Log2": "log2",
    "Sqrt": "sqrt",
    "InverseSqrt": "rsqrt",
}
_BINARY = {
    "Pow": "pow",
    "FMin": "min",
    "SMin": "min",
    "UMin": "unsigned_min",
    "NMin": "min",
    "FMax": "max",
    "SMax": "max",
    "UMax": "unsigned_max",
    "NMax": "max",
}


@translates_function(GLSL, *_UNARY)
def unary(t: Translation, one: Instruction) -> None:
    """A function of one number that one instruction is."""
    mnemonic = _UNARY[function_name(t, one)]
    componentwise(t, one, lambda a: NumberBuilder(t).unary(mnemonic, a), "x")


@translates_function(GLSL, *_BINARY)
def binary(t: Translation, one: Instruction) -> None:
    """A function of two numbers that one instruction is; of a number and NaN the extremes are the number."""
    mnemonic = _BINARY[function_name(t, one)]
    componentwise(t, one, lambda a, b: NumberBuilder(t).binary(mnemonic, a, b), "x", "y")


@translates_function(GLSL, "Atan")
def arc_tangent(t: Translation, one: Instruction) -> None:
    """The angle whose tangent is a number."""
    componentwise(t, one, lambda a: NumberBuilder(t).unary("atan", a), "y_over_x")


@translates_function(GLSL, "Atan2")
def arc_tangent_of_point(t: Translation, one: Instruction) -> None:
    """The angle of a point."""
    componentwise(t, one, lambda y, x: t.one("atan2", y.type, y=y, x=x), "y", "x")


@translates_function(GLSL, "FSign", "SSign")
def sign(t: Translation, one: Instruction) -> None:
    """1, 0 or -1; 0 of NaN."""
    n = NumberBuilder(t)

    def build(a: Value) -> Value:
        zero = n.constant(0, a)
        below = n.select(n.compare("less_than", a, zero), n.constant(-1, a), zero)
        return n.select(n.compare("greater_than", a, zero), n.constant(1, a), below)

    componentwise(t, one, build, "x")


@translates_function(GLSL, "Fract")
def fraction(t: Translation, one: Instruction) -> None:
    """x - floor(x), which a tiny negative number rounds to 1."""
    n = NumberBuilder(t)
    componentwise(t, one, lambda a: n.sub(a, n.unary("floor", a)), "x")


@translates_function(GLSL, "Radians", "Degrees")
def angle(t: Translation, one: Instruction) -> None:
    """An angle times a constant."""
    n, radians = NumberBuilder(t), function_name(t, one) == "Radians"
    factor = math.pi / 180 if radians else 180 / math.pi
    componentwise(t, one, lambda a: n.mul(a, n.constant(factor, a)), "degrees" if radians else "radians")


@translates_function(GLSL, "FClamp", "NClamp", "SClamp", "UClamp")
def clamp(t: Translation, one: Instruction) -> None:
    """min(max(x, least), most): where the least is above the most, which is undefined, the most."""
    n = NumberBuilder(t)
    largest, smallest = ("unsigned_max", "unsigned_min") if function_name(t, one) == "UClamp" else ("max", "min")

    def build(a: Value, least: Value, most: Value) -> Value:
        return n.binary(smallest, n.binary(largest, a, least), most)

    componentwise(t, one, build, "x", "min_val", "max_val")


@translates_function(GLSL, "FMix")
def mix(t: Translation, one: Instruction) -> None:
    """x (1 - a) + y a."""
    n = NumberBuilder(t)

    def build(x: Value, y: Value, a: Value) -> Value:
        return n.add(n.mul(x, n.sub(n.constant(1, a), a)), n.mul(y, a))

    componentwise(t, one, build, "x", "y", "a")


@translates_function(GLSL, "Step")
def step(t: Translation, one: Instruction) -> None:
    """0 below an edge, else 1."""
    n = NumberBuilder(t)

    def build(edge: Value, x: Value) -> Value:
        return n.select(n.compare("less_than", x, edge), n.constant(0, x), n.constant(1, x))

    componentwise(t, one, build, "edge", "x")


@translates_function(GLSL, "SmoothStep")
def smooth_step(t: Translation, one: Instruction) -> None:
    """A cubic from 0 at one edge to 1 at the other."""
    n = NumberBuilder(t)

    def build(low: Value, high: Value, x: Value) -> Value:
        ratio = n.div(n.sub(x, low), n.sub(high, low))
        place = n.clamped(ratio, n.constant(0, x), n.constant(1, x))
        return n.mul(n.mul(place, place), n.sub(n.constant(3, x), n.mul(n.constant(2, x), place)))

    componentwise(t, one, build, "edge_0", "edge_1", "x")


@translates_function(GLSL, "Fma")
def fused(t: Translation, one: Instruction) -> None:
    """A product and a sum, rounded once."""
    componentwise(t, one, lambda a, b, c: t.one("fma", a.type, a=a, b=b, c=c), "a", "b", "c")


# --- numbers taken apart -----------------------------------------------------------------------


def _whole_and_fraction(t: Translation, one: Instruction) -> tuple[list[Value], list[Value]]:
    """The whole numbers towards zero, and what they lack, with the sign of each number."""
    n = NumberBuilder(t)
    wholes, fractions = [], []
    for a in t.leaves(one.id("x")):
        whole = n.unary("truncate", a)
        endless = n.compare("equal", n.unary("abs", a), n.constant(math.inf, a))
        # 1 divided by an infinity is a zero of its sign.
        fractions.append(n.select(endless, n.div(n.constant(1, a), a), n.sub(a, whole)))
        wholes.append(whole)
    return wholes, fractions


@translates_function(GLSL, "ModfStruct")
def modf_struct(t: Translation, one: Instruction) -> None:
    """The fractions, then the whole numbers."""
    wholes, fractions = _whole_and_fraction(t, one)
    t.give(one, [*fractions, *wholes])


@translates_function(GLSL, "Modf")
def modf(t: Translation, one: Instruction) -> None:
    """The fractions; the whole numbers are stored."""
    wholes, fractions = _whole_and_fraction(t, one)
    store(t, t.pointer(one.id("i")), wholes)
    t.give(one, fractions)


def _apart(t: Translation, one: Instruction) -> tuple[list[Value], list[Value]]:
    """The significands and the exponents."""
    pairs = [t.emit("frexp", a.type, I32, a=a) for a in t.leaves(one.id("x"))]
    return [significand for significand, _ in pairs], [exponent for _, exponent in pairs]


@translates_function(GLSL, "FrexpStruct")
def frexp_struct(t: Translation, one: Instruction) -> None:
    """The significands, then the exponents."""
    significands, exponents = _apart(t, one)
    types = t.leaf_types(one)[len(significands) :]
    t.give(one, [*significands, *(_exponent(t, e, type) for e, type in zip(exponents, types, strict=True))])


def _exponent(t: Translation, exponent: Value, type: object) -> Value:
    assert isinstance(type, Number)
    return NumberBuilder(t).converted("cast", exponent, type)


@translates_function(GLSL, "Frexp")
def frexp(t: Translation, one: Instruction) -> None:
    """The significands; the exponents are stored."""
    significands, exponents = _apart(t, one)
    store(t, t.pointer(one.id("exp")), exponents)
    t.give(one, significands)


@translates_function(GLSL, "Ldexp")
def ldexp(t: Translation, one: Instruction) -> None:
    """NumberBuilder times powers of 2."""
    n = NumberBuilder(t)

    def build(a: Value, exponent: Value) -> Value:
        return t.one("ldexp", a.type, a=a, exponent=_clamped_exponent(n, exponent))

    componentwise(t, one, build, "x", "exp")


def _clamped_exponent(n: NumberBuilder, exponent: Value) -> Value:
    """An exponent as i32; one of 64 bits that is larger changes no result."""
    if number(exponent).size == 8:
        exponent = n.clamped(exponent, n.constant(-(2**20), exponent), n.constant(2**20, exponent))
    return n.converted("cast", exponent, I32)


# --- bits --------------------------------------------------------------------------------------


def _places(build: Callable[[NumberBuilder, Value], Value]) -> Callable[[Translation, Instruction], None]:
    """The translation of a function that gives places of bits, in the type of the result."""

    def handler(t: Translation, one: Instruction) -> None:
        n, types = NumberBuilder(t), t.leaf_types(one)
        found = [build(n, a) for a in t.leaves(one.id("value"))]
        t.give(one, [n.converted("cast", a, type) for a, type in zip(found, types, strict=True)])

    return handler


def _highest_that_differs(n: NumberBuilder, a: Value) -> Value:
    """The highest bit that is not the sign."""
    return n.unary("highest_bit", n.binary("xor", a, n.shifted("signed_shift_right", a, 8 * number(a).size - 1)))


translates_function(GLSL, "FindILsb")(_places(lambda n, a: n.unary("lowest_bit", a)))
translates_function(GLSL, "FindUMsb")(_places(lambda n, a: n.unary("highest_bit", a)))
translates_function(GLSL, "FindSMsb")(_places(_highest_that_differs))
