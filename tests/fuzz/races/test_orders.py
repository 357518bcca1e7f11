"""What brute force and interpreter say of small programs, one for each sentence of docs/design/races.md."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.diagnostics import KernelError, errors
from girih.interpreter.launch import launch
from girih.ir.core import Function
from girih.program import analyze
from girih.source import Source
from tests.cases import every_case
from tests.fuzz.races.kernel import LIMITS
from tests.fuzz.races.orders import Verdict, judge

HEAD = """
func @f(%A: memref<i32x8>, %F: memref<i32x2>, %B: memref<i32x4x4>)
        attributes {subgroup_size=2, work_group_size=[4, 1]} {
    %0 = constant 0 : index
    %1 = constant 1 : index
    %2 = constant 2 : index
    %3 = constant 3 : index
    %4 = constant 4 : index
    %no = constant 0 : i32
    %one = constant 1 : i32
    %two = constant 2 : i32
    %three = constant 3 : i32
    %g = group_id.x : index
    %S = alloca : memref<i32x8,local>
    foreach (%i) = (%0), (%4) {
        store %no, %S[%i]
    }
"""
ITEMS = """
    parallel {
        %lane = subgroup_local_id : i32
        %subgroup = subgroup_linear_id : i32
        %first = mul %subgroup, %two : i32
        %number = add %first, %lane : i32
        %w = cast %number : index
        %next = add %w, %1 : index
        %is0 = equal %w, %0 : bool
        %is1 = equal %w, %1 : bool
        %is2 = equal %w, %2 : bool
        %is3 = equal %w, %3 : bool
"""
WRITER = "if %is0 { store %one, %A[0] atomic_store.device.release %one, %F[%0] }"
IF_ONE = "%b = equal %v, %one : bool if %b { %x = load %A[0] : i32 }"
READER = "if %is3 { %v = atomic_load.device.acquire %F[%0] : i32 " + IF_ONE + " }"
OTHER_MEMORY = (
    "if %is0 { store %one, %A[0] atomic_store.work_group.release %one, %S[%0] } "
    "if %is3 { %v = atomic_load.work_group.acquire %S[%0] : i32 " + IF_ONE + " }"
)
LAST = """
        store %one, %A[%w]
        %old = atomic_add.work_group.ORDER %one, %F[%0] : i32
        %b = equal %old, %three : bool
        if %b { for %k = %0, %4 { %x = load %A[%k] : i32 } }
"""

FREE = {
    "own elements": "store %one, %A[%w]",
    "a barrier": "store %one, %A[%w] barrier.global %x = load %A[%next] : i32",
    "a barrier of local memory": "store %one, %S[%w] barrier.local %x = load %S[%next] : i32",
    "readers": "%x = load %A[0] : i32",
    "updates of a work-group": "%old = atomic_add.work_group %one, %A[%0] : i32",
    "updates of a subgroup in it": "if %is0 { %o = atomic_add.subgroup %one, %A[%0] : i32 } "
    "if %is1 { %o = atomic_add.subgroup %one, %A[%0] : i32 }",
    "hand-over": WRITER + READER,
    "hand-over, the reader first in the text": READER + WRITER,
    "a release sequence through an update by another": WRITER
    + "if %is1 { %o = atomic_add.device.relaxed %two, %F[%0] : i32 }"
    + READER.replace("%one", "%three"),
    "a release sequence through a store by the same": "if %is0 { store %one, %A[0] "
    "atomic_store.device.release %one, %F[%0] atomic_store.device.relaxed %two, %F[%0] }"
    + READER.replace("%one", "%two"),
    "a flag in local memory, sequentially consistent": OTHER_MEMORY.replace(
        "work_group.release", "work_group.sequentially_consistent"
    ).replace("work_group.acquire", "work_group.sequentially_consistent"),
    "one acquires for all behind a barrier": WRITER
    + "if %is3 { %v = atomic_load.device.acquire %F[%0] : i32 store %v, %S[0] }"
    + "barrier.global.local %v = load %S[0] : i32 "
    + IF_ONE,
    "the last one reads all": LAST.replace("ORDER", "acquire_release"),
    "buffers that change places": "for %k = %0, %3 { store %one, %S[%w] barrier.local "
    "%x = load %S[%next] : i32 barrier.local }",
    "components of one type": "%z = cast %first : index "
    "%m = cooperative_matrix_load %B[%z, %z] : coopmatrix<i32x2x2,matrix_acc> "
    "cooperative_matrix_store %m, %B[%z, %z]",
}
"""Programs of work-items without a race."""

RACES = {
    "no barrier": "store %one, %A[%w] %x = load %A[%next] : i32",
    "a barrier without a fence": "store %one, %A[%w] barrier %x = load %A[%next] : i32",
    "a barrier of the other memory": "store %one, %A[%w] barrier.local %x = load %A[%next] : i32",
    "lanes of a subgroup are not in step": "if %is0 { store %one, %A[0] } if %is1 { %x = load %A[0] : i32 }",
    "the same value": "store %one, %A[0]",
    "atomic and not": "if %is0 { store %one, %A[0] } if %is3 { %v = atomic_load.device %A[%0] : i32 }",
    "a scope that does not cover": "%old = atomic_add.subgroup %one, %A[%0] : i32",
    "no guard": WRITER + "if %is3 { %v = atomic_load.device.acquire %F[%0] : i32 %x = load %A[0] : i32 }",
    "no release": WRITER.replace("release", "relaxed") + READER,
    "no acquire": WRITER + READER.replace("acquire", "relaxed"),
    "no acquire, the reader first in the text": READER.replace("acquire", "relaxed") + WRITER,
    "a release that does not cover": WRITER.replace("device.release", "subgroup.release") + READER,
    "a release sequence ends with a store by another": WRITER
    + "if %is1 { atomic_store.device.relaxed %two, %F[%0] }"
    + READER.replace("%one", "%two"),
    "a flag in local memory": OTHER_MEMORY,
    "a flag in local memory, sequentially consistent on one side": OTHER_MEMORY.replace(
        "work_group.release", "work_group.sequentially_consistent"
    ),
    "one acquires for all without a fence": FREE["one acquires for all behind a barrier"].replace(
        ".global.local", ".local"
    ),
    "the last one without an acquire": LAST.replace("ORDER", "release"),
    "the last one without a release": LAST.replace("ORDER", "acquire"),
    "one buffer": FREE["buffers that change places"].replace("barrier.local }", "}"),
    "components of two types": "%z = cast %first : index "
    "%m = constant 1 : coopmatrix<i32x2x2,matrix_acc> cooperative_matrix_store %m, %B[%z, %z] "
    "%n = cooperative_matrix_load %B[%z, %z] : coopmatrix<i32x2x2,matrix_a>",
}
"""Programs of work-items with a race."""

LOADS = "%x = load %A[0] : i32"
ATOMICALLY = "%x = atomic_load.device %A[%0] : i32"
MIXED = {
    "two atomic ones before": ("is0 ATOMICALLY", "is1 ATOMICALLY", "is2 LOADS"),
    "one before, one behind": ("is0 ATOMICALLY", "is1 LOADS", "is2 ATOMICALLY"),
    "two behind": ("is0 LOADS", "is1 ATOMICALLY", "is2 ATOMICALLY"),
    "its own behind": ("is0 LOADS", "is0 ATOMICALLY"),
    "its own behind, and another": ("is0 LOADS", "is0 ATOMICALLY", "is1 ATOMICALLY"),
    "its own store behind": ("is0 store %one, %A[0]", "is0 atomic_store.device %one, %A[%0]"),
    "another load of whoever stores": ("is0 ATOMICALLY", "is1 LOADS", "is3 LOADS"),
    "a narrow scope between wide ones": (
        "is0 ATOMICALLY",
        "is1 %x = atomic_load.subgroup %A[%0] : i32",
        "is2 ATOMICALLY",
    ),
    "a narrow scope before its own wide one": (
        "is0 atomic_store.subgroup %one, %A[%0]",
        "is0 atomic_store.device %one, %A[%0]",
    ),
}
"""Accesses of which one races with an atomic store by the last work-item: the condition, and the instruction."""
for name, lines in MIXED.items():
    steps = [f"if %{line.replace(' ', ' { ', 1)} }}" for line in (*lines, "is3 atomic_store.device %one, %A[%0]")]
    RACES[name] = " ".join(steps).replace("ATOMICALLY", ATOMICALLY).replace("LOADS", LOADS)

COLLECTIVE = {
    "two points": (True, "foreach (%i) = (%0), (%2) { store %one, %A[0] }"),
    "points of two loops": (
        False,
        "foreach (%i) = (%0), (%2) { store %one, %A[%i] } foreach (%i) = (%0), (%1) { %x = load %A[1] : i32 }",
    ),
    "a store of the work-group": (False, "store %one, %A[0] %x = load %A[0] : i32"),
    "lanes at a tile": (True, "foreach_tile (%i) = (%0), (%2) as (%n) <= (2) { store %one, %A[%i] }"),
}
WORK_GROUPS = {
    "work-groups": (True, "store %one, %A[0]"),
    "elements of work-groups": (False, "store %one, %A[%g]"),
    "updates of a device": (False, "parallel { %o = atomic_add.device %one, %A[%0] : i32 }"),
    "updates of a work-group": (True, "parallel { %o = atomic_add.work_group %one, %A[%0] : i32 }"),
}


def function_of(text: str) -> Function:
    """The kernel of a program, with its blocks on lines of their own."""
    module, problems = analyze(Source(text.replace(" } ", "\n}\n")), None, LIMITS)
    assert errors(problems) == [], problems[0].render()
    return module.functions[0]


def arrays() -> dict[str, NDArray[Any]]:
    return {"A": np.zeros(8, np.int32), "F": np.zeros(2, np.int32), "B": np.zeros((4, 4), np.int32, order="F")}


def verdict(text: str, groups: int = 1) -> Verdict:
    """What the brute force says of a program."""
    return judge(function_of(text), (groups, 1, 1), arrays())


def both_say(text: str, groups: int = 1) -> tuple[bool, bool]:
    """Whether the brute force finds a race, and whether the interpreter does."""
    function = function_of(text)
    codes = set()
    try:
        launch(function, (groups, 1, 1), list(arrays().values()), limits=LIMITS)
    except KernelError as error:
        codes = {finding.code for finding in error.findings}
    return bool(verdict(text, groups).races), "run.race" in codes


def test_work_items() -> None:
    with every_case() as case:
        for races, programs in ((False, FREE), (True, RACES)):
            for name, body in programs.items():
                with case(name):
                    assert both_say(HEAD + ITEMS + body + "\n}\n}\n") == (races, races)


def test_the_work_group() -> None:
    with every_case() as case:
        for groups, programs in ((1, COLLECTIVE), (2, WORK_GROUPS)):
            for name, (races, body) in programs.items():
                with case(name):
                    assert both_say(HEAD + body + "\n}\n", groups) == (races, races)


def test_a_race_that_only_some_orders_show() -> None:
    found = verdict(HEAD + ITEMS + RACES["no acquire, the reader first in the text"] + "\n}\n}\n")
    assert found.races
    assert not found.at_once
    assert verdict(HEAD + ITEMS + RACES["no acquire"] + "\n}\n}\n").at_once
