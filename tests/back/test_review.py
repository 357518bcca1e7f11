"""Programs that once went wrong: indices and loops at the end of all numbers, numbers of single work-items."""

from __future__ import annotations

import os

import numpy as np
import pytest

import girih
from tests.back.harness import Failed, compare, run

ATTRIBUTES = "attributes {subgroup_size=16, work_group_size=[16, 1]}"


def outcome(text: str, target: str, *arguments: object) -> set[str]:
    """The codes that a launch of one work-group ends with."""
    try:
        girih.loads(text, target=target)["f"](*arguments)
    except girih.KernelError as error:
        return {f.code for f in error.findings}
    return set()


def test_lanes_between_two_good_ones_are_checked() -> None:
    text = f"""
    func @f(%A: memref<f32x?>) {ATTRIBUTES} {{
      parallel {{
        %x = constant 1.0 : f32
        %l = subgroup_local_id : i32
        %i = cast %l : index
        %c = constant -1229782938247303441 : index
        %j = mul %i, %c : index
        store %x, %A[%j]
      }}
    }}
    """
    with pytest.raises(Failed) as raised:
        run(text, (1, 1, 1), np.zeros(64, np.float32))
    assert raised.value.code == "run.out_of_bounds"


@pytest.mark.parametrize(
    ("type", "start", "stop", "step"),
    [
        ("index", "0", 2**63 - 1, 2**62),
        ("index", str(2**63 - 108), 2**63 - 1, 5),
        ("i64", "0", 2**63 - 1, 2**60),
        ("i32", "0", 2**31 - 1, 2**30),
        ("i8", "100", 127, 3),
        ("index", "-7", 90, 11),
    ],
)
def test_lanes_end_their_loops(type: str, start: str, stop: int, step: int) -> None:
    text = f"""
    func @f(%stop: {type}, %step: {type}, %A: memref<i32x16>) {ATTRIBUTES} {{
      parallel {{
        %l = subgroup_local_id : i32
        %i = cast %l : index
        %t = cast %l : {type if type != "i32" else "i64"}
        %lane = cast %l : {type}
        %first = constant {start} : {type}
        %begin = add %lane, %first : {type}
        %none = constant 0 : i32
        %one = constant 1 : i32
        %count = for %k = %begin, %stop, %step init (%c = %none) -> (i32) {{
          %d = add %c, %one : i32
          yield (%d)
        }}
        store %count, %A[%i]
      }}
    }}
    """
    compare(text, (1, 1, 1), stop, step, np.zeros(16, np.int32))


def test_a_first_trip_that_wraps_around() -> None:
    text = f"""
    func @f(%A: memref<i64x16>) {ATTRIBUTES} {{
      parallel {{
        %l = subgroup_local_id : i32
        %i = cast %l : index
        %c = constant 268435456 : i32
        %j = mul %l, %c : i32
        %stop = constant -2000000000 : i32
        %step = constant 100000000 : i32
        %z = constant 0 : i64
        %one = constant 1 : i64
        %r = for %k = %j, %stop, %step init (%s = %z) -> (i64) {{
          %t = add %s, %one : i64
          yield (%t)
        }}
        store %r, %A[%i]
      }}
    }}
    """
    compare(text, (1, 1, 1), np.zeros(16, np.int64))


@pytest.mark.parametrize("subgroups", [1, 2])
@pytest.mark.parametrize("added", [0, 1])
def test_a_factor_of_single_work_items(subgroups: int, added: int) -> None:
    text = f"""
    func @f(%n: memref<i32>, %A: memref<i32x8>, %B: memref<i32x8>)
        attributes {{subgroup_size=16, work_group_size=[{16 * subgroups}, 1]}} {{
      %some = constant {added} : i32
      %one = constant 1 : i32
      %old = atomic_add %some, %n[] : i32
      axpby %old, %A, %one, %B
    }}
    """
    results = []
    for target in ("interpreter", "cpu"):
        n, a, b = np.array(3, np.int32), np.arange(8, dtype=np.int32), np.ones(8, np.int32)
        results.append((outcome(text, target, n, a, b), b))
    assert results[0][0] == results[1][0] == ({"run.not_uniform"} if added else set())
    if not added:
        np.testing.assert_array_equal(results[0][1], results[1][1])


ITEM = "%i = constant 2 : index\n%x = load %v[%i] : f32\natomic_store %x, %B[%i]"


@pytest.mark.parametrize("use", ["collective", "parallel", "barrier", "foreach"])
@pytest.mark.parametrize("subgroups", [1, 2])
def test_a_view_of_single_work_items(subgroups: int, use: str) -> None:
    used = {
        "collective": "axpby %unit, %v, %unit, %B",
        "parallel": f"parallel {{\n{ITEM}\n}}",
        "barrier": f"parallel {{\nbarrier.global\n{ITEM}\n}}",
        "foreach": "foreach (%i) = (%zero), (%eight) {\n%x = load %v[%i] : f32\nstore %x, %B[%i]\n}",
    }[use]
    text = f"""
    func @f(%n: memref<i32>, %A: memref<f32x64>, %B: memref<f32x8>)
        attributes {{subgroup_size=16, work_group_size=[{16 * subgroups}, 1]}} {{
      %zero = constant 0 : index
      %eight = constant 8 : index
      %unit = constant 1.0 : f32
      %none = constant 0 : i32
      %old = atomic_add %none, %n[] : i32
      %o = cast %old : index
      %v = subview %A[%o:8] : memref<f32x8>
      {used}
    }}
    """
    results = []
    for target in ("interpreter", "cpu"):
        n, a, b = np.array(5, np.int32), np.arange(64, dtype=np.float32), np.ones(8, np.float32)
        results.append((outcome(text, target, n, a, b), b))
    assert results[0][0] == results[1][0] == set()
    np.testing.assert_array_equal(results[0][1], results[1][1])


