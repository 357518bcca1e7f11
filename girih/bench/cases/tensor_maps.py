"""The work of kernels that copy through tensor maps: what is timed, its size in words, and the same in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from girih.addressing import BoundTensorMap, TensorMap, plan_convolution
from girih.bench.measuring.context import EPSILON, Array, MeasuringContext, random, wide, zeros
from girih.bench.measuring.work import Peer, Work
from girih.kernels.texts import grid_for, path


def _rows(type: str, *shape: int, seed: int = 0) -> Array:
    """Random numbers whose last axis is contiguous, as maps describe them."""
    return random(type, *shape[::-1], seed=seed).T


def _zeros(type: str, *shape: int) -> Array:
    return zeros(type, *shape[::-1]).T


def _map(array: Array, *box: int) -> BoundTensorMap:
    return TensorMap.of(array, box, architecture="sm_100a").bind(array)


def copy_boxes(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of copying a square matrix in boxes of 64 x 64."""
    n = 2048
    a, b = _rows(type, n, n), _zeros(type, n, n)
    calls = context.calls(path("copy_boxes"), "copy_boxes", grid_for("copy_boxes", n // 64, n // 64),
                          (_map(a, 64, 64), _map(b, 64, 64)), type=type, columns=64, rows=64)  # fmt: skip
    return f"{n} x {n}", Work(calls, b, wide(a), 0.0, None, {"numpy": Peer(a.copy)}, None, 2.0 * a.nbytes, None,
                              streams=True)  # fmt: skip


def gather_rows(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of fetching rows of 256 elements from a table."""
    size, count, width, columns = 8192, 4096, 256, 256
    a, b = _rows(type, size, width), _zeros(type, count, width)
    numbers = np.random.default_rng(0).integers(0, size, count)
    calls = context.calls(path("gather_rows"), "gather_rows", grid_for("gather_rows", width // columns, count),
                          (_map(a, columns, 1), numbers, _map(b, columns, 32)), type=type, columns=columns)  # fmt: skip
    return f"{count} of {size} x {width}", Work(
        calls, b, wide(a[numbers]), 0.0, None, {"numpy": Peer(lambda: a[numbers])}, None, 2.0 * b.nbytes
    )


def sum_layers(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of adding up eight square matrices."""
    n, layers = 512, 8
    a, s = _rows(type, layers, n, n), _zeros(type, n, n)
    grid = grid_for("sum_layers", n, n, layers)
    calls = context.calls(path("sum_layers"), "sum_layers", grid, (_map(a, 32, 16, 1), _map(s, 32, 16)), type=type)
    bound = layers * EPSILON[type] * abs(wide(a)).sum(axis=0)
    peers = {"numpy": Peer(partial(np.sum, a, axis=0))}
    return f"{layers} x {n} x {n}", Work(
        calls, s, wide(a).sum(axis=0), bound, _zeros(type, n, n), peers, None, float(a.nbytes)
    )


def unpack_4_bits(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of unpacking numbers of 4 bits."""
    k, n = 2048, 512
    room = np.random.default_rng(0).integers(0, 256, n * k // 2 + 32, np.uint8)
    pairs = room[-room.ctypes.data % 32 :][: n * k // 2].reshape(n, k // 2)
    given = TensorMap.tiled(dtype="b4x16_p64", global_dim=(k, n), global_strides=(k // 2,), box_dim=(128, 16),
                            architecture="sm_100a").bind(pairs)  # fmt: skip
    b = zeros(type, k, n)
    calls = context.calls(
        path("unpack_4_bits"), "unpack_4_bits", grid_for("unpack_4_bits", k, n), (given, b), type=type
    )
    unpack = partial(_unpacked, pairs, b.dtype)
    return f"{k} x {n}", Work(calls, b, wide(unpack().T), 0.0, None, {"numpy": Peer(unpack)}, None,
                              float(pairs.nbytes + b.nbytes))  # fmt: skip


def _unpacked(pairs: Array, dtype: np.dtype[np.generic]) -> Array:
    numbers = np.empty((pairs.shape[0], 2 * pairs.shape[1]), np.int8)
    numbers[:, ::2] = pairs & 15
    numbers[:, 1::2] = pairs >> 4
    return (numbers - np.int8(8)).astype(dtype)


def convolution_im2col(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of a convolution with 3 x 3 taps and a rim of zeros."""
    size, channels, filters, depth = 56, 64, 64, 32
    x, f = _rows(type, 1, size, size, channels), _rows(type, 3, 3, channels, filters, seed=1)
    y = zeros("f32", filters, size, size, 1)
    plan = plan_convolution(dtype=type, global_dim=x.shape[::-1], filter=(3, 3), padding=(1, 1),
                            channels_per_pixel=depth, pixels_per_column=32)  # fmt: skip
    calls = context.calls(path("convolution_im2col"), "convolution_im2col",
                          grid_for("convolution_im2col", filters, size * size),
                          (1, plan.tensor_map.bind(x), f.T, y), type=type, depth=depth)  # fmt: skip
    bound = (9 * channels + 2) * EPSILON["f32"] * _convolved(abs(wide(x)), abs(wide(f))).T
    peers = {"numpy": Peer(partial(_convolved, x, f))}
    return f"{size} x {size}, {channels} to {filters} channels, 3 x 3", Work(
        calls, y, _convolved(wide(x), wide(f)).T, bound, None, peers, 2.0 * size * size * channels * filters * 9, None,
        "f32"
    )  # fmt: skip


def _convolved(x: Array, f: Array) -> Array:
    height, width = x.shape[1:3]
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return np.asarray(sum(padded[:, r : r + height, s : s + width] @ f[r, s] for r in range(3) for s in range(3)))


PREPARED: dict[str, Callable[[MeasuringContext, str], tuple[str, Work]]] = {
    "convolution_im2col": convolution_im2col,
    "copy_boxes": copy_boxes,
    "gather_rows": gather_rows,
    "sum_layers": sum_layers,
    "unpack_4_bits": unpack_4_bits,
}
"""How each kernel of this kind is prepared, for a type."""
