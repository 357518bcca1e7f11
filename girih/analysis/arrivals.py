"""Who comes to an instruction: the conditions and loops on the way to it, worked out for each work-item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from math import prod

from girih.analysis.suspicions import Path
from girih.analysis.uniformity import Uniformities, Uniformity, yielded_values
from girih.analysis.work_items import Allowance, Evaluation, Held, WorkItems, condition, conjunction, negation
from girih.ir.core import Region
from girih.ir.types import MatrixScope
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import For, Foreach, ForeachTile, If

_MOST_ITERATIONS = 64
"""Loops of so many iterations are worked out one iteration after the other."""


class Coming(Enum):
    """Who comes to an instruction, of those who must come together."""

    ALL = "all or nobody"
    PERHAPS = "perhaps not all"
    NEVER_ALL = "if anybody, not all"


@dataclass(frozen=True, slots=True)
class Arrival:
    """An execution of an instruction, or all that are alike: who comes, and whether some certainly come without others.

    `certainly_split` holds if that is so whenever the work-group comes to the region that holds the path.
    """

    work_items: WorkItems
    who: Held
    certainly_split: bool

    @property
    def all_or_nobody(self) -> bool:
        """Whether all work-items come, or none."""
        return self.who.symbol is not None or (self.who.same and self.who.numbers[0] is True)

    @property
    def witness(self) -> tuple[str, str] | None:
        """A work-item that does not come, and one that does; None where they are not known."""
        known = self.who.known
        if True not in known or False not in known:
            return None
        return self.work_items.named(known.index(False)), self.work_items.named(known.index(True))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who comes, and a work-item that does not come beside one that does, if they are known."""

    coming: Coming
    witness: tuple[str, str] | None = None


def verdict_on(
    path: Path, who: MatrixScope, uniformities: Uniformities, sizes: Sequence[int], allowance: Allowance
) -> Verdict:
    """Who comes along a path to an instruction that a subgroup or work-group executes together.

    `sizes` are the subgroup sizes that are possible.
    """
    verdicts = [_verdict_with(size, path, who, uniformities, allowance) for size in sizes]
    comings = {verdict.coming for verdict in verdicts}
    if len(comings) == 1:
        return verdicts[0]
    return Verdict(Coming.PERHAPS if comings else Coming.ALL)


def groups_of(uniformities: Uniformities, who: MatrixScope, size: int) -> list[WorkItems]:
    """The groups of work-items that come together, with a subgroup size; if the work-group's is unknown, one subgroup.

    What differs in each subgroup differs in the work-group.
    """
    shape = uniformities.function.work_group_size
    if shape is None:
        return [WorkItems.of_any_subgroup(size)]
    every = WorkItems.of_work_group(size, shape)
    return [every] if who is MatrixScope.WORK_GROUP else every.by_subgroup()


def _verdict_with(size: int, path: Path, who: MatrixScope, uniformities: Uniformities, allowance: Allowance) -> Verdict:
    arrivals: list[Arrival] = []
    for group in groups_of(uniformities, who, size):
        everybody = condition((True,) * len(group.lanes))
        ways = _Ways(path, who, group, uniformities, allowance)
        arrivals += ways.arrivals(0, Evaluation(group, uniformities, allowance, {}), everybody, True)
        if allowance.spent:
            return Verdict(Coming.PERHAPS)
    if not arrivals:
        return Verdict(Coming.ALL)
    split = next((a for a in arrivals if a.certainly_split), None)
    if split is not None:
        return Verdict(Coming.NEVER_ALL, split.witness)
    # Of a subgroup like any other it may be the same whether it comes, and yet not so for the work-group.
    alone = who is MatrixScope.WORK_GROUP and uniformities.function.work_group_size is None
    if all(a.all_or_nobody and not (alone and a.who.symbol is not None) for a in arrivals):
        return Verdict(Coming.ALL)
    if all(a.who.never_all for a in arrivals):
        return Verdict(Coming.NEVER_ALL, next((a.witness for a in arrivals if a.witness), None))
    return Verdict(Coming.PERHAPS)


