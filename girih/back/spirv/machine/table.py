"""The lowerings of a kernel for Vulkan: what machines of one lane share, and matrices as the device has them."""

from __future__ import annotations

from typing import Any

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.matrix.table import SOFT_MATRICES
from girih.back.llvm.lower.one_lane.table import ONE_LANE
from girih.back.spirv.collective import gemm
from girih.back.spirv.machine import functions
from girih.back.spirv.machine.code import VulkanCode
from girih.back.spirv.matrix.choice import MatrixChoice
from girih.back.spirv.matrix.table import matrix_lowerings
from girih.back.spirv.profiles.profile import Profile
from girih.facts.remarks import Remarks, software_matrices


def lowerings_of(choice: MatrixChoice, profile: Profile, remarks: Remarks) -> Lowerings[Any]:
    """The lowerings of a kernel for a profile, with remarks on matrices that the device has not."""
    if profile.has("matrices"):
        for one in choice.software:
            remarks.note(software_matrices(one.reason), one.span)
    shared: Lowerings[VulkanCode] = ONE_LANE
    if profile.has("matrices"):
        shared = shared.replaced(gemm.LOWERINGS)
    return shared.replaced(functions.LOWERINGS).joined(matrix_lowerings(choice, SOFT_MATRICES))
