"""Dot products of integers, and of narrow floats in wider ones (SPV_KHR_integer_dot_product, ..._mixed_float_...)."""

from __future__ import annotations

from girih.front.spirv.handlers import translates
from girih.front.spirv.instructions.numbers.builders import NumberBuilder
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import F32, I32, Number
from girih.spirv.instruction import Instruction
from girih.spirv.types import Int

_SIGNS = {
    "OpSDot": (True, True),
    "OpUDot": (False, False),
    "OpSUDot": (True, False),
    "OpSDotAccSat": (True, True),
    "OpUDotAccSat": (False, False),
    "OpSUDotAccSat": (True, False),
}
"""Whether the first and the second vector are signed."""


@translates(*_SIGNS)
def integer_dot(t: Translation, one: Instruction) -> None:
    """The sum of products of integers, in the type of the result; with an accumulator it saturates at the end."""
    n, (type,) = NumberBuilder(t), t.leaf_types(one)
    assert isinstance(type, Number)
    vectors = [
        [_widened(n, part, type, signed) for part in _components(t, one.id(name), signed)]
        for name, signed in zip(("vector_1", "vector_2"), _SIGNS[one.name], strict=True)
    ]
    total = n.dot(*vectors)
    if one.name.endswith("AccSat"):
        signed = _SIGNS[one.name][0]
        mnemonic = "signed_add_saturated" if signed else "unsigned_add_saturated"
        total = n.binary(mnemonic, total, t.leaf(one.id("accumulator")))
    t.give(one, [total])


def _components(t: Translation, id: int, signed: bool) -> list[Value]:
    """The components of a vector, or the four bytes of an integer (PackedVectorFormat4x8Bit)."""
    if not isinstance(t.type_of(id), Int):
        return list(t.leaves(id))
    packed = t.leaf(id)
    mnemonic = "signed_bit_field_extract" if signed else "unsigned_bit_field_extract"
    eight = t.constant(8, I32)
    return [
        t.one(mnemonic, packed.type, base=packed, offset=t.constant(first, I32), count=eight)
        for first in range(0, 32, 8)
    ]


def _widened(n: NumberBuilder, a: Value, type: Number, signed: bool) -> Value:
    """A component in the type of the result, which is no narrower; the bytes of an integer fit any."""
    return n.converted("cast", a, type) if signed else n.resized(a, type)


@translates("OpFDot2MixAcc32VALVE", "OpFDot2MixAcc16VALVE", "OpFDot4MixAcc32VALVE")
def float_dot(t: Translation, one: Instruction) -> None:
    """The sum of products of floats and an accumulator, computed in f32; one of f16 or bf16 is rounded at the end."""
    n = NumberBuilder(t)
    first, second = ([n.converted("cast", a, F32) for a in t.leaves(one.id(name))] for name in ("vector_1", "vector_2"))
    accumulator = t.leaf(one.id("accumulator"))
    total = n.add(n.dot(first, second), n.converted("cast", accumulator, F32))
    t.give(one, [n.converted("cast", total, accumulator.type)])
