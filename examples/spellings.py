"""Every instruction of the tensor language, as it is written in Python: a kernel for each family of instructions.

The page docs/language/python.md shows each beside its text. The kernels compute nothing in particular.
"""

from __future__ import annotations

from typing import Literal

import girih.language as gl


def arith(A: gl.Vector[gl.i32], X: gl.Vector[gl.f32], Z: gl.Vector[gl.c32], B: gl.Vector[gl.i64]) -> None:
    for i in gl.foreach(X.shape[0]):
        a, b, x, y, z = A[i], A[i + 1], X[i], X[i + 1], Z[i]
        X[i] = x + y
        X[i] = x - y
        X[i] = x * y
        X[i] = x / y
        A[i] = gl.div(a, b)
        A[i] = gl.rem(a, b)
        X[i] = gl.maximum(x, y)
        X[i] = gl.minimum(x, y)
        A[i] = a << b
        A[i] = a >> b
        A[i] = a & b
        A[i] = a | b
        A[i] = a ^ b
        X[i] = abs(x)
        X[i] = -x
        A[i] = ~a
        Z[i] = gl.conj(z)
        X[i] = gl.imag(z)
        X[i] = gl.real(z)
        if a == b:
            B[i] = gl.i64(a)
        if a != b:
            A[i] = gl.bitcast(x, gl.i32)
        if x > y:
            X[i] = gl.f32(1.5)
        if x >= y:
            X[i] = gl.where(a < b, x, y)
        if x <= y:
            X[i] = x


def math(X: gl.Vector[gl.f32]) -> None:
    for i in gl.foreach(X.shape[0]):
        x, y = X[i], X[i + 1]
        X[i] = gl.cos(x)
        X[i] = gl.sin(x)
        X[i] = gl.exp(x)
        X[i] = gl.exp2(x)
        X[i] = gl.log(x)
        X[i] = gl.log2(x)
        X[i] = gl.native_cos(x)
        X[i] = gl.native_sin(x)
        X[i] = gl.native_exp(x)
        X[i] = gl.native_exp2(x)
        X[i] = gl.native_log(x)
        X[i] = gl.native_log2(x)
        X[i] = gl.sqrt(x)
        X[i] = gl.rsqrt(x)
        X[i] = gl.tanh(x)
        X[i] = gl.erf(x)
        X[i] = x**y
        X[i] = gl.fma(x, y, 1.0)


def memory(A: gl.Matrix[gl.f32], G: gl.Group[gl.Vector[gl.f32]], n: gl.index) -> None:
    local = gl.local((8, 4), gl.f32)
    part = gl.subview(A, (n, 0), (8, None))
    blocks = gl.expand(A, 0, (n, 4))
    flat = gl.fuse(local, 0, 1)
    x = A[n, 0]
    A[n, 1] = x
    local[0, 0] = part[n] + blocks[n, 0, 0] + flat[n]
    gl.lifetime_stop(local)
    if gl.associated(G):
        A[A.shape[0] - 1, 0] = G[n][0]
    with gl.parallel():
        y = gl.atomic_load(A, (n, 0), scope="device", semantics="acquire")
        gl.atomic_store(A, (n, 0), y, scope="device", semantics="release")
        gl.atomic_add(A, (n, 0), 1.0)
        gl.atomic_max(A, (n, 0), y)
        gl.atomic_min(A, (n, 0), y)


def control(A: gl.Matrix[gl.f32]) -> None:
    for i, j in gl.foreach(A.shape[0], (1, A.shape[1])):
        A[i, j] = 0.0
    for (i, j), (rows, columns) in gl.foreach_tile(A.shape[0], A.shape[1], tile=(16, 8)):
        if rows == 16 and columns == 8:
            A[i : i + 16, j : j + 8] = gl.zeros((16, 8), gl.f32)
    with gl.parallel():
        gl.barrier("global", "local")
        print("this is work-item", gl.subgroup_local_id())
    total = A[0, 0]
    for k in range(1, A.shape[0]):
        total += A[k, 0]
    if total < 0:
        A[0, 0] = -total
    else:
        A[0, 0] = total


def linalg(
    A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32], x: gl.Vector[gl.f32], y: gl.Vector[gl.f32]
) -> None:
    gl.axpby(2.0, A.T, 1.0, B)
    gl.cumsum(1.0, A, 1, 0.0, B)
    gl.sum(1.0, A, 0.0, y)
    gl.gemm(1.0, A, B.T, 0.0, C)
    gl.gemv(1.0, A, x, 0.0, y)
    gl.ger(1.0, x, y, 1.0, C)
    gl.hadamard(1.0, A, B, 0.0, C, atomic=True)


