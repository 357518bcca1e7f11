"""What barriers and collective instructions order: for each work-group of a batch, since when accesses are open.

A tick is a number that only grows. What a work-group accessed before the tick at which its latest barrier came is
ordered before everything that it does now. There is such a tick for each memory, and one for tensor copies, which only
a barrier or a collective instruction that is no copy waits for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ticks = NDArray[np.int64]

GLOBAL, LOCAL = 0, 1
"""The two memories, and the relations of the same names."""


class Order:
    """The ticks of a batch of work-groups, whose numbers in the grid are `groups`."""

    def __init__(self, groups: NDArray[Any], *, copies: bool) -> None:
        """Begin with work-groups, by their numbers in the grid; `copies` says whether there are tensor copies."""
        self._has_copies = copies
        self.groups = groups.astype(np.int64)
        self.tick = 1
        """Now."""
        self.since = np.ones((2, len(groups)), np.int64)
        """Since when accesses to global and local memory are not ordered before now."""
        self.copies_since = np.ones(len(groups), np.int64)
        """The same of tensor copies."""
        self.units_since: dict[int, Ticks] = {}
        """Of memories that barriers of subgroups order: since when accesses of each are open, [work_group, unit]."""
        self._sorted = np.argsort(self.groups)

    def advance(self, memories: tuple[int, ...], groups: NDArray[np.bool_] | None, *, copies: bool) -> None:
        """Order what these work-groups, or all, did in some memories, and in copies, before what comes."""
        self.tick += 1
        picked: Any = slice(None) if groups is None else groups
        for memory in memories:
            self.since[memory, picked] = self.tick
        if copies:
            self.copies_since[picked] = self.tick

    def advance_units(self, memories: tuple[int, ...], units: NDArray[np.bool_]) -> None:
        """Order what subgroups, a mask [work_group, unit], did in some memories before what they do next."""
        self.tick += 1
        for memory in memories:
            if memory not in self.units_since:
                self.units_since[memory] = np.ones(units.shape, np.int64)
            self.units_since[memory][units] = self.tick

    def latest_of_units(self, memory: int, groups: NDArray[np.int64], units: NDArray[np.int64]) -> Ticks:
        """Since when accesses of subgroups of the batch among themselves are open; 0 for others, and for no subgroup.

        Who is asked about may be of an earlier batch: a write that an atomic one has replaced.
        """
        table = self.units_since[memory]
        rows, here = self._rows(groups)
        known = here & (units < table.shape[1])
        return np.where(known, table[rows, np.where(known, units, 0)], 0)

    def step(self) -> None:
        """Begin a new tick, which orders nothing."""
        self.tick += 1

    def latest(self, memory: int, groups: Callable[[], NDArray[np.int64]], *, copies: bool) -> Ticks | int:
        """Since when accesses of work-groups of the batch are open, 0 for others; one tick where it is one for all."""
        table = self.copies_since if copies else self.since[memory]
        first = int(table[0])
        if (table == first).all():
            return first
        rows, here = self._rows(groups())
        return np.where(here, table[rows], 0)

    def _rows(self, groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The places of work-groups in the batch, and which of them are in it."""
        places = np.searchsorted(self.groups, groups, sorter=self._sorted)
        rows = self._sorted[np.minimum(places, len(self._sorted) - 1)]
        return rows, self.groups[rows] == groups

    def oldest(self, memory: int) -> int:
        """The earliest tick at which an access of any work-group to a memory may still be open."""
        oldest = int(self.since[memory].min())
        return min(oldest, int(self.copies_since.min())) if self._has_copies else oldest
