"""Findings of races: who the two items are, which element they met at, and what would order them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.analysis.accesses import Place
from girih.diagnostics import Finding, MemoryAccess
from girih.facts.races import RacingPair, race, race_hint
from girih.interpreter.races.actors import ItemNumbers
from girih.interpreter.races.places import ArrayNames, PlaceTable
from girih.interpreter.races.points import Points
from girih.interpreter.races.stamps import StampLayout, Stamps
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import Foreach, ForeachTile

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who made an access; `unit` is the subgroup of `parallel`, the tile or the point, None where it is open."""

    work_group: tuple[int, int, int]
    unit: int | None
    subgroup: int | None
    lane: int | None
    component: tuple[int, int] | None
    point: Ints | None


class Reporter:
    """The findings of a launch's races."""

    def __init__(
        self,
        layout: StampLayout,
        items: ItemNumbers,
        table: PlaceTable,
        names: ArrayNames,
        points: Points,
        grid: tuple[int, int, int],
        add: Callable[[Finding], None],
        *,
        counts_bytes: bool,
    ) -> None:
        self.layout, self.items, self.table = layout, items, table
        self.names, self.points, self.grid = names, points, grid
        self._add = add
        self._counts_bytes = counts_bytes

    def report(
        self,
        place: Place,
        now: Stamps,
        old: Stamps,
        addresses: NDArray[np.int64],
        accesses: NDArray[np.int64],
        same_value: Callable[[int], bool],
        *,
        local: bool,
    ) -> None:
        """Add a finding for each earlier place of accesses that race.

        The arrays have the stamps, the addresses of granules, and the numbers of the accesses, several of which are
        equal where an element has several granules. `same_value` says whether two accesses, by their position, write
        the same value.
        """
        numbers = self.layout.places(old)
        for number in np.flatnonzero(np.bincount(numbers)).tolist():
            here = numbers == number
            first = int(here.argmax())
            ended = accesses[here]
            # Granules of one element follow each other.
            count = 1 + int(np.count_nonzero(ended[1:] != ended[:-1]))
            earlier = self.table[number]
            self._add(
                self._finding(
                    place, earlier, now[first], old[first], int(addresses[first]), same_value(first), count, local=local
                )
            )

    def _finding(
        self,
        place: Place,
        earlier: Place,
        now: Any,
        old: Any,
        address: int,
        same_value: bool,
        count: int,
        *,
        local: bool,
    ) -> Finding:
        mine, theirs = self._actor(place, now), self._actor(earlier, old)
        same_group = mine.work_group == theirs.work_group
        index, shape = self.names.index(place.root, address)
        name = self.names.name(place.root, address)
        pair = RacingPair(
            place,
            earlier,
            name,
            local,
            same_group,
            same_group and (None in (mine.unit, theirs.unit) or mine.unit == theirs.unit),
            same_value,
            mine.lane == theirs.lane,
            self._counts_bytes,
        )
        words = race(pair)
        other = MemoryAccess(
            earlier.op.span,
            self.names.name(earlier.root, address),
            index if earlier.root is place.root else self.names.index(earlier.root, address)[0],
            earlier.words,
            theirs.work_group,
            theirs.subgroup,
            theirs.lane,
            theirs.component,
            theirs.point,
            self._counts_bytes,
        )
        return Finding(
            words.code,
            words.at(index, shape),
            place.op.span,
            name,
            index,
            shape,
            mine.work_group,
            mine.subgroup,
            mine.lane,
            mine.component,
            count,
            place.words,
            mine.point,
            other,
            race_hint(pair),
        )

    def _actor(self, place: Place, stamp: Any) -> Actor:
        one = np.array([stamp])
        group, item, tick = (int(part(one)[0]) for part in (self.layout.groups, self.layout.item, self.layout.ticks))
        x, y, _ = self.grid
        work_group = (group % x, group // x % y, group // (x * y))
        if place.is_copy or place.around is None:
            return Actor(work_group, None, None, None, None, None)
        unit = self.items.unit_of(item, place)
        component = self.items.component_of(item, place)
        lane = self.items.lane_of(item, place)
        if isinstance(place.around, Foreach | ForeachTile):
            point = self.points.point(place.around, group, tick, unit)
            subgroup = None
            if self.points.dealt and isinstance(place.around, Foreach):
                subgroup, lane = divmod(unit % (self.items.subgroups * self.items.lanes), self.items.lanes)
            elif self.points.dealt:
                subgroup = unit % self.items.subgroups
            return Actor(work_group, unit, subgroup, None if component else lane, component, point)
        subgroup = unit if unit < self.items.subgroups else None
        return Actor(work_group, subgroup, subgroup, lane, component, None)
