"""Barriers of work-groups and subgroups, and fences: what they order, and who must come to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import girih
from girih.ir.core import Value
from girih.ir.types import BOOL, I32
from girih.ops.tile.memory import Scope, Semantics
from tests.cases import every_case
from tests.device.building import BYTES, LANES, Body, findings, kernel
from tests.device.lanes import Lane, lane_kernel

BOTH: dict[str, Any] = {"semantics": Semantics.ACQUIRE_RELEASE, "local_fence": True, "global_fence": True}
WORK_GROUP = 4 * LANES


def passed_on(mnemonic: str, distance: int, fields: dict[str, Any]) -> Any:
    """Code that stores an item's number to memory of the work-group, waits, and loads that of another item."""

    def code(body: Body, r: Value, s: Value) -> None:
        item = body.item()
        body.store(s, body.times(item, 4), body.one("cast", I32, a=item), alignment=4)
        body.add(mnemonic, **fields)
        whose = body.one("xor", item.type, a=item, b=body.constant(distance))
        body.store(r, body.times(item, 4), *body.load(s, body.times(whose, 4), I32, alignment=4), alignment=4)

    return code


def passing(mnemonic: str, distance: int, target: str = "interpreter", **fields: Any) -> Any:
    code = passed_on(mnemonic, distance, fields)
    return kernel(code, {"r": BYTES}, {"s": 4 * WORK_GROUP}, target=target, work_group=WORK_GROUP)


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_what_is_stored_before_a_barrier_is_loaded_behind_it(target: str) -> None:
    with every_case() as case:
        for mnemonic, distance in (("work_group_barrier", 17), ("subgroup_barrier", 3)):
            with case(mnemonic):
                r = np.zeros(WORK_GROUP, np.int32)
                passing(mnemonic, distance, target, **BOTH)(r.view(np.int8))
                np.testing.assert_array_equal(r, np.arange(WORK_GROUP) ^ distance)


@pytest.mark.parametrize(
    ("mnemonic", "distance", "fields"),
    [
        ("work_group_barrier", 1, {}),
        ("work_group_barrier", 1, {**BOTH, "local_fence": False}),
        ("subgroup_barrier", 1, {}),
        ("subgroup_barrier", LANES, BOTH),
        ("memory_barrier", 1, BOTH),
    ],
)
def test_a_barrier_orders_only_what_it_says(mnemonic: str, distance: int, fields: dict[str, Any]) -> None:
    found = findings(passing(mnemonic, distance, **fields), np.zeros(4 * WORK_GROUP, np.int8))
    assert "run.race" in {finding.code for finding in found}
    assert {finding.code for finding in found} <= {"run.race", "run.uninitialized"}


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_a_barrier_that_some_miss(target: str) -> None:
    def meet(lane: Lane) -> None:
        lane.add("work_group_barrier", **BOTH)

    def code(lane: Lane, a: Value) -> list[Value]:
        condition = lane.one("greater_than", BOOL, a=a, b=lane.constant(2))
        lane.when(condition, meet)
        return [a]

    a, r = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    with pytest.raises(girih.KernelError) as caught:
        lane_kernel(code, [a], [np.int32], target=target, work_group=8, subgroup=8)[1](a, r)
    (found,) = caught.value.findings
    assert (found.code, found.span.text) == ("run.divergent", "work_group_barrier")


def last_group(fields: dict[str, Any] | None, scope: Scope = Scope.DEVICE) -> Any:
    """Code in which each work-group writes a number and counts itself; the last one adds the numbers up.

    Fences stand before and behind the count, which is relaxed, unless `fields` is None.
    """

    def code(body: Body, m: Value) -> None:
        group = body.one("group_id", body.item().type, axis=0)
        first = body.one("equal", BOOL, a=body.lane(), b=body.constant(0))
        then = Body(body.language, body.kind)
        then.store(m, then.plus(then.times(group, 4), 8), then.one("cast", I32, a=group), alignment=4)
        if fields is not None:
            then.add("memory_barrier", scope=scope, **fields)
        counted = then.one(
            "byte_atomic_update", I32, operator="add", value=then.constant(1, I32), memory=m,
            offset=then.constant(0), alignment=4,
        )  # fmt: skip
        if fields is not None:
            then.add("memory_barrier", scope=scope, **fields)
        last = then.one("equal", BOOL, a=counted, b=then.constant(2, I32))
        inside = Body(body.language, body.kind)
        numbers = [inside.load(m, inside.constant(8 + 4 * k), I32, alignment=4)[0] for k in range(3)]
        total = inside.one("add", I32, a=inside.one("add", I32, a=numbers[0], b=numbers[1]), b=numbers[2])
        inside.store(m, inside.constant(4), total, alignment=4)
        then.add("branch", condition=last, then=inside.region())
        body.add("branch", condition=first, then=then.region())

    return code


def test_fences_make_relaxed_accesses_hand_over() -> None:
    m = np.zeros(5, np.int32)
    kernel(last_group(BOTH), {"m": BYTES})[3](m.view(np.int8))
    assert m.tolist() == [3, 3, 0, 1, 2]


@pytest.mark.parametrize(
    "fields",
    [
        None,
        {"semantics": Semantics.ACQUIRE, "global_fence": True},
        {"semantics": Semantics.RELEASE, "global_fence": True},
        {"semantics": Semantics.ACQUIRE_RELEASE, "local_fence": True},
    ],
)
def test_without_the_right_fences_there_is_a_race(fields: dict[str, Any] | None) -> None:
    found = findings(kernel(last_group(fields), {"m": BYTES}), np.zeros(20, np.int8), grid=3)
    assert {finding.code for finding in found} == {"run.race"}
