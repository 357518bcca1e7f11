"""What fences add to relaxed atomic accesses: releases before a write, and acquires behind a read.

A fence that releases remembers, for each work-item, when it was; the item's next atomic writes release what it knew
then. What its atomic reads observe is acquired by its next fence that acquires (Vulkan "Synchronizes-With").
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from girih.interpreter.races.clocks import Item, Release
from girih.interpreter.races.order import Order
from girih.interpreter.races.places import DEVICE

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]


class Fences:
    """The fences of a batch of work-groups. Arrays are [work_group, work-item], by their places in the batch."""

    def __init__(self, work_items: int) -> None:
        self._work_items = work_items
        self.begin(np.zeros(0, np.int64))

    def begin(self, groups: Ints) -> None:
        """Begin a batch of work-groups, by their numbers in the grid: nobody passed a fence."""
        self._place = {int(group): number for number, group in enumerate(groups.tolist())}
        self._ticks: dict[int, Ints] = {}
        self._since: dict[int, Ints] = {}
        self._reach = np.zeros((len(groups), self._work_items), np.int8)
        self._observed: dict[Item, tuple[int, list[Release]]] = {}

    def release(self, memories: Iterable[int], order: Order, mask: Mask, reach: int) -> None:
        """Remember that work-items release, now, what they know of memories."""
        self._reach[mask] = reach
        for memory in memories:
            if memory not in self._ticks:
                self._ticks[memory] = np.zeros(mask.shape, np.int64)
                self._since[memory] = np.zeros(mask.shape, np.int64)
            self._ticks[memory][mask] = order.tick
            self._since[memory][mask] = np.broadcast_to(order.since[memory][:, None], mask.shape)[mask]

    def released(self, group: int, work_item: int) -> tuple[dict[int, int], dict[int, int], int]:
        """What the latest fence of a work-item released, by memory, and how far that reaches.

        This is what the item did up to a tick, and what its work-group did before another.
        """
        at = self._place[group], work_item
        ticks = {memory: int(of_items[at]) for memory, of_items in self._ticks.items() if of_items[at]}
        return ticks, {memory: int(self._since[memory][at]) for memory in ticks}, int(self._reach[at])

    def observe(self, item: Item, work_item: int, releases: Iterable[Release]) -> None:
        """Remember what an atomic read of an item observed."""
        known = self._observed.setdefault(item, (work_item, []))[1]
        seen = {id(release) for release in known}
        known += [release for release in releases if id(release) not in seen]

    def acquired(self, mask: Mask, reach: int) -> Iterable[tuple[Item, list[Release]]]:
        """The items among some work-items that observed something, and what a fence lets them acquire."""
        for item, (work_item, releases) in list(self._observed.items()):
            if mask[self._place[item[0]], work_item]:
                near = [release for release in releases if reach == DEVICE or release.item[0] == item[0]]
                if near:
                    yield item, near
