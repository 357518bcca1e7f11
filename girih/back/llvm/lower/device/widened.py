"""Indices and addresses that come from narrower numbers: what is linear in the lanes stays so unless it wraps around.

A shader computes indices with 32 bits and addresses with 64. An index that grows evenly from lane to lane does so as a
wider number too, unless one of the lanes wraps around. None does where the first lane's is a multiple of what all of
them span, as it mostly is; else that is asked once, of the first and the last lane, and accesses to neighbours are
written both ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from girih.back.llvm.emit.text import bits, integer
from girih.back.llvm.lower import arith
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.device import numeric
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.values import Linear, Nearly, Scalar
from girih.ir.core import Function, Op, Value
from girih.ir.types import Number
from girih.ops.device.integers import ZeroExtend
from girih.ops.tile.arith import Add, Binary, Cast, Constant, Mul, Sub
from girih.ops.tile.builtin import SubgroupLocalId

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file, which stand in place of those of the tensor language."""


@LOWERINGS.of(Cast)
def cast(code: KernelCode, op: Cast) -> None:
    """Lower a conversion to another type; a wider integer keeps its sign."""
    arith.cast(code, op)
    keep_linear(code, op.a, op.result, signed=True)


@LOWERINGS.of(ZeroExtend)
def zero_extend(code: KernelCode, op: ZeroExtend) -> None:
    """Lower a conversion of an unsigned number to a wider type."""
    numeric.LOWERINGS.rule(op)(code, op)
    keep_linear(code, op.a, op.result, signed=False)


def keep_linear(code: KernelCode, narrow: Value, wide: Value, *, signed: bool) -> None:
    """Note that the result of a conversion to a wider integer may be linear, as its operand is."""
    linear, result = code.scalar(narrow).linear, code.scalar(wide)
    if linear is None or result.linear is not None or result.uniform:
        return
    source, target = narrow.type, wide.type
    if not isinstance(source, Number) or not isinstance(target, Number) or target.family != "integer":
        return
    if target.size <= source.size:
        return
    width = 8 * target.size
    if 0 < linear.stride * code.lanes <= multiple_of(code.function, narrow, 8 * source.size):
        # The lanes fill bits that are 0 in the first of them.
        base = code.w.convert("sext" if signed else "zext", linear.base, f"i{width}")
        code.set(wide, Scalar(target, (), Linear(base, linear.stride, exact=True)))
        return
    code.set(wide, replace(result, nearly=_widened(code, linear, width, signed)))


_DEEPEST = 16
"""So many instructions are followed to see of what a number is a multiple."""


def multiple_of(function: Function, value: Value, width: int, depth: int = 0) -> int:
    """A power of two, less than 2^width, of which a number is a multiple in the first work-item of each subgroup."""
    made, most = _definitions(function).get(value), 1 << width - 1
    if depth == _DEEPEST:
        return 1
    match made:
        case SubgroupLocalId():
            return most
        case Constant():
            number = made.value if isinstance(made.value, int) else 1
            return min(number & -number, most) if number else most
        case Cast() | ZeroExtend():
            whole = isinstance(made.a.type, Number) and made.a.type.family == "integer"
            return multiple_of(function, made.a, width, depth + 1) if whole else 1
        case Binary() if made.spec.mnemonic in ("add", "sub", "mul"):
            first, second = (multiple_of(function, one, width, depth + 1) for one in (made.a, made.b))
            return min(first * second, most) if made.spec.mnemonic == "mul" else min(first, second)
        case _:
            return 1


@lru_cache(maxsize=16)
def _definitions(function: Function) -> Mapping[Value, Op]:
    return {result: op for op in function.walk() for result in op.results}


def _widened(code: KernelCode, linear: Linear, width: int, signed: bool) -> Nearly | None:
    """A linear number as a wider one; None where its lanes lie too far apart to be compared."""
    w, base, distance = code.w, linear.base, linear.stride * (code.lanes - 1)
    if abs(distance) >= 1 << bits(base.type) - 1:
        return None
    last = w.add(base, integer(distance, base.type))
    order = ("s" if signed else "u") + ("ge" if distance > 0 else "le")
    wide = w.convert("sext" if signed else "zext", base, f"i{width}")
    return Nearly(Linear(wide, linear.stride), w.compare(order, last, base))


@LOWERINGS.of(Add, Sub, Mul)
def binary(code: KernelCode, op: Binary) -> None:
    """Lower a sum, difference or product; that of numbers that may be linear may be so itself."""
    arith.binary(code, op)
    a, b = code.scalar(op.a), code.scalar(op.b)
    result = code.scalar(op.result)
    if (a.nearly is None and b.nearly is None) or result.uniform or result.linear is not None:
        return
    linear = _combined(code, op.spec.mnemonic, _linear(a), _linear(b))
    holds = code.w.both(a.nearly.holds if a.nearly else None, b.nearly.holds if b.nearly else None)
    if linear is not None and holds is not None:
        code.set(op.result, replace(result, nearly=Nearly(linear, holds)))


def _linear(held: Scalar) -> Linear | None:
    """What a scalar is, or may be, as a linear number; None where it is none."""
    if held.uniform:
        return Linear(held.part, 0)
    return held.nearly.linear if held.nearly is not None else held.linear


def _combined(code: KernelCode, mnemonic: str, a: Linear | None, b: Linear | None) -> Linear | None:
    """The sum, difference or product of two linear numbers, if that is linear too."""
    if a is None or b is None:
        return None
    if mnemonic == "add":
        return Linear(code.w.add(a.base, b.base), a.stride + b.stride)
    if mnemonic == "sub":
        return Linear(code.w.sub(a.base, b.base), a.stride - b.stride)
    for linear, factor in ((a, b), (b, a)):
        if factor.stride == 0 and factor.base.literal is not None:
            return Linear(code.w.mul(linear.base, factor.base), linear.stride * factor.base.literal)
    return None
