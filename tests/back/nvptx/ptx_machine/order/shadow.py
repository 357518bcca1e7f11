"""Who touched each word of shared memory last, and whether the next one may rely on that.

Judged is what the asynchronous proxy takes part in: copies and products against each other and against threads. Of two
threads nothing is judged; other schedules show what they do to each other. A word has 4 bytes: nothing asynchronous
touches less.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.order.clocks import ALWAYS, Clocks
from tests.back.nvptx.ptx_machine.types import Array

_WORD, _WARP = 4, 32
_FENCE = "a fence.proxy.async"
UNDER_WAY = ALWAYS - 1
"""The stamp of a copy that is not made yet: nobody knows it."""


@dataclass(frozen=True, slots=True)
class Agent:
    """Who touches memory beside the threads: `column` of the clocks, `stamp` of this access.

    `generic`: it is in the generic proxy, as `cp.async` that is not bulk, which needs a proxy fence as stores do.
    """

    column: int
    stamp: int
    generic: bool = False


@dataclass(slots=True)
class Shadow:
    """The shared memory of a CTA: `size` bytes from an address on."""

    clocks: Clocks
    begin: int
    size: int
    writer: Array = field(init=False)
    """The column of who wrote each word last; -1: nobody."""
    written: Array = field(init=False)
    """The stamp of that."""
    agent_reads: dict[int, Array] = field(default_factory=dict)
    """The stamp of the last read of each word by an agent, by its column."""
    warp_reads: Array = field(init=False)
    """The stamp of the last read of each word by a thread of a warp: `[warp, word]`."""
    warp_lanes: Array = field(init=False)
    """The lanes that read it then, as bits."""
    _generic: set[int] = field(default_factory=set)
    """The columns of agents in the generic proxy."""

    def __post_init__(self) -> None:
        words, warps = -(-self.size // _WORD), -(-self.clocks.threads // _WARP)
        self.writer = np.full(words, -1, np.int32)
        self.written = np.zeros(words, np.int32)
        self.warp_reads = np.zeros((warps, words), np.int32)
        self.warp_lanes = np.zeros((warps, words), np.uint32)

    # --- threads -------------------------------------------------------------------------

    def read(self, addresses: Array, width: int, threads: Array) -> None:
        """Threads read `width` bytes at addresses of shared space."""
        for words, lanes in self._words(addresses, width, threads):
            self._check_agent(words, lanes, "reads")
            warps, now = lanes // _WARP, self.clocks.stamp
            fresh = self.warp_reads[warps, words] != now
            self.warp_lanes[warps[fresh], words[fresh]] = 0
            self.warp_reads[warps, words] = now
            np.bitwise_or.at(self.warp_lanes, (warps, words), np.uint32(1) << (lanes % _WARP).astype(np.uint32))

    def write(self, addresses: Array, width: int, threads: Array) -> None:
        """Threads write `width` bytes at addresses of shared space."""
        for words, lanes in self._words(addresses, width, threads):
            self._check_agent(words, lanes, "writes")
            for column, reads in self.agent_reads.items():
                late = reads[words] > self.clocks.known[lanes, column]
                if late.any():
                    self._told(words, late, f"writes what {self.clocks.names[column]} may still read", lanes)
            self.writer[words] = lanes
            self.written[words] = self.clocks.stamp

    def _words(self, addresses: Array, width: int, threads: Array) -> list[tuple[Array, Array]]:
        if len(addresses) != len(threads):
            addresses = np.broadcast_to(addresses, (len(threads),))
        words = (addresses - np.uint64(self.begin)).astype(np.int64) // _WORD
        return [(words + step, threads) for step in range(-(-width // _WORD))]

    def _check_agent(self, words: Array, lanes: Array, does: str) -> None:
        """Threads know what an agent wrote."""
        writer = self.writer[words]
        by_agent = writer >= self.clocks.threads
        if not by_agent.any():
            return
        late = by_agent & (self.written[words] > self.clocks.known[lanes, np.maximum(writer, 0)])
        if late.any():
            name = self.clocks.names[int(writer[late][0])]
            self._told(words, late, f"{does} what {name} writes, without having waited for it", lanes)

    # --- agents --------------------------------------------------------------------------

    def agent_read(self, words: Array | slice, agent: Agent, threads: Array) -> None:
        """Something that threads have started reads words."""
        self._check_written(words, threads, "reads", agent)
        if agent.column not in self.agent_reads:
            self.agent_reads[agent.column] = np.zeros(len(self.writer), np.int32)
        self.agent_reads[agent.column][words] = agent.stamp

    def agent_write(self, words: slice, agent: Agent, thread: int) -> None:
        """A copy that a thread has started writes words."""
        threads = np.array([thread])
        self._check_written(words, threads, "writes", agent)
        known = self.clocks.known[thread]
        for column, reads in self.agent_reads.items():
            late = reads[words] > known[column]
            if late.any():
                name = self.clocks.names[column]
                self._told(words, late, f"is written by {self._name(agent)} while {name} may still read it")
        for warp in range(len(self.warp_reads)):
            self._check_readers(words, warp, known, agent)
        self.writer[words] = agent.column
        self.written[words] = agent.stamp
        if agent.generic:
            self._generic.add(agent.column)

    def landed(self, words: slice, column: int, stamp: int) -> None:
        """A copy that an agent had begun, stamped `UNDER_WAY`, is made."""
        own = (self.writer[words] == column) & (self.written[words] == UNDER_WAY)
        self.written[words] = np.where(own, stamp, self.written[words])

    def bytes(self, address: int, size: int) -> slice:
        """The words of bytes in a row."""
        begin = address - self.begin
        return slice(begin // _WORD, -(-(begin + size) // _WORD))

    def _check_written(self, words: Array | slice, threads: Array, does: str, agent: Agent) -> None:
        """What was written is known where something is started; what threads wrote is visible to that besides."""
        writer, when = self.writer[words], self.written[words]
        known = self.clocks.known[threads].min(0)
        seen = np.maximum(writer, 0)
        late = (writer >= 0) & (when > known[seen])
        if late.any():
            name = self.clocks.names[int(writer[late][0])]
            self._told(words, late, f"{self._name(agent)} {does} what {name} writes, without having waited for it")
        if agent.generic:
            return
        visible = self.clocks.visible[threads].min(0)
        plain = writer < self.clocks.threads
        if self._generic:
            plain |= np.isin(writer, list(self._generic))
        hidden = (writer >= 0) & plain & (when > visible[seen])
        if hidden.any():
            name = self.clocks.names[int(writer[hidden][0])]
            self._told(words, hidden, f"{self._name(agent)} {does} what {name} wrote without {_FENCE} after that")

    def _check_readers(self, words: slice, warp: int, known: Array, agent: Agent) -> None:
        begin = warp * _WARP
        lanes = known[begin : min(begin + _WARP, self.clocks.threads)]
        reads = self.warp_reads[warp, words]
        suspects = np.flatnonzero(reads > lanes.min())
        for place in suspects:
            readers = int(self.warp_lanes[warp, words][place]) >> np.arange(len(lanes)) & 1
            late = (readers == 1) & (lanes < reads[place])
            if late.any():
                name = self.clocks.names[begin + int(np.flatnonzero(late)[0])]
                told = np.zeros(len(reads), bool)
                told[place] = True
                self._told(
                    words, told, f"is written by {self._name(agent)}, which does not come after a read of {name}"
                )

    def _name(self, agent: Agent) -> str:
        return self.clocks.names[agent.column]

    def _told(self, words: Array | slice, wrong: Array, what: str, lanes: Array | None = None) -> None:
        place = int(np.flatnonzero(wrong)[0])
        word = words.start + place if isinstance(words, slice) else int(words.reshape(-1)[place])
        who = "" if lanes is None else f"thread {int(lanes[place])} "
        joint = " " if what.startswith("is ") else ": "
        told = f"shared address {self.begin + _WORD * word:#x}{joint}{who}{what}"
        raise Fault(told, place if lanes is not None else 0)
