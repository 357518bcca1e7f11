"""Arithmetic, comparisons, casts and constants of scalars (`girih.ops.tile.arith`)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from girih.back.llvm.emit.folding import lane_values
from girih.back.llvm.emit.text import Val, bits, integer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import arith, casts
from girih.back.llvm.numbers.values import Linear, Scalar, register, scalar_type, uniform
from girih.facts import findings, remarks
from girih.ir.types import BOOL, Boolean, Number
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Binary, Bitcast, Cast, Comparison, Constant, Select, Unary

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""


@LOWERINGS.of(*TILE_LANGUAGE.family(Binary))
def binary(code: KernelCode, op: Binary) -> None:
    """Lower an operation of two operands of one type."""
    type = scalar_type(op.a.type)
    a, b = code.scalar(op.a), code.scalar(op.b)
    mnemonic = op.spec.mnemonic
    found = linear_result(code, mnemonic, type, a, b)
    if found is not None:
        code.set(op.result, found)
        return
    x, y = code.together(a, b)
    if mnemonic in ("div", "rem", "shl", "shr") and isinstance(type, Number) and type.family == "integer":
        _check_second(code, op, y[0], mnemonic in ("div", "rem"))
    if mnemonic == "rem" and isinstance(type, Number) and type.family == "floating":
        code.remarks.note(remarks.call(mnemonic, type.name))
    parts = arith.binary(code.w, code.features, mnemonic, type, x, y, contract=code.contract)
    code.set(op.result, simplest(type, parts))


def simplest(type: Number | Boolean, parts: tuple[Val, ...]) -> Scalar:
    """The simplest scalar for some parts: lanes that are known may be the same in all, or grow evenly."""
    values = lane_values(parts[0]) if isinstance(type, Number) else None
    if values is None:
        return uniform(type, *parts)
    first = integer(values[0], register(type))
    stride = values[1] - values[0]
    if any(b - a != stride for a, b in pairwise(values)):
        return uniform(type, *parts)
    return uniform(type, first) if stride == 0 else Scalar(type, (), Linear(first, stride, exact=True))


def linear_result(code: KernelCode, mnemonic: str, type: Number | Boolean, a: Scalar, b: Scalar) -> Scalar | None:
    """The result of an operation if it grows evenly from lane to lane; None otherwise."""
    w = code.w
    x, y = a.linear, b.linear
    if x is None and y is None:
        return None
    if mnemonic == "add" and (a.uniform or b.uniform):
        linear, same = (x, b) if x is not None else (y, a)
        if linear is not None and same.uniform:
            return Scalar(type, (), Linear(w.add(linear.base, same.part), linear.stride))
    if mnemonic == "sub" and x is not None and b.uniform:
        return Scalar(type, (), Linear(w.sub(x.base, b.part), x.stride))
    if mnemonic == "mul":
        linear, same = (x, b) if x is not None else (y, a)
        if linear is not None and same.uniform and same.part.literal is not None:
            factor = same.part.literal
            return Scalar(type, (), Linear(w.mul(linear.base, same.part), _wrapped(linear.stride * factor, type)))
    return None


def _wrapped(stride: int, type: Number | Boolean) -> int:
    size = 8 * type.size if isinstance(type, Number) else 1
    return (stride + (1 << size - 1)) % (1 << size) - (1 << size - 1)


def _check_second(code: KernelCode, op: Binary, b: Val, dividing: bool) -> None:
    """Find integer divisions by zero, and shifts by a negative amount or by the width of the type or more."""
    width = bits(b.type)
    if dividing:
        bad = code.w.compare("eq", b, integer(0, b.type))
        code.check(op, bad, findings.division_by_zero(), argument=op.b.name)
        return
    bad = code.w.compare("uge", b, integer(width, b.type))
    code.check(op, bad, findings.shift(width), argument=op.b.name)


@LOWERINGS.of(*TILE_LANGUAGE.family(Unary))
def unary(code: KernelCode, op: Unary) -> None:
    """Lower an operation of one operand."""
    (a,) = code.together(code.scalar(op.a))
    type = scalar_type(op.a.type)
    parts = arith.unary(code.w, code.features, op.spec.mnemonic, type, a)
    code.set(op.result, uniform(scalar_type(op.result.type), *parts))


@LOWERINGS.of(*TILE_LANGUAGE.family(Comparison))
def comparison(code: KernelCode, op: Comparison) -> None:
    """Lower a comparison of two operands."""
    a, b = code.together(code.scalar(op.a), code.scalar(op.b))
    code.set(op.result, uniform(BOOL, arith.compare(code.w, op.spec.mnemonic, scalar_type(op.a.type), a, b)))


@LOWERINGS.of(Select)
def select(code: KernelCode, op: Select) -> None:
    """Lower the choice between two values."""
    condition, a, b = (code.scalar(value) for value in (op.condition, op.a, op.b))
    if condition.uniform:
        # One condition chooses between vectors, too.
        holds, (first, second) = condition.part, code.together(a, b)
    else:
        (holds,), first, second = code.together(condition, a, b)
    parts = (code.w.select(holds, x, y) for x, y in zip(first, second, strict=True))
    code.set(op.result, uniform(scalar_type(op.result.type), *parts))


@LOWERINGS.of(Cast)
def cast(code: KernelCode, op: Cast) -> None:
    """Lower a conversion to another number type."""
    source, target = scalar_type(op.a.type), scalar_type(op.result.type)
    if not isinstance(source, Number) or not isinstance(target, Number):
        raise TypeError("a cast is between number types")
    held = code.scalar(op.a)
    if held.linear is not None and held.linear.exact and source.family == target.family and target.size >= source.size:
        base = code.w.convert("sext", held.linear.base, f"i{8 * target.size}")
        code.set(op.result, Scalar(target, (), Linear(base, held.linear.stride, exact=True), held.below))
        return
    (a,) = code.together(held)
    code.set(op.result, simplest(target, casts.cast(code.w, code.features, source, target, a)))


@LOWERINGS.of(Bitcast)
def bitcast(code: KernelCode, op: Bitcast) -> None:
    """Lower the reading of a number's bits as another type."""
    source, target = scalar_type(op.a.type), scalar_type(op.result.type)
    if not isinstance(source, Number) or not isinstance(target, Number):
        raise TypeError("a bitcast is between number types")
    held = code.scalar(op.a)
    if source.family == target.family == "integer":
        code.set(op.result, replace(held, type=target))
        return
    (a,) = code.together(held)
    code.set(op.result, uniform(target, *casts.reinterpreted(code.w, code.features, source, target, a)))


@LOWERINGS.of(Constant)
def constant(code: KernelCode, op: Constant) -> None:
    """Lower a constant."""
    type = scalar_type(op.result.type)
    code.set(op.result, uniform(type, *arith.constant(type, op.value)))
