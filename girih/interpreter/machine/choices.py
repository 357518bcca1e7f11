"""The choices that the language leaves to the implementation, made in one place.

Without a seed the choices are the fastest ones and always the same. With a seed they are drawn from it, so that a
kernel that depends on one of them shows it: order and batches of work-groups, subgroup and work-group size where free,
which work-item gets which point of a `foreach`, the order of atomic updates and of sums, when tensor copies are made,
where local memory begins, which work-items go ahead of others, whether use is made of a permission, and what Vulkan
leaves open about the numbers of shaders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from girih.addressing.quirks import QUIRKS
from girih.analysis.sizes import preferred_subgroup_size
from girih.interpreter.machine.latitudes import LATITUDES, OPEN, ORDER, SUBGROUP_SIZE
from girih.interpreter.machine.turns import parts

Indices = NDArray[np.int64]


class Choices:
    """A source of choices; the same seed gives the same launch.

    A seed varies everything that is open, or what `vary` names: `order`, `subgroup_size`, and the latitudes of shaders
    (`girih.interpreter.machine.latitudes`). Each of these may have a way of its own, with a seed or without, such as
    `rounding="toward_zero"`; `subgroup_size` is then a number of work-items. `quirks` is the name of a driver whose
    deviations from 000 and 001 are followed (`girih.addressing.quirks`). Raises `ValueError` for anything else, and
    `TypeError` for an unknown keyword.
    """

    def __init__(
        self,
        seed: int | None = None,
        *,
        quirks: str | None = None,
        vary: Sequence[str] | None = None,
        subgroup_size: int | None = None,
        **ways: str,
    ) -> None:
        if quirks is not None and quirks not in QUIRKS:
            raise ValueError(f"quirks are {' or '.join(map(repr, QUIRKS))}, or None; got {quirks!r}")
        if seed is not None and (not isinstance(seed, SupportsIndex) or index(seed) < 0):
            raise ValueError(f"a seed is an integer that is not negative, or None; got {seed!r}")
        _refuse_ways(seed, vary, ways)
        if subgroup_size is not None and (not isinstance(subgroup_size, int) or subgroup_size < 1):
            raise ValueError(f"a subgroup size is a number of work-items, or None; got {subgroup_size!r}")
        self.quirks = quirks
        self.seed = seed
        self._given = {"vary": None if vary is None else tuple(vary), "subgroup_size": subgroup_size, **ways}
        varied = frozenset() if seed is None else frozenset(OPEN if vary is None else vary)
        self._random = np.random.default_rng(seed) if ORDER in varied else None
        self._sizes = np.random.default_rng(seed) if SUBGROUP_SIZE in varied else None
        if self._random is not None and self._sizes is not None:
            self._sizes = self._random
        self.wanted_subgroup_size = subgroup_size
        self._ways = ways
        self._drawn = varied.intersection(LATITUDES) - ways.keys()
        self._numbers = np.random.default_rng([0 if seed is None else index(seed), 1])
        self._permutations: dict[object, Indices] = {}

    def __repr__(self) -> str:
        named = {"quirks": self.quirks, **self._given}
        parts = [repr(self.seed), *(f"{name}={value!r}" for name, value in named.items() if value is not None)]
        return f"Choices({', '.join(parts)})"

    def again(self) -> Choices:
        """The same choices from their beginning."""
        given: dict[str, Any] = self._given
        return Choices(self.seed, quirks=self.quirks, **given)

    @property
    def varies(self) -> bool:
        """Whether orders may differ from the default ones."""
        return self._random is not None

    # --- the numbers of shaders --------------------------------------------------------------

    def may_vary(self, latitude: str) -> bool:
        """Whether a latitude of shaders may be used otherwise than by default."""
        return (
            latitude in self._drawn
            or self._ways.get(latitude, LATITUDES[latitude].ways[0]) != (LATITUDES[latitude].ways[0])
        )

    def way(self, latitude: str) -> str:
        """The way in which an instruction goes, each time that it is executed: one of the latitude's."""
        row = LATITUDES[latitude]
        if latitude in self._drawn:
            way = str(self._numbers.choice(row.all_ways))
            if row.by_launch:
                self._drawn -= {latitude}
                self._ways = {**self._ways, latitude: way}
            return way
        return self._ways.get(latitude, row.ways[0])

    def fractions(self, shape: Sequence[int]) -> NDArray[np.float64]:
        """Numbers from -1 to 1, one for each element of an array."""
        return self._numbers.uniform(-1.0, 1.0, tuple(shape))

    def permutation(self, key: object, count: int) -> Indices:
        """An order of so many numbers, the same for a key throughout the launch."""
        found = self._permutations.get(key)
        if found is None:
            found = self._permutations[key] = self._numbers.permutation(count).astype(np.int64)
        return found

    # --- orders ------------------------------------------------------------------------------

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
        """One of the possible subgroup sizes, for a program that leaves it open; the wanted one if there is one."""
        if self.wanted_subgroup_size is not None:
            return self.wanted_subgroup_size
        if self._sizes is None:
            return preferred_subgroup_size(list(possible))
        return int(self._sizes.choice(list(possible)))

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


def _refuse_ways(seed: int | None, vary: Sequence[str] | None, ways: Mapping[str, str]) -> None:
    """Raise for a latitude, or a way, that there is not."""
    if vary is not None and (isinstance(vary, str) or not set(vary) <= set(OPEN)):
        raise ValueError(f"vary is a list of some of {', '.join(OPEN)}; got {vary!r}")
    if vary is not None and seed is None:
        raise ValueError("vary says what a seed varies: give a seed as well")
    for name, way in ways.items():
        if name not in LATITUDES:
            raise TypeError(f"Choices has no keyword {name!r}; latitudes are {', '.join(LATITUDES)}")
        known = LATITUDES[name].all_ways
        if way not in known:
            raise ValueError(f"{name} is {' or '.join(map(repr, known))}; got {way!r}")


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
