"""The lowerings of the device language that all targets share."""

from __future__ import annotations

from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.lowerings import Lowerings

DEVICE = Lowerings[KernelCode]().joined()
"""How the instructions of `girih.ops.device` are lowered, for any number of lanes."""
