"""Which point of a `foreach`, or tile of a `foreach_tile`, a number of the search for races is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.ir.core import Op
from girih.lazy_dataclass import dataclass

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Loop:
    """One execution of a loop by work-groups from a tick on: first values and numbers of points of each work-group."""

    tick: int
    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]
    steps: Ints

    def point(self, group: int, number: int) -> Ints | None:
        """The point with a number in a work-group; None for a work-group that was not there."""
        where = np.flatnonzero(self.groups == group)
        if not where.size:
            return None
        row = min(int(where[0]), len(self.starts) - 1)
        point: list[int] = []
        for start, count, step in zip(self.starts[row].tolist(), self.counts[row].tolist(), self.steps, strict=True):
            number, step_number = divmod(number, max(1, count))
            point.append(start + step_number * step)
        return tuple(point)


class Points:
    """The loops that were executed, each time that their points changed.

    `dealt` says that points and tiles are dealt out in turn, so that their work-items are known.
    """

    def __init__(self, *, dealt: bool) -> None:
        self.dealt = dealt
        self._loops: dict[Op, list[_Loop]] = {}

    def remember(
        self,
        op: Op,
        tick: int,
        groups: NDArray[np.int64],
        starts: Sequence[NDArray[Any]],
        counts: Sequence[NDArray[Any]],
        steps: Ints,
    ) -> None:
        """Enter an execution; arrays are like scalar values of a work-group."""
        first, number = _rows(starts), _rows(counts)
        known = self._loops.setdefault(op, [])
        if known:
            last = known[-1]
            same = last.groups.size == groups.size and last.groups[0] == groups.flat[0]
            if same and np.array_equal(last.starts, first) and np.array_equal(last.counts, number):
                return
        known.append(_Loop(tick, groups.ravel(), first, number, steps))

    def point(self, op: Op, group: int, tick: int, number: int) -> Ints | None:
        """The point that a work-group executed at a tick under a number; None where that is not known."""
        for loop in reversed(self._loops.get(op, ())):
            if loop.tick <= tick and (found := loop.point(group, number)) is not None:
                return found
        return None

    def renumber(self, change: Callable[[int], int]) -> None:
        """Replace the ticks of all executions by others."""
        for loops in self._loops.values():
            loops[:] = [replace(loop, tick=change(loop.tick)) for loop in loops]


def _rows(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Arrays like scalar values of work-groups as one array [work_group, mode]."""
    return np.concatenate(np.broadcast_arrays(*columns), axis=2)[:, 0].astype(np.int64)
