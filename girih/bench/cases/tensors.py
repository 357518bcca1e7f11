"""The work of kernels on tensor layouts and views: what is timed, its size in words, and the same in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from girih.bench.measuring.context import EPSILON, Array, MeasuringContext, random, wide, zeros
from girih.bench.measuring.timing import Call
from girih.bench.measuring.work import Peer, Work
from girih.kernels.quantized import FORMATS, WEIGHTS, dequantize
from girih.kernels.table import BLOCK_COLUMNS
from girih.kernels.texts import grid_for, path

Prepared = Callable[[MeasuringContext, str], tuple[str, Work]]


def _blocks(format: str, rows: int, columns: int) -> Array:
    """Quantised blocks of random bytes, with scales from 1 to 2."""
    shape = (rows, columns // WEIGHTS, FORMATS[format].size)
    source = np.random.default_rng([rows, columns])
    held = source.integers(0, 256, shape, dtype=np.uint8)
    held[..., :2] = (1 + source.random((*shape[:2], 1))).astype(np.float16).view(np.uint8)
    return held.view(np.int8).T


def _decoded_product(blocks: Array, format: str, x: Array) -> Array:
    return np.asarray(dequantize(blocks, format) @ x.astype(np.float32))


def gemv(format: str) -> Prepared:
    """The work of quantised weights times a vector; for NumPy they are decoded before."""

    def prepare(context: MeasuringContext, type: str) -> tuple[str, Work]:
        m = k = 4096
        name = f"gemv_{format}"
        w, x, y = _blocks(format, m, k), random(type, k), zeros("f32", m)
        weights = dequantize(w, format)
        bound = (k + 2) * EPSILON["f32"] * (abs(weights) @ abs(x.astype(np.float32)))
        calls = context.calls(path(name), name, grid_for(name, m), (w, x, y), type=type)
        peers = {"numpy": Peer(partial(_decoded_product, w, format, x))}
        return f"{m} x {k}", Work(calls, y, weights @ x.astype(np.float32), bound, None, peers, 2.0 * m * k,
                                  float(w.nbytes), None, streams=True)  # fmt: skip

    return prepare


def gemv_of_blocks(format: str) -> Prepared:
    """The work of quantised weights times a quantised vector; for NumPy both are decoded before."""

    def prepare(context: MeasuringContext, type: str) -> tuple[str, Work]:
        m = k = 4096
        name = f"gemv_{format}_q8_0"
        w, blocks, y = _blocks(format, m, k), _blocks("q8_0", 1, k), zeros(type, m)
        weights, x = dequantize(w, format), dequantize(blocks, "q8_0")[0]
        bound = (k // WEIGHTS + 4) * EPSILON[type] * (abs(weights) @ abs(x))
        calls = context.calls(
            path(name), name, grid_for(name, m), (w, np.asfortranarray(blocks[:, :, 0]), y), type=type
        )
        peers = {"numpy": Peer(partial(_decoded_product, w, format, x))}
        return f"{m} x {k}", Work(calls, y, weights @ x, bound, None, peers, 2.0 * m * k, float(w.nbytes), None,
                                  streams=True)  # fmt: skip

    return prepare


def gemm(format: str, suffix: str = "") -> Prepared:
    """The work of quantised weights times a matrix; for NumPy they are decoded before."""

    def prepare(context: MeasuringContext, type: str) -> tuple[str, Work]:
        m, n, k = 512, 256, 2048
        name = f"gemm_{format}{suffix}"
        w, x, c = _blocks(format, m, k), random(type, k, n), zeros("f32", m, n)
        weights = dequantize(w, format)
        if suffix:
            # Matrices of the work-group have weights of the type of X.
            weights = weights.astype(x.dtype).astype(np.float32)
        bound = (k + 2) * EPSILON["f32"] * (abs(weights) @ abs(x.astype(np.float32)))
        calls = context.calls(path(name), name, grid_for(name, m, n), (w, x, c), type=type)
        peers = {"numpy": Peer(partial(_decoded_product, w, format, x))}
        return f"{m} x {n} x {k}", Work(calls, c, weights @ x.astype(np.float32), bound, None, peers, 2.0 * m * n * k,
                                        float(w.nbytes + x.nbytes + c.nbytes), "f32")  # fmt: skip

    return prepare


def convolution(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of a convolution with 3 x 3 taps and a rim of zeros."""
    size, channels, filters = 56, 64, 64
    summed = "f64" if type == "f64" else "f32"
    x, f = random(type, channels, size, size, 1), random(type, filters, channels, 3, 3, seed=1)
    y = zeros(summed, filters, size, size, 1)
    grid = grid_for("convolution", filters, size, size)
    calls = context.calls(path("convolution"), "convolution", grid, (1, x, f, y), type=type, accumulator=summed,
                          depth=32)  # fmt: skip
    bound = (9 * channels + 2) * EPSILON[summed] * _convolution_in_numpy(abs(wide(x)), abs(wide(f)))
    peers = {"numpy": Peer(partial(_convolution_in_numpy, x, f))}
    expected = _convolution_in_numpy(wide(x), wide(f))
    return f"{size} x {size}, {channels} to {filters} channels, 3 x 3", Work(
        calls, y, expected, bound, None, peers, 2.0 * size * size * channels * filters * 9, None, summed
    )