def coopmatrix(A: gl.Matrix[gl.f16], B: gl.Matrix[gl.f16], C: gl.Matrix[gl.f32], alpha: gl.f32) -> None:
    i = gl.group_id(0) * 16
    with gl.parallel():
        gl.prefetch(A[i : i + 16, 0:16], level=0)
        a = gl.load(A[i : i + 16, 0:16], "matrix_a", checked="rows")
        b = gl.load(B[0:16, 0:8], "matrix_b")
        c = gl.full((16, 8), alpha, gl.f32)
        c = c + a @ b
        c = alpha * c
        total, largest = gl.sum(c, axis=1), gl.max(c, axis=1)
        c = (c - largest) / (total - gl.min(c, axis=1))
        x = gl.extract(c, 0)
        c = gl.insert(x, c, 0)
        b = gl.transpose(gl.zeros((8, 16), gl.f16))
        gl.store(c + a @ b, C[i : i + 16, 0:8])
        c = gl.atomic_load(C, (i, 0), shape=(16, 8), checked="both")
        gl.atomic_store(C, (i, 0), c)
        gl.atomic_add(C, (i, 0), c)
        gl.atomic_max(C, (i, 0), c)
        gl.atomic_min(C, (i, 0), c)


def coopmatrix_regions(C: gl.Matrix[gl.f32], alpha: gl.f32) -> None:
    with gl.parallel():
        c = gl.load(C[0:16, 0:8])
        row = gl.combine(lambda x, y: gl.maximum(x, y), c, axis=1, shape=(16, 1))
        c = gl.apply(lambda x, r: gl.exp(alpha * (x - r)), c, row)
        gl.store(c, C[0:16, 0:8])


def tensor_layout(A: gl.Vector[gl.f32], n: gl.index) -> None:
    with gl.parallel():
        t = gl.tensor_layout(2, "constant")
        t = t.set_block_size(1, 1)
        t = t.set_dimension(n, 64)
        t = t.set_stride(128, 1)
        t = t.slice((n, 16), (0, 8))
        t = t.set_clamp_value(gl.bitcast(gl.f32(1.0), gl.i32))
        v = gl.tensor_view(2, True, (1, 0))
        v = v.set_dimension(8, 16)
        v = v.set_stride(1, 8)
        v = v.set_clip((0, 8), (0, 16))
        gl.store_tensor(gl.zeros((16, 8), gl.f32), A, t, v)


def coopmatrix_tensor(Q: gl.Vector[gl.i8], A: gl.Vector[gl.f32], C: gl.Matrix[gl.f32], n: gl.index) -> None:
    with gl.parallel():
        t = gl.tensor_layout(2).set_block_size(1, 32).set_dimension(n, 64).slice((0, 16), (0, 32))
        m = gl.load_tensor(
            gl.zeros((16, 32), gl.f32),
            Q,
            t,
            decode=lambda block, i, j, row, column: gl.f32(block[column]),
            block_dtype=gl.i8,
            block_shape=32,
        )
        gl.store(m, C[0:16, 0:32])
        t = gl.tensor_layout(2).set_dimension(n, 64).slice((0, 16), (0, 32))
        gl.store_tensor(m, A, t, offset=n)
        m = gl.load_blocked_interleaved(A, 2, (16, 32), order="row")
        gl.store_blocked_interleaved(m, A, 2, order="column")


def tensor_map(
    T: gl.TensorMap[gl.f32, Literal[2]], images: gl.Im2colMap[gl.f32, Literal[4]], i: gl.index, j: gl.index
) -> None:
    box = gl.local((32, 32), gl.f32, order="F")
    pixels = gl.local(4096, gl.i8)
    gl.tensor_copy_load(T, (i, j), box)
    gl.tensor_copy_load(images, (0, i, j, 0), pixels, offsets=(1, 1))
    gl.tensor_copy_store(box, T, (i, j))
    gl.tensor_copy_reduce("add", box, T, (i, j))


def subgroup(X: gl.Vector[gl.f32]) -> None:
    for i in gl.foreach(X.shape[0]):
        x = X[i]
        X[i] = gl.subgroup_broadcast(x, 0)
        X[i] = gl.subgroup_exclusive_scan_add(x)
        X[i] = gl.subgroup_exclusive_scan_max(x)
        X[i] = gl.subgroup_exclusive_scan_min(x)
        X[i] = gl.subgroup_inclusive_scan_add(x)
        X[i] = gl.subgroup_inclusive_scan_max(x)
        X[i] = gl.subgroup_inclusive_scan_min(x)
        X[i] = gl.subgroup_reduce_add(x)
        X[i] = gl.subgroup_reduce_max(x)
        X[i] = gl.subgroup_reduce_min(x)


def builtin(A: gl.Vector[gl.index], B: gl.Vector[gl.i32]) -> None:
    with gl.parallel():
        A[0] = gl.group_id(0)
        A[1] = gl.num_groups(1)
        B[0] = gl.num_subgroups(0)
        B[1] = gl.subgroup_size()
        B[2] = gl.subgroup_id(0)
        B[3] = gl.subgroup_linear_id()
        B[4] = gl.subgroup_local_id()
