"""Loops over memory: loads under way at once, gathers, points one after the other, lines, offsets that are sums."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import girih
from girih.ir.core import Function
from tests.back.harness import Failed
from tests.back.nvptx.launch import PtxMachineKernel
from tests.cases import every_case

GATHER = """
func @gather(%X: memref<f32x?>, %P: memref<i32x?>, %Y: memref<f32x?>) {
    %zero = constant 0 : index
    %length = size %P[0] : index
    foreach (%i) = (%zero), (%length) {
        %place = load %P[%i] : i32
        %p = cast %place : index
        %x = load %X[%p] : f32
        store %x, %Y[%i]
    }
}
"""
LENGTH = 1003


def _function(text: str) -> Function:
    (function,) = girih.parse(text).functions
    return function


def _ptx(kernel: PtxMachineKernel) -> str:
    return next(iter(kernel._made.values()))[0].ptx


def _aligned(count: int, type: type, beyond: int = 0) -> np.ndarray:
    """An array that begins so many elements behind a multiple of 16 bytes."""
    size = np.dtype(type).itemsize
    room: np.ndarray = np.zeros(count + 2 * 16 // size + beyond, type)
    begin = -room.ctypes.data // size % (16 // size) + beyond
    return room[begin : begin + count]


@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("beyond", [0, 1])
def test_elements_at_places_from_memory(checks: bool, beyond: int) -> None:
    kernel = PtxMachineKernel(_function(GATHER), checks=checks)
    random = np.random.default_rng(3)
    x = random.standard_normal(257).astype(np.float32)
    places, y = _aligned(LENGTH, np.int32, beyond), _aligned(LENGTH, np.float32, beyond)
    places[:] = random.integers(0, 257, LENGTH)
    kernel((1, 1, 1), x, places, y)
    np.testing.assert_array_equal(y, x[places])


def test_places_are_read_16_bytes_at_once_and_elements_from_global_memory() -> None:
    ptx = _ptx(PtxMachineKernel(_function(GATHER)))
    assert "ld.global.nc.v4.b32" in ptx
    assert not re.search(r"\sld\.b32", ptx), "an address whose memory is not known costs more than one that is"


@pytest.mark.parametrize("wrong", [-1, 257, 2**31 - 1])
def test_each_of_several_places_is_checked(wrong: int) -> None:
    kernel = PtxMachineKernel(_function(GATHER))
    x, y = np.zeros(257, np.float32), _aligned(LENGTH, np.float32)
    with every_case() as case:
        for at in (0, 1, 2, 3, 517, LENGTH - 1):
            with case(f"element {at}"):
                places = _aligned(LENGTH, np.int32)
                places[at] = wrong
                with pytest.raises(Failed) as raised:
                    kernel((1, 1, 1), x, places, y)
                assert raised.value.code == "run.out_of_bounds"


COUNTS = """
func @counts(%X: memref<i32x?>, %H: memref<i32x16>, %first: index) {
    %length = size %X[0] : index
    %zero = constant 0 : i32
    %bins = constant 16 : i32
    foreach (%i) = (%first), (%length) {
        %x = load %X[%i] : i32
        %low = greater_than_equal %x, %zero : bool
        %high = less_than %x, %bins : bool
        %inside = and %low, %high : bool
        if %inside {
            %bin = cast %x : index
            %one = constant 1 : i32
            %old = atomic_add.device %one, %H[%bin] : i32
        }
    }
}
"""


@pytest.mark.parametrize("checks", [True, False])
def test_points_with_branches_share_wide_loads(checks: bool) -> None:
    kernel = PtxMachineKernel(_function(COUNTS), checks=checks)
    assert "ld.global.nc.v4.b32" in _ptx(kernel)
    x = _aligned(LENGTH, np.int32)
    x[:] = np.random.default_rng(5).integers(-3, 20, LENGTH)
    with every_case() as case:
        for first in (0, 4, 5, LENGTH - 2, LENGTH):
            with case(f"from {first} on"):
                counts = np.zeros(16, np.int32)
                kernel((1, 1, 1), x, counts, first)
                inside = x[first:][(x[first:] >= 0) & (x[first:] < 16)]
                np.testing.assert_array_equal(counts, np.bincount(inside, minlength=16))


SUMS = """
func @sums(%X: memref<f32x?>, %Y: memref<f32x32>, %step: index) attributes {subgroup_size=32, work_group_size=[32,1]} {
    %length = size %X[0] : index
    parallel {
        %lane = subgroup_local_id : i32
        %first = cast %lane : index
        %lanes = constant 32 : index
        %zero = constant 0.0 : f32
        %sum = for %i = %first, %length, STEP init (%s=%zero) -> (f32) {
            %x = load %X[%i] : f32
            %next = add %s, %x : f32
            yield (%next)
        }
        store %sum, %Y[%first]
    }
}
"""


@pytest.mark.parametrize("step", ["%lanes", "%step"])
@pytest.mark.parametrize("checks", [True, False])
def test_sums_of_any_length_keep_their_order(step: str, checks: bool) -> None:
    kernel = PtxMachineKernel(_function(SUMS.replace("STEP", step)), checks=checks)
    random = np.random.default_rng(7)
    with every_case() as case:
        for length in (0, 1, 31, 32, 33, 255, 256, 257, 600, 32 * 17):
            with case(f"length {length}"):
                x, y = random.standard_normal(length).astype(np.float32), np.zeros(32, np.float32)
                kernel((1, 1, 1), x, y, 32)
                wanted = np.zeros(32, np.float32)
                for begin in range(0, length, 32):
                    piece = x[begin : begin + 32]
                    wanted[: len(piece)] += piece
                np.testing.assert_array_equal(y, wanted)


def test_sixteen_loads_of_a_loop_are_under_way() -> None:
    """Loads of later iterations stand right behind each other: no branch is between them, with checks too."""
    ptx = _ptx(PtxMachineKernel(_function(SUMS.replace("STEP", "%lanes"))))
    blocks = re.split(r"^\$L|\bbra\b", ptx, flags=re.MULTILINE)
    assert max(block.count("ld.global.nc.b32") for block in blocks) == 16


LINES = """
func @lines(%X: memref<f32x?x?>, %Y: memref<f32x?x?>, %a: index, %b: index, %c: index, %d: index)
        attributes {subgroup_size=32, work_group_size=[128,1]} {
    %two = constant 2 : index
    foreach (%i, %j) = (%a, %b), (%c, %d) {
        %x = load %X[%i, %j] : f32
        %jj = add %j, %two : index
        %y = load %X[%i, %jj] : f32
        %z = add %x, %y : f32
        store %z, %Y[%i, %j]
    }
}
"""


@pytest.mark.parametrize("checks", [True, False])
def test_lines_of_any_number_and_length(checks: bool) -> None:
    kernel = PtxMachineKernel(_function(LINES), checks=checks)
    random = np.random.default_rng(9)
    with every_case() as case:
        for rows, columns in (
            (32, 32),
            (31, 7),
            (1, 40),
            (40, 1),
            (130, 3),
            (520, 5),
            (516, 9),
            (4, 4),
            (0, 5),
            (5, 0),
        ):
            for a, b in ((0, 0), (4, 1), (3, 2)):
                with case(f"{rows} x {columns} from {a}, {b}"):
                    x = np.asfortranarray(random.standard_normal((rows, columns + 2)).astype(np.float32))
                    y = np.zeros((rows, columns), np.float32, order="F")
                    kernel((1, 1, 1), x, y, a, b, rows, columns)
                    wanted = np.zeros_like(y)
                    wanted[a:, b:] = x[a:, b:-2] + x[a:, b + 2 :]
                    np.testing.assert_array_equal(y, wanted)


def test_lines_that_end_outside_are_found() -> None:
    kernel = PtxMachineKernel(_function(LINES))
    x, y = (np.zeros((40, 40), np.float32, order="F") for _ in range(2))
    with pytest.raises(Failed) as raised:
        kernel((1, 1, 1), x, y, 0, 0, 40, 39)
    assert raised.value.code == "run.out_of_bounds"


STAR = """
func @star(%U: memref<f32x?x?x?>, %V: memref<f32x?x?x?>) attributes {grid=[size(%V, 2)]} {
    %zero = constant 0 : index
    %one = constant 1 : index
    %three = constant 3 : index
    %nx = size %V[0] : index
    %ny = size %V[1] : index
    %k = group_id.x : index
    %two = constant 2 : index
    %kk = add %k, %two : index
    %part = subview %U[%two:%nx, %two:%ny, %kk] : memref<f32x?x?, strided<1,?>>
    foreach (%i, %j) = (%zero, %zero), (%nx, %ny) {
        %ii = add %i, %two : index
        %jj = sub %j, %zero : index
        %jp = add %jj, %two : index
        %middle = load %part[%i, %j] : f32
        %sum = for %d = %one, %three init (%s=%middle) -> (f32) {
            %left = sub %ii, %d : index
            %back = add %jp, %d : index
            %below = sub %kk, %d : index
            %a = load %U[%left, %jp, %kk] : f32
            %b = load %U[%ii, %back, %kk] : f32
            %c = load %U[%ii, %jp, %below] : f32
            %ab = add %a, %b : f32
            %abc = add %ab, %c : f32
            %next = add %s, %abc : f32
            yield (%next)
        }
        store %sum, %V[%i, %j, %k]
    }
}
"""


@pytest.mark.parametrize("checks", [True, False])
def test_offsets_that_are_sums_of_indices(checks: bool) -> None:
    kernel = PtxMachineKernel(_function(STAR), checks=checks)
    nx, ny, nz = 37, 9, 3
    u = np.asfortranarray(np.random.default_rng(11).standard_normal((nx + 4, ny + 4, nz + 4)).astype(np.float32))
    v = np.zeros((nx, ny, nz), np.float32, order="F")
    kernel((nz, 1, 1), u, v)
    inner = [slice(2, n + 2) for n in (nx, ny, nz)]
    wanted = u[tuple(inner)].copy()
    for d in (1, 2):
        a = u[2 - d : nx + 2 - d, inner[1], inner[2]]
        b = u[inner[0], 2 + d : ny + 2 + d, inner[2]]
        wanted = wanted + ((a + b) + u[inner[0], inner[1], 2 - d : nz + 2 - d])
    np.testing.assert_array_equal(v, wanted)


EXPONENTIALS = """
func @exponentials(%X: memref<f32x?>, %Y: memref<f32x?>, %Z: memref<f32x?>) {
    %zero = constant 0 : index
    %length = size %X[0] : index
    foreach (%i) = (%zero), (%length) {
        %x = load %X[%i] : f32
        %y = exp %x : f32
        store %y, %Y[%i]
        %z = exp2 %x : f32
        store %z, %Z[%i]
    }
}
"""
SPECIAL = (0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, 88.72283, 88.72284, -87.3, -87.4, -103.97, -104.1, 128.0,
           127.99999, -126.0, -126.5, -149.0, -150.1, 3e38, -3e38, 88.3, 88.4)  # fmt: skip


def test_exponentials_are_within_1_ulp_where_powers_are_exact() -> None:
    """The instruction itself is right to the last bit on the machine; on a GPU it has up to 2 ulp more."""
    kernel = PtxMachineKernel(_function(EXPONENTIALS), checks=False)
    random = np.random.default_rng(13)
    x = np.concatenate([np.array(SPECIAL, np.float32), random.uniform(-110, 92, 4000), random.uniform(-152, 130, 4000),
                        random.uniform(-1, 1, 1000)]).astype(np.float32)  # fmt: skip
    y, z = np.zeros_like(x), np.zeros_like(x)
    kernel((1, 1, 1), x, y, z)
    with np.errstate(over="ignore", invalid="ignore"):
        for name, got, exact in (("exp", y, np.exp(x.astype(np.float64))), ("exp2", z, np.exp2(x.astype(np.float64)))):
            near = exact.astype(np.float32)
            np.testing.assert_array_equal(np.isnan(got), np.isnan(near), err_msg=name)
            np.testing.assert_array_equal(np.isinf(got), np.isinf(near), err_msg=name)
            finite = np.isfinite(near)
            ulp = np.spacing(np.abs(near[finite])).astype(np.float64)
            assert np.max(np.abs(got[finite] - exact[finite]) / ulp) <= 1.0, name


RUNNING = """
func @running(%X: memref<f32x?>, %Y: memref<f32x?>, %end: index) attributes {subgroup_size=32, work_group_size=[64,1]} {
    parallel {
        %lane = subgroup_local_id : i32
        %offset = cast %lane : index
        %zero = constant 0 : index
        %lanes = constant 32 : index
        %nothing = constant 0.0 : f32
        %all = for %row = %zero, %end, %lanes init (%carry=%nothing) -> (f32) {
            %i = add %row, %offset : index
            %exists = less_than %i, %end : bool
            %x = if %exists -> (f32) {
                %element = load %X[%i] : f32
                yield (%element)
            } else {
                yield (%nothing)
            }
            %scanned = subgroup_inclusive_scan_add %x : f32
            %y = add %carry, %scanned : f32
            if %exists {
                store %y, %Y[%i]
            }
            %sum = subgroup_reduce_add %x : f32
            %next = add %carry, %sum : f32
            yield (%next)
        }
    }
}
"""


@pytest.mark.parametrize("checks", [True, False])
def test_loops_in_which_threads_meet_load_several_iterations_ahead(checks: bool) -> None:
    kernel = PtxMachineKernel(_function(RUNNING), checks=checks)
    meetings = _ptx(kernel).split("shfl.sync")
    assert max(piece.count("ld.global.nc.b32") for piece in meetings) >= 4
    random = np.random.default_rng(17)
    with every_case() as case:
        for length in (0, 1, 31, 32, 100, 127, 128, 129, 160, 300):
            with case(f"length {length}"):
                x = random.integers(-9, 9, length).astype(np.float32)
                y = np.zeros_like(x)
                kernel((1, 1, 1), x, y, length)
                np.testing.assert_array_equal(y, np.cumsum(x))
                # In place nothing is loaded before what may be stored there.
                same = x.copy()
                kernel((1, 1, 1), same, same, length)
                np.testing.assert_array_equal(same, np.cumsum(x))


def test_a_subgroup_takes_one_version_of_a_loop_in_which_it_meets() -> None:
    """The end is beyond the elements, for some threads only."""
    kernel = PtxMachineKernel(_function(RUNNING))
    assert "vote.sync.all" in _ptx(kernel)
    x, y = np.zeros(100, np.float32), np.zeros(120, np.float32)
    with pytest.raises(Failed) as raised:
        kernel((1, 1, 1), x, y, 110)
    assert raised.value.code == "run.out_of_bounds"


ROWS = """
func @rows(%X: memref<f32x?x?> {alignment=16, stride_gcd=[1, 4]}, %Y: memref<f32x?>)
        attributes {subgroup_size=32, work_group_size=[32, 1] HINT} {
    %zero = constant 0 : index
    %four = constant 4 : index
    %lanes = constant 32 : index
    %none = constant 0.0 : f32
    %rows = size %X[1] : index
    parallel {
        %lane = subgroup_local_id : i32
        %own = cast %lane : index
        %begin = mul %own, %four : index
        %sum = for %row = %zero, %rows init (%s=%none) -> (f32) {
            %part = for %k = %zero, %four init (%p=%none) -> (f32) {
                %i = add %begin, %k : index
                %x = load %X[%i, %row] : f32
                %next = add %p, %x : f32
                yield (%next)
            }
            %more = add %s, %part : f32
            yield (%more)
        } UNROLL
        store %sum, %Y[%own]
    }
}
"""


def _rows(hint: str = "", unroll: str = "", checks: bool = False) -> PtxMachineKernel:
    return PtxMachineKernel(_function(ROWS.replace("HINT", hint).replace("UNROLL", unroll)), checks=checks)


@pytest.mark.parametrize("rows", [0, 1, 7, 18])
@pytest.mark.parametrize("unroll", ["", "attributes {unroll=2}", "attributes {unroll=false}", "attributes {unroll=-3}"])
def test_neighbours_that_a_work_item_loads_one_after_the_other(rows: int, unroll: str) -> None:
    x, y = _aligned(128 * max(rows, 1), np.float32).reshape(128, -1, order="F")[:, :rows], np.ones(32, np.float32)
    x[:] = np.random.default_rng(rows).integers(-9, 9, x.shape)
    for checks in (True, False):
        _rows(unroll=unroll, checks=checks)((1, 1, 1), x, y)
        np.testing.assert_array_equal(y, x.reshape(32, 4, rows).sum((1, 2)))


def test_neighbours_are_loaded_at_once_and_several_rows_are_under_way() -> None:
    """The loop over neighbours is written out, so that the one around it has no loop in it."""

    def loads(unroll: str) -> list[int]:
        ptx = _ptx(_rows(unroll=unroll))
        return [len(re.findall(rf"ld\.global\.nc{width}\s", ptx)) for width in (r"\.b32", r"\.v4\.b32")]

    # Those of so many rows at a time, and one for the rows that are left.
    assert loads("") == [0, 5]
    assert loads("attributes {unroll=2}") == [0, 3]
    assert loads("attributes {unroll=false}") == loads("attributes {unroll=1}") == [0, 1]


def test_strides_that_promise_nothing_keep_elements_apart() -> None:
    text = ROWS.replace("HINT", "").replace("UNROLL", "").replace(", stride_gcd=[1, 4]", "")
    assert ".v4" not in _ptx(PtxMachineKernel(_function(text), checks=False))


def test_a_kernel_asks_for_room_for_work_groups() -> None:
    assert ".minnctapersm 8" in _ptx(_rows(", hopper={resident=8}"))
    assert ".minnctapersm" not in _ptx(_rows())


def test_the_version_of_a_loop_with_checks_is_short() -> None:
    assert _ptx(_rows(checks=True)).count('.pragma "nounroll"') >= 1
    assert len(re.findall(r"ld\.global\.nc\.b32\s", _ptx(_rows(checks=True)))) == 1
