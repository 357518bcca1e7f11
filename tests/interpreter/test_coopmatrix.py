"""Tiles against loops over their elements: position, transpose, checks, strides, atomics, reductions, element types."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from girih.interpreter.machine.choices import Choices
from tests.cases import crossed
from tests.interpreter.launching import ONE_SUBGROUP, Array, findings, fortran, kernel, spmd, zeros

ROWS, COLUMNS = 8, 4
TILE = f"coopmatrix<f32x{ROWS}x{COLUMNS},matrix_acc>"
CHECKS = {"": (False, False), ".rows_checked": (True, False), ".cols_checked": (False, True),
          ".both_checked": (True, True)}  # fmt: skip
POSITIONS = [(0, 0), (2, 1), (5, 7), (-1, 0), (0, -2), (-3, -3), (4, 0), (0, 6), (20, 20), (-20, 3),
             (2**63 - 3, 0), (0, -(2**63))]  # fmt: skip


def reach(position: tuple[int, int], shape: tuple[int, ...], transpose: bool, check: str) -> tuple[dict[Any, Any], int]:
    """Which element of the memref each element of the tile is, and how many are outside without a check."""
    places, wrong = {}, 0
    check_rows, check_columns = CHECKS[check]
    for i, j in product(range(ROWS), range(COLUMNS)):
        p, q = (position[0] + j, position[1] + i) if transpose else (position[0] + i, position[1] + j)
        row_inside, column_inside = 0 <= p < shape[0], 0 <= q < shape[1]
        if transpose:
            row_inside, column_inside = column_inside, row_inside
        if (check_rows and not row_inside) or (check_columns and not column_inside):
            continue
        if row_inside and column_inside:
            places[i, j] = p, q
        else:
            wrong += 1
    return places, wrong


@pytest.mark.parametrize(
    ("position", "transpose", "atomic", "check"), crossed(POSITIONS, [False, True], ["", "atomic_"], sorted(CHECKS))
)
def test_loads_and_stores(atomic: str, transpose: bool, check: str, position: tuple[int, int]) -> None:
    flags = (".t" if transpose else ".n") + check
    a = (np.arange(130, dtype=np.float32).reshape(13, 10, order="F") + 1)[:11, ::2]
    m, out = fortran(ROWS, COLUMNS) + 500, zeros(ROWS, COLUMNS)
    places, wrong = reach(position, a.shape, transpose, check)
    load = spmd(
        "%A: memref<f32x?x?,strided<?,?>>, %B: memref<f32x?x?>, %r: index, %c: index",
        f"%t = cooperative_matrix_{atomic}load{flags} %A[%r, %c] : {TILE}\ncooperative_matrix_store %t, %B[%c0, %c0]",
        ONE_SUBGROUP,
    )
    store = spmd(
        "%A: memref<f32x?x?,strided<?,?>>, %B: memref<f32x?x?>, %r: index, %c: index",
        f"%t = cooperative_matrix_load %B[%c0, %c0] : {TILE}\ncooperative_matrix_{atomic}store{flags} %t, %A[%r, %c]",
        ONE_SUBGROUP,
    )
    if wrong:
        for launched in (load, store):
            before = a.tobytes()
            (found,) = findings(launched, a, m.copy(order="F"), *position)
            assert found.code == "run.out_of_bounds"
            assert found.shape == a.shape
            assert a.tobytes() == before
        return
    load(a, out, *position)
    expected = zeros(ROWS, COLUMNS)
    stored = a.copy()
    for (i, j), (p, q) in places.items():
        expected[i, j] = a[p, q]
        stored[p, q] = m[i, j]
    assert (out == expected).all()
    store(a, m, *position)
    assert (a == stored).all()


@pytest.mark.parametrize("check", sorted(CHECKS))
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("seed", [None, 1])
def test_atomic_updates(seed: int | None, transpose: bool, check: str) -> None:
    flags = (".t" if transpose else ".n") + check
    position = (2, 1)
    body = f"%t = cooperative_matrix_load %B[%c0, %c0] : {TILE}\n"
    body += f"%o = cooperative_matrix_atomic_add{flags} %t, %A[%c2, %c1] : {TILE}\n"
    body += "%row = mul %subgroup, %eight : index\ncooperative_matrix_store %o, %O[%row, %c0]"
    a = zeros(11, 10)
    m, old = fortran(ROWS, COLUMNS) + 1, zeros(16, COLUMNS)
    spmd("%A: memref<f32x?x?>, %B: memref<f32x?x?>, %O: memref<f32x?x?>", body).options(choices=Choices(seed))(
        a, m, old
    )
    places, _ = reach(position, a.shape, transpose, check)
    expected = zeros(11, 10)
    for (i, j), (p, q) in places.items():
        expected[p, q] = 2 * m[i, j]
        assert sorted((old[i, j], old[i + 8, j])) == [0, m[i, j]]
    assert (a == expected).all()


@pytest.mark.parametrize("inside", [True, False])
def test_tiles_at_places_that_differ_between_subgroups_and_work_groups(inside: bool) -> None:
    body = f"""
    %g = group_id.x : index
    %row = mul %subgroup, %c2 : index
    %column = mul %g, %c1 : index
    %t = cooperative_matrix_load.both_checked %A[%row, %column] : {TILE}
    %o = subview %O[0:8, 0:4, %subgroup, %g] : memref<f32x8x4>
    cooperative_matrix_store %t, %o[%c0, %c0]
    """
    a = fortran(10, 8) if inside else fortran(9, 5)
    out = zeros(8, 4, 2, 5)
    spmd("%A: memref<f32x?x?>, %O: memref<f32x8x4x?x?>", body)[5](a, out)
    wide = np.zeros((20, 20), np.float32)
    wide[: a.shape[0], : a.shape[1]] = a
    for s, g in product(range(2), range(5)):
        assert (out[:, :, s, g] == wide[2 * s : 2 * s + 8, g : g + 4]).all()


DTYPES: dict[str, Any] = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "bf16": ml_dtypes.bfloat16,
                          "f16": np.float16, "f32": np.float32, "f64": np.float64, "c32": np.complex64}  # fmt: skip


@pytest.mark.parametrize(("type", "mode"), crossed(sorted(DTYPES), ["row", "column"]))
def test_reductions(type: str, mode: str) -> None:
    rng = np.random.default_rng(5)
    a: Array = np.asfortranarray((rng.standard_normal((8, 20)) * 30).astype(DTYPES[type]))
    axis, shape = (1, "8x1") if mode == "row" else (0, "1x20")
    sums = zeros(*(int(n) for n in shape.split("x")), dtype=DTYPES[type])
    names = ["add"] if type == "c32" else ["add", "max", "min"]
    for name in names:
        body = f"%t = cooperative_matrix_load %A[%c0, %c0] : coopmatrix<{type}x8x20,matrix_acc>\n"
        body += f"%r = cooperative_matrix_reduce_{name}.{mode} %t : coopmatrix<{type}x{shape},matrix_acc>\n"
        body += "cooperative_matrix_store %r, %B[%c0, %c0]"
        spmd(f"%A: memref<{type}x?x?>, %B: memref<{type}x?x?>", body, ONE_SUBGROUP)(a, sums)
        if name == "add" and a.dtype.kind != "i":
            wide = np.complex128 if type == "c32" else np.float64
            expected = a.astype(wide).sum(axis, keepdims=True)
            tolerance = {"bf16": 1e-2, "f16": 1e-3}.get(type, 1e-5)
            np.testing.assert_allclose(sums.astype(wide), expected, rtol=tolerance, atol=tolerance)
        else:
            expected = {"add": lambda: a.sum(axis, keepdims=True, dtype=a.dtype),
                        "max": lambda: a.max(axis, keepdims=True),
                        "min": lambda: a.min(axis, keepdims=True)}[name]()  # fmt: skip
            assert (sums == expected).all()


@pytest.mark.parametrize("type", ["bf16", "f16", "f32", "f64"])
def test_a_number_wins_over_nan(type: str) -> None:
    a = np.array([[np.nan, 2, -1], [np.nan] * 3] * 4).astype(DTYPES[type])
    body = f"%t = cooperative_matrix_load %A[%c0, %c0] : coopmatrix<{type}x8x3,matrix_acc>\n"
    body += f"%r = cooperative_matrix_reduce_max.row %t : coopmatrix<{type}x8x1,matrix_acc>\n"
    body += "cooperative_matrix_store %r, %B[%c0, %c0]"
    b = zeros(8, 1, dtype=DTYPES[type])
    spmd(f"%A: memref<{type}x?x?>, %B: memref<{type}x?x?>", body, ONE_SUBGROUP)(np.asfortranarray(a), b)
    assert b.astype(float).ravel()[::2].tolist() == [2.0] * 4
    assert np.isnan(b.astype(float).ravel()[1::2]).all()


@pytest.mark.parametrize(
    ("shape", "type", "operation"),
    crossed(
        ["reduce", "inclusive_scan", "exclusive_scan"],
        [type for type in sorted(DTYPES) if type != "c32"],
        ["add", "max", "min"],
    ),
)
def test_subgroup_operations_round_at_each_step(shape: str, type: str, operation: str) -> None:
    dtype = np.dtype(DTYPES[type])
    rng = np.random.default_rng(6)
    a = (rng.standard_normal(16) * 100).astype(dtype)
    b = np.zeros(16, dtype)
    body = f"%x = load %A[%item] : {type}\n%y = subgroup_{shape}_{operation} %x : {type}\nstore %y, %B[%item]"
    spmd(f"%A: memref<{type}x?>, %B: memref<{type}x?>", body)(a, b)
    step: Any = {"add": np.add, "max": np.maximum, "min": np.minimum}[operation]
    for first in (0, 8):
        scan = [a[first]]
        with np.errstate(over="ignore"):
            for x in a[first + 1 : first + 8]:
                scan.append(step(scan[-1], x))
        if shape == "reduce":
            scan = scan[-1:] * 8
        if shape == "exclusive_scan":
            low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind == "i" else (-np.inf, np.inf)
            start: Any = {"add": 0, "max": low, "min": high}[operation]
            scan = [dtype.type(start), *scan[:-1]]
        assert b[first : first + 8].tolist() == [x.item() for x in scan]


@pytest.mark.parametrize("lane", range(8))
def test_broadcasts(lane: int) -> None:
    a = zeros(16, dtype=np.int64)
    body = "%x = subgroup_broadcast %item, %n : index\nstore %x, %A[%item]"
    spmd("%A: memref<index x ?>, %n: i32", body)(a, lane)
    assert a.tolist() == [lane] * 8 + [8 + lane] * 8


def test_a_broadcast_from_a_lane_of_each_subgroup() -> None:
    a = zeros(16, dtype=np.int64)
    body = "%x = subgroup_broadcast %item, %subgroup_number : index\nstore %x, %A[%item]"
    spmd("%A: memref<index x ?>", body)(a)
    assert a.tolist() == [0] * 8 + [9] * 8


@pytest.mark.parametrize(
    ("a", "b", "c", "d"),
    [("i8", "i8", "i32", "i32"), ("i8", "i8", "i8", "i8"), ("f16", "f16", "f32", "f32"),
     ("bf16", "bf16", "f32", "bf16"), ("f16", "f16", "f16", "f16"), ("f32", "f32", "f32", "f64"),
     ("f32", "f64", "f64", "f32"), ("f32", "c32", "c32", "c32"), ("i8", "f32", "f32", "f32"),
     ("f32", "f32", "f32", "i32")],
)  # fmt: skip
def test_mul_add_accumulates_wide_and_rounds_once(a: str, b: str, c: str, d: str) -> None:
    rng = np.random.default_rng(8)
    types: dict[str, Any] = DTYPES
    x, y, z = (np.asfortranarray((rng.standard_normal(s) * 9).astype(types[t]))
               for s, t in (((16, 40), a), ((40, 5), b), ((16, 5), c)))  # fmt: skip
    out = zeros(16, 5, dtype=types[d])
    body = f"""
    %x = cooperative_matrix_load %A[%c0, %c0] : coopmatrix<{a}x16x40,matrix_a>
    %y = cooperative_matrix_load %B[%c0, %c0] : coopmatrix<{b}x40x5,matrix_b>
    %z = cooperative_matrix_load %C[%c0, %c0] : coopmatrix<{c}x16x5,matrix_acc>
    %r = cooperative_matrix_mul_add %x, %y, %z : coopmatrix<{d}x16x5,matrix_acc>
    cooperative_matrix_store %r, %D[%c0, %c0]
    """
    parameters = ", ".join(f"%{n}: memref<{t}x?x?>" for n, t in zip("ABCD", (a, b, c, d), strict=True))
    spmd(parameters, body, ONE_SUBGROUP)(x, y, z, out)
    wide = np.complex128 if "c" in c else np.float64
    if c.startswith("i"):
        assert (out == (x.astype(np.int64) @ y.astype(np.int64) + z).astype(types[d])).all()
        return
    expected = x.astype(wide) @ y.astype(wide) + z.astype(wide)
    scale = np.abs(expected).max()
    relative = {"f16": 1e-3, "bf16": 5e-3}.get(d, 1e-5)
    atol = 1.01 if d == "i32" else relative * scale
    np.testing.assert_allclose(out.astype(wide), expected, rtol=relative, atol=atol)


def test_tiles_of_a_group_whose_members_have_other_strides() -> None:
    members = [fortran(10, 6), np.arange(300, dtype=np.float32).reshape(30, 10, order="F")[3:15, 2:8], fortran(8, 4)]
    out = zeros(8, 4, 3)
    body = """
  %g = group_id.x : index
  %m = load %G[%g] : memref<f32x?x?,strided<1,?>>
  parallel {
    %t = cooperative_matrix_load %m[%c0, %c0] : coopmatrix<f32x8x4,matrix_acc>
    %o = subview %O[0:8, 0:4, %g] : memref<f32x8x4>
    cooperative_matrix_store %t, %o[%c0, %c0]
  }
    """
    parameters = "%G: group<memref<f32x?x?,strided<1,?>>x?>, %O: memref<f32x8x4x?>"
    kernel(parameters, body, ONE_SUBGROUP)[3](members, out)
    for g, member in enumerate(members):
        assert (out[:, :, g] == member[:8, :4]).all()
