"""The lowerings of a kernel for Vulkan: what machines of one lane share, and matrices as the device has them."""

from __future__ import annotations

from typing import Any

from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.table import ONE_LANE
from girih.back.spirv.machine import functions
from girih.back.spirv.machine.code import VulkanCode
from girih.back.spirv.profiles.profile import Profile
from girih.facts.remarks import Remarks
from girih.ir.core import Function


def lowerings_of(function: Function, profile: Profile, remarks: Remarks) -> Lowerings[Any]:
    """The lowerings of a kernel for a profile, with remarks on the choice."""
    shared: Lowerings[VulkanCode] = ONE_LANE
    return shared.replaced(functions.LOWERINGS)
