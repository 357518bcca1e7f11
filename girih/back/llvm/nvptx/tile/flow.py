"""What is known at each step of the consumers without executing them: products and stores that run, and held slots.

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
    Multiply,
    Repeat,
    Send,
    Settle,
    Steps,
    TileStep,
    Unite,
    walk,
)

_MOST_GROUPS = 8
"""So many groups of products are told apart; older ones are taken together."""

Group = frozenset[str]
"""The registers of a group of products: sums and left factors."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before a step: the groups that may run, the last one last, and how many slots are held of rings.

    `stores` are those of the copy engine: each may be from one of some stagings. A ring of which the number of slots is
    known only when the kernel runs is not there.
    """

    groups: tuple[Group, ...] = ()
    stores: tuple[Group, ...] = ()
    held: Mapping[str, int] = field(default_factory=dict)

    def met(self, other: Known) -> Known:
        """What is known where two ways meet."""
        held = {ring: count for ring, count in self.held.items() if other.held.get(ring) == count}
        return Known(_both(self.groups, other.groups), _both(self.stores, other.stores), held)

    def later_stores(self, staging: str) -> int | None:
        """How many stores at least are later than all from a staging; None where there are none from it."""
        return next((number for number, one in enumerate(reversed(self.stores)) if staging in one), None)

    def running(self, pending: int) -> Group:
        """The registers of the last `pending` groups."""
        return frozenset[str]().union(*self.groups[len(self.groups) - min(pending, len(self.groups)) :])

    def settled(self, pending: int) -> Group:
        """The registers that nothing uses any more behind a wait until no more than `pending` groups run."""
        return frozenset[str]().union(*self.groups) - self.running(pending)


def _both(first: tuple[Group, ...], second: tuple[Group, ...]) -> tuple[Group, ...]:
    """Groups where two ways meet: what each may be, counted from the last one."""
    longest = max(len(first), len(second))
    padded = [(frozenset[str](),) * (longest - len(one)) + one for one in (first, second)]
    return tuple(a | b for a, b in zip(*padded, strict=True))


def issued(step: Issue) -> Group:
    """The registers of the group that a step starts."""
    left = {product.left for product in step.products if isinstance(product.left, str)}
    return frozenset(left | {product.sums for product in step.products})


def after(step: TileStep, known: Known) -> Known:
    """What is known behind a step."""
    match step:
        case Issue():
            return replace(known, groups=_first_ones((*known.groups, issued(step))))
        case Send(staging=staging):
            return replace(known, stores=_first_ones((*known.stores, frozenset((staging,)))))
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
        case Unite(sums):
            return frozenset(sums)
        case Multiply(product=product):
            return frozenset((product.sums,))
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
