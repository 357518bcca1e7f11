"""What is particular to work-items that are threads: who writes in collective regions, who waits for whom."""

from __future__ import annotations

import random

import numpy as np
import pytest

import girih
from tests.back.harness import Failed
from tests.back.one_lane.launch import OneLaneKernel, Stuck
from tests.back.one_lane.random_programs import agrees, is_refused, work_items
from tests.cases import long

HEAD = "attributes {subgroup_size=8, work_group_size=[16, 1]}"


def kernel(text: str, *, checks: bool = True) -> OneLaneKernel:
    return OneLaneKernel(girih.loads(text, target="interpreter")["f"].ir, checks=checks)


@pytest.mark.parametrize("block", [0, *long(range(1, 15))])
def test_random_programs_run_as_on_the_interpreter(block: int) -> None:
    ran = 0
    for seed in range(10_000 + 12 * block, 10_000 + 12 * (block + 1)):
        built = work_items(seed)
        if not is_refused(built):
            agrees(str(built.module), built, unchecked=seed % 4 == 0)
            ran += 1
    assert ran > 5


def test_a_collective_region_writes_once() -> None:
    counter = np.zeros(1, np.int32)
    kernel(f"""
    func @f(%A: memref<i32x1>) {HEAD} {{
      %zero = constant 0 : index
      %one = constant 1 : i32
      %x = load %A[%zero] : i32
      %y = add %x, %one : i32
      store %y, %A[%zero]
      %z = load %A[%zero] : i32
      %w = add %z, %one : i32
      store %w, %A[%zero]
    }}""")((1, 1, 1), counter)
    assert counter[0] == 2


def test_all_work_items_read_before_one_writes() -> None:
    """What collective code has read is the same in all work-items, whenever they come to it."""
    a, b = np.zeros(1, np.int32), np.full(16, -1, np.int32)
    kernel(f"""
    func @f(%A: memref<i32x1>, %B: memref<i32x16>) {HEAD} {{
      %zero = constant 0 : index
      %one = constant 1 : i32
      %x = load %A[%zero] : i32
      %y = add %x, %one : i32
      store %y, %A[%zero]
      %z = load %A[%zero] : i32
      %sum = add %x, %z : i32
      parallel {{
        %lane = subgroup_local_id : i32
        %subgroup = subgroup_linear_id : i32
        %eight = constant 8 : i32
        %first = mul %subgroup, %eight : i32
        %n = add %first, %lane : i32
        %i = cast %n : index
        store %sum, %B[%i]
        %seven = constant 7 : i32
        store %seven, %A[%zero]
      }}
    }}""")((1, 1, 1), a, b)
    assert (a[0], set(b.tolist())) == (7, {1})


def test_all_work_items_update_in_a_collective_region() -> None:
    counter, after = np.zeros(1, np.int32), np.zeros(1, np.int32)
    kernel(f"""
    func @f(%A: memref<i32x1>, %B: memref<i32x1>) {HEAD} {{
      %zero = constant 0 : index
      %one = constant 1 : i32
      %old = atomic_add.work_group.relaxed %one, %A[%zero] : i32
      %all = load %A[%zero] : i32
      store %all, %B[%zero]
    }}""")((1, 1, 1), counter, after)
    assert (counter[0], after[0]) == (16, 16)


TICKETS = f"""
func @own_value(%A: memref<i32x?>, %B: memref<i32x?>) {HEAD} {{
  %z = constant 0 : index
  %one = constant 1 : i32
  %old = atomic_add.work_group.relaxed %one, %A[%z] : i32
  %b = cast %old : index
  store %old, %B[%b]
}}
func @one_value(%A: memref<i32x?>, %B: memref<i32x?>) {HEAD} {{
  %z = constant 0 : index
  %one = constant 1 : i32
  %old = atomic_add.work_group.relaxed %one, %A[%z] : i32
  %b = cast %old : index
  store %one, %B[%b]
}}
func @atomically(%A: memref<i32x?>, %B: memref<i32x?>) {HEAD} {{
  %z = constant 0 : index
  %one = constant 1 : i32
  %old = atomic_add.work_group.relaxed %one, %A[%z] : i32
  %b = cast %old : index
  atomic_store.work_group.relaxed %old, %B[%b]
}}
func @in_a_view(%A: memref<i32x?>, %B: memref<i32x?>) {HEAD} {{
  %z = constant 0 : index
  %one = constant 1 : i32
  %size = constant 1 : index
  %old = atomic_add.work_group.relaxed %one, %A[%z] : i32
  %b = cast %old : index
  %v = subview %B[%b:%size] : memref<i32x?>
  store %one, %v[%z]
}}
func @to_one_place(%A: memref<i32x?>, %B: memref<i32x?>) {HEAD} {{
  %z = constant 0 : index
  %one = constant 1 : i32
  %old = atomic_add.work_group.relaxed %one, %A[%z] : i32
  %b = cast %old : index
  %v = load %B[%b] : i32
  %n = add %v, %old : i32
  store %n, %B[%z]
}}
"""
"""Each work-item draws a number in a collective region, and stores."""


