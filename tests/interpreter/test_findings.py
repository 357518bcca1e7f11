"""Every finding: its code, the guilty line, argument, index, shape, work-group, subgroup, lane and count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import girih
from girih.api import Kernel
from girih.arguments.brackets import Grid
from girih.facts.findings import RUN_CODES
from girih.interpreter.machine.findings import KEPT
from tests.interpreter.launching import findings, fortran, kernel, spmd, veiled, zeros


@dataclass(frozen=True)
class Case:
    """A kernel with one guilty line, marked `; here`, and what is told of it."""

    code: str
    kernel: Callable[[], Kernel]
    arguments: Callable[[], list[object]]
    grid: Grid = 1
    argument: str | None = None
    index: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None
    work_group: tuple[int, int, int] | None = (0, 0, 0)
    subgroup: int | None = None
    lane: int | None = None
    count: int = 1


def in_spmd(code: str, parameters: str, body: str, arguments: Callable[[], list[object]], **told: Any) -> Case:
    return Case(code, lambda: spmd(parameters, body), arguments, **{"subgroup": 0, "lane": 0, "count": 16} | told)


def collective(code: str, parameters: str, body: str, arguments: Callable[[], list[object]], **told: Any) -> Case:
    return Case(code, lambda: kernel(parameters, body), arguments, **told)


def memory_and_its_end() -> list[object]:
    memory = zeros(8)
    return [memory, memory[6:].view(np.float64).reshape(())]


TILE = "coopmatrix<f32x8x4,matrix_acc>"
MATRIX = "coopmatrix<f32x2x2,matrix_acc>"
LAYOUT = f"""
    %m = constant 1.0 : {MATRIX}
    %t = tensor_layout_create : tensor_layout<1>
    %d = tensor_layout_set_dimension %t[4] : tensor_layout<1>
    %s = tensor_layout_slice %d[1:4] : tensor_layout<1>
    %three = tensor_layout_set_dimension %t[3] : tensor_layout<1>
