"""Two accesses beside the last write stand for all others: whoever comes later races with one of them, or with none."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from girih.interpreter.races.order import GLOBAL, Order
from tests.cases import every_case, long

ITEMS = """\
func @f(%A: memref<i32x8>) attributes {subgroup_size=8, work_group_size=[8, 1]} {
    %0 = constant 0 : index
    %1 = constant 1 : index
    %2 = constant 2 : index
    %3 = constant 3 : index
    %x = constant 1 : i32
    %g = group_id.x : index
    parallel {
        %lane = subgroup_local_id : i32
        %i = cast %lane : index
"""

ACCESSES = {
    "R": "%r{k} = load %A[0] : i32",
    "W": "store %x, %A[0]",
    "L": "%r{k} = atomic_load.device %A[%0] : i32",
    "S": "atomic_store.device %x, %A[%0]",
    "U": "%r{k} = atomic_add.device %x, %A[%0] : i32",
}


def kernel(steps: str) -> str:
    """A kernel of steps: `|` is a barrier, `R0.2` a load by lane 2 of work-group 0, `U*.1` an update by lane 1 of all
    work-groups, `W` a store by everybody; S and L are atomic."""
    lines = []
    for k, step in enumerate(steps.split()):
        access = ACCESSES.get(step[0], "barrier.global").format(k=k)
        group, _, lane = step[1:].partition(".")
        conditions = [("%g", group)] * group.isdigit() + [("%i", lane)] * lane.isdigit()
        for n, (name, number) in enumerate(conditions):
            lines += [f"%c{k}{n} = equal {name}, %{number} : bool", f"if %c{k}{n} {{"]
        lines += [access, *["}"] * len(conditions)]
    return ITEMS + "\n".join(lines) + "\n    }\n}\n"


def races(steps: str, groups: int) -> bool:
    """Whether a race is found, and nothing else."""
    try:
        girih.loads(kernel(steps), target="interpreter")["f"][groups](np.zeros(8, np.int32))
    except girih.KernelError as error:
        assert {finding.code for finding in error.findings} == {"run.race"}
        return True
    return False


RACES = (
    # In one work-group: who writes is one of those who have read, or none.
    "R0.0 R0.1 W0.0",
    "R0.0 R0.1 W0.1",
    "R0.0 R0.1 | R0.2 R0.3 W0.2",
    "R0.0 R0.1 | R0.1 R0.0 W0.0",
    "W0.0 | R0.1 W0.0",
    # Atomic writes before the last one, and reads beside them.
    "U0.0 U0.1 R0.1",
    "U0.0 U0.1 L0.0 R0.1",
    "U0.0 L0.1 U0.2 L0.3 R0.2",
    "U0.0 U0.1 | U0.2 U0.3 R0.3",
    "S0.0 L0.1 R0.1",
    "L0.0 L0.1 W0.0",
    "L0.0 U0.1 W0.1",
    "W0.0 | L0.0 U0.1 W0.1",
    # A write that is not atomic, and an atomic one by the same work-item behind it.
    "W0.0 U0.0 U0.1",
    "W0.0 L0.0 U0.1",
)
"""Launches of one work-group with a race."""

RACES_OF_WORK_GROUPS = (
    # A barrier orders the accesses of one work-group only.
    "R | W1.0",
    "R | W0.0",
    "R | R | W2.0",
    "R1.0 R0.1 R1.1 | W1.0",
    "U | R1",
    "U | R0.0",
    "U L | R1",
    "U | U | R2.1",
    "U0.0 U1.0 U2.0 U1.1 | R1.0",
    "L0.0 U1.0 U1.1 | W1.0",
    # What an atomic write replaces is open for other work-groups, even if it is ordered before that write.
    "W0.0 | U0 U1",
    "W0.0 | U0.0 U0.1 L1.0",
    "R0.0 | U0.1 U0.0 U1.0",
    "W0.0 U0.0 U1.0",
    "U0.0 | L0.1 U1.0 R1.0",
)
"""Launches of three work-groups with a race."""

RIGHT = (
    "W0.0 R0.0 U0.0 W0.0 R0.0",
    "R0.0 R0.1 R",
    "R0.0 | R0.1 W0.1",
    "R0.0 R0.1 | R0.2 W0.2",
    "W0.0 | R0 | W0.1 | U0 | R0",
    "U0.0 U0.1 | U0.2 R0.2",
    "W0.0 U0.0 | U0.1 R0.1",
    "L0.0 U0.1 L0.0 S0.2 L0.1",
    "U0 | R0 | W0.0 | U0 | R0",
)
"""Steps of one work-group that are in order."""


def test_what_is_kept_stands_for_everybody() -> None:
    with every_case() as case:
        for steps in RACES:
            with case(steps):
                assert races(steps, 1)
        for steps in RACES_OF_WORK_GROUPS:
            with case(steps):
                assert races(steps, 3)


@pytest.mark.parametrize("steps", long(RACES))
def test_races_in_one_of_several_work_groups(steps: str) -> None:
    assert races(steps, 3)


def test_what_is_in_order_is_not_accused() -> None:
    with every_case() as case:
        for steps in RIGHT:
            with case(steps):
                assert not races(steps, 1)
        for steps in ("L U L S | L U", "R | R | R", "R1.0 | W1.1 | R1 | U1.0"):
            with case(steps):
                assert not races(steps, 3)


def test_order_knows_nothing_of_work_groups_of_earlier_batches() -> None:
    order = Order(np.array([7, 5]), copies=False)
    order.advance((GLOBAL,), np.array([True, False]), copies=False)
    order.advance_units((GLOBAL,), np.array([[True], [False]]))
    asked = np.array([5, 6, 7, 8])
    assert np.asarray(order.latest(GLOBAL, lambda: asked, copies=False)).tolist() == [1, 0, 2, 0]
    assert order.latest_of_units(GLOBAL, asked, np.zeros(4, np.int64)).tolist() == [1, 0, 3, 0]
