"""Barriers in shared memory (PTX ISA "Parallel Synchronization and Communication Instructions: mbarrier").

A wait that fails makes its threads wait until the phase is complete, which `try_wait` may do for a time that nobody
promises; `test_wait` is false at once, and time goes on: a copy that is late is made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.asynchronous import MOST_ARRIVALS, Barrier
from tests.back.nvptx.ptx_machine.build import Draft, Step
from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.instructions.control import parted
from tests.back.nvptx.ptx_machine.memory import WINDOWS
from tests.back.nvptx.ptx_machine.syntax import Constant, Word
from tests.back.nvptx.ptx_machine.types import TYPES, Array

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta, Group
    from tests.back.nvptx.ptx_machine.masks import Mask

_SHARED = ("shared", "shared::cta", "shared::cluster")
_STATE = np.uint64(0x6D62617272696572)
"""What lies in memory where an mbarrier is, so that it is seen when something is written over it."""


def mbarrier(draft: Draft) -> Step:
    """mbarrier."""
    draft.layout.asynchronous = True
    what = draft.expected(*_FORMS)
    return _FORMS[what](draft)


def each(mask: Mask, *values: Array) -> list[tuple[int, ...]]:
    """The integers that each thread of a mask has."""
    return list(zip(*(map(int, mask.chosen(one)) for one in values), strict=True))


def shared_address(address: int, space: str) -> int:
    """An address in shared space, which may be given as a generic one."""
    if space != "generic":
        return address
    if address >> 56 != WINDOWS["shared"] >> 56:
        raise Fault(f"the generic address {address:#x} is not in shared memory")
    return address - WINDOWS["shared"]


def barrier_at(cta: Cta, address: int, thread: int, space: str = "shared") -> Barrier:
    """The mbarrier at an address, untouched, of which a thread knows that it has begun."""
    place = shared_address(address, space)
    found = cta.asynchronous.barrier(place)
    first, when = found.begun
    if cta.clocks is not None and first not in (-1, thread) and cta.clocks.known[thread, first] < when:
        raise Fault(f"thread {thread} uses the mbarrier at shared address {place:#x} before it can know that thread "
                    f"{first} has initialised it")  # fmt: skip
    if cta.memory.spans("shared", place, 8, write=False).view(np.uint64)[0] != _STATE:
        raise Fault(f"something was written over the mbarrier at shared address {place:#x}")
    return found


def counting(cta: Cta, address: int, thread: int) -> Barrier:
    """The mbarrier that counts a copy which a thread starts: its beginning is visible to copies."""
    found = barrier_at(cta, address, thread)
    first, when = found.begun
    if cta.clocks is not None and not found.announced and cta.clocks.visible[thread, first] < when:
        raise Fault(f"the mbarrier at shared address {address:#x} is not visible to copies: no fence.proxy.async, nor "
                    f"fence.mbarrier_init, came after thread {first} had initialised it")  # fmt: skip
    return found


def counted_by(cta: Cta, address: int) -> int:
    """The column of the copies that an mbarrier counts: their stamps are the phases that they end, from 1 on."""
    assert cta.clocks is not None
    return cta.clocks.column("mbarrier", address, f"a copy counted by the mbarrier at {address:#x}")


def _modifiers(draft: Draft) -> tuple[str, bool]:
    """The space, and whether the access orders nothing; what scope is asked for changes nothing here."""
    relaxed = draft.taken("acquire", "release", "relaxed") == "relaxed"
    draft.taken("cta", "cluster")
    space = "shared" if draft.taken(*_SHARED) else "generic"
    draft.expected("b64")
    return space, relaxed


def _given(cta: Cta, mask: Mask, *values: Array) -> list[tuple[int, ...]]:
    """The number of each thread of a mask, and the integers that it has."""
    return each(mask, np.arange(cta.threads), *values)


def _init(draft: Draft) -> Step:
    space, _ = _modifiers(draft)
    at, count = draft.address(), draft.value(TYPES["u32"])

    def run(cta: Cta, mask: Mask) -> None:
        for thread, address, wanted in _given(cta, mask, at(cta.registers), count(cta.registers)):
            place = shared_address(address, space)
            if place % 8 or not 1 <= wanted <= MOST_ARRIVALS:
                raise Fault(f"no mbarrier is at {place:#x} for {wanted} arrivals")
            if place in cta.asynchronous.barriers:
                raise Fault(f"there is an mbarrier at shared address {place:#x} already")
            cta.memory.spans("shared", place, 8, write=True).view(np.uint64)[0] = _STATE
            stamp = 0 if cta.clocks is None else cta.clocks.stamp
            cta.asynchronous.barriers[place] = Barrier(wanted, wanted, begun=(thread, stamp))

    return draft.step(run)


def _inval(draft: Draft) -> Step:
    space, _ = _modifiers(draft)
    at = draft.address()

    def run(cta: Cta, mask: Mask) -> None:
        for thread, address in _given(cta, mask, at(cta.registers)):
            found = barrier_at(cta, address, thread, space)
            if found.bytes:
                raise Fault(f"the mbarrier at {address:#x} is given up while {found.words()}")
            del cta.asynchronous.barriers[shared_address(address, space)]

    return draft.step(run)


def _bytes(draft: Draft) -> Step:
    """expect_tx, complete_tx."""
    expects = draft.instruction.opcode.split(".")[1] == "expect_tx"
    space, _ = _modifiers(draft)
    at, size = draft.address(), draft.value(TYPES["u32"])

    def run(cta: Cta, mask: Mask) -> None:
        for thread, address, count in _given(cta, mask, at(cta.registers), size(cta.registers)):
            barrier = barrier_at(cta, address, thread, space)
            barrier.expect(count) if expects else barrier.complete(count)

    return draft.step(run)


def _arrive(draft: Draft) -> Step:
    """arrive and arrive_drop, with the bytes that are expected besides, or a count."""
    drops = draft.instruction.opcode.split(".")[1] == "arrive_drop"
    expects, incomplete = bool(draft.taken("expect_tx")), bool(draft.taken("noComplete"))
    space, relaxed = _modifiers(draft)
    target = draft.operand()
    slot = -1 if target == Word("_") else draft.slot(target, TYPES["b64"])
    at = draft.address()
    if (expects or incomplete) and not draft.left:
        raise draft.unknown("a count is missing")
    number = draft.value(TYPES["u32"]) if draft.left else draft.reader(Constant(1), TYPES["u32"])

    def arrive(cta: Cta, thread: int, address: int, count: int) -> int:
        barrier = barrier_at(cta, address, thread, space)
        state = barrier.phase << 32 | barrier.pending
        if cta.clocks is not None and not relaxed:
            barrier.arrived.join(cta.clocks.release(np.array([thread])))
        if expects:
            barrier.expect(count)
        if incomplete and count >= barrier.pending:
            raise Fault("the arrival would complete the phase, which .noComplete promises it does not")
        if drops:
            barrier.wanted -= 1 if expects else count
        barrier.arrive(1 if expects else count)
        return state

    def run(cta: Cta, mask: Mask) -> None:
        states = [arrive(cta, *one) for one in _given(cta, mask, at(cta.registers), number(cta.registers))]
        if slot >= 0:
            cta.registers[slot] = mask.spread(np.array(states, np.uint64), cta.registers[slot])

    return draft.step(run)


def _wait(draft: Draft) -> Step:
    """test_wait, try_wait."""
    blocks = draft.instruction.opcode.split(".")[1] == "try_wait"
    parity = bool(draft.taken("parity"))
    space, relaxed = _modifiers(draft)
    slot, at = draft.result(TYPES["pred"]), draft.address()
    given = draft.value(TYPES["u32" if parity else "b64"])
    if blocks and draft.left:
        draft.value(TYPES["u32"])

    def complete(barrier: Barrier, told: int) -> bool:
        if parity and told not in (0, 1):
            raise Fault(f"the parity of a phase is 0 or 1, found {told}")
        return barrier.phase & 1 != told if parity else barrier.phase != told >> 32

    def go(cta: Cta, group: Group) -> bool:
        mask = group.mask
        asked = _given(cta, mask, at(cta.registers), given(cta.registers))
        found = np.array([complete(barrier_at(cta, place, one, space), told) for one, place, told in asked])
        if not relaxed:
            _acquired(cta, [(one, place) for (one, place, _), over in zip(asked, found, strict=True) if over], space)
        gives_up = blocks and not found.all() and cta.schedule.gives_up()
        if blocks and not found.any() and not gives_up:
            _, place, told = asked[0]
            group.waits, group.words = "mbarrier phase", partial(_lacking, cta, shared_address(place, space), told)
            return False
        if blocks and not found.all() and not gives_up:
            _, place, told = asked[int(np.flatnonzero(~found)[0])]
            words = partial(_lacking, cta, shared_address(place, space), told)
            cta.parted(group, _among(mask, ~found), group.at, "mbarrier phase", words)
            found = found[found]
        elif not found.all():
            cta.asynchronous.go_on()
        cta.registers[slot] = cta.mask(group.mask.on).spread(found, cta.registers[slot])
        whole = group.mask.count == mask.count
        group.at += 1
        return whole

    return parted(draft.control(go))


def _lacking(cta: Cta, address: int, told: int) -> str:
    """What a wait lacks, in words."""
    return f"mbarrier at shared address {address:#x}, asked for {told}; {cta.asynchronous.barrier(address).words()}"


def _acquired(cta: Cta, over: list[tuple[int, int]], space: str) -> None:
    """Threads have seen the end of phases, by the addresses of their mbarriers."""
    if cta.clocks is None:
        return
    threads: dict[int, list[int]] = {}
    for thread, address in over:
        threads.setdefault(shared_address(address, space), []).append(thread)
    for address, some in threads.items():
        barrier = cta.asynchronous.barrier(address)
        cta.clocks.acquire(np.array(some), barrier.passed)
        cta.clocks.learn(np.array(some), counted_by(cta, address), barrier.phase)


def _among(mask: Mask, chosen: Array) -> Array:
    """Some threads of a mask, given one for each of its threads."""
    on = np.zeros_like(mask.on)
    on[mask.index[chosen]] = True
    return on


def _pending(draft: Draft) -> Step:
    draft.expected("b64")
    slot, state = draft.result(TYPES["u32"]), draft.value(TYPES["b64"])
    return draft.pure(slot, lambda r: (state(r) & np.uint64(0xFFFFFFFF)).astype(np.uint32))


_FORMS: dict[str, Callable[[Draft], Step]] = {
    "init": _init,
    "inval": _inval,
    "expect_tx": _bytes,
    "complete_tx": _bytes,
    "arrive": _arrive,
    "arrive_drop": _arrive,
    "test_wait": _wait,
    "try_wait": _wait,
    "pending_count": _pending,
}
