"""Barriers of the CTA and of warps (PTX ISA "bar", "barrier", "bar.warp.sync", "barrier.cluster").

A barrier waits for all threads that have not ended; one with a count for so many. Threads of one warp wait at one
instruction, as `.aligned` asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Step
from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.instructions.control import parted
from tests.back.nvptx.ptx_machine.special import WARP
from tests.back.nvptx.ptx_machine.types import TYPES, Array

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta, Group

_NAMED = 16
"""How many barriers a CTA has."""


def barrier(draft: Draft) -> Step:
    """bar.sync, bar.arrive, barrier.sync and barrier.arrive."""
    aligned = draft.name == "bar"
    if draft.taken("warp"):
        return _warp_barrier(draft)
    if draft.taken("cluster"):
        return _cluster(draft)
    draft.taken("cta")
    what = draft.expected("sync", "arrive")
    aligned = bool(draft.taken("aligned")) or aligned
    type = TYPES["u32"]
    number = draft.value(type)
    count = draft.value(type) if draft.left else None
    if what == "arrive" and count is None:
        raise draft.unknown("a count of threads is missing")

    def go(cta: Cta, group: Group) -> bool:
        wanted = _same(group, number(cta.registers))
        threads = 0 if count is None else _same(group, count(cta.registers))
        if wanted >= _NAMED or threads % WARP:
            raise Fault(f"there is no barrier {wanted} for {threads} threads")
        waits = f"barrier {wanted} of {threads or 'all'}{' aligned' if aligned else ''}"
        if what == "arrive":
            cta.arrived[wanted] = cta.arrived.get(wanted, 0) + group.mask.count
            group.at += 1
        else:
            group.waits = waits
        release(cta)
        return False

    return parted(draft.control(go))


def _same(group: Group, value: Array) -> int:
    """What all threads of a group have."""
    chosen = group.mask.chosen(value)
    if (chosen != chosen[0]).any():
        raise Fault("threads that come together name different barriers or counts, which the machine does not do")
    return int(chosen[0])


def release(cta: Cta) -> bool:
    """Let go on who waits for a barrier to which all have come. Whether there were any."""
    waiting: dict[str, list[Group]] = {}
    for group in cta.groups:
        if group.waits.startswith("barrier"):
            waiting.setdefault(group.waits.removesuffix(" aligned"), []).append(group)
    released = False
    for waits, groups in waiting.items():
        number, wanted = waits.split()[1], waits.split()[3]
        come = sum(one.mask.count for one in groups) + cta.arrived.get(int(number), 0)
        if come < (cta.living if wanted == "all" else int(wanted)):
            continue
        if wanted != "all" and come > int(wanted):
            raise Fault(f"{come} threads come to barrier {number}, which is for {wanted}")
        _check_warps(cta, groups)
        cta.arrived.pop(int(number), None)
        for one in groups:
            one.waits = ""
            one.at += 1
        if wanted == "all":
            cta.memory.at_barrier()
        released = True
    return released


def _check_warps(cta: Cta, groups: list[Group]) -> None:
    """Threads of one warp wait at one instruction."""
    places = np.full(cta.threads, -1)
    for group in groups:
        places[group.mask.on] = group.at
    for group in groups:
        if not group.waits.endswith("aligned"):
            continue
        for warp in np.unique(group.mask.index // WARP):
            other = places[warp * WARP : (warp + 1) * WARP]
            wrong = (other >= 0) & (other != group.at)
            if wrong.any():
                where = cta.steps[int(other[wrong][0])].instruction.place
                raise Fault(f"other threads of warp {warp} wait for the same barrier at {where}")


def _cluster(draft: Draft) -> Step:
    """barrier.cluster: a cluster is one CTA here."""
    what = draft.expected("arrive", "wait")
    draft.taken("release", "acquire", "relaxed")
    draft.taken("aligned")

    def go(cta: Cta, group: Group) -> bool:
        if what == "arrive":
            group.at += 1
            return True
        group.waits = f"barrier {_NAMED} of all"
        release(cta)
        return False

    return parted(draft.control(go))


def _warp_barrier(draft: Draft) -> Step:
    from tests.back.nvptx.ptx_machine.instructions.warps import together

    draft.expected("sync")
    members = draft.value(TYPES["b32"])
    return together(draft, members, lambda cta, mask, named: None)