class _Ways:
    """The ways of a group of work-items along a path."""

    def __init__(
        self, path: Path, who: MatrixScope, group: WorkItems, uniformities: Uniformities, allowance: Allowance
    ) -> None:
        self.path = path
        self.who = who
        self.group = group
        self.uniformities = uniformities
        self.levels = [turn.uniformity(uniformities) for turn in path]
        self.count = len(group.lanes)
        self.allowance = allowance
        self.repeated = False
        """Whether some of the iterations of a loop are worked out one by one."""

    def arrivals(self, number: int, e: Evaluation, who: Held, certain: bool) -> Iterator[Arrival]:
        """The arrivals of those who come to a turn of the path; `certain` if they do in every launch."""
        self.allowance.left -= self.count
        if self.allowance.spent:
            return
        if number == len(self.path):
            known = who.known
            yield Arrival(self.group, who, certain and True in known and False in known)
            return
        turn = self.path[number]
        match turn.op:
            case If():
                yield from self._branch(number, turn.op, turn.region, e, who, certain)
            case For():
                yield from self._loop(number, turn.op, e, who, certain)
            case _:
                yield from self._shared(number, turn.op, e, who, certain)

    def _unknown_to_all(self, certain: bool) -> bool:
        """What is certain behind a turn that the whole work-group takes, or does not."""
        return certain and not self.repeated

    def _branch(
        self, number: int, op: If, region: Region, e: Evaluation, who: Held, certain: bool
    ) -> Iterator[Arrival]:
        held = e.of(op.condition)
        taken = held if region is op.then else negation(held)
        if taken.symbol is not None and self.levels[number] is Uniformity.WORK_GROUP:
            yield from self.arrivals(number + 1, e, who, self._unknown_to_all(certain))
            return
        coming = conjunction(who, taken)
        if not self._nobody(coming):
            yield from self.arrivals(number + 1, e, coming, certain)

    def _nobody(self, who: Held) -> bool:
        return who.symbol is None and set(who.numbers) == {False}

    def _loop(self, number: int, op: For, e: Evaluation, who: Held, certain: bool) -> Iterator[Arrival]:
        trips = trips_of(op, e)
        if trips.counts is not None and len(set(trips.counts)) == 1:
            if trips.counts[0] == 0:
                return
            if trips.first is not None and trips.counts[0] <= _MOST_ITERATIONS and any(self.levels[number + 1 :]):
                yield from self._iterations(number, op, trips, e, who, certain)
            else:
                yield from self.arrivals(number + 1, e, who, certain)
        elif self.levels[number] is Uniformity.WORK_GROUP:
            yield from self.arrivals(number + 1, e, who, self._unknown_to_all(certain))
        elif self.levels[number] is Uniformity.SUBGROUP and self.group.of_one_subgroup:
            yield from self.arrivals(number + 1, e, conjunction(who, e.agreed()), certain)
        else:
            yield from self._left_early(number, trips, e, who, certain)

    def _iterations(
        self, number: int, op: For, trips: Trips, e: Evaluation, who: Held, certain: bool
    ) -> Iterator[Arrival]:
        """The arrivals in each iteration of a loop that all make as often."""
        assert trips.counts is not None and trips.first is not None
        outer = self.repeated
        self.repeated = outer or trips.counts[0] > 1
        carried = [e.of(v) for v in op.initial]
        for iteration in range(trips.counts[0]):
            fixed = {op.variable: e.constant(trips.first + iteration * trips.step)}
            within = e.inside({**fixed, **dict(zip(op.carried, carried, strict=True))})
            yield from self.arrivals(number + 1, within, who, certain)
            if self.allowance.spent:
                break
            carried = [within.of(v) for v in yielded_values(op.body)]
        self.repeated = outer

    def _left_early(self, number: int, trips: Trips, e: Evaluation, who: Held, certain: bool) -> Iterator[Arrival]:
        """The arrivals in a loop that work-items may leave at different times."""
        last = number == len(self.path) - 1
        counts = trips.counts
        if counts is None:
            coming = condition((None,) * self.count, never_all=last and trips.uneven)
        else:
            # Who enters may have left when others come to what stands in the loop.
            entering = tuple(None if n else False for n in counts)
            coming = condition(entering, never_all=last and trips.uneven)
        together = who.symbol is None and set(who.numbers) == {True}
        coming = conjunction(who, coming)
        if last and counts is not None and together and certain:
            yield Arrival(self.group, condition(tuple(n == max(counts) for n in counts)), True)
        elif not self._nobody(coming):
            yield from self.arrivals(number + 1, e, coming, certain)

    def _shared(
        self, number: int, op: Foreach | ForeachTile, e: Evaluation, who: Held, certain: bool
    ) -> Iterator[Arrival]:
        """The arrivals in a region that is executed for points, or for tiles, that are shared out in any way."""
        pieces = _pieces(op, e)
        if pieces == 0:
            return
        if isinstance(op, Foreach):
            sharers: int | None = self.count
        elif self.who is MatrixScope.SUBGROUP or self.group.along == (1, 1):
            yield from self.arrivals(number + 1, e, who, self._unknown_to_all(certain))
            return
        else:
            sharers = None if self.group.along is None else prod(self.group.along)
        left_over = pieces is not None and sharers is not None and pieces % sharers != 0
        alone = number == len(self.path) - 1
        coming = conjunction(who, condition((None,) * self.count, never_all=alone and left_over))
        yield from self.arrivals(number + 1, e, coming, certain)


@dataclass(frozen=True, slots=True)
class Trips:
    """How often a loop is executed: by each work-item, if it is known, or else whether that is never the same for all.

    `first` is the value that its variable begins with in all of them, if it is known, `step` how far it goes on.
    """

    counts: tuple[int, ...] | None
    uneven: bool
    first: int | None = None
    step: int = 1


def trips_of(op: For, e: Evaluation) -> Trips:
    """How often a loop is executed. Where it is `uneven` without counts, nobody may execute it at all."""
    start, stop = e.of(op.start), e.of(op.stop)
    step = e.constant(1) if op.step is None else e.of(op.step)
    numbers = [*start.numbers, *stop.numbers, *step.known]
    if not all(isinstance(n, int) for n in numbers):
        return Trips(None, False)
    triples = zip(start.numbers, stop.numbers, step.numbers, strict=True)
    exact = [(int(a or 0), int(b or 0), int(c or 0)) for a, b, c in triples]
    if start.symbol is None and stop.symbol is None:
        counts = tuple(max(0, -((a - b) // c)) if c > 0 else 0 for a, b, c in exact)
        first = exact[0][0] if start.same and step.same else None
        return Trips(counts, len(set(counts)) > 1, first, exact[0][2])
    # The distances are the sums of one unknown number and of these; a step apart they take another iteration.
    distances = [b - a for a, b, _ in exact]
    return Trips(None, step.same and max(distances) - min(distances) >= exact[0][2] > 0)


def _pieces(op: Foreach | ForeachTile, e: Evaluation) -> int | None:
    """The number of points, or tiles, of a loop; None where it is not known."""
    whole = op.tile_shape if isinstance(op, ForeachTile) else (1,) * len(op.start)
    total = 1
    for start, stop, tile in zip(op.start, op.stop, whole, strict=True):
        first, end = e.of(start).known[0], e.of(stop).known[0]
        if first is None or end is None:
            return None
        total *= max(0, -((int(first) - int(end)) // tile))
    return total
