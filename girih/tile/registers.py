"""The registers that steps of consumers read and write: which are alive when, and which can be one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from girih.lazy_dataclass import dataclass
from girih.tile.budget import registers_of, registers_of_factors
from girih.tile.form import (
    Assign,
    Choose,
    Combine,
    Componentwise,
    Deliver,
    Fetch,
    Issue,
    Multiply,
    Offer,
    Registers,
    Repeat,
    Stage,
    Steps,
    TileProduct,
    TileStep,
    Unite,
)
from girih.tile.threads.fragment import Fragment

Names = frozenset[str]
NONE: Names = frozenset()


def reads(step: TileStep) -> Names:
    """The registers that a step itself reads; steps in it do not count."""
    match step:
        case Issue(products):
            left = {one.left for one in products if isinstance(one.left, str)}
            return frozenset(left | {one.sums for one in products if one.accumulate})
        case Multiply(product):
            return frozenset((product.sums,)) if product.accumulate else NONE
        case Componentwise(_, _, operands):
            return frozenset(operands)
        case Combine() | Assign() | Deliver() | Stage():
            return frozenset((step.source,))
        case Offer(sums):
            return frozenset(sums)
        case _:
            return NONE


def writes(step: TileStep) -> Names:
    """The registers that a step itself writes."""
    match step:
        case Issue(products):
            return frozenset(one.sums for one in products)
        case Multiply(product):
            return frozenset((product.sums,))
        case Componentwise() | Combine() | Assign() | Fetch():
            return frozenset((step.result,))
        case Unite(sums):
            return frozenset(sums)
        case _:
            return NONE


def touched(steps: Steps) -> Names:
    """The registers that steps, or steps in them, read or write."""
    found: set[str] = set()
    for step in steps:
        found |= reads(step) | writes(step)
        for inner in inside(step):
            found |= touched(inner)
    return frozenset(found)


def written_in(steps: Steps) -> Names:
    """The registers that steps, or steps in them, write."""
    found: set[str] = set()
    for step in steps:
        found |= writes(step)
        for inner in inside(step):
            found |= written_in(inner)
    return frozenset(found)


def inside(step: TileStep) -> tuple[Steps, ...]:
    """The lists of steps that stand in a step."""
    match step:
        case Repeat():
            return (step.body,)
        case Choose():
            return (step.then, step.otherwise)
        case _:
            return ()


@dataclass(slots=True, eq=False)
class _Liveness:
    """A walk from the end of steps to their begin: `note` is called for each step with what is alive behind it."""

    note: Callable[[TileStep, Names], None]

    def before(self, steps: Steps, alive: Names) -> Names:
        """The registers that are alive before some steps, if `alive` are behind them."""
        for step in reversed(steps):
            alive = self._before(step, alive)
        return alive

    def _before(self, step: TileStep, behind: Names) -> Names:
        match step:
            case Repeat():
                around = behind
                while (more := self.before(step.body, around) | behind) != around:
                    around = more
                return around
            case Choose():
                return self.before(step.then, behind) | self.before(step.otherwise, behind)
            case _:
                self.note(step, behind)
                return behind - writes(step) | reads(step)


def without_unused(steps: Steps) -> Steps:
    """The steps without those that only write registers that nobody reads, as far as one look tells."""
    unused: set[int] = set()

    def note(step: TileStep, behind: Names) -> None:
        # A loop is looked at several times; what is read in its next iteration is known the last time.
        unused.discard(id(step))
        made = writes(step)
        if made and not isinstance(step, Issue) and made.isdisjoint(behind):
            unused.add(id(step))

    _Liveness(note).before(steps, NONE)
    return _kept(steps, unused)


def _kept(steps: Steps, unused: set[int]) -> Steps:
    found: list[TileStep] = []
    for step in steps:
        match step:
            case Repeat():
                found.append(replace(step, body=_kept(step.body, unused)))
            case Choose():
                then, otherwise = _kept(step.then, unused), _kept(step.otherwise, unused)
                found.append(replace(step, then=then, otherwise=otherwise))
            case _ if id(step) not in unused:
                found.append(step)
    return tuple(found)


def most_alive(steps: Steps, registers: Mapping[str, Registers], consumers: int, fragment: Fragment) -> int:
    """The 32-bit registers of a thread that matrices take at most at a time, with the factors of what it multiplies.

    What is computed component by component goes through all steps of that kind, one component after the other: what is
    alive only between such steps takes no room.
    """
    most = 0

    def note(step: TileStep, behind: Names) -> None:
        nonlocal most
        if isinstance(step, Componentwise | Assign | Fetch | Deliver):
            return
        factors = 0
        if isinstance(step, Multiply):
            factors = registers_of_factors(registers[step.product.sums], consumers, fragment)
        for alive in (behind | writes(step), behind - writes(step) | reads(step)):
            most = max(most, factors + sum(registers_of(registers[name], consumers, fragment) for name in alive))

    _Liveness(note).before(steps, NONE)
    return most


def coalesced(steps: Steps, registers: Mapping[str, Registers]) -> Steps:
    """The steps in which registers are one where an `Assign` can be left out."""
    apart: dict[str, set[str]] = {name: set() for name in registers}

    def note(step: TileStep, behind: Names) -> None:
        source = {step.source} if isinstance(step, Assign) else set()
        for made in writes(step):
            for other in behind - source - {made}:
                apart[made].add(other)
                apart[other].add(made)

    _Liveness(note).before(steps, NONE)
    names = {name: name for name in registers}

    def root(name: str) -> str:
        while names[name] != name:
            name = names[name]
        return name

    for step in _assigns(steps):
        a, b = root(step.result), root(step.source)
        if a != b and replace(registers[a], name=b) == registers[b] and b not in apart[a]:
            names[a] = b
            apart[b] |= apart[a]
            for other in apart[a]:
                apart[other].discard(a)
                apart[other].add(b)
    return renamed(steps, {name: root(name) for name in registers})


def _assigns(steps: Steps) -> list[Assign]:
    found: list[Assign] = []
    for step in steps:
        if isinstance(step, Assign):
            found.append(step)
        for inner in inside(step):
            found += _assigns(inner)
    return found


def renamed(steps: Steps, names: Mapping[str, str]) -> Steps:
    """The steps with other names of registers, without assignments of registers to themselves."""
    made = (_renamed(step, names) for step in steps)
    return tuple(step for step in made if not (isinstance(step, Assign) and step.result == step.source))


def _renamed(step: TileStep, names: Mapping[str, str]) -> TileStep:
    match step:
        case Repeat():
            return replace(step, body=renamed(step.body, names))
        case Choose():
            return replace(step, then=renamed(step.then, names), otherwise=renamed(step.otherwise, names))
        case Issue(products):
            return Issue(tuple(_renamed_product(product, names) for product in products))
        case Multiply(product):
            return Multiply(_renamed_product(product, names))
        case Componentwise(op, result, operands):
            return Componentwise(op, names[result], tuple(names[one] for one in operands))
        case Combine() | Assign():
            return replace(step, result=names[step.result], source=names[step.source])
        case Fetch():
            return replace(step, result=names[step.result])
        case Deliver() | Stage():
            return replace(step, source=names[step.source])
        case _:
            return step


def _renamed_product(one: TileProduct, names: Mapping[str, str]) -> TileProduct:
    left = names[one.left] if isinstance(one.left, str) else one.left
    return replace(one, sums=names[one.sums], left=left)
