"""Functions of floating-point numbers (`girih.ops.tile.math`)."""

from __future__ import annotations

from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import math
from girih.back.llvm.numbers.values import scalar_type, uniform
from girih.ir.types import Number
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.math import Math

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""


@LOWERINGS.of(*TILE_LANGUAGE.family(Math))
def function(code: KernelCode, op: Math) -> None:
    """Lower a mathematical function."""
    type = scalar_type(op.a.type)
    if not isinstance(type, Number):
        raise TypeError(f"{type} is no number type")
    (a,) = code.together(code.scalar(op.a))
    code.set(op.result, uniform(type, *math.function(code.w, code.features, op.spec.mnemonic, type, a)))
