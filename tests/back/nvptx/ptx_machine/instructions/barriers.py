"""Barriers of the CTA and of warps (PTX ISA "bar", "barrier", "bar.warp.sync", "barrier.cluster").

A barrier waits for all threads that have not ended; one with a count for so many. Threads of one warp wait at one
instruction, as `.aligned` asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Step
from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.instructions.control import parted
from tests.back.nvptx.ptx_machine.order.clocks import Snapshot
from tests.back.nvptx.ptx_machine.special import WARP
from tests.back.nvptx.ptx_machine.types import TYPES, Array

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta, Group
    from tests.back.nvptx.ptx_machine.masks import Mask

_NAMED = 16
"""How many barriers a CTA has."""


def barrier(draft: Draft) -> Step:
    """bar.sync, bar.arrive and bar.red of predicates, and the same of barrier."""
    aligned = draft.name == "bar"
    if draft.taken("warp"):
        return _warp_barrier(draft)
    if draft.taken("cluster"):
        return _cluster(draft)
    draft.taken("cta")
    what = draft.expected("sync", "arrive", "red")
    mode = draft.expected("or", "and") if what == "red" else ""
    aligned = bool(draft.taken("aligned")) or aligned
    type = TYPES["u32"]
    slot = draft.result(draft.type("pred")) if mode else -1
    number = draft.value(type)
    count = draft.value(type) if draft.left > bool(mode) else None
    says = draft.predicate() if mode else None
    nobody = np.zeros(1, np.uint32)
    if what == "arrive" and count is None:
        raise draft.unknown("a count of threads is missing")

    def go(cta: Cta, group: Group) -> bool:
        numbers, counts = number(cta.registers), nobody if count is None else count(cta.registers)
        _apart(cta, group, numbers, counts)
        wanted, threads = int(group.mask.chosen(numbers)[0]), int(group.mask.chosen(counts)[0])
        if wanted >= _NAMED or threads % WARP:
            raise Fault(f"there is no barrier {wanted} for {threads} threads")
        waits = f"barrier {wanted} of {threads or 'all'}{' aligned' if aligned else ''}"
        if what == "arrive":
            cta.arrived[wanted] = cta.arrived.get(wanted, 0) + group.mask.count
            if cta.clocks is not None:
                cta.brought.setdefault(wanted, Snapshot()).join(cta.clocks.release(group.mask.index))
            group.at += 1
        else:
            group.waits, group.words = waits, partial(_come, cta, wanted)
            if says is not None:
                yes = np.broadcast_to(says(cta.registers), (cta.threads,))
                vote = cta.votes.setdefault(wanted, Vote(mode, slot, [], []))
                vote.voters.extend(group.mask.index.tolist())
                vote.yes.extend(yes[group.mask.index].tolist())
        release(cta)
        return False

    return parted(draft.control(go))


def _apart(cta: Cta, group: Group, numbers: Array, counts: Array) -> None:
    """Make those who name another barrier, or another count, than the first one a group of their own."""
    first = [group.mask.chosen(one)[0] for one in (numbers, counts)]
    same = group.mask.on & (numbers == first[0]) & (counts == first[1])
    other = group.mask.on & ~same
    if not other.any():
        return
    if np.isin(np.flatnonzero(same) // WARP, np.flatnonzero(other) // WARP).any():
        raise Fault("threads of one warp name different barriers, or different counts, at the same instruction")
    cta.parted(group, other, group.at)


@dataclass(frozen=True, slots=True)
class Vote:
    """What threads said that wait at a barrier: how it is combined, and the register of predicates that it goes to."""

    mode: str
    slot: int
    voters: list[int]
    yes: list[bool]


def _tell(cta: Cta, vote: Vote | None, groups: list[Group]) -> None:
    """Tell the threads that were waiting what all said, where they were asked. Raises `Fault` if only some were."""
    if vote is None:
        return
    threads = np.flatnonzero(np.logical_or.reduce([one.mask.on for one in groups]))
    if sorted(vote.voters) != threads.tolist():
        raise Fault("some threads come to a barrier that combines predicates, and some to one that does not")
    found = cta.full(vote.slot).copy()
    found[threads] = any(vote.yes) if vote.mode == "or" else all(vote.yes)
    cta.registers[vote.slot] = found


def _come(cta: Cta, number: int) -> str:
    """How many have come to a barrier, in words."""
    waiting = sum(one.mask.count for one in cta.groups if one.waits.startswith(f"barrier {number} "))
    return f"{waiting} wait there, {cta.arrived.get(number, 0)} have arrived"


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
        if cta.clocks is not None:
            threads = np.flatnonzero(np.logical_or.reduce([one.mask.on for one in groups]))
            cta.clocks.meet(threads)
            cta.clocks.acquire(threads, cta.brought.pop(int(number), Snapshot()))
        _tell(cta, cta.votes.pop(int(number), None), groups)
        for one in groups:
            one.waits, one.words = "", None
            one.at += 1
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
    return together(draft, members, _met)


def _met(cta: Cta, mask: Mask, named: Array) -> None:
    if cta.clocks is None:
        return
    # Members that name each other meet; those of one warp with other masks do not.
    for mask_of in np.unique(named[mask.index]):
        cta.clocks.meet_warps(mask.on & (named == mask_of), WARP)
