"""What tuning chose and what for; which choice suits a launch.

A choice was found for one set of arguments: a `TunedLaunch`. It suits launches of the same kernel, target, element
types, numbers of axes, orders of axes and other constants; of several that suit, the one whose sizes are nearest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import log2

from girih.lazy_dataclass import dataclass

_NUMBERED = re.compile(r"cuda:\d+")


@dataclass(frozen=True, slots=True)
class ArrayForm:
    """An array as choices know it: its element type, its sizes by axes, its axes from the nearest elements on.

    Of a group, `members` is the number of arrays, and the sizes are the largest of all. A type is as the language names
    it, "f32".
    """

    type: str
    shape: tuple[int, ...]
    order: tuple[int, ...]
    members: int | None = None

    def __str__(self) -> str:
        axes = tuple(self.order)
        rank = len(axes)
        order = "C" if axes == tuple(range(rank))[::-1] else "F" if axes == tuple(range(rank)) else f"{list(axes)}"
        sizes = "x".join(map(str, self.shape))
        of = "" if self.members is None else f"{self.members} of "
        return f"{of}{self.type}:{sizes}{'' if rank < 2 or order == 'C' else f' in order {order}'}"


@dataclass(frozen=True, slots=True)
class TunedLaunch:
    """What a choice is for: a kernel on a target, its arrays by the names of parameters, and constants in words.

    An array is None where the argument is null. `constants` are those of a kernel in Python that were not tried.
    """

    kernel: str
    target: str
    arrays: tuple[tuple[str, ArrayForm | None], ...]
    constants: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        given = [f"{name}={'null' if form is None else form}" for name, form in self.arrays]
        given += [f"{name}={value}" for name, value in self.constants]
        return f"{self.kernel} on {self.target}" + (f" with {', '.join(given)}" if given else "")


@dataclass(frozen=True, slots=True)
class TunedChoice:
    """Definitions that were fastest for a launch, and its seconds."""

    launch: TunedLaunch
    definitions: Mapping[str, object]
    seconds: float


def general_target(name: str) -> str:
    """The target by which choices are kept: all GPUs by number are `cuda`."""
    return "cuda" if _NUMBERED.fullmatch(name) else name


def distance(one: TunedLaunch, other: TunedLaunch) -> float | None:
    """How far the sizes of two launches are apart, 0 for equal ones; None where one has no say for the other.

    It is the sum of |log2(a / b)| over the sizes of all axes, and over the numbers of members of groups: twice as
    large is as far as half as large.
    """
    if _kind(one) != _kind(other):
        return None
    theirs = dict(other.arrays)
    sizes = [(ours, theirs[name]) for name, ours in one.arrays]
    return sum(_between(a, b) for a, b in sizes if a is not None and b is not None)


def _kind(launch: TunedLaunch) -> object:
    """What two launches must have alike."""
    arrays = {name: form and (form.type, form.order, form.members is None) for name, form in launch.arrays}
    return launch.kernel, general_target(launch.target), arrays, dict(launch.constants)


def _between(a: ArrayForm, b: ArrayForm) -> float:
    pairs = [*zip(a.shape, b.shape, strict=True), (a.members or 1, b.members or 1)]
    return sum(abs(log2(max(m, 1) / max(n, 1))) + (m != n and 0 in (m, n)) for m, n in pairs)


def nearest_choice(choices: Iterable[TunedChoice], launch: TunedLaunch) -> TunedChoice | None:
    """The choice for a launch: of those that suit, the nearest; of several, the first. None where none suits."""
    found = [(far, choice) for choice in choices if (far := distance(choice.launch, launch)) is not None]
    return min(found, key=lambda pair: pair[0])[1] if found else None


def listed(choices: Sequence[TunedChoice], most: int = 5) -> str:
    """What choices are for, in words."""
    several = [str(choice.launch) for choice in choices]
    more = [f"and {len(several) - most} more"] if len(several) > most else []
    return "; ".join(several[:most] + more) or "nothing"
