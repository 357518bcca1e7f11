"""The lowerings of the matrices of a kernel: the device's, or arrays of each work-item, whichever was chosen."""

from __future__ import annotations

from typing import Any

from girih.back.llvm.lower.lowerings import Carrier, Lowerings
from girih.back.spirv.matrix import memory, regions, tensor, values
from girih.back.spirv.matrix.choice import MatrixChoice
from girih.back.spirv.matrix.code import MatrixCode
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix
from girih.ops.tile import TILE_LANGUAGE

DEVICE_MATRICES = Lowerings[MatrixCode]().joined(
    values.LOWERINGS, memory.LOWERINGS, regions.LOWERINGS, tensor.LOWERINGS
)
"""How matrices of the device are lowered."""


def matrix_lowerings(choice: MatrixChoice, software: Lowerings[Any]) -> Lowerings[Any]:
    """The lowerings of a kernel's matrices; `software` has those of matrices that the device has not.

    Each instruction goes the way that was chosen for the matrices that meet in it.
    """
    if not choice.device:
        return software
    mixed = Lowerings[MatrixCode]()

    def lower(code: MatrixCode, op: Op) -> None:
        table: Lowerings[Any] = DEVICE_MATRICES if choice.is_device(op) else software
        table.rule(op)(code, op)

    def carry(code: MatrixCode, value: Value) -> Carrier[MatrixCode]:
        table: Lowerings[Any] = DEVICE_MATRICES if value in choice.device else software
        return table.carrier(code, value)

    for op in TILE_LANGUAGE.ops.values():
        if op in software or op in DEVICE_MATRICES:
            mixed.of(op)(lower)
        elif software.rules(op) or DEVICE_MATRICES.rules(op):
            mixed.of(op, giving=CoopMatrix)(lower)
    mixed.carry(carry, CoopMatrix)
    return mixed
