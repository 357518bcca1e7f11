"""Which of two accesses to a byte are a race (`docs/design/races.md`, "What a race is")."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.analysis.accesses import Place
from girih.interpreter.races.actors import ItemNumbers
from girih.interpreter.races.clocks import Clocks
from girih.interpreter.races.order import Order
from girih.interpreter.races.places import DEVICE, PLAIN, SUBGROUP, WORK_GROUP, WRITES, PlaceTable
from girih.interpreter.races.stamps import StampLayout, Stamps

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]


class Judge:
    """The comparison of the stamps of accesses that are made now with earlier ones."""

    def __init__(self, layout: StampLayout, table: PlaceTable, items: ItemNumbers, clocks: Clocks | None) -> None:
        self.layout, self.table, self.items, self.clocks = layout, table, items, clocks
        self.order = Order(np.zeros(1, np.int64), copies=table.has_copies)
        self.joins_units = False
        """Whether there are barriers of subgroups."""

    def races(self, place: Place, memory: int, now: Stamps, old: Stamps) -> Places | None:
        """The positions in two arrays of stamps at which an access that `place` makes now races with an earlier one.

        None stands for none at all.
        """
        suspect = self.layout.other_item(now, old)
        if not suspect.any():
            return None
        suspect &= old != 0
        where: Places = np.flatnonzero(suspect)
        if not where.size:
            return None
        now, old = now[where], old[where]
        kept = ~self._is_ordered(memory, now, old) & self._conflicts(place, now, old)
        where = where[kept]
        if where.size and self.clocks is not None:
            known = self.clocks.knows(memory, now[kept], old[kept])
            where = where[~known]
        return where if where.size else None

    def is_ordered(self, memory: int, now: Stamps, old: Stamps, *, clocks: bool) -> Mask:
        """Whether each earlier access is ordered before the one that is made now, or is of the same item.

        `clocks` says whether a release and an acquire may order them, too.
        """
        ordered: Mask = ~self.layout.other_item(now, old) | self._is_ordered(memory, now, old)
        if clocks and self.clocks is not None and not ordered.all():
            rest = np.flatnonzero(~ordered)
            ordered[rest] = self.clocks.knows(memory, now[rest], old[rest])
        return ordered

    def _is_ordered(self, memory: int, now: Stamps, old: Stamps) -> Mask:
        """Whether a barrier of their work-group, or a collective instruction, lies between the accesses."""
        layout = self.layout
        apart = layout.other_group(now, old)
        if apart.all():
            return np.zeros(now.shape, np.bool_)
        ticks = layout.ticks(old)
        groups = partial(layout.groups, now)
        ordered: Mask = ticks < self.order.latest(memory, groups, copies=False)
        if self.table.has_copies:
            copies = self.table.copies[layout.places(old)]
            if copies.any():
                ordered = np.where(copies, ticks < self.order.latest(memory, groups, copies=True), ordered)
        ordered = ordered & ~apart
        if memory in self.order.units_since and not (ordered | apart).all():
            rest = np.flatnonzero(~ordered & ~apart)
            ordered[rest] = self._is_ordered_in_unit(memory, now[rest], old[rest])
        return ordered

    def _is_ordered_in_unit(self, memory: int, now: Stamps, old: Stamps) -> Mask:
        """Whether a barrier of their subgroup lies between accesses of one work-group."""
        layout = self.layout
        # All of them stand in `parallel`: nothing else has barriers of subgroups.
        place = self.table[int(layout.places(old[:1])[0])]
        units = layout.item(now) // self.items.width(place.around)
        same = self.items.same_unit(layout.item(now), layout.item(old), place)
        ordered: Mask = same & (layout.ticks(old) < self.order.latest_of_units(memory, layout.groups(now), units))
        return ordered

    def _conflicts(self, place: Place, now: Stamps, old: Stamps) -> Mask:
        """Whether one of the accesses writes, and not both are atomic with scopes that cover both items."""
        numbers = self.layout.places(old)
        writes: Mask = self.table.writes[numbers] | place.writes
        if place.scope is None:
            return writes
        reach: NDArray[Any] = np.minimum(self.table.reach[numbers], self.table.reach[place.number])
        return writes & ~self.covers(place, reach, now, old)

    def apart(self, sort: int, a: Stamps, b: Stamps) -> NDArray[np.int8]:
        """How far the items of accesses of a sort are apart: 2 for work-groups, 1 for subgroups where that matters.

        An access of a wide scope is atomic for one of the scope of the subgroup within the subgroup only.
        """
        distance: NDArray[np.int8] = np.multiply(self.layout.other_group(a, b), 2, dtype=np.int8)
        by_scope = self.table.narrowest == SUBGROUP and sort % WRITES != PLAIN
        if (by_scope or self.joins_units) and a.size:
            place = self.table[int(self.layout.places(a[:1])[0])]
            units = self.items.same_unit(self.layout.item(a), self.layout.item(b), place)
            distance = np.maximum(distance, ~units, dtype=np.int8)
        return distance

    def covers(self, place: Place, reach: NDArray[Any], now: Stamps, old: Stamps) -> Mask:
        """Whether a scope includes both of two items."""
        same_group = ~self.layout.other_group(now, old)
        same_unit = self.items.same_unit(self.layout.item(now), self.layout.item(old), place)
        covered: Mask = (reach == DEVICE) | (same_group & (reach == WORK_GROUP))
        covered |= same_group & same_unit & (reach != PLAIN)
        return covered
