"""The hints of findings: what they say to write, in words of the user's language, makes the kernel right."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import girih
import girih.language as gl
from girih.arguments.brackets import Grid
from girih.diagnostics import Finding
from tests.front.python.random_functions import function_of

HEAD = """def kernel(X: gl.Matrix[gl.f32], Y: gl.Vector[gl.f32], N: gl.Vector[gl.i32], G: gl.Group[gl.Matrix[gl.f32]],
           n: gl.index, z: gl.i32) -> None:
"""
ITEM = "    k = gl.subgroup_local_id()\n    i = gl.index(gl.subgroup_linear_id()) * 16 + gl.index(k)\n"
ALL = "with gl.parallel():\n" + ITEM
EVERY = "for i in gl.foreach(Y.shape[0]):\n"
ONE = "gl.subgroup_linear_id() == 0 and gl.subgroup_local_id() == 0"
SHARED = "s = gl.local((32,), gl.f32)\n"
FIRST = "with gl.parallel():\n    if gl.subgroup_linear_id() == 0:\n        "

IN_PYTHON: dict[str, tuple[str, str, str, str, Grid, tuple[str, ...]]] = {
    "all work-groups write one element": (
        "Y[0] = 1.0", "run.race", "Y[0] = 1.0",
        "let each work-group write elements of its own; to add to it, let one work-item in `with gl.parallel():` use "
        '`gl.atomic_add(..., scope="device")`; to write it once, do it in `if gl.group_id(0) == 0:`', 2,
        ("Y[gl.group_id(0)] = 1.0", "if gl.group_id(0) == 0:\n    Y[0] = 1.0",
         f'with gl.parallel():\n    if {ONE}:\n        gl.atomic_add(Y, 0, 1.0, scope="device")')),
    "all work-items write one element": (
        ALL + "    Y[0] = gl.f32(k)", "run.race", "Y[0] = gl.f32(k)",
        "let each work-item write elements of its own; to add to it, use `gl.atomic_add`; to write it once, do it in "
        f"`if {ONE}:`", 1,
        (ALL + "    Y[i] = gl.f32(k)", ALL + "    gl.atomic_add(Y, 0, gl.f32(k))",
         ALL + f"    if {ONE}:\n        Y[0] = gl.f32(k)")),
    "all work-items add to one element": (
        ALL + "    Y[0] += 1.0", "run.race", "Y[0] += 1.0",
        "let each work-item write elements of its own; to add to it, use `gl.atomic_add`; to write it once, do it in "
        f"`if {ONE}:`", 1,
        (ALL + "    gl.atomic_add(Y, 0, 1.0)", ALL + "    Y[i] += 1.0", ALL + f"    if {ONE}:\n        Y[0] += 1.0")),
    "one work-item of each subgroup writes": (
        ALL + "    if k == 0:\n        Y[0] = 1.0", "run.race", "Y[0] = 1.0",
        "let each work-item write elements of its own; to add to it, use `gl.atomic_add`; to write it once, do it in "
        "`if gl.subgroup_linear_id() == 0:`", 1,
        (ALL + "    if k == 0:\n        if gl.subgroup_linear_id() == 0:\n            Y[0] = 1.0",)),
    "all work-items of one subgroup write": (
        FIRST + "Y[0] = 1.0", "run.race", "Y[0] = 1.0",
        "let each work-item write elements of its own; to add to it, use `gl.atomic_add`; to write it once, do it in "
        "`if gl.subgroup_local_id() == 0:`", 1,
        (FIRST + "if gl.subgroup_local_id() == 0:\n            Y[0] = 1.0",)),
    "points add to one element": (
        EVERY + "    Y[0] += gl.f32(i)", "run.race", "Y[0] += gl.f32(i)",
        "let each point write elements of its own; to add to it, use `gl.atomic_add`; to write it once, do it behind "
        "the loop", 1, (EVERY + "    gl.atomic_add(Y, 0, gl.f32(i))", EVERY + "    Y[i] += gl.f32(i)")),
    "points write one element": (
        EVERY + "    Y[0] = 1.0", "run.race", "Y[0] = 1.0", "to write it once, do it behind the loop", 1,
        (EVERY + "    pass\nY[0] = 1.0",)),
    "points read what others write": (
        EVERY + "    Y[i] = Y[(i + 1) % 32]", "run.race", "Y[i] = Y[(i + 1) % 32]",
        "nothing orders what a loop does at once; read from other memory than is written to", 1,
        (SHARED + "gl.axpby(1.0, Y[0:32], 0.0, s)\n" + EVERY + "    Y[i] = s[(i + 1) % 32]",)),
    "work-items read what others write": (
        ALL + "    Y[i] = Y[(i + 1) % 32]", "run.race", "Y[i] = Y[(i + 1) % 32]",
        'read in a statement of its own, before; a `gl.barrier("global")` between the two orders them', 1,
        (ALL + '    t = Y[(i + 1) % 32]\n    gl.barrier("global")\n    Y[i] = t',)),
    "points keep the largest": (
        EVERY + "    Y[0] = max(Y[0], gl.f32(i))", "run.race", "Y[0] = max(Y[0], gl.f32(i))",
        "to keep the largest, use `gl.atomic_max`; to write it once, do it behind the loop", 1,
        (EVERY + "    gl.atomic_max(Y, 0, gl.f32(i))",)),
    "one branch reads what the other writes": (
        ALL + f"    if {ONE}:\n        Y[0] = 1.0\n    else:\n        t = Y[0]", "run.race", "Y[0]",
        'move one of the two behind the `if`; a `gl.barrier("global")` between them orders them', 1,
        (ALL + f'    if {ONE}:\n        Y[0] = 1.0\n    gl.barrier("global")\n    t = Y[0]',)),
    "local memory without a barrier": (
        SHARED + ALL + "    s[i] = 1.0\n    Y[i] = s[(i + 16) % 32]", "run.race",
        "s[(i + 16) % 32]", 'a `gl.barrier("local")` between them orders them', 1,
        (SHARED + ALL + '    s[i] = 1.0\n    gl.barrier("local")\n    Y[i] = s[(i + 16) % 32]',)),
    "a scope that is too small": (
        ALL + "    gl.atomic_add(Y, 0, 1.0)", "run.race", "gl.atomic_add(Y, 0, 1.0)",
        '`gl.atomic_add(..., scope="work_group")` is atomic within a work-group only; write `scope="device"`', 2,
        (ALL + '    gl.atomic_add(Y, 0, 1.0, scope="device")',)),
    "a store beside atomics": (
        ALL + f'    if {ONE}:\n        if gl.group_id(0) == 0:\n            Y[0] = 2.0\n        else:\n'
        '            gl.atomic_max(Y, 0, 1.0, scope="device")', "run.race", "",
        '`store` is not atomic: use `gl.atomic_store(..., scope="device")`, or order the two by a release and an '
        'acquire with `scope="device"`', 2,
        (ALL + f'    if {ONE}:\n        if gl.group_id(0) == 0:\n'
         '            gl.atomic_store(Y, 0, 2.0, scope="device")\n'
         '        else:\n            gl.atomic_max(Y, 0, 1.0, scope="device")',)),
    "a collective by all work-groups": (
        "gl.axpby(1.0, Y[0:16], 1.0, Y[16:32])", "run.race", "gl.axpby(1.0, Y[0:16], 1.0, Y[16:32])",
        "let each work-group write elements of its own, or write `gl.axpby(..., atomic=True)`", 2,
        ("gl.axpby(1.0, Y[0:16], 1.0, Y[16:32], atomic=True)",)),
    "all subgroups store a tile": (
        "with gl.parallel():\n    X[0:16, 0:16] = gl.zeros((16, 16), gl.f32)", "run.race",
        "X[0:16, 0:16] = gl.zeros((16, 16), gl.f32)",
        "let each subgroup write elements of its own; to add to it, use `gl.atomic_add`; to write it once, do it in "
        "`if gl.subgroup_linear_id() == 0:`", 1,
        (FIRST + "X[0:16, 0:16] = gl.zeros((16, 16), gl.f32)",
         "with gl.parallel():\n    gl.atomic_add(X, (0, 0), gl.zeros((16, 16), gl.f32))")),
    "all work-groups store a tile": (
        FIRST + "X[0:16, 0:16] = gl.zeros((16, 16), gl.f32)", "run.race",
        "X[0:16, 0:16] = gl.zeros((16, 16), gl.f32)",
        "let each work-group write elements of its own; to add to it, use "
        '`gl.atomic_add(..., scope="device")`; to write it once, do it in `if gl.group_id(0) == 0:`', 2,
        (FIRST + "if gl.group_id(0) == 0:\n            X[0:16, 0:16] = gl.zeros((16, 16), gl.f32)",
         FIRST + 'gl.atomic_add(X, (0, 0), gl.zeros((16, 16), gl.f32), scope="device")')),
    "a tile stored over the edge": (
        FIRST + "X[8:24, 0:16] = gl.zeros((16, 16), gl.f32)", "run.out_of_bounds",
        "X[8:24, 0:16] = gl.zeros((16, 16), gl.f32)",
        "where a tile reaches over the edge write `gl.checked(X)[...]`: what is outside is left out", 1,
        (FIRST + "gl.checked(X)[8:24, 0:16] = gl.zeros((16, 16), gl.f32)",)),
    "a tile loaded over the edge": (
        FIRST + "t = gl.load(X[8:24, 8:24])", "run.out_of_bounds", "X[8:24, 8:24]",
        "where a tile reaches over the edge write `gl.checked(X)[...]`: what is outside is 0 when loaded", 1,
        (FIRST + "t = gl.load(gl.checked(X)[8:24, 8:24])",)),
    "atomic updates over the edge": (
        FIRST + "gl.atomic_add(X, (8, 0), gl.zeros((16, 16), gl.f32))", "run.out_of_bounds",
        "gl.atomic_add(X, (8, 0), gl.zeros((16, 16), gl.f32))", '`gl.atomic_add(..., checked="both")`', 1,
        (FIRST + 'gl.atomic_add(X, (8, 0), gl.zeros((16, 16), gl.f32), checked="both")',)),
    "an index that is too large": (
        EVERY + "    Y[i] = gl.f32(N[i + 1])", "run.out_of_bounds", "N[i + 1]",
        "let an `if` keep the index below `N.shape[0]`", 1,
        (EVERY + "    if i + 1 < N.shape[0]:\n        Y[i] = gl.f32(N[i + 1])",)),
    "an index of the first axis": (
        "for i in gl.foreach(24):\n    X[i, 3] = 1.0", "run.out_of_bounds", "X[i, 3] = 1.0",
        "let an `if` keep the index below `X.shape[0]`", 1,
        ("for i in gl.foreach(24):\n    if i < X.shape[0]:\n        X[i, 3] = 1.0",)),
    "an index of the second axis": (
        "for i in gl.foreach(25):\n    X[3, i] = 1.0", "run.out_of_bounds", "X[3, i] = 1.0",
        "let an `if` keep the index below `X.shape[1]`", 1,
        ("for i in gl.foreach(25):\n    if i < X.shape[1]:\n        X[3, i] = 1.0",)),
    "a negative index": (
        EVERY + "    Y[i] = gl.f32(N[i - 1])", "run.out_of_bounds", "N[i - 1]",
        "an index does not count from the end: take it from `N.shape[0]`, or let an `if` keep it from being negative",
        1, (EVERY + "    if i > 0:\n        Y[i] = gl.f32(N[i - 1])",
            EVERY + "    if i == 0:\n        Y[i] = gl.f32(N[N.shape[0] - 1])")),
    "a member that is not there": (
        "X[0, 0] = G[n + 2][0, 0]", "run.out_of_bounds", "G[n + 2]", "let an `if` keep the index below `len(G)`", 1,
        ("if n + 2 < len(G):\n    X[0, 0] = G[n + 2][0, 0]",)),
    "an index in a member": (
        "G[0][n + 4, 0] = 1.0", "run.out_of_bounds", "G[0][n + 4, 0] = 1.0", "let an `if` keep the index below 4", 1,
        ("if n + 4 < G[0].shape[0]:\n    G[0][n + 4, 0] = 1.0",)),
    "a member that is None": (
        "X[0, 0] = G[n + 1][0, 0]", "run.null", "G[n + 1][0, 0]",
        "pass an array in place of None, or ask `gl.associated` first", 1,
        ("if gl.associated(G[n + 1]):\n    X[0, 0] = G[n + 1][0, 0]",)),
    "local memory that was not written": (
        SHARED + EVERY + "    Y[i] = s[i]", "run.uninitialized", "s[i]",
        "local memory begins without values: write those of `s` first", 1,
        (SHARED + EVERY + "    s[i] = 0.0\n" + EVERY + "    Y[i] = s[i]",)),
    "a result that was not written": (
        SHARED + "gl.axpby(1.0, Y[0:32], 1.0, s)", "run.uninitialized",
        "gl.axpby(1.0, Y[0:32], 1.0, s)", "write to `s` before, or let beta be a constant 0, which does not read it", 1,
        (SHARED + "gl.axpby(1.0, Y[0:32], 0.0, s)",)),
    "memory that was given back": (
        SHARED + "gl.axpby(1.0, Y[0:32], 0.0, s)\ngl.lifetime_stop(s)\n"
        "gl.axpby(1.0, s, 0.0, Y[0:32])",
        "run.lifetime", "gl.axpby(1.0, s, 0.0, Y[0:32])", "put `gl.lifetime_stop` behind the last use", 1,
        (SHARED + "gl.axpby(1.0, Y[0:32], 0.0, s)\ngl.axpby(1.0, s, 0.0, Y[0:32])\n"
         "gl.lifetime_stop(s)",)),
    "a result that is a factor": (
        "T = X[0:16, 0:16]\ngl.gemm(1.0, T, T, 0.0, T)", "run.aliasing", "gl.gemm(1.0, T, T, 0.0, T)",
        "write to other memory, such as that of `gl.local(shape, dtype)`, and copy it with `gl.axpby`", 1,
        ("T = X[0:16, 0:16]\ns = gl.local((16, 16), gl.f32)\ngl.gemm(1.0, T, T, 0.0, s)\ngl.axpby(1.0, s, 0.0, T)",)),
    "a result that overlaps a view": (
        "gl.gemm(1.0, X[0:16, 0:16], X[0:16, 0:16], 0.0, X[2:18, 2:18])", "run.aliasing", "",
        "write to other memory, such as that of `gl.local(shape, dtype)`, and copy it with `gl.axpby`", 1,
        ("s = gl.local((16, 16), gl.f32)\ngl.gemm(1.0, X[0:16, 0:16], X[0:16, 0:16], 0.0, s)\n"
         "gl.axpby(1.0, s, 0.0, X[2:18, 2:18])",)),
    "a division by zero": (
        EVERY + "    N[i] = N[i] // z", "run.division_by_zero", "N[i] // z",
        "divide in an `if` that the divisor is not 0, or choose another divisor there, with "
        "`gl.where(condition, a, b)`", 1,
        (EVERY + "    if z != 0:\n        N[i] = N[i] // z", EVERY + "    N[i] = N[i] % gl.where(z != 0, z, 1)")),
    "a step of zero": (
        "for i in range(0, 8, n):\n    Y[i] = 1.0", "run.step", "for i in range(0, 8, n)",
        "a step is 1 or more; to count down, subtract the variable of the loop from the last number", 1,
        ("for i in range(0, 8, n + 1):\n    Y[7 - i] = 1.0",)),
    "a slice that is too long": (
        "gl.axpby(1.0, gl.subview(Y, n + 24, 16), 0.0, gl.subview(Y, n, 16))", "run.subview",
        "gl.subview(Y, n + 24, 16)",
        "from 24 on, 8 are left: use `gl.subview` with the `gl.minimum` of the size and what is left", 1,
        ("m = gl.minimum(16, Y.shape[0] - 24)\ngl.axpby(1.0, gl.subview(Y, n + 24, m), 0.0, gl.subview(Y, n, m))",)),
    "a slice that is empty": (
        "gl.axpby(2.0, gl.subview(Y, 0, n), 0.0, gl.subview(Y, 0, n))", "run.subview", "gl.subview(Y, 0, n)",
        "do this in an `if` that the size is more than 0", 1,
        ("if n > 0:\n    gl.axpby(2.0, gl.subview(Y, 0, n), 0.0, gl.subview(Y, 0, n))",)),
    "axes with a gap": (
        "V = gl.fuse(X, 0, 1)\nV[0] = 1.0", "run.fuse", "gl.fuse(X, 0, 1)",
        "only axes that lie without a gap are fused: pass an array that is packed, or copy it to one with `gl.axpby`",
        1,
        ("s = gl.local((20, 24), gl.f32)\ngl.axpby(1.0, X[0:20, 0:24], 0.0, s)\nV = gl.fuse(s, 0, 1)\nV[0] = 1.0",)),
    "a barrier that some skip": (
        ALL + '    if N[i] > 3:\n        gl.barrier("global")\n        Y[i] = 1.0', "run.divergent",
        'gl.barrier("global")', "move it out of the `if`, or decide by what all of them share", 1,
        (ALL + '    gl.barrier("global")\n    if N[i] > 3:\n        Y[i] = 1.0',
         ALL + '    if z > 3:\n        gl.barrier("global")\n    if N[i] > 3:\n        Y[i] = 1.0')),
    "loops of unlike lengths around a sum": (
        ALL + "    for j in range(N[i]):\n        Y[i] = gl.subgroup_reduce_add(1.0)", "run.divergent",
        "gl.subgroup_reduce_add(1.0)", "let all make as many iterations, and put what only some do into an `if`", 1,
        (ALL + "    for j in range(32):\n        t = gl.subgroup_reduce_add(1.0)\n        if j < gl.index(N[i]):\n"
         "            Y[i] = t",)),
    "a lane that differs": (
        ALL + "    Y[i] = gl.subgroup_broadcast(Y[i], N[gl.index(k)])", "run.not_uniform",
        "gl.subgroup_broadcast(Y[i], N[gl.index(k)])",
        "compute it from what all share, or take that of one work-item with `gl.subgroup_broadcast`", 1,
        (ALL + "    Y[i] = gl.subgroup_broadcast(Y[i], gl.subgroup_broadcast(N[gl.index(k)], 3))",)),
    "a lane that is not there": (
        ALL + "    Y[i] = gl.subgroup_broadcast(Y[i], z + 16)", "run.out_of_bounds",
        "gl.subgroup_broadcast(Y[i], z + 16)", "the work-items of a subgroup have the numbers 0 to 15", 1,
        (ALL + "    Y[i] = gl.subgroup_broadcast(Y[i], z + 15)",)),
}  # fmt: skip
"""Bodies of wrong kernels: the code of a finding, the text that it marks, part of its hint, the grid, right bodies."""

ATTRIBUTES = "attributes {subgroup_size=16, work_group_size=[32, 1]}"
TEXT_HEAD = f"""func @kernel(%X: memref<f32x?x?>, %Y: memref<f32x?>, %N: memref<i32x?>, %G: group<memref<f32x?x?>x?>,
        %n: index, %z: i32) {ATTRIBUTES} {{
    %c0 = constant 0 : index
    %c1 = constant 1 : index
    %c8 = constant 8 : index
    %c16 = constant 16 : index
    %c24 = constant 24 : index
    %c32 = constant 32 : index
    %i0 = constant 0 : i32
    %i1 = constant 1 : i32
    %i16 = constant 16 : i32
    %zero = constant 0.0 : f32
    %one = constant 1.0 : f32
    %g = group_id.x : index
    %first_group = equal %g, %c0 : bool
"""
LANES = """parallel {
%k = subgroup_local_id : i32
%s = subgroup_linear_id : i32
%first_lane = equal %k, %i0 : bool
%first_subgroup = equal %s, %i0 : bool
%alone = and %first_lane, %first_subgroup : bool
%sk = mul %s, %i16 : i32
%ik = add %sk, %k : i32
%i = cast %ik : index
"""
POINTS = "foreach (%i) = (%c0), (%c32) {\n"
TILE = "coopmatrix<f32x16x16,matrix_acc>"
TILES = LANES + f"%m = constant 0.0 : {TILE}\nif %first_subgroup {{\n"
READ = "%o = load %Y[0] : f32\n"
NEXT = "%j = add %i, %c1 : index\n%below = less_than %j, %c32 : bool\n"
LOCAL = "%s = alloca : memref<f32x32,local>\n%y = subview %Y[0:32] : memref<f32x32>\n"
LAYOUT = """%m = constant 1.0 : coopmatrix<f32x2x2,matrix_acc>
%t = tensor_layout_create : tensor_layout<1{0}>
%d = tensor_layout_set_dimension %t[4] : tensor_layout<1{0}>
%l = tensor_layout_slice %d[1:4] : tensor_layout<1{0}>
"""
MOVED = "%r = cooperative_matrix_load_tensor %m, %Y[%c0], %l : coopmatrix<f32x2x2,matrix_acc>\n}"
SQUARE = "%t = subview %X[0:16, 0:16] : memref<f32x16x16,strided<1,?>>\n"

IN_TEXT: dict[str, tuple[str, str, str, str, Grid, tuple[str, ...]]] = {
    "all work-groups write one element": (
        "store %one, %Y[0]", "run.race", "store %one, %Y[0]",
        "let each work-group write elements of its own; to add to it, let one work-item in `parallel` use "
        "`atomic_add.device`; to write it once, do it in an `if` that `group_id` is 0", 2,
        ("if %first_group {\nstore %one, %Y[0]\n}", "store %one, %Y[%g]",
         LANES + "if %alone {\n%o = atomic_add.device %one, %Y[%c0] : f32\n}\n}")),
    "all work-items write one element": (
        LANES + "%v = cast %k : f32\nstore %v, %Y[0]\n}", "run.race", "store %v, %Y[0]",
        "let each work-item write elements of its own; to add to it, use `atomic_add`; to write it once, do it in an "
        "`if` that `subgroup_linear_id` and `subgroup_local_id` are 0", 1,
        (LANES + "%v = cast %k : f32\nstore %v, %Y[%i]\n}",
         LANES + "%v = cast %k : f32\n%o = atomic_add %v, %Y[%c0] : f32\n}",
         LANES + "%v = cast %k : f32\nif %alone {\nstore %v, %Y[0]\n}\n}")),
    "points add to one element": (
        POINTS + "%o = load %Y[0] : f32\n%p = add %o, %one : f32\nstore %p, %Y[0]\n}", "run.race", "store %p, %Y[0]",
        "let each point write elements of its own; to add to it, use `atomic_add`; to write it once, do it behind "
        "the loop", 1, (POINTS + "%o = atomic_add %one, %Y[%c0] : f32\n}",)),
    "one reads what all write afterwards": (
        LANES + READ + "if %alone {\n%p = add %o, %one : f32\nstore %p, %Y[0]\n}\n}", "run.race",
        "store %p, %Y[0]", "a `barrier.global` between them orders them", 1,
        (LANES + READ + "barrier.global\nif %alone {\n%p = add %o, %one : f32\nstore %p, %Y[0]\n}\n}",)),
    "a scope that is too small": (
        LANES + "%o = atomic_add %one, %Y[%c0] : f32\n}", "run.race", "%o = atomic_add %one, %Y[%c0] : f32",
        "`atomic_add.work_group` is atomic within a work-group only; write `.device`", 2,
        (LANES + "%o = atomic_add.device %one, %Y[%c0] : f32\n}",)),
    "all subgroups store a tile": (
        LANES + f"%m = constant 0.0 : {TILE}\ncooperative_matrix_store %m, %X[%c0, %c0]\n}}", "run.race",
        "cooperative_matrix_store %m, %X[%c0, %c0]",
        "let each subgroup write elements of its own; to add to it, use `cooperative_matrix_atomic_add`; to write it "
        "once, do it in an `if` that `subgroup_linear_id` is 0", 1,
        (TILES + "cooperative_matrix_store %m, %X[%c0, %c0]\n}\n}",
         LANES + f"%m = constant 0.0 : {TILE}\n%o = cooperative_matrix_atomic_add %m, %X[%c0, %c0] : {TILE}\n}}")),
    "a tile stored over the edge": (
        TILES + "cooperative_matrix_store %m, %X[%c8, %c0]\n}\n}", "run.out_of_bounds",
        "cooperative_matrix_store %m, %X[%c8, %c0]",
        "write `cooperative_matrix_store.both_checked` of %X: what is outside is left out", 1,
        (TILES + "cooperative_matrix_store.both_checked %m, %X[%c8, %c0]\n}\n}",)),
    "a tile loaded over the edge": (
        TILES + f"%o = cooperative_matrix_load %X[%c0, %c16] : {TILE}\n}}\n}}", "run.out_of_bounds",
        f"%o = cooperative_matrix_load %X[%c0, %c16] : {TILE}",
        "write `cooperative_matrix_load.both_checked` of %X: what is outside is 0 when loaded", 1,
        (TILES + f"%o = cooperative_matrix_load.both_checked %X[%c0, %c16] : {TILE}\n}}\n}}",)),
    "atomic updates over the edge": (
        TILES + f"%o = cooperative_matrix_atomic_add %m, %X[%c8, %c0] : {TILE}\n}}\n}}", "run.out_of_bounds",
        f"%o = cooperative_matrix_atomic_add %m, %X[%c8, %c0] : {TILE}",
        "write `cooperative_matrix_atomic_add.both_checked` of %X: what is outside is left out, and 0 in the result", 1,
        (TILES + f"%o = cooperative_matrix_atomic_add.both_checked %m, %X[%c8, %c0] : {TILE}\n}}\n}}",)),
    "an index that is too large": (
        POINTS + NEXT + "store %one, %Y[%j]\n}", "run.out_of_bounds", "store %one, %Y[%j]",
        "let an `if` keep the index below `size %Y[0]`", 1,
        (POINTS + NEXT + "if %below {\nstore %one, %Y[%j]\n}\n}",)),
    "an index of the second mode": (
        POINTS + "store %one, %X[%c0, %i]\n}", "run.out_of_bounds", "store %one, %X[%c0, %i]",
        "let an `if` keep the index below `size %X[1]`", 1,
        (POINTS + "%l = size %X[1] : index\n%b = less_than %i, %l : bool\nif %b {\nstore %one, %X[%c0, %i]\n}\n}",)),
    "a negative index": (
        POINTS + "%j = sub %i, %c1 : index\nstore %one, %Y[%j]\n}", "run.out_of_bounds", "store %one, %Y[%j]",
        "an index does not count from the end: take it from `size %Y[0]`, or let an `if` keep it from being negative",
        1, (POINTS + "%j = sub %i, %c1 : index\n%b = less_than %c0, %i : bool\nif %b {\nstore %one, %Y[%j]\n}\n}",)),
    "a member that is None": (
        "%a = load %G[1] : memref<f32x?x?>\nstore %one, %a[0, 0]", "run.null", "store %one, %a[0, 0]",
        "pass an array in place of None, or ask `associated` first", 1,
        ("%a = load %G[1] : memref<f32x?x?>\n%b = associated %a : bool\nif %b {\nstore %one, %a[0, 0]\n}",)),
    "local memory that was not written": (
        LOCAL + "axpby %one, %s, %zero, %y", "run.uninitialized", "axpby %one, %s, %zero, %y",
        "local memory begins without values: write those of %s first", 1,
        (LOCAL + "axpby %one, %y, %zero, %s\naxpby %one, %s, %zero, %y",)),
    "a result that was not written": (
        LOCAL + "axpby %one, %y, %one, %s", "run.uninitialized", "axpby %one, %y, %one, %s",
        "write to %s before, or let beta be a constant 0, which does not read it", 1,
        (LOCAL + "axpby %one, %y, %zero, %s",)),
    "memory that was given back": (
        LOCAL + "axpby %one, %y, %zero, %s\nlifetime_stop %s\naxpby %one, %s, %zero, %y", "run.lifetime",
        "axpby %one, %s, %zero, %y", "put `lifetime_stop` behind the last use", 1,
        (LOCAL + "axpby %one, %y, %zero, %s\naxpby %one, %s, %zero, %y\nlifetime_stop %s",)),
    "a result that is a factor": (
        SQUARE + "gemm %one, %t, %t, %zero, %t", "run.aliasing", "gemm %one, %t, %t, %zero, %t",
        "write to other memory, such as that of `alloca`, and copy it with `axpby`", 1,
        (SQUARE + "%l = alloca : memref<f32x16x16,local>\ngemm %one, %t, %t, %zero, %l\naxpby %one, %l, %zero, %t",)),
    "a division by zero": (
        "%q = div %i1, %z : i32", "run.division_by_zero", "%q = div %i1, %z : i32",
        "divide in an `if` that the divisor is not 0, or choose another divisor there, with `select`", 1,
        ("%b = not_equal %z, %i0 : bool\nif %b {\n%q = div %i1, %z : i32\n}",
         "%b = not_equal %z, %i0 : bool\n%d = select %b, %z, %i1 : i32\n%q = div %i1, %d : i32")),
    "a step of zero": (
        "for %i = %c0, %c8, %n {\nstore %one, %Y[%i]\n}", "run.step", "for %i = %c0, %c8, %n",
        "a step is 1 or more; to count down, subtract the variable of the loop from the last number", 1,
        ("for %i = %c0, %c8, %c1 {\n%j = sub %c8, %i : index\nstore %one, %Y[%j]\n}",)),
    "a slice that is too long": (
        "%v = subview %Y[%c24:16] : memref<f32x16>", "run.subview", "%v = subview %Y[%c24:16] : memref<f32x16>",
        "from 24 on, 8 are left: use `subview` with the `min` of the size and what is left", 1,
        ("%l = sub %c32, %c24 : index\n%m = min %c16, %l : index\n%v = subview %Y[%c24:%m] : memref<f32x?>",)),
    "axes with a gap": (
        "%v = fuse %X[0, 1] : memref<f32x?>", "run.fuse", "%v = fuse %X[0, 1] : memref<f32x?>",
        "only modes that lie without a gap are fused: pass an array that is packed, or copy it to one with `axpby`", 1,
        (SQUARE + "%l = alloca : memref<f32x16x16,local>\naxpby %one, %t, %zero, %l\n%v = fuse %l[0, 1] : "
         "memref<f32x256,local>",)),
    "a barrier that some skip": (
        LANES + "%b = load %N[%i] : i32\n%c = less_than %i1, %b : bool\nif %c {\nbarrier.global\n}\n}",
        "run.divergent", "barrier.global", "move it out of the `if`, or decide by what all of them share", 1,
        (LANES + "%b = load %N[%i] : i32\n%c = less_than %i1, %b : bool\nbarrier.global\n}",)),
    "a component outside a layout": (
        LANES + LAYOUT.format("") + MOVED, "run.undefined", MOVED.splitlines()[0],
        "give the layout another clamp mode, such as constant", 1, (LANES + LAYOUT.format(",constant") + MOVED,)),
    "a lane that differs": (
        LANES + "%b = load %N[%i] : i32\n%v = subgroup_broadcast %one, %b : f32\n}", "run.not_uniform",
        "%v = subgroup_broadcast %one, %b : f32",
        "compute it from what all share, or take that of one work-item with `subgroup_broadcast`", 1,
        (LANES + "%b = load %N[%i] : i32\n%l = subgroup_broadcast %b, %i0 : i32\n%m = rem %l, %i16 : i32\n"
         "%v = subgroup_broadcast %one, %m : f32\n}",)),
}  # fmt: skip
"""As `IN_PYTHON`, for texts."""


def found_in(kernel: girih.PythonKernel | girih.Kernel, grid: Grid, *, packed: bool) -> list[Finding]:
    """What a launch finds; X is a part of a larger array unless it is `packed`."""
    X = np.zeros((20, 24), np.float32) if packed else np.zeros((20, 30), np.float32)[:, :24]
    if isinstance(kernel, girih.Kernel):
        X = np.asfortranarray(X) if packed else np.zeros((30, 24), np.float32, order="F")[:20]
    member = np.zeros((4, 4), np.float32, order="F" if isinstance(kernel, girih.Kernel) else "C")
    numbers = np.arange(32, dtype=np.int32) % 8
    try:
        kernel[grid](X, np.zeros(32, np.float32), numbers, [member, None], 0, 0)
    except girih.KernelError as error:
        return list(error.findings)
    return []


def in_python(body: str) -> girih.PythonKernel:
    function = function_of(HEAD + textwrap.indent(body, "    ") + "\n", f"<{hash(body)}>")
    return girih.kernel(subgroup_size=16, work_group_size=(32, 1), target="interpreter")(function)


def in_text(body: str) -> girih.Kernel:
    return girih.loads(f"{TEXT_HEAD}{body}\n}}", target="interpreter")["kernel"]


def judge(found: list[Finding], code: str, marked: str, hint: str) -> None:
    one = [f for f in found if f.code == code and hint in (f.hint or "")]
    assert one, [(f.code, f.hint) for f in found]
    if marked:
        assert marked in {f.span.text for f in one}


@pytest.mark.parametrize("name", IN_PYTHON)
def test_what_a_kernel_in_python_is_told_makes_it_right(name: str) -> None:
    wrong, code, marked, hint, grid, right = IN_PYTHON[name]
    packed = code != "run.fuse"
    found = found_in(in_python(wrong), grid, packed=packed)
    judge(found, code, marked, hint)
    assert not any("%" in (f.hint or "") or " it," in f.message for f in found)
    for body in right:
        assert [str(f) for f in found_in(in_python(body), grid, packed=packed)] == []


@pytest.mark.parametrize("name", IN_TEXT)
def test_what_a_text_is_told_makes_it_right(name: str) -> None:
    wrong, code, marked, hint, grid, right = IN_TEXT[name]
    packed = code != "run.fuse"
    judge(found_in(in_text(wrong), grid, packed=packed), code, marked, hint)
    for body in right:
        assert [str(f) for f in found_in(in_text(body), grid, packed=packed)] == []


def test_a_work_group_of_part_of_a_subgroup_is_told_the_next_size() -> None:
    def empty(X: gl.Vector[gl.f32]) -> None:
        X[0] = 1.0

    with pytest.raises(girih.CompileError) as python:
        girih.kernel(subgroup_size=16, work_group_size=(24, 1))(empty)(np.zeros(1, np.float32))
    assert [d.hint for d in python.value.diagnostics] == ["write work_group_size=(32, 1)"]
    girih.kernel(subgroup_size=16, work_group_size=(32, 1))(empty)(np.zeros(1, np.float32))
    with pytest.raises(girih.CompileError) as text:
        girih.loads("func @f() attributes {subgroup_size=16, work_group_size=[40, 1]} {\n}")
    assert [d.hint for d in text.value.diagnostics] == ["write work_group_size=[48, 1]"]


def test_a_kernel_in_python_that_runs_too_long_is_named_as_it_is_written() -> None:
    kernel = in_python("for i in range(10**6):\n    Y[0] = 1.0").options(max_steps=1000)
    (found,) = found_in(kernel, 1, packed=True)
    assert found.message.startswith("kernel executed more than 1000 instructions")
