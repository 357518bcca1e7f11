"""Conversions of numbers, and their bits as other types (SPIR-V 3.52.11).

Floats of four bits are i8 with the bits in the low half: they become f32, or f16 where that is asked for, and go back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.front.spirv.handlers import translates
from girih.front.spirv.instructions.numbers.builders import INTEGERS, NumberBuilder, componentwise, like, number
from girih.front.spirv.leaves import E2M1
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import EIGHT_BIT_FLOATS, F16, F32, I32, I64, CoopMatrix, Number
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction
from girih.spirv.types import CooperativeMatrix, Float, Int, Matrix, Type, Vector

TOWARDS_ZERO = 1
"""The FPRoundingMode (SPIR-V 3.16) that is not to the nearest number."""


def component_of(type: Type) -> Type:
    """The type of the components of a vector or matrix; a scalar's own."""
    match type:
        case Vector() | CooperativeMatrix():
            return type.component
        case Matrix():
            return component_of(type.column)
        case _:
            return type


def is_four_bits(type: Type) -> bool:
    """Whether components are floats of four bits."""
    component = component_of(type)
    if not isinstance(component, Float) or component.encoding is None:
        return False
    return grammar().kinds["FPEncoding"].name_of(component.encoding) == E2M1


def _of_number(t: Translation, one: Instruction, operand: str) -> Callable[[Value], Value]:
    """What makes a number that the ir computes with of an operand."""
    if not is_four_bits(t.type_of(one.id(operand))):
        return lambda a: a
    return lambda a: t.one("float4_decode", like(a, F32), a=a)


def _components(t: Translation, one: Instruction) -> Number:
    """The number type of the result's components."""
    (type, *_) = t.leaf_types(one)
    component = type.component if isinstance(type, CoopMatrix) else type
    assert isinstance(component, Number)
    return component


def _converts(t: Translation, one: Instruction, operand: str, build: Callable[[Value], Value]) -> None:
    """Give each component converted; a matrix gets the use of the result last."""
    n, types = NumberBuilder(t), t.leaf_types(one)
    found = [build(a) for a in t.leaves(one.id(operand))]
    t.give(one, [n.converted("cast", a, type) for a, type in zip(found, types, strict=True)])


@translates("OpConvertFToS", "OpConvertFToU")
def to_integer(t: Translation, one: Instruction) -> None:
    """A float without its fraction."""
    mnemonic = "float_to_signed" if one.name == "OpConvertFToS" else "float_to_unsigned"
    known, target = _of_number(t, one, "float_value"), _components(t, one)
    _converts(t, one, "float_value", lambda a: t.one(mnemonic, like(a, target), a=known(a)))


@translates("OpConvertSToF", "OpConvertUToF")
def to_float(t: Translation, one: Instruction) -> None:
    """An integer rounded to a float."""
    signed = one.name == "OpConvertSToF"
    mnemonic, operand = ("cast", "signed_value") if signed else ("unsigned_to_float", "unsigned_value")
    if is_four_bits(t.facts.type(one.result_type)):
        # No integer beyond 6 is told from 6, and f32 has all others.
        _converts(t, one, operand, lambda a: _four_bits(t, t.one(mnemonic, like(a, F32), a=a)))
        return
    target = _components(t, one)
    _converts(t, one, operand, lambda a: t.one(mnemonic, like(a, target), a=a))


@translates("OpSConvert", "OpUConvert")
def to_width(t: Translation, one: Instruction) -> None:
    """An integer in another width."""
    n, target = NumberBuilder(t), _components(t, one)
    if one.name == "OpSConvert":
        _converts(t, one, "signed_value", lambda a: n.converted("cast", a, like(a, target)))
    else:
        _converts(t, one, "unsigned_value", lambda a: n.resized(a, target))


@translates("OpFConvert")
def between_floats(t: Translation, one: Instruction) -> None:
    """A float rounded to another type, as its decorations say."""
    source, target = t.type_of(one.id("float_value")), t.facts.type(one.result_type)
    if is_four_bits(target):
        if is_four_bits(source):
            t.give(one, t.leaves(one.id("float_value")))
        else:
            _converts(t, one, "float_value", lambda a: _four_bits(t, a))
        return
    known, type = _of_number(t, one, "float_value"), _components(t, one)
    annotations = t.facts.annotations
    toward_zero = annotations.parameter(one.result, "FPRoundingMode") == TOWARDS_ZERO
    saturated = annotations.has(one.result, "SaturatedToLargestFloat8NormalConversionEXT")
    _converts(t, one, "float_value", lambda a: _rounded(t, known(a), type, toward_zero, saturated))


def _rounded(t: Translation, a: Value, type: Number, toward_zero: bool, saturated: bool) -> Value:
    """A float in another type. What `cast` does is rounding to nearest, and saturating to eight bits."""
    plain = not toward_zero and (saturated or type not in EIGHT_BIT_FLOATS)
    target = like(a, type)
    if plain or number(a) == type:
        return NumberBuilder(t).converted("cast", a, target)
    return t.one("float_cast", target, a=a, toward_zero=toward_zero, saturated=saturated)


