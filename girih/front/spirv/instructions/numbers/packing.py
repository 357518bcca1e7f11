"""The functions of GLSL.std.450 that pack numbers into integers, the first one into the lowest bits."""

from __future__ import annotations

from girih.front.spirv.handlers import translates_function
from girih.front.spirv.instructions.numbers.builders import NumberBuilder, function_name
from girih.front.spirv.instructions.numbers.conversions import repacked
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import F16, F32, F64, I16, I32
from girih.lazy_dataclass import dataclass
from girih.spirv.instruction import Instruction

GLSL = "GLSL.std.450"


@dataclass(frozen=True, slots=True)
class Normalised:
    """NumberBuilder from 0 or -1 to 1 as integers of some bits: 1 is `scale`."""

    bits: int
    signed: bool

    @property
    def scale(self) -> int:
        return (1 << self.bits - self.signed) - 1

    @property
    def least(self) -> int:
        return -1 if self.signed else 0


_FORMS = {
    "Snorm4x8": Normalised(8, signed=True),
    "Unorm4x8": Normalised(8, signed=False),
    "Snorm2x16": Normalised(16, signed=True),
    "Unorm2x16": Normalised(16, signed=False),
}


@translates_function(GLSL, *(f"Pack{name}" for name in _FORMS))
def pack(t: Translation, one: Instruction) -> None:
    """NumberBuilder brought into the range, scaled, rounded and packed."""
    n, form = NumberBuilder(t), _FORMS[function_name(t, one).removeprefix("Pack")]
    found: Value | None = None
    for at, part in enumerate(t.leaves(one.id("v"))):
        inside = n.clamped(part, n.constant(form.least, part), n.constant(1, part))
        rounded = n.unary("round_even", n.mul(inside, n.constant(form.scale, part)))
        whole = t.one("float_to_signed", I32, a=rounded)
        low = n.binary("and", whole, n.constant((1 << form.bits) - 1, whole))
        placed = n.shifted("shift_left", low, at * form.bits)
        found = placed if found is None else n.binary("or", found, placed)
    assert found is not None
    t.give(one, [found])


@translates_function(GLSL, *(f"Unpack{name}" for name in _FORMS))
def unpack(t: Translation, one: Instruction) -> None:
    """Integers divided by what 1 is; the smallest signed one is -1 too."""
    n, form = NumberBuilder(t), _FORMS[function_name(t, one).removeprefix("Unpack")]
    packed = t.leaf(one.id("p"))
    mnemonic = "signed_bit_field_extract" if form.signed else "unsigned_bit_field_extract"
    count, found = t.constant(form.bits, I32), []
    for first in range(0, 32, form.bits):
        whole = t.one(mnemonic, I32, base=packed, offset=t.constant(first, I32), count=count)
        ratio = n.converted("cast", whole, F32)
        ratio = n.div(ratio, n.constant(form.scale, ratio))
        found.append(n.binary("max", ratio, n.constant(-1, ratio)) if form.signed else ratio)
    t.give(one, found)


@translates_function(GLSL, "PackHalf2x16")
def pack_halves(t: Translation, one: Instruction) -> None:
    """Two f32 rounded to f16."""
    n = NumberBuilder(t)
    halves = [n.converted("cast", part, F16) for part in t.leaves(one.id("v"))]
    t.give(one, repacked(t, halves, [I32], 16, 32))


@translates_function(GLSL, "UnpackHalf2x16")
def unpack_halves(t: Translation, one: Instruction) -> None:
    """Two f16 as f32."""
    n = NumberBuilder(t)
    halves = repacked(t, t.leaves(one.id("v")), [I16, I16], 32, 16)
    t.give(one, [n.converted("cast", n.converted("bitcast", half, F16), F32) for half in halves])


@translates_function(GLSL, "PackDouble2x32")
def pack_double(t: Translation, one: Instruction) -> None:
    """Two integers as the bits of a double."""
    t.give(one, repacked(t, t.leaves(one.id("v")), [F64], 32, 64))


@translates_function(GLSL, "UnpackDouble2x32")
def unpack_double(t: Translation, one: Instruction) -> None:
    """The bits of a double as two integers."""
    t.give(one, repacked(t, t.leaves(one.id("v")), [I32, I32], 64, 32))
