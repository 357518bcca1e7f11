"""Barriers, with the memory that they order (SPIR-V 3.52.20 "Barrier Instructions", 3.25 "Memory Semantics")."""

from __future__ import annotations

from girih.ir.core import Op
from girih.ir.define import Where, flag, modifier, node, op
from girih.ops.device.language import DEVICE
from girih.ops.tile.memory import SCOPES, SEMANTICS, Scope, Semantics

BARRIERS = "SPIR-V 3.52.20"


@node
class MemoryOrder(Op):
    """The base of barriers: between whom, and in which memories, they order accesses before and behind them.

    `.relaxed` orders nothing. Global memory is buffers and what addresses point to, local memory that of a work-group.
    """

    scope: Scope = modifier(SCOPES, Scope.WORK_GROUP, doc="the work-items between which accesses are ordered")
    semantics: Semantics = modifier(SEMANTICS, Semantics.RELAXED, doc="which accesses are ordered")
    global_fence: bool = flag("global", "accesses to global memory are ordered")
    local_fence: bool = flag("local", "accesses to local memory are ordered")


@op(DEVICE, "work_group_barrier", Where.SPMD, f"{BARRIERS} OpControlBarrier", "", tangled=True, by_work_group=True)
class WorkGroupBarrier(MemoryOrder):
    """Wait until all work-items of the work-group have come here; a barrier that only some come to is run.divergent."""


@op(DEVICE, "subgroup_barrier", Where.SPMD, f"{BARRIERS} OpControlBarrier", "", exchanges=True)
class SubgroupBarrier(MemoryOrder):
    """Wait until the active work-items of the subgroup have come here."""


@op(DEVICE, "memory_barrier", Where.SPMD, f"{BARRIERS} OpMemoryBarrier", "")
class MemoryBarrier(MemoryOrder):
    """Order the work-item's own accesses before and behind this place, for others that atomic accesses synchronise."""
