"""Indices and addresses that come from narrower numbers: what is linear in the lanes stays so unless it wraps around.

A shader computes indices with 32 bits and addresses with 64. An index that grows evenly from lane to lane does so as a
wider number too, unless one of the lanes wraps around; that is asked once, of the first and the last lane, and accesses
to neighbours are written both ways.
"""

from __future__ import annotations

from dataclasses import replace

from girih.back.llvm.emit.text import bits, integer
from girih.back.llvm.lower import arith
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.device import numeric
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.values import Linear, Nearly, Scalar
from girih.ir.core import Value
from girih.ir.types import Number
from girih.ops.device.integers import ZeroExtend
from girih.ops.tile.arith import Add, Binary, Cast, Mul, Sub

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
    if target.size > source.size:
        code.set(wide, replace(result, nearly=_widened(code, linear, 8 * target.size, signed)))


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