"""
"""A matrix, and layouts of 4 and 3 elements; the slice goes beyond the 4."""
ITEM_PAST_12 = {"argument": "A", "index": (12,), "shape": (12,), "subgroup": 1, "lane": 4, "count": 4}
VARYING_ATOMIC = "%old = atomic_add %n, %N[] : i64\n%i = cast %old : index"

CASES = {
    "load": in_spmd("run.out_of_bounds", "%A: memref<f32x?>", "%x = load %A[%item] : f32 ; here",
                    lambda: [zeros(12)], grid=3, **{**ITEM_PAST_12, "count": 12}),
    "load from a negative index": in_spmd(
        "run.out_of_bounds", "%A: memref<f32x?>", "%i = sub %item, %c4 : index\n%x = load %A[%i] : f32 ; here",
        lambda: [zeros(16)], argument="A", index=(-4,), shape=(16,), count=4),
    "load from the second mode": in_spmd(
        "run.out_of_bounds", "%A: memref<f32x?x?>", "%x = load %A[%c1, %lane] : f32 ; here",
        lambda: [zeros(2, 6)], argument="A", index=(1, 6), shape=(2, 6), lane=6, count=4),
    "load in a collective region": collective(
        "run.out_of_bounds", "%A: memref<f32x?>", "%g = group_id.y : index\n%x = load %A[%g] : f32 ; here",
        lambda: [zeros(1)], grid=(2, 3), argument="A", index=(1,), shape=(1,), work_group=(0, 1, 0), count=4),
    "dimension of a layout": in_spmd(
        "run.tensor_layout", "%n: index",
        f"{LAYOUT}%l = tensor_layout_set_dimension %t[%n] : tensor_layout<1> ; here", lambda: [0]),
    "layout without dimensions": in_spmd(
        "run.tensor_layout", "%A: memref<f32x?>",
        f"{LAYOUT}%r = cooperative_matrix_load_tensor %m, %A[%c0], %t : {MATRIX} ; here", lambda: [zeros(4)],
        lane=None, count=2),
    "load outside a layout": in_spmd(
        "run.undefined", "%A: memref<f32x?>",
        f"{LAYOUT}%r = cooperative_matrix_load_tensor %m, %A[%c0], %s : {MATRIX} ; here", lambda: [zeros(8)],
        argument="A", lane=None, count=2),
    "store outside a layout": in_spmd(
        "run.undefined", "%A: memref<f32x?>", f"{LAYOUT}cooperative_matrix_store_tensor %m, %A[%first_item], %s ; here",
        lambda: [zeros(16)], argument="A", lane=None, count=2),
    "load through a layout": in_spmd(
        "run.out_of_bounds", "%A: memref<f32x?>",
        f"{LAYOUT}%r = cooperative_matrix_load_tensor %m, %A[%c4], %d : {MATRIX} ; here", lambda: [zeros(6)],
        argument="A", index=(6,), shape=(6,), lane=None, count=2),
    "base of a tensor": in_spmd(
        "run.misaligned", "%A: memref<f32x?>",
        f"{LAYOUT}%r = cooperative_matrix_load_tensor %m, %A[%subgroup], %d : {MATRIX} ; here", lambda: [zeros(8)],
        argument="A", subgroup=1, lane=None, count=1),
    "several components at one place": in_spmd(
        "run.aliasing", "%A: memref<f32x?>",
        f"{LAYOUT}cooperative_matrix_store_tensor %m, %A[%first_item], %three ; here",
        lambda: [zeros(16)], argument="A", lane=None, count=2),
    "blocks": in_spmd(
        "run.out_of_bounds", "%A: memref<f32x?>",
        "%r = cooperative_matrix_load.row_blocked_interleaved %A[%c1], 1 : coopmatrix<f32x4x4,matrix_acc> ; here",
        lambda: [zeros(16)], argument="A", index=(1,), shape=(16,), lane=None, count=2),
    "store": in_spmd("run.out_of_bounds", "%A: memref<f32x?>", "store %one, %A[%item] ; here",
                     lambda: [zeros(12)], **ITEM_PAST_12),
    "atomic load": in_spmd("run.out_of_bounds", "%A: memref<f32x?>", "%x = atomic_load %A[%item] : f32 ; here",
                           lambda: [zeros(12)], **ITEM_PAST_12),
    "atomic store": in_spmd("run.out_of_bounds", "%A: memref<f32x?>", "atomic_store %one, %A[%item] ; here",
                            lambda: [zeros(12)], **ITEM_PAST_12),
    "atomic add": in_spmd("run.out_of_bounds", "%A: memref<f32x?>", "%x = atomic_add %one, %A[%item] : f32 ; here",
                          lambda: [zeros(12)], **ITEM_PAST_12),
    "group": in_spmd("run.out_of_bounds", "%G: group<memref<f32x4>x?>",
                     "%m = load %G[%lane] : memref<f32x4> ; here\n%x = load %m[%c0] : f32",
                     lambda: [[zeros(4)] * 3], argument="G", index=(3,), shape=(3,), lane=3, count=10),
    "group with an offset": in_spmd(
        "run.out_of_bounds", "%G: group<memref<f32x?>x?,offset:?>",
        "%m = load %G[%c0] : memref<f32x?>\n%x = load %m[%lane] : f32 ; here",
        lambda: [girih.Group([zeros(8), zeros(8)], offset=3)],
        argument="G", index=(5,), shape=(5,), lane=5, count=6),
    "tile load": in_spmd("run.out_of_bounds", "%A: memref<f32x?x?>",
                         f"%x = cooperative_matrix_load %A[%c4, %c0] : {TILE} ; here",
                         lambda: [zeros(10, 4)], argument="A", index=(10, 0), shape=(10, 4), lane=None, count=2),
    "tile load, transposed": in_spmd("run.out_of_bounds", "%A: memref<f32x?x?>",
                                     f"%x = cooperative_matrix_load.t %A[%c0, %c4] : {TILE} ; here",
                                     lambda: [zeros(4, 10)],
                                     argument="A", index=(0, 10), shape=(4, 10), lane=None, count=2),
    "tile load, rows checked": in_spmd(
        "run.out_of_bounds", "%A: memref<f32x?x?>",
        f"%x = cooperative_matrix_load.rows_checked %A[%c4, %c2] : {TILE} ; here",
        lambda: [zeros(10, 4)], argument="A", index=(4, 4), shape=(10, 4), lane=None, count=2),
    "tile store": in_spmd("run.out_of_bounds", "%A: memref<f32x?x?>",
                          f"%m = constant 1.0 : {TILE}\n%column = mul %subgroup, %c4 : index\n"
                          "cooperative_matrix_store %m, %A[%c4, %column] ; here",
                          lambda: [zeros(10, 8)], argument="A", index=(10, 0), shape=(10, 8), lane=None, count=2),
    "tile atomic": in_spmd(
        "run.out_of_bounds", "%A: memref<f32x?x?>",
        f"%m = constant 1.0 : {TILE}\n%x = cooperative_matrix_atomic_add %m, %A[%c4, %c0] : {TILE} ; here",
        lambda: [zeros(10, 4)], argument="A", index=(10, 0), shape=(10, 4), lane=None, count=2),
    "broadcast": in_spmd("run.out_of_bounds", "%n: i32", "%x = subgroup_broadcast %lane_number, %n : i32 ; here",
                         lambda: [8], argument="n", index=(8,), shape=(8,)),
    "local memory": in_spmd("run.uninitialized", "%A: memref<f32x?>", "%x = load %A[%item] : f32 ; here",
                            lambda: [girih.uninitialized(zeros(16))], argument="A", index=(0,), shape=(16,)),
    "atomic on what was never written": in_spmd(
        "run.uninitialized", "%A: memref<f32x?>", "%x = atomic_add %one, %A[%item] : f32 ; here",
        lambda: [girih.uninitialized(zeros(16))], argument="A", index=(0,), shape=(16,)),
    "alloca": collective(
        "run.uninitialized", "%B: memref<f32x4x?>",
        "%m = alloca : memref<f32x4,local>\n%v = subview %m[0:2] : memref<f32x2,local>\n%g = group_id.x : index\n"
        "%b = subview %B[0:4, %g] : memref<f32x4>\n%w = subview %b[0:2] : memref<f32x2>\n"
        "axpby %one, %w, %zero, %v\naxpby %one, %m, %zero, %b ; here",
        lambda: [zeros(4, 3)], grid=3, argument="m", index=(2,), shape=(4,), count=3),
    "beta reads the target": collective(
        "run.uninitialized", "%A: memref<f32x4>, %B: memref<f32x4>, %beta: f32",
        "axpby %one, %A, %beta, %B ; here",
        lambda: [zeros(4), girih.uninitialized(zeros(4)), 0.0], argument="B", index=(0,), shape=(4,)),
    "tile of what was never written": in_spmd(
        "run.uninitialized", "%A: memref<f32x?x?>", f"%x = cooperative_matrix_load %A[%c0, %c0] : {TILE} ; here",
        lambda: [girih.uninitialized(zeros(8, 4))], argument="A", index=(0, 0), shape=(8, 4), lane=None, count=2),
    "checked tile of what was never written": in_spmd(
        "run.uninitialized", "%A: memref<f32x?x?>",
        f"%x = cooperative_matrix_load.both_checked %A[%c4, %c0] : {TILE} ; here",
        lambda: [girih.uninitialized(zeros(8, 4))], argument="A", index=(4, 0), shape=(8, 4), lane=None, count=2),
    "no memref": in_spmd("run.null", "%A: memref<f32x4>", "%x = load %A[%c0] : f32 ; here",
                         lambda: [None], argument="A"),
    "no memref for a collective": collective(
        "run.null", "%A: memref<f32x4>, %B: memref<f32x4>", "axpby %one, %A, %one, %B ; here",
        lambda: [None, zeros(4)], grid=2, argument="A", count=2),
    "no memref for a tile": in_spmd(
        "run.null", "%A: memref<f32x8x4>", f"%x = cooperative_matrix_load %A[%c0, %c0] : {TILE} ; here",
        lambda: [None], argument="A"),
    "no group": collective("run.null", "%G: group<memref<f32x4>x?>", "%m = load %G[%c0] : memref<f32x4> ; here",
                           lambda: [None], grid=2, argument="G", count=2),
    "no member": in_spmd("run.null", "%G: group<memref<f32x4>x?>",
                         "%i = rem %lane, %c2 : index\n%m = load %G[%i] : memref<f32x4>\n"
                         "%x = load %m[%c0] : f32 ; here",
                         lambda: [[zeros(4), None]], argument="G", lane=1, count=8),
    "lifetime": collective(
        "run.lifetime", "%A: memref<f32x4>",
        "%m = alloca : memref<f32x4,local>\naxpby %one, %A, %zero, %m\n%v = subview %m[0:4] : memref<f32x4,local>\n"
        "lifetime_stop %m\naxpby %one, %v, %zero, %A ; here",
        lambda: [zeros(4)], grid=2, argument="m", count=2),
    "lifetime ended by one work-group": collective(
        "run.lifetime", "%A: memref<f32x4x?>",
        "%m = alloca : memref<f32x4,local>\n%g = group_id.x : index\n%a = subview %A[0:4, %g] : memref<f32x4>\n"
        "axpby %one, %a, %zero, %m\n%b = equal %g, %c1 : bool\nif %b {\nlifetime_stop %m\n}\n"
        "axpby %one, %m, %zero, %a ; here",
        lambda: [zeros(4, 3)], grid=3, argument="m", work_group=(1, 0, 0)),
    "subview past the end": in_spmd(
        "run.subview", "%A: memref<f32x?>", "%v = subview %A[%item:4] : memref<f32x4> ; here",
        lambda: [zeros(16)], argument="A", index=(13, 4), shape=(16,), subgroup=1, lane=5, count=3),
    "subview of size 0": in_spmd(
        "run.subview", "%A: memref<f32x?>", "%v = subview %A[0:%lane] : memref<f32x?> ; here",
        lambda: [zeros(16)], argument="A", index=(0, 0), shape=(16,), count=2),
    "subview of negative size": in_spmd(
        "run.subview", "%A: memref<f32x?>, %n: index",
        "%v = subview %A[0:%n] : memref<f32x?> ; here\n%x = load %v[%c0] : f32",
        lambda: [zeros(16), -5], argument="A", index=(0, -5), shape=(16,)),
    "subview far away": in_spmd(
        "run.subview", "%A: memref<f32x?x?>",
        "%v = subview %A[0:2, 4611686018427387904:2] : memref<f32x2x2,strided<1,?>> ; here\n"
        "%x = load %v[%c0, %c0] : f32\nstore %x, %v[%c0, %c0]",
        lambda: [zeros(4, 4)], argument="A", index=(2**62, 2), shape=(4,)),
    "expand": in_spmd("run.expand", "%A: memref<f32x?>, %n: index",
                      "%v = expand %A[0 -> %n x 4] : memref<f32x?x4> ; here\n%x = load %v[%c0, %c0] : f32",
                      lambda: [zeros(16), 3], argument="A", index=(3, 4), shape=(16,)),
    "expand with sizes whose product overflows": in_spmd(
        "run.expand", "%A: memref<f32x?>, %m: index, %n: index",
        "%m0 = mul %lane, %c0 : index\n%n0 = add %n, %m0 : index\n"
        "%v = expand %A[0 -> %m x %n0] : memref<f32x?x?> ; here\n%x = load %v[%c0, %c1] : f32",
        lambda: [zeros(16), 19, 16 * pow(19, -1, 2**64) % 2**64],
        argument="A", index=(19, 16 * pow(19, -1, 2**64) % 2**64), shape=(16,)),
    "fuse": in_spmd("run.fuse", "%A: memref<f32x4x4,strided<1,?>>",
                    "%v = fuse %A[0, 1] : memref<f32x16> ; here\n%x = load %v[%c0] : f32",
                    lambda: [zeros(5, 4)[:4]], argument="A"),
    "shapes": collective("run.size", "%A: memref<f32x?>, %B: memref<f32x?>", "axpby %one, %A, %one, %B ; here",
                         lambda: [zeros(4), zeros(5)], argument="B", grid=2, count=2),
    "a result that is a factor": collective(
        "run.aliasing", "%A: memref<f32x4x4>, %B: memref<f32x4x4>", "gemm %one, %A, %B, %zero, %B ; here",
        lambda: [zeros(4, 4), zeros(4, 4)], argument="B", index=(0, 0), shape=(4, 4)),
    "a result that was transposed": collective(
        "run.aliasing", "%A: memref<f32x4x4x?>",
        "%g = group_id.x : index\n%a = subview %A[0:4, 0:4, %g] : memref<f32x4x4>\n"
        "axpby.t %one, %a, %one, %a ; here",
        lambda: [zeros(4, 4, 3)], grid=3, argument="A", index=(0, 0), shape=(4, 4), count=3),
    "a result that reaches into a factor": collective(
        "run.aliasing", "%A: memref<f32x8x8x?>",
        "%g = group_id.x : index\n%r = subview %A[4:4, 0:4, %g] : memref<f32x4x4,strided<1,8>>\n"
        "%f = subview %A[%g:4, 2:4, %g] : memref<f32x4x4,strided<1,8>>\nhadamard %one, %r, %f, %zero, %r ; here",
        lambda: [zeros(8, 8, 4)], grid=4, argument="A", index=(0, 2), shape=(4, 4), work_group=(1, 0, 0), count=3),
    "a vector that is a row of the result": collective(
        "run.aliasing", "%A: memref<f32x4x?>, %x: memref<f32x3>",
        "%v = subview %A[1, 0:4] : memref<f32x4,strided<4>>\n%r = subview %A[0:4, 1:3] : memref<f32x4x3>\n"
        "ger.atomic %one, %v, %x, %one, %r ; here",
        lambda: [zeros(4, 6), zeros(3)], argument="A", index=(1, 0), shape=(4, 3)),
    "two arguments that share memory": collective(
        "run.aliasing", "%A: memref<f32x?>, %B: memref<f64>", "sum %zero, %A, %one, %B ; here",
        memory_and_its_end, argument="B"),
    "division": in_spmd("run.division_by_zero", "", "%x = div %item, %lane : index ; here",
                        lambda: [], argument="lane", count=2),
    "remainder": in_spmd("run.division_by_zero", "%d: i32", "%x = rem %lane_number, %d : i32 ; here",
                         lambda: [0], argument="d"),
    "division of matrices": in_spmd(
        "run.division_by_zero", "%n: i32",
        "%m = cooperative_matrix_construct %n : coopmatrix<i32x8x4,matrix_acc>\n"
        "%x = div %m, %m : coopmatrix<i32x8x4,matrix_acc> ; here",
        lambda: [0], argument="m", lane=None, count=2),
    "shift": in_spmd("run.shift", "%s: index", "%by = add %s, %lane : index\n%x = shl %item, %by : index ; here",
                     lambda: [60], argument="by", lane=4, count=8),
    "negative shift": in_spmd("run.shift", "%s: i8", "%x = shr %s, %s : i8 ; here", lambda: [-1], argument="s"),
    "step": in_spmd("run.step", "%n: i32",
                    "for %i=%n,%lane_number,%n { ; here\n}", lambda: [0], argument="n"),
}  # fmt: skip

VARIES = "%odd_number = rem %lane, %c2 : index\n%odd = equal %odd_number, %c1 : bool\n"
"""A condition that differs between neighbours."""

NOT_UNIFORM = {
    "condition": (VARYING_ATOMIC + "\n%b = equal %i, %c0 : bool\nif %b { ; here\n}", "b", 15),
    "bound": (VARYING_ATOMIC + "\nfor %k=%c0,%i { ; here\n}", "i", 15),
    "range": (VARYING_ATOMIC + "\nforeach (%k)=(%c0),(%i) { ; here\n}", None, 15),
    "alpha": (VARYING_ATOMIC + "\n%x = cast %old : f32\naxpby %x, %A, %one, %A ; here", "x", 15),
    "view": (VARYING_ATOMIC + "\n%v = subview %A[%i:4] : memref<f32x4>\n%w = subview %A[0:4] : memref<f32x4>\n"
             "axpby %one, %w, %one, %v ; here", "v", 15),
}  # fmt: skip

NOT_UNIFORM_IN_SUBGROUPS = {
    "row": (f"%x = cooperative_matrix_load.both_checked %M[%lane, %c0] : {TILE} ; here", "lane", 14),
    "memref": (f"%v = subview %M[%lane:8, 0:4] : memref<f32x8x4,strided<1,?>>\n"
               f"%x = cooperative_matrix_load %v[%c0, %c0] : {TILE} ; here", "v", 14),
    "prefetched memref": ("%v = subview %M[%lane:8, 0:4] : memref<f32x8x4,strided<1,?>>\n"
                          "cooperative_matrix_prefetch 0, %v[%c0, %c0], 8, 4 ; here", "v", 14),
    "number": (f"%x = cast %lane : f32\n%m = cooperative_matrix_construct %x : {TILE} ; here", "x", 14),
    "factor": (f"%x = cast %lane : f32\n%m = constant 1.0 : {TILE}\n"
               f"%s = cooperative_matrix_scale %x, %m : {TILE} ; here", "x", 14),
    "lane": ("%x = subgroup_broadcast %one, %lane_number : f32 ; here", "lane_number", 14),
    "choice of a matrix": (
        f"{VARIES}%m = constant 1.0 : {TILE}\n%n = constant 2.0 : {TILE}\n%r = if %odd -> ({TILE}) {{ ; here\n"
        "yield (%m)\n} else {\nyield (%n)\n}", "odd", 8),
    "scalar in apply": (
        f"%x = cast %lane : f32\n%m = constant 1.0 : {TILE}\n"
        f"%r = cooperative_matrix_apply (%i, %j, %e)=%m -> {TILE} {{ ; here\n%y = mul %e, %x : f32\nyield (%y)\n}}",
        None, 14),
    "memref in apply": (
        f"%v = subview %M[%lane:1, 0] : memref<f32x1>\n%m = constant 1.0 : {TILE}\n"
        f"%r = cooperative_matrix_apply (%i, %j, %e)=%m -> {TILE} {{ ; here\n%y = load %v[%c0] : f32\nyield (%y)\n}}",
        None, 14),
}  # fmt: skip

DIVERGENT = {
    "barrier": ("barrier ; here", 8),
    "reduction": ("%x = subgroup_reduce_add %item : index ; here", 8),
    "broadcast": ("%x = subgroup_broadcast %item, %c0_number : index ; here", 8),
    "tile load": (f"%x = cooperative_matrix_load %M[%c0, %c0] : {TILE} ; here", 8),
    "tile store": (f"%m = constant 1.0 : {TILE}\ncooperative_matrix_store %m, %M[%c0, %c0] ; here", 8),
    "tile constant": (f"%m = cooperative_matrix_construct %one : {TILE} ; here", 8),
    "apply": (f"%m = constant 1.0 : {TILE}\n%r = cooperative_matrix_apply (%i, %j, %e)=%m -> {TILE} {{ ; here\n"
              "yield (%e)\n}", 8),
}  # fmt: skip


def guilty_line(text: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if line.rstrip().endswith("; here"))


@pytest.mark.parametrize("name", sorted(CASES))
def test_what_is_told_of_a_finding(name: str) -> None:
    case = CASES[name]
    launched = case.kernel()
    (found,) = findings(launched, *case.arguments(), grid=case.grid)
    told = (found.code, found.argument, found.index, found.shape)
    assert told == (case.code, case.argument, case.index, case.shape)
    assert (found.work_group, found.subgroup, found.lane) == (case.work_group, case.subgroup, case.lane)
    assert found.count == case.count
    assert found.span.line == guilty_line(found.span.source.text)
    assert found.message
    assert found.code in str(girih.KernelError([found]))


@pytest.mark.parametrize("name", sorted(NOT_UNIFORM))
def test_what_must_be_uniform_in_a_work_group(name: str) -> None:
    body, argument, count = NOT_UNIFORM[name]
    launched = kernel("%N: memref<i64>, %n: i64, %A: memref<f32x?>", body)
    (found,) = findings(launched, zeros(dtype=np.int64), 1, zeros(32))
    assert (found.code, found.argument, found.count) == ("run.not_uniform", argument, count)
    assert (found.subgroup, found.lane) == (None, None)
    assert found.span.line == guilty_line(found.span.source.text)


@pytest.mark.parametrize("name", sorted(NOT_UNIFORM_IN_SUBGROUPS))
def test_what_must_be_uniform_in_a_subgroup(name: str) -> None:
    body, argument, count = NOT_UNIFORM_IN_SUBGROUPS[name]
    found = findings(veiled("%M: memref<f32x?x?>", body), 1, zeros(16, 4))[0]
    assert (found.code, found.argument, found.count) == ("run.not_uniform", argument, count)
    assert (found.subgroup, found.lane) == (0, 1)
    assert found.span.line == guilty_line(found.span.source.text)


@pytest.mark.parametrize("name", sorted(DIVERGENT))
def test_what_all_work_items_must_meet(name: str) -> None:
    body, count = DIVERGENT[name]
    launched = veiled("%M: memref<f32x?x?>", f"{VARIES}%c0_number = constant 0 : i32\nif %odd {{\n{body}\n}}")
    (found,) = findings(launched, 1, zeros(8, 4))
    assert (found.code, found.count, found.subgroup, found.lane) == ("run.divergent", count, 0, 1)
    assert found.span.line == guilty_line(found.span.source.text)


def test_operands_that_lie_between_each_others_elements_share_none() -> None:
    launched = kernel(
        "%A: memref<f32x8x8>, %B: memref<f32x8>",
        "%low = subview %A[0:4, 0:4] : memref<f32x4x4,strided<1,8>>\n"
        "%high = subview %A[4:4, 0:4] : memref<f32x4x4,strided<1,8>>\ngemm %one, %low, %low, %zero, %high\n"
        "%pairs = expand %B[0 -> 2 x 4] : memref<f32x2x4>\n%even = subview %pairs[0, 0:4] : memref<f32x4,strided<2>>\n"
        "%odd = subview %pairs[1, 0:4] : memref<f32x4,strided<2>>\ncumsum %one, %even, 0, %zero, %odd\n"
        "axpby %one, %even, %one, %even\nhadamard %one, %odd, %odd, %zero, %odd",
    )
    a, b = zeros(8, 8), zeros(8)
    a[:4, :4], b[::2] = 1, 1
    launched(a, b)
    assert (a[4:, :4] == 4).all()
    assert b.tolist() == [2, 1, 2, 4, 2, 9, 2, 16]


def test_a_subgroup_may_skip_what_only_subgroups_must_meet() -> None:
    launched = spmd("%A: memref<f32x?>", "%first = equal %subgroup, %c0 : bool\nif %first {\n"
                    "%x = subgroup_reduce_add %one : f32\nstore %x, %A[%lane]\n}")  # fmt: skip
    a = zeros(8)
    launched(a)
    assert a.tolist() == [8.0] * 8


def test_a_barrier_that_one_subgroup_skips_is_found() -> None:
    launched = veiled("", "%first = equal %subgroup, %c0 : bool\nif %first {\nbarrier\n}")
    (found,) = findings(launched, 1)
    assert (found.code, found.count) == ("run.divergent", 8)


def test_loops_of_different_lengths_do_not_meet_at_a_barrier() -> None:
    (found,) = findings(veiled("", "for %k=%c0,%lane {\nbarrier.local\n}"), 1)
    assert found.code == "run.divergent"


def test_one_finding_for_each_code_and_place() -> None:
    text = "%x = load %A[%item] : f32\nfor %k=%c0,%c4 {\n%y = load %A[%item] : f32\n%z = div %item, %k : index\n}"
    found = findings(spmd("%A: memref<f32x?>", text), zeros(15))
    assert [(f.code, f.count) for f in found] == [
        ("run.out_of_bounds", 1), ("run.out_of_bounds", 4), ("run.division_by_zero", 16),
    ]  # fmt: skip


def test_the_first_hundred_findings_are_kept() -> None:
    text = "\n".join(f"%x{i} = load %A[%item] : f32" for i in range(KEPT + 20))
    found = findings(spmd("%A: memref<f32x?>", text), zeros(15), grid=3)
    assert len(found) == KEPT == 100
    assert {f.count for f in found} == {3}
    assert found[0].span.line + KEPT - 1 == found[-1].span.line


def test_findings_of_a_later_batch_name_their_work_group() -> None:
    launched = kernel("%A: memref<f32x?>", "%g = group_id.x : index\n%x = load %A[%g] : f32")
    (found,) = findings(launched, zeros(9_999), grid=10_001)
    assert (found.work_group, found.index, found.count) == ((9_999, 0, 0), (9_999,), 2)


def test_an_offending_load_gives_zero_and_an_offending_store_is_dropped() -> None:
    body = "%x = load %A[%item] : f32\n%y = add %x, %one : f32\n%z = cast %y : i32\n%w = div %z, %z : i32"
    (found,) = findings(spmd("%A: memref<f32x?>", body), np.full(12, -1.0, np.float32)[:0])
    assert found.code == "run.out_of_bounds"
    assert {f.code for f in findings(spmd("%A: memref<f32x?>", body), np.full(12, -1.0, np.float32))} == {
        "run.out_of_bounds", "run.division_by_zero",
    }  # fmt: skip


def test_findings_as_plain_values() -> None:
    (found,) = findings(spmd("%A: memref<f32x?>", "%x = load %A[%item] : f32"), zeros(12))
    told = found.to_json()
    assert (told["code"], told["index"], told["shape"], told["count"]) == ("run.out_of_bounds", (12,), (12,), 4)
    assert "index (12) of shape (12)" in found.message


@pytest.mark.parametrize("output", ["llvm_ir", "assembly", "ptx", "spirv"])
def test_the_interpreter_emits_nothing(output: str) -> None:
    with pytest.raises(girih.CompileError) as caught:
        getattr(kernel("", ""), output)
    assert [d.code for d in caught.value.diagnostics] == ["run.emit"]


def test_every_code_is_provoked() -> None:
    elsewhere = {"run.not_uniform", "run.divergent", "run.budget", "run.emit", "run.race", "run.target",
                 "run.tensor_copy", "run.undef", "run.undefined_operation", "run.address",
                 "run.decode"}  # fmt: skip
    assert {case.code for case in CASES.values()} | elsewhere == set(RUN_CODES)


def test_a_tensor_whose_base_is_misaligned_is_accessed_all_the_same() -> None:
    body = f"{LAYOUT}%r = cooperative_matrix_load_tensor %m, %A[%c1], %d : {MATRIX}"
    assert {f.code for f in findings(spmd("%A: memref<f32x?>", body), zeros(4))} == {
        "run.misaligned", "run.out_of_bounds",
    }  # fmt: skip


def test_a_prefetch_outside_is_no_finding() -> None:
    spmd("%A: memref<f32x?x?>", "cooperative_matrix_prefetch 1, %A[%c4, %c4], 64, 64")(fortran(5, 5))


def test_the_constant_0_as_beta_reads_nothing() -> None:
    b = np.full(4, np.nan, np.float32)
    kernel("%A: memref<f32x4>, %B: memref<f32x4>", "axpby %one, %A, %zero, %B")(fortran(4), girih.uninitialized(b))
    assert b.tolist() == [0.0, 1.0, 2.0, 3.0]
