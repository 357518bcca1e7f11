"""The shadow of a memory: for each granule the last write, and two accesses by different items beside it.

A granule is the largest piece that no access divides: the element, as long as all views show elements of one size.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.arguments.memory import Array, ElementView
from girih.arguments.views import address
from girih.interpreter.races.places import DEVICE
from girih.interpreter.races.stamps import StampLayout, Stamps

_PHASE = 16
"""The largest granule in bytes: that of the largest element."""


class Shadow:
    """The stamps of a run of bytes that several memories may show.

    `written` has the last write of each granule. `seen` and `seen_again` have accesses by two different items: reads,
    and atomic writes that were followed by others. Two suffice: whoever writes next is at most one of them. They are of
    two work-groups, if two accessed the granule: a barrier of the next one's orders those of its own. A stamp that is
    ordered before what comes may be replaced.
    """

    def __init__(self, view: ElementView, memory: int, layout: StampLayout, *, private: bool) -> None:
        owner = view.data if view.data.base is None else view.data.base
        start = address(view.data)
        first = address(owner) if isinstance(owner, np.ndarray) else start
        size = owner.nbytes if isinstance(owner, np.ndarray) else view.data.nbytes
        before = -(-(start - first) // _PHASE) * _PHASE
        self._layout = layout
        self.memory = memory
        """`order.GLOBAL` or `order.LOCAL`."""
        self.private = private
        """Whether only one work-group accesses each byte."""
        self.size = size
        """The bytes of the memory."""
        self.granule = gcd(view.data.itemsize, _PHASE)
        self.last_written = self.last_seen = 0
        """The ticks of the latest write, and of the latest other access."""
        self.last = [0] * (DEVICE + 1)
        """The ticks of the latest accesses by their reach."""
        self._origin = start - before
        self._count = -(-(before + size) // self.granule)
        self.waiting: list[tuple[int, Callable[[], Any]]] = []
        """Reads that are not entered yet, each with its tick."""
        self.more: dict[int, dict[int, np.uint64]] = {}
        """Accesses of granules for which there was no room: where work-items wait for each other, and where some
        accesses are atomic and some are not, or to fewer work-items. Of each item and place there is the latest."""
        self._written: Stamps | None = None
        self._seen: Stamps | None = None
        self._seen_again: Stamps | None = None

    @property
    def bytes(self) -> int:
        """How many bytes the stamps take; those of memory that was never accessed are not really there."""
        return sum(stamps.nbytes for stamps in self.all())

    def all(self) -> list[Stamps]:
        """The arrays of stamps that there are."""
        return [stamps for stamps in (self._written, self._seen, self._seen_again) if stamps is not None]

    # --- positions -----------------------------------------------------------------------

    def granules(self, view: ElementView, flat: Array) -> Array:
        """The numbers of the granules of elements: an array with one axis more where an element has several."""
        size = view.data.itemsize
        begin = address(view.data) - self._origin
        step = gcd(size, begin, self.granule)
        if step != self.granule:
            self._divide(step)
        parts = size // self.granule
        positions = flat if parts == 1 else flat * parts
        if begin >= self.granule:
            positions = positions + begin // self.granule
        return positions if parts == 1 else positions[..., None] + np.arange(parts)

    def addresses(self, granules: Array) -> Array:
        """Where granules begin in memory."""
        return self._origin + granules * self.granule

    def _divide(self, granule: int) -> None:
        parts = self.granule // granule
        self.granule = granule
        self._count *= parts
        self.more = {old * parts + k: dict(stamps) for old, stamps in self.more.items() for k in range(parts)}
        self._written, self._seen, self._seen_again = (
            None if stamps is None else np.repeat(stamps, parts)
            for stamps in (self._written, self._seen, self._seen_again)
        )

    # --- stamps --------------------------------------------------------------------------

    def written(self, places: Array) -> Stamps:
        """The last writes of granules."""
        return np.zeros(places.shape, np.uint64) if self._written is None else self._written[places]

    def seen(self, places: Array) -> list[Stamps]:
        """Other accesses of granules, two arrays, or none."""
        return [stamps[places] for stamps in (self._seen, self._seen_again) if stamps is not None]

    def write(self, places: Array, stamps: Stamps, tick: int) -> None:
        """Enter writes; of several to one granule one stays."""
        if self._written is None:
            self._written = np.zeros(self._count, np.uint64)
        self._written[places] = stamps
        self.last_written = tick

    def see(self, places: Array, stamps: Stamps, tick: int, replaceable: Array | None) -> None:
        """Enter accesses beside those by other items.

        `replaceable` masks the granules whose first entry is ordered before; None says that all are.
        """
        self.last_seen = tick
        if self._seen is None:
            self._seen = np.zeros(self._count, np.uint64)
            replaceable = None
        if replaceable is None or replaceable.all():
            self._first(places, stamps)
            return
        self._first(places[replaceable], stamps[replaceable])
        self._again(places[~replaceable], stamps[~replaceable])

    def see_again(self, places: Array, stamps: Stamps, tick: int) -> None:
        """Enter accesses by the items that stand there already."""
        assert self._seen is not None
        self.last_seen = tick
        self._seen[places] = stamps

    def park(self, places: Array, stamps: Stamps, tick: int) -> None:
        """Enter atomic writes that others have replaced, whatever stood there."""
        if not stamps.size:
            return
        self.last_seen = tick
        if self._seen is None:
            self._seen = np.zeros(self._count, np.uint64)
        if self.private or self._written is None:
            self._seen[places] = stamps
            return
        # One of another work-group than the last write stays, or comes last.
        last = self._written[places]
        far = self._layout.other_group(last, stamps)
        held = self._far(self._seen[places], last) & ~far
        self._again(places[held], stamps[held])
        for chosen in (~held & ~far, far):
            self._seen[places[chosen]] = stamps[chosen]

    def _far(self, stamps: Stamps, others: Stamps) -> NDArray[np.bool_]:
        """The mask of entries that are of other work-groups than some stamps."""
        far: NDArray[np.bool_] = (stamps != 0) & self._layout.other_group(stamps, others)
        return far

    def first_seen(self, places: Array) -> Stamps | None:
        """The first of the two other accesses of granules; None where there is none at all."""
        return None if self._seen is None else self._seen[places]

    def second(self, places: Array) -> tuple[Array, Stamps]:
        """The granules that have a second of the two other accesses, each once, and these."""
        if self._seen_again is None:
            return places[:0], np.zeros(0, np.uint64)
        used = np.unique(places)
        stamps = self._seen_again[used]
        return used[stamps != 0], stamps[stamps != 0]

    def keep(self, places: Array, stamps: Stamps, timeless: Stamps) -> None:
        """Enter accesses of granules in `more`; `timeless` are their stamps without ticks."""
        for place, who, stamp in zip(places.tolist(), timeless.tolist(), stamps, strict=True):
            self.more.setdefault(place, {})[who] = stamp

    def kept(self) -> Stamps:
        """All stamps of `more`."""
        return np.array([stamp for stamps in self.more.values() for stamp in stamps.values()], np.uint64)

    def _first(self, places: Array, stamps: Stamps) -> None:
        assert self._seen is not None
        self._seen[places] = stamps
        kept = self._seen[places]
        if (lost := kept != stamps).any():
            self._again(places[lost], stamps[lost])

    def _again(self, places: Array, stamps: Stamps) -> None:
        """Enter accesses beside those that stand in `seen`, of other work-groups where there are any."""
        assert self._seen is not None
        if self._seen_again is None:
            self._seen_again = np.zeros(self._count, np.uint64)
        if self.private:
            self._seen_again[places] = stamps
            return
        first = self._seen[places]
        far = self._layout.other_group(first, stamps)
        held = self._far(self._seen_again[places], first)
        for chosen in (~far & ~held, far):
            self._seen_again[places[chosen]] = stamps[chosen]

    def change(self, change: Callable[[Stamps], Stamps]) -> None:
        """Replace all stamps by others."""
        for stamps in self.all():
            used = np.flatnonzero(stamps)
            stamps[used] = change(stamps[used])
        changed = iter(change(self.kept()))
        self.more = {place: {who: next(changed) for who in stamps} for place, stamps in self.more.items()}
