"""The lowerings of the device language that all targets share."""

from __future__ import annotations

from girih.back.llvm.lower.device import built_ins, memory, numeric, widened

DEVICE = memory.LOWERINGS.joined(built_ins.LOWERINGS, numeric.LOWERINGS)
"""How the instructions of `girih.ops.device` are lowered, for any number of lanes."""

WIDENED = widened.LOWERINGS
"""The rules that stand in place of those of the tensor language."""
