"""What is known at each step of the consumers without executing them: products that run, and slots that are held.

The steps of a loop are gone through until nothing changes any more, so that what is known at its begin holds in every
iteration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from girih.lazy_dataclass import dataclass
from girih.tile.form import (
    Assign,
    Await,
    Choose,
    Combine,
    Componentwise,
    Fetch,
    GiveBack,
    Issue,
    Repeat,
    Settle,
    Steps,
    TileStep,
    walk,
)

_MOST_GROUPS = 8
"""So many groups of products are told apart; older ones are taken together."""

Group = frozenset[str]
"""The registers of a group of products: sums and left factors."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before a step: the groups that may run, the last one last, and how many slots are held of rings.

    A ring of which that is known only when the kernel runs is not there.
    """

    groups: tuple[Group, ...] = ()
    held: Mapping[str, int] = field(default_factory=dict)

    def met(self, other: Known) -> Known:
        """What is known where two ways meet."""
        longest = max(len(self.groups), len(other.groups))
        first, second = (((frozenset[str](),) * (longest - len(one.groups)) + one.groups) for one in (self, other))
        groups = tuple(a | b for a, b in zip(first, second, strict=True))
        held = {ring: count for ring, count in self.held.items() if other.held.get(ring) == count}
        return Known(groups, held)

    def running(self, pending: int) -> Group:
        """The registers of the last `pending` groups."""
        return frozenset[str]().union(*self.groups[len(self.groups) - min(pending, len(self.groups)) :])

    def settled(self, pending: int) -> Group:
        """The registers that nothing uses any more behind a wait until no more than `pending` groups run."""
        return frozenset[str]().union(*self.groups) - self.running(pending)


def issued(step: Issue) -> Group:
    """The registers of the group that a step starts."""
    left = {product.left for product in step.products if isinstance(product.left, str)}
    return frozenset(left | {product.sums for product in step.products})


def after(step: TileStep, known: Known) -> Known:
    """What is known behind a step."""
    match step:
        case Issue():
            *early, first = _first_ones((*known.groups, issued(step)))
            return replace(known, groups=(*early, first))
        case Settle(pending):
            return replace(known, groups=known.groups[-pending:] if pending else ())
        case Await(ring) if ring in known.held:
            return replace(known, held={**known.held, ring: known.held[ring] + 1})
        case GiveBack(ring, keep) if ring in known.held:
            count = known.held[ring]
            return replace(known, held={**known.held, ring: count - (count > keep)})
        case Repeat(body=body):
            return at_begin(body, known)
        case Choose(then=then, otherwise=otherwise):
            return behind(then, known).met(behind(otherwise, known))
        case _:
            return known


def _first_ones(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """The groups, the oldest of too many as one."""
    extra = max(0, len(groups) - _MOST_GROUPS)
    return (frozenset[str]().union(*groups[: extra + 1]), *groups[extra + 1 :])


def behind(steps: Steps, known: Known) -> Known:
    """What is known behind some steps."""
    for step in steps:
        known = after(step, known)
    return known


def at_begin(body: Steps, before: Known) -> Known:
    """What is known where the body of a loop begins, in every iteration, and behind the loop."""
    known = before
    while True:
        again = known.met(behind(body, known))
        if again == known:
            return known
        known = again


def _writes(step: TileStep) -> frozenset[str]:
    match step:
        case Componentwise(result=result) | Combine(result=result) | Assign(result=result) | Fetch(result=result):
            return frozenset((result,))
        case Issue(products=products):
            return frozenset(product.sums for product in products)
        case _:
            return frozenset()


def written(steps: Steps) -> frozenset[str]:
    """The registers that some steps may write."""
    return frozenset[str]().union(*map(_writes, walk(steps)))


def certain(steps: Steps) -> frozenset[str]:
    """The registers that some steps write whichever way is taken; a loop may have no iteration."""
    names: set[str] = set()
    for step in steps:
        names |= certain(step.then) & certain(step.otherwise) if isinstance(step, Choose) else _writes(step)
    return frozenset(names)


def sources_of(steps: Steps, names: frozenset[str]) -> dict[str, frozenset[str]]:
    """For each of some registers, those that it is computed from in the steps, component by component."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for step in walk(steps):
        match step:
            case Componentwise(result=result, operands=operands) if result in found:
                found[result].update(operands)
            case Assign(result=result, source=source) if result in found:
                found[result].add(source)
    return {name: frozenset(sources) for name, sources in found.items()}
