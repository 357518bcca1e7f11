"""What runs on by itself beside the roles: copies, products, stores; and who goes next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from random import Random

from girih.lazy_dataclass import dataclass
from girih.tile.simulate.faults import ScheduleFault


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """The end of something that runs by itself: what kind it is, where it was started, and what happens then."""

    kind: str
    where: str
    happen: Callable[[], None]


@dataclass(frozen=True, slots=True, eq=False)
class Wait:
    """A wait of a role: when it is over, and for what it waits, in words."""

    over: Callable[[], bool]
    words: Callable[[], str]


RoleSteps = Iterator[Wait | None]
"""A role in execution: before each step that others can notice, what it waits for, None for nothing."""


class Running:
    """What runs by itself: endings in lanes, those of a lane one after the other, the lanes in any order."""

    def __init__(self) -> None:
        self._lanes: dict[object, deque[Ending]] = {}

    def start(self, lane: object, *endings: Ending) -> None:
        """Start what ends in this order, behind what is in the lane."""
        self._lanes.setdefault(lane, deque()).extend(endings)

    def lanes(self) -> list[tuple[object, str]]:
        """The lanes of which something may end next, those first that have begun first, with the kind."""
        return [(lane, endings[0].kind) for lane, endings in self._lanes.items()]

    def end(self, lane: object) -> None:
        """Let what comes first in a lane end."""
        endings = self._lanes[lane]
        ending = endings.popleft()
        if not endings:
            del self._lanes[lane]
        try:
            ending.happen()
        except ScheduleFault as fault:
            raise ScheduleFault(fault.rule, fault.what, fault.where or ending.where) from None


@dataclass(frozen=True, slots=True)
class Interleaving:
    """Who goes next, of roles that could and of what could end.

    `fair` lets all go in turn; `early` ends what it can before a role goes on, `late` when no role can go on. With a
    `seed`, roles and kinds of what runs get speeds that differ up to a thousandfold, and new ones from time to time.
    """

    way: str = "fair"
    seed: int = 0

    def begin(self) -> Chooser:
        """The choices from their beginning."""
        return Chooser(self.way, Random(self.seed))


@dataclass(slots=True)
class Chooser:
    """The choices of one run."""

    way: str
    random: Random
    turns: dict[object, int] = field(default_factory=dict)
    speeds: dict[str, float] = field(default_factory=dict)
    count: int = 0

    def choose(self, roles: Sequence[str], lanes: Sequence[tuple[object, str]]) -> tuple[bool, object]:
        """Whether a role is next, and its name, or else the lane; at least one of both lists is not empty."""
        self.count += 1
        match self.way:
            case "early":
                return (False, lanes[0][0]) if lanes else (True, self._in_turn(roles))
            case "late":
                return (True, self._in_turn(roles)) if roles else (False, self.random.choice(lanes)[0])
            case "fair":
                chosen = self._in_turn((*roles, *(kind for _, kind in lanes)))
                if chosen in roles:
                    return True, chosen
                return False, next(lane for lane, kind in lanes if kind == chosen)
            case _:
                return self._by_speed(roles, lanes)

    def _in_turn(self, names: Sequence[str]) -> str:
        """The one of some who was not chosen for the longest time."""
        chosen = min(names, key=lambda name: self.turns.get(name, 0))
        self.turns[chosen] = self.count
        return chosen

    def _by_speed(self, roles: Sequence[str], lanes: Sequence[tuple[object, str]]) -> tuple[bool, object]:
        if self.random.random() < 1 / 64:
            self.speeds.clear()
        names = [*roles, *(kind for _, kind in lanes)]
        number = self.random.choices(range(len(names)), [self._speed(name) for name in names])[0]
        return (True, names[number]) if number < len(roles) else (False, lanes[number - len(roles)][0])

    def _speed(self, name: str) -> float:
        if name not in self.speeds:
            self.speeds[name] = 10 ** self.random.uniform(-3.0, 0.0)
        return self.speeds[name]


WAYS = ("fair", "early", "late")


def interleavings(seeds: int) -> Iterator[Interleaving]:
    """The three ways without a seed, then so many with one."""
    yield from map(Interleaving, WAYS)
    yield from (Interleaving("seeded", seed) for seed in range(seeds))


def run_roles(roles: dict[str, RoleSteps], running: Running, chooser: Chooser, told: Callable[[str], object]) -> None:
    """Run roles, and what they start, to their ends; `told` hears what happens.

    Raises `ScheduleFault` where nobody can go on.
    """
    waits: dict[str, Wait | None] = dict.fromkeys(roles)
    while waits or running.lanes():
        ready = [name for name, wait in waits.items() if wait is None or wait.over()]
        lanes = running.lanes()
        if not ready and not lanes:
            raise ScheduleFault("deadlock", "; ".join(f"{name} {wait.words()}" for name, wait in waits.items() if wait))
        is_role, chosen = chooser.choose(ready, lanes)
        if not is_role:
            told(f"{dict(lanes)[chosen]} end")
            running.end(chosen)
            continue
        name = str(chosen)
        told(name)
        try:
            waits[name] = next(roles[name])
        except StopIteration:
            del waits[name]