@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("name", ["own_value", "one_value", "atomically", "in_a_view", "to_one_place"])
def test_a_collective_store_is_executed_by_every_work_item_that_has_its_own_place(name: str, checks: bool) -> None:
    function = girih.loads(TICKETS, target="interpreter")[name]
    expected, found = ([np.zeros(20, np.int32), np.arange(20, dtype=np.int32)] for _ in range(2))
    function[1](*expected)
    OneLaneKernel(function.ir, checks=checks)((1, 1, 1), *found)
    for mine, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, wanted)


# What the numbers of work-items are multiplied by is unknown to `girih check`, which would refuse these kernels.
DIVERGENT = f"""
func @f(%once: i32, %A: memref<i32x16>) {HEAD} {{
  parallel {{
    %number = subgroup_local_id : i32
    %lane = mul %number, %once : i32
    %four = constant 4 : i32
    %few = less_than %lane, %four : bool
    if %few {{
      %sum = subgroup_reduce_add %lane : i32
    }}
  }}
}}
"""


def test_a_subgroup_operation_that_some_work_items_meet_is_found() -> None:
    with pytest.raises(Failed) as raised:
        kernel(DIVERGENT)((1, 1, 1), 1, np.zeros(16, np.int32))
    assert raised.value.code == "run.divergent"
    assert raised.value.message == "`subgroup_reduce_add` is met by some work-items of the subgroup only"


def test_without_checks_it_does_not_go_on() -> None:
    with pytest.raises(Stuck):
        kernel(DIVERGENT, checks=False)((1, 1, 1), 1, np.zeros(16, np.int32))


@pytest.mark.parametrize("identity", ["subgroup_local_id", "subgroup_linear_id"])
def test_a_barrier_that_some_do_not_reach_is_found(identity: str) -> None:
    """Some work-items of a subgroup, as on the CPU; and some subgroups, which the CPU does not see."""
    with pytest.raises(Failed) as raised:
        kernel(f"""
        func @f(%once: i32, %A: memref<i32x16>) {HEAD} {{
          parallel {{
            %known = {identity} : i32
            %number = mul %known, %once : i32
            %one = constant 1 : i32
            %few = less_than %number, %one : bool
            if %few {{
              barrier.global
            }}
          }}
        }}""")((1, 1, 1), 1, np.zeros(16, np.int32))
    assert raised.value.code == "run.divergent"


def test_an_operand_that_differs_is_found() -> None:
    with pytest.raises(Failed) as raised:
        kernel(f"""
        func @f(%once: i32, %A: memref<i32x16>) {HEAD} {{
          parallel {{
            %number = subgroup_local_id : i32
            %lane = mul %number, %once : i32
            %x = subgroup_broadcast %lane, %lane : i32
          }}
        }}""")((1, 1, 1), 1, np.zeros(16, np.int32))
    assert raised.value.code == "run.not_uniform"


def test_work_items_hand_values_over_at_barriers() -> None:
    """Local memory, barriers in a loop, subgroups that wait for each other."""
    source = [random.Random(5).randrange(100) for _ in range(16)]
    a, b = np.array(source, np.int32), np.zeros(16, np.int32)
    kernel(f"""
    func @f(%A: memref<i32x16>, %B: memref<i32x16>) {HEAD} {{
      %L = alloca : memref<i32x16,local>
      parallel {{
        %lane = subgroup_local_id : i32
        %subgroup = subgroup_linear_id : i32
        %eight = constant 8 : i32
        %fifteen = constant 15 : i32
        %first = mul %subgroup, %eight : i32
        %n = add %first, %lane : i32
        %i = cast %n : index
        %m = sub %fifteen, %n : i32
        %j = cast %m : index
        %x = load %A[%i] : i32
        %zero = constant 0 : index
        %three = constant 3 : index
        %y = for %k = %zero, %three init (%h=%x) -> (i32) {{
          store %h, %L[%i]
          barrier.local
          %g = load %L[%j] : i32
          barrier.local
          yield (%g)
        }}
        store %y, %B[%i]
      }}
    }}""")((1, 1, 1), a, b)
    np.testing.assert_array_equal(b, a[::-1])
