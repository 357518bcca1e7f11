"""Launches as a whole: grids, budgets, choices, threads, memory."""

from __future__ import annotations

import threading
import tracemalloc
from math import prod

import numpy as np
import pytest

import girih
from girih.arguments.brackets import Grid
from girih.interpreter import launch, run
from girih.interpreter.machine.choices import Choices
from girih.interpreter.machine.machine import LaunchGeometry
from girih.interpreter.machine.numbers import dtype
from girih.ir.types import NUMBERS
from tests.interpreter.launching import ONE_SUBGROUP, findings, fortran, kernel, spmd, zeros

MARK = """
  %x = group_id.x : index
  %y = group_id.y : index
  %z = group_id.z : index
  %nx = num_groups.x : index
  %ny = num_groups.y : index
  %nz = num_groups.z : index
  %p = mul %nx, %ny : index
  %q = mul %p, %nz : index
  %n = cast %q : i64
  %o = atomic_add %n, %A[%x, %y, %z] : i64
"""


@pytest.mark.parametrize("seed", [None, 0])
@pytest.mark.parametrize("grid", [1, 7, (3,), (3, 4), (2, 3, 4), (0,), (3, 0), (2, 1, 0), (1, 1, 50)])
def test_every_work_group_of_a_grid_runs_once(grid: Grid, seed: int | None) -> None:
    shape = (*(grid if isinstance(grid, tuple) else (grid,)), 1, 1)[:3]
    a = zeros(*shape, dtype=np.int64)
    kernel("%A: memref<i64x?x?x?>", MARK, ONE_SUBGROUP).options(choices=Choices(seed))[grid](a)
    assert (a == 8 * prod(shape)).all()


@pytest.mark.parametrize("seed", [None, 1])
def test_a_hundred_thousand_work_groups(seed: int | None) -> None:
    a = zeros(100_000)
    body = "%x = group_id.x : index\nstore %one, %A[%x]"
    seen: list[tuple[int, int]] = []
    launched = kernel("%A: memref<f32x?>", body)[100_000]
    launched.options(choices=Choices(seed), progress=lambda done, total: seen.append((done, total)))(a)
    assert (a == 1).all()
    assert seen == sorted(seen)
    assert seen[-1] == (100_000, 100_000)


def test_more_work_groups_than_are_ordered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_ORDERED", 100)
    a = zeros(1005)
    kernel("%A: memref<f32x?>", "%x = group_id.x : index\nstore %one, %A[%x]").options(choices=Choices(3))[1005](a)
    assert (a == 1).all()


# --- budgets ---------------------------------------------------------------------------------------

ENDLESS = {
    "for": "for %k=%begin,%end {\n}",
    "for that carries": "%r = for %k=%begin,%end init(%s=%begin) -> (i64) {\n%t = add %s, %k : i64\nyield (%t)\n}",
    "foreach": "foreach (%k)=(%begin),(%end) {\n}",
    "foreach over two modes": "foreach (%k,%l)=(%begin,%begin),(%end,%end) {\n}",
    "foreach_tile": "foreach_tile (%k)=(%begin),(%end) as (%n) <= (16) {\n}",
    "varying": "parallel {\n%i = subgroup_local_id : i32\n%l = cast %i : i64\n%b = add %begin, %l : i64\n"
    "for %k=%b,%end {\n}\n}",
    "nested": "for %k=%begin,%end {\nfor %l=%k,%end {\n}\n}",
}


@pytest.mark.parametrize(("begin", "end"), [(0, 2**40), (0, 2**62), (-(2**63), 2**63 - 1)])
@pytest.mark.parametrize("name", sorted(ENDLESS))
@pytest.mark.parametrize("seed", [None, 2])
def test_endless_loops_stop(name: str, begin: int, end: int, seed: int | None) -> None:
    launched = kernel("%begin: i64, %end: i64", ENDLESS[name])
    (found,) = findings(launched, begin, end, grid=3, max_steps=1000, choices=Choices(seed))
    assert found.code == "run.budget"
    assert found.work_group is not None
    assert "1000 instructions" in found.message
    assert found.span.text.startswith("@f") or "@f" in found.span.text


