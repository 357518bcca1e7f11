"""Which values differ between the work-items that execute an instruction together."""

from __future__ import annotations

import pytest

import girih
from girih.analysis.uniformity import constants_of, flat_modes, varying_values
from girih.ops.tile.control import Foreach

LANES = 16


def varying(body: str, parameters: str = "%A: memref<f32x?>, %n: index, %x: f32") -> set[str]:
    """The names of the values of a program that differ."""
    function = girih.parse(f"func @f({parameters}) {{\n{body}\n}}").functions[0]
    return {value.name for value in varying_values(function, constants_of(function), LANES)}


SPMD = "parallel {{ {} }}"
LANE = "%lane = subgroup_local_id : i32\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%y = add %x, %x : f32", set()),
        (LANE, {"lane"}),
        ("%g = group_id.x : index", set()),
        (LANE + "%i = cast %lane : index  %s = add %i, %n : index", {"lane", "i", "s"}),
        (LANE + "%s = subgroup_reduce_add %lane : i32", {"lane"}),
        (LANE + "%s = subgroup_inclusive_scan_add %lane : i32", {"lane", "s"}),
        (LANE + "%b = subgroup_broadcast %lane, %lane : i32", {"lane"}),
        ("%zero = constant 0 : index  %y = load %A[%zero] : f32", set()),
        (LANE + "%i = cast %lane : index  %y = load %A[%i] : f32", {"lane", "i", "y"}),
        ("%zero = constant 0 : index  %old = atomic_add %x, %A[%zero] : f32", {"old"}),
    ],
)
def test_values_of_an_spmd_region(body: str, expected: set[str]) -> None:
    assert varying(SPMD.format(body)) == expected


def test_what_a_branch_gives_varies_with_its_condition_and_with_what_it_yields() -> None:
    uniform = "%c = less_than %n, %n : bool  %r = if %c -> (f32) { yield (%x) } else { yield (%x) }"
    assert varying("parallel { " + uniform + " }") == set()
    by_lane = LANE + "%c = less_than %lane, %lane : bool  %r = if %c -> (f32) { yield (%x) } else { yield (%x) }"
    assert varying("parallel { " + by_lane + " }") == {"lane", "c", "r"}
    inside = LANE + "%c = less_than %n, %n : bool  %r = if %c -> (i32) { yield (%lane) } else { yield (%lane) }"
    assert varying("parallel { " + inside + " }") == {"lane", "r"}


def test_what_a_loop_carries_varies_once_any_round_makes_it_vary() -> None:
    body = (
        LANE
        + """
        %zero = constant 0 : index
        %r = for %i=%zero,%n init(%a=%n) -> (index) {
            %l = cast %lane : index
            %b = add %a, %l : index
            yield (%b)
        }"""
    )
    assert varying("parallel {" + body + "}") == {"lane", "l", "a", "b", "r"}


def test_the_points_of_foreach_vary_in_the_modes_that_are_dealt_out() -> None:
    text = """
    func @f(%A: memref<f32x?x?>, %m: index, %n: index) {
        %zero = constant 0 : index  %four = constant 4 : index  %eight = constant 8 : index
        foreach (%i,%j)=(%zero,%zero),(%m,%n) { %x = load %A[%i,%j] : f32 }
        foreach (%k,%l)=(%zero,%zero),(%four,%eight) { %y = load %A[%k,%l] : f32 }
    }"""
    function = girih.parse(text).functions[0]
    constants = constants_of(function)
    names = {value.name for value in varying_values(function, constants, LANES)}
    assert names == {"i", "x", "k", "l", "y"}
    first, second = (op for op in function.walk() if isinstance(op, Foreach))
    assert flat_modes(first, constants, LANES) == ()
    assert flat_modes(second, constants, LANES) == (4, 8)
    assert flat_modes(second, constants, 4) == ()
