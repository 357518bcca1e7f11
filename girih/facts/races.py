"""The words of `run.race`: what raced with what, and what would order them.

Every executor that finds races says the same of them.
"""

from __future__ import annotations

from dataclasses import replace

from girih.analysis.accesses import Place
from girih.facts.findings import FindingWords
from girih.ir.define import Operand
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import Foreach, ForeachTile
from girih.ops.tile.memory import Scope

_ATOMIC_FORMS = {
    "load": "atomic_load",
    "store": "atomic_store",
    "cooperative_matrix_load": "cooperative_matrix_atomic_load",
    "cooperative_matrix_store": "cooperative_matrix_atomic_store",
}


@dataclass(frozen=True, slots=True)
class RacingPair:
    """Two accesses to a byte that race: `now` came later than `earlier` in the order of execution.

    `name` is the parameter or allocation, `local` says that it lies in local memory. `same_unit` says that both belong
    to one subgroup of `parallel` or to one tile, or that it is open to which they belong.
    """

    now: Place
    earlier: Place
    name: str
    local: bool
    same_work_group: bool
    same_unit: bool
    same_value: bool
    counts_bytes: bool = False
    """Whether the index of the finding is a byte."""


def race(pair: RacingPair) -> FindingWords:
    """The words for a race."""
    now, earlier = (place.op.spec.called for place in (pair.now, pair.earlier))
    with_what = f"the same {without_article(earlier)}" if pair.now.op is pair.earlier.op else earlier
    message = f"{now} of %{pair.name} races with {with_what} {_who(pair)}"
    if pair.same_value:
        message += ", which writes the same value"
    words = FindingWords("run.race", message)
    return replace(words, place="byte {index[0]} of {shape[0]}") if pair.counts_bytes else words


def _who(pair: RacingPair) -> str:
    if not pair.same_work_group:
        return "of another work-group"
    if pair.earlier.is_copy:
        return "that is still under way"
    if pair.now.is_copy:
        return "of a work-item"
    if isinstance(pair.earlier.around, Foreach):
        return "at another point"
    if pair.same_unit:
        return "of another work-item"
    return "at another tile" if isinstance(pair.earlier.around, ForeachTile) else "of another subgroup"


def race_hint(pair: RacingPair) -> str:
    """What would order two accesses that race, or make them atomic for each other."""
    now, earlier = pair.now, pair.earlier
    if now.scope is not None and earlier.scope is not None:
        return _wider(pair)
    if now.scope is not None or earlier.scope is not None:
        return _atomic_too(earlier if now.scope is not None else now, pair)
    if now.op is earlier.op and now.operand == earlier.operand and not now.is_copy:
        if _may_update_atomically(now):
            return f"let {_each(pair)} write elements of its own, or write `{now.op.spec.mnemonic}.atomic`"
        if now.kind == earlier.kind:
            return f"let {_each(pair)} write elements of its own, or use atomic updates"
    return _unordered(pair) or f"{_order(pair)} between them orders them"


def _wider(pair: RacingPair) -> str:
    """The words for two atomic accesses, at least one of which has too small a scope."""
    within = {Scope.SUBGROUP: "within a subgroup only"}
    if not pair.same_work_group:
        within[Scope.WORK_GROUP] = "within a work-group only"
    narrow: dict[str, list[str]] = {}
    for place in (pair.now, pair.earlier):
        if place.scope in within:
            names = narrow.setdefault(within[place.scope], [])
            name = _with_scope(place, place.scope)
            names += [name] if name not in names else []
    verbs = ("is", "are")
    words = (f"{' and '.join(names)} {verbs[len(names) > 1]} atomic {where}" for where, names in narrow.items())
    enough = Scope.WORK_GROUP if pair.same_work_group else Scope.DEVICE
    return f"{', '.join(words)}; write `.{enough.value}`"


def without_article(called: str) -> str:
    """What findings call an instruction, without the article."""
    return called if called.startswith("`") else called.partition(" ")[2]


def _with_scope(place: Place, scope: Scope) -> str:
    """An atomic access and its scope."""
    called = place.op.spec.called
    if called.startswith("`"):
        return f"`{place.op.spec.mnemonic}.{scope.value}`"
    return f"{called} of scope {scope.value.replace('_', ' ')}"


def _atomic_too(plain: Place, pair: RacingPair) -> str:
    """The words for an atomic access and one that is not."""
    mnemonic = plain.op.spec.mnemonic
    atomic = f"{mnemonic}.atomic" if _may_update_atomically(plain) else _ATOMIC_FORMS.get(mnemonic)
    ways = [] if atomic is None else [f"use `{atomic}`"]
    unordered = _unordered(pair) if pair.same_work_group else None
    if unordered is None:
        ways.append(f"order the two by {_order(pair)}")
    why = "" if unordered is None else f"; {unordered}"
    return f"{plain.op.spec.called} is not atomic" + (f": {', or '.join(ways)}" if ways else "") + why


def _may_update_atomically(place: Place) -> bool:
    """Whether `.atomic` makes an access by a collective instruction atomic, as it does what `gemm` reads and writes."""
    role = place.op.spec.roles[place.operand]
    return hasattr(place.op, "atomic") and isinstance(role, Operand) and role.writes


def _each(pair: RacingPair) -> str:
    """Who should write elements of its own."""
    if not pair.same_work_group:
        return "each work-group"
    if pair.now.inside is not None:
        return "each component"
    if isinstance(pair.now.around, Foreach):
        return "each point"
    if pair.same_unit:
        return "each work-item"
    return "each tile" if isinstance(pair.now.around, ForeachTile) else "each subgroup"


_FAR = "a release and an acquire of scope `.device`"


def _order(pair: RacingPair) -> str:
    """What orders two accesses, wherever that may come between them."""
    if not pair.same_work_group:
        return "a release and an acquire of the scope of the device" if pair.counts_bytes else _FAR
    if pair.earlier.is_copy or pair.now.is_copy:
        return "a `barrier`"
    if pair.counts_bytes:
        return "a `barrier()`" if pair.local else "a `barrier()` with `memoryBarrierBuffer()` before it"
    return "a `barrier.local`" if pair.local else "a `barrier.global`"


def _unordered(pair: RacingPair) -> str | None:
    """Why no barrier may come between two accesses, and what to do; None where one may."""
    if not pair.same_work_group:
        return (
            "nothing orders work-groups but a release that an acquire of scope `.device` observes; let each access "
            "elements of its own, or launch a second kernel"
        )
    around, inside = pair.now.around, pair.now.inside
    if isinstance(around, Foreach | ForeachTile) and around is pair.earlier.around:
        whom = "points of a loop" if isinstance(around, Foreach) else "tiles of a loop"
        if isinstance(around, ForeachTile) and pair.same_unit:
            whom = "work-items of a tile"
        return f"nothing orders the {whom}; end the loop and begin another between them"
    if inside is not None and inside is pair.earlier.inside:
        return (
            f"nothing orders the components in a `{inside.spec.mnemonic}`; move one of the two behind it, and "
            f"{_order(pair)} between them"
        )
    return None