PLAIN = "func @f(%A: memref<i32x2>) {\n%one = constant 1 : i32\n%i = constant 1 : index\nstore %one, %A[%i]\n}"


@pytest.mark.parametrize(
    ("text", "filename"),
    [
        (PLAIN.replace("store", " " * 70_000 + "store"), None),
        ("; \ud800\n" + PLAIN, None),
        (PLAIN, os.fsdecode(b"odd\xff.tl")),
        (PLAIN, 'a\0b"c\\d\n.tl'),
    ],
)
def test_odd_texts_and_names_compile(text: str, filename: str | None) -> None:
    a = np.zeros(2, np.int32)
    girih.loads(text, target="cpu", filename=filename)["f"](a)
    assert a.tolist() == [0, 1]


@pytest.mark.parametrize("operator", ["add", "max", "min"])
@pytest.mark.parametrize("shape", ["inclusive_scan", "exclusive_scan", "reduce"])
def test_scans_of_numbers_that_are_none(shape: str, operator: str) -> None:
    text = f"""
    func @f(%A: memref<f32x16>, %B: memref<f32x16>) {ATTRIBUTES} {{
      parallel {{
        %l = subgroup_local_id : i32
        %i = cast %l : index
        %x = load %A[%i] : f32
        %y = subgroup_{shape}_{operator} %x : f32
        store %y, %B[%i]
      }}
    }}
    """
    nan, inf = np.nan, np.inf
    for held in ([nan] * 16, [-0.0] * 16, [nan, 1, -inf, 2] * 4, [1, nan] * 8, [-inf, nan] * 8):
        a = np.array(held, np.float32)
        results = []
        for target in ("interpreter", "cpu"):
            b = np.zeros(16, np.float32)
            girih.loads(text, target=target)["f"](a, b)
            results.append(b)
        np.testing.assert_array_equal(results[0], results[1])


_UNUSED = f"""
func @f(%A: memref<f64x?x?>, %n: i32) {ATTRIBUTES} {{
  parallel {{
    %m = cooperative_matrix_construct %n : coopmatrix<i32x128x2,matrix_acc>
    %one = constant 1 : coopmatrix<i32x128x2,matrix_acc>
    %p = cooperative_matrix_apply (%i,%j,%x)=%m -> coopmatrix<i32x128x2,matrix_acc> {{
      %c = constant 2 : index
      %y = load %A[%c,%c] : f64
      %z = add %x, %i : i32
      yield (%z)
    }}
    %q = add %p, %p : coopmatrix<i32x128x2,matrix_acc>
    %r = div %one, %q : coopmatrix<i32x128x2,matrix_acc>
  }}
}}
"""


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_what_nobody_asks_for_is_checked_too(target: str) -> None:
    with pytest.raises(girih.KernelError) as caught:
        girih.loads(_UNUSED, target=target)["f"](np.zeros((2, 2), order="F"), 0)
    assert "run.out_of_bounds" in {finding.code for finding in caught.value.findings}


_SAME_COLUMNS = f"""
func @f(%A: memref<i64x128x3>) {ATTRIBUTES} {{
  parallel {{
    %zero = constant 0 : index
    %a = constant -2 : coopmatrix<i32x128x1,matrix_a>
    %b = constant 3 : coopmatrix<i8x1x3,matrix_b>
    %c = constant 4 : coopmatrix<i64x128x3,matrix_acc>
    %d = cooperative_matrix_mul_add %a, %b, %c : coopmatrix<i64x128x3,matrix_acc>
    %e = constant 1 : coopmatrix<i8x128x3,matrix_a>
    %f = constant -2 : coopmatrix<i32x3x3,matrix_b>
    %g = cooperative_matrix_mul_add %e, %f, %d : coopmatrix<i64x128x3,matrix_acc>
    cooperative_matrix_store %g, %A[%zero,%zero]
  }}
}}
"""


def test_a_sum_of_equal_columns_in_a_loop_over_rows() -> None:
    a = np.zeros((128, 3), np.int64, order="F")
    girih.loads(_SAME_COLUMNS, target="cpu")["f"](a)
    assert (a == -8).all()


_TWICE = f"""
func @f(%A: memref<i64x3x17>, %B: memref<i64x3x16>, %one: i64) {ATTRIBUTES} {{
  %two = constant 2 : i64
  %zero = constant 0 : index
  %next = constant 1 : index
  parallel {{
    %a = constant -2 : coopmatrix<i64x3x16,matrix_b>
    %b = cooperative_matrix_insert %one, %a[0] : coopmatrix<i64x3x16,matrix_b>
    %c = cooperative_matrix_apply (%i,%j,%x,%y)=%b,%a -> coopmatrix<i64x3x16,matrix_b> {{
      %half = constant 0.5 : f32
      %p = log %half : f32
      %q = log %p : f32
      %r = log %q : f32
      %s = log %r : f32
      yield (%two)
    }}
    cooperative_matrix_store %b, %A[%zero,%next]
    cooperative_matrix_store %c, %B[%zero,%zero]
  }}
}}
"""


def test_a_matrix_that_is_read_again_is_not_overwritten_by_long_steps() -> None:
    results = []
    for target in ("interpreter", "cpu"):
        a, b = np.zeros((3, 17), np.int64, order="F"), np.zeros((3, 16), np.int64, order="F")
        girih.loads(_TWICE, target=target)["f"](a, b, 1)
        assert (b == 2).all()
        results.append(a)
    np.testing.assert_array_equal(results[0], results[1])
