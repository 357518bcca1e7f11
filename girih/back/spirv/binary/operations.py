"""The operations of shader code on numbers, as instructions: a table from each to what it is in SPIR-V.

An operation that is one instruction is a name in `INSTRUCTIONS` or in `FUNCTIONS` (GLSL.std.450); the others are
functions in `WRITTEN`.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.text import bits, floating, integer
from girih.back.spirv.binary.assembly import Assembly
from girih.back.spirv.code.nodes import ShaderNode
from girih.back.spirv.code.types import is_float

INSTRUCTIONS = {
    "add": "OpIAdd",
    "sub": "OpISub",
    "mul": "OpIMul",
    "sdiv": "OpSDiv",
    "shl": "OpShiftLeftLogical",
    "lshr": "OpShiftRightLogical",
    "ashr": "OpShiftRightArithmetic",
    "fadd": "OpFAdd",
    "fsub": "OpFSub",
    "fmul": "OpFMul",
    "fdiv": "OpFDiv",
    "fneg": "OpFNegate",
    "slt": "OpSLessThan",
    "sle": "OpSLessThanEqual",
    "sgt": "OpSGreaterThan",
    "sge": "OpSGreaterThanEqual",
    "ult": "OpULessThan",
    "ule": "OpULessThanEqual",
    "ugt": "OpUGreaterThan",
    "uge": "OpUGreaterThanEqual",
    "oeq": "OpFOrdEqual",
    "one": "OpFOrdNotEqual",
    "olt": "OpFOrdLessThan",
    "ole": "OpFOrdLessThanEqual",
    "ogt": "OpFOrdGreaterThan",
    "oge": "OpFOrdGreaterThanEqual",
    "une": "OpFUnordNotEqual",
    "select": "OpSelect",
    "sitofp": "OpConvertSToF",
    "uitofp": "OpConvertUToF",
    "fptosi": "OpConvertFToS",
    "fptrunc": "OpFConvert",
    "fpext": "OpFConvert",
    "bitcast": "OpBitcast",
    "trunc": "OpSConvert",
    "sext": "OpSConvert",
    "ctpop": "OpBitCount",
    "bitreverse": "OpBitReverse",
}
"""Operations that are one instruction with the same operands."""

OF_TRUTH = {"and": "OpLogicalAnd", "or": "OpLogicalOr", "xor": "OpLogicalNotEqual", "eq": "OpLogicalEqual",
            "ne": "OpLogicalNotEqual"}  # fmt: skip
OF_INTEGERS = {"and": "OpBitwiseAnd", "or": "OpBitwiseOr", "xor": "OpBitwiseXor", "eq": "OpIEqual", "ne": "OpINotEqual"}

FUNCTIONS = {
    "fma": "Fma",
    "sqrt": "Sqrt",
    "exp": "Exp",
    "exp2": "Exp2",
    "fabs": "FAbs",
    "floor": "Floor",
    "truncate": "Trunc",
    "rint": "RoundEven",
    "fmax": "NMax",
    "fmin": "NMin",
    "umin": "UMin",
    "umax": "UMax",
    "smin": "SMin",
    "smax": "SMax",
    "cttz": "FindILsb",
}
"""Operations that GLSL.std.450 has."""

CONTRACTED = frozenset({"fadd", "fsub", "fmul"})
"""What may become part of a fused multiplication and addition unless NoContraction forbids it."""


def write_number(a: Assembly, node: ShaderNode) -> bool:
    """Write an operation on numbers; whether there is one of the name."""
    assert node.result is not None
    special = WRITTEN.get(node.op)
    if special is not None and special(a, node):
        return True
    for one in node.operands:
        # What is computed with needs more than what is loaded and stored.
        a.type(one.type)
    operands = [a.id_of(one) for one in node.operands]
    type = a.type(node.result.type)
    if node.op in OF_TRUTH:
        table = OF_TRUTH if node.operands[0].type == "i1" else OF_INTEGERS
        a.result(table[node.op], type, *operands, into=node.result)
        return True
    name = INSTRUCTIONS.get(node.op)
    if name is not None:
        made = a.result(name, type, *operands, into=node.result)
        if node.exact and node.op in CONTRACTED:
            a.decorate(made, "NoContraction")
        return True
    function = FUNCTIONS.get(node.op)
    if function is not None:
        made = a.extended(function, type, *operands, into=node.result)
        if node.exact and node.op == "fma":
            a.decorate(made, "NoContraction")
        return True
    return False


def _from_truth(one: int) -> Callable[[Assembly, ShaderNode], bool]:
    """The conversion of a condition to a number: `one` where it holds, else 0."""

    def write(a: Assembly, node: ShaderNode) -> bool:
        (held,) = node.operands
        assert node.result is not None
        if held.type != "i1":
            return False
        type = node.result.type
        width = bits(type)
        yes, no = integer(one, f"i{width}"), integer(0, f"i{width}")
        if is_float(type):
            yes, no = floating(float(one), type), floating(0.0, type)
        a.result("OpSelect", a.type(type), a.id_of(held), a.id_of(yes), a.id_of(no), into=node.result)
        return True

    return write


def _truncated(a: Assembly, node: ShaderNode) -> bool:
    """The lowest bit of a number as a condition."""
    (held,) = node.operands
    assert node.result is not None
    if node.result.type != "i1":
        return False
    one, zero = integer(1, held.type), integer(0, held.type)
    bit = a.result("OpBitwiseAnd", a.type(held.type), a.id_of(held), a.id_of(one))
    a.result("OpINotEqual", a.type("i1"), bit, a.id_of(zero), into=node.result)
    return True


def _zero_extended(a: Assembly, node: ShaderNode) -> bool:
    """A wider number without a sign: unsigned in between, as OpUConvert asks."""
    (held,) = node.operands
    assert node.result is not None
    if held.type == "i1":
        return _from_truth(1)(a, node)
    unsigned = a.result("OpUConvert", a.integer_type(bits(node.result.type), signed=False), a.id_of(held))
    a.result("OpBitcast", a.type(node.result.type), unsigned, into=node.result)
    return True


def _to_unsigned(a: Assembly, node: ShaderNode) -> bool:
    (held,) = node.operands
    assert node.result is not None
    unsigned = a.result("OpConvertFToU", a.integer_type(bits(node.result.type), signed=False), a.id_of(held))
    a.result("OpBitcast", a.type(node.result.type), unsigned, into=node.result)
    return True


def _unsigned(name: str) -> Callable[[Assembly, ShaderNode], bool]:
    """An instruction whose result type is unsigned."""

    def write(a: Assembly, node: ShaderNode) -> bool:
        assert node.result is not None
        type = a.integer_type(bits(node.result.type), signed=False)
        made = a.result(name, type, *(a.result("OpBitcast", type, a.id_of(one)) for one in node.operands))
        a.result("OpBitcast", a.type(node.result.type), made, into=node.result)
        return True

    return write


def _high_product(a: Assembly, node: ShaderNode) -> bool:
    """The high word of a product of unsigned numbers."""
    x, y = (a.id_of(one) for one in node.operands)
    assert node.result is not None
    unsigned = a.integer_type(bits(node.result.type), signed=False)
    x, y = (a.result("OpBitcast", unsigned, one) for one in (x, y))
    pair = a.result("OpUMulExtended", a.declare("OpTypeStruct", unsigned, unsigned), x, y)
    high = a.result("OpCompositeExtract", unsigned, pair, 1)
    a.result("OpBitcast", a.type(node.result.type), high, into=node.result)
    return True


def _remainder(a: Assembly, node: ShaderNode) -> bool:
    """What a signed division leaves. Vulkan leaves OpSRem open where a number is negative (appendix on SPIR-V)."""
    x, y = (a.id_of(one) for one in node.operands)
    assert node.result is not None
    type = a.type(node.result.type)
    whole = a.result("OpIMul", type, a.result("OpSDiv", type, x, y), y)
    a.result("OpISub", type, x, whole, into=node.result)
    return True


def _unordered(a: Assembly, node: ShaderNode) -> bool:
    """Whether one of two numbers is NaN."""
    x, y = node.operands
    assert node.result is not None
    truth = a.type("i1")
    if x.text == y.text:
        a.result("OpIsNan", truth, a.id_of(x), into=node.result)
        return True
    tests = [a.result("OpIsNan", truth, a.id_of(one)) for one in (x, y)]
    a.result("OpLogicalOr", truth, *tests, into=node.result)
    return True


def _ordered(a: Assembly, node: ShaderNode) -> bool:
    """Whether neither of two numbers is NaN."""
    x, y = node.operands
    assert node.result is not None
    truth = a.type("i1")
    tests = [a.result("OpIsNan", truth, a.id_of(one)) for one in (x, y)]
    either = a.result("OpLogicalOr", truth, *tests)
    a.result("OpLogicalNot", truth, either, into=node.result)
    return True


def _negation(a: Assembly, node: ShaderNode) -> bool:
    """A condition that another does not hold, which is recorded as its exclusive disjunction with true."""
    x, y = node.operands
    assert node.result is not None
    one = x if y.literal == 1 else y if x.literal == 1 else None
    if x.type != "i1" or one is None:
        return False
    a.result("OpLogicalNot", a.type("i1"), a.id_of(one), into=node.result)
    return True


def _leading_zeros(a: Assembly, node: ShaderNode) -> bool:
    """31 less the number of the highest bit, which is -1 for 0."""
    (held,) = node.operands
    assert node.result is not None and bits(held.type) == 32
    highest = a.extended("FindUMsb", a.type("i32"), a.id_of(held))
    a.result("OpISub", a.type("i32"), a.integer(31), highest, into=node.result)
    return True


def _trailing_zeros(a: Assembly, node: ShaderNode) -> bool:
    """The number of the lowest bit; of 0, whose is -1, the width."""
    (held,) = node.operands
    assert node.result is not None and bits(held.type) == 32
    lowest = a.extended("FindILsb", a.type("i32"), a.id_of(held))
    a.extended("UMin", a.type("i32"), lowest, a.integer(32), into=node.result)
    return True


WRITTEN: dict[str, Callable[[Assembly, ShaderNode], bool]] = {
    "zext": _zero_extended,
    "sext": _from_truth(-1),
    "uitofp": _from_truth(1),
    "sitofp": _from_truth(-1),
    "trunc": _truncated,
    "fptoui": _to_unsigned,
    "udiv": _unsigned("OpUDiv"),
    "urem": _unsigned("OpUMod"),
    "umulh": _high_product,
    "srem": _remainder,
    "uno": _unordered,
    "ord": _ordered,
    "xor": _negation,
    "ctlz": _leading_zeros,
    "cttz": _trailing_zeros,
}
"""Operations that take more than one instruction, for some operands; the others are in the tables above."""
