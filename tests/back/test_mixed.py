"""Mixed instructions in collective regions, beside barriers, local memory and subgroup operations: whatever the number
of subgroups, the CPU agrees with the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.back.harness import compare
from tests.cases import crossed

Arguments = Callable[[], list[Any]]


def i32(*shape: int) -> Any:
    return np.zeros(shape, np.int32, order="F")


def counted(*shape: int) -> Any:
    count = int(np.prod(shape))
    return ((np.arange(count) * 7) % 23 - 11).astype(np.int32).reshape(shape, order="F")


def reals(*shape: int) -> Any:
    return counted(*shape).astype(np.float32)


ITEM = """
    %lane32 = subgroup_local_id : i32
    %lane = cast %lane32 : index
    %subgroup32 = subgroup_linear_id : i32
    %subgroup = cast %subgroup32 : index
    %before = mul %subgroup, %eight : index
    %item = add %before, %lane : index
    %item32 = cast %item : i32
"""
"""The numbers of a work-item."""

START = """
  %c0 = constant 0 : index
  %c1 = constant 1 : index
  %c2 = constant 2 : index
  %eight = constant 8 : index
  %one = constant 1 : i32
  %three = constant 3 : i32
  %g = group_id.x : index
  %g32 = cast %g : i32
"""

KERNELS: dict[str, tuple[str, str, Arguments]] = {
    "loads and stores": ("%A: memref<i32x4x3>, %B: memref<i32x4x3>", """
      %x = load %A[1, %g] : i32
      %y = add %x, %g32 : i32
      store %y, %B[%c2, %g]
      %z = load %B[%c2, %g] : i32
      store %z, %B[3, %g]
    """, lambda: [counted(4, 3), i32(4, 3)]),
    "an update for every work-item": ("%A: memref<i32x3>, %B: memref<i32x3>", """
      %old = atomic_add %three, %A[%g] : i32
      atomic_store %g32, %B[%g]
      %top = atomic_max %three, %B[%g] : i32
      %x = atomic_load %A[%g] : i32
      store %x, %B[%g]
    """, lambda: [counted(3), i32(3)]),
    "a loop that carries values": ("%A: memref<i32x?x3>, %B: memref<i32x3>", """
      %n = size %A[0] : index
      %sum, %last = for %i = %c0, %n init (%s=%one, %l=%g32) -> (i32, i32) {
        %x = load %A[%i, %g] : i32
        %next = add %s, %x : i32
        store %next, %B[%g]
        %again = load %B[%g] : i32
        yield (%again, %x)
      }
      %both = mul %sum, %last : i32
      store %both, %B[%g]
    """, lambda: [counted(13, 3), i32(3)]),
    "branches": ("%A: memref<i32x3>, %B: memref<i32x3>", """
      %x = load %A[%g] : i32
      %even = equal %g, %c1 : bool
      %y = if %even -> (i32) {
        store %x, %B[%g]
        %z = mul %x, %three : i32
        yield (%z)
      } else {
        %old = atomic_add %one, %A[%g] : i32
        %z = load %A[%g] : i32
        yield (%z)
      }
      %w = load %B[%g] : i32
      %v = sub %w, %y : i32
      store %v, %B[%g]
    """, lambda: [counted(3), i32(3)]),
    "subviews of members of a group": ("%G: group<memref<i32x6x?>x3>, %B: memref<i32x4x3>", """
      %m = load %G[%g] : memref<i32x6x?>
      %n = size %m[1] : index
      %last = sub %n, %c1 : index
      %v = subview %m[1:4, %last] : memref<i32x4>
      %w = subview %B[0:4, %g] : memref<i32x4>
      %x = load %v[2] : i32
      store %x, %w[3]
      axpby %one, %v, %three, %w
      %y = load %w[3] : i32
      store %y, %v[0]
    """, lambda: [[counted(6, n) for n in (2, 5, 1)], counted(4, 3)]),
    "collective instructions between": ("%A: memref<f32x8x5>, %B: memref<f32x5x4>, %C: memref<f32x8x4x3>", """
      %f = constant 2.0 : f32
      %v = subview %C[0:8, 0:4, %g] : memref<f32x8x4>
      %x = load %A[%g, 0] : f32
      %alpha = add %x, %f : f32
      gemm %alpha, %A, %B, %f, %v
      %y = load %v[3, 2] : f32
      %z = mul %y, %alpha : f32
      store %z, %v[0, 0]
      %e = expand %v[0 -> 2 x 4] : memref<f32x2x4x4>
      %u = load %e[1, 3, 0] : f32
      store %u, %v[1, 0]
    """, lambda: [reals(8, 5), reals(5, 4), reals(8, 4, 3)]),
    "local memory and a region for work-items": ("%A: memref<i32x32x3>", f"""
      %t = alloca : memref<i32x32,local>
      %x = load %A[5, %g] : i32
      parallel {{
        {ITEM}
        %y = add %x, %item32 : i32
        store %y, %t[%item]
      }}
      %first = load %t[3] : i32
      store %first, %A[6, %g]
      parallel {{
        {ITEM}
        %z = load %t[%item] : i32
        store %z, %A[%item, %g]
      }}
    """, lambda: [counted(32, 3)]),
    "barriers between subgroups": ("%A: memref<i32x32x3>", f"""
      %t = alloca : memref<i32x32,local>
      %bias = load %A[0, %g] : i32
      parallel {{
        {ITEM}
        %items32 = num_subgroups.x : i32
        %items = cast %items32 : index
        %all = mul %items, %eight : index
        %x = load %A[%item, %g] : i32
        %y = add %x, %bias : i32
        store %y, %t[%item]
        barrier.local
        %end = sub %all, %c1 : index
        %turned = sub %end, %item : index
        %z = load %t[%turned] : i32
        barrier.local
        %w = add %z, %item32 : i32
        store %w, %t[%item]
        barrier.local
        %next = add %item, %c1 : index
        %wrapped = rem %next, %all : index
        %v = load %t[%wrapped] : i32
        store %v, %A[%item, %g]
      }}
      %seen = load %A[1, %g] : i32
      %more = add %seen, %one : i32
      store %more, %A[2, %g]
    """, lambda: [counted(32, 3)]),
    "a tree of sums over a work-group": ("%A: memref<i32x32x3>, %B: memref<i32x3>", f"""
      %t = alloca : memref<i32x4,local>
      parallel {{
        {ITEM}
        %x = load %A[%item, %g] : i32
        %s = subgroup_reduce_add %x : i32
        %first = equal %lane, %c0 : bool
        if %first {{
          store %s, %t[%subgroup]
        }}
        barrier.local
        %count32 = num_subgroups.x : i32
        %count = cast %count32 : index
        %zero = constant 0 : i32
        %total = for %k = %c0, %count init (%a=%zero) -> (i32) {{
          %p = load %t[%k] : i32
          %q = add %a, %p : i32
          yield (%q)
        }}
        %before_it = subgroup_exclusive_scan_add %x : i32
        %y = add %total, %before_it : i32
        store %y, %A[%item, %g]
      }}
      %r = load %A[0, %g] : i32
      %old = atomic_add %r, %B[%g] : i32
    """, lambda: [counted(32, 3), i32(3)]),
    "barriers in a loop": ("%A: memref<i32x32x3>", f"""
      %t = alloca : memref<i32x32,local>
      parallel {{
        {ITEM}
        %all32 = num_subgroups.x : i32
        %groups = cast %all32 : index
        %all = mul %groups, %eight : index
        %x = load %A[%item, %g] : i32
        store %x, %t[%item]
        barrier.local
        %steps = constant 5 : index
        for %k = %c0, %steps {{
          %next = add %item, %k : index
          %far = add %next, %c1 : index
          %from = rem %far, %all : index
          %y = load %t[%from] : i32
          barrier.local
          %old = load %t[%item] : i32
          %z = add %y, %old : i32
          store %z, %t[%item]
          barrier.local
        }}
        %last = load %t[%item] : i32
        store %last, %A[%item, %g]
      }}
    """, lambda: [counted(32, 3)]),
    "diverging work-items and global barriers": ("%A: memref<i32x32x3>, %B: memref<i32x3>", f"""
      parallel {{
        {ITEM}
        %two = constant 2 : i32
        %rest = rem %item32, %two : i32
        %odd = equal %rest, %one : bool
        if %odd {{
          %old = atomic_add %item32, %B[%g] : i32
          store %item32, %A[%item, %g]
        }}
        barrier.global
        %seen = atomic_load %B[%g] : i32
        %largest = subgroup_reduce_max %seen : i32
        %third = subgroup_broadcast %item32, %two : i32
        %y = add %largest, %third : i32
        barrier.global
        if %odd {{
          store %y, %A[%item, %g]
        }}
      }}
      %end = load %B[%g] : i32
      %twice = add %end, %end : i32
      store %twice, %B[%g]
    """, lambda: [counted(32, 3), i32(3)]),
    "loops over points and tiles": ("%A: memref<i32x19x5x3>, %B: memref<i32x3>", """
      %m = size %A[0] : index
      %n = size %A[1] : index
      %v = subview %A[0:19, 0:5, %g] : memref<i32x19x5>
      foreach (%i,%j)=(%c0,%c1),(%m,%n) {
        %x = load %v[%i, %j] : i32
        %i32 = cast %i : i32
        %y = add %x, %i32 : i32
        store %y, %v[%i, %j]
        %old = atomic_add %y, %B[%g] : i32
      }
      %sum = load %B[%g] : i32
      store %sum, %v[0, 0]
      foreach_tile (%p,%q)=(%c0,%c0),(%m,%n) as (%rows,%columns) <= (8,2) {
        %r = cast %rows : i32
        %lane = subgroup_local_id : i32
        %none = constant 0 : i32
        %first = equal %lane, %none : bool
        if %first {
          store %r, %v[%p, %q]
        }
      }
      %z = load %v[16, 4] : i32
      %old = atomic_add %z, %B[%g] : i32
    """, lambda: [counted(19, 5, 3), i32(3)]),
}  # fmt: skip
"""What a kernel is about: its parameters, its body behind `START`, and its arguments."""


@pytest.mark.parametrize(("name", "subgroups"), crossed(list(KERNELS), [1, 2, 4], first=2))
def test_mixed_instructions(name: str, subgroups: int) -> None:
    parameters, body, arguments = KERNELS[name]
    sizes = f"subgroup_size=8, work_group_size=[{8 * subgroups},1]"
    compare(f"func @f({parameters}) attributes {{{sizes}}} {{{START}{body}}}\n", (3, 1, 1), *arguments())


def test_there_are_twelve() -> None:
    assert len(KERNELS) == 12
