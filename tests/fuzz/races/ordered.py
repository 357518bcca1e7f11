"""Which accesses are ordered, and which race: docs/design/races.md word for word, with sets of accesses.

An access is a bit. Everybody knows two sets of accesses, those that are ordered before its next one: in local memory
and in global memory. An access races with an earlier one that conflicts and that it does not know.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from girih.ir.core import Op
from girih.ops.tile.memory import Scope, Semantics

LOCAL, GLOBAL = 0, 1
"""The two relations, by number."""


class AccessKind(Enum):
    """What an access does: whether it reads, whether it writes, and whether it is atomic."""

    READ = (True, False, False)
    WRITE = (False, True, False)
    ATOMIC_READ = (True, False, True)
    ATOMIC_WRITE = (False, True, True)
    ATOMIC_UPDATE = (True, True, True)

    @property
    def writes(self) -> bool:
        return self.value[1]

    @property
    def atomic(self) -> bool:
        return self.value[2]


class Place(NamedTuple):
    """Where somebody is: the work-group, and what stands for the subgroup. A point has one of its own."""

    group: int
    subgroup: Hashable


def covers(scope: Scope, one: Place, other: Place) -> bool:
    """Whether the scope of an access at `one` contains somebody at `other`."""
    match scope:
        case Scope.SUBGROUP:
            return one == other
        case Scope.WORK_GROUP:
            return one.group == other.group
        case _:
            return True


@dataclass(frozen=True, slots=True)
class Event:
    """An access to one element by `who`; `bits` stand for it in sets, one for each work-item that may have made it."""

    who: Hashable
    place: Place
    op: Op
    kind: AccessKind
    scope: Scope
    bits: int

    def past(self, element: Hashable) -> int:
        """A number that stands for the event in a sum over the history."""
        return hash((element, self.who, self.bits))

    def races(self, later: Event, known: int) -> bool:
        """Whether a later access to the same element races with this one; `known` is what is ordered before that."""
        if not (self.kind.writes or later.kind.writes) or self.who == later.who or self.bits & known == self.bits:
            return False
        together = covers(self.scope, self.place, later.place) and covers(later.scope, later.place, self.place)
        return not (self.kind.atomic and later.kind.atomic and together)


class Head(NamedTuple):
    """Who released a value, from where and to whom. The owner is left out where no atomic store ends sequences."""

    owner: Hashable
    place: Place
    scope: Scope


Known = tuple[int, int]
"""What is ordered before a release, in local and in global memory."""

Heads = tuple[tuple[Head, Known], ...]
"""The release sequences that the value of an element belongs to, each with what its release hands over."""

RELEASES = (Semantics.RELEASE, Semantics.ACQUIRE_RELEASE, Semantics.SEQUENTIALLY_CONSISTENT)
ACQUIRES = (Semantics.ACQUIRE, Semantics.ACQUIRE_RELEASE, Semantics.SEQUENTIALLY_CONSISTENT)


def synchronised(relation: int, semantics: Semantics) -> tuple[int, ...]:
    """The memories that an atomic access to one of them may order."""
    return (LOCAL, GLOBAL) if semantics is Semantics.SEQUENTIALLY_CONSISTENT else (relation,)


def acquired(heads: Heads, place: Place, scope: Scope, relation: int) -> int:
    """What an acquire from `place` learns of the value that it reads, in one memory."""
    whole = (
        known for head, known in heads if covers(head.scope, head.place, place) and covers(scope, place, head.place)
    )
    return union(known[relation] for known in whole)


def continued(heads: Heads, kind: AccessKind, who: Hashable) -> Heads:
    """The release sequences that go on with an atomic write or update by `who`."""
    if kind is AccessKind.ATOMIC_UPDATE:
        return heads
    return tuple((head, known) for head, known in heads if head.owner == who)


def released(heads: Heads, head: Head, known: Known) -> Heads:
    """The release sequences, with one more."""
    others = dict(heads)
    before = others.get(head, (0, 0))
    others[head] = (before[LOCAL] | known[LOCAL], before[GLOBAL] | known[GLOBAL])
    return tuple(sorted(others.items(), key=repr))


def union(sets: Iterable[int]) -> int:
    """The union of sets of accesses."""
    found = 0
    for each in sets:
        found |= each
    return found
