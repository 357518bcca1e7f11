"""Numbers of the device language: what an instruction computes, what it may find, and both for scalars.

`computed` and `checks` are told the LLVM values of the operands, one part each, so that components of matrices are
computed by the same words (`girih.back.llvm.cpu.device.matrices`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch

from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import Val, bits, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.arith import linear_result, simplest
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.device import bits as bit_numbers
from girih.back.llvm.numbers.device import floats, functions, integers
from girih.back.llvm.numbers.values import Scalar, register, uniform
from girih.facts import findings
from girih.facts.findings import FindingWords
from girih.ir.core import Value
from girih.ir.types import Number, element_type
from girih.lazy_dataclass import dataclass
from girih.ops.device import DEVICE_LANGUAGE
from girih.ops.device.bits import BitFieldExtract, BitFieldInsert, BitUnary, Shift
from girih.ops.device.floats import (
    Float4Decode,
    Float4Encode,
    FloatCast,
    FloatToInteger,
    FractionExponent,
    LoadExponent,
    UnsignedToFloat,
    Whole,
)
from girih.ops.device.functions import ArcTangent2, SingleFunction
from girih.ops.device.integers import Division, IntegerBinary, UnsignedComparison, ZeroExtend
from girih.ops.device.numeric import Numeric

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""


@dataclass(frozen=True, slots=True)
class Check:
    """A condition that has no meaning for an instruction, with the words for it and the operand to blame."""

    bad: Val
    words: FindingWords
    argument: Value


def number(value: Value) -> Number:
    """The number type of a scalar, or of the components of a matrix."""
    type = element_type(value.type)
    if not isinstance(type, Number):
        raise TypeError(f"{value.type} is no type of numbers")
    return type


@LOWERINGS.of(*DEVICE_LANGUAGE.family(Numeric))
def numeric(code: KernelCode, op: Numeric) -> None:
    """Lower an instruction on scalars."""
    linear = _shifted_evenly(code, op) if isinstance(op, Shift) else None
    if linear is not None:
        code.set(op.results[0], linear)
        return
    operands: list[Value] = [getattr(op, name) for name in op.spec.operands]
    parts = [held[0] for held in code.together(*map(code.scalar, operands))]
    for check in checks(op, code.w, code.features, parts):
        code.check(op, check.bad, check.words, argument=check.argument.name)
    for value, found in zip(op.results, computed(op, code.w, code.features, parts), strict=True):
        type = element_type(value.type)
        assert type is not None
        code.set(value, simplest(type, (found,)))


def _shifted_evenly(code: KernelCode, op: Shift) -> Scalar | None:
    """A number that grows evenly from lane to lane, shifted left by a constant: it still does. None for others."""
    a, amount = code.scalar(op.a), code.scalar(op.amount)
    if op.spec.mnemonic != "shift_left" or a.linear is None or not amount.uniform:
        return None
    known, type = amount.part.literal, number(op.a)
    if known is None or not 0 <= known < 8 * type.size - 1:
        return None
    return linear_result(code, "mul", type, a, uniform(type, integer(1 << known, register(type))))


# --- what is computed --------------------------------------------------------------------------


@singledispatch
def computed(op: Numeric, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    """The results of an instruction from its operands. Raises `TypeError` for one that is not known."""
    raise TypeError(f"`{op.spec.mnemonic}` is not computed from numbers")


@computed.register
def _(op: IntegerBinary, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (integers.BINARY[op.spec.mnemonic](w, parts[0], parts[1]),)


_COMPARE = {"unsigned_less_than": "ult", "unsigned_less_than_equal": "ule"}


@computed.register
def _(op: UnsignedComparison, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (w.compare(_COMPARE[op.spec.mnemonic], parts[0], parts[1]),)


@computed.register
def _(op: ZeroExtend, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (w.convert("zext", parts[0], register(number(op.result))),)


@computed.register
def _(op: Shift, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (bit_numbers.shift(w, op.spec.mnemonic, parts[0], parts[1]),)


@computed.register
def _(op: BitUnary, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (bit_numbers.UNARY[op.spec.mnemonic](w, parts[0]),)


@computed.register
def _(op: BitFieldExtract, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (bit_numbers.extract(w, op.spec.mnemonic, *parts),)


@computed.register
def _(op: BitFieldInsert, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (bit_numbers.insert(w, *parts),)


@computed.register
def _(op: Whole, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (w.overloaded(floats.WHOLE[op.spec.mnemonic], parts[0]),)


@computed.register
def _(op: FloatToInteger, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    convert = floats.to_unsigned if op.spec.mnemonic.endswith("unsigned") else floats.to_signed
    return (convert(w, features, number(op.a), number(op.result), parts[0]),)


@computed.register
def _(op: UnsignedToFloat, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (floats.from_unsigned(w, features, number(op.a), number(op.result), parts[0]),)


@computed.register
def _(op: FloatCast, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    types = number(op.a), number(op.result)
    toward_zero, saturated = op.toward_zero, op.saturated
    return (floats.float_cast(w, features, *types, parts[0], toward_zero=toward_zero, saturated=saturated),)


@computed.register
def _(op: Float4Decode, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (floats.float4_decode(w, parts[0]),)


@computed.register
def _(op: Float4Encode, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (floats.float4_encode(w, parts[0]),)


@computed.register
def _(op: LoadExponent, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (floats.load_exponent(w, features, number(op.a), parts[0], parts[1]),)


@computed.register
def _(op: FractionExponent, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return floats.fraction_exponent(w, number(op.a), parts[0])


@computed.register
def _(op: SingleFunction, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (functions.function(w, features, op.spec.mnemonic, number(op.a), parts[0]),)


@computed.register
def _(op: ArcTangent2, w: Writer, features: Features, parts: Sequence[Val]) -> tuple[Val, ...]:
    return (functions.arc_tangent_of_point(w, features, number(op.y), parts[0], parts[1]),)


# --- what has no meaning -----------------------------------------------------------------------


@singledispatch
def checks(op: Numeric, w: Writer, features: Features, parts: Sequence[Val]) -> Iterator[Check]:
    """What may have no meaning in an instruction; nothing, unless more is known."""
    return iter(())


@checks.register
def _(op: Division, w: Writer, features: Features, parts: Sequence[Val]) -> Iterator[Check]:
    a, b = parts
    yield Check(w.compare("eq", b, integer(0, b.type)), findings.undefined_quotient(op), op.b)
    if op.spec.mnemonic.startswith("signed"):
        yield Check(integers.overflows(w, a, b), findings.overflowing_quotient(op), op.b)


@checks.register
def _(op: Shift, w: Writer, features: Features, parts: Sequence[Val]) -> Iterator[Check]:
    a, amount = parts
    yield Check(bit_numbers.too_far(w, a, amount), findings.undefined_shift(op, bits(a.type)), op.amount)


@checks.register(BitFieldExtract)
@checks.register(BitFieldInsert)
def _(op: BitFieldExtract | BitFieldInsert, w: Writer, features: Features, parts: Sequence[Val]) -> Iterator[Check]:
    base, offset, count = parts[0], parts[-2], parts[-1]
    yield Check(bit_numbers.outside(w, base, offset, count), findings.undefined_field(op, bits(base.type)), op.count)


@checks.register
def _(op: FloatToInteger, w: Writer, features: Features, parts: Sequence[Val]) -> Iterator[Check]:
    unsigned = op.spec.mnemonic.endswith("unsigned")
    target = number(op.result)
    bad = floats.no_integer(w, features, number(op.a), target, parts[0], unsigned=unsigned)
    yield Check(bad, findings.undefined_integer(op, target), op.a)