def test_a_spent_budget_ends_the_launch() -> None:
    done: list[int] = []
    launched = kernel("%begin: i64, %end: i64", ENDLESS["for"])
    (found,) = findings(launched, 0, 2**62, grid=50_000, max_steps=100, progress=lambda n, total: done.append(n))
    assert (found.count, found.work_group) == (1, (0, 0, 0))
    assert not done


def test_there_is_a_budget_without_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run.DEFAULT_STEPS == 10_000_000
    monkeypatch.setattr(launch, "DEFAULT_STEPS", 20_000)
    (found,) = findings(kernel("%begin: i64, %end: i64", ENDLESS["for"]), 0, 2**62)
    assert found.code == "run.budget"
    assert "20000" in found.message


def test_the_budget_is_of_a_batch_not_of_the_launch() -> None:
    a = zeros(50_000)
    kernel("%A: memref<f32x?>", "%x = group_id.x : index\nstore %one, %A[%x]").options(max_steps=20)[50_000](a)
    assert a.all()


# --- choices ---------------------------------------------------------------------------------------

RACE = "%i = group_id.x : index\n%j = cast %i : i32\n%x = cast %j : f32\nstore %x, %A[%c0]"
LAST_ITEM = "%x = cast %lane_number : f32\nstore %x, %A[%subgroup]"
NUMBERED = "%n = constant 1 : i32\n%old = atomic_add %n, %N[] : i32\n%x = cast %old : f32\nstore %x, %A[%item]"
FREE = (
    "foreach (%i)=(%c0),(%end) {\n%l = subgroup_local_id : i32\n%s = subgroup_size : i32\n%t = mul %l, %s : i32\n"
    "%x = cast %t : f32\nstore %x, %A[%i]\n}"
)


def outcomes(text: str, size: int, grid: int = 1, *, all_items: bool = False, races: bool = True) -> dict[int, bytes]:
    """What a kernel leaves behind under twenty seeds, each tried twice."""
    launched = (spmd if all_items else kernel)("%A: memref<f32x?>, %N: memref<i32>, %end: index", text)
    found = {}
    for seed in range(20):
        twice = []
        for _ in range(2):
            a = zeros(size)
            launched.options(choices=Choices(seed), races=races)[grid](a, zeros(dtype=np.int32), size)
            twice.append(a.tobytes())
        assert twice[0] == twice[1]
        found[seed] = twice[0]
    return found


def test_the_order_of_work_groups_is_a_choice() -> None:
    order = Choices(1).order(100)
    assert sorted(order) == list(range(100)) != order.tolist()
    assert Choices().order(100).tolist() == list(range(100))
    assert len(set(outcomes(RACE, 1, grid=40, races=False).values())) > 5


def test_which_of_racing_work_items_wins_is_a_choice() -> None:
    assert len(set(outcomes(LAST_ITEM, 2, all_items=True, races=False).values())) > 5


def test_the_order_of_atomics_is_a_choice() -> None:
    assert len(set(outcomes(NUMBERED, 16, all_items=True).values())) == 20


def test_who_gets_a_point_of_a_loop_is_a_choice() -> None:
    assert len(set(outcomes(FREE, 50).values())) == 20


def test_sizes_are_a_choice_where_they_are_free() -> None:
    body = (
        "%s = subgroup_size : i32\n%x = num_subgroups.x : i32\n%y = num_subgroups.y : i32\n"
        "store %s, %A[%c0]\nstore %x, %A[%c1]\nstore %y, %A[%c2]"
    )
    launched = kernel("%A: memref<i32x3>", body, "")
    seen = set()
    for seed in range(40):
        a = zeros(3, dtype=np.int32)
        launched.options(choices=Choices(seed))(a)
        seen.add(tuple(a.tolist()))
        assert a.prod() <= 1024
    assert {s[0] for s in seen} == {8, 16, 32, 64}
    assert len(seen) > 8
    a = zeros(3, dtype=np.int32)
    launched(a)
    assert a.tolist() == [32, 1, 1]


