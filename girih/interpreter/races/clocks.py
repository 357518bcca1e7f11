"""What items know of each other through releases and acquires: vector clocks, for kernels that have both.

The clock of an item says up to which tick it knows the accesses of each other item, and of all items of a work-group
together. A release leaves the clock of its item at the granule that it writes, for whoever acquires what was written
there; updates by anybody and atomic stores by the same item keep it there (the release sequence of OpenCL's memory
model), other stores end it. Global and local memory have clocks of their own; a release that is sequentially consistent
leaves both.

Thousands of items may count themselves in one counter, each of which knows all before it. So a clock is what it adds to
an earlier one, and only the releases that no later one contains are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from girih.interpreter.races.stamps import StampLayout, Stamps
from girih.lazy_dataclass import dataclass

Item = tuple[int, int | None]
"""A work-group and an item of it, or all of them: None."""

Granule = tuple[int, int]
"""A shadow, by its number, and a granule of it."""


class Clock:
    """Up to which ticks the accesses of items are known: those of an earlier clock, and some beside."""

    __slots__ = ("_all", "_beside", "_depth", "_earlier")

    def __init__(self, earlier: Clock | None, beside: Mapping[Item, int]) -> None:
        self._earlier, self._beside = earlier, beside
        self._depth: int = 0 if earlier is None else earlier._depth + 1
        self._all: dict[Item, int] | None = None

    def all(self) -> Mapping[Item, int]:
        """The ticks of all items that are known."""
        clocks = [self]
        while clocks[-1]._all is None and clocks[-1]._earlier is not None:
            clocks.append(clocks[-1]._earlier)
        if self._all is None:
            known = dict(clocks[-1]._all or {})
            for clock in reversed(clocks):
                known.update((item, tick) for item, tick in clock._beside.items() if known.get(item, -1) < tick)
            self._all = known
        return self._all

    def contains(self, other: Clock) -> bool:
        """Whether this clock came from another one."""
        clock: Clock | None = self
        while clock is not None and clock._depth > other._depth:
            clock = clock._earlier
        return clock is other


def joined(clock: Clock | None, others: Iterable[Clock]) -> Clock | None:
    """The clock that knows what one of some knows; None for none at all."""
    new = [other for other in others if clock is None or not clock.contains(other)]
    if not new:
        return clock
    if len(new) == 1 and (clock is None or new[0].contains(clock)):
        return new[0]
    known: Mapping[Item, int] = {} if clock is None else clock.all()
    beside: dict[Item, int] = {}
    for other in new:
        for item, tick in other.all().items():
            if known.get(item, -1) < tick and beside.get(item, -1) < tick:
                beside[item] = tick
    return Clock(clock, beside)


@dataclass(frozen=True, slots=True)
class Release:
    """What was released to a granule: the clocks of the item, by memory, its stamp, and how far it reaches."""

    clocks: Mapping[int, Clock]
    item: Item
    stamp: np.uint64
    reach: int

    def is_within(self, later: Release) -> bool:
        """Whether a later release whose item knows of this one hands over as much, to whom this one does."""
        return self.clocks.keys() <= later.clocks.keys() and self.reach <= later.reach


@dataclass(slots=True)
class _Released:
    """The releases that are there to acquire at a granule, and those that one of them contains."""

    open: list[Release] = field(default_factory=list)
    contained: list[Release] = field(default_factory=list)


class Clocks:
    """The clocks of a launch, by memory, work-group and item; `stores` says whether atomic stores end sequences."""

    def __init__(self, layout: StampLayout, *, stores: bool) -> None:
        self.layout = layout
        self._stores = stores
        self._items: tuple[dict[int, dict[int | None, Clock]], ...] = ({}, {})
        self._groups: tuple[dict[int, Clock], ...] = ({}, {})
        self._released: dict[Granule, _Released] = {}

    def begin(self) -> None:
        """Begin a batch: what the work-groups before know is of no use any more."""
        self._items, self._groups = ({}, {}), ({}, {})

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
        now, old = now[first], old[first]
        columns = (layout.groups(now), layout.item(now), layout.groups(old), layout.item(old), layout.ticks(old))
        rows = zip(*(column.tolist() for column in columns), strict=True)
        answers = np.array([self._knows(memory, (group, item), past, tick) for group, item, *past, tick in rows])
        known: NDArray[np.bool_] = answers[inverse.ravel()]
        return known

    def _knows(self, memory: int, now: tuple[int, int], old: Sequence[int], tick: int) -> bool:
        (group, item), (past_group, past_item) = now, old
        for clock in (self._items[memory].get(group, {}).get(item), self._groups[memory].get(group)):
            if clock is not None:
                ticks = clock.all()
                if max(ticks.get((past_group, past_item), -1), ticks.get((past_group, None), -1)) >= tick:
                    return True
        return False

    # --- barriers ------------------------------------------------------------------------

    def join(self, memories: Iterable[int], groups: Iterable[int]) -> None:
        """Let all items of each work-group know what one of them knows."""
        for memory in memories:
            of_items, of_groups = self._items[memory], self._groups[memory]
            for group in of_items.keys() & set(groups):
                clock = joined(of_groups.get(group), of_items.pop(group).values())
                assert clock is not None
                of_groups[group] = clock

    def meet(self, memory: int, items: Sequence[Item], tick: int, behind: int) -> None:
        """Let items of one work-group know what each of them knows, and did until a tick.

        `behind` is the tick up to which all items of the work-group are known.
        """
        group = items[0][0]
        of_items = self._items[memory].setdefault(group, {})
        mine = [of_items[number] for _, number in items if number in of_items]
        known = joined(self._groups[memory].get(group), mine)
        clock = Clock(known, {**dict.fromkeys(items, tick), (group, None): behind})
        of_items.update((number, clock) for _, number in items)

    # --- releases and acquires -----------------------------------------------------------

    def release(
        self, granule: Granule, item: Item, stamp: np.uint64, reach: int, ticks: Mapping[int, int],
        since: Mapping[int, int], acquired: Iterable[Release],
    ) -> None:  # fmt: skip
        """Leave at a granule what an item knows: all that its work-group did before the ticks `since`, by memory.

        What the item itself did is released up to `ticks`, by memory. `acquired` are the releases there that the item
        knows of.
        """
        group, number = item
        clocks: dict[int, Clock] = {}
        for memory, barrier in since.items():
            mine = self._items[memory].get(group, {}).get(number)
            known = joined(self._groups[memory].get(group), () if mine is None else (mine,))
            clocks[memory] = Clock(known, {item: ticks[memory], (group, None): barrier - 1})
        new = Release(clocks, item, stamp, reach)
        released = self._released.setdefault(granule, _Released())
        within = {id(release) for release in acquired if release.is_within(new)}
        if self._stores:
            released.contained += [release for release in released.open if id(release) in within]
        released.open = [*(release for release in released.open if id(release) not in within), new]

    def wrote(self, granule: Granule, item: Item | None) -> None:
        """Note that an item stores to a granule, None where it does not atomically: the releases of others end."""
        released = self._released.get(granule)
        if released is not None:
            kept = [release for release in (*released.contained, *released.open) if release.item == item]
            self._released[granule] = _Released(kept)

    @property
    def granules(self) -> Iterable[Granule]:
        """Where something was released."""
        return self._released.keys()

    def released(self, granule: Granule) -> Sequence[Release]:
        """What is there to acquire at a granule."""
        released = self._released.get(granule)
        return () if released is None else released.open

    def acquire(self, memory: int, item: Item, released: Sequence[Clock]) -> None:
        """Let an item know what was released."""
        if not released:
            return
        group, number = item
        items = self._items[memory].setdefault(group, {})
        known = joined(items.get(number), released)
        assert known is not None
        items[number] = known
