"""Rows of a matrix: softmax, layer normalisation, cross entropy. Each is the kernel of the library's text."""

from __future__ import annotations

import math

import numpy as np

import girih
import girih.language as gl


@girih.kernel(grid=lambda A: A.shape[0], subgroup_size=32, work_group_size=(32, 1), out={"B": "A"})
def softmax(A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32]) -> None:
    """B[j] = exp(A[j] - maximum) / sum; a row of -inf only gives zeros."""
    row, length = gl.group_id(0), A.shape[1]
    with gl.parallel():
        first = gl.index(gl.subgroup_local_id())
        maximum = -math.inf
        for i in range(first, length, 32):
            maximum = max(maximum, A[row, i])
        maximum = gl.subgroup_reduce_max(maximum)
        shift = maximum
        if maximum == -math.inf:
            shift = 0.0
        weight = 0.0
        for i in range(first, length, 32):
            e = gl.exp(A[row, i] - shift)
            B[row, i] = e
            weight += e
        weight = gl.subgroup_reduce_add(weight)
        if weight == 0.0:
            weight = 1.0
        share = 1.0 / weight
        for i in range(first, length, 32):
            B[row, i] = B[row, i] * share


@girih.kernel(grid=lambda X: X.shape[0], subgroup_size=32, work_group_size=(32, 1), out={"Y": "X"})
def layernorm(
    X: gl.Matrix[gl.f32], gamma: gl.Vector[gl.f32], beta: gl.Vector[gl.f32], epsilon: gl.f32, Y: gl.Matrix[gl.f32]
) -> None:
    """Y[j] = gamma (X[j] - mean) / sqrt(variance + epsilon) + beta."""
    row, length = gl.group_id(0), X.shape[1]
    with gl.parallel():
        first, number = gl.index(gl.subgroup_local_id()), gl.f32(length)
        total = 0.0
        for i in range(first, length, 32):
            total += X[row, i]
        mean = gl.subgroup_reduce_add(total) / number
        squares = 0.0
        for i in range(first, length, 32):
            distance = X[row, i] - mean
            squares += distance * distance
        factor = gl.rsqrt(gl.subgroup_reduce_add(squares) / number + epsilon)
        for i in range(first, length, 32):
            x, g, b = X[row, i], gamma[i], beta[i]
            Y[row, i] = (x - mean) * factor * g + b


@girih.kernel(grid=lambda A: A.shape[0], subgroup_size=32, work_group_size=(32, 1))
def cross_entropy(
    A: gl.Matrix[gl.f32], T: gl.Vector[gl.i64], L: gl.Vector[gl.f32], ignore_index: gl.constant = -100
) -> None:
    """L[j] = log(sum over i of exp(A[j, i])) - A[j, T[j]], and 0 where T[j] is `ignore_index`."""
    row, length = gl.group_id(0), A.shape[1]
    target = T[row]
    with gl.parallel():
        lane = gl.subgroup_local_id()
        first = gl.index(lane)
        loss = 0.0
        if target != ignore_index:
            maximum = -math.inf
            for i in range(first, length, 32):
                maximum = max(maximum, A[row, i])
            maximum = gl.subgroup_reduce_max(maximum)
            total = 0.0
            for i in range(first, length, 32):
                total += gl.exp(A[row, i] - maximum)
            wide = gl.log(gl.subgroup_reduce_add(total))
            loss = wide + (maximum - A[row, gl.index(target)])
        if lane == 0:
            L[row] = loss


if __name__ == "__main__":
    A = np.random.default_rng(1).standard_normal((4, 100)).astype(np.float32)
    B = softmax.out(A)
    softmax(A, B)
    L = np.empty(4, np.float32)
    cross_entropy(A, np.arange(4), L)
    print(B.sum(axis=1), -np.log(B[range(4), range(4)]) - L)
