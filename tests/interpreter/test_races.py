"""What a finding of a race says, and what the search for races does at its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import girih
from girih.diagnostics import Finding
from girih.interpreter import launch as launching
from girih.interpreter import run as running
from girih.interpreter.races.shadow import Shadow
from girih.interpreter.races.stamps import StampLayout

ATTRIBUTES = "attributes {subgroup_size=8, work_group_size=[16, 1]}"
NUMBER = """
    %g = subgroup_id.x : i32
    %8 = constant 8 : i32
    %l = subgroup_local_id : i32
    %before = mul %g, %8 : i32
    %number = add %before, %l : i32
    %i = cast %number : index
"""


def found(text: str, *arguments: object, grid: int = 1, name: str = "f") -> tuple[Finding, ...]:
    """The findings of a launch in the interpreter; none where it ends well."""
    try:
        girih.loads(text, target="interpreter")[name][grid](*arguments)
    except girih.KernelError as error:
        return error.findings
    return ()


def the_race(text: str, *arguments: object, grid: int = 1) -> Finding:
    """The only finding of a launch, a race."""
    (finding,) = found(text, *arguments, grid=grid)
    assert finding.code == "run.race"
    assert finding.other is not None
    return finding


def test_both_accesses_are_told() -> None:
    text = f"""func @f(%A: memref<f32x16>) {ATTRIBUTES} {{
    %s = alloca : memref<f32x4x4,local>
    parallel {{
        {NUMBER}
        %4 = constant 4 : index
        %row = rem %i, %4 : index
        %column = div %i, %4 : index
        %x = load %A[%i] : f32
        store %x, %s[%row, %column]
        %y = load %s[%column, %row] : f32
        store %y, %A[%i]
    }}
}}"""
    race = the_race(text, np.zeros(16, np.float32))
    line = text.splitlines()
    assert (line[race.span.line - 1].strip(), race.kind) == ("%y = load %s[%column, %row] : f32", "read")
    assert (race.argument, race.index, race.shape) == ("s", (0, 1), (4, 4))
    assert (race.work_group, race.subgroup, race.lane) == ((0, 0, 0), 0, 1)
    other = race.other
    assert other is not None
    assert (line[other.span.line - 1].strip(), other.kind) == ("store %x, %s[%row, %column]", "write")
    assert (other.argument, other.index, other.work_group) == ("s", (0, 1), (0, 0, 0))
    assert (other.subgroup, other.lane, other.point, other.component) == (0, 4, None, None)
    assert race.count == 12
    assert race.hint == "a `barrier.local` between them orders them"
    json = race.to_json()
    assert isinstance(json["other"], dict)
    assert json["other"]["lane"] == 4
    assert "the other: write of %s at index (0, 1), work-group (0, 0, 0), subgroup 0, lane 4" in str(race)


def test_points_are_told() -> None:
    text = """func @f(%A: memref<i32x8x8>) {
    %2 = constant 2 : index
    %7 = constant 7 : index
    %0 = constant 0 : index
    %8 = constant 8 : index
    foreach (%i, %j) = (%2, %0), (%7, %8) {
        %x = cast %j : i32
        %sum = add %i, %j : index
        %next = rem %sum, %8 : index
        store %x, %A[%next, %0]
    }
}"""
    race = the_race(text, np.zeros((8, 8), np.int32, order="F"))
    assert race.other is not None
    assert race.point is not None
    assert race.other.point is not None
    assert race.index is not None
    (i, j), (k, m) = race.point, race.other.point
    assert (i, j) != (k, m)
    assert race.index[0] == (i + j) % 8 == (k + m) % 8


def test_components_are_told() -> None:
    text = """func @f(%A: memref<f32x4>) attributes {subgroup_size=8, work_group_size=[8, 1]} {
    parallel {
        %m = constant 1.0 : coopmatrix<f32x8x2,matrix_acc>
        %n = cooperative_matrix_apply (%i, %j, %x) = %m -> coopmatrix<f32x8x2,matrix_acc> {
            %place = cast %j : index
            store %x, %A[%place]
            yield (%x)
        }
    }
}"""
    race = the_race(text, np.zeros(4, np.float32))
    assert race.other is not None
    assert race.component is not None
    assert race.other.component is not None
    assert race.component[1] == race.other.component[1]
    assert race.component[0] != race.other.component[0]
    assert "which writes the same value" in race.message


def test_components_that_instructions_move_are_told() -> None:
    text = """func @f(%A: memref<f32x8x2>) attributes {subgroup_size=8, work_group_size=[8, 1]} {
    parallel {
        %2 = constant 2 : index
        %0 = constant 0 : index
        %m = constant 1.0 : coopmatrix<f32x4x2,matrix_accSCOPE>
        cooperative_matrix_store %m, %A[%2, %0]
        %x = OTHER
    }
}"""
    matrix = "cooperative_matrix_load %A[%0, %0] : coopmatrix<f32x4x2,matrix_accSCOPE>"
    A = np.zeros((8, 2), np.float32, order="F")
    for scope, subgroup in (("", 0), (",work_group", None)):
        race = the_race(text.replace("OTHER", matrix).replace("SCOPE", scope), A)
        other = race.other
        assert other is not None
        assert (race.index, race.component, other.component) == ((2, 0), (2, 0), (0, 0))
        assert (race.subgroup, race.lane, other.subgroup, other.lane) == (subgroup, None, subgroup, None)
        assert "component (2, 0)\n" in str(race)
        assert "component (0, 0)\n" in str(race)
        assert other.to_json()["component"] == (0, 0)
        item = the_race(text.replace("OTHER", "load %A[%2, %0] : f32").replace("SCOPE", scope), A)
        assert item.other is not None
        assert (item.component, item.lane) == (None, 0)
        assert (item.other.component, item.other.lane) == ((0, 0), None)


@pytest.mark.parametrize(("value", "same"), [("%one", True), ("%number", False)])
def test_that_both_write_the_same_is_said(value: str, same: bool) -> None:
    text = f"""func @f(%A: memref<i32x1>) {ATTRIBUTES} {{
    parallel {{
        {NUMBER}
        %one = constant 1 : i32
        store {value}, %A[0]
    }}
}}"""
    assert ("which writes the same value" in the_race(text, np.zeros(1, np.int32)).message) == same


def test_one_finding_for_each_pair_of_places() -> None:
    text = f"""func @f(%A: memref<i32x16>) {ATTRIBUTES} {{
    parallel {{
        {NUMBER}
        store %number, %A[%i]
        %15 = constant 15 : index
        %j = sub %15, %i : index
        %0 = constant 0 : i32
        %2 = constant 2 : i32
        for %k = %0, %2 {{
            %x = load %A[%j] : i32
            %y = load %A[%j] : i32
        }}
    }}
}}"""
    findings = found(text, np.zeros(16, np.int32))
    assert [f.count for f in findings] == [32, 32]


def test_arguments_that_share_memory() -> None:
    text = f"""func @f(%A: memref<i32x16>, %B: memref<i32x16>) {ATTRIBUTES} {{
    parallel {{
        {NUMBER}
        store %number, %A[%i]
        store %number, %B[%i]
    }}
}}"""
    memory = np.zeros(20, np.int32)
    race = the_race(text, memory[:16], memory[4:])
    assert race.other is not None
    assert (race.argument, race.index, race.other.argument, race.other.index) == ("B", (0,), "A", (4,))
    assert not found(text, memory[:16], np.zeros(16, np.int32))


def test_elements_of_several_types_share_bytes() -> None:
    text = """func @f(%A: memref<i8x64>, %B: memref<f32x8x2>) attributes {subgroup_size=8, work_group_size=[8, 1]} {
    parallel {
        %0 = constant 0 : index
        %l = subgroup_local_id : i32
        %i = cast %l : index
        %t = tensor_layout_create : tensor_layout<2,undefined>
        %8 = constant 8 : index
        %2 = constant 2 : index
        %u = tensor_layout_set_dimension %t[%8, %2] : tensor_layout<2,undefined>
        %none = constant 0.0 : coopmatrix<f32x8x2,matrix_acc>
        %offset = constant OFFSET : index
        cooperative_matrix_store_tensor %none, %A[%0], %u
        %at = add %i, %offset : index
        %x = load %A[%at] : i8
    }
}"""
    assert the_race(text.replace("OFFSET", "0"), np.zeros(64, np.int8), np.zeros((8, 2), np.float32, order="F")).count


def test_ticks_are_renumbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "TICK_BITS", 3)
    text = f"""func @f(%A: memref<i32x16>, %n: index) {ATTRIBUTES} {{
    %s = alloca : memref<i32x16,local>
    %0 = constant 0 : index
    parallel {{
        {NUMBER}
        %15 = constant 15 : index
        %j = sub %15, %i : index
        store %number, %s[%i]
        for %k = %0, %n {{
            BARRIER
            %x = load %s[%j] : i32
            barrier.local
            store %x, %s[%i]
        }}
        store %number, %A[%i]
    }}
}}"""
    A = np.zeros(16, np.int32)
    assert not found(text.replace("BARRIER", "barrier.local"), A, 100)
    races = found(text.replace("BARRIER", "barrier"), A, 100)
    assert {(f.kind, f.other.kind if f.other else None) for f in races} == {("read", "write")}
    points = f"""func @f(%A: memref<i32x1>, %n: index) {ATTRIBUTES} {{
    %0 = constant 0 : index
    %2 = constant 2 : index
    %4 = constant 4 : index
    %38 = constant 38 : index
    for %k = %0, %n {{
        %begin = min %k, %4 : index
        %end = add %begin, %2 : index
        foreach (%i) = (%begin), (%end) {{
            %last = equal %k, %38 : bool
            if %last {{
                %one = constant 1 : i32
                store %one, %A[0]
            }}
        }}
    }}
}}"""
    race = the_race(points, np.zeros(1, np.int32), 40)
    assert race.other is not None
    assert {race.point, race.other.point} == {(4,), (5,)}


def test_stamps_take_apart_what_they_were_made_of() -> None:
    for groups, places in ((1, 1), (2, 3), (4097, 1000), (2**31, 7)):
        layout = StampLayout.of(groups, places)
        who = layout.who(np.array([groups - 1]), np.array([layout.items - 1 if layout.items < 2**40 else 2**40]))
        stamp = who | layout.when(layout.last_tick, places)
        assert layout.groups(stamp).tolist() == [groups - 1]
        assert layout.ticks(stamp).tolist() == [layout.last_tick]
        assert layout.places(stamp).tolist() == [places]


def test_a_shadow_takes_at_most_sixteen_bytes_for_a_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    shadows: list[Shadow] = []
    init = Shadow.__init__

    def remembered(self: Shadow, *arguments: Any, **named: Any) -> None:
        init(self, *arguments, **named)
        shadows.append(self)

    monkeypatch.setattr(Shadow, "__init__", remembered)
    text = f"""func @f(%A: memref<f16x4096>) {ATTRIBUTES} {{
    parallel {{
        {NUMBER}
        %x = load %A[%i] : f16
        %y = load %A[0] : f16
        barrier.global
        store %x, %A[%i]
    }}
}}"""
    A = np.zeros(4096, np.float16)
    assert not found(text, A)
    (shadow,) = shadows
    assert shadow.bytes <= 16 * A.nbytes


NUMBERS = """    %0 = constant 0 : index
    %16 = constant 16 : index
    %1 = constant 1 : i32
