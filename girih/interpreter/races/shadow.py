"""The shadow of a memory: for each granule the last write, and of each sort of access two by different items beside it.

A granule is the largest piece that no access divides: the element, as long as all accesses are to elements of one size.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

import numpy as np

from girih.arguments.memory import Array, ElementView
from girih.arguments.views import address
from girih.interpreter.races.places import DEVICE
from girih.interpreter.races.stamps import Stamps

LARGEST_GRANULE = 16
"""The largest granule in bytes: that of the largest element."""


Apart = Callable[[int, Stamps, Stamps], Array]
"""How far the items of two arrays of stamps are apart, for accesses of a sort: the larger, the farther, 0 for near."""


class Shadow:
    """The stamps of a run of bytes that several memories may show.

    `written` has the last write of each granule. `seen` has accesses of each sort (`PlaceTable.sorts`) by two items:
    reads, and writes that atomic ones have replaced. Two suffice: whoever comes next is at most one of them. They are
    as far `apart` as possible, because a barrier, or a scope, may join whoever comes next with a whole work-group or
    subgroup. A stamp that is ordered before what comes may be replaced.
    """

    def __init__(self, number: int, view: ElementView, memory: int, apart: Apart, *, private: bool) -> None:
        owner = view.data if view.data.base is None else view.data.base
        start = address(view.data)
        first = address(owner) if isinstance(owner, np.ndarray) else start
        size = owner.nbytes if isinstance(owner, np.ndarray) else view.data.nbytes
        before = -(-(start - first) // LARGEST_GRANULE) * LARGEST_GRANULE
        self._apart = apart
        self.number = number
        """The number of the shadow in its launch; no other one gets it."""
        self.memory = memory
        """`order.GLOBAL` or `order.LOCAL`."""
        self.private = private
        """Whether only one work-group accesses each byte."""
        self.size = size
        """The bytes of the memory."""
        self.granule = LARGEST_GRANULE
        """The bytes of a granule, until the first access that divides it."""
        self.last_written = self.last_seen = 0
        """The ticks of the latest write, and of the latest other access."""
        self.last = [0] * (DEVICE + 1)
        """The ticks of the latest accesses by their reach."""
        self._origin = start - before
        self._count = -(-(before + size) // self.granule)
        self.waiting: list[tuple[int, Callable[[], Any]]] = []
        """Reads that are not entered yet, each with its tick."""
        self.more: dict[int, dict[int, np.uint64]] = {}
        """Accesses of granules for which there was no room, where releases and acquires order work-items; of each item
        and place the latest."""
        self._written: Stamps | None = None
        self._seen: dict[int, Stamps] = {}
        self._seen_again: dict[int, Stamps] = {}

    @property
    def bytes(self) -> int:
        """How many bytes the stamps take; those of memory that was never accessed are not really there."""
        return sum(stamps.nbytes for stamps in self.all())

    def all(self) -> list[Stamps]:
        """The arrays of stamps that there are."""
        written = [] if self._written is None else [self._written]
        return [*written, *self._seen.values(), *self._seen_again.values()]

    # --- positions -----------------------------------------------------------------------

    def granules(self, view: ElementView, flat: Array, width: int = 0) -> Array:
        """The numbers of the granules of elements: an array with one axis more where an element has several.

        With a `width` these are the granules of so many bytes, from each element on.
        """
        element = view.data.itemsize
        begin, size = address(view.data) - self._origin, width or element
        step = gcd(size, begin, self.granule)
        if width and flat.size:
            step = gcd(step, element * int(np.bitwise_or.reduce(flat, axis=None)))
        if step != self.granule:
            self._divide(step)
        granule = self.granule
        if width:
            positions = (flat * element + begin) // granule
        else:
            positions = flat if element == granule else flat * (element // granule)
            if begin >= granule:
                positions = positions + begin // granule
        parts = size // granule
        return positions if parts == 1 else positions[..., None] + np.arange(parts)

    def addresses(self, granules: Array) -> Array:
        """Where granules begin in memory."""
        return self._origin + granules * self.granule

    def _divide(self, granule: int) -> None:
        parts = self.granule // granule
        self.granule = granule
        self._count *= parts
        self.more = {old * parts + k: dict(stamps) for old, stamps in self.more.items() for k in range(parts)}
        if self._written is not None:
            self._written = np.repeat(self._written, parts)
        for entries in (self._seen, self._seen_again):
            for sort, stamps in entries.items():
                entries[sort] = np.repeat(stamps, parts)

    # --- stamps --------------------------------------------------------------------------

    def written(self, places: Array) -> Stamps:
        """The last writes of granules."""
        return np.zeros(places.shape, np.uint64) if self._written is None else self._written[places]

    def seen(self, places: Array) -> list[tuple[int, Stamps]]:
        """Other accesses of granules: arrays, each with the sort of its accesses."""
        entries = (*self._seen.items(), *self._seen_again.items())
        return [(sort, stamps[places]) for sort, stamps in entries]

    def write(self, places: Array, stamps: Stamps, tick: int) -> None:
        """Enter writes; of several to one granule one stays."""
        if self._written is None:
            self._written = np.zeros(self._count, np.uint64)
        self._written[places] = stamps
        self.last_written = tick

    def see(self, sort: int, places: Array, stamps: Stamps, tick: int, replaceable: Array | None) -> None:
        """Enter accesses of a sort beside those by other items.

        `replaceable` masks the granules whose first entry is ordered before; None says that all are.
        """
        self.last_seen = tick
        if sort not in self._seen:
            self._seen[sort] = np.zeros(self._count, np.uint64)
            replaceable = None
        if replaceable is None or replaceable.all():
            self._first(sort, places, stamps)
            return
        self._first(sort, places[replaceable], stamps[replaceable])
        self._again(sort, places[~replaceable], stamps[~replaceable])

    def see_again(self, sort: int, places: Array, stamps: Stamps, tick: int) -> None:
        """Enter accesses of a sort by the items that stand there already."""
        self.last_seen = tick
        self._seen[sort][places] = stamps

    def first_seen(self, sort: int, places: Array) -> Stamps | None:
        """The first of the two accesses of a sort to granules; None where there is none at all."""
        seen = self._seen.get(sort)
        return None if seen is None else seen[places]

    def second(self, sort: int, places: Array) -> tuple[Array, Stamps]:
        """The granules that have a second access of a sort, each once, and these accesses."""
        again = self._seen_again.get(sort)
        if again is None:
            return places[:0], np.zeros(0, np.uint64)
        used = np.unique(places)
        stamps = again[used]
        return used[stamps != 0], stamps[stamps != 0]

    def keep(self, places: Array, stamps: Stamps, timeless: Stamps) -> None:
        """Enter accesses of granules in `more`; `timeless` are their stamps without ticks."""
        for place, who, stamp in zip(places.tolist(), timeless.tolist(), stamps, strict=True):
            self.more.setdefault(place, {})[who] = stamp

    def kept(self) -> Stamps:
        """All stamps of `more`."""
        return np.array([stamp for stamps in self.more.values() for stamp in stamps.values()], np.uint64)

    def _first(self, sort: int, places: Array, stamps: Stamps) -> None:
        seen = self._seen[sort]
        seen[places] = stamps
        kept = seen[places]
        if (lost := kept != stamps).any():
            self._again(sort, places[lost], stamps[lost])

    def _again(self, sort: int, places: Array, stamps: Stamps) -> None:
        """Enter accesses beside the first ones of a sort, if possible by items that are far from those."""
        again = self._seen_again.get(sort)
        if again is None:
            again = self._seen_again[sort] = np.zeros(self._count, np.uint64)
        first, there = self._seen[sort][places], again[places]
        far = self._apart(sort, stamps, first)
        far_there = np.where(there == 0, 0, self._apart(sort, there, first))
        if not far.any() and not far_there.any():
            again[places] = stamps
            return
        for distance in range(int(far.max()) + 1):
            better = (far == distance) & (distance >= far_there)
            again[places[better]] = stamps[better]

    def renumber(self, change: Callable[[Stamps], Stamps]) -> None:
        """Replace all stamps by others."""
        for stamps in self.all():
            used = np.flatnonzero(stamps)
            stamps[used] = change(stamps[used])
        changed = iter(change(self.kept()))
        self.more = {place: {who: next(changed) for who in stamps} for place, stamps in self.more.items()}
