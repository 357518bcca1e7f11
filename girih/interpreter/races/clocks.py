"""What items know of each other through releases and acquires: vector clocks, for kernels that have both.

The clock of an item says up to which tick it knows the accesses of each other item, and of all items of a work-group
together. A release leaves a copy of the clock at the granule that it writes, for whoever acquires what was written
there; updates by anybody and atomic stores by the same item keep it there (the release sequence of OpenCL's memory
model), other stores end it. Global and local memory have clocks of their own; a release that is sequentially consistent
leaves both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from girih.interpreter.races.stamps import StampLayout, Stamps

Item = tuple[int, int | None]
"""A work-group and an item of it, or all of them: None."""
Clock = dict[Item, int]
Granule = tuple[int, int]
"""A shadow, by its number, and a granule of it."""


@dataclass(frozen=True, slots=True)
class Release:
    """What was released to a granule: the clocks of the item, by memory, and its stamp."""

    clocks: Mapping[int, Clock]
    item: Item
    stamp: np.uint64


class Clocks:
    """The clocks of a launch, by memory and item."""

    def __init__(self, layout: StampLayout) -> None:
        self.layout = layout
        self._items: tuple[dict[Item, Clock], dict[Item, Clock]] = ({}, {})
        self._groups: tuple[dict[int, Clock], dict[int, Clock]] = ({}, {})
        self._released: dict[Granule, list[Release]] = {}

    # --- what is known -------------------------------------------------------------------

    def knows(self, memory: int, now: Stamps, old: Stamps) -> NDArray[np.bool_]:
        """Whether the items of accesses that are made now know of earlier ones."""
        if not self._items[memory] and not self._groups[memory]:
            return np.zeros(now.shape, np.bool_)
        layout = self.layout
        who = now >> layout.item_shift
        past = old >> np.uint64(layout.place_bits)
        pairs, inverse = np.unique(np.stack([who, past], axis=-1), axis=0, return_inverse=True)
        first = np.zeros(len(pairs), np.int64)
        first[inverse.ravel()] = np.arange(len(now))
        answers = np.array([self._knows(memory, now[k], old[k]) for k in first])
        known: NDArray[np.bool_] = answers[inverse.ravel()]
        return known

    def _knows(self, memory: int, now: np.uint64, old: np.uint64) -> bool:
        layout = self.layout
        one = np.array([now, old])
        (group, past_group), (item, past_item) = layout.groups(one).tolist(), layout.item(one).tolist()
        tick = int(layout.ticks(one)[1])
        clocks = (self._items[memory].get((group, item)), self._groups[memory].get(group))
        return any(
            clock is not None and max(clock.get((past_group, past_item), -1), clock.get((past_group, None), -1)) >= tick
            for clock in clocks
        )

    # --- barriers ------------------------------------------------------------------------

    def join(self, memories: Iterable[int], groups: Iterable[int]) -> None:
        """Let all items of each work-group know what one of them knows."""
        for memory in memories:
            of_items, of_groups = self._items[memory], self._groups[memory]
            for group in groups:
                items = [item for item in of_items if item[0] == group]
                if items:
                    joined = of_groups.setdefault(group, {})
                    for item in items:
                        _merge(joined, of_items.pop(item))

    # --- releases and acquires -----------------------------------------------------------

    def release(self, granule: Granule, item: Item, stamp: np.uint64, tick: int, since: Mapping[int, int]) -> None:
        """Leave at a granule what an item knows: all that its work-group did before the ticks `since`, by memory."""
        group, _ = item
        clocks: dict[int, Clock] = {}
        for memory, barrier in since.items():
            clocks[memory] = dict(self._groups[memory].get(group, {}))
            _merge(clocks[memory], self._items[memory].get(item, {}))
            _merge(clocks[memory], {item: tick, (group, None): barrier - 1})
        self._released.setdefault(granule, []).append(Release(clocks, item, stamp))

    def wrote(self, granule: Granule, item: Item | None) -> None:
        """Note that an item stores to a granule, None where it does not atomically: the releases of others end."""
        released = self._released.get(granule)
        if released is not None:
            self._released[granule] = [release for release in released if release.item == item]

    @property
    def granules(self) -> Iterable[Granule]:
        """Where something was released."""
        return self._released.keys()

    def released(self, granule: Granule) -> Sequence[Release]:
        """What is there to acquire at a granule."""
        return self._released.get(granule, ())

    def acquire(self, memory: int, item: Item, clock: Clock) -> None:
        """Let an item know what was released."""
        _merge(self._items[memory].setdefault(item, {}), clock)


def _merge(clock: Clock, other: Clock) -> None:
    for item, tick in other.items():
        if clock.get(item, -1) < tick:
            clock[item] = tick
