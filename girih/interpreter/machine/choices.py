"""The choices that the language leaves to the implementation, made in one place.

Without a seed the choices are the fastest ones and always the same. With a seed they are drawn from it, so that a
kernel that depends on one of them shows it: order and batches of work-groups, subgroup and work-group size where free,
which work-item gets which point of a `foreach`, the order of atomic updates and of sums, when tensor copies are made,
where local memory begins, which work-items go ahead of others, and whether use is made of a permission.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from girih.addressing.quirks import QUIRKS
from girih.analysis.sizes import preferred_subgroup_size
from girih.interpreter.machine.turns import parts

Indices = NDArray[np.int64]


class Choices:
    """A source of choices; the same seed gives the same launch.

    `quirks` is the name of a driver whose deviations from 000 and 001 are followed (`girih.addressing.quirks`).
    """

    def __init__(self, seed: int | None = None, *, quirks: str | None = None) -> None:
        if quirks is not None and quirks not in QUIRKS:
            raise ValueError(f"quirks are {' or '.join(map(repr, QUIRKS))}, or None; got {quirks!r}")
        self.quirks = quirks
        if seed is not None and (not isinstance(seed, SupportsIndex) or index(seed) < 0):
            raise ValueError(f"a seed is an integer that is not negative, or None; got {seed!r}")
        self.seed = seed
        self._random = np.random.default_rng(seed) if seed is not None else None

    def __repr__(self) -> str:
        return f"Choices({self.seed!r})" if self.quirks is None else f"Choices({self.seed!r}, quirks={self.quirks!r})"

    def again(self) -> Choices:
        """The same choices from their beginning."""
        return Choices(self.seed, quirks=self.quirks)

    @property
    def varies(self) -> bool:
        """Whether choices may differ from the default ones."""
        return self._random is not None

    def order(self, count: int) -> Indices:
        """An order of `count` work-groups, as their numbers."""
        if self._random is None:
            return np.arange(count, dtype=np.int64)
        return self._random.permutation(count).astype(np.int64)

    def batch(self, most: int) -> int:
        """The number of work-groups that are executed at once, at most `most`."""
        if self._random is None:
            return most
        return min(most, int(self._random.choice([1, 2, 3, 16, most])))

    def subgroup_size(self, possible: Sequence[int]) -> int:
        """One of the possible subgroup sizes, for a program that leaves it open."""
        if self._random is None:
            return preferred_subgroup_size(list(possible))
        return int(self._random.choice(list(possible)))

    def work_group_size(self, subgroup_size: int, most: int) -> tuple[int, int]:
        """A work-group size in work-items, at most `most` in all, for a program that leaves it open."""
        if self._random is None:
            return subgroup_size, 1
        limit = max(1, min(4, most // subgroup_size))
        rows = int(self._random.integers(1, limit + 1))
        columns = int(self._random.integers(1, limit // rows + 1))
        return subgroup_size * rows, columns

    def turns(self, subgroups: int, lanes: int) -> list[NDArray[np.bool_]]:
        """The work-items that execute what they can before the next ones begin, as masks; empty for all at once."""
        if self._random is None or self._random.random() < 0.5:
            return []
        return parts(self._random.permutation(subgroups * lanes), subgroups, lanes)

    def points(self, count: int) -> Indices | None:
        """An order of `count` points of a loop; None for the natural order."""
        if self._random is None or count < 2:
            return None
        return self._random.permutation(count).astype(np.int64)

    def later(self) -> bool:
        """Whether a tensor copy is made only when what it moves must be visible."""
        return self._random is not None and bool(self._random.random() < 0.5)

    def address(self, alignment: int) -> int:
        """An address in bytes, a multiple of `alignment`, at which local memory begins."""
        return 0 if self._random is None else alignment * int(self._random.integers(0, 8))

    def pairs(self, most: int) -> int:
        """The number of pairs, at most `most`, that are combined before the combinations join the rest."""
        return most if self._random is None else int(self._random.integers(1, most + 1))

    def use(self, ways: int = 1) -> int:
        """Which of so many ways of making use of a permission is taken, from 1 on; 0 for none of them."""
        return 0 if self._random is None else int(self._random.integers(0, ways + 1))

    def summands(self, count: int) -> Indices | None:
        """An order of the `count` terms of a sum; None for the natural order."""
        return self.points(count)


_GROUP_TURNS = 256
"""Work-groups of larger grids have their turns several at a time."""


class GoingAhead(Choices):
    """The choices of a run in which one work-group after the other is executed, and work-items go ahead of others.

    Work-groups and work-items have their turns in ascending order, in descending order, or as a seed says. Work-groups
    of a large grid, of `groups` in all, have their turns a few at a time, or the run would last.
    """

    def __init__(self, groups: int, *, backwards: bool = False, turn_seed: int | None = None) -> None:
        super().__init__()
        self._at_once = -(-groups // _GROUP_TURNS)
        self._backwards = backwards
        self._shuffle = np.random.default_rng(turn_seed) if turn_seed is not None else None

    def again(self) -> GoingAhead:
        """These choices, which are used once."""
        return self

    def order(self, count: int) -> Indices:
        """An order of `count` work-groups, as their numbers."""
        if self._shuffle is not None:
            return self._shuffle.permutation(count).astype(np.int64)
        order = np.arange(count, dtype=np.int64)
        return order[::-1].copy() if self._backwards else order

    def batch(self, most: int) -> int:
        """The number of work-groups that are executed at once: one, as long as there are not many."""
        return min(most, self._at_once)

    def turns(self, subgroups: int, lanes: int) -> list[NDArray[np.bool_]]:
        """The work-items that execute what they can before the next ones begin, as masks."""
        return parts(self.order(subgroups * lanes), subgroups, lanes)


class InTurn(GoingAhead):
    """The choices of a run in which some work-items, by work-group and number, have their turns in a given order."""

    def __init__(self, groups: int, items: Sequence[tuple[int, int]]) -> None:
        super().__init__(groups)
        self._groups = list(dict.fromkeys(group for group, _ in items))
        self._items = list(dict.fromkeys(item for _, item in items))

    def order(self, count: int) -> Indices:
        """An order of `count` work-groups, as their numbers."""
        return _first(self._groups, count)

    def turns(self, subgroups: int, lanes: int) -> list[NDArray[np.bool_]]:
        """The work-items that execute what they can before the next ones begin, as masks."""
        return parts(_first(self._items, subgroups * lanes), subgroups, lanes)


def _first(numbers: Sequence[int], count: int) -> Indices:
    """The numbers from 0 to before `count`, these first."""
    chosen = np.array([number for number in numbers if number < count], np.int64)
    others = np.ones(count, np.bool_)
    others[chosen] = False
    return np.concatenate([chosen, np.flatnonzero(others)])


def other_orders(groups: int) -> Iterator[Choices]:
    """The choices of further runs of a launch of some work-groups whose work-items wait for each other."""
    yield GoingAhead(groups)
    yield GoingAhead(groups, backwards=True)
    for seed in range(2):
        yield GoingAhead(groups, turn_seed=seed)
