"""Who accesses memory: the items of a work-group, as numbers that differ where nothing but an order may join two.

    unit 0 .. units - 1    subgroups of `parallel`, tiles of `foreach_tile`, points of `foreach`
    unit of the group      matrices of the work-group, behind the subgroups

    in a unit              the lanes (one in `foreach`), then the components of each type of matrix

Instructions of collective regions are made by item 0. Numbers of one region mean nothing in another: whatever is in
different regions is ordered. Behind all these come tensor copies, each an item of its own.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.analysis.accesses import Accesses, Place
from girih.ir.core import Op
from girih.ir.types import CoopMatrix
from girih.ops.tile.control import Foreach

Items = NDArray[np.int64]

_COPIES = 2**20
"""Copies share the numbers of this many."""


class ItemNumbers:
    """The numbering of the items of a kernel's work-groups."""

    def __init__(self, accesses: Accesses, subgroups: int, lanes: int) -> None:
        self.subgroups, self.lanes = subgroups, lanes
        self._begins: dict[CoopMatrix, int] = {}
        count = 0
        for type in accesses.matrices:
            self._begins[type] = count
            count += type.rows * type.columns
        self._components = count
        self._holders: dict[tuple[CoopMatrix, bool], Items] = {}
        numbers = np.arange(subgroups * lanes, dtype=np.int64)
        self.work_items: Items = (numbers // lanes * self.width(None) + numbers % lanes).reshape(1, subgroups, lanes)
        """The items of `parallel`: an array [1, subgroup, lane]."""
        self.group_unit = subgroups
        """The unit of what the work-group holds together in `parallel`."""
        self._first_copy = (subgroups + 1) * self.width(None)

    @property
    def types(self) -> Collection[CoopMatrix]:
        """The types of matrices whose components have holders."""
        return self._begins.keys()

    def width(self, around: Op | None) -> int:
        """How many numbers a unit takes."""
        return (1 if isinstance(around, Foreach) else self.lanes) + self._components

    def holders(self, type: CoopMatrix, around: Op | None) -> Items:
        """The numbers within a unit of those who hold the components of a matrix type: an array [row, column]."""
        key = (type, isinstance(around, Foreach))
        known = self._holders.get(key)
        if known is None:
            first = self.width(around) - self._components + self._begins[type]
            known = first + np.arange(type.rows * type.columns, dtype=np.int64).reshape(type.rows, type.columns)
            self._holders[key] = known
        return known

    def copy(self, number: int) -> int:
        """The item that a tensor copy is."""
        return self._first_copy + number % _COPIES

    def unit_of(self, item: int, place: Place) -> int:
        """The unit of an item."""
        return item // self.width(place.around)

    def lane_of(self, item: int, place: Place) -> int | None:
        """The lane that an item is; None for one that holds a component, and for a point."""
        if isinstance(place.around, Foreach):
            return None
        lane = item % self.width(place.around)
        return lane if lane < self.lanes else None

    def number_of(self, item: int, place: Place) -> int:
        """The number of the work-item of `parallel` that an item is, or one that belongs to the same subgroup."""
        unit, lane = divmod(item, self.width(place.around))
        return min(unit, self.subgroups - 1) * self.lanes + min(lane, self.lanes - 1)

    def component_of(self, item: int, place: Place) -> tuple[int, int] | None:
        """The row and column of the component that an item holds; None for one that holds none."""
        type = place.matrix
        if type is None:
            return None
        number = item % self.width(place.around) - int(self.holders(type, place.around)[0, 0])
        return divmod(number, type.columns) if 0 <= number < type.rows * type.columns else None

    def same_unit(self, a: NDArray[Any], b: NDArray[Any], place: Place) -> NDArray[np.bool_]:
        """Whether items of one region belong to one subgroup, whatever the implementation chooses.

        Points do not: any two may go to different subgroups.
        """
        width = 1 if isinstance(place.around, Foreach) else self.width(place.around)
        same: NDArray[np.bool_] = a // width == b // width
        return same
