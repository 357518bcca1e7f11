"""The meaning of barriers (`girih.ops.device.barriers`)."""

from __future__ import annotations

from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.races.order import GLOBAL, LOCAL
from girih.ops.device.barriers import MemoryBarrier, MemoryOrder, SubgroupBarrier, WorkGroupBarrier
from girih.ops.tile.memory import Scope, Semantics


def memories_of(op: MemoryOrder) -> tuple[int, ...]:
    """The memories in which a barrier orders accesses."""
    if op.semantics is Semantics.RELAXED:
        return ()
    fenced = (op.global_fence, GLOBAL), (op.local_fence, LOCAL)
    return tuple(memory for fence, memory in fenced if fence)


@meaning(WorkGroupBarrier)
def work_group_barrier(machine: Machine, op: WorkGroupBarrier) -> None:
    """Check that all work-items meet the barrier, and order what they did before it."""
    machine.together(op, 2)
    memories, races = memories_of(op), machine.races
    if races is None or not memories or op.scope is Scope.SUBGROUP:
        return
    races.advance(memories, machine.active_groups(), copies=False)
    if op.scope is not Scope.WORK_GROUP:
        races.fence(op, memories, machine.mask)


@meaning(SubgroupBarrier)
def subgroup_barrier(machine: Machine, op: SubgroupBarrier) -> None:
    """Order what the active work-items of each subgroup did; they come here together anyway."""
    if machine.races is not None:
        machine.races.meet(memories_of(op), machine.mask)
        if op.scope in (Scope.DEVICE, Scope.CROSS_DEVICE):
            machine.races.fence(op, memories_of(op), machine.mask)


@meaning(MemoryBarrier)
def memory_barrier(machine: Machine, op: MemoryBarrier) -> None:
    """Order what the work-item itself does, for those that its atomic accesses synchronise with."""
    if machine.races is not None:
        machine.races.fence(op, memories_of(op), machine.mask)
