"""Products with matrices of subgroups and of the work-group, attention, a product with quantised weights."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

import girih
import girih.language as gl


@girih.kernel(grid=lambda C: (gl.cdiv(C.shape[0], 32), gl.cdiv(C.shape[1], 32)), subgroup_size=32,
              work_group_size=(32, 1))  # fmt: skip
def matmul(A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32]) -> None:
    """C = A B with matrices of a subgroup, which may reach over the edge."""
    i, j = gl.group_id(0) * 32, gl.group_id(1) * 32
    with gl.parallel():
        total = gl.zeros((32, 32), gl.f32)
        for k in range(0, A.shape[1], 32):
            total += gl.checked(A)[i : i + 32, k : k + 32] @ gl.checked(B)[k : k + 32, j : j + 32]
        gl.checked(C)[i : i + 32, j : j + 32] = total


@girih.kernel(
    grid=lambda Q: (gl.cdiv(Q.shape[1], 32), Q.shape[0]),
    subgroup_size=32,
    work_group_size=(32, 1),
    sizes=dict.fromkeys("QKVO", (None, None, "headdim")),
    out={"O": "Q"},
)
def attention(
    Q: gl.Array[gl.f32, Literal[3]],
    K: gl.Array[gl.f32, Literal[3]],
    V: gl.Array[gl.f32, Literal[3]],
    O: gl.Array[gl.f32, Literal[3]],
    scale: gl.f32,
    headdim: gl.constant = 64,
    causal: gl.constant = False,
) -> None:
    """O = softmax(scale Q K^T) V for each head; neighbouring heads share keys where there are fewer of them."""
    first, head = gl.group_id(0) * 32, gl.group_id(1)
    queries, keys = Q.shape[1], K.shape[1]
    key_head = head // (Q.shape[0] // K.shape[0])
    q, k = Q[head, :, :], K[key_head, :, :]
    v = gl.subview(V, (key_head, 0, 0), (None, keys, headdim))
    o = gl.subview(O, (head, 0, 0), (None, queries, headdim))
    end = gl.index(0)
    if first < queries:
        end = min(first + 32, keys) if causal else keys
    with gl.parallel():
        query = gl.load(q[first : first + 32, 0:headdim], "matrix_a", checked="rows")
        maximum, norm = gl.full((32, 1), -math.inf, gl.f32), gl.zeros((32, 1), gl.f32)
        result = gl.zeros((32, headdim), gl.f32)
        blank, empty = gl.zeros((32, 32), gl.f32), result
        ones, wide_ones = gl.full((1, 32), 1.0, gl.f32, "matrix_b"), gl.full((1, headdim), 1.0, gl.f32, "matrix_b")

        def masked(i: gl.i32, j: gl.i32, score: gl.f32) -> gl.f32:
            column = first_key + j
            seen = (column < last_key) & ((column <= gl.i32(first) + i) | (not causal))
            if seen:
                return score
            return gl.f32(-math.inf)

        for key in range(0, end, 32):
            first_key, last_key = gl.i32(key), gl.i32(keys)
            keys_of_tile = gl.load(k.T[0:headdim, key : key + 32], "matrix_b", checked="columns")
            scores = gl.apply(masked, scale * gl.dot(query, keys_of_tile, blank), index=True)
            new = gl.maximum(maximum, gl.max(scores, axis=1))
            below = scores - gl.dot(gl.cast(new, gl.f32, "matrix_a"), ones, blank)
            weights = gl.apply(lambda x: gl.exp(x), below)
            factor = gl.apply(lambda x: gl.exp(x), maximum - new)
            norm = norm * factor + gl.sum(weights, axis=1)
            kept = result * gl.dot(gl.cast(factor, gl.f32, "matrix_a"), wide_ones, empty)
            values = gl.load(v[key : key + 32, 0:headdim], "matrix_b", checked="rows")
            result = gl.dot(gl.cast(weights, gl.f32, "matrix_a"), values, kept)
            maximum = new
        output = result / gl.dot(gl.cast(norm, gl.f32, "matrix_a"), wide_ones, empty)
        gl.store(output, o[first : first + 32, 0:headdim], checked="rows")


@girih.kernel(grid=lambda C: (gl.cdiv(C.shape[0], 128), gl.cdiv(C.shape[1], 128)), work_group_size=(128, 1),
              alignment=16)  # fmt: skip
def gemm_work_group(A: gl.Matrix[gl.f16], B: gl.Matrix[gl.f16], C: gl.Matrix[gl.f16]) -> None:
    """C = A B with matrices of the work-group: tiles of 128 x 128, 32 summands at a time, of arrays in order F."""
    m, k, n = A.shape[0], A.shape[1], B.shape[1]
    gl.expand(B, 0, (1, k), order="F")  # The sizes of A, B and C must fit.
    gl.expand(C, 0, (1, m), order="F")
    gl.expand(C, 1, (1, n), order="F")
    row, column = gl.group_id(0) * 128, gl.group_id(1) * 128
    a_all, b_all, c_all = (gl.fuse(A, 0, 1, order="F"), gl.fuse(B, 0, 1, order="F"), gl.fuse(C, 0, 1, order="F"))
    eights, steps = m // 8 * 8, k // 32 * 32
    inside = ((row + 128 <= m) & (column + 128 <= n)) & ((eights == m) & (steps == k))
    with gl.parallel():
        none_b = gl.zeros((128, 32), gl.f16, "matrix_a", "work_group")
        none_a = gl.zeros((32, 128), gl.f16, "matrix_b", "work_group")

        def compute(clamp: gl.constant, rows: gl.index, depth: gl.index) -> None:
            total = gl.zeros((128, 128), gl.f32, scope="work_group")
            for at in range(0, k, 32):
                b = gl.tensor_layout(2, clamp).set_dimension(n, depth).slice((column, 128), (at, 32))
                a = gl.tensor_layout(2, clamp).set_dimension(depth, rows).slice((at, 32), (row, 128))
                total = gl.dot(gl.load_tensor(none_b, b_all, b), gl.load_tensor(none_a, a_all, a), total)
            c = gl.tensor_layout(2, clamp).set_dimension(n, rows).slice((column, 128), (row, 128))
            gl.store_tensor(gl.cast(total, gl.f16), c_all, c)

        if inside:
            compute("undefined", eights, steps)
        else:
            compute("constant", m, k)


@girih.kernel(grid=lambda y: gl.cdiv(y.shape[0], 64), subgroup_size=32, work_group_size=(32, 1), allow=("contract",),
              sizes={"W": (None, None, 34)})  # fmt: skip
def gemv_q8_0(W: gl.Array[gl.i8, Literal[3]], x: gl.Vector[gl.f32], y: gl.Vector[gl.f32]) -> None:
    """Y = W x, where W has rows of blocks of 34 bytes: a scale of type f16, and 32 signed bytes."""
    rows, blocks = W.shape[0], W.shape[1]
    gl.expand(x, 0, (blocks, 32))  # The sizes of x and y must be those of W.
    y_row = gl.expand(y, 0, (rows, 1))
    first = gl.group_id(0) * 64
    end = min(first + 64, rows)

    def weight(
        b: gl.Vector[gl.i8], m: gl.index, k: gl.index, p: gl.index, m_in: gl.index, k_in: gl.index, at: gl.index
    ) -> gl.f32:
        low, high = gl.i16(b[0]), gl.i16(b[1])
        scale = gl.f32(gl.bitcast((low & 255) | (high << 8), gl.f16))
        return gl.f32(b[at + 2]) * scale

    with gl.parallel():
        bytes_of = gl.fuse(W, 0, 2)
        weights = (
            gl.tensor_layout(3, "constant").set_block_size(1, 1, 32).set_dimension(max(rows, 1), max(blocks, 1), 32)
        )
        turned = gl.tensor_view(3, False, (1, 2, 0))
        elements = gl.tensor_layout(2).set_dimension(max(x.shape[0], 1), 1)
        same = gl.tensor_view(2, True, (0, 1)).set_dimension(32, 2).set_stride(1, 0)
        empty = gl.zeros((32, 2), gl.f32)
        last_pair = max(end - 2, first)
        for next_row in range(first, end, 2):
            gl.barrier("global")  # Of an odd number of rows the last two overlap those before, which are written first.
            row = min(next_row, last_pair)
            total = empty
            for block in range(blocks):
                here = weights.slice((row, 2), (block, 1), (0, 32))
                w = gl.load_tensor(empty, bytes_of, here, turned, decode=weight, block_dtype=gl.i8, block_shape=34)
                total += w * gl.load_tensor(empty, x, elements.slice((block * 32, 32), (0, 1)), same)
            result = gl.sum(total, axis=0)
            gl.store(result, y_row.T[0:1, row : row + 2], checked="columns")


if __name__ == "__main__":
    draw = np.random.default_rng(1).standard_normal
    A, B = (draw((50, 50)).astype(np.float32) for _ in range(2))
    C = np.empty_like(A)
    matmul(A, B, C)
    print(np.allclose(C, A @ B, atol=1e-4))
    Q, K, V = (draw((3, 40, 64)).astype(np.float32) for _ in range(3))
    O = attention.out(Q, K, V, 0.125)
    attention(Q, K, V, O, 0.125)
    weights = np.exp(Q @ K.transpose(0, 2, 1) * 0.125)
    print(np.allclose(O, weights @ V / weights.sum(axis=2, keepdims=True), atol=1e-5))
