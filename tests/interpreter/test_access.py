"""What is written where: indices at the ends of their type, and the memory of what was written."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from tests.interpreter.launching import ONE_SUBGROUP, findings, fortran, kernel, spmd, zeros

FAR = [-(2**63), -(2**62), -(2**32), -1, 2**32, 2**62, 2**63 - 1]
TILE = "coopmatrix<f32x8x4,matrix_acc>"


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("mode", [0, 1])
def test_no_index_wraps_around_into_an_array(far: int, mode: int, varying: bool) -> None:
    indices = ["%c1", "%c1"]
    indices[mode] = "%i"
    where = ", ".join(indices)
    body = f"%w = mul %item, %k : index\n%i = add %n, %w : index\n%x = load %A[{where}] : f32\nstore %one, %A[{where}]"
    view = np.zeros((64, 64), np.float32, order="F")[::4, ::2]
    before = view.tobytes()
    parameters = "%A: memref<f32x?x?,strided<?,?>>, %n: index, %k: index"
    found = findings(spmd(parameters, body), view, far, int(varying) * 2**44)
    assert {f.code for f in found} == {"run.out_of_bounds"}
    index = (far, 1) if mode == 0 else (1, far)
    assert found[0].index == index
    assert found[0].shape == (16, 32)
    assert view.tobytes() == before


@pytest.mark.parametrize("far", FAR)
def test_no_slice_wraps_around_into_an_array(far: int) -> None:
    body = "%v = subview %A[0:4, %n:4] : memref<f32x4x4,strided<?,?>>\nstore %one, %v[%c0, %c0]\n"
    body += "%w = subview %A[0:4, %item:%n] : memref<f32x4x?,strided<?,?>>\nstore %one, %w[%c0, %c0]"
    a = zeros(64, 64)
    found = findings(spmd("%A: memref<f32x?x?,strided<?,?>>, %n: index", body), a, far)
    assert [f.code for f in found] == ["run.subview", "run.subview"]
    assert not a.any()


@pytest.mark.parametrize("far", FAR)
def test_no_group_index_wraps_around(far: int) -> None:
    body = "%m = load %G[%n] : memref<f32x4>\nstore %one, %m[%c0]"
    (found,) = findings(spmd("%G: group<memref<f32x4>x?>, %n: index", body), [zeros(4), zeros(4)], far)
    assert (found.code, found.index, found.shape) == ("run.out_of_bounds", (far,), (2,))


WRITES = {
    "store": ("parallel {\n%l = subgroup_local_id : i32\n%i = cast %l : index\nfor %j=%c0,%c2 {\n"
              "store %one, %m[%i, %j]\n}\n}", 2),
    "atomic store": ("parallel {\n%l = subgroup_local_id : i32\n%i = cast %l : index\n"
                     "atomic_store %one, %m[%i, %c0]\n}", 1),
    "tile": (f"parallel {{\n%t = constant 1.0 : {TILE}\ncooperative_matrix_store %t, %m[%c0, %c0]\n}}", 4),
    "checked tile": (f"parallel {{\n%t = constant 1.0 : {TILE}\n"
                     "cooperative_matrix_atomic_store.both_checked %t, %m[%c0, %c0]\n}", 4),
    "collective": ("%v = subview %m[0:8, 0:3] : memref<f32x8x3,local>\n%a = subview %A[0:8, 0:3] : memref<f32x8x3>\n"
                   "axpby %one, %a, %zero, %v", 3),
    "collective atomic": ("%v = subview %m[0:8, 0:3] : memref<f32x8x3,local>\n"
                          "%a = subview %A[0:8, 0:3] : memref<f32x8x3>\naxpby.atomic %one, %a, %zero, %v", 3),
    "nothing": ("", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(WRITES))
def test_exactly_what_was_written_may_be_read(name: str) -> None:
    writes, columns = WRITES[name]
    for read in range(1, 6):
        body = (
            f"%m = alloca : memref<f32x8x6,local>\n{writes}\n"
            f"%r = subview %m[0:8, 0:{read}] : memref<f32x8x{read},local>\n"
            f"%g = group_id.x : index\n%b = subview %B[0:8, 0:{read}, %g] : memref<f32x8x{read}>\n"
            "axpby %one, %r, %zero, %b\n"
        )
        launched = kernel("%A: memref<f32x8x6>, %B: memref<f32x8x6x3>", body, ONE_SUBGROUP)
        if read <= columns:
            launched[3](np.ones((8, 6), np.float32, order="F"), zeros(8, 6, 3))
            continue
        (found,) = findings(launched, zeros(8, 6), zeros(8, 6, 3), grid=3)
        assert (found.code, found.argument, found.count) == ("run.uninitialized", "m", 3)
        assert found.index == (0, columns)


def test_a_masked_store_writes_for_its_work_items_only() -> None:
    body = """
    %low = less_than %lane, %c4 : bool
    if %low {
      store %one, %A[%item]
    }
    %x = load %A[%item] : f32
    """
    (found,) = findings(spmd("%A: memref<f32x?>", body), girih.uninitialized(zeros(16)))
    assert (found.code, found.index, found.lane, found.count) == ("run.uninitialized", (4,), 4, 8)


def test_uninitialized_members_of_groups() -> None:
    members = [fortran(4), fortran(4)]
    body = "%m = load %G[%c1] : memref<f32x4>\nstore %one, %m[%c2]\n%x = load %m[%c2] : f32\n%y = load %m[%c1] : f32"
    group = girih.Group([members[0], girih.uninitialized(members[1])])
    (found,) = findings(kernel("%G: group<memref<f32x4>x?>", body), group)
    assert (found.code, found.argument, found.index) == ("run.uninitialized", "G", (1,))
    assert members[1].tolist() == [0, 1, 2, 3]


def test_what_a_launch_did_not_write_keeps_its_contents() -> None:
    a = fortran(4)
    kernel("%A: memref<f32x4>", "store %one, %A[%c2]")(girih.uninitialized(a))
    assert a.tolist() == [0, 1, 1, 3]


def test_after_an_offending_load_the_value_is_zero_and_an_offending_store_is_dropped() -> None:
    """Seen by what a later division says: it would find a divisor of 0."""
    body = """
    %zero_number = constant 0 : i32
    %unit = constant 1 : i32
    %twelve = constant 12 : index
    %x = load %A[%item] : i32
    store %zero_number, %A[%item]
    %past = greater_than_equal %item, %twelve : bool
    if %past {
      %y = add %x, %unit : i32
      %q = div %unit, %y : i32
      %first = load %B[%c0] : i32
      %r = div %unit, %first : i32
    }
    """
    a = np.full(12, -1, np.int32)
    body = body.replace("%first = load", "store %zero_number, %B[%item]\n%first = load")
    found = findings(spmd("%A: memref<i32x?>, %B: memref<i32x?>", body), a, np.full(12, 7, np.int32))
    assert [(f.code, f.count) for f in found] == [("run.out_of_bounds", 4)] * 3
    assert (a == -1).all()


def test_an_access_outside_is_not_called_a_read_of_unwritten_memory_as_well() -> None:
    body = """
    %some = greater_than %item, %c0 : bool
    if %some {
      store %one, %A[%item]
      %x = load %A[%item] : f32
    }
    """
    found = findings(spmd("%A: memref<f32x?>", body), girih.uninitialized(zeros(12)))
    assert [(f.code, f.count) for f in found] == [("run.out_of_bounds", 4)] * 2


def test_what_other_work_groups_hold_need_not_be_uniform() -> None:
    body = """
  %g = group_id.x : index
  %n = cast %g : i64
  %k = constant 1 : i64
  %old = atomic_add.device %k, %N[] : i64
  %mixed = mul %old, %n : i64
  %x = cast %mixed : f32
  %first = equal %g, %c0 : bool
  if %first {
    axpby %x, %A, %one, %A
  }
    """
    a = fortran(4)
    kernel("%N: memref<i64>, %A: memref<f32x4>", body)[5](zeros(dtype=np.int64), a)
    assert (a == fortran(4)).all()


def test_a_tile_is_stored_by_the_subgroups_that_come_to_it() -> None:
    body = f"""
    %second = equal %subgroup, %c1 : bool
    %x = cast %subgroup_number : f32
    %t = cooperative_matrix_construct %x : {TILE}
    if %second {{
      %row = mul %subgroup, %eight : index
      cooperative_matrix_store %t, %A[%row, %c0]
      %o = cooperative_matrix_atomic_add %t, %A[%row, %c0] : {TILE}
    }} else {{
      cooperative_matrix_atomic_store.both_checked %t, %B[%c0, %c0]
    }}
    """
    a, b = np.full((16, 4), 9, np.float32, order="F"), np.full((8, 4), 9, np.float32, order="F")
    spmd("%A: memref<f32x16x4>, %B: memref<f32x8x4>", body)(a, b)
    assert (a[:8] == 9).all()
    assert (a[8:] == 2).all()
    assert (b == 0).all()
