"""Which of the threads that can go on do so, how far, and when copies are made beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.special import WARP
from tests.back.nvptx.ptx_machine.types import Array

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Group

SCHEDULES: dict[str, Callable[[Array], Array]] = {
    "together": lambda thread: thread * 0,
    "by_warp": lambda thread: thread // WARP,
    "by_warp_reversed": lambda thread: -(thread // WARP),
    "by_thread": lambda thread: thread,
    "by_thread_reversed": lambda thread: -thread,
}
"""The parts of threads that are executed one after the other, each until it waits: what lacks a barrier is seen so."""

_TURN = 500
"""After so many instructions of a group, another one has its turn: it may wait in a loop for what that one does."""


@dataclass(slots=True)
class Schedule:
    """The order of parts: the one with the lowest number goes first."""

    parts: Array
    """The part of each thread."""

    def chosen(self, ready: list[Group]) -> Group:
        return min(ready, key=lambda one: one.order)

    def turn(self) -> int:
        """How many instructions a group is given."""
        return _TURN

    def makes_copy(self) -> bool:
        """Whether a copy that is late is made before the next turn."""
        return False

    def gives_up(self) -> bool:
        """Whether a wait that may end for no reason does so."""
        return False


@dataclass(slots=True)
class RandomSchedule(Schedule):
    """Warps in an order that a seed draws, for stretches of a length that it draws; so are the times of copies."""

    random: Random = field(default_factory=Random)
    turns: tuple[int, ...] = field(init=False)
    copies: float = field(init=False)
    _favourite: int = 0
    _left: int = 0

    def __post_init__(self) -> None:
        self.turns = self.random.choice(((1, 2, 5), (3, 30, 300), (200, 500)))
        self.copies = self.random.choice((0.0, 0.02, 0.3, 1.0))

    @staticmethod
    def of(threads: int, random: Random) -> RandomSchedule:
        """A schedule of the warps of so many threads."""
        return RandomSchedule(np.arange(threads) // WARP, random)

    def chosen(self, ready: list[Group]) -> Group:
        parts = sorted({one.part for one in ready})
        self._left -= 1
        if self._left < 0 or self._favourite not in parts:
            self._favourite = self.random.choice(parts)
            self._left = self.random.choice((0, 1, 10, 40))
        return min((one for one in ready if one.part == self._favourite), key=lambda one: one.order)

    def turn(self) -> int:
        return self.random.choice(self.turns)

    def makes_copy(self) -> bool:
        return self.random.random() < self.copies

    def gives_up(self) -> bool:
        return self.random.random() < 0.1
