"""The threads of one CTA, executed together in groups that are at the same instruction.

Of the groups that can go on, the one that is deepest in calls goes first, and of these the one at the lowest
instruction: so threads that a branch parted meet again where the code of both ends. A group that waits stays where it
is, and grows by those that come there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.asynchronous import Asynchronous
from tests.back.nvptx.ptx_machine.build import Registers, Step
from tests.back.nvptx.ptx_machine.errors import BudgetSpent, Deadlock, Fault, PtxError
from tests.back.nvptx.ptx_machine.masks import Mask
from tests.back.nvptx.ptx_machine.order.clocks import Clocks, Snapshot
from tests.back.nvptx.ptx_machine.schedule import Schedule
from tests.back.nvptx.ptx_machine.special import WARP
from tests.back.nvptx.ptx_machine.types import Array

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.instructions.barriers import Vote
    from tests.back.nvptx.ptx_machine.matrix.in_flight import InFlight
    from tests.back.nvptx.ptx_machine.memory import Memory
    from tests.back.nvptx.ptx_machine.module import Launch


@dataclass(slots=True, eq=False)
class Group:
    """Threads that are at one instruction, with the calls that they came through. `waits` says for what, if so."""

    at: int
    stack: tuple[int, ...]
    mask: Mask
    waits: str = ""
    words: Callable[[], str] | None = None
    """What it waits for, in more words."""
    parked: bool = False
    """Whether others have their turn first."""
    part: int = 0
    """Which part of the threads these are of, of those that a launch executes one after the other."""

    @property
    def order(self) -> tuple[bool, int, int, int]:
        return self.parked, self.part, -len(self.stack), self.at


@dataclass(slots=True, eq=False)
class Cta:
    """A CTA while it is executed."""

    launch: Launch
    steps: list[Step]
    registers: Registers
    memory: Memory
    threads: int
    groups: list[Group]
    calls: list[Array]
    """The parameters of calls: the bytes of each thread in a row."""
    asynchronous: Asynchronous
    schedule: Schedule
    clocks: Clocks | None = None
    """Who may rely on what, where something goes on beside the threads."""
    products: InFlight | None = None
    """The registers that `wgmma` has, where there is any."""
    registers_free: int = 0
    """How many registers `setmaxnreg` has freed."""
    most_registers: Array = field(init=False)
    """How many registers a thread of each warp may have; 0 where the kernel does not say."""
    live: Array = field(init=False)
    """Which threads have not ended."""
    living: int = field(init=False)
    arrived: dict[int, int] = field(default_factory=dict)
    """How many threads came to a barrier, by its number, without waiting there."""
    brought: dict[int, Snapshot] = field(default_factory=dict)
    """What those knew."""
    votes: dict[int, Vote] = field(default_factory=dict)
    """What threads said that wait at a barrier, by its number."""

    def __post_init__(self) -> None:
        self.live = np.ones(self.threads, bool)
        self.living = self.threads
        self.most_registers = np.full(-(-self.threads // WARP), self.launch.most_registers)
        for group in list(self.groups):
            self.apart(group)

    def run(self) -> None:
        """Execute all threads to their end."""
        self._run()
        try:
            self.asynchronous.finished()
        except Fault as fault:
            raise Fault(f"{fault} (CTA {self.launch.place})") from None

    def _run(self) -> None:
        while self.groups:
            if self.schedule.makes_copy():
                self.asynchronous.go_on()
            self._phases()
            ready = [one for one in self.groups if not one.waits]
            if ready:
                self._advance(self.schedule.chosen(ready))
            elif not self._woken():
                raise Deadlock(f"no thread can go on: {self._waiting()}")

    def mask(self, on: Array) -> Mask:
        return Mask(on, self.living)

    def full(self, slot: int) -> Array:
        """A register with one element a thread."""
        found = self.registers[slot]
        return found if len(found) == self.threads else np.broadcast_to(found, (self.threads,))

    # --- groups --------------------------------------------------------------------------

    def _advance(self, group: Group) -> None:
        group = self._met(group)
        group.mask = self.mask(group.mask.on)
        depth = len(group.stack)
        limit = min(
            (
                one.at
                for one in self.groups
                if one is not group and one.part == group.part and len(one.stack) == depth and one.at > group.at
            ),
            default=len(self.steps),
        )
        turn = self.schedule.turn() if len(self.groups) > 1 else self.launch.left + 1
        steps, counts = self.steps, self.launch.counts
        at, first = group.at, True
        begun = turn
        try:
            while (first or at < limit) and turn > 0:
                first = False
                turn -= 1
                step = steps[at]
                counts[at] += 1
                if step.touches is not None or step.watched is not None:
                    self._touch(step, group.mask)
                if step.run is None:
                    group.at = at
                    assert step.control is not None
                    if not step.control(self, group):
                        break
                    at = group.at
                    continue
                mask = group.mask
                if step.guard >= 0:
                    mask = self.guarded(step, mask)
                if mask.count:
                    step.run(self, mask)
                at += 1
                group.at = at
        except Fault as fault:
            raise self._told(fault, steps[at], group) from None
        if group.waits.startswith("warp") and self._others_at(group):
            group.waits = ""
        group.parked = turn <= 0
        if not group.parked or all(one.parked or one.waits for one in self.groups):
            for one in self.groups:
                one.parked = False
        self.launch.left -= begun - turn
        if self.launch.left < 0:
            raise BudgetSpent(
                f"more instructions were executed than allowed, the last at {steps[at].instruction.place}"
            )

    def _touch(self, step: Step, mask: Mask) -> None:
        """Threads touch registers of `wgmma`."""
        if step.guard >= 0:
            mask = self.guarded(step, mask)
        if not mask.count or self.products is None:
            return
        if step.touches is not None:
            self.products.touch(mask, step.touches)
        elif step.watched is not None:
            self.products.move(mask, *step.watched)

    def _others_at(self, group: Group) -> bool:
        """Whether others wait where a group waits, which it meets when it goes on."""
        return any(
            one is not group and one.at == group.at and one.stack == group.stack and one.waits.startswith("warp")
            for one in self.groups
        )

    def _met(self, group: Group) -> Group:
        """The group with all others of its part that are where it is, and with all where threads act together.

        Those that wait for a barrier stay by themselves: it may be another one.
        """
        meets = self.steps[group.at].meets
        same = [
            one
            for one in self.groups
            if one.at == group.at
            and one.stack == group.stack
            and (meets or one.part == group.part)
            and not one.waits.startswith("barrier")
        ]
        if len(same) == 1:
            return group
        on = np.logical_or.reduce([one.mask.on for one in same])
        for one in same:
            if one is not group:
                self.groups.remove(one)
        group.mask, group.waits = self.mask(on), ""
        return group

    def guarded(self, step: Step, mask: Mask) -> Mask:
        """The threads of a mask that execute an instruction with a predicate."""
        chosen = self.registers[step.guard]
        return self.mask(mask.on & (~chosen if step.negated else chosen))

    def parted(self, group: Group, on: Array, at: int, waits: str = "", words: Callable[[], str] | None = None) -> None:
        """Make some threads of a group, not all, a group of their own."""
        self.groups.append(Group(at, group.stack, self.mask(on), waits, words, part=group.part))
        group.mask = self.mask(group.mask.on & ~on)

    def apart(self, group: Group) -> bool:
        """Make the parts of a group groups of their own. Whether there were several."""
        parts = self.schedule.parts
        numbers = parts[group.mask.on]
        group.part = int(numbers[0])
        if (numbers == group.part).all():
            return False
        for part in np.unique(numbers)[1:]:
            self.groups.append(Group(group.at, group.stack, self.mask(group.mask.on & (parts == part)), part=int(part)))
        group.part = int(numbers.min())
        group.mask = self.mask(group.mask.on & (parts == group.part))
        return True

    def end(self, group: Group, on: Array) -> None:
        """Threads of a group end."""
        self.asynchronous.ended([int(one) for one in np.flatnonzero(on)])
        if self.products is not None:
            self.products.ended(on)
        self.live = self.live & ~on
        self.living = int(np.count_nonzero(self.live))
        group.mask = self.mask(group.mask.on & ~on)
        if not group.mask.count:
            self.groups.remove(group)

    def warps(self, on: Array) -> Array:
        """The threads of each warp as the bits of an integer, for each thread that of its warp."""
        lanes = np.arange(self.threads) % WARP
        bits = np.where(on, np.uint32(1) << lanes.astype(np.uint32), np.uint32(0)).astype(np.uint32)
        starts = np.arange(0, self.threads, WARP)
        of = np.bitwise_or.reduceat(bits, starts)
        return np.repeat(of, WARP)[: self.threads]

    # --- waiting -------------------------------------------------------------------------

    def _woken(self) -> bool:
        """Whether a group that waits can go on, now that threads have ended, or the launch has something done late."""
        from tests.back.nvptx.ptx_machine.instructions.barriers import release

        if release(self) or self._phase_over():
            return True
        for group in list(self.groups):
            if group in self.groups and group.waits.startswith("warp"):
                group.waits, at = "", group.at
                self._advance(group)
                if group not in self.groups or group.at != at or not all(one.waits for one in self.groups):
                    return True
        return False

    def _phase_over(self) -> bool:
        """Whether a group that waits for an mbarrier can go on; as long as none can, copies that are late are made."""
        while self.asynchronous.go_on():
            if self._phases():
                return True
        return False

    def _phases(self) -> bool:
        """Let go on who waits for an mbarrier, where a phase has ended. Whether there were any."""
        return self.asynchronous.phase_ended() and self.wake("mbarrier")

    def wake(self, what: str) -> bool:
        """Let those look again who wait for something. Whether there were any."""
        found = [one for one in self.groups if one.waits.startswith(what)]
        for one in found:
            one.waits, one.words = "", None
        return bool(found)

    def _waiting(self) -> str:
        return "; ".join(
            f"{one.mask.count} threads (first {int(one.mask.index[0])}) wait for {one.waits}"
            f"{'' if one.words is None else f' ({one.words()})'} at {self.steps[one.at].instruction.place}"
            for one in sorted(self.groups, key=lambda one: one.at)
        )

    def _told(self, fault: Fault, step: Step, group: Group) -> PtxError:
        mask = self.guarded(step, group.mask) if step.guard >= 0 else group.mask
        thread = int(mask.index[min(fault.position, mask.count - 1)]) if mask.count else -1
        one = step.instruction
        found = Fault(f"{one.opcode}: {fault} (thread {thread} of CTA {self.launch.place}, {one.place})")
        found.position = thread
        return found