"""


@pytest.mark.parametrize(
    ("body", "grid", "who", "hint"),
    [
        (
            "foreach (%i) = (%0), (%16) { %x = atomic_add %1, %A[%0] : i32 %y = load %A[0] : i32 }",
            1,
            "`load` of %A races with `atomic_add` at another point",
            "`load` is not atomic: use `atomic_load`; nothing orders the points of a loop; "
            "end the loop and begin another between them",
        ),
        (
            "foreach_tile (%i) = (%0), (%16) as (%c) <= (16) { %x = load %A[0] : i32 store %x, %A[0] }",
            1,
            "`store` of %A races with `load` of another work-item",
            "let each work-item write elements of its own; to add to it, use `atomic_add`; to write it once, do it "
            "behind the loop",
        ),
        (
            "foreach_tile (%i) = (%0), (%16) as (%c) <= (8) { %x = cast %i : i32 store %x, %A[0] }",
            1,
            "`store` of %A races with the same `store` at another tile",
            "let each tile write elements of its own; to add to it, use `atomic_add`; to write it once, do it behind "
            "the loop",
        ),
        (
            "axpby %1, %B, %1, %A parallel { %x = atomic_add.device %1, %A[%0] : i32 }",
            2,
            "`atomic_add` of %A races with `axpby` of another work-group",
            "`axpby` is not atomic: use `axpby.atomic`, or order the two by a release and an acquire of scope "
            "`.device`",
        ),
        (
            "axpby %1, %A, %1, %B",
            2,
            "`axpby` of %B races with the same `axpby` of another work-group, which writes the same value",
            "let each work-group write elements of its own, or write `axpby.atomic`",
        ),
        (
            "parallel { %x = atomic_add.subgroup %1, %A[%0] : i32 %y = atomic_max %1, %A[%0] : i32 }",
            2,
            "`atomic_max` of %A races with `atomic_add` of another work-group",
            "`atomic_max.work_group` is atomic within a work-group only, `atomic_add.subgroup` is atomic within a "
            "subgroup only; write `.device`",
        ),
    ],
)
def test_what_the_hint_says(body: str, grid: int, who: str, hint: str) -> None:
    text = f"func @f(%A: memref<i32x16>, %B: memref<i32x16>) {ATTRIBUTES} {{\n{NUMBERS}\n{body}\n}}"
    text = (
        text.replace(" { ", " {\n").replace(" }", "\n}").replace(" store", "\nstore").replace(" parallel", "\nparallel")
    )
    for name in ("%x", "%y"):
        text = text.replace(f" {name} =", f"\n{name} =")
    races = found(text, np.zeros(16, np.int32), np.zeros(16, np.int32), grid=grid)
    assert (who, hint) in {(race.message.partition(":")[0], race.hint) for race in races}


def test_a_launch_whose_shadow_is_larger_than_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "memory_left", lambda: 2**20)
    text = """func @f(%A: memref<f32x?>) {
    %0 = constant 0 : index
    %n = size %A[0] : index
    foreach (%i) = (%0), (%n) {
        %x = constant 1.0 : f32
        store %x, %A[%i]
    }
}"""
    A = np.zeros(2**18, np.float32)
    kernel = girih.loads(text, target="interpreter")["f"]
    with pytest.raises(girih.LaunchError, match=r"needs 2.0 MiB beside the arrays; 1.0 MiB are left") as caught:
        kernel(A)
    assert caught.value.diagnostics[0].code == "bind.memory"
    assert "options(races=False)" in (caught.value.diagnostics[0].hint or "")
    assert not A.any()
    kernel.options(races=False)(A)
    assert A.all()


def test_an_interrupt_says_what_was_found() -> None:
    text = """func @f(%A: memref<i32x1>) attributes {subgroup_size=8, work_group_size=[8, 1]} {
    parallel {
        %l = subgroup_local_id : i32
        store %l, %A[0]
    }
}"""

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    kernel = girih.loads(text, target="interpreter")["f"].options(progress=stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        kernel[2](np.zeros(1, np.int32))
    assert "found until then:\n\nfinding[run.race]" in caught.value.__notes__[0]


HAND_OVER = """func @f(%A: memref<i32x2>, %F: memref<i32x1>, %first: index)
        attributes {subgroup_size=8, work_group_size=[8, 1]} {
    %group = group_id.x : index
    %0 = constant 0 : index
    parallel {
        %lane = subgroup_local_id : i32
        %none = constant 0 : i32
        %one = constant 1 : i32
        %leads = equal %lane, %none : bool
        if %leads {
            %reads = equal %group, %first : bool
            if %reads {
                %flag = atomic_load.device.acquire %F[%0] : i32
                %there = equal %flag, %one : bool
                if %there {
                    %x = load %A[INDEX] : i32
                }
            } else {
                store %one, %A[0]
                atomic_store.device.release %one, %F[%0]
                store %one, %A[1]
            }
        }
    }
}"""


@pytest.mark.parametrize("first", [0, 1])
def test_what_only_another_order_shows(first: int) -> None:
    def arguments() -> tuple[object, ...]:
        return np.zeros(2, np.int32), np.zeros(1, np.int32), first

    assert not found(HAND_OVER.replace("INDEX", "0"), *arguments(), grid=2)
    race = the_race(HAND_OVER.replace("INDEX", "1"), *arguments(), grid=2)
    assert race.index == (1,)


def test_a_kernel_that_does_not_look_for_races() -> None:
    text = """func @f(%A: memref<i32x1>) attributes {subgroup_size=8, work_group_size=[8, 1]} {
    parallel {
        %l = subgroup_local_id : i32
        store %l, %A[0]
    }
}"""
    A = np.zeros(1, np.int32)
    kernel = girih.loads(text, target="interpreter")["f"]
    kernel.options(races=False)(A)
    with pytest.raises(TypeError, match="races is True or False; got 1"):
        kernel.options(races=1)


@pytest.mark.parametrize("place", [3, 12])
def test_a_narrow_load_of_what_both_subgroups_stored(place: int) -> None:
    text = f"""func @f(%F: memref<i32x1>) {ATTRIBUTES} {{
    %s = alloca : memref<i32x16,local>
    %0 = constant 0 : index
    %16 = constant 16 : index
    foreach (%k) = (%0), (%16) {{
        %none = constant 0 : i32
        store %none, %s[%k]
    }}
    parallel {{
        {NUMBER}
        %place = constant {place} : index
        atomic_store.work_group %number, %s[%place]
        atomic_store.work_group %number, %s[%i]
        %x = atomic_load.subgroup %s[%i] : i32
    }}
}}"""
    race = the_race(text, np.zeros(1, np.int32))
    assert race.index == (place,)
    assert race.other is not None
    assert race.other.subgroup == 1 - place // 8
