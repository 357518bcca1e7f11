"""The lowerings of the matrices of a kernel: the device's, or arrays of each work-item, whichever was chosen."""

from __future__ import annotations

from typing import Any

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.matrix.meetings import in_both_forms
from girih.back.spirv.matrix import memory, regions, tensor, values
from girih.back.spirv.matrix.choice import MatrixChoice
from girih.back.spirv.matrix.code import MatrixCode

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
    return in_both_forms(DEVICE_MATRICES, software, choice.device)