FIRST = (
    "%number = subgroup_linear_id : i32\n%none = constant 0 : i32\n%first = equal %number, %none : bool\nif %first {\n"
)
"""Begins what the first subgroup alone does, where their number is a choice."""


def test_subgroup_sizes_suit_matrices() -> None:
    body = (
        "parallel {\n%m = constant 1.0 : coopmatrix<f32x16x3,matrix_acc>\n"
        "%r = cooperative_matrix_reduce_add.row %m : coopmatrix<f32x16x1,matrix_acc>\n"
        f"{FIRST}cooperative_matrix_store %r, %A[%c0, %c0]\n}}\n}}\n%s = subgroup_size : i32\nstore %s, %S[]"
    )
    launched = kernel("%A: memref<f32x?x?>, %S: memref<i32>", body, "")
    sizes = set()
    for seed in range(20):
        a, s = zeros(16, 1), zeros(dtype=np.int32)
        launched.options(choices=Choices(seed))(a, s)
        assert (a == 3).all()
        sizes.add(int(s))
    assert sizes == {8, 16}


def test_one_choices_object_makes_the_same_choices_at_each_launch() -> None:
    choices = Choices(11)
    launched = spmd("%A: memref<f32x?>, %N: memref<i32>", NUMBERED)
    results = []
    for _ in range(3):
        a = zeros(16)
        launched.options(choices=choices)(a, zeros(dtype=np.int32))
        results.append(a.tobytes())
    assert len(set(results)) == 1
    assert repr(choices) == "Choices(11)"


def test_sums_may_be_added_in_any_order() -> None:
    rng = np.random.default_rng(0)
    a = (rng.standard_normal(1000) * 10.0 ** rng.integers(-6, 6, 1000)).astype(np.float32)
    launched = kernel("%A: memref<f32x?>, %B: memref<f32>", "sum %one, %A, %zero, %B")
    found = set()
    for seed in range(20):
        b = zeros()
        launched.options(choices=Choices(seed))(a, b)
        np.testing.assert_allclose(b, a.sum(dtype=np.float64), rtol=1e-5, atol=np.abs(a).sum() * 1e-6)
        found.add(float(b))
    assert len(found) > 1


def test_the_order_of_a_reduction_is_a_choice() -> None:
    a = (np.arange(16) * 7 % 11 + 1).astype(np.float32) ** 5 / 7
    launched = spmd(
        "%A: memref<f32x?>, %B: memref<f32>",
        "%x = load %A[%item] : f32\n%y = subgroup_reduce_add %x : f32\n%first = equal %item, %c0 : bool\n"
        "if %first {\nstore %y, %B[]\n}",
    )
    found = set()
    for seed in range(20):
        b = zeros()
        launched.options(choices=Choices(seed))(a, b)
        np.testing.assert_allclose(b, a[:8].sum(), rtol=1e-5)
        found.add(float(b))
    assert len(found) > 1


@pytest.mark.parametrize("type", ["f32", "i8", "bf16"])
@pytest.mark.parametrize("use", ["matrix_a", "matrix_b", "matrix_acc"])
def test_components_go_where_they_come_from_whatever_the_subgroup_size(type: str, use: str) -> None:
    tile = f"coopmatrix<{type}x64x5,{use}>"
    constant = "0" if type == "i8" else "0.0"
    body = (
        f"parallel {{\n%m = cooperative_matrix_load %A[%c0, %c0] : {tile}\n%n = constant {constant} : {tile}\n"
        f"%x = cooperative_matrix_extract %m[2] : {type}\n%r = cooperative_matrix_insert %x, %n[2] : {tile}\n"
        f"{FIRST}cooperative_matrix_store %r, %B[%c0, %c0]\n}}\n}}\n%s = subgroup_size : i32\nstore %s, %S[]"
    )
    launched = kernel(f"%A: memref<{type}x64x5>, %B: memref<{type}x64x5>, %S: memref<i32>", body, "")
    a = (np.arange(320) % 100 + 1).reshape(64, 5, order="F").astype(dtype(NUMBERS[type]))
    for seed in range(20):
        b, size = np.zeros_like(a), zeros(dtype=np.int32)
        launched.options(choices=Choices(seed))(a, b, size)
        moved = b.astype(float) != 0
        assert np.count_nonzero(moved) == size
        assert (b[moved] == a[moved]).all()


