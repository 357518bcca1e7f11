"""What goes on beside the threads of a CTA: copies that are under way, and the barriers in memory that count them.

A launch says when copies are made: `at_once`; or late, only when a thread waits for them and nothing else can go on, in
the order in which they were asked for (`late`) or the other way round (`reversed`); or at any time, in any order
(`random`). Right code cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.order.clocks import Snapshot

ORDERS = ("at_once", "late", "reversed", "random")
MOST_ARRIVALS = (1 << 20) - 1
"""The largest count of arrivals, and of bytes, of an mbarrier (PTX ISA "Contents of the mbarrier object")."""


@dataclass(slots=True)
class Barrier:
    """An mbarrier: `wanted` arrivals end a phase, of which `pending` are missing, with `bytes` that are under way."""

    wanted: int
    pending: int
    bytes: int = 0
    phase: int = 0
    begun: tuple[int, int] = (-1, 0)
    """The thread that initialised it, and when."""
    announced: bool = False
    """Whether that thread has made it visible to copies, by `fence.mbarrier_init`."""
    arrived: Snapshot = field(default_factory=Snapshot)
    """What those that have arrived in this phase knew."""
    passed: Snapshot = field(default_factory=Snapshot)
    """What is known by those that have seen the last phase end."""
    changed: bool = False
    """Whether a phase has ended that the CTA has not looked at."""

    def settle(self) -> None:
        """Begin the next phase where this one is complete."""
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.wanted
            self.passed.join(self.arrived)
            self.arrived = Snapshot()
            self.changed = True

    def arrive(self, count: int) -> None:
        if not 1 <= count <= self.pending:
            raise Fault(f"{count} arrivals at an mbarrier that waits for {self.pending}")
        self.pending -= count
        self.settle()

    def expect(self, size: int) -> None:
        if self.bytes + size > MOST_ARRIVALS:
            raise Fault(f"an mbarrier expects {self.bytes + size} bytes; {MOST_ARRIVALS} are the most")
        self.bytes += size

    def complete(self, size: int) -> None:
        # Bytes may come before they are expected: the count is negative meanwhile.
        self.bytes -= size
        if self.bytes < -MOST_ARRIVALS:
            raise Fault("more bytes came than an mbarrier counts")
        self.settle()

    def words(self) -> str:
        """What its phase lacks."""
        lacks = [f"{self.pending} of {self.wanted} arrivals"] if self.pending else []
        lacks += [f"{self.bytes} bytes"] if self.bytes else []
        return f"phase {self.phase} lacks {' and '.join(lacks)}"


@dataclass(slots=True, eq=False)
class Task:
    """A copy that is made once: `read` takes what it copies, `act` does the rest."""

    act: Callable[[], None]
    read: Callable[[], None] | None = None
    done: bool = False

    def force(self) -> None:
        """Make it, if it has not been made."""
        if not self.done:
            self.done = True
            self.force_read()
            self.act()

    def force_read(self) -> None:
        """Take what it copies, if that has not been taken."""
        read, self.read = self.read, None
        if read is not None:
            read()


@dataclass(slots=True)
class Groups:
    """The copies of a thread, by the groups that it has made of them; `open` ones are in none yet."""

    closed: list[list[Task]] = field(default_factory=list)
    open: list[Task] = field(default_factory=list)
    asked: int = 0
    """How many copies the thread has asked for."""
    ends: list[int] = field(default_factory=list)
    """How many there were when each group was closed."""
    unread: int = 0
    """How many groups at the front of `closed` are waited for only until they have read."""

    def add(self, task: Task) -> None:
        self.open.append(task)

    def commit(self) -> None:
        self.closed.append(self.open)
        self.ends.append(self.asked)
        self.open = []

    def wait(self, kept: int, *, read: bool = False) -> int:
        """Make all copies but those of the last groups, `kept` of them. How many copies of the thread are made then."""
        done = len(self.closed) - kept
        if done <= 0:
            return 0
        for group in self.closed[:done]:
            for task in group:
                task.force_read() if read else task.force()
        asked = self.ends[done - 1]
        if read:
            self.unread = max(self.unread, done)
        else:
            del self.closed[:done], self.ends[:done]
            self.unread = max(self.unread - done, 0)
        return asked

    @property
    def waits_for_any(self) -> bool:
        """Whether there are copies of which the thread has not waited until they have read."""
        return bool(self.open or any(self.closed[self.unread :]))


@dataclass(slots=True)
class Asynchronous:
    """The copies and the mbarriers of a CTA."""

    order: str
    random: Random = field(default_factory=Random)
    barriers: dict[int, Barrier] = field(default_factory=dict)
    """By their addresses in shared memory."""
    queue: list[Task] = field(default_factory=list)
    bulk: dict[int, Groups] = field(default_factory=dict)
    """The groups of `cp.async.bulk` of each thread."""
    small: dict[int, Groups] = field(default_factory=dict)
    """The groups of `cp.async` of each thread."""

    def begin(self, act: Callable[[], None], read: Callable[[], None] | None = None) -> Task:
        """A copy that is asked for; `read` is for those out of shared memory."""
        task = Task(act, read)
        if self.order == "at_once":
            task.force()
        else:
            self.queue.append(task)
        return task

    def go_on(self) -> bool:
        """Make one copy that is late. Whether there was one."""
        while self.queue:
            last = len(self.queue) - 1
            place = {"late": 0, "reversed": last}.get(self.order)
            task = self.queue.pop(self.random.randint(0, last) if place is None else place)
            if not task.done:
                task.force()
                return True
        return False

    def phase_ended(self) -> bool:
        """Whether a phase of an mbarrier has ended since this was asked."""
        found = False
        for one in self.barriers.values():
            if one.changed:
                one.changed, found = False, True
        return found

    def barrier(self, address: int) -> Barrier:
        """The mbarrier at an address."""
        found = self.barriers.get(address)
        if found is None:
            raise Fault(f"there is no mbarrier at shared address {address:#x}")
        return found

    def ended(self, threads: list[int]) -> None:
        """Threads end, which must have waited for the copies that read shared memory."""
        for place, thread in enumerate(threads):
            if thread in self.bulk and self.bulk[thread].waits_for_any:
                raise Fault("a thread ends before it has waited for its bulk copies, which read shared memory", place)

    def finished(self) -> None:
        """The CTA ends, whose shared memory is given away."""
        for groups in self.bulk.values():
            for group in groups.closed:
                for task in group:
                    task.force()
        if any(not task.done for task in self.queue):
            raise Fault("the CTA ends while copies into its shared memory are under way")
        for address, barrier in self.barriers.items():
            if barrier.bytes:
                expected = f"{barrier.bytes} bytes more than came" if barrier.bytes > 0 else "fewer bytes than came"
                raise Fault(f"the CTA ends when the mbarrier at shared address {address:#x} expects {expected}")
