"""Matrices in the instructions on numbers of the device language: component by component."""

from __future__ import annotations

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.elementwise import elementwise
from girih.back.llvm.cpu.matrix.states import MatrixPiece, Parts, operand
from girih.back.llvm.lower.device.numeric import checks, computed
from girih.back.llvm.lower.lowerings import Lowerings
from girih.ir.core import Value
from girih.ir.types import CoopMatrix
from girih.ops.device import DEVICE_LANGUAGE
from girih.ops.device.floats import Float4Decode, Float4Encode, FloatCast, FloatToInteger, UnsignedToFloat
from girih.ops.device.integers import IntegerBinary, ZeroExtend
from girih.ops.device.numeric import Numeric

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""

_WEIGHT = 6
"""About how many instructions a component takes."""


@LOWERINGS.of(
    *DEVICE_LANGUAGE.family(IntegerBinary),
    *DEVICE_LANGUAGE.family(FloatToInteger),
    Float4Decode,
    Float4Encode,
    FloatCast,
    UnsignedToFloat,
    ZeroExtend,
    giving=CoopMatrix,
)
def numeric(code: CpuCode, op: Numeric) -> None:
    """Compute each component from those at the same place."""
    operands: list[Value] = [getattr(op, name) for name in op.spec.operands]

    def compute(at: MatrixPiece, parts: list[Parts]) -> Parts:
        held = [part for (part,) in parts]
        for check in checks(op, code.w, code.features, held):
            with code.at(lanes=at.count, mask=None):
                code.check(op, code.w.any(check.bad), check.words, argument=check.argument.name, by_lane=False)
        return computed(op, code.w, code.features, held)

    (result,) = op.results
    elementwise(code, result, [operand(code, value) for value in operands], compute, _WEIGHT)
