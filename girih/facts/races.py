"""The words of `run.race`: what raced with what, and what would order them.

Every executor that finds races says the same of them.
"""

from __future__ import annotations

from dataclasses import replace

from girih.analysis.accesses import Place
from girih.facts.findings import FindingWords
from girih.ir.core import Region
from girih.ir.define import Operand
from girih.lazy_dataclass import dataclass
from girih.ops.tile.arith import Max, Min
from girih.ops.tile.control import Foreach, ForeachTile, If, Parallel
from girih.ops.tile.coopmatrix import CooperativeMatrixStore
from girih.ops.tile.memory import Load, Scope, Store
from girih.ops.tile.stored import is_stored_only

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
    same_lane: bool = False
    """Whether both belong to work-items of one number in their subgroups."""
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
            return _apart(now, pair)
    if _update_one_element(now, earlier):
        return _apart(now if now.writes else earlier, pair)
    if pair.same_work_group and _in_one_statement(now, earlier):
        if isinstance(now.around, Foreach | ForeachTile):
            return "nothing orders what a loop does at once; read from other memory than is written to"
        if now.inside is None:
            return f"read in a statement of its own, before; {_order(pair)} between the two orders them"
    if pair.same_work_group and _in_two_branches(now, earlier):
        return f"move one of the two behind the `if`; {_order(pair)} between them orders them"
    return _unordered(pair) or f"{_order(pair)} between them orders them"


def _in_two_branches(now: Place, earlier: Place) -> bool:
    """Whether work-items that make one access do not come to the other, for an `if` in a `parallel`."""
    around = now.around
    if not isinstance(around, Parallel) or around is not earlier.around:
        return False
    return any(
        _has(one, now) and _has(other, earlier)
        for op in around.body.walk()
        if isinstance(op, If) and op.otherwise is not None
        for one, other in ((op.then, op.otherwise), (op.otherwise, op.then))
    )


def _has(region: Region, place: Place) -> bool:
    return any(op is place.op for op in region.walk())


def _apart(write: Place, pair: RacingPair) -> str:
    """The words for a write that several make to one element at once, so that there is no place between."""
    ways = [f"let {_each(pair)} write elements of its own"]
    if pair.counts_bytes:
        return f"{ways[0]}, or use atomic updates"
    if isinstance(write.op, Store | CooperativeMatrixStore) and not is_stored_only(write.root):
        matrix = "cooperative_matrix_" if isinstance(write.op, CooperativeMatrixStore) else ""
        what, update = _update(write)
        update = f"`{matrix}{update}{'' if pair.same_work_group else '.device'}`"
        # In a collective region each work-item would add.
        one = "let one work-item in `parallel` use" if write.around is None else "use"
        ways.append(f"to {what}, {one} {update}")
    if write.inside is None:
        ways.append(f"to write it once, {_once(write, pair)}")
    return "; ".join(ways)


def _update(write: Place) -> tuple[str, str]:
    """What is done to an element by a write, most likely, and the atomic update that does it."""
    value = write.op.value if isinstance(write.op, Store) else None
    maker = next((op for op in write.region.ops if value is not None and value in op.results), None)
    if isinstance(maker, Max):
        return "keep the largest", "atomic_max"
    return ("keep the smallest", "atomic_min") if isinstance(maker, Min) else ("add to it", "atomic_add")


def _once(write: Place, pair: RacingPair) -> str:
    """How one alone writes an element."""
    if not pair.same_work_group:
        return "do it in an `if` that `group_id` is 0"
    if not isinstance(write.around, Parallel):
        return "do it behind the loop"
    if pair.same_unit:
        return "do it in an `if` that `subgroup_local_id` is 0"
    if pair.same_lane or not isinstance(write.op, Store):
        return "do it in an `if` that `subgroup_linear_id` is 0"
    return "do it in an `if` that `subgroup_linear_id` and `subgroup_local_id` are 0"


def _update_one_element(now: Place, earlier: Place) -> bool:
    """Whether a load and a store race that an item makes one after the other, to the same element.

    Then the stores of two items race, too.
    """
    a, b = now.op, earlier.op
    if not isinstance(a, Load | Store) or not isinstance(b, Load | Store) or now.around is not earlier.around:
        return False
    return a.tensor is b.tensor and a.indices == b.indices and now.region is earlier.region


def _in_one_statement(now: Place, earlier: Place) -> bool:
    """Whether one access is a part of the other as they are written, so that nothing can be put between them."""
    a, b = now.op.span, earlier.op.span
    if now.op is earlier.op or now.inside is not earlier.inside or a.source is not b.source:
        return False
    return (a.start <= b.start and b.end <= a.end) or (b.start <= a.start and a.end <= b.end)


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
    if mnemonic in _ATOMIC_FORMS and not pair.same_work_group:
        atomic = f"{atomic}.device"
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
    if pair.same_unit or (isinstance(pair.now.around, Parallel) and isinstance(pair.now.op, Load | Store)):
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
