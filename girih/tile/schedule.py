"""Products that run on while others are started, or while rows are computed: waits go where they are needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from girih.ir.build import RegionBuilder
from girih.ir.core import Op, Value
from girih.ir.types import BOOL
from girih.lazy_dataclass import dataclass
from girih.ops.tile import TILE_LANGUAGE
from girih.tile.form import (
    Assign,
    Await,
    Choose,
    ChosenNumber,
    Combine,
    Componentwise,
    Compute,
    Deliver,
    Fetch,
    GiveBack,
    Issue,
    PassTurn,
    Repeat,
    Settle,
    Steps,
    TakeTurn,
    TileStep,
    Verify,
)
from girih.tile.program import rewritten
from girih.tile.registers import inside, touched, written_in


def scheduled(steps: Steps, consumers: int, scarce: frozenset[str] = frozenset()) -> Steps:
    """The steps of consumers with products that run on, in each loop the way that suits it.

    The slots of `scarce` rings are needed again as soon as may be: products of them are waited for at once, as are
    those of loops whose iterations are asked not to overlap.
    """
    return _given_early(_scheduled(steps, consumers, scarce))


def _given_early(steps: Steps) -> Steps:
    """Slots are given back before what is computed between the wait for the products that read them and there."""
    found: list[TileStep] = []
    for step in steps:
        match step:
            case Repeat():
                found.append(replace(step, body=_given_early(step.body)))
            case Choose():
                then, otherwise = _given_early(step.then), _given_early(step.otherwise)
                found.append(replace(step, then=then, otherwise=otherwise))
            case GiveBack():
                at = len(found)
                while at and isinstance(found[at - 1], Compute | Componentwise | Combine | Assign):
                    at -= 1
                found.insert(at, step)
            case _:
                found.append(step)
    return tuple(found)


def _scheduled(steps: Steps, consumers: int, scarce: frozenset[str]) -> Steps:
    found: list[TileStep] = []
    for step in steps:
        match step:
            case Choose():
                then, otherwise = (_scheduled(way, consumers, scarce) for way in (step.then, step.otherwise))
                found.append(replace(step, then=then, otherwise=otherwise))
            case Repeat() if any(isinstance(one, Repeat) or not _is_plain(one) for one in step.body):
                found.append(replace(step, body=_scheduled(step.body, consumers, scarce)))
            case Repeat() if any(isinstance(one, Await) and one.ring in scarce for one in step.body):
                found.append(step)
            case Repeat() if not step.overlaps:
                found.append(step)
            case Repeat():
                found += _overlapped(step) or _skewed(step, consumers) or (step,)
            case _:
                found.append(step)
    return tuple(found)


def _is_plain(step: TileStep) -> bool:
    """Whether no step in a step waits, or has to do with rings, products or stores."""
    plain = (Compute, Componentwise, Combine, Assign, Fetch, Choose)
    return all(isinstance(one, plain) and _is_plain(one) for steps in inside(step) for one in steps)


# --- sums that nobody looks at in the loop ------------------------------------------------------


def _overlapped(loop: Repeat) -> tuple[TileStep, ...]:
    """A loop of products into sums that nothing else touches: each runs on while the next one is started.

    The slots that a group reads are given back behind the next group. Empty where the loop is another one.
    """
    products = [one for step in loop.body if isinstance(step, Issue) for one in step.products]
    if not products or any(isinstance(one.left, str) or not one.accumulate for one in products):
        return ()
    sums = {one.sums for one in products}
    others = tuple(step for step in loop.body if not isinstance(step, Issue))
    if touched(others) or len(sums) != len(products):
        return ()
    awaits = tuple(step for step in others if isinstance(step, Await))
    back = tuple(step for step in others if isinstance(step, GiveBack))
    rest = tuple(step for step in others if not isinstance(step, Await | GiveBack | Settle))
    late = tuple(GiveBack(step.ring, keep=1) for step in back)
    body = (*rest, *awaits, Issue(tuple(products)), Settle(1), *late)
    return (replace(loop, body=body), Settle(), *back)


# --- two products with rows between them --------------------------------------------------------


@dataclass(slots=True, eq=False)
class _SkewedParts:
    """A loop whose second product takes in registers what is computed from the first one's sums."""

    before: list[TileStep] = field(default_factory=list)
    first: list[TileStep] = field(default_factory=list)
    rows: list[TileStep] = field(default_factory=list)
    late: list[TileStep] = field(default_factory=list)
    second: list[TileStep] = field(default_factory=list)


