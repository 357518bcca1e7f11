"""Who may wait for whom: the items that write atomically where others look, and orders in which nobody waits long."""

from __future__ import annotations

from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

Item = tuple[int, int]
"""A work-group, and an item of it."""

_MOST = 2**12
"""How many atomic accesses are looked at; launches with more are not tried in orders of their own."""


class HandOvers:
    """The items that wrote atomically to each granule, and those that read there."""

    def __init__(self) -> None:
        self._writers: defaultdict[tuple[int, int], set[Item]] = defaultdict(set)
        self._readers: defaultdict[tuple[int, int], set[Item]] = defaultdict(set)
        self._count = 0

    @property
    def full(self) -> bool:
        """Whether no more accesses are looked at."""
        return self._count >= _MOST

    def enter(self, granule: tuple[int, int], item: Item, *, reads: bool, writes: bool) -> None:
        """Note an atomic access to a granule: a shadow by its number, and a number there."""
        self._count += 1
        if writes:
            self._writers[granule].add(item)
        if reads:
            self._readers[granule].add(item)

    def pairs(self) -> frozenset[tuple[Item, Item]]:
        """The items whose writes other items may have looked for, each with such an item.

        Two that may have looked for each other at one granule, as those that count themselves, are left out.
        """
        if self.full:
            return frozenset()
        return frozenset(
            (writer, reader)
            for granule, writers in self._writers.items()
            for writer in writers
            for reader in self._readers.get(granule, ())
            if writer != reader and not (writer in self._readers[granule] and reader in writers)
        )


def in_turn(pairs: frozenset[tuple[Item, Item]]) -> list[Item]:
    """The items of pairs, each behind those that it may wait for.

    Two that wait for each other have no order between them, and are left out where they wait for nobody else. Where
    more wait in a circle, all items come in ascending order.
    """
    kept: dict[Item, set[Item]] = {}
    for writer, reader in sorted(pairs):
        if (reader, writer) not in pairs:
            kept.setdefault(reader, set()).add(writer)
    try:
        return list(TopologicalSorter(kept).static_order())
    except CycleError:
        return sorted({item for pair in pairs for item in pair})
