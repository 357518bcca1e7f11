"""Collective instructions on work-groups that differ: in shapes, in what they execute, in their local memory."""

from __future__ import annotations

import numpy as np
import pytest

from girih.interpreter.machine.choices import Choices
from tests.interpreter.launching import ONE_SUBGROUP, Array, findings, fortran, kernel, spmd, zeros

RNG = np.random.default_rng(7)


def random(*shape: int) -> Array:
    return np.asfortranarray(RNG.standard_normal(shape).astype(np.float32))


SIZES = [(3, 4, 5), (1, 1, 1), (7, 2, 3), (3, 4, 5), (0, 3, 2), (2, 0, 3), (16, 17, 18)]


@pytest.mark.parametrize("seed", [None, 3, 4])
def test_products_of_different_sizes_in_one_launch(seed: int | None) -> None:
    a = [random(m, k) for m, k, _ in SIZES]
    b = [random(n, k) for _, k, n in SIZES]
    c = [random(m, n) for m, _, n in SIZES]
    expected = [x @ y.T + 2 * z for x, y, z in zip(a, b, c, strict=True)]
    group = "group<memref<f32x?x?>x?>"
    body = "%g = group_id.x : index\n" + "\n".join(f"%{n.lower()} = load %{n}[%g] : memref<f32x?x?>" for n in "ABC")
    launched = kernel(f"%A: {group}, %B: {group}, %C: {group}, %beta: f32", body + "\ngemm.n.t %one, %a, %b, %beta, %c")
    launched.options(choices=Choices(seed))[len(SIZES)](a, b, c, 2.0)
    for found, wanted in zip(c, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_views_whose_sizes_depend_on_the_work_group() -> None:
    body = """
  %g = group_id.x : index
  %n = add %g, %c1 : index
  %v = subview %A[0:%n, 0:%n] : memref<f32x?x?,strided<1,?>>
  %s = subview %S[0:%n, %g] : memref<f32x?>
  sum %one, %v, %zero, %s
  %d = subview %D[%g:1] : memref<f32x1>
  %t = subview %D[%g] : memref<f32>
  sum %one, %s, %zero, %t
  %r = subview %R[0:%n, %g] : memref<f32x?>
  cumsum %one, %s, 0, %zero, %r
  %o = subview %O[0:%n, 0:%n, %g] : memref<f32x?x?,strided<1,?>>
  ger %one, %s, %s, %zero, %o
  %h = subview %H[0:%n, %g] : memref<f32x?>
  hadamard %one, %s, %s, %zero, %h
  gemv %one, %v, %s, %one, %h
    """
    n = 5
    a = fortran(n, n)
    s, d, r, o, h = zeros(n, n), zeros(n), zeros(n, n), zeros(n, n, n), zeros(n, n)
    parameters = "%A: memref<f32x?x?>, %S: memref<f32x?x?>, %D: memref<f32x?>, %R: memref<f32x?x?>, "
    kernel(parameters + "%O: memref<f32x?x?x?>, %H: memref<f32x?x?>", body)[n](a, s, d, r, o, h)
    for g in range(n):
        part = a[: g + 1, : g + 1]
        rows = part.sum(1)
        assert (s[: g + 1, g] == rows).all()
        assert d[g] == rows.sum()
        assert (r[: g + 1, g] == np.cumsum(rows)).all()
        assert (o[: g + 1, : g + 1, g] == np.outer(rows, rows)).all()
        assert (h[: g + 1, g] == rows * rows + part @ rows).all()
    assert (np.triu(s) == s).all()


def test_sizes_that_do_not_fit_in_some_work_groups() -> None:
    body = "%g = group_id.x : index\n%n = add %g, %c1 : index\n%v = subview %A[0:%n] : memref<f32x?>\n"
    launched = kernel("%A: memref<f32x?>, %B: memref<f32x?>", body + "axpby %one, %v, %one, %B")
    (found,) = findings(launched, zeros(8), zeros(4), grid=6)
    assert (found.code, found.count, found.work_group) == ("run.size", 5, (0, 0, 0))


def test_atomics_of_collectives_lose_nothing_and_others_may() -> None:
    a, b, c = fortran(4) + 1, zeros(4), zeros(4)
    parameters = "%A: memref<f32x4>, %B: memref<f32x4>"
    kernel(parameters, "axpby.atomic %one, %A, %one, %B")[3000](a, b)
    kernel(parameters, "axpby %one, %A, %zero, %B").options(races=False)[3000](a, c)
    assert (b == 3000 * a).all()
    assert (c == a).all()


def test_local_memory_belongs_to_a_work_group_and_is_fresh_in_each_iteration() -> None:
    body = """
  %g = group_id.x : index
  %x = cast %g : i32
  %y = cast %x : f32
  for %k=%c0,%c4 {
    %m = alloca : memref<f32x8,local>
    parallel {
      %l = subgroup_local_id : i32
      %i = cast %l : index
      store %y, %m[%i]
    }
    %a = subview %A[0:8, %g] : memref<f32x8>
    axpby %one, %m, %one, %a
    lifetime_stop %m
  }
    """
    a = zeros(8, 100)
    kernel("%A: memref<f32x8x?>", body, ONE_SUBGROUP)[100](a)
    assert (a == 4 * np.arange(100)).all()


def test_local_memory_of_the_last_iteration_is_not_seen() -> None:
    body = """
  %g = group_id.x : index
  %a = subview %A[0:4, %g] : memref<f32x4>
  for %k=%c0,%c2 {
    %m = alloca : memref<f32x4,local>
    %first = equal %k, %c0 : bool
    if %first {
      axpby %one, %a, %zero, %m
    }
    axpby %one, %m, %zero, %a
  }
    """
    (found,) = findings(kernel("%A: memref<f32x4x?>", body), zeros(4, 2), grid=2)
    assert (found.code, found.argument, found.count) == ("run.uninitialized", "m", 2)


def test_empty_arrays() -> None:
    a, b, c = zeros(0, 4), zeros(4, 3), zeros(0, 3)
    parameters = "%A: memref<f32x?x?>, %B: memref<f32x?x?>, %C: memref<f32x?x?>"
    kernel(parameters, "gemm %one, %A, %B, %zero, %C\naxpby %one, %A, %one, %A")[3](a, b, c)
    inner, out = zeros(2, 0), fortran(2, 3)
    kernel(parameters, "gemm %one, %A, %B, %one, %C")(inner, zeros(0, 3), out)
    assert (out == fortran(2, 3)).all()
    kernel(parameters, "gemm %one, %A, %B, %zero, %C")(inner, zeros(0, 3), out)
    assert (out == 0).all()
    spmd(
        "%A: memref<f32x?x?>",
        "%m = cooperative_matrix_load.both_checked %A[%c0, %c0] : coopmatrix<f32x8x4,matrix_acc>\n"
        "cooperative_matrix_store.both_checked %m, %A[%c0, %c0]\n"
        "%o = cooperative_matrix_atomic_add.both_checked %m, %A[%c0, %c0] : coopmatrix<f32x8x4,matrix_acc>",
    )(zeros(0, 4))


RANGES = [(0, 0), (5, 2), (-3, 4), (0, 70), (-128, 127)]


@pytest.mark.parametrize(("start", "stop"), RANGES)
@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("type", ["i8", "i32", "index"])
def test_foreach_visits_every_point_once(type: str, start: int, stop: int, seed: int | None) -> None:
    body = f"""
  %begin = constant -2 : i16
  %end = constant 1 : i16
  foreach (%i, %j)=(%start, %begin),(%stop, %end) {{
    %x = {"cast %i : index" if type != "index" else "add %i, %c0 : index"}
    %y = cast %j : index
    %p = add %x, %far : index
    %q = add %y, %c2 : index
    %n = constant 1 : i32
    %o = atomic_add %n, %A[%p, %q] : i32
  }}
    """
    a = zeros(300, 3, dtype=np.int32)
    launched = kernel(f"%A: memref<i32x?x?>, %start: {type}, %stop: {type}, %far: index", body)
    launched.options(choices=Choices(seed))(a, start, stop, 128)
    expected = np.zeros_like(a)
    expected[128 + start : 128 + max(start, stop)] = 1
    assert (a == expected).all()


def test_foreach_ranges_of_each_work_group() -> None:
    body = """
  %g = group_id.x : index
  foreach (%i)=(%c1),(%g) {
    store %one, %A[%i, %g]
  }
    """
    a = zeros(40, 40)
    kernel("%A: memref<f32x?x?>", body)[40](a)
    i, g = np.indices(a.shape)
    assert (a == ((i >= 1) & (i < g))).all()


@pytest.mark.parametrize("seed", [None, 5, 6])
@pytest.mark.parametrize(("rows", "columns"), [(70, 64), (1, 1), (16, 7), (100, 9), (0, 5)])
def test_foreach_tile_covers_all_and_tells_the_remainders(rows: int, columns: int, seed: int | None) -> None:
    body = """
  foreach_tile (%i, %j)=(%from, %c1),(%to, %last) as (%m, %n) <= (16, 4) {
    %id = subgroup_local_id : i32
    %l = cast %id : index
    %size = subgroup_size : i32
    %s = cast %size : index
    for %x=%l,%m,%s {
      for %y=%c0,%n {
        %p = add %i, %x : index
        %q = add %j, %y : index
        %one_more = constant 1 : i32
        %o = atomic_add %one_more, %A[%p, %q] : i32
      }
    }
  }
    """
    a = zeros(rows + 10, columns + 3, dtype=np.int32)
    parameters = "%A: memref<i32x?x?>, %from: index, %to: index, %last: index"
    launched = kernel(parameters, body, "attributes {subgroup_size=8, work_group_size=[16, 2]}")
    launched.options(choices=Choices(seed))(a, 5, 5 + rows, 1 + columns)
    expected = np.zeros_like(a)
    expected[5 : 5 + rows, 1 : 1 + columns] = 1
    assert (a == expected).all()


def test_foreach_tile_of_the_whole_range_of_a_type() -> None:
    body = """
  foreach_tile (%i)=(%from),(%to) as (%m) <= (64) {
    %z = cast %m : i32
    %o = atomic_add %z, %A[] : i32
  }
    """
    a = zeros(dtype=np.int32)
    kernel("%A: memref<i32>, %from: i8, %to: i8", body)(a, -128, 127)
    assert a == 255 * 8


def test_constants_of_a_collective_region_may_be_matrices() -> None:
    body = (
        "%m = constant 2.0 : coopmatrix<f32x8x8,matrix_acc>\nparallel {\ncooperative_matrix_store %m, %A[%c0, %c0]\n}"
    )
    a = zeros(8, 8)
    kernel("%A: memref<f32x?x?>", body, ONE_SUBGROUP)(a)
    assert (a == 2).all()


def test_factors_of_each_work_group_stay_with_it_where_shapes_differ() -> None:
    body = """
  %g = group_id.x : index
  %i = cast %g : i32
  %x = cast %i : f32
  %odd = rem %g, %c2 : index
  %n = add %odd, %c1 : index
  %a = subview %A[0:%n, %g] : memref<f32x?>
  axpby %x, %a, %x, %a
    """
    a = fortran(3, 9) + 1
    expected = a.copy(order="F")
    for g in range(9):
        expected[: g % 2 + 1, g] *= 2 * g
    kernel("%A: memref<f32x3x?>", body)[9](a)
    assert (a == expected).all()
