"""Barriers on the CPU (`girih.ops.device.barriers`): subgroups are coroutines, lanes are in step.

One thread executes a work-group, so that only what others see needs an order in memory.
"""

from __future__ import annotations

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.lower.atomics import fence
from girih.back.llvm.lower.lowerings import Lowerings
from girih.ops.device.barriers import MemoryBarrier, MemoryOrder, SubgroupBarrier, WorkGroupBarrier
from girih.ops.tile.memory import Scope

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""


def _order(code: CpuCode, op: MemoryOrder) -> None:
    """Order what threads of other work-groups may see."""
    if op.global_fence and op.scope in (Scope.DEVICE, Scope.CROSS_DEVICE):
        fence(code, op.semantics, "")


@LOWERINGS.of(WorkGroupBarrier)
def work_group_barrier(code: CpuCode, op: WorkGroupBarrier) -> None:
    """Lower a barrier that all work-items of the work-group must meet."""
    code.met_by_all(op, work_group=True)
    _order(code, op)
    code.barrier()


@LOWERINGS.of(SubgroupBarrier, MemoryBarrier)
def subgroup_barrier(code: CpuCode, op: SubgroupBarrier | MemoryBarrier) -> None:
    """Lower a barrier that nobody waits at: the lanes of a subgroup come together."""
    _order(code, op)
