"""Arithmetic, component by component (SPIR-V 3.52.13); on cooperative matrices too, where SPIR-V has it there."""

from __future__ import annotations

from girih.front.spirv.handlers import translates
from girih.front.spirv.instructions.numbers.builders import NumberBuilder, componentwise
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import BOOL
from girih.spirv.instruction import Instruction

_BINARY = {
    "OpIAdd": "add",
    "OpFAdd": "add",
    "OpISub": "sub",
    "OpFSub": "sub",
    "OpIMul": "mul",
    "OpFMul": "mul",
    "OpFDiv": "div",
    "OpFRem": "rem",
    "OpUDiv": "unsigned_div",
    "OpSDiv": "signed_div",
    "OpUMod": "unsigned_rem",
    "OpSRem": "signed_rem",
    "OpSMod": "signed_mod",
}


@translates(*_BINARY)
def binary(t: Translation, one: Instruction) -> None:
    """An operation of two operands of one type."""
    mnemonic, n = _BINARY[one.name], NumberBuilder(t)
    componentwise(t, one, lambda a, b: n.binary(mnemonic, a, b), "operand_1", "operand_2")


@translates("OpSNegate", "OpFNegate")
def negate(t: Translation, one: Instruction) -> None:
    """The operand with the opposite sign."""
    componentwise(t, one, lambda a: NumberBuilder(t).unary("neg", a), "operand")


@translates("OpFMod")
def modulo(t: Translation, one: Instruction) -> None:
    """The remainder with the sign of the divisor: exact where that of the dividend is one, else rounded once."""
    n = NumberBuilder(t)

    def build(a: Value, b: Value) -> Value:
        rest = n.binary("rem", a, b)
        zero = n.constant(0, a)
        apart = t.one("xor", BOOL, a=n.compare("less_than", rest, zero), b=n.compare("less_than", b, zero))
        moved = n.both(apart, n.compare("not_equal", rest, zero))
        return n.select(moved, n.add(rest, b), rest)

    componentwise(t, one, build, "operand_1", "operand_2")


@translates("OpFmaKHR")
def fused(t: Translation, one: Instruction) -> None:
    """A product and a sum, rounded once."""
    operands = ("operand_1", "operand_2", "operand_3")
    componentwise(t, one, lambda a, b, c: t.one("fma", a.type, a=a, b=b, c=c), *operands)


_WIDER = {
    "OpUMulExtended": "unsigned_mul_high",
    "OpSMulExtended": "signed_mul_high",
}


@translates(*_WIDER)
def extended_product(t: Translation, one: Instruction) -> None:
    """The lower halves of products, then the upper ones."""
    n = NumberBuilder(t)
    pairs = list(zip(t.leaves(one.id("operand_1")), t.leaves(one.id("operand_2")), strict=True))
    upper = [n.binary(_WIDER[one.name], a, b) for a, b in pairs]
    t.give(one, [*(n.mul(a, b) for a, b in pairs), *upper])


@translates("OpIAddCarry", "OpISubBorrow")
def with_carry(t: Translation, one: Instruction) -> None:
    """Sums or differences, then 1 where what is unsigned wrapped around, else 0."""
    n, adds = NumberBuilder(t), one.name == "OpIAddCarry"
    results, wraps = [], []
    for a, b in zip(t.leaves(one.id("operand_1")), t.leaves(one.id("operand_2")), strict=True):
        result = n.binary("add" if adds else "sub", a, b)
        wrapped = n.compare("unsigned_less_than", *((result, a) if adds else (a, b)))
        results.append(result)
        wraps.append(n.select(wrapped, n.constant(1, a), n.constant(0, a)))
    t.give(one, [*results, *wraps])