def _skewed(loop: Repeat, consumers: int) -> tuple[TileStep, ...]:
    """A loop of two products, of which the second runs while the first one of the next iteration and its rows do.

    The first product of iteration j + 1 is started, then the second of iteration j. The rows of j + 1 are computed as
    soon as their product is there; what touches the second one's sums or left factor waits for it. Empty where the loop
    is another one.
    """
    parts = None if loop.carried else _parts(loop.body)
    if parts is None:
        return ()
    first_issue, second_issue = _issue(parts.first), _issue(parts.second)
    turns = consumers == 2
    take: tuple[TileStep, ...] = (TakeTurn(),) if turns else ()
    give: tuple[TileStep, ...] = (PassTurn(),) if turns else ()
    first_awaits, first_back = _around(parts.first)
    second_awaits, second_back = _around(parts.second)
    ops = RegionBuilder(TILE_LANGUAGE)
    (some,) = ops.add("less_than", BOOL, a=loop.start, b=loop.stop)
    more = RegionBuilder(TILE_LANGUAGE)
    step = loop.step
    if step is None:
        (step,) = more.add("constant", loop.variable.type, value=1)
    (second,) = more.add("add", loop.variable.type, a=loop.start, b=step)
    beginning = copied(
        (*parts.before, *first_awaits, *take, first_issue, Settle(), *first_back, *parts.rows, *parts.late, *give),
        {loop.variable: loop.start},
    )
    body = (
        *parts.before, *first_awaits, *take, first_issue, *second_awaits, second_issue, *give, Settle(1), *first_back,
        *parts.rows, Settle(), *second_back, *parts.late,
    )  # fmt: skip
    around = replace(loop, start=second, step=step, body=body)
    end = (*second_awaits, second_issue, Settle(), *second_back)
    then = (*beginning, *map(Compute, more.ops), around, *end)
    return (*map(Compute, ops.ops), Choose(some, then, ()))


def _parts(body: Steps) -> _SkewedParts | None:
    issues = [k for k, step in enumerate(body) if isinstance(step, Issue)]
    if len(issues) != 2:
        return None
    first, second = (body[k] for k in issues)
    assert isinstance(first, Issue) and isinstance(second, Issue)
    (product,) = second.products
    if first.products[0].accumulate or not isinstance(product.left, str) or first.products[0].sums == product.sums:
        return None
    guarded = {product.sums, product.left}
    found = _SkewedParts()
    second_rings = {step.ring for step in body[issues[0] + 1 : issues[1]] if isinstance(step, Await)}
    read, written = set(guarded), set(guarded)
    for k, step in enumerate(body):
        if isinstance(step, Settle):
            continue
        if isinstance(step, Await | GiveBack):
            (found.second if step.ring in second_rings else found.first).append(step)
        elif isinstance(step, Issue):
            (found.first if k == issues[0] else found.second).append(step)
        elif k < issues[0]:
            if touched((step,)):
                return None
            found.before.append(step)
        elif k > issues[1] and not guarded.isdisjoint(touched((step,))):
            return None
        elif read.isdisjoint(made := written_in((step,))) and written.isdisjoint(touched((step,))):
            found.rows.append(step)
        else:
            read |= touched((step,))
            written |= made
            found.late.append(step)
    return found


def _issue(steps: Iterable[TileStep]) -> TileStep:
    return next(step for step in steps if isinstance(step, Issue))


def _around(steps: Sequence[TileStep]) -> tuple[tuple[TileStep, ...], tuple[TileStep, ...]]:
    awaits = tuple(step for step in steps if isinstance(step, Await))
    return awaits, tuple(step for step in steps if isinstance(step, GiveBack))


# --- the same steps once more -------------------------------------------------------------------


def copied(steps: Steps, same: Mapping[Value, Value]) -> Steps:
    """The steps with values of their own, reading other values in the place of some."""
    known = dict(same)
    return tuple(_copied(step, known) for step in steps)


def _copied(step: TileStep, known: dict[Value, Value]) -> TileStep:
    match step:
        case Compute() | Verify() | Componentwise() | Combine() | Fetch() | Deliver():
            return replace(step, op=_copied_op(step.op, known, renew=isinstance(step, Compute)))
        case Choose():
            condition = known.get(step.condition, step.condition)
            then, otherwise = (tuple(_copied(one, known) for one in steps) for steps in (step.then, step.otherwise))
            results = tuple(_copied_number(one, known) for one in step.results)
            return Choose(condition, then, otherwise, results)
        case Repeat():
            raise ValueError("loops are not copied")
        case _:
            assert not inside(step)
            return step


def _copied_number(one: ChosenNumber, known: dict[Value, Value]) -> ChosenNumber:
    then, otherwise = (known.get(value, value) for value in (one.then, one.otherwise))
    known[one.result] = Value(one.result.name, one.result.type, one.result.span)
    return ChosenNumber(known[one.result], then, otherwise)


def _copied_op(op: Op, known: dict[Value, Value], *, renew: bool) -> Op:
    made = rewritten(op, known)
    if not renew:
        return made
    new: dict[str, Any] = {}
    for name in made.spec.results:
        before = getattr(made, name)
        values = before if isinstance(before, tuple) else (before,)
        after = tuple(Value(one.name, one.type, one.span) for one in values)
        known.update(zip(values, after, strict=True))
        new[name] = after if isinstance(before, tuple) else after[0]
    return replace(made, **new)
