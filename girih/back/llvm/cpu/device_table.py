"""The lowerings of the CPU for the device language, which are loaded when a function needs them."""

from __future__ import annotations

from girih.back.llvm.cpu.device import barriers, matrices, numeric, private, subgroup
from girih.back.llvm.cpu.table import CPU
from girih.back.llvm.lower.device.table import DEVICE, REPLACING

CPU_DEVICE = CPU.joined(
    DEVICE,
    barriers.LOWERINGS,
    matrices.LOWERINGS,
    numeric.LOWERINGS,
    private.LOWERINGS,
    subgroup.LOWERINGS,
).replaced(REPLACING)
"""How the CPU lowers every instruction of the device language, and of the tensor language."""
