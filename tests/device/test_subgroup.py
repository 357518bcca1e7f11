"""Operations on the active work-items of a subgroup: interpreter and CPU against an evaluation one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pytest

from girih.ir.core import Value
from girih.ir.types import BOOL, F32, I32
from tests.cases import long
from tests.device.building import BYTES, Body, findings, kernel
from tests.device.lanes import Array, Lane, results

Numbers = Sequence[Any]
Evaluation = Callable[[int, Sequence[int], Numbers], Any]
"""What a work-item gets: its number, those of the active work-items, and the values of all."""

INT, FLOAT = np.int32, np.float32


def word(number: int) -> int:
    """An integer as one of 32 bits with a sign."""
    return (number + 2**31) % 2**32 - 2**31


def bits(lanes: Sequence[int]) -> int:
    return sum(1 << lane for lane in lanes)


def words(number: int) -> tuple[int, ...]:
    return tuple(word(number >> 32 * k & 2**32 - 1) for k in range(4))


def odd(lane: Lane, a: Value) -> Value:
    one = lane.constant(1)
    return lane.one("equal", BOOL, a=lane.one("and", I32, a=a, b=one), b=one)


def odds(active: Sequence[int], values: Numbers) -> list[int]:
    return [lane for lane in active if values[lane] % 2]


# --- votes and ballots -----------------------------------------------------------------------


def votes(lane: Lane, c: Value, a: Value, f: Value) -> Sequence[Value]:
    holds = odd(lane, a)
    return [
        lane.one("active_elect", BOOL),
        lane.one("active_all", BOOL, a=holds),
        lane.one("active_any", BOOL, a=holds),
        lane.one("active_all_equal", BOOL, a=a),
        lane.one("active_all_equal", BOOL, a=lane.one("active_broadcast_first", F32, a=f)),
        *lane.words("active_ballot", a=holds),
    ]


def voted(own: int, active: Sequence[int], a: Numbers, f: Numbers) -> Sequence[Any]:
    holding = odds(active, a)
    return [
        own == active[0],
        len(holding) == len(active),
        bool(holding),
        len({a[lane] for lane in active}) == 1,
        True,
        *words(bits(holding)),
    ]


def ballots(lane: Lane, c: Value, a: Value, f: Value) -> Sequence[Value]:
    ballot = lane.words("active_ballot", a=odd(lane, a))
    everybody = lane.words("active_ballot", a=lane.one("equal", BOOL, a=a, b=a))
    own = lane.one("subgroup_local_id", I32)
    return [
        lane.one("inverse_ballot", BOOL, ballot=ballot),
        lane.one("ballot_bit", BOOL, ballot=ballot, number=own),
        lane.one("ballot_bit", BOOL, ballot=lane.words("subgroup_mask", relation="less"), number=own),
        *(lane.one("ballot_count", I32, among=among, ballot=ballot) for among in ("reduce", "inclusive", "exclusive")),
        *(lane.one("ballot_find", I32, end=end, ballot=everybody) for end in ("lowest", "highest")),
        lane.one("ballot_find", I32, end="highest", ballot=lane.words("subgroup_mask", relation="less_equal")),
    ]


def balloted(own: int, active: Sequence[int], a: Numbers, f: Numbers) -> Sequence[Any]:
    holding = odds(active, a)
    counts = len(holding), sum(lane <= own for lane in holding), sum(lane < own for lane in holding)
    return [own in holding, own in holding, False, *counts, active[0], active[-1], own]


# --- values of others ------------------------------------------------------------------------


def moves(lane: Lane, c: Value, a: Value, f: Value) -> Sequence[Value]:
    """Of moves whose result is undefined for some, these get 0 by a `select`."""
    own, none = lane.one("subgroup_local_id", I32), lane.constant(0)
    present = lane.words("active_ballot", a=lane.one("equal", BOOL, a=a, b=a))
    size = lane.one("subgroup_size", I32)
    last = lane.one("sub", I32, a=size, b=lane.constant(1))

    def where(source: Value, moved: Value) -> Value:
        low = lane.one("greater_than_equal", BOOL, a=source, b=none)
        inside = lane.one("and", BOOL, a=low, b=lane.one("less_than", BOOL, a=source, b=size))
        there = lane.one("ballot_bit", BOOL, ballot=present, number=lane.one("and", I32, a=source, b=last))
        both = lane.one("and", BOOL, a=inside, b=there)
        return lane.one("select", moved.type, condition=both, a=moved, b=lane.one("cast", moved.type, a=none))

    def shuffled(by: str, number: Value, source: Value, value: Value) -> Value:
        return where(source, lane.one("active_shuffle", value.type, by=by, a=value, number=number))

    def moved(by: str, number: Value, value: Value) -> Value:
        mnemonic = {"up": "sub", "down": "add", "xor": "xor"}[by]
        return shuffled(by, number, lane.one(mnemonic, I32, a=own, b=number), value)

    backwards = lane.one("sub", I32, a=last, b=own)
    varying = lane.one("and", I32, a=a, b=lane.constant(3))
    first = lane.one("ballot_find", I32, end="lowest", ballot=present)
    turned = lane.one("add", I32, a=own, b=lane.constant(3))
    return [
        lane.one("active_broadcast", F32, a=f, lane=first),
        where(lane.constant(0), lane.one("active_broadcast", I32, a=a, lane=lane.constant(0))),
        lane.one("active_broadcast_first", F32, a=f),
        shuffled("at", backwards, backwards, f),
        shuffled("at", first, first, a),
        *(moved(by, lane.constant(1), a) for by in ("xor", "up", "down")),
        *(moved(by, varying, f) for by in ("xor", "up", "down")),
        where(
            lane.one("and", I32, a=turned, b=last),
            lane.one("active_rotate", F32, a=f, delta=lane.constant(3), cluster=0),
        ),
        where(
            lane.one("or", I32, a=lane.one("and", I32, a=own, b=lane.constant(-4)), b=lane.constant(2)),
            lane.one("active_quad_broadcast", I32, a=a, number=lane.constant(2)),
        ),
    ]


def moved_to(own: int, active: Sequence[int], a: Numbers, f: Numbers) -> Sequence[Any]:
    count = len(a)

    def at(values: Numbers, lane: int) -> Any:
        return values[lane] if lane in active else 0

    varying = a[own] & 3
    return [
        f[active[0]],
        at(a, 0),
        f[active[0]],
        at(f, count - 1 - own),
        a[active[0]],
        *(at(a, lane) for lane in (own ^ 1, own - 1, own + 1)),
        *(at(f, lane) for lane in (own ^ varying, own - varying, own + varying)),
        at(f, (own + 3) % count),
        at(a, (own & -4) + 2),
    ]


# --- combinations ----------------------------------------------------------------------------


def unsigned(number: int) -> int:
    return number & 2**32 - 1


OPERATORS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "add": (lambda a, b: word(a + b), 0),
    "mul": (lambda a, b: word(a * b), 1),
    "signed_min": (min, 2**31 - 1),
    "signed_max": (max, -(2**31)),
    "unsigned_min": (lambda a, b: min(a, b, key=unsigned), -1),
    "unsigned_max": (lambda a, b: max(a, b, key=unsigned), 0),
    "and": (lambda a, b: a & b, -1),
    "or": (lambda a, b: a | b, 0),
    "xor": (lambda a, b: a ^ b, 0),
}
FLOATING: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "add": (lambda a, b: a + b, 0.0),
    "mul": (lambda a, b: a * b, 1.0),
    "min": (min, np.inf),
    "max": (max, -np.inf),
}
AMONG = ("inclusive", "exclusive")


def integers(lane: Lane, c: Value, a: Value, f: Value) -> Sequence[Value]:
    found = [lane.one("active_reduce", I32, operator=name, a=a, cluster=0) for name in OPERATORS]
    found += [lane.one("active_scan", I32, operator=name, among=among, a=a) for name in OPERATORS for among in AMONG]
    return found


def combined(own: int, active: Sequence[int], values: Numbers, table: dict[str, Any]) -> Sequence[Any]:
    found = [reduce(function, (values[lane] for lane in active)) for function, _ in table.values()]
    for function, identity in table.values():
        found.append(reduce(function, (values[lane] for lane in active if lane <= own)))
        found.append(reduce(function, (values[lane] for lane in active if lane < own), identity))
    return found


def integers_combined(own: int, active: Sequence[int], a: Numbers, f: Numbers) -> Sequence[Any]:
    return combined(own, active, a, OPERATORS)


def floats(lane: Lane, c: Value, a: Value, f: Value) -> Sequence[Value]:
    found = [lane.one("active_reduce", F32, operator=name, a=f, cluster=0) for name in FLOATING]
    found += [lane.one("active_scan", F32, operator=name, among=among, a=f) for name in FLOATING for among in AMONG]
    return found


def floats_combined(own: int, active: Sequence[int], a: Numbers, f: Numbers) -> Sequence[Any]:
    return combined(own, active, f, FLOATING)


def parts(lane: Lane, c: Value, a: Value, f: Value) -> Sequence[Value]:
    """Clusters of 2 and 4, and the parts of a partition by two bits."""
    low = lane.one("and", I32, a=a, b=lane.constant(3))
    ballot = lane.words("active_partition", a=low)
    return [
        lane.one("active_reduce", I32, operator="add", a=a, cluster=2),
        lane.one("active_reduce", F32, operator="max", a=f, cluster=4),
        lane.one("active_reduce", BOOL, operator="and", a=odd(lane, a), cluster=4),
        lane.one("active_scan", BOOL, operator="xor", among="exclusive", a=odd(lane, a)),
        *ballot,
        lane.one("active_reduce", F32, operator="add", a=f, cluster=0, partition=ballot),
        lane.one("active_scan", I32, operator="signed_max", among="inclusive", a=a, partition=ballot),
        lane.one("active_scan", I32, operator="add", among="exclusive", a=a, partition=ballot),
    ]


def parted(own: int, active: Sequence[int], a: Numbers, f: Numbers) -> Sequence[Any]:
    two, four = ([lane for lane in active if lane // size == own // size] for size in (2, 4))
    mine = [lane for lane in active if a[lane] & 3 == a[own] & 3]
    return [
        sum(a[lane] for lane in two),
        max(f[lane] for lane in four),
        all(a[lane] % 2 for lane in four),
        sum(a[lane] % 2 for lane in active if lane < own) % 2,
        *words(bits(mine)),
        sum(f[lane] for lane in mine),
        max(a[lane] for lane in mine if lane <= own),
        sum(a[lane] for lane in mine if lane < own),
    ]


TABLE: dict[str, tuple[Any, Any, list[Any]]] = {
    "votes": (votes, voted, [INT] * 9),
    "ballots": (ballots, balloted, [INT] * 9),
    "moves": (moves, moved_to, [FLOAT, INT, FLOAT, FLOAT, INT, INT, INT, INT, FLOAT, FLOAT, FLOAT, FLOAT, INT]),
    "integers": (integers, integers_combined, [INT] * 27),
    "floats": (floats, floats_combined, [FLOAT] * 12),
    "parts": (parts, parted, [INT, FLOAT, INT, INT, INT, INT, INT, INT, FLOAT, INT, INT]),
}


def expected(evaluation: Any, size: int, inputs: Sequence[Array], types: Sequence[Any], *, masked: bool) -> list[Array]:
    """What each work-item gets, evaluated one by one; 0 for those that are not active."""
    c, a, f = (array.tolist() for array in inputs)
    found = [np.zeros(len(c), type) for type in types]
    for first in range(0, len(c), size):
        here = slice(first, first + size)
        active = [lane for lane in range(size) if not masked or c[first + lane] > 0]
        for own in active:
            for array, value in zip(found, evaluation(own, active, a[here], f[here]), strict=True):
                array[first + own] = value
    return found


def random_inputs(count: int, seed: int = 1) -> list[Array]:
    """Which work-items are active, integers, and floats whose sums are exact in any order."""
    random = np.random.default_rng(seed)
    return [
        random.integers(-1, 2, count).astype(INT),
        random.integers(-9, 9, count).astype(INT),
        (random.choice([0.5, -1.0, 2.0, 1.0], count)).astype(FLOAT),
    ]


SIZES = [(8, True), *long([(size, masked) for size in (1, 2, 4, 16, 32, 64, 128) for masked in (True, False)])]


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.parametrize(("size", "masked"), SIZES)
def test_each_work_item_gets_what_the_active_ones_give(size: int, masked: bool, target: str) -> None:
    code = [row[0] for row in TABLE.values() if size >= 4 or row[0] not in (moves, parts)]
    names = [name for name, row in TABLE.items() if row[0] in code]
    types = [type for name in names for type in TABLE[name][2]]
    inputs = random_inputs(4 * size)

    def everything(lane: Lane, *values: Value) -> Sequence[Value]:
        return [result for one in code for result in one(lane, *values)]

    stored = results(everything, inputs, types, target=target, work_group=2 * size, subgroup=size, masked=masked)
    wanted = [
        array for name in names for array in expected(TABLE[name][1], size, inputs, TABLE[name][2], masked=masked)
    ]
    wrong = [
        number for number, (a, b) in enumerate(zip(stored, wanted, strict=True)) if a.tobytes() != (b + 0).tobytes()
    ]
    assert [(number, stored[number].tolist(), wanted[number].tolist()) for number in wrong] == []


def test_what_no_work_item_has_is_undefined() -> None:
    def code(body: Body, r: Value) -> None:
        lane = body.one("subgroup_local_id", I32)
        above = body.one("active_shuffle", I32, by="up", a=lane, number=body.constant(1, I32))
        inside = body.one("greater_than", BOOL, a=lane, b=body.constant(0, I32))
        chosen = body.one("select", I32, condition=inside, a=above, b=body.constant(7, I32))
        body.store(r, body.times(body.lane(), 4), chosen)
        body.store(r, body.plus(body.times(body.lane(), 4), 32), above)

    (found,) = findings(kernel(code, {"r": BYTES}), np.zeros(64, np.int8))
    assert (found.code, found.lane, found.count) == ("run.undef", 0, 1)