# --- threads and memory ----------------------------------------------------------------------------


def test_python_threads_launch_at_once() -> None:
    body = "%g = group_id.x : index\n%v = subview %A[0:8, %g] : memref<f32x8>\nfor %k=%c0,%c4 {\n"
    launched = kernel("%A: memref<f32x8x?>", body + "axpby %one, %v, %one, %v\n}")
    broken = spmd("%A: memref<f32x?>", "%x = load %A[%item] : f32")
    failed: list[str] = []

    def work(number: int) -> None:
        for _ in range(5):
            a = np.full((8, 50), number, np.float32, order="F")
            launched[50](a)
            if not (a == 16 * number).all():
                failed.append(f"thread {number}: {a}")
            try:
                broken(zeros(number))
                failed.append(f"thread {number}: nothing found")
            except girih.KernelError as error:
                if error.findings[0].count != 16 - number:
                    failed.append(str(error))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


SPMD_COPY = "%g = group_id.x : index\nfor %k=%lane,%rows,%eight {\n%x = load %A[%k, %g] : f32\n" + "\n".join(
    [f"%x{i} = add %x, %x : f32" for i in range(40)] + ["store %x39, %B[%k, %g]\n}"]
)
COLLECTIVE_COPY = "axpby %one, %A, %one, %B"
TILE_COPY = (
    "%g = group_id.x : index\nfor %k=%c0,%rows,%eight {\n"
    "%t = cooperative_matrix_load.both_checked %A[%k, %g] : coopmatrix<f32x64x64,matrix_acc>\n"
    "%u = cooperative_matrix_apply (%i, %j, %e)=%t -> coopmatrix<f32x64x64,matrix_acc> {\n"
    "%y = add %e, %e : f32\nyield (%y)\n}\ncooperative_matrix_store.both_checked %u, %B[%k, %g]\n}"
)


@pytest.mark.parametrize(
    ("body", "all_items", "grid"),
    [(SPMD_COPY, True, 4096), (COLLECTIVE_COPY, False, 40), (COLLECTIVE_COPY, False, 1), (TILE_COPY, True, 300)],
)
def test_a_big_launch_needs_four_times_the_arrays_and_a_little_more(body: str, all_items: bool, grid: int) -> None:
    a = fortran(64, 4096) if grid > 100 else fortran(1024, 2048)
    b = zeros(*a.shape)
    launched = (spmd if all_items else kernel)("%A: memref<f32x?x?>, %B: memref<f32x?x?>, %rows: index", body)
    tracemalloc.start()
    launched.options(races=False)[grid](a, b, 64)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * (a.nbytes + b.nbytes) + 100 * 2**20
    assert b.any()


def test_a_long_kernel_runs_in_smaller_batches() -> None:
    short = spmd("%A: memref<f32x?>", "%x = load %A[%c0] : f32")
    many = "\n".join(f"%x{i} = load %A[%c0] : f32" for i in range(5000))
    long = spmd("%A: memref<f32x?>", many)
    geometry = LaunchGeometry((1, 1, 1), (16, 1), 8)
    assert run.batch_size(long.ir, geometry) * 16 * 5000 * 4 <= 16 * 2**20
    assert run.batch_size(long.ir, geometry) < run.batch_size(short.ir, geometry) // 10
