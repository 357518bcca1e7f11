"""The state of a launch in the middle of one order of execution: who is where, what memory holds, what is ordered."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import product
from typing import NamedTuple

from girih.ir.core import Value
from tests.fuzz.races.ordered import Event, Heads, Place


class Unknown:
    """A number that this machine does not compute: it must not decide a branch or an index."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = Unknown()


class NotJudged(Exception):
    """What the brute force does not do, or has no time for."""


class Element(NamedTuple):
    """An element of memory: the parameter or `alloca`, which one of its memories, and the place in that."""

    origin: Value
    instance: Hashable
    number: int


@dataclass(frozen=True, slots=True)
class View:
    """A memref: which memory, and how its indices lead to elements."""

    origin: Value
    instance: Hashable
    local: bool
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def element(self, indices: tuple[int, ...]) -> Element:
        if not all(0 <= i < n for i, n in zip(indices, self.shape, strict=True)):
            raise NotJudged(f"index {indices} is outside of {self.shape}")
        at = self.offset + sum(i * s for i, s in zip(indices, self.strides, strict=True))
        return Element(self.origin, self.instance, at)

    def elements(self) -> Iterator[Element]:
        return map(self.element, product(*map(range, self.shape)))

    def part(self, slices: list[tuple[int, int | None]]) -> View:
        """The view of a `subview`; a slice without a size drops its mode."""
        offset = self.offset + sum(first * s for (first, _), s in zip(slices, self.strides, strict=True))
        kept = [(size, s) for (_, size), s in zip(slices, self.strides, strict=True) if size is not None]
        shape, strides = tuple(n for n, _ in kept), tuple(s for _, s in kept)
        return View(self.origin, self.instance, self.local, offset, shape, strides)

    def expanded(self, mode: int, sizes: tuple[int, ...]) -> View:
        steps = tuple(self.strides[mode] * math.prod(sizes[:k]) for k in range(len(sizes)))
        shape = (*self.shape[:mode], *sizes, *self.shape[mode + 1 :])
        strides = (*self.strides[:mode], *steps, *self.strides[mode + 1 :])
        return View(self.origin, self.instance, self.local, self.offset, shape, strides)

    def fused(self, first: int, last: int) -> View:
        size = math.prod(self.shape[first : last + 1])
        shape = (*self.shape[:first], size, *self.shape[last + 1 :])
        strides = (*self.strides[: first + 1], *self.strides[last + 1 :])
        return View(self.origin, self.instance, self.local, self.offset, shape, strides)


Held = int | bool | Unknown | View
"""What a value is in a work-item."""


def number(held: Held) -> int:
    """A number that decides something."""
    if not isinstance(held, int):
        raise NotJudged(f"{held} decides where to go or what to access")
    return held


class Standing(Enum):
    """What somebody waits for."""

    RUNNING = auto()
    CHOICE = auto()
    """An order of execution decides when the atomic access is made that comes next."""
    BARRIER = auto()
    MATRIX = auto()
    """The rest of the subgroup, or work-group."""
    DONE = auto()


@dataclass(slots=True)
class Agent:
    """A work-group, a work-item, a point of a `foreach`, or a work-item at a tile."""

    name: Hashable
    place: Place
    at: int
    known: list[int]
    values: dict[Value, Held]
    lane: int | None = None
    subgroup: int | None = None
    standing: Standing = Standing.RUNNING
    accesses: int = 0

    def copy(self) -> Agent:
        return Agent(self.name, self.place, self.at, list(self.known), dict(self.values), self.lane, self.subgroup,
                     self.standing, self.accesses)  # fmt: skip


@dataclass(slots=True)
class WorkGroup:
    """A work-group: what it is as one, and its work-items, points or tiles while it is in a region of these."""

    number: tuple[int, int, int]
    whole: Agent
    members: list[Agent] = field(default_factory=list)
    regions: int = 0
    """The number of regions that it has begun."""
    allocated: int = 0
    arrived: list[int] = field(default_factory=lambda: [0, 0])
    """What those know who have come to the barrier, or to the end of the region."""

    def copy(self) -> WorkGroup:
        return WorkGroup(self.number, self.whole.copy(), [m.copy() for m in self.members], self.regions,
                         self.allocated, list(self.arrived))  # fmt: skip


@dataclass(slots=True)
class State:
    """Everything that a further execution depends on, and everything that it may race with."""

    groups: list[WorkGroup]
    memory: dict[Element, Held]
    heads: dict[Element, Heads] = field(default_factory=dict)
    history: dict[Element, tuple[Event, ...]] = field(default_factory=dict)
    past: int = 0
    """A sum that stands for the history, whatever the order in which it came about."""

    def copy(self) -> State:
        return State(
            [g.copy() for g in self.groups], dict(self.memory), dict(self.heads), dict(self.history), self.past
        )
