"""Work-items as lanes: remainders, divergence, loops at the ends of their types, views that differ between lanes."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from tests.back.harness import Failed, compare, compiled, run
from tests.cases import crossed
from tests.kernels.arrays import DTYPES

NARROWED = """
func @f(%A: memref<i32x{n}>, %B: memref<i8x{n}>) attributes {{subgroup_size={lanes}, work_group_size=[{items}, 1]}} {{
  parallel {{
    barrier.global
  }}
  %zero = constant 0 : index
  %n = constant {n} : index
  foreach (%i) = (%zero), (%n) {{
    %x = load %A[%i] : i32
    %y = cast %x : i8
    store %y, %B[%i]
  }}
}}
"""


WORK_GROUPS = [(8, 1), (16, 2), (32, 1), (8, 2), (16, 1), (32, 2)]
"""Lanes and subgroups."""


@pytest.mark.parametrize(("n", "work_group"), crossed([1, 9, 17, 31, 32, 33, 65], WORK_GROUPS))
def test_a_remainder_of_narrow_numbers_stays_in_its_array(n: int, work_group: tuple[int, int]) -> None:
    lanes, subgroups = work_group
    a = np.arange(n, dtype=np.int32) + 0x01010101
    room = np.full(n + 64, 9, np.int8)
    run(NARROWED.format(n=n, lanes=lanes, items=lanes * subgroups), (1, 1, 1), a, room[:n])
    np.testing.assert_array_equal(room[:n], np.arange(1, n + 1))
    np.testing.assert_array_equal(room[n:], 9)


LOOP = """
func @f(%start: i8, %stop: i8, %step: i8, %A: memref<i32>) {
  %zero = constant 0 : i32
  %one = constant 1 : i32
  %count = for %i = %start, %stop, %step init (%c = %zero) -> (i32) {
    %wide = cast %i : i32
    %sum = add %c, %wide : i32
    %next = add %sum, %one : i32
    yield (%next)
  }
  store %count, %A[]
}
"""


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(-128, 127, 1), (0, 127, 100), (100, 127, 27), (5, 5, 1), (7, 3, 2), (-128, 127, 127)]
)
def test_a_loop_ends_at_the_end_of_its_type(start: int, stop: int, step: int) -> None:
    compare(LOOP, (1, 1, 1), start, stop, step, np.zeros((), np.int32))


DIVERGENT = """
func @f(%A: memref<i32x?>, %B: memref<i32x?>) {
  %zero = constant 0 : index
  %n = size %A[0] : index
  foreach (%i) = (%zero), (%n) {
    %start = load %A[%i] : i32
    %one = constant 1 : i32
    %two = constant 2 : i32
    %three = constant 3 : i32
    %none = constant 0 : i32
    %limit = constant 60 : i32
    %steps, %x = for %k = %none, %limit init (%count = %none, %value = %start) -> (i32, i32) {
      %more = greater_than %value, %one : bool
      %now, %next = if %more -> (i32, i32) {
        %rest = rem %value, %two : i32
        %odd = equal %rest, %one : bool
        %following = if %odd -> (i32) {
          %tripled = mul %value, %three : i32
          %up = add %tripled, %one : i32
          yield (%up)
        } else {
          %half = div %value, %two : i32
          yield (%half)
        }
        %counted = add %count, %one : i32
        yield (%counted, %following)
      } else {
        yield (%count, %value)
      }
      yield (%now, %next)
    }
    store %steps, %B[%i]
  }
}
"""


def test_work_items_go_their_own_ways() -> None:
    a = np.arange(1, 78, dtype=np.int32)
    compare(DIVERGENT, (1, 1, 1), a, np.zeros_like(a))


def test_lanes_see_parts_of_their_own() -> None:
    text = """
    func @f(%A: memref<f32x?x?>, %B: memref<f32x?>) {
      %zero = constant 0 : index
      %columns = size %A[1] : index
      foreach (%j) = (%zero), (%columns) {
        %n = size %A[0] : index
        %column = subview %A[0:%n, %j] : memref<f32x?>
        %none = constant 0.0 : f32
        %sum = for %i = %zero, %n init (%s = %none) -> (f32) {
          %x = load %column[%i] : f32
          %t = add %s, %x : f32
          yield (%t)
        }
        store %sum, %B[%j]
      }
    }
    """
    a = np.asfortranarray(np.random.default_rng(0).standard_normal((9, 45)).astype(np.float32))
    compare(text, (1, 1, 1), a, np.zeros(45, np.float32))


@pytest.mark.parametrize(("n", "first"), [(10, 10), (40, 40), (31, 31)])
def test_the_first_index_outside_is_found(n: int, first: int) -> None:
    text = """
    func @f(%n: index, %A: memref<i32x?>, %B: memref<i32x?>) {
      %zero = constant 0 : index
      foreach (%i) = (%zero), (%n) {
        %x = load %A[%i] : i32
        store %x, %B[%i]
      }
    }
    """
    with pytest.raises(Failed) as raised:
        run(text, (1, 1, 1), 100, np.zeros(n, np.int32), np.zeros(100, np.int32))
    assert raised.value.code == "run.out_of_bounds"
    assert raised.value.values == [first, n]


def test_a_number_for_each_work_item_in_a_collective_region() -> None:
    text = """
    func @f(%A: memref<i32>, %B: memref<i32x64>) attributes {subgroup_size=16, work_group_size=[32, 2]} {
      %one = constant 1 : i32
      %ticket = atomic_add %one, %A[] : i32
      %square = mul %ticket, %ticket : i32
      parallel {
        %place = cast %ticket : index
        %sum = add %square, %one : i32
        store %sum, %B[%place]
      }
    }
    """
    a, b = np.zeros((), np.int32), np.zeros(64, np.int32)
    run(text, (1, 1, 1), a, b)
    assert a == 64
    np.testing.assert_array_equal(b, np.arange(64) ** 2 + 1)


def test_views_are_made_without_checks() -> None:
    text = """
    func @f(%A: memref<i32x?>, %n: index, %B: memref<i32>) {
        %four = subview %A[%n : 4] : memref<i32x4>
        %pairs = expand %four[0 -> 2 x %n] : memref<i32x2x?>
        %x = load %pairs[1, 0] : i32
        store %x, %B[]
    }
    """
    found = np.zeros((), np.int32)
    run(text, (1, 1, 1), np.arange(8, dtype=np.int32), 2, found, checks=False)
    assert found == 3


def test_a_kernel_runs_as_loaded() -> None:
    a = np.arange(33, dtype=np.int32)
    b = np.zeros(33, np.int8)
    girih.loads(NARROWED.format(n=33, lanes=32, items=32), target="cpu")["f"](a, b)
    np.testing.assert_array_equal(a, b)


SPACED = """
func @f(%A: memref<{type}x?>, %B: memref<{type}x?>)
    attributes {{subgroup_size={lanes}, work_group_size=[{lanes}, 1]}} {{
  parallel {{
    %lane = subgroup_local_id : i32
    %first = cast %lane : index
    %lanes = constant {lanes} : index
    %n = size %A[0] : index
    %space = constant {space} : index
    %offset = constant 1 : index
    %ahead = constant {ahead} : index
    %sum = add %n, %ahead : index
    %count = div %sum, %space : index
    for %i = %first, %count, %lanes {{
      %scaled = mul %i, %space : index
      %j = add %scaled, %offset : index
      %x = load %A[%j] : {type}
      %y = add %x, %x : {type}
      store %y, %B[%j]
    }}
  }}
}}
"""
"""Every `space`th element of A, doubled."""


@pytest.mark.parametrize(("space", "type_"), crossed([2, 3, 4, 5], ["i8", "bf16", "f32", "i64", "c32"]))
def test_elements_a_few_apart_are_moved_alone(space: int, type_: str) -> None:
    """All lanes with and without a rest, and arrays that end with the last lane's element."""
    lanes = 8 if space % 2 else 32
    kernel = compiled(SPACED.format(type=type_, lanes=lanes, space=space, ahead=space - 2))
    for elements in (1, lanes, 2 * lanes + 3):
        n = 1 + (elements - 1) * space + 1
        a = np.arange(n).astype(DTYPES[type_])
        room = np.full(n + 4 * lanes, 9, a.dtype)
        kernel((1, 1, 1), a, room[:n])
        expected = np.full_like(room, 9)
        expected[1:n:space] = a[1:n:space] * 2
        np.testing.assert_array_equal(room, expected)
