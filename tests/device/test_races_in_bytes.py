"""Races in memory that is bytes: accesses of different widths, and what barriers of a subgroup or work-group order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np

from girih.arguments.bound import BoundMemRef
from girih.arguments.memory import Memory
from girih.diagnostics import KernelError
from girih.interpreter.machine.choices import Choices
from girih.interpreter.machine.machine import LaunchGeometry
from girih.interpreter.machine.values import memref_value
from girih.interpreter.memory import shadow_bytes
from girih.interpreter.run import Execution
from girih.ir.core import Value
from girih.ir.types import BOOL, F32, I8, I16, I32, INDEX, Number
from girih.ops.tile.memory import Scope, Semantics
from tests.cases import every_case
from tests.device.building import BYTES, LANES, Body, Code, built, findings, kernel

ITEMS = 2 * LANES
"""Two subgroups."""

FAR = {"semantics": Semantics.ACQUIRE_RELEASE}


def only(body: Body, item: int, does: Callable[[Body], None]) -> None:
    """Let one work-item of the work-group do something."""
    inner = Body(body.language, body.kind)
    does(inner)
    mine = body.one("equal", BOOL, a=body.item(), b=body.constant(item))
    body.add("branch", condition=mine, then=inner.region())


def pair(first: tuple[Number, int, int], second: tuple[Number, int, int], *, store: bool = True) -> Code:
    """Code in which work-item 0 stores numbers of %s, and work-item 1 accesses other ones: type, byte, and count."""

    def code(body: Body, r: Value, s: Value) -> None:
        def access(body: Body, type: Number, place: int, count: int, *, store: bool) -> None:
            if store:
                one = body.constant(1.0 if type.family == "floating" else 1, type)
                body.store(s, body.constant(place), *[one] * count)
            else:
                body.load(s, body.constant(place), *[type] * count)

        body.store(s, body.times(body.item(), 8), *[body.constant(0, I32)] * 2)
        body.add("work_group_barrier", local_fence=True, **FAR)
        only(body, 0, lambda body: access(body, *first, store=True))
        only(body, 1, lambda body: access(body, *second, store=store))

    return code


def raced(code: Code, **memories: int) -> list[tuple[str, tuple[int, ...] | None]]:
    """Where a launch races, as the first byte of each pair of places."""
    try:
        kernel(code, {"r": BYTES}, memories, work_group=ITEMS)(np.zeros(ITEMS * 8, np.int8))
    except KernelError as error:
        return [(finding.code, finding.index) for finding in error.findings]
    return []


def test_accesses_of_different_widths() -> None:
    with every_case() as case:
        for store, (first, second, byte) in zip(
            cycle((True, False)),
            [
                ((I32, 4, 1), (I8, 7, 1), 7),
                ((I32, 4, 1), (I8, 8, 1), None),
                ((I32, 4, 1), (I8, 3, 1), None),
                ((I8, 7, 1), (I32, 4, 1), 7),
                ((F32, 0, 4), (I16, 14, 1), 14),
                ((F32, 0, 4), (F32, 16, 4), None),
                ((F32, 16, 3), (F32, 28, 1), None),
                ((F32, 16, 3), (F32, 20, 1), 20),
                ((I16, 2, 1), (I32, 0, 1), 2),
                ((I32, 1, 1), (I8, 4, 1), 4),
                ((I32, 1, 1), (I8, 5, 1), None),
            ],
            strict=False,
        ):
            with case(f"{first} and {second}, {store=}"):
                expected = [] if byte is None else [("run.race", (byte,))]
                assert raced(pair(first, second, store=store), s=ITEMS * 8) == expected


def exchange(distance: int, barrier: str, **words: object) -> Code:
    """Code in which each work-item writes a number of %s, and then reads that of another one behind a barrier."""

    def code(body: Body, r: Value, s: Value) -> None:
        item = body.item()
        other = body.one("xor", INDEX, a=item, b=body.constant(distance))
        number = body.one("cast", I32, a=item)
        for _ in range(2):
            body.store(s, body.times(item, 4), number)
            body.add(barrier, **words)
            (number,) = body.load(s, body.times(other, 4), I32)
            body.add(barrier, **words)
        body.store(r, body.times(item, 4), number)

    return code


def test_what_a_barrier_orders() -> None:
    own = {"scope": Scope.SUBGROUP}
    cases: list[tuple[int, str, dict[str, Any], bool]] = [
        (1, "work_group_barrier", {"local_fence": True, **FAR}, True),
        (LANES, "work_group_barrier", {"local_fence": True, **FAR}, True),
        (1, "work_group_barrier", {"global_fence": True, **FAR}, False),
        (1, "work_group_barrier", {"local_fence": True}, False),
        (1, "subgroup_barrier", {"local_fence": True, **own, **FAR}, True),
        (LANES, "subgroup_barrier", {"local_fence": True, **own, **FAR}, False),
        (1, "subgroup_barrier", {"global_fence": True, **own, **FAR}, False),
        (1, "subgroup_barrier", {"local_fence": True, **own}, False),
    ]
    with every_case() as case:
        for distance, barrier, words, orders in cases:
            with case(f"{barrier} {words} at a distance of {distance}"):
                # A store and a load, that load and the next store, and so on.
                assert len(raced(exchange(distance, barrier, **words), s=ITEMS * 4)) == (0 if orders else 3)


def test_a_barrier_of_a_subgroup_orders_it_alone() -> None:
    """Readers of two subgroups: whoever writes behind the barrier of one races with those of the other."""

    def code(writer: int) -> Code:
        def code(body: Body, r: Value, s: Value) -> None:
            only(body, 0, lambda body: body.store(s, body.constant(0), body.constant(1, I32)))
            body.add("work_group_barrier", local_fence=True, **FAR)
            body.load(s, body.times(body.constant(0), 4), I32)
            if writer < ITEMS:
                body.add("subgroup_barrier", local_fence=True, scope=Scope.SUBGROUP, **FAR)
                only(body, writer, lambda body: body.store(s, body.constant(0), body.constant(2, I32)))

        return code

    assert raced(code(ITEMS), s=4) == []
    assert raced(code(0), s=4) == raced(code(LANES + 1), s=4) == [("run.race", (0,))]


def test_who_races_is_told_in_bytes() -> None:
    found = findings(
        kernel(pair((I32, 4, 1), (I8, 7, 1)), {"r": BYTES}, {"s": 128}, work_group=ITEMS), np.zeros(1, np.int8)
    )
    (race,) = found
    assert race.message == "a store of %s races with a store of another work-item: byte 7 of 128"
    assert race.other is not None
    assert (race.lane, race.other.lane, race.other.index) == (1, 0, (7,))


def test_the_search_takes_a_stamp_for_each_number() -> None:
    def code(body: Body, r: Value, s: Value) -> None:
        body.store(r, body.times(body.item(), 8), *[body.constant(0, I32)] * 2, alignment=4)
        body.store(s, body.times(body.item(), 4), *[body.constant(0, I8)] * 4, alignment=2)

    function = built(code, {"r": BYTES, "s": BYTES}).functions[0]
    launched = Execution(
        function, LaunchGeometry((1, 1, 1), (LANES, 1), LANES),
        [memref_value(BoundMemRef(Memory(np.zeros(64, np.uint8), None, "r").view(np.dtype(np.int8)), (64,), (1,)), name,
                      np.dtype(np.int8)) for name in "rs"],
        Choices(), 100,
    )  # fmt: skip
    # Words in one, halves of words in the other.
    assert shadow_bytes(launched) == 8 * (64 // 4 + 64 // 2)
