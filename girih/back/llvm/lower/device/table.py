"""The lowerings of the device language that all targets share."""

from __future__ import annotations

from girih.back.llvm.lower.device import (
    addresses,
    atomics,
    built_ins,
    control,
    members,
    memory,
    numeric,
    private,
    tables,
    widened,
)

DEVICE = memory.LOWERINGS.joined(
    addresses.LOWERINGS,
    atomics.LOWERINGS,
    built_ins.LOWERINGS,
    control.LOWERINGS,
    numeric.LOWERINGS,
    private.LOWERINGS,
    tables.LOWERINGS,
)
"""How the instructions of `girih.ops.device` are lowered, for any number of lanes."""

REPLACING = widened.LOWERINGS.joined(members.LOWERINGS)
"""The rules that stand in place of others: of those of the tensor language, and of `DEVICE`."""
