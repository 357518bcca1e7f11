"""Work-items that go different ways: branches, loops and atomics under masks, against the same thing item by item."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from girih.interpreter.machine.choices import Choices
from tests.interpreter.launching import ONE_SUBGROUP, findings, fortran, kernel, spmd, zeros

ITEMS = np.arange(16)
TILE = "coopmatrix<f32x8x4,matrix_acc>"


def test_nested_branches() -> None:
    body = """
    %parity = rem %item, %c2 : index
    %even = equal %parity, %c0 : bool
    %small = less_than %item, %c4 : bool
    %r = if %even -> (index) {
      %s = if %small -> (index) {
        %a = mul %item, %c4 : index
        yield (%a)
      } else {
        %inner = less_than %item, %eight : bool
        if %inner {
          store %one, %B[%item]
        }
        yield (%item)
      }
      yield (%s)
    } else {
      if %small {
        store %one, %B[%item]
      } else {
      }
      %n = sub %c0, %item : index
      yield (%n)
    }
    store %r, %A[%item]
    """
    a, b = zeros(16, dtype=np.int64), zeros(16)
    spmd("%A: memref<index x ?>, %B: memref<f32x?>", body)(a, b)
    expected = [(4 * i if i < 4 else i) if i % 2 == 0 else -i for i in ITEMS]
    assert a.tolist() == expected
    assert b.tolist() == [float(4 <= i < 8 if i % 2 == 0 else i < 4) for i in ITEMS]


def test_loops_that_carry_values_for_different_times() -> None:
    body = """
    %n = cast %item : i32
    %z = constant 0 : i32
    %o = constant 1 : i32
    %sum, %previous, %last = for %k=%z,%n init(%s=%z,%p=%z,%q=%o) -> (i32,i32,i32) {
      %t = add %s, %k : i32
      %f = add %p, %q : i32
      yield (%t, %q, %f)
    }
    store %sum, %A[%item]
    store %previous, %B[%item]
    """
    a, b = zeros(16, dtype=np.int32), zeros(16, dtype=np.int32)
    spmd("%A: memref<i32x?>, %B: memref<i32x?>", body)(a, b)
    fibonacci = [0, 1]
    while len(fibonacci) < 16:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert a.tolist() == [sum(range(n)) for n in ITEMS]
    assert b.tolist() == fibonacci


def test_nested_loops_with_bounds_and_steps_of_each_work_item() -> None:
    body = """
    %step = add %lane, %c1 : index
    %total = for %i=%c0,%item,%step init(%s=%c0) -> (index) {
      %inner = for %j=%i,%item init(%t=%s) -> (index) {
        %odd = rem %j, %c2 : index
        %is = equal %odd, %c1 : bool
        %u = if %is -> (index) {
          %v = add %t, %j : index
          yield (%v)
        } else {
          yield (%t)
        }
        yield (%u)
      }
      yield (%inner)
    }
    store %total, %A[%item]
    """
    a = zeros(16, dtype=np.int64)
    spmd("%A: memref<index x ?>", body)(a)
    expected = [sum(j for i in range(0, n, n % 8 + 1) for j in range(i, n) if j % 2) for n in ITEMS]
    assert a.tolist() == expected


@pytest.mark.parametrize(("start", "stop", "step"), [(100, 127, 20), (-128, 127, 100), (5, 5, 1), (9, 3, 1)])
def test_loops_of_bytes_end_where_the_type_does(start: int, stop: int, step: int) -> None:
    body = """
    %l = cast %lane_number : i8
    %n = mul %l, %far : i8
    %last = add %stop, %n : i8
    %z = constant 0 : i32
    %o = constant 1 : i32
    %same = for %i=%start,%stop,%step init(%s=%z) -> (i32) {
      %t = add %s, %o : i32
      yield (%t)
    }
    %varying = for %i=%start,%last,%step init(%s=%z) -> (i32) {
      %t = add %s, %o : i32
      yield (%t)
    }
    store %same, %A[%item]
    store %varying, %B[%item]
    """
    a, b = zeros(16, dtype=np.int32), zeros(16, dtype=np.int32)
    parameters = "%start: i8, %stop: i8, %step: i8, %far: i8, %A: memref<i32x?>, %B: memref<i32x?>"
    spmd(parameters, body)(start, stop, step, -1, a, b)
    assert a.tolist() == [len(range(start, stop, step))] * 16
    assert b.tolist() == [len(range(start, stop - n % 8, step)) for n in ITEMS]


def test_a_matrix_chosen_by_its_subgroup() -> None:
    body = f"""
    %first = equal %subgroup, %c0 : bool
    %m = if %first -> ({TILE}) {{
      %a = cooperative_matrix_load %A[%c0, %c0] : {TILE}
      yield (%a)
    }} else {{
      %b = constant 7.0 : {TILE}
      yield (%b)
    }}
    %row = mul %subgroup, %eight : index
    cooperative_matrix_store %m, %B[%row, %c0]
    """
    a, b = fortran(8, 4), zeros(16, 4)
    spmd("%A: memref<f32x8x4>, %B: memref<f32x16x4>", body)(a, b)
    assert (b[:8] == a).all()
    assert (b[8:] == 7).all()


def test_a_loop_that_carries_a_matrix_for_different_times() -> None:
    body = f"""
    %g = group_id.x : index
    %n = add %g, %subgroup : index
    %none = constant 0.0 : {TILE}
    %m = for %k=%c0,%n init(%s=%none) -> ({TILE}) {{
      %a = cooperative_matrix_load %A[%c0, %c0] : {TILE}
      %t = add %s, %a : {TILE}
      yield (%t)
    }}
    %row = mul %subgroup, %eight : index
    %b = subview %B[0:16, 0:4, %g] : memref<f32x16x4>
    cooperative_matrix_store %m, %b[%row, %c0]
    """
    a, b = fortran(8, 4) + 1, zeros(16, 4, 5)
    spmd("%A: memref<f32x8x4>, %B: memref<f32x16x4x?>", body)[5](a, b)
    for g in range(5):
        assert (b[:8, :, g] == g * a).all()
        assert (b[8:, :, g] == (g + 1) * a).all()


def test_a_matrix_chosen_by_a_work_group_in_a_collective_region() -> None:
    body = """
  %g = group_id.x : index
  %odd = rem %g, %c2 : index
  %is = equal %odd, %c1 : bool
  %a = subview %A[0:4, %g] : memref<f32x4>
  if %is {
    axpby %one, %a, %one, %a
  } else {
    parallel {
      %l = subgroup_local_id : i32
      %i = cast %l : index
      %in = less_than %i, %c4 : bool
      if %in {
        store %zero, %a[%i]
      }
    }
  }
  for %k=%c0,%g {
    axpby %one, %a, %one, %a
  }
    """
    a = fortran(4, 5) + 1
    expected = a.copy(order="F")
    for g in range(5):
        expected[:, g] = expected[:, g] * 2 ** (1 + g) if g % 2 else 0
    kernel("%A: memref<f32x4x?>", body, ONE_SUBGROUP)[5](a)
    assert (a == expected).all()


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_masked_atomics_return_old_values_that_are_unique(seed: int | None) -> None:
    body = """
    %p = rem %lane, %c2 : index
    %even = equal %p, %c0 : bool
    if %even {
      %n = constant 1 : i32
      %old = atomic_add.device %n, %N[] : i32
      %i = cast %old : index
      %id = cast %item : i32
      store %id, %A[%i]
    }
    """
    count, slots = zeros(dtype=np.int32), zeros(40, dtype=np.int32)
    spmd("%N: memref<i32>, %A: memref<i32x?>", body).options(choices=Choices(seed))[5](count, slots)
    assert count == 40
    assert Counter(slots.tolist()) == dict.fromkeys((int(i) for i in ITEMS[::2]), 5)


@pytest.mark.parametrize("update", ["add", "min", "max"])
@pytest.mark.parametrize("type", ["i8", "i32", "bf16", "f16", "f32"])
def test_each_atomic_finds_what_the_one_before_left(update: str, type: str) -> None:
    import ml_dtypes

    dtype = np.dtype({"i8": np.int8, "i32": np.int32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}.get(type, "f4"))
    values = np.array([(37 * i + 11) % 61 - 30 for i in range(64)]).astype(dtype)
    old, target = np.zeros(64, dtype), np.ones(2, dtype)
    body = f"%v = load %V[%item] : {type}\n%p = div %item, %n : index\n%o = atomic_{update} %v, %A[%p] : {type}\n"
    body += "store %o, %O[%item]"
    parameters = f"%V: memref<{type}x?>, %A: memref<{type}x?>, %O: memref<{type}x?>, %n: index"
    attributes = "attributes {subgroup_size=8, work_group_size=[64, 1]}"
    spmd(parameters, body, attributes)(values, target, old, 50)
    step = {"add": np.add, "min": np.minimum, "max": np.maximum}[update]
    state = np.ones(2, dtype)
    for i in range(64):
        assert old[i] == state[i // 50]
        with np.errstate(over="ignore"):
            state[i // 50] = step(state[i // 50], values[i])
    assert (target == state).all()


def test_parts_of_complex_numbers_are_added() -> None:
    a = zeros(dtype=np.complex64)
    body = "%v = constant [1.0, -2.0] : c32\n%o = atomic_add.device %v, %A[] : c32"
    spmd("%A: memref<c32>", body)[3](a)
    assert a == 48 - 96j


def test_mixed_instructions_of_a_collective_region_are_executed_by_every_work_item() -> None:
    a, n = zeros(4), zeros(dtype=np.int64)
    body = (
        "%g = group_id.x : index\nstore %one, %A[%g]\n%k = constant 1 : i64\n%old = atomic_add.device %k, %N[] : i64\n"
    )
    kernel("%A: memref<f32x4>, %N: memref<i64>", body)[3](a, n)
    assert a.tolist() == [1, 1, 1, 0]
    assert n == 48


def test_values_of_masked_work_items_do_not_leak() -> None:
    body = """
    %low = less_than %lane, %c4 : bool
    %x = if %low -> (f32) {
      %a = load %A[%lane] : f32
      yield (%a)
    } else {
      yield (%one)
    }
    %i = if %low -> (index) {
      yield (%lane)
    } else {
      yield (%c0)
    }
    %y = load %A[%i] : f32
    %z = add %x, %y : f32
    store %z, %B[%item]
    """
    a, b = fortran(4) + 10, zeros(16)
    spmd("%A: memref<f32x?>, %B: memref<f32x?>", body)(a, b)
    assert b[:8].tolist() == [20, 22, 24, 26, 11, 11, 11, 11]
    assert b[8:].tolist() == b[:8].tolist()


def test_inactive_work_items_divide_and_load_without_findings() -> None:
    body = """
    %safe = greater_than %lane, %c0 : bool
    if %safe {
      %q = div %eight, %lane : index
      %s = sub %lane, %c1 : index
      %v = subview %A[%s:1] : memref<f32x1>
      %x = load %v[%c0] : f32
      %i = cast %q : i32
      %f = cast %i : f32
      %y = add %x, %f : f32
      store %y, %B[%item]
    }
    """
    b = zeros(16)
    spmd("%A: memref<f32x?>, %B: memref<f32x?>", body)(fortran(7), b)
    assert b.tolist() == [0, *(n - 1 + 8 // n for n in range(1, 8))] * 2


def test_apply_sees_outer_values_of_its_subgroup_and_branches_per_component() -> None:
    body = f"""
    %x = cast %subgroup_number : f32
    %row_first = mul %subgroup, %eight : index
    %a = subview %A[%row_first:8] : memref<f32x8>
    %m = cooperative_matrix_load %M[%row_first, %c0] : {TILE}
    %r = cooperative_matrix_apply (%i, %j, %e)=%m -> {TILE} {{
      %lower = less_than %j, %i : bool
      %v = if %lower -> (f32) {{
        %k = cast %i : index
        %l = load %a[%k] : f32
        %p = add %l, %x : f32
        yield (%p)
      }} else {{
        %n = cast %j : index
        %s = for %t=%c0,%n init(%u=%e) -> (f32) {{
          %w = add %u, %u : f32
          yield (%w)
        }}
        yield (%s)
      }}
      yield (%v)
    }}
    cooperative_matrix_store %r, %M[%row_first, %c0]
    """
    a, m = fortran(16) * 100, fortran(16, 4) + 1
    expected = m.copy(order="F")
    for i in range(16):
        for j in range(4):
            expected[i, j] = a[i] + i // 8 if j < i % 8 else m[i, j] * 2**j
    spmd("%A: memref<f32x?>, %M: memref<f32x16x4>", body)(a, m)
    assert (m == expected).all()


def test_findings_in_apply_count_components() -> None:
    body = f"""
    %m = constant 1.0 : {TILE}
    %r = cooperative_matrix_apply (%i, %j, %e)=%m -> {TILE} {{
      %k = cast %j : index
      %x = load %A[%k] : f32
      yield (%x)
    }}
    """
    (found,) = findings(spmd("%A: memref<f32x?>", body), zeros(3))
    assert (found.code, found.index, found.subgroup, found.lane, found.count) == (
        "run.out_of_bounds",
        (3,),
        0,
        None,
        16,
    )


def test_deep_nesting() -> None:
    depth = 240
    body = "%b = equal %item, %c1 : bool\n" + "if %b {\n" * depth + "store %one, %A[%item]" + "}\n" * depth
    a = zeros(16)
    spmd("%A: memref<f32x?>", body)(a)
    assert a.tolist() == [0, 1, *[0] * 14]
