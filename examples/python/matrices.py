"""Matrices: a transpose, a stencil, products and attention. Each is the kernel of the library's text."""

from __future__ import annotations

from typing import Literal

import numpy as np

import girih
import girih.language as gl


@girih.kernel(grid=lambda A: (gl.cdiv(A.shape[0], 32), gl.cdiv(A.shape[1], 32)))
def transpose(A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32]) -> None:
    """B = A^T through local memory, whose columns lie 33 elements apart."""
    row, column = gl.group_id(0) * 32, gl.group_id(1) * 32
    height, width = min(A.shape[0] - row, 32), min(A.shape[1] - column, 32)
    tile = gl.local((32, 32), gl.f32, order="F", strides=(1, 33))
    for m, n in gl.foreach(height, width):
        tile[m, n] = A[row + m, column + n]
    for n, m in gl.foreach(width, height):
        B[column + n, row + m] = tile[m, n]


@girih.kernel(
    grid=lambda V: (gl.cdiv(V.shape[0], 32), gl.cdiv(V.shape[1], 8), gl.cdiv(V.shape[2], 16)),
    sizes={"W": (5,)},
    hopper={"resident": 8},
)
def stencil(W: gl.Vector[gl.f32], U: gl.Array[gl.f32, Literal[3]], V: gl.Array[gl.f32, Literal[3]]) -> None:
    """V = the sum of second derivatives of U, of order 8; U has a rim of four elements on every side."""
    x, y, z = gl.group_id(0) * 32, gl.group_id(1) * 8, gl.group_id(2) * 16
    x_end, y_end, z_end = min(x + 32, V.shape[0]), min(y + 8, V.shape[1]), min(z + 16, V.shape[2])
    for i0, j0 in gl.foreach((x, x_end), (y, y_end)):
        for k0 in range(z, z_end):
            i, j, k = i0 + 4, j0 + 4, k0 + 4
            total = 3.0 * (W[0] * U[i, j, k])
            for d in range(1, 5):
                around = (U[i - d, j, k] + U[i + d, j, k]) + (U[i, j - d, k] + U[i, j + d, k])
                around += U[i, j, k - d] + U[i, j, k + d]
                total += W[d] * around
            V[i0, j0, k0] = total


@girih.kernel(grid=lambda C: (gl.cdiv(C.shape[0], 128), gl.cdiv(C.shape[1], 128)))
def gemm_collective(
    alpha: gl.f32, A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32], beta: gl.f32, C: gl.Matrix[gl.f32]
) -> None:
    """C = alpha A B + beta C by the collective instruction; a work-group computes 128 x 128 elements."""
    row, column = gl.group_id(0) * 128, gl.group_id(1) * 128
    height, width = min(C.shape[0] - row, 128), min(C.shape[1] - column, 128)
    depth = A.shape[1]
    c = gl.subview(C, (row, column), (height, width))
    overwrites, empty = beta == 0.0, depth == 0
    if overwrites | empty:
        for m, n in gl.foreach(height, width):
            if overwrites:
                kept = 0.0
            else:
                kept = beta * c[m, n]
            c[m, n] = kept
    if not empty:
        a = gl.subview(A, (row, 0), (height, depth))
        gl.gemm(alpha, a, gl.subview(B, (0, column), (B.shape[0], width)), beta, c)


if __name__ == "__main__":
    A = np.arange(12, dtype=np.float32).reshape(3, 4)
    B = np.empty((4, 3), np.float32)
    transpose(A, B)
    C = np.empty((3, 3), np.float32)
    gemm_collective(1.0, A, B, 0.0, C)
    print(np.array_equal(A.T, B), np.allclose(C, A @ A.T))
