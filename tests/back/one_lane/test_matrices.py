"""Matrices of machines that have none: every layout, pieces of any size, and what loops hand on without copies."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import girih
from girih.back.llvm.lower.one_lane.matrix import staging
from tests.back.harness import Failed, copy_of, same
from tests.back.one_lane.launch import OneLaneKernel
from tests.cases import every_case, one_in

RANDOM = np.random.default_rng(7)


def of(type: Any, *shape: int) -> Any:
    """Random whole numbers, the first mode fastest."""
    return np.asfortranarray(RANDOM.integers(-9, 10, shape).astype(type))


def agrees(text: str, *arguments: Any) -> list[Any]:
    """What a kernel does to its arguments, here and on the interpreter."""
    kernel = girih.loads(text, target="interpreter")["f"]
    expected, found = [copy_of(one) for one in arguments], [copy_of(one) for one in arguments]
    kernel.options(races=False)[1](*expected)
    OneLaneKernel(kernel.ir)((1, 1, 1), *found)
    for mine, wanted in zip(found, expected, strict=True):
        same(mine, wanted, 1e-5)
    return found


EVERYTHING = """
func @f(%A: memref<{t}x{m}x{k}>, %B: memref<{t}x{k}x{n}>, %C: memref<{t}x{m}x{n}>, %T: memref<{t}x{n}x{m}>,
        %R: memref<{t}x{m}x1>, %S: memref<{t}x1x{n}>, %D: memref<{t}x{m}x{n}>, %E: memref<{t}x{m}x{n}>)
    attributes {{subgroup_size=8, work_group_size=[{items}, 1]}} {{
  parallel {{
    %z = constant 0 : index
    %a = cooperative_matrix_load %A[%z,%z] : coopmatrix<{t}x{m}x{k},matrix_a{scope}>
    %b = cooperative_matrix_load %B[%z,%z] : coopmatrix<{t}x{k}x{n},matrix_b{scope}>
    %c = cooperative_matrix_load %C[%z,%z] : coopmatrix<{t}x{m}x{n},matrix_acc{scope}>
    %p = cooperative_matrix_mul_add %a, %b, %c : coopmatrix<{t}x{m}x{n},matrix_acc{scope}>
    %t = cooperative_matrix_transpose %p : coopmatrix<{t}x{n}x{m},matrix_b{scope}>
    cooperative_matrix_store %t, %T[%z,%z]
    %u = cast %p : coopmatrix<{t}x{m}x{n},matrix_b{scope}>
    cooperative_matrix_store %u, %C[%z,%z]
    %r = cooperative_matrix_reduce_max.row %p : coopmatrix<{t}x{m}x1,matrix_acc{scope}>
    %s = cooperative_matrix_reduce_min.column %p : coopmatrix<{t}x1x{n},matrix_acc{scope}>
    cooperative_matrix_store %r, %R[%z,%z]
    cooperative_matrix_store %s, %S[%z,%z]
    %d = cooperative_matrix_apply (%i, %j, %x, %y, %w) = %p, %r, %s -> coopmatrix<{t}x{m}x{n},matrix_acc{scope}> {{
      %v = sub %y, %w : {t}
      %q = add %v, %x : {t}
      yield (%q)
    }}
    cooperative_matrix_store %d, %D[%z,%z]
    %e = cooperative_matrix_combine.all (%x, %y) = %p -> coopmatrix<{t}x{m}x{n},matrix_acc{scope}> {{
      %v = max %x, %y : {t}
      yield (%v)
    }}
    %g = cooperative_matrix_combine.column (%x, %y) = %p -> coopmatrix<{t}x{m}x{n},matrix_acc{scope}> {{
      %v = min %x, %y : {t}
      yield (%v)
    }}
    %h = sub %e, %g : coopmatrix<{t}x{m}x{n},matrix_acc{scope}>
    cooperative_matrix_store %h, %E[%z,%z]
  }}
}}
"""

MATRICES = [
    ("i8", "", (32, 16, 4)),
    ("f32", "", (16, 7, 9)),
    ("i32", "", (8, 3, 5)),
    ("i8", ",work_group", (48, 6, 3)),
    ("i32", ",work_group", (12, 1, 7)),
    ("f32", ",work_group", (3, 5, 2)),
]
"""Types, scopes, and sizes m, k, n: with pairs of blocks and without, rows that do not fit the work-items, padding."""

ROOM = [(24, 100), (8, 16 * 1024), (24, 16 * 1024), (32, 1), (24, 300)]
"""Work-items of a work-group, and the bytes that they may share."""


@pytest.mark.parametrize(("matrices", "room"), one_in(14, product(MATRICES, ROOM)))
def test_every_layout_in_pieces_of_any_size(matrices: Any, room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (name, scope, (m, k, n)), (items, most) = matrices, room
    monkeypatch.setattr(staging, "MOST_SHARED", most)
    type = {"i8": np.int8, "i32": np.int32, "f32": np.float32}[name]
    text = EVERYTHING.format(t=name, m=m, k=k, n=n, items=items, scope=scope)
    shapes = ((m, k), (k, n), (m, n), (n, m), (m, 1), (1, n), (m, n), (m, n))
    agrees(text, *(of(type, *shape) for shape in shapes))


def loop(body: str, carried: str = "%a=%x, %b=%y", results: int = 2) -> str:
    """A kernel whose loop hands on the matrices that begin as %x and %y; the first results go back to memory."""
    type = "coopmatrix<i32x8x4,matrix_acc>"
    return f"""
    func @f(%A: memref<i32x8x4>, %B: memref<i32x8x4>, %n: index)
        attributes {{subgroup_size=8, work_group_size=[8, 1]}} {{
      parallel {{
        %z = constant 0 : index
        %x = cooperative_matrix_load %A[%z,%z] : {type}
        %y = cooperative_matrix_load %B[%z,%z] : {type}
        %p, %q = for %k = %z, %n init ({carried}) -> ({", ".join([type] * results)}) {{
          {body.replace("$m", type)}
        }}
        barrier.global
        cooperative_matrix_store %p, %A[%z,%z]
        cooperative_matrix_store %q, %B[%z,%z]
      }}
    }}"""


BODIES = {
    "swapped": "yield (%b, %a)",
    "the sum of both, and the first": "%s = add %a, %b : $m\nyield (%s, %a)",
    "in place, then swapped": "%s = add %a, %b : $m\n%t = sub %s, %b : $m\nyield (%t, %s)",
    "twice": "%s = mul %b, %b : $m\nyield (%s, %s)",
    "what began": "%s = add %a, %x : $m\nyield (%y, %s)",
    "of a branch": """
        %c = equal %k, %z : bool
        %s = if %c -> ($m) {
          %d = neg %b : $m
          yield (%d)
        } else {
          yield (%a)
        }
        yield (%b, %s)""",
    "of a loop": """
        %two = constant 2 : index
        %u, %v = for %l = %z, %two init (%c=%b, %d=%a) -> ($m, $m) {
          %e = add %c, %d : $m
          yield (%d, %e)
        }
        yield (%v, %u)""",
}


def test_what_loops_hand_on() -> None:
    with every_case() as case:
        for name, body in BODIES.items():
            with case(name):
                agrees(loop(body), of(np.int32, 8, 4), of(np.int32, 8, 4), 3)
        with case("one matrix for both"):
            agrees(loop("yield (%b, %a)", "%a=%x, %b=%x"), of(np.int32, 8, 4), of(np.int32, 8, 4), 2)


def test_a_loop_with_a_matrix_that_some_leave_before_others_is_found() -> None:
    text = loop("yield (%b, %a)").replace("%n: index", "%n: i32")
    text = text.replace("%p, %q", "%l = subgroup_local_id : i32\n%r = mul %l, %n : i32\n%e = cast %r : index\n%p, %q")
    text = text.replace("%z, %n init", "%z, %e init")
    arguments = of(np.int32, 8, 4), of(np.int32, 8, 4)
    agrees(text, *arguments, 0)
    with pytest.raises(Failed) as raised:
        OneLaneKernel(girih.loads(text, target="interpreter")["f"].ir)((1, 1, 1), *arguments, 1)
    assert raised.value.code == "run.not_uniform"


def test_an_accumulator_stays_where_it_is() -> None:
    """A product in a loop, with what surrounds it, takes four arrays: two factors, the sum, and what it began with."""
    text = """
    func @f(%A: memref<f32x8x8>, %n: index) attributes {subgroup_size=8, work_group_size=[8, 1]} {
      parallel {
        %z = constant 0 : index
        %none = cooperative_matrix_load %A[%z,%z] : coopmatrix<f32x8x8,matrix_acc>
        %p = for %k = %z, %n init (%c=%none) -> (coopmatrix<f32x8x8,matrix_acc>) {
          %a = cooperative_matrix_load %A[%z,%z] : coopmatrix<f32x8x8,matrix_a>
          %b = cooperative_matrix_load %A[%z,%z] : coopmatrix<f32x8x8,matrix_b>
          %two = cooperative_matrix_construct %s : coopmatrix<f32x8x8,matrix_b>
          %d = mul %b, %two : coopmatrix<f32x8x8,matrix_b>
          %e = cooperative_matrix_mul_add %a, %d, %c : coopmatrix<f32x8x8,matrix_acc>
          yield (%e)
        }
        cooperative_matrix_store %p, %A[%z,%z]
      }
    }""".replace("%z = constant 0 : index", "%z = constant 0 : index\n%s = constant 2.0 : f32")
    kernel = OneLaneKernel(girih.loads(text, target="interpreter")["f"].ir)
    assert kernel.lowered.text.count("alloca [8 x float]") == 3
