"""Functions of floating-point numbers (`girih.ops.tile.math`)."""

from __future__ import annotations

from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import math
from girih.back.llvm.numbers.values import scalar_type, uniform
from girih.ir.core import Value
from girih.ir.types import Number
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.math import FusedMultiplyAdd, Math, Power

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""


@LOWERINGS.of(*TILE_LANGUAGE.family(Math))
def function(code: KernelCode, op: Math) -> None:
    """Lower a mathematical function."""
    type = _number(op.a)
    (a,) = code.together(code.scalar(op.a))
    code.set(op.result, uniform(type, *math.function(code.w, code.features, op.spec.mnemonic, type, a)))


@LOWERINGS.of(Power)
def power(code: KernelCode, op: Power) -> None:
    """Lower a power."""
    type = _number(op.a)
    a, b = code.together(code.scalar(op.a), code.scalar(op.b))
    code.set(op.result, uniform(type, *math.power(code.w, code.features, type, a, b)))


@LOWERINGS.of(FusedMultiplyAdd)
def fused_multiply_add(code: KernelCode, op: FusedMultiplyAdd) -> None:
    """Lower a multiplication and addition that is rounded once."""
    type = _number(op.a)
    a, b, c = code.together(*(code.scalar(value) for value in (op.a, op.b, op.c)))
    code.set(op.result, uniform(type, *math.fused_multiply_add(code.w, code.features, type, a, b, c)))


def _number(value: Value) -> Number:
    type = scalar_type(value.type)
    if not isinstance(type, Number):
        raise TypeError(f"{type} is no number type")
    return type
