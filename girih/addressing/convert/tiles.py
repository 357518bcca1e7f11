"""The common reading of every model that `convert` knows: its tile as a sequence of memory elements, and as loops."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from girih.addressing.access import Access, Kind
from girih.addressing.errors import Violation, rule

NO_EQUIVALENT = rule(
    "convert.equivalent", "the target can say what the model says", "001 8.X, 002 3.X, 003 Memref type, 004 5.5"
)


class Model(Protocol):
    """An address model together with its tile."""

    def access(self) -> Access:
        """The elements that a load of the tile touches."""


@dataclass(frozen=True)
class LoopMode:
    """One loop of a nest: `size` rounds, `stride` memory elements apart."""

    size: int
    stride: int


@dataclass(frozen=True)
class LinearTile:
    """The tile of a model as an access, apart from how the model says it; `model` is there for targets that know it."""

    model: Model
    access: Access
    component_size: int | None = None
    """The bytes of a component, where they are known."""
    dtype: str | None = None
    """The element type for a tensor map, where the caller or the model says it."""
    global_address: int = 0
    """The address of the buffer that the elements are counted from, in bytes."""
    architecture: str = "sm_90a"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tile."""
        return self.access.shape

    @property
    def element(self) -> NDArray[np.int64]:
        """The memory element of each element on one axis, in the row-major order of the tile."""
        return self.access.element.reshape(-1)

    @property
    def rows(self) -> int:
        """The rows of the tile as a matrix."""
        return math.prod(self.shape[:-1])

    @property
    def columns(self) -> int:
        """The columns of the tile as a matrix."""
        return self.shape[-1] if self.shape else 1

    @property
    def base(self) -> int:
        """The memory element of the first element."""
        return int(self.element[0])


class Reason(Exception):
    """Every known reason why a target has no equivalent.

    Reasons in words become violations of `convert.equivalent`; violations of the target's own rules stay as they are.
    """

    def __init__(self, *reasons: str | Violation) -> None:
        super().__init__(*reasons)
        self.reasons = reasons

    @property
    def violations(self) -> list[Violation]:
        """All reasons as violations."""
        fix = "keep the model, or copy the data"
        return [NO_EQUIVALENT.violation(why, fix) if isinstance(why, str) else why for why in self.reasons]


def other_kinds(access: Access) -> dict[str, int]:
    """The number of elements that are not in bounds, by the words of their kinds."""
    return {word: count for word, count in access.counts().items() if word != Kind.IN_BOUNDS.word}


def all_in_bounds(tile: LinearTile) -> None:
    """Raise `Reason` for a tile with elements that are not in bounds, which most targets cannot have."""
    others = other_kinds(tile.access)
    if others:
        words = " and ".join(f"{count} {word}" for word, count in others.items())
        raise Reason(f"the tile has {words} elements, which belong to its layout alone")


def modes_of(element: NDArray[np.int64]) -> tuple[LoopMode, ...]:
    """The shortest nest of loops, outermost first, that gives this sequence less its first number.

    Raises `Reason` where there is none, or a step is negative.
    """
    modes: list[LoopMode] = []
    while element.size > 1:
        stride = int(element[1] - element[0])
        breaks = np.flatnonzero(np.diff(element) != stride)
        size = int(breaks[0]) + 1 if len(breaks) else element.size
        if stride < 0:
            raise Reason(f"it steps backwards, from memory element {element[0]} to {element[1]}")
        rows = element.reshape(-1, size) if element.size % size == 0 else None
        if rows is None or not np.array_equal(rows - rows[:, :1], np.broadcast_to(rows[0] - rows[0, 0], rows.shape)):
            raise Reason(f"its elements are no nest of loops with fixed steps: the first {size} are {stride} apart")
        modes.insert(0, LoopMode(size, stride))
        element = rows[:, 0]
    return tuple(modes)


def own_modes(tile: LinearTile) -> list[LoopMode]:
    """The axes of the tile with the steps that its first elements are apart, 0 along axes of one element."""
    grid = tile.element.reshape(tile.shape)
    firsts = [grid[(0,) * axis + (slice(2),) + (0,) * (grid.ndim - axis - 1)].tolist() for axis in range(grid.ndim)]
    return [LoopMode(size, first[-1] - first[0]) for size, first in zip(tile.shape, firsts, strict=True)]
