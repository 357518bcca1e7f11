"""The lowerings of the CPU for the device language, which are loaded when a function needs them."""

from __future__ import annotations

from girih.back.llvm.cpu.device import CPU, DEVICE, WIDENED, barriers, from, girih.back.llvm.cpu.table, girih.back.llvm.lower.device.table, import, matrices, numeric, subgroup
CPU_DEVICE = CPU.joined(DEVICE, barriers.LOWERINGS, matrices.LOWERINGS, numeric.LOWERINGS, subgroup.LOWERINGS).replaced(WIDENED)
"""How the CPU lowers every instruction of the device language, and of the tensor language."""
