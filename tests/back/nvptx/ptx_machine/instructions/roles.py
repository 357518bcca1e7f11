"""What warps need that have roles of their own (PTX ISA "setmaxnreg", "mapa")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Step
from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.instructions.control import parted
from tests.back.nvptx.ptx_machine.syntax import Constant
from tests.back.nvptx.ptx_machine.types import TYPES, Array

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta, Group
    from tests.back.nvptx.ptx_machine.masks import Mask

WARPGROUP = 128
_LEAST, _MOST, _STEP = 24, 256, 8


def whole_warpgroups(cta: Cta, on: Array) -> Array:
    """Which threads are of warpgroups that have come as a whole. Raises `Fault` for one that never can.

    A warpgroup is four warps in a row, the first of which has a number that is a multiple of 4.
    """
    count = -(-cta.threads // WARPGROUP)
    padded = np.zeros((2, count * WARPGROUP), bool)
    padded[0, : cta.threads], padded[1, : cta.threads] = on, cta.live
    come, live = padded.reshape(2, count, WARPGROUP)
    short = come.any(1) & ~live.all(1)
    if short.any():
        raise Fault(f"warpgroup {int(np.flatnonzero(short)[0])} has fewer than {WARPGROUP} threads that have not ended")
    found: Array = np.repeat(come.all(1), WARPGROUP)[: cta.threads]
    return found


def registers_moved(draft: Draft) -> Step:
    """setmaxnreg: warps give registers back, or wait until there are so many more."""
    more = draft.expected("inc", "dec") == "inc"
    draft.expected("sync")
    draft.expected("aligned")
    draft.type("u32")
    operand = draft.operand()
    if not isinstance(operand, Constant) or not _LEAST <= operand.value <= _MOST or operand.value % _STEP:
        raise draft.unknown(f"a multiple of {_STEP} from {_LEAST} to {_MOST} is expected, found {operand}")
    wanted = operand.value

    def go(cta: Cta, group: Group) -> bool:
        ready = whole_warpgroups(cta, group.mask.on)
        waits = "warpgroup members at setmaxnreg"
        chosen = [int(one) for one in np.unique(np.flatnonzero(ready) // WARPGROUP)]
        taken = [one for one in chosen if _take(cta, one, wanted, more=more)]
        if chosen and len(taken) < len(chosen):
            waits = f"registers: {wanted} a thread, of which the CTA has {cta.registers_free} left"
        on = np.isin(np.arange(cta.threads) // WARPGROUP, taken) & group.mask.on
        if not taken:
            group.waits = waits
            return False
        if not (on == group.mask.on).all():
            cta.parted(group, group.mask.on & ~on, group.at, waits)
        group.at += 1
        if not more:
            cta.wake("registers")
        return not cta.apart(group) and len(cta.groups) == 1

    step = parted(draft.control(go))
    step.meets = True
    return step


def _take(cta: Cta, group: int, wanted: int, *, more: bool) -> bool:
    """Give a warpgroup so many registers a thread. Whether there are as many."""
    warps = slice(group * 4, group * 4 + 4)
    now = int(cta.most_registers[warps][0])
    if not now:
        raise Fault("the kernel does not say how many threads, or registers, there are (.maxntid, .reqntid, .maxnreg)")
    if (wanted < now) if more else (wanted > now):
        raise Fault(f"a thread has {now} registers already: {wanted} are no {'increase' if more else 'decrease'}")
    need = (wanted - now) * WARPGROUP
    if need > cta.registers_free:
        return False
    cta.registers_free -= need
    cta.most_registers[warps] = wanted
    return True


def mapped(draft: Draft) -> Step:
    """mapa: an address in another CTA of the cluster, of which there is one."""
    draft.expected("shared::cluster")
    type = draft.type("u32", "u64")
    slot, address, rank = draft.result(type), draft.value(type), draft.value(TYPES["u32"])

    def run(cta: Cta, mask: Mask) -> None:
        if (mask.chosen(rank(cta.registers)) != 0).any():
            raise Fault("an address in another CTA of the cluster: there is one CTA")
        value = address(cta.registers)
        cta.registers[slot] = value if mask.whole else np.where(mask.on, value, cta.registers[slot])

    return draft.step(run)
