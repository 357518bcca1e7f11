"""What fences add to atomic accesses: those before a release fence and behind an acquire fence synchronise.

A release fence makes the atomic writes of its item that follow releases, an acquire fence makes those before it that
read acquires (SPIR-V 3.25 "Memory Semantics"). What such a write releases is all that its item did until then, not only
until the fence: an access between the two is taken for ordered.
"""

from __future__ import annotations

from collections.abc import Iterable

from girih.interpreter.races.clocks import Clock, Clocks, Item, Release

NO_MEMORY: frozenset[int] = frozenset()


class Fences:
    """The fences that items of a batch have come to, and what their atomic reads have observed since."""

    def __init__(self) -> None:
        self._released: dict[Item, frozenset[int]] = {}
        self._observed: dict[Item, list[Release]] = {}

    def begin(self) -> None:
        """Begin a batch of work-groups."""
        self._released, self._observed = {}, {}

    def released(self, item: Item) -> frozenset[int]:
        """The memories that an atomic write by an item releases because of fences before it."""
        return self._released.get(item, NO_MEMORY)

    def observe(self, item: Item, releases: Iterable[Release]) -> None:
        """Note what a read by an item has observed, for a fence behind it."""
        self._observed.setdefault(item, []).extend(releases)

    def release(self, items: Iterable[Item], memories: Iterable[int]) -> None:
        """Note release fences of items."""
        for item in items:
            self._released[item] = self.released(item).union(memories)

    def acquire(self, clocks: Clocks, items: Iterable[Item], memories: Iterable[int]) -> None:
        """Let items acquire what their reads before an acquire fence have observed."""
        for item in items:
            observed = self._observed.get(item, [])
            for memory in memories:
                known: list[Clock] = [release.clocks[memory] for release in observed if memory in release.clocks]
                clocks.acquire(memory, item, known)