def _convolution_in_numpy(x: Array, f: Array) -> Array:
    height, width = x.shape[2], x.shape[1]
    padded = np.pad(x.T, ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = f.T
    total = sum(padded[:, r : r + height, s : s + width] @ taps[r, s] for r in range(3) for s in range(3))
    return np.asarray(total).T


def patches(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of cutting patches of 8 x 8 pixels out of images with three channels."""
    size, count = 512, 64
    a, p = random(type, 3, size, size), zeros(type, 3, 8, 8, count * count)
    calls = context.calls(path("patches"), "patches", grid_for("patches", count, count), (a, p), type=type)
    squares = a.T.reshape(count, 8, count, 8, 3).transpose(0, 2, 1, 3, 4)
    return f"{size} x {size}", _moved(calls, p, np.asarray(squares.reshape(-1, 8, 8, 3)).T, squares.copy, a)


def space_to_depth(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of moving pixels to channels, for an image with three channels."""
    size = 512
    half = size // 2
    a, b = random(type, 3, size, size), zeros(type, 12, half, half)
    calls = context.calls(path("space_to_depth"), "space_to_depth", grid_for("space_to_depth", half), (a, b), type=type)
    squares = a.T.reshape(half, 2, half, 2, 3).transpose(0, 2, 1, 3, 4)
    return f"{size} x {size}", _moved(calls, b, np.asarray(squares.reshape(half, half, 12)).T, squares.copy, a)


def transposed_load(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of loading a square matrix transposed."""
    n = 1024
    a, b = random(type, n, n), zeros(type, n, n)
    calls = context.calls(
        path("transposed_load"), "transposed_load", grid_for("transposed_load", n, n), (a, b), type=type
    )
    return f"{n} x {n}", _moved(calls, b, a.T, lambda: np.asfortranarray(a.T), a)


def blocked_interleaved(context: MeasuringContext, type: str) -> tuple[str, Work]:
    """The work of packing a matrix in blocks in row order, not interleaved."""
    n = 1024
    block = BLOCK_COLUMNS[type]
    a, b = random(type, n, n), zeros(type, n * n)
    grid = grid_for("blocked_interleaved", n)
    calls = context.calls(path("blocked_interleaved"), "pack_rows", grid, (a, b), type=type, block=block)
    strips = a.T.reshape(n // 4, 4, n // block, block).transpose(0, 2, 1, 3)
    return f"{n} x {n}", _moved(calls, b, np.asarray(strips.reshape(-1)), strips.copy, a)


def _moved(calls: dict[str, Call], out: Array, expected: Array, peer: Callable[[], Array], a: Array) -> Work:
    """Work that moves `a` without changing it."""
    return Work(calls, out, wide(expected), 0.0, None, {"numpy": Peer(peer)}, None, 2.0 * a.nbytes)


PREPARED: dict[str, Prepared] = {
    "blocked_interleaved": blocked_interleaved,
    "convolution": convolution,
    "gemm_q4_0": gemm("q4_0"),
    "gemm_q4_0_work_group": gemm("q4_0", "_work_group"),
    "gemm_q8_0": gemm("q8_0"),
    "gemm_q8_0_work_group": gemm("q8_0", "_work_group"),
    "gemv_q4_0": gemv("q4_0"),
    "gemv_q4_0_q8_0": gemv_of_blocks("q4_0"),
    "gemv_q8_0": gemv("q8_0"),
    "gemv_q8_0_q8_0": gemv_of_blocks("q8_0"),
    "patches": patches,
    "space_to_depth": space_to_depth,
    "transposed_load": transposed_load,
}
"""How each kernel of this kind is prepared, for a type."""
