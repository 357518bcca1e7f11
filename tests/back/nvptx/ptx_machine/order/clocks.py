"""Which thread may rely on what: vector clocks over the threads of a CTA and over what goes on beside them.

A column stands for a thread, or for an *agent*: the copies that an mbarrier counts, the copies of a thread, the
products of a warpgroup. An access of a thread is stamped with a count that grows with every release; one of an agent
with the number of its phase, copy or group. Thread t knows an access of column c, stamped s, when `known[t, c] >= s`:
it has synchronised with who made it, or waited for it (PTX ISA "Memory Consistency Model", causality order).

`visible` is what the asynchronous proxy may rely on where thread t starts something: what t knew at a proxy fence, its
own or one before it in that order (PTX ISA "Proxies", "fence.proxy.async").
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tests.back.nvptx.ptx_machine.types import Array

ALWAYS = np.iinfo(np.int32).max
"""What a thread knows of itself."""


@dataclass(slots=True)
class Snapshot:
    """What threads knew when they arrived somewhere, taken together."""

    known: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    visible: Array = field(default_factory=lambda: np.zeros(0, np.int32))

    def join(self, other: Snapshot) -> None:
        self.known = _joined(self.known, other.known)
        self.visible = _joined(self.visible, other.visible)

    def learn(self, column: int, stamp: int) -> None:
        """Know what an agent did up to a stamp."""
        self.known = _joined(self.known, np.zeros(column + 1, np.int32))
        self.known[column] = max(int(self.known[column]), stamp)


def _joined(a: Array, b: Array) -> Array:
    size = max(len(a), len(b))
    if len(a) < size:
        a = np.concatenate([a, np.zeros(size - len(a), np.int32)])
    found = a.copy()
    np.maximum(found[: len(b)], b, out=found[: len(b)])
    return found


class Clocks:
    """The clocks of a CTA of so many threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.stamp = 1
        self.names = [f"thread {one}" for one in range(threads)]
        """Who each column is, in words."""
        self._columns: dict[tuple[str, int], int] = {}
        self.known = np.zeros((threads, threads + 16), np.int32)
        self.visible = np.zeros_like(self.known)
        self.known[np.arange(threads), np.arange(threads)] = ALWAYS

    def column(self, kind: str, number: int, words: str) -> int:
        """The column of an agent, which begins when it is first asked for."""
        found = self._columns.get((kind, number))
        if found is None:
            found = len(self.names)
            self._columns[kind, number] = found
            self.names.append(words)
            if found >= self.known.shape[1]:
                more = np.zeros((self.threads, 32), np.int32)
                self.known = np.concatenate([self.known, more], axis=1)
                self.visible = np.concatenate([self.visible, more], axis=1)
        return found

    # --- what orders ---------------------------------------------------------------------

    def release(self, threads: Array) -> Snapshot:
        """What threads have done and know, for those that acquire it; what they do next comes after it."""
        self.known[threads, threads] = self.stamp
        found = Snapshot(self.known[threads].max(0), self.visible[threads].max(0))
        self.known[threads, threads] = ALWAYS
        self.stamp += 1
        return found

    def acquire(self, threads: Array, given: Snapshot) -> None:
        """Threads know what others released."""
        for table, row in ((self.known, given.known), (self.visible, given.visible)):
            if len(row):
                table[threads, : len(row)] = np.maximum(table[threads, : len(row)], row)

    def meet(self, threads: Array) -> None:
        """Threads wait for each other at a barrier."""
        self.acquire(threads, self.release(threads))

    def meet_warps(self, on: Array, warp: int) -> None:
        """The threads of each warp wait for each other, those of a mask over all threads."""
        for begin in range(0, self.threads, warp):
            lanes = np.flatnonzero(on[begin : begin + warp])
            if len(lanes):
                self.meet(lanes + begin)

    def fence(self, threads: Array) -> None:
        """A proxy fence: what threads have done and know is visible to the asynchronous proxy."""
        self.known[threads, threads] = self.stamp
        self.visible[threads] = np.maximum(self.visible[threads], self.known[threads])
        self.known[threads, threads] = ALWAYS
        self.stamp += 1

    def learn(self, threads: Array, column: int, stamp: int) -> None:
        """Threads have waited for what an agent did up to a stamp."""
        self.known[threads, column] = np.maximum(self.known[threads, column], stamp)
