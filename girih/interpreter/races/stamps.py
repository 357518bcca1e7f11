"""Stamps: who accessed a piece of memory, when and with which instruction, as one number of 64 bits.

From the top, a stamp has the number of the work-group in the grid, the *item*, which is who in the work-group
(`actors`), the *tick*, which counts what orders accesses (`order`), and the *place*, an instruction (`places`); 0 is no
stamp. So two stamps differ below a certain bit only where one item made both accesses.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.lazy_dataclass import dataclass

Stamps = NDArray[np.uint64]

_BITS = 64
TICK_BITS = 16
"""Ticks are renumbered when they are used up, so that few bits suffice."""


@dataclass(frozen=True)
class StampLayout:
    """How many bits of a stamp its parts have; `items` is how many items of a work-group are told apart."""

    group_bits: int
    place_bits: int
    items: int
    tick_bits: int = TICK_BITS

    @classmethod
    def of(cls, groups: int, places: int, tick_bits: int = TICK_BITS) -> StampLayout:
        """The layout for a grid of `groups` work-groups and a kernel with `places` places, numbered from 1."""
        group_bits, place_bits = max(1, (groups - 1).bit_length()), max(1, places.bit_length())
        return cls(group_bits, place_bits, 2 ** (_BITS - group_bits - place_bits - tick_bits), tick_bits)

    @cached_property
    def _item_unit(self) -> np.uint64:
        return np.uint64(1) << self.item_shift

    @cached_property
    def _group_unit(self) -> np.uint64:
        return np.uint64(1) << self.group_shift

    @cached_property
    def item_shift(self) -> np.uint64:
        """The number of bits below the item."""
        return np.uint64(self.tick_bits + self.place_bits)

    @cached_property
    def group_shift(self) -> np.uint64:
        """The number of bits below the work-group."""
        return np.uint64(_BITS - self.group_bits)

    @property
    def last_tick(self) -> int:
        """The largest tick."""
        return int(2**self.tick_bits - 1)

    def who(self, groups: NDArray[Any], items: NDArray[Any]) -> Stamps:
        """Stamps without tick and place, of items of work-groups; items beyond those told apart share a number."""
        wide = np.asarray(items, np.uint64)
        if wide.size and int(wide.max()) >= self.items:
            wide = wide % np.uint64(_largest_prime(self.items))
        stamps: Stamps = (np.asarray(groups, np.uint64) << self.group_shift) | (wide << self.item_shift)
        return stamps

    def when(self, tick: int, place: int) -> np.uint64:
        """Tick and place of a stamp."""
        return np.uint64((tick << self.place_bits) | place)

    def other_item(self, a: Stamps, b: Stamps) -> NDArray[np.bool_]:
        """The mask of stamps of two items."""
        apart: NDArray[np.bool_] = (a ^ b) >= self._item_unit
        return apart

    def other_group(self, a: Stamps, b: Stamps) -> NDArray[np.bool_]:
        """The mask of stamps of two work-groups."""
        apart: NDArray[np.bool_] = (a ^ b) >= self._group_unit
        return apart

    def groups(self, stamps: Stamps) -> NDArray[np.int64]:
        """The numbers of the work-groups of stamps."""
        return (stamps >> self.group_shift).astype(np.int64)

    def item(self, stamps: Stamps) -> NDArray[np.int64]:
        """The items of stamps."""
        return ((stamps >> self.item_shift) & np.uint64(self.items - 1)).astype(np.int64)

    def ticks(self, stamps: Stamps) -> NDArray[np.int64]:
        """The ticks of stamps."""
        return ((stamps >> np.uint64(self.place_bits)) & np.uint64(self.last_tick)).astype(np.int64)

    def places(self, stamps: Stamps) -> NDArray[np.int64]:
        """The places of stamps."""
        return (stamps & np.uint64(2**self.place_bits - 1)).astype(np.int64)

    def with_ticks(self, stamps: Stamps, ticks: NDArray[np.int64]) -> Stamps:
        """The stamps with other ticks."""
        mask = np.uint64(self.last_tick << self.place_bits)
        changed: Stamps = (stamps & ~mask) | (ticks.astype(np.uint64) << np.uint64(self.place_bits))
        return changed


def _largest_prime(below: int) -> int:
    """The largest prime that is not above a number of at least 2.

    Items that lie a round number apart, as points in neighbouring rows do, stay apart modulo a prime.
    """
    candidate = below
    while any(candidate % divisor == 0 for divisor in range(2, int(candidate**0.5) + 1)):
        candidate -= 1
    return candidate