def _four_bits(t: Translation, a: Value) -> Value:
    """The float of four bits next to a number."""
    wide = NumberBuilder(t).converted("cast", a, like(a, F32)) if number(a) in EIGHT_BIT_FLOATS else a
    return t.one("float4_encode", like(a, INTEGERS[1]), a=wide)


@translates("OpQuantizeToF16")
def quantize(t: Translation, one: Instruction) -> None:
    """An f32 rounded to f16; what is no normal number there is a zero of its sign."""
    n = NumberBuilder(t)

    def build(a: Value) -> Value:
        rounded = n.converted("cast", n.converted("cast", a, F16), F32)
        small = n.compare("less_than", n.unary("abs", rounded), n.constant(2.0**-14, a))
        return n.select(small, n.mul(rounded, n.constant(0.0, a)), rounded)

    componentwise(t, one, build, "value")


# --- bits as other types -----------------------------------------------------------------------


@translates("OpBitcast")
def bitcast(t: Translation, one: Instruction) -> None:
    """The same bits in other components, the first one in the lowest bits; addresses have 64 bits."""
    operand = one.id("operand")
    source, target = t.leaves(operand), t.leaf_types(one)
    if len(source) == 1 and isinstance(source[0].type, CoopMatrix):
        (type,) = target
        t.give(one, [NumberBuilder(t).converted("bitcast", source[0], type)])
        return
    widths = _width(t.type_of(operand)), _width(t.facts.type(one.result_type))
    types = [type for type in target if isinstance(type, Number)]
    t.give(one, repacked(t, source, types, *widths))


def _width(type: Type) -> int:
    """The bits of each component."""
    component = component_of(type)
    return component.width if isinstance(component, Int | Float) else 64


def repacked(t: Translation, source: Sequence[Value], types: Sequence[Number], width: int, wanted: int) -> list[Value]:
    """Components of `width` bits as others of `wanted` bits, of some types."""
    n = NumberBuilder(t)
    integers = [_as_bits(n, a) for a in source]
    if width < wanted:
        integers = _joined(n, integers, width, wanted // width, INTEGERS[types[0].size])
    elif width > wanted:
        integers = _divided(n, integers, wanted, width // wanted, INTEGERS[types[0].size])
    return [n.converted("bitcast", a, type) for a, type in zip(integers, types, strict=True)]


def _as_bits(n: NumberBuilder, a: Value) -> Value:
    return n.converted("bitcast", a, INTEGERS[number(a).size])


def _joined(n: NumberBuilder, parts: Sequence[Value], width: int, each: int, type: Number) -> list[Value]:
    """Integers put together, `each` at a time."""
    found = []
    for first in range(0, len(parts), each):
        whole = n.resized(_low(n, parts[first], width), type)
        for at, part in enumerate(parts[first + 1 : first + each], 1):
            wide = n.resized(_low(n, part, width), type)
            whole = n.binary("or", whole, n.shifted("shift_left", wide, at * width))
        found.append(whole)
    return found


def _divided(n: NumberBuilder, wholes: Sequence[Value], width: int, each: int, type: Number) -> list[Value]:
    """Integers taken apart, into `each` of them."""
    shifted = [n.shifted("unsigned_shift_right", whole, at * width) for whole in wholes for at in range(each)]
    return [_low(n, n.resized(part, type), width) for part in shifted]


def _low(n: NumberBuilder, a: Value, width: int) -> Value:
    """What stands in the low bits alone, where a component has fewer bits than its leaf."""
    return a if 8 * number(a).size == width else n.binary("and", a, n.constant((1 << width) - 1, a))


@translates("OpBitcastExtractEXT")
def extracted(t: Translation, one: Instruction) -> None:
    """Bits of each component of an integer, from an offset on, as a number of fewer bits."""
    n, type = NumberBuilder(t), _components(t, one)
    width = t.constant(_width(t.facts.type(one.result_type)), I32)
    offset = t.leaf(one.id("offset"))

    def build(base: Value) -> Value:
        base = _as_bits(n, base)
        field = t.one("unsigned_bit_field_extract", base.type, base=base, offset=offset, count=width)
        return n.converted("bitcast", n.resized(field, INTEGERS[type.size]), type)

    componentwise(t, one, build, "base")


@translates("OpConvertPtrToU", "OpConvertUToPtr")
def address(t: Translation, one: Instruction) -> None:
    """An address as an unsigned integer, or an integer as an address."""
    to_pointer = one.name == "OpConvertUToPtr"
    value = t.leaf(one.id("integer_value" if to_pointer else "pointer"))
    (type,) = (I64,) if to_pointer else t.leaf_types(one)
    assert isinstance(type, Number)
    t.give(one, [NumberBuilder(t).resized(value, type)])
