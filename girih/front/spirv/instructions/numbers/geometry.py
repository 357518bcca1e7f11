"""The functions of GLSL.std.450 on vectors as points and directions."""

from __future__ import annotations

from collections.abc import Sequence

from girih.front.spirv.handlers import translates_function
from girih.front.spirv.instructions.numbers.builders import NumberBuilder
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.spirv.instruction import Instruction

GLSL = "GLSL.std.450"


def _length(n: NumberBuilder, a: Sequence[Value]) -> Value:
    """The root of the sum of squares; of a single number its size."""
    return n.unary("abs", a[0]) if len(a) == 1 else n.unary("sqrt", n.dot(a, a))


@translates_function(GLSL, "Length")
def length(t: Translation, one: Instruction) -> None:
    """The length of a vector."""
    t.give(one, [_length(NumberBuilder(t), t.leaves(one.id("x")))])


@translates_function(GLSL, "Distance")
def distance(t: Translation, one: Instruction) -> None:
    """The length of the difference of two points."""
    n = NumberBuilder(t)
    pairs = zip(t.leaves(one.id("p_0")), t.leaves(one.id("p_1")), strict=True)
    t.give(one, [_length(n, [n.sub(a, b) for a, b in pairs])])


@translates_function(GLSL, "Normalize")
def normalize(t: Translation, one: Instruction) -> None:
    """A vector divided by its length."""
    n, a = NumberBuilder(t), t.leaves(one.id("x"))
    whole = _length(n, a)
    t.give(one, [n.div(part, whole) for part in a])


@translates_function(GLSL, "Cross")
def cross(t: Translation, one: Instruction) -> None:
    """The cross product of two vectors of three components."""
    n, a, b = NumberBuilder(t), t.leaves(one.id("x")), t.leaves(one.id("y"))
    places = ((1, 2), (2, 0), (0, 1))
    t.give(one, [n.sub(n.mul(a[i], b[j]), n.mul(b[i], a[j])) for i, j in places])


@translates_function(GLSL, "FaceForward")
def face_forward(t: Translation, one: Instruction) -> None:
    """A vector, or its opposite, so that it faces against another one."""
    n = NumberBuilder(t)
    product = n.dot(t.leaves(one.id("nref")), t.leaves(one.id("i")))
    against = n.compare("less_than", product, n.constant(0, product))
    t.give(one, [n.select(against, part, n.unary("neg", part)) for part in t.leaves(one.id("n"))])


@translates_function(GLSL, "Reflect")
def reflect(t: Translation, one: Instruction) -> None:
    """I - 2 (N . I) N."""
    n, incident, normal = NumberBuilder(t), t.leaves(one.id("i")), t.leaves(one.id("n"))
    product = n.dot(normal, incident)
    twice = n.mul(n.constant(2, product), product)
    t.give(one, [n.sub(i, n.mul(twice, m)) for i, m in zip(incident, normal, strict=True)])


@translates_function(GLSL, "Refract")
def refract(t: Translation, one: Instruction) -> None:
    """eta I - (eta (N . I) + sqrt(k)) N with k = 1 - eta^2 (1 - (N . I)^2); 0 where k is below 0."""
    n, incident, normal = NumberBuilder(t), t.leaves(one.id("i")), t.leaves(one.id("n"))
    eta = n.converted("cast", t.leaf(one.id("eta")), incident[0].type)
    product, unit, zero = n.dot(normal, incident), n.constant(1, eta), n.constant(0, eta)
    k = n.sub(unit, n.mul(n.mul(eta, eta), n.sub(unit, n.mul(product, product))))
    factor = n.add(n.mul(eta, product), n.unary("sqrt", k))
    total = n.compare("less_than", k, zero)
    t.give(
        one,
        [n.select(total, zero, n.sub(n.mul(eta, i), n.mul(factor, m))) for i, m in zip(incident, normal, strict=True)],
    )
