"""Vectors: a sum, a linear combination, a scan in two launches, a histogram; as the texts of the library."""

from __future__ import annotations

import numpy as np

import girih
import girih.language as gl


@girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 1024), out={"Z": "X"})
def add(X: gl.Vector[gl.f32], Y: gl.Vector[gl.f32], Z: gl.Vector[gl.f32]) -> None:
    """Z = X + Y; a work-group takes 1024 elements."""
    first = gl.group_id(0) * 1024
    for i in gl.foreach((first, min(first + 1024, X.shape[0]))):
        Z[i] = X[i] + Y[i]


@girih.kernel(grid=lambda y: gl.cdiv(y.shape[0], 1024))
def axpby(alpha: gl.f32, x: gl.Vector[gl.f32], beta: gl.f32, y: gl.Vector[gl.f32]) -> None:
    """Y = alpha X + beta Y, where Y is not read if beta is 0; a work-group takes 1024 elements."""
    first = gl.group_id(0) * 1024
    count = min(y.shape[0] - first, 1024)
    x_part, y_part = gl.subview(x, first, count), gl.subview(y, first, count)
    if beta == 0:
        gl.axpby(alpha, x_part, gl.i8(0), y_part)
    else:
        gl.axpby(alpha, x_part, beta, y_part)


@girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 1024), subgroup_size=32, work_group_size=(32, 1))
def scan_totals(X: gl.Vector[gl.f32], T: gl.Vector[gl.f32]) -> None:
    """The sum of each block of 1024 elements."""
    group = gl.group_id(0)
    first = group * 1024
    end = min(first + 1024, X.shape[0])
    with gl.parallel():
        lane = gl.subgroup_local_id()
        total = 0.0
        for i in range(first + gl.index(lane), end, 32):
            total += X[i]
        total = gl.subgroup_reduce_add(total)
        if lane == 0:
            T[group] = total


@girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 8192), subgroup_size=32, work_group_size=(256, 1))
def scan(X: gl.Vector[gl.f32], T: gl.Vector[gl.f32], Y: gl.Vector[gl.f32]) -> None:
    """Y[i] = X[0] + ... + X[i], with the sums of all blocks in T; each subgroup scans a block of 1024 elements."""
    blocks, next_block = T.shape[0], gl.group_id(0) * 8
    first_block = min(next_block, blocks)
    parts = gl.local(8, gl.f32)
    with gl.parallel():
        lane, subgroup = gl.subgroup_local_id(), gl.index(gl.subgroup_id(0))
        offset = gl.index(lane)
        part = gl.f32(0)  # All subgroups add up the blocks before the first one of them, then each those between.
        for i in range(subgroup * 32 + offset, first_block, 256):
            part += T[i]
        part = gl.subgroup_reduce_add(part)
        if lane == 0:
            parts[subgroup] = part
        gl.barrier("local")
        carry = 0.0
        for k in range(8):
            carry += parts[k]
        own_block = next_block + subgroup
        for i in range(first_block, min(own_block, blocks)):
            carry += T[i]
        first = own_block * 1024
        end = min(first + 1024, X.shape[0])
        for row in range(first, end, 32):
            exists = row + offset < end
            x = X[row + offset] if exists else 0.0
            scanned = gl.subgroup_inclusive_scan_add(x)
            y = carry + scanned
            if exists:
                Y[row + offset] = y
            carry += gl.subgroup_broadcast(scanned, 31)


@girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 4096), sizes={"H": ("bins",)})
def histogram(X: gl.Vector[gl.i32], H: gl.Vector[gl.i32], bins: gl.constant = 256) -> None:
    """H[b] += the number of elements of X that are b; counts are gathered in local memory first."""
    first = gl.group_id(0) * 4096
    end = first + min(X.shape[0] - first, 4096)
    counts = gl.local(bins, gl.i32)
    for b in gl.foreach(bins):
        counts[b] = 0
    for i in gl.foreach((first, end)):
        bin = gl.index(X[i])
        if (bin >= 0) & (bin < bins):
            gl.atomic_add(counts, bin, 1)
    for b in gl.foreach(bins):
        gl.atomic_add(H, b, counts[b], scope="device")


if __name__ == "__main__":
    X = np.arange(5000, dtype=np.float32) % 7
    Z = add.out(X, X)
    add(X, X, Z)
    T, Y = np.empty(5, np.float32), np.empty_like(X)
    scan_totals(X, T)
    scan(X, T, Y)
    H = np.zeros(256, np.int32)
    histogram(X.astype(np.int32), H)
    print(Z[:8], Y[-1], H[:8])
