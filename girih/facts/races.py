"""The words of `run.race`: what raced with what, and what would order them.

Every executor that finds races says the same of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.analysis.accesses import Place
from girih.facts.findings import FindingWords
from girih.ops.tile.control import Foreach, ForeachTile
from girih.ops.tile.memory import Scope


@dataclass(frozen=True, slots=True)
class RacingPair:
    """Two accesses to a byte that race: `now` came later than `earlier` in the order of execution.

    `apart` says how far the two are from each other.
    """

    now: Place
    earlier: Place
    name: str
    local: bool
    same_work_group: bool
    same_subgroup: bool
    same_value: bool


def race(pair: RacingPair) -> FindingWords:
    """The words for a race."""
    now, earlier = (place.op.spec.mnemonic for place in (pair.now, pair.earlier))
    with_what = f"the same `{earlier}`" if pair.now.op is pair.earlier.op else f"`{earlier}`"
    message = f"`{now}` of %{pair.name} races with {with_what} {_who(pair)}"
    if pair.same_value:
        message += ", which writes the same value"
    return FindingWords("run.race", message)


def _who(pair: RacingPair) -> str:
    if not pair.same_work_group:
        return "of another work-group"
    if pair.earlier.is_copy:
        return "that is still under way"
    if isinstance(pair.earlier.around, Foreach):
        return "at another point"
    if isinstance(pair.earlier.around, ForeachTile) and not pair.same_subgroup:
        return "at another tile"
    return "of another work-item" if pair.same_subgroup else "of another subgroup"


def race_hint(pair: RacingPair) -> str:
    """What would order two accesses that race, or make them atomic for each other."""
    if pair.now.scope is not None and pair.earlier.scope is not None:
        return _wider(pair)
    if pair.now.scope is not None or pair.earlier.scope is not None:
        plain = pair.earlier if pair.now.scope is not None else pair.now
        return f"`{plain.op.spec.mnemonic}` is not atomic: {_atomic(plain)}, or order the two by {_order(pair)}"
    if pair.now.op is pair.earlier.op and pair.now.kind == pair.earlier.kind and not pair.now.is_copy:
        return f"let {_each(pair)} write elements of its own, or use atomic updates"
    return _ordering(pair)


def _wider(pair: RacingPair) -> str:
    """The words for two atomic accesses, one of which has too small a scope."""
    narrow = [place for place in (pair.now, pair.earlier) if place.scope in _narrow_scopes(pair)]
    words = " and ".join(dict.fromkeys(f"`{p.op.spec.mnemonic}.{p.scope.value}`" for p in narrow if p.scope))
    verb = "are" if " and " in words else "is"
    within = "subgroup" if narrow[0].scope is Scope.SUBGROUP else "work-group"
    enough = Scope.WORK_GROUP if pair.same_work_group else Scope.DEVICE
    return f"{words} {verb} atomic within a {within} only; write `.{enough.value}`"


def _narrow_scopes(pair: RacingPair) -> tuple[Scope, ...]:
    return (Scope.SUBGROUP,) if pair.same_work_group else (Scope.SUBGROUP, Scope.WORK_GROUP)


def _atomic(place: Place) -> str:
    kind = {"read": "atomic_load", "write": "atomic_store", "update": "atomic_add"}[place.kind]
    prefix = "cooperative_matrix_" if place.op.spec.mnemonic.startswith("cooperative_matrix") else ""
    return f"use `{prefix}{kind}`"


def _each(pair: RacingPair) -> str:
    if not pair.same_work_group:
        return "each work-group"
    match pair.now.around:
        case Foreach():
            return "each point"
        case ForeachTile():
            return "each tile"
        case _:
            return "each work-item" if pair.same_subgroup else "each subgroup"


def _order(pair: RacingPair) -> str:
    """What orders two accesses."""
    if not pair.same_work_group:
        return "a release and an acquire of scope `.device`"
    if pair.earlier.is_copy or pair.now.is_copy:
        return "a `barrier`"
    return "a `barrier.local`" if pair.local else "a `barrier.global`"


def _ordering(pair: RacingPair) -> str:
    if not pair.same_work_group:
        return (
            "nothing orders work-groups but a release that an acquire of scope `.device` observes; let each access "
            "elements of its own, or launch a second kernel"
        )
    around = pair.now.around
    if isinstance(around, Foreach | ForeachTile) and around is pair.earlier.around:
        what = "points" if isinstance(around, Foreach) else "tiles"
        return f"nothing orders the {what} of a loop; end the loop and begin another between them"
    return f"{_order(pair)} between them orders them"
