"""The translation of barriers (SPIR-V 3.52.20)."""

from __future__ import annotations

from girih.front.spirv.handlers import translates
from girih.front.spirv.instructions.scopes import INVOCATION, memory_fields
from girih.front.spirv.translation import Translation
from girih.spirv.instruction import Instruction

_SUBGROUP = 3


@translates("OpControlBarrier")
def control_barrier(t: Translation, one: Instruction) -> None:
    """Wait for the work-items of a scope, of which there are the work-group and smaller ones (Vulkan)."""
    execution = t.integer(one.id("execution"))
    fields = memory_fields(t, one.id("memory"), one.id("semantics")).fields()
    if execution == INVOCATION:
        t.emit("memory_barrier", **fields)
        return
    t.emit("subgroup_barrier" if execution == _SUBGROUP else "work_group_barrier", **fields)


@translates("OpMemoryBarrier")
def memory_barrier(t: Translation, one: Instruction) -> None:
    """Order accesses of the work-item itself."""
    t.emit("memory_barrier", **memory_fields(t, one.id("memory"), one.id("semantics")).fields())
